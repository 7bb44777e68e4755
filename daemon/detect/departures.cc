#include "departures.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

namespace margay::detect {
namespace {

constexpr std::size_t kMeasures = Contrast::kMeasures;
constexpr double kDay = 86'400e9;
// A node's own variance counts as much as that of its depth after so many slices.
constexpr float kOwnSlices = 8;
constexpr float kMemory = 256;
constexpr float kWinsor = 9;  // a square moves a variance by no more than so many times it
// No standard deviation is believed to be below this (shares of a slice).
constexpr float kLeastDeviation = 0.012f;
// The part of a common shift that single leaves may miss.
constexpr float kImperfect = 0.15f;
// The effect at which a score counts half.
static const float kLarge = env("LARGE", 0.25f);
// Slices that look like a perturbation are not learned, but not for ever.
constexpr std::uint32_t kMostSuspicious = 24;
constexpr double kSuspicious = 0.35;  // of the limit
constexpr double kFewLeaves = 8;
// An episode of so many slices at least, that has been so often, with these leaves and this way (cosine).
constexpr std::int64_t kLeastPattern = 3;
constexpr std::uint32_t kFamiliarTimes = 2;
constexpr std::size_t kMostPatterns = 16;
constexpr double kSameLeaves = 0.8, kSameWay = 0.85;
constexpr double kLeastHistory = 4;
constexpr std::size_t kLate = 8;  // slices until a maximum is learned
constexpr double kBelongs = 0.5;  // of the strongest's way, to be blamed with it
// Beyond so many deviations more of them say nothing more. Who works longer is the cause if this is as
// strong as the waiting of others, or nearly.
constexpr float kMostDeviations = 30, kWorkBefore = 0.3f;
constexpr double kGoesOn = 0.3;  // of its usual strength, to go on

}  // namespace

bool is_work(const model::StateInfo& state) {
  using F = model::StateFamily;
  switch (state.family) {
    case F::kCompute:
    case F::kIo:
      return true;
    case F::kOther:
      break;
    default:
      return false;
  }
  std::string name;
  for (const char c : state.name) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* const waits : {"mpi_", "wait", "idle", "recv", "send", "barrier", "reduce", "gather",
                                  "bcast", "block", "sleep", "poll", "queue", "init", "finalize"})
    if (name.find(waits) != std::string::npos) return false;
  return true;
}

Departures::Departures(Options options) : options_(options), contrast_(options.slice) {}

void Departures::set_topology(std::shared_ptr<const Topology> topology) {
  topology_ = std::move(topology);
  const auto& h = topology_->hierarchy;
  inner_.clear();
  const std::size_t leaves = h.leaf_count();
  std::uint32_t deepest = 0;
  for (const auto& node : h.nodes()) deepest = std::max(deepest, node.depth);
  groups_ = deepest + 2;
  group_.assign(leaves, 0);
  for (std::uint32_t k = 1; k < h.node_count(); ++k) {
    const auto& node = h.nodes()[k];
    if (node.leaf_count > 1 && node.leaf_count < leaves)
      inner_.push_back({node.first_leaf, node.leaf_count, node.depth + 1});
  }
  for (const Inner& i : inner_) group_.push_back(i.group);
  items_ = group_.size();
  // Inner nodes are other ones now; leaves keep their numbers.
  const std::size_t keep = std::min(leaves, aspects_[0].variance.rows());
  for (Aspect& a : aspects_) {
    for (Grid& g : a.ring)
      if (g.rows() > keep) g.clear_from(keep);
    for (Grid& g : a.sum)
      if (g.rows() > keep) g.clear_from(keep);
    if (a.variance.rows() > keep) a.variance.clear_from(keep);
  }
  n_.resize(std::max(n_.size(), items_), 0.0f);
  std::fill(n_.begin() + static_cast<std::ptrdiff_t>(std::min(keep, n_.size())), n_.end(), 0.0f);
  for (Aspect& a : aspects_)
    for (Grid& g : a.sum) g.fill(0);
  while (limits_.size() < groups_) limits_.emplace_back(TailLimit::Options{});
  lay_out(leaves, columns_);
  run_ = 0;
}

