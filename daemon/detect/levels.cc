#include "margay/detect/levels.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace margay::detect {
namespace {

constexpr double kShareOfNext = 0.25;
// Slices of a level that its longest test spans.
constexpr std::int64_t kLongest = 8;
// From here on a finer level's departure is another cause than that of an alert that fires: of the time, and
// times what that one tells.
constexpr double kStrong = 0.25, kStronger = 2;
// What begins within so many coarser slices is the same in any strength.
constexpr std::int64_t kSameBegin = 2;
constexpr std::size_t kMostTold = 1024;
// Slices of a level that a boundary of it may be off.
constexpr std::int64_t kEdge = 2;
// Of a stretch's time: less is no part of it.
constexpr double kLeastPart = 0.02;
constexpr std::ptrdiff_t kMostLookedAt = 256;  // stretches that say what a coarser one is made of

}  // namespace

double Levels::share(std::size_t level, std::size_t levels) {
  double all = 0;
  for (std::size_t i = 0; i < levels; ++i) all += std::pow(kShareOfNext, static_cast<double>(i));
  return std::pow(kShareOfNext, static_cast<double>(level)) / all;
}

Levels::Levels(DetectorOptions options, std::span<const DurationNs> coarser) {
  std::vector<DurationNs> slices{options.window.slice};
  for (const DurationNs d : coarser)
    if (d.value >= 2 * slices.back().value && d.value % slices.back().value == 0) slices.push_back(d);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    DetectorOptions o = options;
    o.share = share(i, slices.size());
    if (i > 0) {
      o.coarser = true;
      o.phases.prefix = prefix(slices[i]);
      o.window.slice = slices[i];
      o.window.spatiotemporal = false;
      o.window.memory_budget_bytes = options.window.memory_budget_bytes / (slices.size() - 1);
    }
    levels_.push_back(std::make_unique<Level>(std::move(o), slices[i]));
  }
  if (levels_.size() == 1) return;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    levels_[i]->detector.ask_before_telling(
        [this, i](const std::set<std::uint32_t>& leaves, TimeNs onset, double excess) {
          return told_finer(i, leaves, onset) || told_coarser(i, leaves, onset, excess);
        });
    levels_[i]->detector.ask_before_resolving([this, i](const std::set<std::uint32_t>& leaves, TimeNs& end) {
      return goes_on_coarser(i, leaves, end);
    });
  }
}

std::string Levels::prefix(DurationNs slice) {
  struct Unit {
    std::int64_t ns;
    const char* name;
  };
  static constexpr Unit kUnits[] = {
      {3'600'000'000'000, "h:"}, {60'000'000'000, "min:"}, {1'000'000'000, "s:"}, {1'000'000, "ms:"}};
  for (const Unit& u : kUnits)
    if (slice.value % u.ns == 0) return std::to_string(slice.value / u.ns) + u.name;
  return std::to_string(slice.value) + "ns:";
}

void Levels::restore(const PhaseMemory& memory) {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const auto mine = [&](const std::string& name) {
      return i == 0 ? name.find(':') == std::string::npos : name.starts_with(prefix(slice(i)));
    };
    PhaseMemory m;
    for (const KnownPhase& k : memory.phases)
      if (mine(k.name)) m.phases.push_back(k);
    for (const PhaseSpan& s : memory.before)
      if (mine(s.name)) m.before.push_back(s);
    levels_[i]->detector.restore(m);
  }
}

std::optional<KnownPhase> Levels::known_phase(std::size_t level, const std::string& name) const {
  auto known = detector(level).known_phase(name);
  if (known) known->born = detector().window().last();  // on the clock of the finest
  return known;
}

