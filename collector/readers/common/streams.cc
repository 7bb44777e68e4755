#include "margay/reader/streams.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "margay/base/pair_table.h"
#include "margay/base/text.h"
#include "margay/wire/columns.h"
#include "streams_state.h"

namespace margay::reader {
namespace {

constexpr std::size_t kBatchRecords = 4096;
constexpr std::size_t kLongestName = 255;
constexpr DurationNs kShortLived = seconds(1);
constexpr DurationNs kMatters = milliseconds(5);
constexpr std::size_t kMostKnownNames = 16384;
// The source's first names, the same in all.
constexpr std::uint16_t kComputeIndex = 0, kEndIndex = 1;
constexpr std::uint16_t kOtherIndex = 2;

constexpr std::pair<NameKind, wire::StateFamily> kFamilies[] = {{NameKind::kWait, wire::FAMILY_WAIT},
                                                                {NameKind::kIo, wire::FAMILY_IO},
                                                                {NameKind::kIdle, wire::FAMILY_IDLE},
                                                                {NameKind::kMark, wire::FAMILY_MARK},
                                                                {NameKind::kVariable, wire::FAMILY_VARIABLE}};

std::uint64_t id_of(const std::string& text) {  // FNV-1a: the same in every build
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

std::string text_of(std::string_view text) {
  return clean_utf8(text, kLongestName);
}

}  // namespace

Streams::Streams(Options options, node::Outbox& outbox, node::ProcessWatch& watch, const Clock& clock,
                 std::function<Origin(std::int64_t)> origin)
    : options_(std::move(options)),
      outbox_(outbox),
      watch_(watch),
      clock_(clock),
      origin_(std::move(origin)),
      begun_(clock.monotonic()) {
  if (options_.ledger != nullptr) restore();
}

Streams::~Streams() = default;

ProcessId Streams::process(std::int64_t pid, std::string_view command) {
  if (const auto it = live_.find(pid); it != live_.end()) return it->second;
  if (processes_.size() >= options_.processes) {
    ++counts_.left_out;
    return kNoProcess;
  }
  const ProcessId id(next_process_++);
  auto made = std::make_unique<Process>();
  made->pid = pid;
  made->program = text_of(command);
  made->origin = origin_(pid);
  made->source = id_of(options_.kind + "/" + made->origin.boot_id + "/" + std::to_string(pid) + "/" +
                       std::to_string(made->origin.start_time) + "/" + std::to_string(id.value) + "/" +
                       std::to_string(begun_.value));
  if (options_.watched) watch_.add(made->source, pid, made->origin.start_time);
  if (options_.ledger != nullptr && (made->kept = options_.ledger->free_process()) != nullptr) {
    *made->kept = Ledger::Process();
    made->kept->pid = pid;
    made->kept->start_time = made->origin.start_time;
    made->kept->program = made->program;
    made->kept->source = made->source;
  }
  processes_.emplace(id.value, std::move(made));
  live_.emplace(pid, id);
  return id;
}

Streams::Thread* Streams::find(ThreadId thread) {
  if (thread.value < threads_.size() && threads_[thread.value]) {
    Thread& t = *threads_[thread.value];
    if (!t.ended) return &t;
  }
  ++counts_.left_out;
  return nullptr;
}

ThreadId Streams::begin_thread(ProcessId id, std::int64_t tid, std::string_view name, TimeNs at) {
  const auto it = processes_.find(id.value);
  if (it == processes_.end() || it->second->ended) {
    ++counts_.left_out;
    return kNoThread;
  }
  Process& process = *it->second;
  if (const auto known = claim(process, tid)) return *known;
  if (!process.free.empty()) {
    const std::uint32_t slot = process.free.back();
    process.free.pop_back();
    Thread& t = *threads_[slot];
    t.ended = t.asked = false;
    t.told.reset();
    t.ready_ns = 0;
    t.tid = tid;
    t.name = text_of(name);
    t.begun = std::max(at, t.last);
    if (!t.pooled) {
      t.pooled = t.name_due = true;
      t.shown = "(short-lived) " + std::to_string(++process.pooled);
      if (process.kept != nullptr) process.kept->pooled = process.pooled;
    }
    return ThreadId(slot);
  }
  if (thread_count_ >= options_.threads) {
    ++counts_.left_out;
    return kNoThread;
  }
  std::uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(threads_.size());
    threads_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  auto made = std::make_unique<Thread>();
  made->process = id;
  made->tid = tid;
  made->stream = static_cast<std::uint32_t>(process.threads.size());
  made->name = made->shown = text_of(name);
  made->begun = at;
  process.threads.push_back(slot);
  if (process.kept != nullptr && (made->kept = options_.ledger->free_thread()) != nullptr) {
    *made->kept = Ledger::Thread();
    made->kept->stream = made->stream;
    keep(*made);
    made->kept->source = process.source;
  }
  threads_[slot] = std::move(made);
  ++thread_count_;
  return ThreadId(slot);
}

void Streams::rename_thread(ThreadId thread, std::string_view name) {
  Thread* const t = find(thread);
  if (t == nullptr || t->name == name) return;
  t->name = text_of(name);
  if (t->pooled) return;
  t->shown = t->name;
  t->name_due = true;
}

NameId Streams::name(std::string_view text, NameKind kind) {
  std::string key = text_of(text);
  if (const auto it = name_ids_.find(key); it != name_ids_.end()) return it->second;
  if (names_.size() >= kMostKnownNames) {
    ++counts_.names_left_out;
    return NameId(~std::uint32_t{0});  // not kept: the table of those would have no end
  }
  const NameId id(static_cast<std::uint32_t>(names_.size()));
  names_.push_back({key, kind});
  if (options_.ledger != nullptr && id.value < Ledger::kNames) {
    Ledger::Name& kept = options_.ledger->names()[id.value];
    kept.text = key;
    kept.kind = static_cast<std::uint8_t>(kind);
    kept.own = false;
    kept.there = 1;
  }
  ++counts_.names_left_out;
  // Being idle is nothing that other states could stand for.
  const bool state = kind == NameKind::kState || kind == NameKind::kWait || kind == NameKind::kIo;
  if (named_ < (state ? (options_.names + 3) / 4 : options_.names)) give_name(names_.back());
  name_ids_.emplace(std::move(key), id);
  return id;
}

void Streams::give_name(Name& name) {
  name.own = true;
  if (const auto n = static_cast<std::size_t>(&name - names_.data());
      options_.ledger != nullptr && n < Ledger::kNames)
    options_.ledger->names()[n].own = true;
  ++named_;
  --counts_.names_left_out;
}

std::uint16_t Streams::index_of(Process& process, NameId name) {
  if (name.value >= names_.size() || !names_[name.value].own) return kOtherIndex;
  const auto [it, fresh] = process.index.try_emplace(
      name.value, static_cast<std::uint16_t>(kOtherIndex + 1 + process.names.size()));
  if (fresh) process.names.push_back(name.value);
  if (Ledger::Process* const kept = process.kept; fresh && kept != nullptr &&
                                                  kept->names == process.names.size() - 1 &&
                                                  kept->names < Ledger::kNamesOfProcess) {
    kept->name[kept->names] = static_cast<std::uint16_t>(name.value);
    ++kept->names;
  }
  return it->second;
}

TimeNs Streams::later(Thread& thread, TimeNs at) {
  return std::max({at, thread.last, thread.begun});
}

void Streams::push(Thread& thread, const EventRecord& r) {
  thread.records.push_back(r);
  ++thread.produced;
  ++counts_.produced;
  ++waiting_;
  thread.last = TimeNs(r.time_ns);
}

// False: there is no room for that either.
bool Streams::tell_gap(Thread& thread, TimeNs at) {
  if (!has_room()) return false;
  if (thread.untold == 0) return true;
  push(thread, plain(MARGAY_GAP, kComputeIndex, at, thread.untold));
  thread.untold = 0;
  push(thread, plain(MARGAY_STACK, thread.open.empty() ? kComputeIndex : thread.open.front().index, at));
  for (std::size_t i = 1; i < thread.open.size(); ++i)
    push(thread, plain(MARGAY_ENTER, thread.open[i].index, at));
  return true;
}

void Streams::record(Thread& thread, EventRecord r) {
  if (tell_gap(thread, TimeNs(r.time_ns))) {
    push(thread, r);
    return;
  }
  ++thread.produced;
  ++thread.dropped;
  ++thread.untold;
  ++counts_.produced;
  ++counts_.dropped;
}

void Streams::enter(ThreadId id, NameId state, TimeNs at) {
  Thread* const t = find(id);
  if (t == nullptr) return;
  wake(*t, at);
  const std::uint16_t index = index_of(*processes_.at(t->process.value), state);
  const TimeNs when = later(*t, at);
  record(*t, plain(MARGAY_ENTER, index, when));
  t->open.push_back({state, index, when});
}

void Streams::leave(ThreadId id, NameId state, TimeNs at) {
  Thread* const t = find(id);
  if (t == nullptr) return;
  wake(*t, at);
  if (t->open.empty() || t->open.back().name != state) {
    ++counts_.left_out;
    return;
  }
  const Thread::Open open = t->open.back();
  const TimeNs when = later(*t, at);
  record(*t, plain(MARGAY_LEAVE, open.index, when));
  t->open.pop_back();
  if (state.value >= names_.size() || names_[state.value].own) return;
  Name& name = names_[state.value];
  name.spent += when - open.since;
  if (name.spent >= kMatters && named_ < options_.names) give_name(name);
}

void Streams::mark(ThreadId id, NameId mark, TimeNs at) {
  Thread* const t = find(id);
  if (t == nullptr) return;
  wake(*t, at);
  const std::uint16_t index = index_of(*processes_.at(t->process.value), mark);
  if (index != kOtherIndex) record(*t, plain(MARGAY_MARK, index, later(*t, at)));
}

void Streams::variable(ThreadId id, NameId variable, double value, TimeNs at) {
  Thread* const t = find(id);
  if (t == nullptr) return;
  wake(*t, at);
  const std::uint16_t index = index_of(*processes_.at(t->process.value), variable);
  if (index != kOtherIndex)
    record(*t, plain(MARGAY_VARIABLE, index, later(*t, at), std::bit_cast<std::uint64_t>(value)));
}

void Streams::lost(ThreadId id, std::uint64_t events, TimeNs at) {
  Thread* const t = find(id);
  if (t == nullptr) return;
  if (std::exchange(t->restored, false)) --unsettled_;
  t->open.clear();
  t->stands_in.reset();
  t->use.reset();
  t->produced += events;
  t->dropped += events;
  t->untold += events;
  counts_.produced += events;
  counts_.dropped += events;
  counts_.lost_events += events;
  if (!has_room()) return;
  if (t->untold > 0) {
    tell_gap(*t, later(*t, at));
  } else {  // what was lost is counted elsewhere
    push(*t, plain(MARGAY_GAP, kComputeIndex, later(*t, at), 0));
    push(*t, plain(MARGAY_STACK, kComputeIndex, t->last));
  }
}

void Streams::end_thread(ThreadId id, TimeNs at) {
  Thread* const t = find(id);
  if (t == nullptr) return;
  wake(*t, at);
  const TimeNs end = later(*t, at);
  for (; !t->open.empty(); t->open.pop_back()) record(*t, plain(MARGAY_LEAVE, t->open.back().index, end));
  record(*t, plain(MARGAY_ENTER, kEndIndex, end));
  record(*t, plain(MARGAY_LEAVE, kEndIndex, end));
  t->ended = true;
  if (end - t->begun < kShortLived) processes_.at(t->process.value)->free.push_back(id.value);
}

void Streams::end_process(ProcessId id, TimeNs at) {
  const auto it = processes_.find(id.value);
  if (it == processes_.end() || it->second->ended) return;
  Process& process = *it->second;
  for (const std::uint32_t slot : process.threads) {
    Thread& t = *threads_[slot];
    if (!t.ended) end_thread(ThreadId(slot), at);
    process.end = std::max(process.end, t.last);
  }
  process.end = std::max(process.end, at);
  process.ended = true;
  if (const auto live = live_.find(process.pid); live != live_.end() && live->second == id) live_.erase(live);
}

void Streams::cover(TimeNs until) {
  covered_ = std::max(covered_, until);
}

void Streams::say_hello(Process& process) {
  wire::Hello hello;
  hello.set_source(process.source);
  hello.set_epoch(epoch_);
  auto& attributes = *hello.mutable_attributes();
  attributes["host"] = process.origin.host;
  attributes["boot_id"] = process.origin.boot_id;
  attributes["pid"] = std::to_string(process.pid);
  attributes["start_time"] = std::to_string(process.origin.start_time);
  attributes["reader"] = options_.kind;
  if (!process.program.empty()) attributes["program"] = process.program;
  const auto add = [&](const std::string& text, std::uint32_t family) {
    wire::Name* const name = hello.add_names();
    name->set_name(text);
    name->set_family(family);
  };
  add("Compute", wire::FAMILY_COMPUTE);
  add(MARGAY_THREAD_END, wire::FAMILY_START_END);
  add("(other states)", wire::FAMILY_OTHER);
  for (const std::uint32_t n : process.names) add(names_[n].text, second_of(kFamilies, names_[n].kind));
  process.names_told = process.names.size() + 1;
  const TimeNs before = clock_.monotonic(), real = clock_.realtime(), after = clock_.monotonic();
  hello.mutable_clock()->set_monotonic_ns(before.value + (after - before).value / 2);
  hello.mutable_clock()->set_realtime_ns(real.value);
  outbox_.put_hello(hello);
  if (options_.watched) watch_.introduce(process.source);
}

// Records only as far as the promise reaches would have to be held back otherwise: those of one thread come
// in order, so that the newest is a promise of its own.
void Streams::send_records(Process& process, Thread& thread) {
  for (std::size_t at = 0; at < thread.records.size(); at += kBatchRecords) {
    const std::size_t n = std::min(kBatchRecords, thread.records.size() - at);
    const bool last = at + n == thread.records.size();
    wire::EventBatch batch;
    batch.set_source(process.source);
    batch.set_epoch(epoch_);
    batch.set_stream(thread.stream);
    batch.set_first(thread.first);
    batch.set_count(static_cast<std::uint32_t>(n));
    const TimeNs newest(thread.records[at + n - 1].time_ns);
    batch.set_covered_until_ns((last && thread.untold == 0 ? std::max(newest, covered_) : newest).value);
    batch.set_produced(thread.produced);
    batch.set_dropped(thread.dropped);
    batch.set_recorded(thread.produced - thread.dropped);
    batch.set_untold(last ? thread.untold : 0);
    if (std::exchange(thread.name_due, false)) batch.set_thread(thread.shown);
    columns_.clear();
    wire::encode_columns(std::span(thread.records).subspan(at, n), columns_);
    batch.set_columns(columns_);
    outbox_.put_batch(std::move(batch));
    thread.first += n;
  }
  waiting_ -= thread.records.size();
  thread.records.clear();
}

void Streams::ask_for_name(const Process& process, Thread& thread) {
  if (std::exchange(thread.asked, true) || !options_.thread_name || thread.tid < 0 || thread.ended) return;
  const std::string name = text_of(options_.thread_name(process.pid, thread.tid));
  if (name.empty() || name == thread.name) return;
  thread.name = name;
  if (thread.pooled) return;
  thread.shown = thread.name;
  thread.name_due = true;
}

void Streams::send(Process& process, Thread& thread, TimeNs now) {
  if (!thread.records.empty()) ask_for_name(process, thread);
  if (thread.pooled && !thread.ended && thread.shown != thread.name && !thread.name.empty() &&
      thread.last - thread.begun >= kShortLived) {
    thread.shown = thread.name;  // it is not short-lived
    thread.name_due = true;
  }
  if (!thread.records.empty()) {
    send_records(process, thread);
    keep(thread);
    thread.beaten = now;
    return;
  }
  if (thread.first == 0 || now - thread.beaten < options_.beat) return;
  thread.beaten = now;
  wire::EventBatch beat;
  beat.set_source(process.source);
  beat.set_epoch(epoch_);
  beat.set_stream(thread.stream);
  beat.set_first(thread.first);
  beat.set_covered_until_ns((thread.untold == 0 ? std::max(thread.last, covered_) : thread.last).value);
  beat.set_produced(thread.produced);
  beat.set_dropped(thread.dropped);
  beat.set_recorded(thread.first);
  beat.set_untold(thread.untold);
  outbox_.put_heartbeat(beat);
}

void Streams::say_goodbye(Process& process) {
  wire::Goodbye goodbye;
  goodbye.set_source(process.source);
  goodbye.set_epoch(epoch_);
  goodbye.set_reason(wire::Goodbye::EXITED);
  goodbye.set_end_ns(process.end.value);
  for (const std::uint32_t slot : process.threads) {
    const Thread& t = *threads_[slot];
    wire::StreamTotal* const total = goodbye.add_streams();
    total->set_stream(t.stream);
    total->set_produced(t.produced);
    total->set_dropped(t.dropped);
    total->set_recorded(t.first);
    total->set_untold(t.untold);
  }
  outbox_.put_goodbye(goodbye);
  process.goodbye = true;
}

void Streams::flush() {
  auto sample = watch_.sample();
  const TimeNs now = clock_.monotonic();
  if (unsettled_ > 0) settle();
  look_at_threads(now, sample ? &*sample : nullptr);
  if (sample) outbox_.put_sample(std::move(*sample));
  for (auto it = processes_.begin(); it != processes_.end();) {
    Process& process = *it->second;
    if (process.goodbye) {
      if (!outbox_.goodbye_acked(process.source)) {
        ++it;
        continue;
      }
      outbox_.forget(process.source);
      watch_.remove(process.source);
      for (const std::uint32_t slot : process.threads) {
        if (threads_[slot]->kept != nullptr) threads_[slot]->kept->source = 0;
        threads_[slot].reset();
        free_.push_back(slot);
      }
      if (process.kept != nullptr) process.kept->source = 0;
      thread_count_ -= process.threads.size();
      it = processes_.erase(it);
      continue;
    }
    if (process.names_told != process.names.size() + 1) say_hello(process);
    for (const std::uint32_t slot : process.threads) send(process, *threads_[slot], now);
    if (process.ended) say_goodbye(process);
    ++it;
  }
}

std::vector<Streams::Gone> Streams::gone() const {
  std::vector<Gone> out;
  if (!options_.watched) return out;
  for (const auto& [id, process] : processes_)
    if (const auto& seen = watch_.seen(process->source); !process->ended && seen.gone)
      out.push_back({ProcessId(id), process->pid, seen.looked});
  return out;
}

void Streams::finish() {
  for (const auto& [id, process] : processes_) {
    TimeNs last{};
    for (const std::uint32_t slot : process->threads) last = std::max(last, threads_[slot]->last);
    end_process(ProcessId(id), std::max(last, covered_));
  }
}

}  // namespace margay::reader