void Departures::lay_out(std::size_t leaves, std::size_t columns) {
  columns_ = std::max(columns_, columns);
  items_ = std::max(items_, leaves);
  for (Aspect& a : aspects_) {
    for (Grid& g : a.ring) g.reach(items_, columns_);
    for (Grid& g : a.sum) g.reach(items_, columns_);
    a.variance.reach(items_, columns_);
    a.pooled.resize(std::max(a.pooled.size(), groups_));
    for (auto& spans : a.pooled)
      for (auto& of : spans) of.resize(columns_, 0.0);
    for (auto& c : a.common) c.resize(columns_, 0.0f);
  }
  n_.resize(std::max(n_.size(), items_), 0.0f);
  group_.resize(items_, 0);
  pooled_n_.resize(groups_, 0.0);
  best_.resize(items_);
}

void Departures::take(Aspect& a, const Grid& leaves, const std::vector<float>& common) {
  const std::size_t slot = slices_ % kRing;
  Grid& now = a.ring[slot];
  const auto order = topology_->hierarchy.leaf_order();
  const std::size_t n = order.size();
  const std::size_t inner = items_ - inner_.size();
  // What falls out of the spans goes first: the ring holds just the longest.
  for (std::size_t w = 0; w < kSpans.size(); ++w) {
    Grid& sum = a.sum[w];
    const auto span = static_cast<std::size_t>(kSpans[w]);
    if (run_ < span) continue;
    const Grid& old = a.ring[(slices_ + kRing - span) % kRing];
    const std::size_t cells = items_ * columns_;
    float* const to = sum[0];
    const float* const from = old[0];
    for (std::size_t i = 0; i < cells; ++i) to[i] -= from[i];
  }
  for (std::size_t l = 0; l < n && l < leaves.rows(); ++l)
    for (std::size_t x = 0; x < columns_; ++x) now[l][x] = leaves[l][x];
  for (std::size_t i = 0; i < inner_.size(); ++i) {
    float* const to = now[inner + i];
    std::fill(to, to + columns_, 0.0f);
    float known = 0;
    for (std::uint32_t k = 0; k < inner_[i].count; ++k) {
      const std::size_t l = order[inner_[i].first + k].value;
      if (l >= leaves.rows() || !contrast_.known(l)) continue;
      known += 1;
      for (std::size_t x = 0; x < columns_; ++x) to[x] += leaves[l][x];
    }
    if (known > 0)
      for (std::size_t x = 0; x < columns_; ++x) to[x] /= known;
  }
  const std::size_t cells = items_ * columns_;
  for (Grid& sum : a.sum) {
    float* const to = sum[0];
    const float* const from = now[0];
    for (std::size_t i = 0; i < cells; ++i) to[i] += from[i];
  }
  a.common[slot] = common;
  a.common[slot].resize(columns_, 0.0f);
}

// The largest score of each node over the spans.
void Departures::score() {
  best_.assign(items_, {});
  greatest_.assign(groups_, 0.0f);
  const double history = contrast_.history();
  std::vector<float> scratch;
  std::vector<float> total(items_);
  for (std::size_t w = 0; w < kSpans.size(); ++w) {
    const auto span = static_cast<std::uint64_t>(kSpans[w]);
    if (run_ + 1 < span) break;
    const float one = 1 / static_cast<float>(span);
    std::fill(total.begin(), total.end(), 0.0f);
    for (std::size_t measure = 0; measure < kMeasures; ++measure) {
      Aspect& a = aspects_[measure];
      const float least = kLeastOf[measure] * kLeastOf[measure];
      // In these slices: how far the leaves spread, and how far all of them moved.
      std::vector<float> common(columns_, 0.0f);
      for (std::uint64_t k = 0; k < span; ++k)
        for (std::size_t x = 0; x < columns_; ++x)
          common[x] += one * a.common[(slices_ + kRing - k) % kRing][x];
      std::vector<float> spread(columns_, 0.0f);
      if (contrast_.sample().size() >= 4)
        for (std::size_t x = 0; x < columns_; ++x) {
          scratch.clear();
          for (const std::uint32_t l : contrast_.sample()) scratch.push_back(std::abs(a.sum[w][l][x]) * one);
          const auto middle = scratch.begin() + static_cast<std::ptrdiff_t>(scratch.size() / 2);
          std::nth_element(scratch.begin(), middle, scratch.end());
          spread[x] = 1.4826f * *middle;
        }
      for (std::size_t i = 0; i < items_; ++i) {
        const std::uint32_t g = group_[i];
        if (pooled_n_[g] < 1) continue;
        const bool leaf = g == 0;
        const float own = n_[i] / (n_[i] + kOwnSlices);
        const float young = 1 + static_cast<float>(span) / static_cast<float>(std::max(1.0, history));
        const auto& pooled = a.pooled[g];
        float sum = 0;
        for (std::size_t x = 0; x < columns_; ++x) {
          const auto base = static_cast<float>(pooled[0][x]);
          const float lasts = base > 0 ? static_cast<float>(pooled[w][x]) / base : one;
          float v = (own * a.variance[i][x] + (1 - own) * base) * lasts;
          v = std::max(v, least) * young;
          if (leaf) v = std::max(v, spread[x] * spread[x]);
          const float c = kImperfect * common[x];
          const float d = a.sum[w][i][x] * one;
          sum += d * d / (v + c * c);
        }
        total[i] += sum;
      }
    }
    for (std::size_t i = 0; i < items_; ++i) {
      if (total[i] <= 0) continue;
      // What takes little time is of little interest, however sure it is.
      const auto large = static_cast<float>(effect(i, w));
      total[i] *= large / (large + kLarge);
      if (total[i] > best_[i].score) best_[i] = {total[i], static_cast<std::uint8_t>(w)};
      greatest_[group_[i]] = std::max(greatest_[group_[i]], total[i]);
    }
  }
}

