#include "support/synthetic_archive.h"

#include <algorithm>
#include <memory>
#include <random>

#include "margay/slicer/levels.h"
#include "margay/slicer/slicer.h"
#include "margay/store/archive.h"
#include "margay/wire/columns.h"

namespace margay::test {
namespace {

constexpr DurationNs kChunk = seconds(1);
constexpr DurationNs kHostOffset{1'699'000'000'000'000'001};  // trace time less host time
constexpr std::uint16_t kFirstState = 3;                      // after Absent, Unknown and Compute

struct Rank {
  std::mt19937_64 random;
  TimeNs next{};
  std::vector<std::uint16_t> open;  // local names
  std::uint64_t ordinal = 0;
};

EventRecord record_at(TimeNs t, std::uint8_t kind, std::uint16_t state) {
  return {t.value,
          kind == MARGAY_ENTER ? std::uint64_t{100} + state : 0,
          MARGAY_NO_PEER,
          MARGAY_NO_TAG,
          0,
          state,
          kind,
          0};
}

// The next record, and the time of the one after it.
EventRecord step(Rank& r, const SyntheticArchive& what) {
  const TimeNs t = r.next;
  const auto dice = r.random() % 1000;
  r.next = t + DurationNs(1 + static_cast<std::int64_t>(r.random() %
                                                        static_cast<std::uint64_t>(2 * what.visit.value)));
  if (what.program && r.ordinal == 0 && r.open.empty()) {
    r.open.push_back(static_cast<std::uint16_t>(1 + what.states));
    return record_at(t, MARGAY_ENTER, r.open.back());
  }
  if (dice < 2 && !what.program) {
    r.open.clear();
    return record_at(t, MARGAY_GAP, 0);
  }
  if (r.open.size() <= std::size_t{what.program} || (dice < 120 && r.open.size() < 4)) {
    r.open.push_back(static_cast<std::uint16_t>(1 + r.random() % what.states));
    return record_at(t, MARGAY_ENTER, r.open.back());
  }
  const std::uint16_t state = r.open.back();
  r.open.pop_back();
  return record_at(t, MARGAY_LEAVE, state);
}

void apply(slicer::Slicer& slicer, LeafIndex leaf, const EventRecord& r) {
  const TimeNs t(r.time_ns);
  const StateId state(static_cast<std::uint16_t>(kFirstState + r.state - 1));
  if (r.kind == MARGAY_ENTER) static_cast<void>(slicer.enter(leaf, state, t));
  if (r.kind == MARGAY_LEAVE) static_cast<void>(slicer.leave(leaf, state, t));
  if (r.kind == MARGAY_GAP) static_cast<void>(slicer.gap(leaf, t, 1));
}

}  // namespace

Status SyntheticArchive::write(const std::string& path,
                               const std::function<void(LeafIndex, const EventRecord&)>& saw) const {
  store::RunMeta run;
  run.run = "synthetic";
  run.command = "nobody";
  run.host = "host0";
  run.begin = kBegin;
  run.levels = levels;
  auto archive = store::Archive::create(path, run);
  if (!archive) return tl::unexpected(archive.error());
  slicer::Slicer slicer({levels[0], 64, 64});
  auto coarse = slicer::Levels::make(levels, 64);
  if (!coarse) return tl::unexpected(coarse.error());
  slicer.start(kBegin);

  store::Cut cut;
  std::mt19937_64 random(seed);
  std::vector<Rank> ranks(leaves);
  std::vector<StateId> names = {kCompute};
  for (std::uint16_t s = 0; s < states; ++s) {
    const StateId id(static_cast<std::uint16_t>(kFirstState + s));
    cut.states.push_back({id, {"S" + std::to_string(s + 1), model::StateFamily::kPointToPoint}});
    names.push_back(id);
  }
  if (program) {
    const StateId id(static_cast<std::uint16_t>(kFirstState + states));
    cut.states.push_back({id, {"Program", model::StateFamily::kOther}});
    names.push_back(id);
  }
  const TimeNs end = kBegin + lasts;
  for (std::uint32_t l = 0; l < leaves; ++l) {
    ranks[l].random.seed(random());
    ranks[l].next = kBegin + DurationNs(static_cast<std::int64_t>(random() % 700'000'000));
    const model::Attributes attributes = {
        {"host", "host" + std::to_string(l / 4)}, {"rank", std::to_string(l)}, {"thread", "0"}};
    cut.leaves.push_back({slicer.add_leaf(), SourceId(l + 1), 0, attributes});
    store::SourceRecord source;
    source.source = SourceId(l + 1);
    source.attributes = attributes;
    source.names = names;
    source.clock_offset = kHostOffset;
    // Every fifth ends before the run does.
    if (l % 5 == 4) source.end = kBegin + DurationNs(lasts.value / 2 + l);
    cut.sources.push_back(source);
  }

  std::vector<EventRecord> records;
  for (TimeNs at = kBegin; at < end; at = at + kChunk) {
    const TimeNs until = std::min(end, at + kChunk);
    for (std::uint32_t l = 0; l < leaves; ++l) {
      const LeafIndex leaf(l);
      const TimeNs last = l % 5 == 4 ? kBegin + DurationNs(lasts.value / 2 + l) : end;
      records.clear();
      while (ranks[l].next < std::min(until, last)) {
        EventRecord r = step(ranks[l], *this);
        apply(slicer, leaf, r);
        records.push_back(r);
        if (saw && r.kind != MARGAY_GAP) r.state = static_cast<std::uint16_t>(kFirstState + r.state - 1);
        if (saw) saw(leaf, r);
      }
      if (last < until) {
        if (last >= at) {
          static_cast<void>(slicer.end(leaf, last));
          if (saw) saw(leaf, record_at(last, MARGAY_END, 0));
        }
      } else {
        slicer.cover(leaf, until);
      }
      if (!events || records.empty()) continue;
      store::RawBlock block;
      block.leaf = leaf;
      block.first = ranks[l].ordinal;
      block.begin = TimeNs(records.front().time_ns);
      block.end = TimeNs(records.back().time_ns);
      block.count = static_cast<std::uint32_t>(records.size());
      for (EventRecord& r : records) r.time_ns -= kHostOffset.value;
      wire::encode_columns(records, block.columns);
      ranks[l].ordinal += records.size();
      cut.raw.push_back(std::move(block));
    }
    const bool over = until == end;
    const TimeNs watermark = over ? slice_end(slice_of(end, levels[0]), levels[0]) : until;
    const auto keep = [&](const model::SliceColumn& c) {
      std::vector<model::SliceColumn> above;
      coarse->update(c, above);
      cut.columns.push_back(std::make_shared<model::SliceColumn>(c));
      for (auto& column : above)
        cut.columns.push_back(std::make_shared<model::SliceColumn>(std::move(column)));
    };
    for (const model::SliceColumn* c : slicer.close_through(watermark)) keep(*c);
    // A gap says of closed slices what nobody knew.
    for (const SliceIndex s : slicer.take_amended())
      if (const auto* c = slicer.column(s)) keep(*c);
    static_cast<void>(slicer.take_changed());
    cut.closed = {{LevelIndex(0), slicer.next_open() - 1}};
    if (over) {
      run.end = end;
      cut.run = run;
      for (std::uint32_t l = 0; l < leaves; ++l) {
        store::StreamRecord stream;
        stream.source = SourceId(l + 1);
        stream.next = stream.produced = stream.recorded = stream.modelled = ranks[l].ordinal;
        cut.streams.push_back(stream);
      }
    }
    ++cut.sequence;
    if (Status ok = (*archive)->commit(cut, over); !ok) return ok;
    const std::uint64_t sequence = cut.sequence;
    cut = {};
    cut.sequence = sequence;
  }
  return {};
}

}  // namespace margay::test
