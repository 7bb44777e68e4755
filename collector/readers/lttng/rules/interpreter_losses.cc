// What was lost. A buffer is of a CPU, and threads move between CPUs: each thread that is known may have been
// in it.
#include <algorithm>

#include "interpreter_impl.h"

namespace margay::lttng_rules {
namespace {

// Of an unknown number of events, and at most so many are remembered.
constexpr std::uint64_t kMostExcused = 1 << 20;

}  // namespace

void Interpreter::Impl::lose(const lttng::Discarded& discarded) {
  if (discarded.events == 0 && discarded.exact) return;
  odd.discarded += discarded.events;
  odd.discarded_inexact += discarded.exact ? 0 : 1;
  const std::uint64_t excused = discarded.exact ? std::min(discarded.events, kMostExcused) : kMostExcused;
  recent_loss = std::max(recent_loss, excused);

  // The number goes to one thread, so that the sum over threads is what was lost: to that of the CPU's newest
  // event.
  const auto cpu = static_cast<std::size_t>(discarded.cpu);
  std::uint32_t likely = discarded.cpu >= 0 && cpu < last_thread.size() ? last_thread[cpu] : kNothing;
  const auto told = [](const Thread& t) { return t.begun && t.id != reader::kNoThread; };
  if (likely != kNothing && !told(threads.thread(likely))) likely = kNothing;
  for (std::uint32_t i = 0; i < threads.places(); ++i) {
    Thread& thread = threads.thread(i);
    if (!told(thread)) continue;
    if (likely == kNothing) likely = i;
    odd.forgotten_in_loss += thread.stack.size() + thread.deep;
    thread.excused = std::min(thread.excused + thread.stack.size() + thread.deep + excused, kMostExcused);
    thread.stack.clear();
    thread.deep = 0;
    thread.out = Thread::Out::kNo;
    thread.where = Thread::Where::kUnknown;
    sink.lost(thread.id, i == likely ? discarded.events : 0, discarded.end);
  }
  if (likely == kNothing) odd.discarded_unattributed += discarded.events;
  if (discarded.cpu >= 0 && cpu < current_tid.size()) current_tid[cpu] = -1;
}

}  // namespace margay::lttng_rules
