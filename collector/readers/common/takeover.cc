// A reader that goes on where one that died left off.
#include <algorithm>
#include <utility>

#include "streams_state.h"

namespace margay::reader {

// What a thread's entry says is what its successor would have to know now: after records were handed over,
// that these were. They leave for the collector later, so that no ordinal is ever given twice.
void Streams::keep(Thread& thread) {
  Ledger::Thread* const kept = thread.kept;
  if (kept == nullptr) return;
  if (kept->name.view() != thread.name) kept->name = thread.name;
  if (kept->shown.view() != thread.shown) kept->shown = thread.shown;
  kept->tid = thread.tid;
  kept->pooled = thread.pooled;
  kept->ended = thread.ended;
  kept->begun = thread.begun.value;
  kept->last = thread.last.value;
  kept->dropped = thread.dropped;
  kept->untold = thread.untold;
  kept->next = thread.first;
}

void Streams::restore() {
  Ledger& ledger = *options_.ledger;
  epoch_ = ledger.epoch();
  for (const Ledger::Name& kept : ledger.names()) {
    if (kept.there == 0 || names_.size() >= Ledger::kNames) break;
    const auto kind = static_cast<NameKind>(std::min<std::size_t>(kept.kind, kNameKinds - 1));
    name_ids_.emplace(std::string(kept.text.view()), NameId(static_cast<std::uint32_t>(names_.size())));
    names_.push_back({std::string(kept.text.view()), kind, kept.own});
    kept.own ? ++named_ : ++counts_.names_left_out;
  }
  std::map<std::uint64_t, ProcessId> found;
  std::vector<ProcessId> over;  // those that ended while nobody read; another process may have their number
  for (Ledger::Process& kept : ledger.processes()) {
    if (kept.source == 0) continue;
    const Origin now = origin_(kept.pid);
    const bool there = !options_.watched || now.start_time == kept.start_time;
    if (processes_.size() >= options_.processes || (there && live_.contains(kept.pid)) ||
        std::any_of(kept.name.begin(),
                    kept.name.begin() + std::min<std::size_t>(kept.names, Ledger::kNamesOfProcess),
                    [this](std::uint16_t n) { return n >= names_.size(); })) {
      kept.source = 0;
      continue;
    }
    const ProcessId id(next_process_++);
    auto made = std::make_unique<Process>();
    made->source = kept.source;
    made->pid = kept.pid;
    made->program = std::string(kept.program.view());
    made->origin = now;
    made->origin.start_time = kept.start_time;  // of the one that is meant, there or not
    made->kept = &kept;
    for (std::size_t n = 0; n < kept.names; ++n) index_of(*made, NameId(kept.name[n]));
    if (options_.watched) watch_.add(made->source, made->pid, made->origin.start_time);
    found.emplace(made->source, id);
    if (there)
      live_.emplace(made->pid, id);
    else
      over.push_back(id);
    processes_.emplace(id.value, std::move(made));
  }
  std::vector<Ledger::Thread*> threads;
  for (Ledger::Thread& kept : ledger.threads())
    if (kept.source != 0) threads.push_back(&kept);
  std::sort(threads.begin(), threads.end(), [](const Ledger::Thread* a, const Ledger::Thread* b) {
    return std::pair(a->source, a->stream) < std::pair(b->source, b->stream);
  });
  for (Ledger::Thread* kept : threads) {
    const auto it = found.find(kept->source);
    if (it == found.end() || thread_count_ >= options_.threads) {
      kept->source = 0;
      continue;
    }
    restore_thread(*processes_.at(it->second.value), it->second, *kept);
  }
  for (const ProcessId id : over) {
    TimeNs last{};
    for (const std::uint32_t slot : processes_.at(id.value)->threads)
      last = std::max(last, threads_[slot]->last);
    end_process(id, last);
  }
}

void Streams::restore_thread(Process& process, ProcessId id, Ledger::Thread& kept) {
  const auto slot = static_cast<std::uint32_t>(threads_.size());
  auto made = std::make_unique<Thread>();
  made->process = id;
  made->tid = kept.tid;
  made->stream = kept.stream;
  made->name = std::string(kept.name.view());
  made->shown = std::string(kept.shown.view());
  made->pooled = kept.pooled;
  made->ended = kept.ended;
  made->begun = TimeNs(kept.begun);
  made->last = TimeNs(kept.last);
  made->first = kept.next;
  made->dropped = kept.dropped;
  made->untold = kept.untold;
  made->produced = kept.next + kept.dropped;
  made->kept = &kept;
  if (made->pooled) process.pooled = std::max(process.pooled, process.kept->pooled);
  if (made->ended) {
    process.free.push_back(slot);
  } else {
    made->restored = true;
    ++unsettled_;
    process.unclaimed.emplace(made->tid, slot);
  }
  process.threads.push_back(slot);
  threads_.push_back(std::move(made));
  ++thread_count_;
}

// The thread that the one before us knew under this number. It knew its name as well, and better: the first
// that is seen need not be the main thread now.
std::optional<ThreadId> Streams::claim(Process& process, std::int64_t tid) {
  const auto it = process.unclaimed.find(tid);
  if (it == process.unclaimed.end()) return std::nullopt;
  const ThreadId id(it->second);
  process.unclaimed.erase(it);
  if (threads_[id.value]->ended) return std::nullopt;
  return id;
}

void Streams::settle(Thread& thread, TimeNs at) {
  for (const std::uint32_t s : processes_.at(thread.process.value)->threads)
    if (threads_[s].get() == &thread) {
      lost(ThreadId(s), 0, at);
      return;
    }
}

// Threads that have not spoken since: what they did is unknown to where the trace is now.
void Streams::settle() {
  if (covered_ == TimeNs()) return;
  for (std::uint32_t s = 0; s < threads_.size() && unsettled_ > 0; ++s)
    if (threads_[s] && threads_[s]->restored && !threads_[s]->ended) lost(ThreadId(s), 0, covered_);
}

}  // namespace margay::reader