// The time, as a share, that goes elsewhere than usual.
double Departures::effect(std::size_t item, std::size_t w) const {
  double more = 0, less = 0, longer = 0;
  for (std::size_t x = 0; x < columns_; ++x) {
    const float d = aspects_[Contrast::kShare].sum[w][item][x];
    const float e =
        std::max(aspects_[Contrast::kExcess].sum[w][item][x], aspects_[Contrast::kOvertime].sum[w][item][x]);
    (d > 0 ? more : less) += std::abs(d);
    longer += std::max(0.0f, e);
  }
  return std::max({more, less, longer}) / kSpans[w];
}

void Departures::learn() {
  // Of each depth: the variance of means over each span.
  std::vector<double> count(groups_, 0.0);
  for (std::size_t i = 0; i < items_; ++i) count[group_[i]] += 1;
  for (std::size_t ai = 0; ai < aspects_.size(); ++ai) {
    Aspect& a = aspects_[ai];
    for (std::size_t w = 0; w < kSpans.size(); ++w) {
      const auto span = static_cast<std::uint64_t>(kSpans[w]);
      std::vector<double> squares(groups_ * columns_, 0.0);
      const float one = 1 / static_cast<float>(span);
      for (std::size_t i = 0; i < items_; ++i)
        for (std::size_t x = 0; x < columns_; ++x) {
          const float d = a.sum[w][i][x] * one;
          squares[group_[i] * columns_ + x] += static_cast<double>(d * d);
        }
      for (std::size_t g = 0; g < groups_; ++g) {
        if (count[g] == 0) continue;
        for (std::size_t x = 0; x < columns_; ++x) {
          const double s = squares[g * columns_ + x] / count[g];
          auto& p = a.pooled[g];
          if (run_ + 1 < span) {
            // Not seen yet: as if slices were independent, and then some.
            p[w][x] = p[0][x] * 1.5 / static_cast<double>(span);
            continue;
          }
          const double n = std::min(pooled_n_[g], static_cast<double>(kMemory));
          p[w][x] += (std::min(s, n > 3 ? kWinsor * std::max(p[w][x], 1e-6) : s) - p[w][x]) / (n + 1);
        }
      }
    }
    for (std::size_t i = 0; i < items_; ++i) {
      const float rate = 1 / (std::min(n_[i], kMemory) + 1);
      for (std::size_t x = 0; x < columns_; ++x) {
        const float d = a.sum[0][i][x];
        float& v = a.variance[i][x];
        const float most = kWinsor * std::max(v, static_cast<float>(a.pooled[group_[i]][0][x]));
        v += rate * (std::min(d * d, n_[i] > 3 ? most : d * d) - v);
      }
    }
  }
  for (std::size_t g = 0; g < groups_; ++g) pooled_n_[g] += count[g] > 0;
  for (std::size_t i = 0; i < items_; ++i)
    if (i >= topology_->hierarchy.leaf_count() || (i < contrast_.leaves() && contrast_.known(i))) n_[i] += 1;
  pending_.push_back(greatest_);
  while (pending_.size() > kLate) {
    for (std::size_t g = 0; g < pending_.front().size() && g < groups_; ++g)
      if (count[g] > 0 && pending_.front()[g] > 0) limits_[g].add(pending_.front()[g]);
    pending_.erase(pending_.begin());
  }
}

