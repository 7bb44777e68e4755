#include "raw_stream.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <queue>

#include "margay/wire/columns.h"

namespace margay::app {
namespace {

constexpr TimeNs kFirst{std::numeric_limits<std::int64_t>::min()};
constexpr TimeNs kLast{std::numeric_limits<std::int64_t>::max()};
constexpr std::uint64_t kProgressEvery = 64;

std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrapping_difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// Events of `first` that are not there, the leaf being at `next`. Ordinals that begin anew are those of the
// leaf's next program.
std::uint64_t hole_before(const std::optional<std::uint64_t>& next, std::uint64_t first) {
  const std::uint64_t expected = next.value_or(0);
  return first > expected ? first - expected : 0;
}

// Names that are no states, by their index in the source's name table; of archives that keep them.
using Texts = std::map<std::uint16_t, std::string_view>;
template <class Source>
Texts texts_of(const Source& source) {
  Texts out;
  if constexpr (requires { source.texts; })
    for (const auto& t : source.texts) out.emplace(t.index, t.text);
  return out;
}

class Merge {
 public:
  Merge(const store::Archive& archive, const store::Resume& all, const RawStreamOptions& options,
        const std::function<Status(const RawEvent&)>& take)
      : archive_(archive), options_(options), take_(take), states_(all.states) {
    std::map<SourceId, const store::SourceRecord*> sources;
    for (const auto& s : all.sources) {
      sources[s.source] = &s;
      texts_[&s.names] = texts_of(s);
    }
    for (const auto& l : all.leaves) {
      Leaf& leaf = leaves_.emplace_back();
      // Of a source that was forgotten the names are gone; those of another one do, for probes name alike.
      const auto found = sources.find(l.source);
      if (found != sources.end())
        leaf.names = &found->second->names;
      else if (!all.sources.empty())
        leaf.names = &all.sources.front().names;
    }
  }

  Status run() {
    Status inside;
    const Status read = archive_.read_raw(std::nullopt, kFirst, options_.to, [&](store::RawBlock&& block) {
      inside = take_block(block);
      return inside.has_value();
    });
    if (!inside) return inside;
    if (!read) return read;
    return release(kLast);
  }

 private:
  struct Leaf {
    const std::vector<StateId>* names = nullptr;
    std::optional<std::uint64_t> next;  // ordinal
    TimeNs last = kFirst;
    std::deque<RawEvent> waiting;
  };
  // The leaf whose next event is the earliest; of equal times the lowest leaf, so that the order is the same
  // everywhere.
  using Head = std::pair<TimeNs, std::uint32_t>;

  Status take_block(const store::RawBlock& block) {
    if (options_.progress && ++blocks_ % kProgressEvery == 0) options_.progress(blocks_);
    if (block.leaf.value >= leaves_.size())
      return fail(ErrorCode::kCorrupt, archive_.path() + ": raw events of leaf " +
                                           std::to_string(block.leaf.value) + ", which is not there");
    if (Status s = release(block.begin); !s) return s;
    if (block.count == 0) return {};
    if (Status s = wire::decode_columns_untrusted(block.columns, block.count, decoded_); !s)
      return fail(s.error(), archive_.path() + ": raw events of leaf " + std::to_string(block.leaf.value) +
                                 " from event " + std::to_string(block.first) + " on");
    Leaf& leaf = leaves_[block.leaf.value];
    const bool idle = leaf.waiting.empty();
    if (const std::uint64_t hole = hole_before(leaf.next, block.first); hole > 0) {
      EventRecord gap{block.begin.value, hole, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, MARGAY_GAP, 0};
      add(leaf, block.leaf, block.begin, gap);
    }
    leaf.next = block.first + block.count;
    convert(block, leaf);
    if (waiting_ > kMostWaiting)
      return fail(ErrorCode::kLimit, archive_.path() + ": more than " + std::to_string(kMostWaiting) +
                                         " events lie in blocks that overlap; they cannot be put in order");
    if (idle && !leaf.waiting.empty()) heads_.emplace(leaf.waiting.front().time, block.leaf.value);
    return {};
  }

