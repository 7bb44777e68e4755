// Which traces lie below a directory, and what of them Babeltrace can be given.
//
// A trace is a directory with a file named metadata. Directories of the same trace (the chunks of a rotated
// session; same UUID) are one input. Where something is damaged, Babeltrace gets a directory of symbolic
// links instead, without the files that cannot be read, and with indexes that end before the damage.
//
// Traces of LTTng are looked through (packets.h); those of other tracers are left to Babeltrace.
// Errors: Result. Thread safety: none. Ownership: Links removes its directory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/result.h"
#include "packets.h"

namespace margay::lttng {

struct TraceDirectory {
  std::string path;
  std::string uuid;  // 32 hexadecimal digits, or "" where the metadata has none
  bool lttng = false;
  bool instances = false;  // packet headers have a stream_instance_id
  std::string damage;      // metadata of which Babeltrace 2.0 would not come back: what is wrong with it
};

// Sorted by path. Errors: kNotFound, kLimit, kIo.
Result<std::vector<TraceDirectory>> find_traces(const std::string& directory);

// A stream as its files' packets say.
struct StreamFacts {
  std::string place;            // its first file, or the damaged one
  std::vector<Packet> packets;  // by begin
  std::string damage;           // what is wrong behind the last packet; ""
};

struct LostStream {
  std::string place;
  std::string what;
};

// A temporary directory, made when it is first needed.
class Links {
 public:
  explicit Links(std::string scratch) : scratch_(std::move(scratch)) {}
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
  // A new empty directory in it. Errors: kIo.
  Result<std::string> make();

 private:
  std::string scratch_;
  std::string path_;
  int count_ = 0;
};

// What one component ctf.fs is given: one trace.
struct Input {
  std::vector<TraceDirectory> directories;  // of the same trace
  std::vector<std::string> given;           // as Babeltrace gets them: themselves, or their stand-ins
  std::map<std::pair<std::uint64_t, std::uint64_t>, StreamFacts> streams;  // by class and instance
  std::vector<LostStream> lost;                                            // files that are left out
  std::vector<std::string> left_out;                                       // the same, as paths

  const std::string& place() const { return directories.front().path; }
  bool is_stand_in(std::size_t i) const { return given[i] != directories[i].path; }
};

// Groups directories into traces.
std::vector<Input> group(std::vector<TraceDirectory> directories);
// Looks through the files of `input` and fills in the rest; those in left_out are left out. Errors: kIo.
Status prepare(Input& input, Links& links);

}  // namespace margay::lttng