bool Departures::works(std::size_t column) const {
  return work_[column] != 0;
}

const Departures::Episode* Departures::on_slice(const Window& window, const model::SliceColumn& column,
                                                const std::set<std::uint16_t>& idle, Look look) {
  if (episode_ && episode_->over) episode_.reset();
  if (!topology_ || window.size() == 0) return nullptr;
  if (look == Look::kNothing || (look == Look::kHeld && !episode_ && alarms_in_a_row_ == 0)) {
    // What lies before and behind is not one stretch.
    for (Aspect& a : aspects_)
      for (Grid& g : a.sum) g.fill(0);
    run_ = 0;
    alarms_in_a_row_ = 0;
    contrast_.forget();
    return episode_ && !familiar_ ? &*episode_ : nullptr;
  }
  contrast_.measure(window, column, idle);
  lay_out(contrast_.leaves(), contrast_.columns());
  while (state_of_.size() < columns_) {
    const StateId s = window.state_of(state_of_.size());
    state_of_.push_back(s.value);
    work_.push_back(s.value < topology_->states.size() && is_work(topology_->states[s.value]) &&
                    !idle.contains(s.value));
  }
  for (std::size_t k = 0; k < kMeasures; ++k) take(aspects_[k], contrast_.departure(k), contrast_.common(k));
  score();

  if (episode_) {
    for (std::size_t k = 0; k < kMeasures; ++k) {
      const Grid& now = contrast_.departure(k);
      since_[k].reach(now.rows(), now.columns());
      for (std::size_t l = 0; l < now.rows(); ++l)
        for (std::size_t x = 0; x < now.columns(); ++x) since_[k][l][x] += back_ == 0 ? now[l][x] : 0.0f;
    }
    if (back_ == 0) since_slices_ += 1;
    if (goes_on()) {
      back_ = 0;
      blame(window);
    } else if (back_++ == 0) {
      episode_->end = window.last();
    }
    if (familiar_ && back_ == 0) {
      // Is it still the same?
      const Pattern* const same = same_pattern();
      unlike_ = same != nullptr && same->times >= kFamiliarTimes ? 0 : unlike_ + 1;
      if (unlike_ >= 2) familiar_ = false;
    }
    if (back_ >= options_.back_slices) {
      if (Pattern* const same = same_pattern()) {
        ++same->times;
      } else if (episode_->onset.value + kLeastPattern <= episode_->end.value) {
        if (patterns_.size() >= kMostPatterns) patterns_.erase(patterns_.begin());
        patterns_.push_back({episode_->leaves, way_, 1});
      }
      episode_->over = true;
      back_ = 0;
      run_ = 0;
      alarms_in_a_row_ = 0;
      for (Aspect& a : aspects_)
        for (Grid& g : a.sum) g.fill(0);
      ++slices_;
      return familiar_ ? nullptr : &*episode_;
    }
    ++slices_, ++run_;
    return familiar_ ? nullptr : &*episode_;
  }

  // Alarms?
  std::vector<std::uint32_t> alarmed;
  std::size_t used = 0;
  for (const float g : greatest_) used += g > 0;
  const double p = options_.false_alarms_per_day * static_cast<double>(options_.slice.value) / kDay /
                   static_cast<double>(std::max<std::size_t>(1, used));
  bool suspicious = false;
  // A history of few leaves is a short one.
  const double few =
      1 + kFewLeaves / static_cast<double>(std::max<std::size_t>(1, contrast_.sample().size()));
  limit_now_.assign(groups_, std::numeric_limits<double>::infinity());
  if (contrast_.history() >= kLeastHistory)
    for (std::size_t g = 0; g < groups_; ++g) {
      if (greatest_[g] <= 0) continue;
      const double limit = limit_now_[g] = limits_[g].limit(p, few);
      suspicious = suspicious || greatest_[g] > limit * kSuspicious;
      if (greatest_[g] <= limit) continue;
      for (std::uint32_t i = 0; i < items_; ++i)
        if (group_[i] == g && best_[i].score > limit && effect(i, best_[i].span) >= options_.min_effect)
          alarmed.push_back(i);
    }
  alarms_in_a_row_ = alarmed.empty() ? 0 : alarms_in_a_row_ + 1;
  if (!alarmed.empty() && (!contrast_.unsettled() || alarms_in_a_row_ >= 2)) {
    begin(window, alarmed);
  } else if (alarmed.empty()) {
    suspicious_ = suspicious ? suspicious_ + 1 : 0;
    if (!contrast_.unsettled() && contrast_.history() > 1) {
      if (suspicious_ == 0 || suspicious_ > kMostSuspicious)
        learn();
      else
        pending_.push_back(greatest_);
    }
    contrast_.learn();
  }
  ++slices_, ++run_;
  return episode_ && !familiar_ ? &*episode_ : nullptr;
}