bool Levels::told(std::size_t level, const PhaseSpan& span) const {
  if (level == 0) return false;
  if (span.index == 0) return true;
  const DurationNs near = slice(level) * kEdge, least = slice(level) * PhaseOptions{}.shortest;
  for (std::size_t i = 0; i < level; ++i) {
    const auto& finer = detector(i).phases().spans();
    auto at = std::lower_bound(finer.begin(), finer.end(), span.begin - near,
                               [](const PhaseSpan& s, TimeNs t) { return s.begin < t; });
    for (; at != finer.end() && at->begin <= span.begin + near; ++at)
      if (at->end - at->begin >= least) return true;
  }
  return false;
}

std::vector<Levels::Part> Levels::made_of(const PhaseSpan& span) const {
  std::map<std::string, DurationNs> times;
  DurationNs all{};
  const auto& finest = detector().phases().spans();
  auto at = std::lower_bound(finest.begin(), finest.end(), span.begin,
                             [](const PhaseSpan& s, TimeNs t) { return s.end <= t; });
  const auto end =
      std::lower_bound(at, finest.end(), span.end, [](const PhaseSpan& s, TimeNs t) { return s.begin < t; });
  at = std::max(at, end - std::min<std::ptrdiff_t>(end - at, kMostLookedAt));
  for (; at != end; ++at) {
    const DurationNs part = std::min(at->end, span.end) - std::max(at->begin, span.begin);
    if (part.value <= 0) continue;
    times[at->name] = times[at->name] + part;
    all = all + part;
  }
  std::vector<Part> out;
  for (const auto& [name, time] : times)
    if (static_cast<double>(time.value) >= kLeastPart * static_cast<double>(all.value))
      out.push_back({name, static_cast<double>(time.value) / static_cast<double>(all.value)});
  std::stable_sort(out.begin(), out.end(), [](const Part& a, const Part& b) { return a.share > b.share; });
  return out;
}

void Levels::set_topology(const std::shared_ptr<const Topology>& topology) {
  for (const auto& l : levels_) l->detector.set_topology(topology);
}

std::vector<alert::Alert> Levels::on_slice(const model::SliceColumn& column, TimeNs watermark) {
  std::vector<alert::Alert> out;
  now_ = slice_end(column.index, levels_[0]->slice);
  take(0, column, watermark, out);
  return out;
}

void Levels::take(std::size_t level, const model::SliceColumn& column, TimeNs watermark,
                  std::vector<alert::Alert>& out) {
  Level& l = *levels_[level];
  std::vector<alert::Alert> said = level == 0 ? l.detector.on_slice(column, watermark)
                                              : l.detector.on_coarser_slice(column, watermark, l.disturbed);
  if (levels_.size() > 1) note(level, slice_end(column.index, l.slice), said);
  std::move(said.begin(), said.end(), std::back_inserter(out));
  if (level + 1 < levels_.size()) merge(level + 1, column, watermark, out);
}

void Levels::merge(std::size_t level, const model::SliceColumn& part, TimeNs watermark,
                   std::vector<alert::Alert>& out) {
  Level& l = *levels_[level];
  const Level& below = *levels_[level - 1];
  const TimeNs begin = slice_begin(part.index, below.slice);
  const SliceIndex now = slice_of(begin, l.slice);
  if (!l.open || l.merged.index != now) {
    l.merged =
        model::SliceColumn(LevelIndex(static_cast<std::uint8_t>(level)), now, part.leaves(), part.states());
    l.open = true;
    l.disturbed = false;
    l.whole = begin == slice_begin(now, l.slice);
  }
  l.merged.merge(part);
  l.disturbed = l.disturbed || below.detector.disturbed();
  if (slice_end(part.index, below.slice) != slice_end(now, l.slice)) return;
  l.open = false;
  if (l.whole) take(level, l.merged, watermark, out);
}

