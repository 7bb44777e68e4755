// How many lines may be said: a token bucket for each key, and one for all. Pure; time is handed in.
//
// Each key may say kBurst lines at once and then one every minute / kBurst; all together `most` a minute.
// Errors have a bucket of their own, so that a flood of lesser lines cannot hide them. Keys beyond kMostKeys
// share one. Thread safety: none. Cost: a look-up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/time.h"

namespace margay::log {

class Throttle {
 public:
  static constexpr double kBurst = 6;
  static constexpr std::size_t kMostKeys = 256;

  explicit Throttle(double most_a_minute)
      : all_(most_a_minute), errors_(most_a_minute), most_(most_a_minute) {}

  // May this line be said? If not it is counted, and `line` kept as an example.
  bool admit(const std::string& key, bool error, const std::string& line, TimeNs now);
  // What was left out since the last call: (count, newest example), largest first; at most `most` of them,
  // the rest summed up under an empty example.
  std::vector<std::pair<std::uint64_t, std::string>> take_suppressed(std::size_t most);
  std::uint64_t suppressed() const { return suppressed_; }  // ever

 private:
  struct Bucket {
    double tokens = 0;
    TimeNs at{};
    Bucket() = default;
    explicit Bucket(double full) : tokens(full) {}
    void fill(double most, TimeNs now);
  };
  struct Key {
    Bucket bucket{kBurst};
    std::uint64_t suppressed = 0;
    std::string example;
  };
  Bucket all_, errors_;
  double most_;
  std::map<std::string, Key> keys_;
  std::uint64_t suppressed_ = 0;
};

}  // namespace margay::log
