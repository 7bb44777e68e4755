#include "departures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <type_traits>
#include <utility>

#include "order_statistics.h"

namespace margay::detect {
namespace {

constexpr std::size_t kMeasures = Contrast::kMeasures;
constexpr double kDay = 86'400e9;
// The part of a common shift that single leaves may miss.
constexpr float kImperfect = 0.15f;
// The effect at which a score counts half.
constexpr float kLarge = 0.25f;
// Slices that look like a perturbation are not learned, but not for ever.
constexpr std::uint32_t kMostSuspicious = 24;
constexpr double kSuspicious = 0.35;  // of the limit
constexpr double kFewLeaves = 8;
// A test whose scores are seldom even so much of the least limit there is raises no alarms: it needs no part
// of those that are asked for.
constexpr double kFarBelow = 0.5;
// No limit of a logarithm of a ratio of likelihoods is below this.
constexpr double kLeastRatio = 12;
constexpr std::size_t kSureHistory = 64;  // slices, from which on single ones are believed
// A median of fewer leaves says nothing of their spread; of it and of a normal deviation.
constexpr std::size_t kLeastSample = 4;
constexpr float kDeviationOfMedian = 1.4826f;
constexpr float kNearly = 0.999f;  // rounding does not make up for the rest
constexpr std::uint64_t kRebase = 1024;
constexpr double kLeastHistory = 6, kLongHistory = 32;  // slices; of a coarser level
constexpr std::size_t kLongestSpans = 32;
// All work otherwise than usual: for so many slices it may be a phase that is being learned.
constexpr std::uint32_t kMostMoving = 8, kStragglers = 4,
                        kMostTogether = 16;  // slices; the last of a checkpoint come later

}  // namespace

Departures::Departures(Options options)
    : options_(options),
      contrast_(options.slice, options.without),
      long_visits_({options.slice, options.min_effect, options.false_alarms_per_day, options.back_slices,
                    options.usual_slices}) {}

void Departures::set_topology(std::shared_ptr<const Topology> topology) {
  topology_ = std::move(topology);
  const auto& h = topology_->hierarchy;
  // Inner nodes are other ones now; leaves keep their numbers.
  const std::size_t keep = std::min(leaves_, h.leaf_count());
  long_visits_.set_hierarchy(h, keep);
  leaves_ = h.leaf_count();
  inner_.clear();
  std::uint32_t deepest = 0;
  for (const auto& node : h.nodes()) deepest = std::max(deepest, node.depth);
  groups_ = std::max<std::size_t>(groups_, deepest + 2);
  group_.assign(leaves_, 0);
  for (std::uint32_t k = 1; k < h.node_count(); ++k) {
    const auto& node = h.nodes()[k];
    if (has(Ingredient::kInnerNodes) && node.leaf_count > 1 && node.leaf_count < leaves_)
      inner_.push_back({node.first_leaf, node.leaf_count, node.depth + 1});
  }
  smallest_.assign(groups_, 1.0f);
  for (const Inner& i : inner_) {
    group_.push_back(i.group);
    float& n = smallest_[i.group];
    n = n > 1 ? std::min(n, static_cast<float>(i.count)) : static_cast<float>(i.count);
  }
  items_ = group_.size();
  if (variance_.rows() > keep) variance_.clear_from(keep);
  stretch_.clear_from(keep);
  n_.resize(items_, 0.0f);
  std::fill(n_.begin() + static_cast<std::ptrdiff_t>(keep), n_.end(), 0.0f);
  TailLimit::Options limit;
  limit.heavy = has(Ingredient::kHeavyTail);
  if (!has(Ingredient::kYoung)) limit.young = 0;
  if (has(Ingredient::kSureScores)) limit.unsure = 8;
  TailLimit::Options ratio = limit;
  ratio.excess = 1;
  ratio.least = kLeastRatio;
  while (limits_.size() < groups_ * kTests)
    limits_.emplace_back(limits_.size() % kTests == kStretched ? ratio : limit);
  pooled_n_.resize(groups_, 0.0);
  last_alarm_.assign(items_, 0);
  lay_out(columns_);
  restart();
}

void Departures::lay_out(std::size_t columns) {
  if (columns > columns_) {
    for (Grid& g : ring_) g.widen(kMeasures, columns);
    long_.widen(kMeasures, columns);
    variance_.widen(kMeasures, columns);
    since_.widen(kMeasures, columns);
    const auto widen = [&](auto& v) {
      std::remove_reference_t<decltype(v)> wider(kMeasures * columns);
      for (std::size_t c = 0; c < v.size(); ++c) wider[c / columns_ * columns + c % columns_] = v[c];
      v = std::move(wider);
    };
    for (auto& c : common_) widen(c);
    for (auto& spans : pooled_)
      for (auto& of : spans) widen(of);
    for (auto& lasting : lasting_) widen(lasting.way);
    widen(way_);
    columns_ = columns;
  }
  const std::size_t cells = kMeasures * columns_;
  for (Grid& g : ring_) g.reach(items_, cells);
  long_.reach(items_, cells);
  variance_.reach(items_, cells);
  for (auto& c : common_) c.resize(cells);
  stretch_.lay_out(items_, groups_, columns_);
  pooled_.resize(groups_);
  for (auto& spans : pooled_)
    for (auto& of : spans) of.resize(cells);
}

// What comes now and what was before are not one stretch.
void Departures::restart() {
  another_mode();
  machine_run_ = 0;
}

// What the job does is not; the machine's doing goes on.
void Departures::another_mode() {
  long_.fill(0);
  stretch_.restart();
  run_ = 0;
  alarms_in_a_row_ = 0;
}

// Takes the slice's departures, and their means over the inner nodes, into the spans.
void Departures::take() {
  const std::size_t slot = slices_ % kLong, cells = kMeasures * columns_;
  const Grid& leaves = contrast_.departure();
  Grid& now = ring_[slot];
  // What falls out of the longest span lies where the new slice will.
  float* const sums = long_[0];
  if (run_ >= kLong)
    for (std::size_t i = 0; i < items_ * cells; ++i) sums[i] -= now[0][i];
  for (std::size_t l = 0; l < leaves_; ++l) {
    if (l < leaves.rows())
      std::copy_n(leaves[l], cells, now[l]);
    else
      std::fill_n(now[l], cells, 0.0f);
  }
  const auto order = topology_->hierarchy.leaf_order();
  for (std::size_t i = 0; i < inner_.size(); ++i) {
    float* const to = now[leaves_ + i];
    std::fill_n(to, cells, 0.0f);
    float known = 0;
    for (std::uint32_t k = 0; k < inner_[i].count; ++k) {
      const std::size_t l = order[inner_[i].first + k].value;
      if (l >= leaves.rows() || !contrast_.known(l)) continue;
      known += 1;
      const float* const from = leaves[l];
      for (std::size_t c = 0; c < cells; ++c) to[c] += from[c];
    }
    if (known > 0)
      for (std::size_t c = 0; c < cells; ++c) to[c] /= known;
  }
  for (std::size_t i = 0; i < items_ * cells; ++i) sums[i] += now[0][i];
  common_[slot] = contrast_.common();
  const VisitLengths& lengths = contrast_.lengths();
  Stretch::Slice& visits = stretch_.slice();
  for (const auto& [from, to] :
       {std::pair(&lengths.evidence()[0], &visits.evidence[0]),
        std::pair(&lengths.evidence()[1], &visits.evidence[1]), std::pair(&lengths.at(), &visits.at),
        std::pair(&lengths.ended(), &visits.ended), std::pair(&lengths.far(), &visits.far)}) {
    for (std::size_t l = 0; l < leaves_; ++l) {
      if (l < from->rows())
        std::copy_n((*from)[l], columns_, (*to)[l]);
      else
        std::fill_n((*to)[l], columns_, 0.0f);
    }
    for (std::size_t i = 0; i < inner_.size(); ++i) {
      float* const sum = (*to)[leaves_ + i];
      std::fill_n(sum, columns_, 0.0f);
      for (std::uint32_t k = 0; k < inner_[i].count; ++k) {
        const float* const leaf = (*to)[order[inner_[i].first + k].value];
        for (std::size_t x = 0; x < columns_; ++x) sum[x] += leaf[x];
      }
    }
  }
  for (std::size_t i = 0; i < items_; ++i)
    std::copy_n(now[i] + Contrast::kExcess * columns_, columns_, visits.excess[i]);
  stretch_.take(group_);
  // Sums that are added to and taken from for days would drift.
  if (slices_ % kRebase != 0) return;
  long_.fill(0);
  for (std::size_t i = 0; i < items_; ++i) add_last(i, std::min<std::uint64_t>(kLong, run_ + 1), long_[i]);
}

void Departures::add_last(std::size_t item, std::size_t slices, float* to) const {
  for (std::size_t k = 0; k < slices; ++k) {
    const float* const from = ring_[(slices_ + kLong - k) % kLong][item];
    for (std::size_t c = 0; c < kMeasures * columns_; ++c) to[c] += from[c];
  }
}

// How far the leaves spread in a span, robustly: cells. 0 where it is less than `floor`, and says nothing.
std::vector<float> Departures::spread(std::size_t w, const std::vector<float>& floor) const {
  std::vector<float> out(kMeasures * columns_, 0.0f), enough(out.size());
  OrderStatistics values;
  const auto& sample = contrast_.sample();
  const std::size_t n = sample.size();
  if (n < kLeastSample || !has(Ingredient::kSpread)) return out;
  const auto span = static_cast<float>(kSpans[w]);
  // Of most columns it is less: that more than half are less is told without the median.
  for (std::size_t c = 0; c < out.size(); ++c) enough[c] = kNearly * floor[c] * span / kDeviationOfMedian;
  std::vector<std::uint32_t> more(out.size());
  for (const std::uint32_t l : sample) {
    const float* const from = w == 0 ? newest(l) : long_[l];
    for (std::size_t c = 0; c < out.size(); ++c) more[c] += std::abs(from[c]) > enough[c];
  }
  for (std::size_t c = 0; c < out.size(); ++c) {
    if (more[c] < n - n / 2) continue;
    values.clear();
    for (const std::uint32_t l : sample) values.add(std::abs((w == 0 ? newest(l) : long_[l])[c]));
    out[c] = kDeviationOfMedian * values.smallest(n / 2) / span;
  }
  return out;
}

// The largest score of each node over the spans.
void Departures::score() {
  best_.assign(items_, {});
  greatest_.assign(groups_ * kTests, {});
  const std::size_t cells = kMeasures * columns_;
  const auto history = static_cast<float>(std::max(1.0, contrast_.history()));
  const std::size_t spans = has(Ingredient::kLongSpan) ? kSpans.size() : 1;
  const float imperfect = has(Ingredient::kImperfect) ? kImperfect : 0.0f;
  for (std::size_t w = 0; w < spans && run_ + 1 >= kSpans[w]; ++w) {
    const auto span = static_cast<float>(kSpans[w]);
    const float one = 1 / span, young = has(Ingredient::kYoung) ? 1 + span / history : 1;
    std::vector<float> floors(cells);
    for (std::size_t c = 0; c < cells; ++c) floors[c] = least_deviation(c) * std::sqrt(young);
    const std::vector<float> spreads = spread(w, floors);
    // Of each depth: the variance of young nodes, what averaging over the span makes of a variance, and what
    // no variance is below; a part of the square of how far all have moved.
    std::vector<float> moved(cells, 0.0f);
    for (std::size_t k = 0; k < kSpans[w]; ++k)
      for (std::size_t c = 0; c < cells; ++c)
        moved[c] += imperfect * one * common_[(slices_ + kLong - k) % kLong][c];
    for (float& m : moved) m *= m;
    // A node's mean spreads the less the more leaves it has; of a depth the smallest node is taken. Once
    // nodes have been seen in the mode for a while their variance tells better: a fault may hit many leaves.
    const bool new_mode = contrast_.history() < kLongHistory;
    std::vector<float> base(groups_ * cells), lasts(groups_ * cells), least(groups_ * cells), terms(cells);
    for (std::size_t g = 0; g < groups_; ++g)
      for (std::size_t c = 0; c < cells; ++c) {
        const double all = pooled_[g][0][c];
        base[g * cells + c] = static_cast<float>(all);
        lasts[g * cells + c] = young * (all > 0 ? static_cast<float>(pooled_[g][w][c] / all) : one);
        const float floor = least_deviation(c) * least_deviation(c) * young;
        least[g * cells + c] =
            g == 0 || new_mode ? std::max(floor, spreads[c] * spreads[c] / smallest_[g]) : floor;
      }
    // What the machine does is judged by itself.
    for (std::size_t g = 0; g < groups_; ++g)
      for (std::size_t x = 0; x < Contrast::kMachine; ++x)
        least[g * cells + x] = std::numeric_limits<float>::max();
    for (std::size_t i = 0; i < items_; ++i) {
      const std::size_t g = group_[i];
      if (pooled_n_[g] < 1) continue;
      const float own = n_[i] / (n_[i] + kOwnSlices), others = 1 - own;
      const float *const d = w == 0 ? newest(i) : long_[i], *const v = variance_[i];
      const float *const b = &base[g * cells], *const t = &lasts[g * cells], *const f = &least[g * cells];
      // The sum in a loop of its own: in order, while the terms are taken several at once.
      for (std::size_t c = 0; c < cells; ++c)
        terms[c] = d[c] * d[c] / (std::max((own * v[c] + others * b[c]) * t[c], f[c]) + moved[c]);
      float total = 0;
      for (std::size_t c = 0; c < cells; ++c) total += terms[c];
      total *= one * one;
      // What takes little time is of little interest, however sure it is.
      const auto large = static_cast<float>(effect(d, kSpans[w]));
      if (has(Ingredient::kEffectWeight)) total *= large / (large + kLarge / options_.finer);
      best_[i][kApart + w] = {total, static_cast<std::uint32_t>(kSpans[w]), large};
    }
  }
  for (std::size_t i = 0; i < items_; ++i) {
    const Stretch::Score stretched = has(Ingredient::kStretch) ? stretch_.of(i) : Stretch::Score();
    best_[i][kStretched] = {
        stretched.score,
        static_cast<std::uint32_t>(std::min<std::uint64_t>({stretched.slices, kLong, run_ + 1})),
        stretched.effect};
    // It would be told, and it would raise the limit.
    if (learning_ > 0 && learns_anew(i)) best_[i] = {};
    for (std::size_t k = 0; k < kTests; ++k) {
      Greatest& g = greatest_[group_[i] * kTests + k];
      const Best& b = best_[i][k];
      if (b.score > g.score) g = {b.score, b.effect >= options_.min_effect};
    }
  }
}

// The time, as a share, that goes elsewhere than usual.
double Departures::effect(const float* sum, std::size_t slices) const {
  float more = 0, less = 0, longer = 0;
  const float* const share = sum + Contrast::kShare * columns_;
  const float* const excess = sum + Contrast::kExcess * columns_;
  const float* const overtime = sum + Contrast::kOvertime * columns_;
  for (std::size_t x = 0; x < columns_; ++x) {
    more += std::max(0.0f, share[x]);
    less += std::max(0.0f, -share[x]);
    longer += std::max(0.0f, std::max(excess[x], overtime[x]));
  }
  return std::max({more, less, longer}) / static_cast<float>(slices);
}

// The nodes of which a score is beyond the limit of its depth.
std::vector<Departures::Alarm> Departures::alarmed() {
  std::vector<Alarm> out;
  suspect_ = false;
  limit_now_.assign(greatest_.size(), std::numeric_limits<double>::infinity());
  if (contrast_.history() < (options_.two_in_a_row ? kLongHistory : kLeastHistory)) return out;
  double tests = 0, live = 0, seen = 0;
  std::size_t beyond = 0;
  for (std::size_t t = 0; t < greatest_.size(); ++t) {
    const Greatest& g = greatest_[t];
    tests += g.score > 0;
    live += g.score > 0 && limits_[t].seldom() > kFarBelow * limits_[t].least();
    beyond += g.told && g.score > limits_[t].seldom();
    seen = std::max(seen, static_cast<double>(limits_[t].size()));
  }
  overlap_.add(slices_, beyond);
  const double all = options_.false_alarms_per_day * static_cast<double>(options_.slice.value) / kDay;
  const double p = all / overlap_.independent(tests, live, all * seen);
  // A history of few leaves is a short one.
  const double few =
      !has(Ingredient::kYoung)
          ? 1
          : 1 + kFewLeaves / static_cast<double>(std::max<std::size_t>(1, contrast_.sample().size()));
  for (std::size_t t = 0; t < greatest_.size(); ++t) {
    if (greatest_[t].score <= 0) continue;
    // Of the longest span each slice shares most with the next: of a coarser level so many have seen as much
    // as four would that do not.
    if (options_.two_in_a_row && t % kTests == kApartLong && limits_[t].size() < kLongestSpans) continue;
    // Far below any limit there is nothing to be told of it.
    if (greatest_[t].score <= kSuspicious * limits_[t].least() && limits_[t].size() >= TailLimit::kFewest) {
      limit_now_[t] = limits_[t].least();
      continue;
    }
    // So is one of slices of which each shares most with the next.
    const double limit = limit_now_[t] = limits_[t].limit(p, t % kTests == kApartLong ? few * kLong : few);
    suspect_ = suspect_ || greatest_[t].score > limit * kSuspicious;
    if (greatest_[t].score <= limit) continue;
    for (std::uint32_t i = 0; i < items_; ++i) {
      const Best& best = best_[i][t % kTests];
      if (group_[i] != t / kTests || best.score <= limit) continue;
      std::vector<float> sum(kMeasures * columns_, 0.0f);
      add_last(i, best.slices, sum.data());
      // What shows more in a slice than in eight has begun in it.
      const bool at_once = t % kTests == kApartLong && best_[i][kApart].score >= best.score;
      const std::uint32_t since = at_once ? best_[i][kApart].slices : best.slices;
      double large = effect(sum.data(), best.slices);
      // Also in the mean of all slices since visits began to take longer, which may be many.
      if (t % kTests == kStretched) large = std::min<double>(large, stretch_.of(i).effect);
      const bool young = t % kTests == kApart && limits_[t].size() < kSureHistory;
      if (large >= options_.min_effect) out.push_back({i, since, best.score / limit, large, young});
    }
  }
  return out;
}

// Do most leaves do what is nobody's waiting, as when all write a checkpoint?
bool Departures::most_work(const model::SliceColumn& column, const std::set<std::uint16_t>& idle) const {
  std::size_t there = 0, works = 0;
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const std::uint16_t state = column.open(LeafIndex(l)).state.value;
    if (state == kAbsent.value || state == kUnknown.value) continue;
    there += 1;
    works += state < topology_->states.size() && is_work(topology_->states[state]) && !idle.contains(state);
  }
  return works * 2 > there;
}

