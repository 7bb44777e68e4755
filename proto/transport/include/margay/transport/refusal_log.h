// Which refusals are worth a line of the log: the first of each peer and reason in a minute; at its end one
// line for the others. At most kLinesAMinute in all, however many attempts there are. Thread safety: none.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "margay/base/time.h"

namespace margay::transport {

class RefusalLog {
 public:
  static constexpr std::size_t kLinesAMinute = 20;
  // What is refused: one of them, and several.
  explicit RefusalLog(std::string one = "a connection", std::string many = "connections")
      : one_(std::move(one)), many_(std::move(many)) {}
  // The line to write now, or nothing.
  std::optional<std::string> note(const std::string& peer, const std::string& reason, TimeNs now);
  std::optional<std::string> tick(TimeNs now);
  // So many that no line is to be written of.
  void more(std::uint64_t n, TimeNs now);

 private:
  std::string one_, many_;
  std::set<std::string> said_;
  std::uint64_t unsaid_ = 0;
  TimeNs since_{};
  bool open_ = false;
};

}  // namespace margay::transport
