// The alerts file: JSON lines, written whole and flushed as they happen.
//
// After a restart of the daemon the lines that stand there already are not written again: the file itself
// says which (a pipe or a terminal holds none). Cost: one write(2) per alert. Errors are counted, never
// thrown; a full disk loses the line from the file (it is in the archive) and says so in failed(). Thread
// safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "margay/alert/alert.h"
#include "margay/base/recent_set.h"
#include "margay/base/result.h"

namespace margay::alert {

class JsonlSink {
 public:
  static constexpr std::size_t kMostRemembered = 65'536;  // lines, the newest, that are not written again
  // Opens for appending; reads which (id, step) stand there already, of the newest lines. Errors: kIo.
  static Result<JsonlSink> open(const std::string& path);
  JsonlSink(JsonlSink&& o) noexcept;
  JsonlSink& operator=(JsonlSink&&) = delete;
  ~JsonlSink();

  // Appends its line unless (id, step(alert)) has been written before. True if it was written now.
  bool write(const Alert& alert);
  std::uint64_t failed() const { return failed_; }

 private:
  explicit JsonlSink(int fd) : fd_(fd) {}
  int fd_;
  RecentSet<std::pair<std::string, std::string>> written_{kMostRemembered};
  std::uint64_t failed_ = 0;
  bool cut_ = false;  // the file ends in the middle of a line: the next one begins a new one
};

}  // namespace margay::alert