// What the level tells now, and what of it began in slices of coarser levels that were in order so far.
void Levels::note(std::size_t level, TimeNs now, const std::vector<alert::Alert>& said) {
  for (const Incident& i : levels_[level]->detector.open()) {
    Told& t = told_[i.alert.id];
    t.level = level;
    t.leaves.insert(i.culprits.begin(), i.culprits.end());
    t.last = now;
  }
  for (const alert::Alert& a : said)
    if (a.status == alert::Status::kFiring && a.kind != alert::Kind::kPhaseDuration)
      for (std::size_t i = level + 1; i < levels_.size(); ++i)
        levels_[i]->detector.disturb(slice_of(a.onset, levels_[i]->slice));
  // The longest ago that a departure of the coarsest level can have begun.
  const DurationNs longest = levels_.back()->slice * (2 * kLongest);
  std::erase_if(told_, [&](const auto& t) { return t.second.last + longest < now_; });
  while (told_.size() > kMostTold)
    told_.erase(std::min_element(told_.begin(), told_.end(),
                                 [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
}

bool Levels::told_finer(std::size_t level, const std::set<std::uint32_t>& leaves, TimeNs onset) const {
  const DurationNs slice = levels_[level]->slice;
  return std::any_of(told_.begin(), told_.end(), [&](const auto& entry) {
    const Told& t = entry.second;
    return t.level < level && t.last + slice >= onset && t.last + slice * kLongest >= now_ &&
           std::any_of(leaves.begin(), leaves.end(), [&](std::uint32_t l) { return t.leaves.contains(l); });
  });
}

bool Levels::told_coarser(std::size_t level, const std::set<std::uint32_t>& leaves, TimeNs onset,
                          double excess) const {
  const auto same = [&](std::size_t c, const std::set<std::uint32_t>& theirs, TimeNs begin, double of) {
    const auto blamed = static_cast<std::size_t>(
        std::count_if(leaves.begin(), leaves.end(), [&](std::uint32_t l) { return theirs.contains(l); }));
    if (2 * blamed < leaves.size() || blamed == 0) return false;
    const bool later = onset - begin > levels_[c]->slice * kSameBegin;
    return !later || excess < std::max(kStrong, kStronger * of);
  };
  for (std::size_t c = level + 1; c < levels_.size(); ++c) {
    for (const Incident& i : levels_[c]->detector.open())
      if (same(c, i.culprits, i.alert.onset, i.excess)) return true;
    for (const Detector::Untold& u : levels_[c]->detector.untold())
      if (!u.over && same(c, u.leaves, u.onset, u.excess)) return true;
  }
  return false;
}

bool Levels::goes_on_coarser(std::size_t level, const std::set<std::uint32_t>& leaves, TimeNs& end) const {
  TimeNs until = end;
  for (std::size_t c = level + 1; c < levels_.size(); ++c)
    for (const Detector::Untold& u : levels_[c]->detector.untold()) {
      if (std::none_of(u.leaves.begin(), u.leaves.end(), [&](std::uint32_t l) { return leaves.contains(l); }))
        continue;
      if (!u.over) return true;
      // Within a slice it is the same end, and the finer level knows it better.
      if (u.end - end > levels_[c]->slice) until = std::max(until, u.end);
    }
  end = until;
  return false;
}

std::vector<alert::Alert> Levels::finish(TimeNs t, TimeNs watermark) {
  std::vector<alert::Alert> out;
  for (const auto& l : levels_)
    for (alert::Alert& a : l->detector.finish(t, watermark)) out.push_back(std::move(a));
  return out;
}

std::vector<const alert::Alert*> Levels::firing() const {
  std::vector<const alert::Alert*> all;
  for (const auto& l : levels_)
    for (const alert::Alert* const a : l->detector.firing()) all.push_back(a);
  return all;
}

std::uint64_t Levels::suppressed() const {
  std::uint64_t sum = 0;
  for (const auto& l : levels_) sum += l->detector.suppressed();
  return sum;
}

const std::string& Levels::error() const {
  for (const auto& l : levels_)
    if (!l->detector.error().empty()) return l->detector.error();
  return levels_[0]->detector.error();
}

}  // namespace margay::detect
