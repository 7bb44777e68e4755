// One direction of a connection with faults: messages are lost, delayed, repeated, cut short. Those that
// arrive keep their order; repeated ones do not.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "job.h"

namespace margay::simulation {

struct LinkFaults {
  // Once in so many messages; 0: never.
  std::uint64_t lost = 0, repeated = 0, late = 0, cut_short = 0;
};

class FaultyLink {
 public:
  FaultyLink(LinkFaults faults, Random& random) : faults_(faults), random_(random) {}

  void send(std::string message, TimeNs now) {
    if (once_in(random_, faults_.lost)) return;
    if (once_in(random_, faults_.cut_short)) message.resize(random_() % (message.size() + 1));
    const DurationNs late =
        once_in(random_, faults_.late) ? up_to(milliseconds(400)) : up_to(milliseconds(3));
    last_ = std::max(last_, now + late);
    if (once_in(random_, faults_.repeated)) again_.emplace_back(last_ + up_to(seconds(1)), message);
    waiting_.emplace_back(last_, std::move(message));
  }
  // What arrives by now.
  std::vector<std::string> take(TimeNs now) {
    std::vector<std::string> out;
    for (; !waiting_.empty() && waiting_.front().first <= now; waiting_.pop_front())
      out.push_back(std::move(waiting_.front().second));
    for (std::size_t i = 0; i < again_.size();) {
      if (again_[i].first > now) {
        ++i;
        continue;
      }
      out.push_back(std::move(again_[i].second));
      again_.erase(again_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return out;
  }
  void clear() { waiting_.clear(); }
  void restore() { faults_ = {}; }
  // The connection is gone: of what was on its way, only a part arrives.
  void cut() {
    std::erase_if(waiting_, [&](const auto&) { return random_() % 2 == 0; });
  }

 private:
  DurationNs up_to(DurationNs d) {
    return DurationNs(static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(d.value)));
  }
  LinkFaults faults_;
  Random& random_;
  TimeNs last_{};
  std::deque<std::pair<TimeNs, std::string>> waiting_, again_;
};

}  // namespace margay::simulation
