// An alert that fires and changes is said again: the same id, status firing, `updates` one more.
//
// It is said again when it has changed essentially since it was last said: it blames others, others are
// affected, its score a slice is twice or half of what it was, or it has become persistent (fires for
// `persistent_after`); and not before `every` has passed since. Who has the CPU instead is said as soon as it
// is known, which is a slice or two after what begins at once. Time is trace time (the watermark), so that
// the same slices give the same updates, live, after a restart and in a replay.
//
// Pure. Thread safety: none. Cost: of a look, comparing some texts. Bounded: kMostFollowed alerts, the newest
// by id; others are said twice only, when they begin and when they end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "margay/alert/alert.h"

namespace margay::alert {

class Updates {
 public:
  static constexpr std::size_t kMostFollowed = 1024;
  struct Options {
    DurationNs every = seconds(30);              // 0: never
    DurationNs persistent_after = seconds(300);  // since the onset; 0: never
  };
  explicit Updates(Options options) : options_(options) {}

  // What the detector raised or resolved: remembers what is said, and completes it.
  void said(Alert& alert);
  // How an alert that fires looks now. Appends to `out` what is to be said of it, if anything.
  void look(const Alert& now, TimeNs watermark, std::vector<Alert>& out);

 private:
  struct Last {
    std::vector<std::string> resources, affected;  // sorted
    double bits_a_slice = 0;
    TimeNs at{};
    std::uint64_t updates = 0;
    std::optional<TimeNs> updated;
    bool persistent = false;
    bool named = false;  // who has the CPU instead
  };
  static double bits_a_slice(const Alert& alert, TimeNs now);

  const Options options_;
  std::map<std::string, Last> last_;  // by id
};

}  // namespace margay::alert
