#include "consumer_sink.h"

#include <algorithm>
#include <bit>

#include "margay/base/pair_table.h"
#include "margay/base/text.h"

namespace margay::lttng_import {
namespace {

// Declared first: what names beyond the bound are.
constexpr reader::NameId kOther{0};

constexpr std::pair<reader::NameKind, model::StateFamily> kFamilies[] = {
    {reader::NameKind::kWait, model::StateFamily::kWait},
    {reader::NameKind::kIo, model::StateFamily::kIo},
    {reader::NameKind::kIdle, model::StateFamily::kIdle}};

trace::Name::Kind kind_of(reader::NameKind kind) {
  if (kind == reader::NameKind::kMark) return trace::Name::Kind::kMark;
  if (kind == reader::NameKind::kVariable) return trace::Name::Kind::kVariable;
  return trace::Name::Kind::kState;
}

}  // namespace

reader::ProcessId ConsumerSink::process(std::int64_t pid, std::string_view command) {
  processes_.push_back({clean_utf8(std::string(command)) + ":" + std::to_string(pid), {}});
  return reader::ProcessId(static_cast<std::uint32_t>(processes_.size() - 1));
}

reader::ThreadId ConsumerSink::begin_thread(reader::ProcessId process, std::int64_t tid,
                                            std::string_view name, TimeNs at) {
  if (process.value >= processes_.size() || threads_.size() >= kMostLeaves || !status_)
    return reader::kNoThread;
  const auto id = static_cast<std::uint32_t>(threads_.size());
  trace::Leaf leaf;
  leaf.attributes["path1"] = processes_[process.value].name;
  leaf.attributes["path2"] = clean_utf8(std::string(name)) + ":" + std::to_string(tid);
  status_ = consumer_.on_leaf(LeafIndex(id), leaf);
  processes_[process.value].threads.push_back(id);
  threads_.push_back({false, at + offset_});
  ++counts_.containers;
  put(reader::ThreadId(id), MARGAY_BEGIN, 0, at);
  return reader::ThreadId(id);
}

reader::NameId ConsumerSink::name(std::string_view text, reader::NameKind kind) {
  const auto declare = [&](const std::string& key, reader::NameKind k) {
    const reader::NameId id(static_cast<std::uint32_t>(names_.size()));
    names_.emplace(key, id);
    if (status_)
      status_ =
          consumer_.on_name(static_cast<std::uint16_t>(id.value), {kind_of(k), key, second_of(kFamilies, k)});
    return id;
  };
  if (names_.empty()) static_cast<void>(declare("(other states)", reader::NameKind::kState));
  std::string key = clean_utf8(text, model::StateTable::kLongestName);
  if (const auto it = names_.find(key); it != names_.end()) return it->second;
  if (names_.size() < kMostNames) return declare(key, kind);
  ++names_left_out_;
  return kOther;
}

void ConsumerSink::put(reader::ThreadId thread, std::uint8_t kind, std::uint16_t name, TimeNs at,
                       std::uint64_t bytes) {
  if (thread.value >= threads_.size() || threads_[thread.value].ended) return;
  Thread& t = threads_[thread.value];
  t.last = std::max(t.last, at + offset_);
  const EventRecord r{t.last.value, bytes, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, name, kind, 0};
  if (status_) status_ = consumer_.on_records(LeafIndex(thread.value), {&r, 1});
  ++counts_.records;
  if (!counts_.begin) counts_.begin = t.last;
  counts_.end = std::max(counts_.end, t.last);
}

void ConsumerSink::enter(reader::ThreadId thread, reader::NameId state, TimeNs at) {
  ++counts_.states;
  put(thread, MARGAY_ENTER, static_cast<std::uint16_t>(state.value), at);
}
void ConsumerSink::leave(reader::ThreadId thread, reader::NameId state, TimeNs at) {
  put(thread, MARGAY_LEAVE, static_cast<std::uint16_t>(state.value), at);
}
void ConsumerSink::mark(reader::ThreadId thread, reader::NameId mark, TimeNs at) {
  if (mark == kOther) return;
  ++counts_.marks;
  put(thread, MARGAY_MARK, static_cast<std::uint16_t>(mark.value), at);
}
void ConsumerSink::variable(reader::ThreadId thread, reader::NameId variable, double value, TimeNs at) {
  if (variable == kOther) return;
  ++counts_.variables;
  put(thread, MARGAY_VARIABLE, static_cast<std::uint16_t>(variable.value), at,
      std::bit_cast<std::uint64_t>(value));
}
void ConsumerSink::lost(reader::ThreadId thread, std::uint64_t events, TimeNs at) {
  put(thread, MARGAY_GAP, 0, at, events);
}
void ConsumerSink::end_thread(reader::ThreadId thread, TimeNs at) {
  put(thread, MARGAY_END, 0, at);
  if (thread.value < threads_.size()) threads_[thread.value].ended = true;
}
void ConsumerSink::end_process(reader::ProcessId process, TimeNs at) {
  if (process.value >= processes_.size()) return;
  for (const std::uint32_t t : processes_[process.value].threads)
    if (!threads_[t].ended) end_thread(reader::ThreadId(t), at);
}
void ConsumerSink::cover(TimeNs until) {
  if (status_) status_ = consumer_.on_covered(until + offset_);
}

}  // namespace margay::lttng_import
