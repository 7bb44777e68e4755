#include "margay/import/raw_block.h"

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

Status decode_block(const std::string& archive, const store::RawBlock& block, std::vector<EventRecord>& out,
                    std::uint64_t& rejected) {
  if (Status ok = wire::decode_columns_untrusted(block.columns, block.count, out); !ok)
    return fail(ok.error(), archive + ": raw events of leaf " + std::to_string(block.leaf.value) + " from " +
                                std::to_string(block.begin.value) + " ns");
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
  std::size_t kept = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    EventRecord r = out[i];
    const std::int64_t since = wrapping_difference(r.time_ns, host);
    r.time_ns = wrapping_sum(r.time_ns, offset);
    if (drift != 0 && length > 0)
      r.time_ns = wrapping_sum(r.time_ns, static_cast<std::int64_t>(Wide{drift} * since / length));
    if (r.kind >= MARGAY_ENTER && r.kind <= MARGAY_LINK_END && r.time_ns <= block.end.value) out[kept++] = r;
  }
  rejected += out.size() - kept;
  out.resize(kept);
  return {};
}

RawNames::RawNames(const store::Resume& resume) : resume_(resume) {
  std::map<SourceId, std::size_t> by_source;
  for (const store::SourceRecord& s : resume.sources) {
    by_source.emplace(s.source, tables_.size());
    Table& table = tables_.emplace_back();
    table.states = &s.names;
    for (const store::NameText& t : s.texts) {
      table.texts.resize(std::max<std::size_t>(table.texts.size(), t.index + std::size_t{1}));
      table.texts[t.index] = &t.text;
    }
  }
  for (const store::LeafRecord& l : resume.leaves) {
    const auto source = by_source.find(l.source);
    table_of_.push_back(source == by_source.end() ? 0 : source->second);
  }
}

std::optional<StateId> RawNames::state(LeafIndex leaf, std::uint16_t name) const {
  if (leaf.value >= table_of_.size() || table_of_[leaf.value] >= tables_.size()) return {};
  const std::vector<StateId>& states = *tables_[table_of_[leaf.value]].states;
  if (name >= states.size() || states[name].value >= resume_.states.size()) return {};
  return states[name];
}

std::optional<std::string_view> RawNames::text(LeafIndex leaf, std::uint16_t name) const {
  if (leaf.value >= table_of_.size() || table_of_[leaf.value] >= tables_.size()) return {};
  const auto& texts = tables_[table_of_[leaf.value]].texts;
  if (name >= texts.size() || texts[name] == nullptr) return {};
  return *texts[name];
}

}  // namespace margay::trace
