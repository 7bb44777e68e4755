// Threads that tell nothing, and are asleep.
#include <algorithm>
#include <utility>

#include "streams_state.h"

namespace margay::reader {
namespace {

constexpr DurationNs kSilent = seconds(1);  // then a thread is looked at
constexpr DurationNs kLookPeriod = milliseconds(100);
constexpr std::size_t kMostLooks = 32;  // a period: a hundredth of the time
constexpr char kAsleep[] = "(asleep)";

}  // namespace

void Streams::wake(Thread& thread, TimeNs at) {
  if (thread.restored) settle(thread, at);
  thread.use.reset();
  if (!std::exchange(thread.asleep, false)) return;
  record(thread, plain(MARGAY_LEAVE, thread.open.back().index, later(thread, at)));
  thread.open.pop_back();
}

// Nothing is told before what was promised: it falls asleep, and wakes up, at the newest promise.
void Streams::look_at(Process& process, Thread& thread) {
  const auto use = options_.use(process.pid, thread.tid);
  if (!use) return;
  const bool still = use->asleep && thread.use && thread.use->asleep && thread.use->cpu_ns == use->cpu_ns;
  if (thread.asleep && !still) wake(thread, std::max(covered_, thread.last));
  thread.use = use;
  if (thread.asleep || !still || !has_room()) return;
  if (!asleep_) asleep_ = name(kAsleep, NameKind::kIdle);
  const std::uint16_t index = index_of(process, *asleep_);
  const TimeNs when = later(thread, covered_);
  record(thread, plain(MARGAY_ENTER, index, when));
  thread.open.push_back({*asleep_, index, when});
  thread.asleep = true;
}

void Streams::look_for_sleepers(TimeNs now) {
  if (!options_.use || now - looked_ < kLookPeriod || threads_.empty()) return;
  looked_ = now;
  std::size_t looks = 0;
  for (std::size_t n = 0; n < threads_.size() && looks < kMostLooks; ++n) {
    look_next_ = (look_next_ + 1) % threads_.size();
    Thread* const t = threads_[look_next_].get();
    if (t == nullptr || t->ended || t->tid < 0 || (!t->open.empty() && !t->asleep)) continue;
    if (!t->asleep && covered_ - t->last < kSilent) continue;
    Process& process = *processes_.at(t->process.value);
    if (process.ended) continue;
    look_at(process, *t);
    ++looks;
  }
}

}  // namespace margay::reader