// Is all that is alarming a single slice, of whose kind too few have been seen to tell how far they go? Then
// a node has to be so again within the longest span.
bool Departures::unsure(const std::vector<Alarm>& alarms) {
  bool out = has(Ingredient::kTwice);
  for (const Alarm& a : alarms) {
    std::uint64_t& last = last_alarm_[a.item];
    out = out && a.young && (last == 0 || last + kLong < slices_ + 1);
  }
  for (const Alarm& a : alarms) last_alarm_[a.item] = slices_ + 1;
  return out;
}

std::vector<Episode> Departures::told() const {
  std::vector<Episode> out = long_visits_.episodes();
  if (episode_) out.push_back(*episode_);
  return out;
}

std::vector<Episode> Departures::on_slice(const Window& window, const model::SliceColumn& column,
                                          const std::set<std::uint16_t>& idle, Look look) {
  if (episode_ && episode_->over) episode_.reset();
  long_visits_.drop_over();
  std::erase_if(lasting_, [](const Lasting& l) { return l.over; });
  if (!topology_ || window.size() == 0) return {};
  // Without a sampler what made the slice before look like a perturbation is all there is to tell who
  // stopped.
  const bool begun =
      alarms_in_a_row_ > 0 || (suspect_ && !contrast_.sampled() && has(Ingredient::kStandstill));
  if (look == Look::kNothing || (look == Look::kHeld && !episode_ && !begun)) {
    suspect_ = false;
    if (machine_run_ > 0) restart();
    long_visits_.restart();
    contrast_.forget();
    together_.standing = look == Look::kHeld && most_work(column, idle) ? together_.standing + 1 : 0;
    return told();
  }
  if (state_of_.empty()) {
    state_of_ = {Episode::kDenied, Episode::kStopped, Episode::kBlocked};
    collective_.assign(Contrast::kMachine, 0);
    sleeps_.assign(Contrast::kMachine, 0);
    work_.assign(Contrast::kMachine, 1);  // whose turn it is, and who is not let
  }
  while (state_of_.size() < Contrast::kMachine + window.columns()) {
    const StateId s = window.state_of(state_of_.size() - Contrast::kMachine);
    state_of_.push_back(s.value);
    const auto* const state = s.value < topology_->states.size() ? &topology_->states[s.value] : nullptr;
    work_.push_back(state && is_work(*state) && !idle.contains(s.value));
    collective_.push_back(state && is_collective(*state));
    sleeps_.push_back(state && sleeps(*state));
  }
  contrast_.measure(window, column, idle, work_, sleeps_);
  lay_out(contrast_.columns());
  take();
  // Somebody has said when there is nothing to do: work comes in requests or tasks. A coarser level has no
  // more visits than the finest.
  if (!idle.empty() && !options_.two_in_a_row)
    long_visits_.on_slice(contrast_, {state_of_, work_}, window.last());
  if (episode_) {
    follow(window);
    ++slices_, ++run_, ++machine_run_;
    if (!episode_ || episode_->over) restart();
    return told();
  }
  test(window, idle);
  return told();
}

