#include "margay/trace/raw_stream.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>

#include "margay/trace/raw_block.h"

namespace margay::trace {
namespace {

constexpr TimeNs kFirst{std::numeric_limits<std::int64_t>::min()};
constexpr TimeNs kLast{std::numeric_limits<std::int64_t>::max()};
constexpr std::uint64_t kProgressEvery = 64;

// Events of `first` that are not there, the leaf being at `next`. Ordinals that begin anew are those of the
// leaf's next program.
std::uint64_t hole_before(const std::optional<std::uint64_t>& next, std::uint64_t first) {
  const std::uint64_t expected = next.value_or(0);
  return first > expected ? first - expected : 0;
}

class Merge {
 public:
  Merge(const store::Archive& archive, const store::Resume& all, const RawStreamOptions& options,
        const std::function<Status(const RawEvent&)>& take)
      : archive_(archive),
        options_(options),
        take_(take),
        states_(all.states),
        names_(all),
        leaves_(all.leaves.size()) {}

  // How many records were left out.
  Result<std::uint64_t> run() {
    Status inside;
    const Status read = archive_.read_raw(std::nullopt, kFirst, options_.to, [&](store::RawBlock&& block) {
      inside = take_block(block);
      return inside.has_value();
    });
    if (!inside) return tl::unexpected(inside.error());
    if (!read) return tl::unexpected(read.error());
    if (Status s = release(kLast); !s) return tl::unexpected(s.error());
    return rejected_;
  }

 private:
  struct Leaf {
    std::optional<std::uint64_t> next;  // ordinal, of `source`
    std::optional<SourceId> source;     // of the last block
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
    if (Status s = decode_block(archive_.path(), block, decoded_, rejected_); !s) return s;
    Leaf& leaf = leaves_[block.leaf.value];
    const bool idle = leaf.waiting.empty();
    if (leaf.source && block.source && *leaf.source != *block.source) leaf.next = 0;
    leaf.source = block.source;
    names_of_block_ = names_.of(block);
    if (const std::uint64_t hole = hole_before(leaf.next, block.first); hole > 0) {
      EventRecord gap{block.begin.value, hole, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, MARGAY_GAP, 0};
      add(leaf, block.leaf, block.begin, gap);
    }
    leaf.next = block.first + block.count;
    for (const EventRecord& r : decoded_)
      if (r.time_ns < options_.to.value) add(leaf, block.leaf, TimeNs(r.time_ns), r);
    if (waiting_ > kMostWaiting)
      return fail(ErrorCode::kLimit, archive_.path() + ": more than " + std::to_string(kMostWaiting) +
                                         " events lie in blocks that overlap; they cannot be put in order");
    if (idle && !leaf.waiting.empty()) heads_.emplace(leaf.waiting.front().time, block.leaf.value);
    return {};
  }

  // Sums become visits one after the other: as long as they were together, in an order that is made up.
  void add_sums(Leaf& leaf, LeafIndex index, TimeNs t, EventRecord record) {
    if (record.kind == MARGAY_SUM && leaf.last > TimeNs() && t > leaf.last) {
      record.kind = MARGAY_STACK;
      add(leaf, index, leaf.last, record);
    } else if (record.kind == MARGAY_SUM_OPEN || record.kind == MARGAY_SUM_INSIDE) {
      record.kind = record.kind == MARGAY_SUM_OPEN ? MARGAY_STACK : MARGAY_ENTER;
      add(leaf, index, t, record);
    }
    leaf.last = std::max(leaf.last, t);
  }

  void add(Leaf& leaf, LeafIndex index, TimeNs t, const EventRecord& record) {
    if (record.kind >= MARGAY_SUM && record.kind <= MARGAY_SUM_INSIDE)
      return add_sums(leaf, index, t, record);
    leaf.last = std::max(leaf.last, t);
    StateId state = names_of_block_.state(record.state).value_or(kUnknown);
    const bool outside = record.state == 0 && record.kind != MARGAY_ENTER && record.kind != MARGAY_LEAVE;
    if (names_a_state(record.kind) && outside) state = kCompute;
    std::string_view name;
    if (is_note(record.kind))
      name = names_of_block_.text(record.state).value_or(std::string_view(states_[state].name));
    else if (record.kind == MARGAY_REGION_ENTER || record.kind == MARGAY_REGION_LEAVE)
      name = names_of_block_.text(record.state).value_or(std::string_view());
    leaf.waiting.push_back({leaf.last, index, state, name, record});
    ++waiting_;
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
  const RawNames names_;
  RawNames::OfBlock names_of_block_;
  std::vector<Leaf> leaves_;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
  std::vector<EventRecord> decoded_;
  std::size_t waiting_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint64_t rejected_ = 0;
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

Result<std::uint64_t> stream_raw(const store::Archive& archive, const store::Resume& all,
                                 const RawStreamOptions& options,
                                 const std::function<Status(const RawEvent&)>& take) {
  return Merge(archive, all, options, take).run();
}

}  // namespace margay::trace
