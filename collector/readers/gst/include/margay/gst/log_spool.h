// GStreamer's debug log on its way from the job to its reader: a directory with a file for each process that
// writes one (GST_DEBUG_FILE is DIR/%p-%r: pid and a random number). A pipe would make the program wait when
// nobody reads; a file does not. What was read is given back to the file system at once (the file has a hole
// there), so that the files take what waits to be read and no more.
//
// When the reader falls behind, the oldest lines are dropped and counted (bound()), by the reader or by any
// other process: whoever is not stopped. Where a file is read next is in shared memory beside it
// (DIR/.at-NAME); lines belong to whoever moves that on (compare and swap), so no line is both read and
// dropped, and no process waits for another.
//
// REQUIRES, of the reader: SIGIO is ignored (a lease tells whether a file is still written).
//
// A full file system drops lines as well, and GStreamer does not say how many: `bound` is to be far below
// what is free.
//
// Thread safety: none. Any number of processes may call bound(), one at a time reads. Cost: a readdir and a
// stat a file, a copy of what is read, a system call for each 256 KiB that is given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"

namespace margay::gst {

class LogSpool {
 public:
  // Makes the directory where it is missing. Errors: kIo; kUnavailable where the file system cannot give back
  // parts of a file, or this process' limit on the size of files (which holds for the job's position in it,
  // too) is too low for a log.
  static Result<LogSpool> open(const std::string& directory);
  LogSpool(LogSpool&&) noexcept;
  LogSpool& operator=(LogSpool&&) noexcept;
  ~LogSpool();

  const std::string& directory() const { return directory_; }
  // What GST_DEBUG_FILE is to be.
  std::string file_pattern() const { return directory_ + "/%p-%r"; }

  // Takes whole lines, in the order of each file, `most` bytes of each or some more. `lost(pid, lines)` comes
  // before the lines that come after what was dropped. A file that is read and that nobody has open for
  // writing any more is taken away; the end of a last line that was not finished, too, is a line. True when
  // nothing more was there.
  struct Taker {
    std::function<void(std::string_view lines)> lines;
    std::function<void(std::int64_t pid, std::uint64_t lines)> lost;
  };
  bool read(const Taker& taker, std::size_t most);
  // There are files of which nothing has been read yet.
  bool has_fresh() const;
  // There is a file of which nobody has read or dropped anything so far.
  bool unread();

  // Drops the oldest lines of the longest file until less than `bytes` wait in all of them, and counts them.
  // Returns how many lines this call dropped.
  std::uint64_t bound(std::uint64_t bytes);

 private:
  struct File;
  explicit LogSpool(std::string directory);
  void look();
  bool read(File& file, const Taker& taker, std::size_t most);
  static void tell_dropped(File& file, const Taker& taker);
  bool drop_some(File& file, std::uint64_t& lines);

  std::string directory_;
  std::map<std::string, std::unique_ptr<File>> files_;
  std::vector<char> buffer_;
};

}  // namespace margay::gst