void Departures::begin(const Window& window, const std::vector<std::uint32_t>& alarmed) {
  std::uint32_t strongest = alarmed.front();
  for (const std::uint32_t i : alarmed)
    if (best_[i].score > best_[strongest].score) strongest = i;
  const std::size_t w = best_[strongest].span;
  episode_.emplace();
  episode_->score = best_[strongest].score;
  episode_->onset = window.last() + 1 - kSpans[w];
  // What turns out to come again and again raises the limit.
  pending_.clear();
  for (std::size_t g = 0; g < groups_; ++g)
    if (std::isfinite(limit_now_[g]) && greatest_[g] > 0)
      limits_[g].add(static_cast<float>(std::min<double>(greatest_[g], 1.5 * limit_now_[g])));
  contrast_.forget();
  back_ = 0;
  since_slices_ = kSpans[w];
  for (std::size_t k = 0; k < kMeasures; ++k) {
    since_[k] = Grid();
    since_[k].reach(contrast_.leaves(), columns_);
    for (std::size_t l = 0; l < contrast_.leaves(); ++l)
      for (std::size_t x = 0; x < columns_; ++x) since_[k][l][x] = aspects_[k].sum[w][l][x];
  }
  blame(window);
  const Pattern* const same = same_pattern();
  familiar_ = same != nullptr && same->times >= kFamiliarTimes;
  unlike_ = 0;
}

// The pattern that the open episode is of, if there has been one.
Departures::Pattern* Departures::same_pattern() {
  for (Pattern& p : patterns_) {
    std::size_t both = 0;
    for (const std::uint32_t l : episode_->leaves) both += p.leaves.contains(l);
    const auto all = static_cast<double>(p.leaves.size() + episode_->leaves.size() - both);
    if (static_cast<double>(both) < kSameLeaves * all) continue;
    double along = 0, here = 0, there = 0;
    for (std::size_t i = 0; i < way_.size() && i < p.way.size(); ++i) {
      along += static_cast<double>(way_[i]) * p.way[i];
      here += static_cast<double>(way_[i]) * way_[i];
      there += static_cast<double>(p.way[i]) * p.way[i];
    }
    if (along * along >= kSameWay * kSameWay * here * there) return &p;
  }
  return nullptr;
}

