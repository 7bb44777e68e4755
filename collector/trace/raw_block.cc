#include "margay/trace/raw_block.h"

#include <algorithm>
#include <map>

#include "margay/wire/columns.h"

namespace margay::trace {
namespace {

std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrapping_difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

}  // namespace

namespace {

// The block's records in trace time, all of them.
Status decode_all(const store::RawBlock& block, std::vector<EventRecord>& out) {
  if (Status ok = wire::decode_columns_untrusted(block.columns, block.count, out); !ok) return ok;
  if (out.empty()) return {};
  const auto [least, most] =
      std::minmax_element(out.begin(), out.end(),
                          [](const EventRecord& a, const EventRecord& b) { return a.time_ns < b.time_ns; });
  const std::int64_t host = least->time_ns, length = wrapping_difference(most->time_ns, host);
  const std::int64_t offset = wrapping_difference(block.begin.value, host);
  std::int64_t drift = wrapping_difference(wrapping_difference(block.end.value, most->time_ns), offset);
  // An end that is much too early is that of a clock that ran ahead: what lies beyond it was not taken.
  if (drift < -(length / 1000 + 1000)) drift = 0;
  __extension__ using Wide = __int128;
  for (EventRecord& r : out) {
    const std::int64_t since = wrapping_difference(r.time_ns, host);
    r.time_ns = wrapping_sum(r.time_ns, offset);
    if (drift != 0 && length > 0)
      r.time_ns = wrapping_sum(r.time_ns, static_cast<std::int64_t>(Wide{drift} * since / length));
  }
  return {};
}

}  // namespace

Status decode_block(const std::string& archive, const store::RawBlock& block, std::vector<EventRecord>& out,
                    std::uint64_t& rejected) {
  if (Status ok = decode_all(block, out); !ok)
    return fail(ok.error(), archive + ": raw events of leaf " + std::to_string(block.leaf.value) + " from " +
                                std::to_string(block.begin.value) + " ns");
  std::size_t kept = 0;
  for (const EventRecord& r : out)
    if (r.kind >= MARGAY_ENTER && r.kind <= MARGAY_SUM_INSIDE && r.time_ns <= block.end.value)
      out[kept++] = r;
  rejected += out.size() - kept;
  out.resize(kept);
  return {};
}

Status round_times(store::RawBlock& block, DurationNs grid, std::vector<EventRecord>& scratch) {
  if (Status ok = decode_all(block, scratch); !ok) return ok;
  const auto down = [mask = -grid.value](std::int64_t t) { return t & mask; };
  for (EventRecord& r : scratch) r.time_ns = down(r.time_ns);
  block.begin = TimeNs(down(block.begin.value));
  block.end = TimeNs(down(block.end.value));
  block.columns.clear();
  wire::encode_columns(scratch, block.columns);
  return {};
}

RawNames::RawNames(const store::Resume& resume) : states_(resume.states.size()) {
  // What is there of a source now goes before what was kept of it when it was forgotten.
  for (const auto* sources : {&resume.sources, &resume.gone})
    for (const store::SourceRecord& s : *sources) {
      if (!table_of_source_.emplace(s.source.value, tables_.size()).second) continue;
      Table& table = tables_.emplace_back();
      table.states = &s.names;
      for (const store::NameText& t : s.texts) {
        table.texts.resize(std::max<std::size_t>(table.texts.size(), t.index + std::size_t{1}));
        table.texts[t.index] = &t.text;
      }
    }
  for (const store::LeafRecord& l : resume.leaves) {
    const auto source = table_of_source_.find(l.source.value);
    table_of_leaf_.push_back(source == table_of_source_.end() ? 0 : source->second);
  }
}

RawNames::OfBlock RawNames::of(const store::RawBlock& block) const {
  OfBlock names;
  names.states_ = states_;
  if (block.leaf.value >= table_of_leaf_.size() || tables_.empty()) return names;
  names.table_ = &tables_[table_of_leaf_[block.leaf.value]];
  if (!block.source) return names;
  const auto source = table_of_source_.find(block.source->value);
  if (source != table_of_source_.end())
    names.table_ = &tables_[source->second];
  else
    names.own_ = false;
  return names;
}

std::optional<StateId> RawNames::OfBlock::state(std::uint16_t name) const {
  if (table_ == nullptr) return {};
  const std::vector<StateId>& states = *table_->states;
  if (name >= states.size() || states[name].value >= states_) return {};
  return states[name];
}

std::optional<std::string_view> RawNames::OfBlock::text(std::uint16_t name) const {
  if (table_ == nullptr || !own_ || name >= table_->texts.size() || table_->texts[name] == nullptr) return {};
  return *table_->texts[name];
}

}  // namespace margay::trace