void Departures::test(const Window& window, const std::set<std::uint16_t>& idle) {
  score();
  std::vector<Alarm> alarms = alarmed();
  // How much of its time a worker does what is a matter of what it is given.
  if (!idle.empty()) alarms.clear(), suspect_ = false;
  together_.moving = contrast_.all_move() || contrast_.seldom() ? together_.moving + 1 : 0;
  // Its last are given as long again as the others took, slices in which nobody went on among them.
  if (!contrast_.seldom()) together_.since.reset();
  if (contrast_.seldom() && !together_.since) together_.since = window.last();
  const auto together = !together_.since
                            ? 0
                            : static_cast<std::uint32_t>(std::min<std::int64_t>(
                                  window.last().value + 1 - together_.since->value, kMostTogether));
  const std::uint32_t by_all =
      std::max(together, std::min(std::exchange(together_.standing, 0), kMostTogether));
  if (by_all > 0) together_.stragglers = std::max({together_.stragglers, kStragglers + 1, 2 * by_all + 1});
  // Nor does a long score reach back to them.
  const bool over = together_.stragglers > 0 && --together_.stragglers == 1;
  if (together_.stragglers > 0 && together_.moving <= kMostMoving) alarms.clear();
  if (together_.moving > 0 && together_.moving <= kMostMoving) alarms.clear();
  if (contrast_.few_left() && has(Ingredient::kFewLeft)) alarms.clear();
  machine_alarms(alarms);
  const bool back = come_back(window);
  if (back) alarms.clear();
  leave_out_returning(alarms);
  if (learning_ > 0) {
    --learning_;
    for (std::uint32_t& slices : learners_) slices -= slices > 0 ? 1 : 0;
  }
  alarms_in_a_row_ = alarms.empty() ? 0 : alarms_in_a_row_ + 1;
  bool learned = false;
  // Where processes are sampled, what has just begun is better told in the next slice: by what the machine
  // does.
  const bool waits = options_.two_in_a_row || (contrast_.unsettled() && contrast_.sampled());
  if (!alarms.empty() && unsure(alarms)) alarms.clear(), suspect_ = true;
  if (!alarms.empty() && (!waits || alarms_in_a_row_ >= 2)) {
    const Begun first = begin(window, alarms);
    if (first == Begun::kNotYet && has(Ingredient::kSuspicionLearning)) pending_.push_back(greatest_);
    if (first == Begun::kNobody) {
      alarms.clear(), suspect_ = true;
      for (std::size_t t = 0; t < greatest_.size(); ++t)
        greatest_[t].told = greatest_[t].told && greatest_[t].score <= limit_now_[t];
    }
  }
  if (alarms.empty()) {
    suspicious_ = suspect_ ? suspicious_ + 1 : 0;
    if (!contrast_.unsettled() && contrast_.history() > 1) {
      if (suspicious_ == 0 || suspicious_ > kMostSuspicious)
        learn();
      else if (has(Ingredient::kSuspicionLearning))
        pending_.push_back(greatest_);
    }
    learned = contrast_.learn();
  }
  ++slices_, ++run_, ++machine_run_;
  // What was a departure from the old one is none from the new.
  if (std::any_of(lasting_.begin(), lasting_.end(), [](const Lasting& l) { return l.over; }))
    restart();
  else if (learned || over)
    another_mode();
}

}  // namespace margay::detect
