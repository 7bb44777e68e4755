// Threads that tell nothing, and are asleep, or are given no CPU.
#include <algorithm>
#include <map>
#include <utility>

#include "streams_state.h"

namespace margay::reader {
namespace {

constexpr DurationNs kQuiet = milliseconds(200);  // then it may be given no CPU
constexpr DurationNs kSilent = seconds(1);        // then it may be asleep
constexpr DurationNs kLookPeriod = milliseconds(100);
constexpr std::size_t kMostLooks = 32;  // a period: a hundredth of the time
constexpr char kAsleep[] = "(asleep)";
constexpr char kReady[] = "(no CPU)";

// Between two looks. The system adds the time in which a thread was ready to its account only when it runs
// again; until then it is known to have been ready throughout, for it was at both ends and has not run.
bool was_ready(const ThreadUse& before, const ThreadUse& now, DurationNs between) {
  if (!before.ready || !now.ready) return false;
  const auto waited = static_cast<std::int64_t>(now.ready_ns - before.ready_ns);
  return now.cpu_ns == before.cpu_ns || waited >= between.value / 5 * 4;
}

}  // namespace

void Streams::wake(Thread& thread, TimeNs at) {
  if (thread.restored) settle(thread, at);
  thread.use.reset();
  if (!std::exchange(thread.stands_in, std::nullopt)) return;
  record(thread, plain(MARGAY_LEAVE, thread.open.back().index, later(thread, at)));
  thread.open.pop_back();
}

// Nothing is told before what was promised: it falls asleep, and wakes up, at the newest promise.
void Streams::stand_in(Process& process, Thread& thread, const ThreadUse& use, TimeNs now) {
  std::optional<NameId> is;
  if (thread.use && thread.use->asleep && use.asleep && thread.use->cpu_ns == use.cpu_ns &&
      (thread.stands_in || covered_ - thread.last >= kSilent))
    is = own_name(asleep_, kAsleep, NameKind::kIdle);
  else if (thread.use && was_ready(*thread.use, use, now - thread.looked))
    is = own_name(ready_, kReady, NameKind::kState);
  if (thread.stands_in && thread.stands_in != is) wake(thread, std::max(covered_, thread.last));
  thread.use = use;
  thread.looked = now;
  if (!is || thread.stands_in || !has_room()) return;
  const std::uint16_t index = index_of(process, *is);
  const TimeNs when = later(thread, covered_);
  record(thread, plain(MARGAY_ENTER, index, when));
  thread.open.push_back({*is, index, when});
  thread.stands_in = is;
}

// True if it was not let for most of the time since the last look.
bool Streams::tell_use(Thread& thread, const ThreadUse& use, TimeNs now, wire::ThreadSample* told) {
  const std::uint64_t before = thread.ready_ns;
  const DurationNs since = now - thread.told_at;
  if (thread.told && thread.told->ready && use.ready && thread.told->cpu_ns == use.cpu_ns)
    thread.ready_ns += static_cast<std::uint64_t>(since.value);
  thread.ready_ns = std::max(thread.ready_ns, use.ready_ns);
  const bool starves = thread.told && thread.ready_ns - before >= static_cast<std::uint64_t>(since.value) / 2;
  thread.told = use;
  thread.told_at = now;
  if (told != nullptr) {
    told->set_stream(thread.stream);
    told->set_state(static_cast<std::uint32_t>(use.asleep ? 'S' : use.ready ? 'R' : 'T'));
    told->set_cpu_ns(use.cpu_ns);
    told->set_run_delay_ns(thread.ready_ns);
  }
  return starves;
}

NameId Streams::own_name(std::optional<NameId>& kept, const char* text, NameKind kind) {
  if (!kept) {
    kept = name(text, kind);
    if (kept->value < names_.size() && !names_[kept->value].own && named_ < options_.names)
      give_name(names_[kept->value]);
  }
  return *kept;
}

// Each in its turn. `sample`: what is to tell of the threads; its processes are those of this moment.
void Streams::look_at_threads(TimeNs now, wire::NodeSample* sample) {
  // A sample is worth waiting for.
  if (!options_.use || threads_.empty() ||
      now - looked_ < (sample != nullptr ? kLookPeriod : kLookPeriod * 2))
    return;
  looked_ = now;
  std::map<std::uint64_t, wire::ProcessSample*> told;
  if (sample != nullptr)
    for (wire::ProcessSample& p : *sample->mutable_processes()) told[p.source()] = &p;
  std::size_t looks = 0;
  std::map<std::uint64_t, bool> starve;
  for (std::size_t n = 0; n < threads_.size() && looks < kMostLooks; ++n) {
    look_next_ = (look_next_ + 1) % threads_.size();
    Thread* const t = threads_[look_next_].get();
    if (t == nullptr || t->ended || t->tid < 0) continue;
    Process& process = *processes_.at(t->process.value);
    if (process.ended) continue;
    ++looks;
    const auto use = options_.use(process.pid, t->tid);
    if (!use) continue;
    const auto of = told.find(process.source);
    const bool starves = tell_use(*t, *use, now, of == told.end() ? nullptr : of->second->add_threads());
    bool& any = starve[process.source];
    any = any || starves;
    if (t->stands_in || (t->open.empty() && covered_ - t->last >= kQuiet)) stand_in(process, *t, *use, now);
  }
  for (const auto& [source, any] : starve) watch_.starves(source, any);
}

}  // namespace margay::reader