// Of all leaves, by what they have done since the onset, those that are the cause.
void Departures::blame(const Window& window) {
  static_cast<void>(window);
  const std::size_t leaves = since_[0].rows();
  const auto one = static_cast<float>(1 / since_slices_);
  const auto longest = [&](std::size_t l, bool work) {
    float most = 0;
    for (std::size_t x = 0; x < columns_; ++x)
      if (works(x) == work)
        most = std::max({most, since_[0][l][x] * one, since_[1][l][x] * one, since_[2][l][x] * one});
    return most;
  };
  // How many usual deviations a leaf is off, in what it does more.
  const auto deviations = [&](std::size_t l, std::size_t k, std::size_t x) {
    const float own = n_[l] / (n_[l] + kOwnSlices);
    const auto& pooled = aspects_[k].pooled[0];
    const auto base = static_cast<float>(pooled[0][x]);
    const float v = std::max(own * aspects_[k].variance[l][x] + (1 - own) * base, kLeastOf[k] * kLeastOf[k]);
    const float lasts = base > 0 ? static_cast<float>(pooled[3][x]) / base : 1.0f;
    return since_[k][l][x] * one / std::sqrt(v * std::max(lasts, one));
  };
  // The strongest of those that work longer, and of those that wait longer.
  std::array<std::size_t, 2> strongest_of{};
  std::array<float, 2> most{-1, -1};
  for (std::size_t l = 0; l < leaves; ++l)
    for (const bool work : {false, true}) {
      float z = 0;
      for (std::size_t k = 0; k < kMeasures; ++k)
        for (std::size_t x = 0; x < columns_; ++x)
          if (works(x) == work) z = std::max(z, deviations(l, k, x));
      const float weight = std::min(z, kMostDeviations) * longest(l, work);
      if (weight > most[work]) most[work] = weight, strongest_of[work] = l;
    }
  const bool by_work = most[1] >= kWorkBefore * most[0];
  const std::size_t strongest = strongest_of[by_work];
  way_.assign(kMeasures * columns_, 0.0f);
  const auto set_way = [&](const std::vector<std::uint32_t>& of) {
    std::fill(way_.begin(), way_.end(), 0.0f);
    for (const std::uint32_t l : of)
      for (std::size_t k = 0; k < kMeasures; ++k)
        for (std::size_t x = 0; x < columns_; ++x)
          if (!by_work || works(x))
            way_[k * columns_ + x] += since_[k][l][x] * one / static_cast<float>(of.size());
    // What becomes less is no way to go, for it says not why.
    for (float& v : way_) v = std::max(v, 0.0f);
  };
  const auto along = [&](std::size_t l) {
    float sum = 0, length = 0;
    for (std::size_t k = 0; k < kMeasures; ++k)
      for (std::size_t x = 0; x < columns_; ++x) {
        const float v = way_[k * columns_ + x];
        sum += v * since_[k][l][x] * one;
        length += v * v;
      }
    return length > 0 ? sum / length : 0.0f;
  };
  std::vector<std::uint32_t> members{static_cast<std::uint32_t>(strongest)};
  for (int round = 0; round < 4; ++round) {
    set_way(members);
    std::vector<std::uint32_t> next;
    for (std::uint32_t l = 0; l < leaves; ++l)
      if (along(l) >= static_cast<float>(kBelongs)) next.push_back(l);
    if (next.empty() || next == members) break;
    members = std::move(next);
  }
  episode_->leaves = {members.begin(), members.end()};
  set_way(members);
  worker_ = by_work;
  episode_->works = by_work;
  std::size_t column = 0;
  const auto longest_way = [&](std::size_t x) {
    float longest_one = 0;
    for (std::size_t k = 0; k < kMeasures; ++k) longest_one = std::max(longest_one, way_[k * columns_ + x]);
    return longest_one;
  };
  for (std::size_t x = 0; x < columns_; ++x)
    if (longest_way(x) > longest_way(column)) column = x;
  episode_->excess = way_[Contrast::kExcess * columns_ + column];
  episode_->state = column < state_of_.size() ? state_of_[column] : 0;
}

// Do the blamed go on in their way?
bool Departures::goes_on() const {
  const auto along = [&](std::size_t w) {
    float sum = 0, length = 0;
    const float one = 1 / static_cast<float>(kSpans[w]);
    std::size_t n = 0;
    for (const std::uint32_t l : episode_->leaves) {
      ++n;
      for (std::size_t k = 0; k < kMeasures; ++k)
        for (std::size_t x = 0; x < columns_; ++x)
          sum += way_[k * columns_ + x] * aspects_[k].sum[w][l][x] * one;
    }
    for (const float v : way_) length += v * v;
    return n > 0 && length > 0 ? sum / length / static_cast<float>(n) : 0.0f;
  };
  return along(0) >= static_cast<float>(kGoesOn) || along(1) >= static_cast<float>(kGoesOn);
}

void Departures::drop() {
  episode_.reset();
  familiar_ = false;
  back_ = 0;
  run_ = 0;
  for (Aspect& a : aspects_)
    for (Grid& g : a.sum) g.fill(0);
}

}  // namespace margay::detect