  void add(Leaf& leaf, LeafIndex index, TimeNs t, const EventRecord& record) {
    leaf.last = std::max(leaf.last, t);
    StateId state = kUnknown;
    if (leaf.names != nullptr && record.state < leaf.names->size() &&
        (*leaf.names)[record.state].value < states_.size())
      state = (*leaf.names)[record.state];
    if (record.kind == MARGAY_STACK && record.state == 0) state = kCompute;
    std::string_view name;
    if (record.kind >= MARGAY_VARIABLE) {
      name = states_[state].name;
      const Texts& texts = texts_[leaf.names];
      if (const auto text = texts.find(record.state); text != texts.end()) name = text->second;
    }
    leaf.waiting.push_back({leaf.last, index, state, name, record});
    ++waiting_;
  }

  void convert(const store::RawBlock& block, Leaf& leaf) {
    const auto [least, most] =
        std::minmax_element(decoded_.begin(), decoded_.end(),
                            [](const EventRecord& a, const EventRecord& b) { return a.time_ns < b.time_ns; });
    const std::int64_t host = least->time_ns, length = wrapping_difference(most->time_ns, host);
    const std::int64_t offset = wrapping_difference(block.begin.value, host);
    std::int64_t drift = wrapping_difference(wrapping_difference(block.end.value, most->time_ns), offset);
    // An end that is much too early is that of a clock that ran ahead: what lies beyond it was not taken.
    if (drift < -(length / 1000 + 1000)) drift = 0;
    for (const EventRecord& r : decoded_) {
      std::int64_t t = wrapping_sum(r.time_ns, offset);
      __extension__ using Wide = __int128;
      if (drift != 0 && length > 0)
        t = wrapping_sum(
            t, static_cast<std::int64_t>(Wide{drift} * wrapping_difference(r.time_ns, host) / length));
      if (t > block.end.value || t >= options_.to.value) continue;
      if (r.kind < MARGAY_ENTER || r.kind > MARGAY_LINK_END) continue;
      add(leaf, block.leaf, TimeNs(t), r);
    }
  }

  // Everything before `t` goes: no block that is still to come holds anything as early.
  Status release(TimeNs t) {
    while (!heads_.empty() && heads_.top().first < t) {
      const std::uint32_t index = heads_.top().second;
      heads_.pop();
      Leaf& leaf = leaves_[index];
      if (Status s = take_(leaf.waiting.front()); !s) return s;
      leaf.waiting.pop_front();
      --waiting_;
      if (!leaf.waiting.empty()) heads_.emplace(leaf.waiting.front().time, index);
    }
    return {};
  }

  const store::Archive& archive_;
  const RawStreamOptions& options_;
  const std::function<Status(const RawEvent&)>& take_;
  const model::StateTable& states_;
  std::map<const std::vector<StateId>*, Texts> texts_;  // by the source's name table
  std::vector<Leaf> leaves_;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
  std::vector<EventRecord> decoded_;
  std::size_t waiting_ = 0;
  std::uint64_t blocks_ = 0;
};

}  // namespace

Result<RawSurvey> survey_raw(const store::Archive& archive, const store::Resume& all) {
  RawSurvey found;
  std::vector<std::optional<std::uint64_t>> next(all.leaves.size());
  Status bad;
  const Status read = archive.read_raw(std::nullopt, kFirst, kLast, [&](store::RawBlock&& block) {
    if (block.leaf.value >= next.size()) {
      bad = fail(ErrorCode::kCorrupt, archive.path() + ": raw events of leaf " +
                                          std::to_string(block.leaf.value) + ", which is not there");
      return false;
    }
    auto& expected = next[block.leaf.value];
    if (const std::uint64_t hole = hole_before(expected, block.first); hole > 0) {
      if (expected)
        ++found.holes, found.hole_events += hole;
      else
        found.whole_from = std::max(found.whole_from.value_or(block.begin), block.begin);
    }
    expected = block.first + block.count;
    ++found.blocks;
    found.events += block.count;
    return true;
  });
  if (!bad) return tl::unexpected(bad.error());
  if (!read) return tl::unexpected(read.error());
  return found;
}

Status stream_raw(const store::Archive& archive, const store::Resume& all, const RawStreamOptions& options,
                  const std::function<Status(const RawEvent&)>& take) {
  return Merge(archive, all, options, take).run();
}

}  // namespace margay::app
