#include "job.h"

#include <algorithm>
#include <cmath>

namespace margay::simulation {

void Rank::add(std::uint8_t kind, std::uint16_t name, std::uint64_t bytes) {
  records_.push_back({now_.value, bytes, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, name, kind, 0});
}

// Mostly milliseconds, now and then a long one: over slices, and over what a daemon takes to come back.
void Rank::advance() {
  const double mean = once_in(random_, 60) ? 400e6 : 6e6;
  const double unit = static_cast<double>(random_() % 1'000'000 + 1) / 1'000'001.0;
  pause_ = DurationNs(static_cast<std::int64_t>(-std::log(unit) * mean) + 1);
}

void Rank::call() {
  if (!open_.empty() && (open_.size() >= 4 || random_() % 3 != 0)) {
    add(MARGAY_LEAVE, open_.back());
    open_.pop_back();
    return;
  }
  // A name that it has not used so far, now and then.
  if (names_.size() < 24 && once_in(random_, 100)) names_.push_back("f" + std::to_string(names_.size()));
  const auto more = static_cast<std::uint16_t>(names_.size() - kFirstRegion);
  const std::uint16_t own =
      more == 0 ? std::uint16_t{kRecv} : static_cast<std::uint16_t>(kFirstRegion + random_() % more);
  const std::uint16_t name = random_() % 2 == 0 ? std::uint16_t{kSend} : own;
  add(MARGAY_ENTER, name);
  open_.push_back(name);
}

void Rank::run(TimeNs until, bool overflow) {
  while (!ended_) {
    if (pause_ == DurationNs(0)) advance();
    if (now_ + pause_ >= until) {
      return;
    }
    now_ = now_ + pause_;
    pause_ = DurationNs(0);
    if (overflow && !records_.empty() && once_in(random_, 150)) {
      // Records that had no room, and where it is by now.
      const std::uint64_t lost = 1 + random_() % 9;
      dropped_ += lost;
      add(MARGAY_GAP, 0, lost);
      open_.clear();
      if (random_() % 2 == 0) open_.push_back(kSend);
      add(MARGAY_STACK, open_.empty() ? std::uint16_t{kComputeName} : open_.back());
    } else {
      call();
    }
  }
}

void Rank::finalize(TimeNs until) {
  if (ended_) return;
  const auto next = [&] {
    now_ = std::max(now_, until) + DurationNs(1 + static_cast<std::int64_t>(random_() % 2'000'000));
  };
  for (; !open_.empty(); open_.pop_back()) {
    next();
    add(MARGAY_LEAVE, open_.back());
  }
  next();
  add(MARGAY_ENTER, kFinalize);
  next();
  add(MARGAY_LEAVE, kFinalize);
  ended_ = true;
}

wire::Hello Rank::hello(std::uint32_t epoch, const std::string& boot) const {
  wire::Hello hello;
  hello.set_source(source_);
  hello.set_epoch(epoch);
  auto& attributes = *hello.mutable_attributes();
  attributes["host"] = "n1";
  attributes["boot_id"] = boot;
  attributes["pid"] = std::to_string(1000 + source_);
  attributes["rank"] = std::to_string(source_);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    wire::Name& name = *hello.add_names();
    name.set_name(names_[i]);
    name.set_family(i == 0           ? wire::FAMILY_COMPUTE
                    : i == kFinalize ? wire::FAMILY_START_END
                                     : wire::FAMILY_POINT_TO_POINT);
  }
  return hello;
}

std::vector<margay::test::ReferenceEvent> Rank::reference(std::size_t count, DurationNs offset,
                                                          const std::vector<StateId>& states) const {
  using margay::test::ReferenceEvent;
  std::vector<ReferenceEvent> out;
  for (std::size_t i = 0; i < std::min(count, records_.size()); ++i) {
    const EventRecord& r = records_[i];
    const TimeNs t = TimeNs(r.time_ns) + offset;
    const StateId state = r.state < states.size() ? states[r.state] : kUnknown;
    if (r.kind == MARGAY_ENTER) out.push_back({ReferenceEvent::kEnter, state, t});
    if (r.kind == MARGAY_LEAVE) out.push_back({ReferenceEvent::kLeave, state, t});
    if (r.kind == MARGAY_LEAVE && r.state == kFinalize) out.push_back({ReferenceEvent::kEnd, state, t});
    if (r.kind == MARGAY_GAP) out.push_back({ReferenceEvent::kGap, kUnknown, t});
    if (r.kind == MARGAY_STACK) out.push_back({ReferenceEvent::kStack, r.state == 0 ? kCompute : state, t});
  }
  return out;
}

}  // namespace margay::simulation
