#include "score_sums.h"

#include <algorithm>
#include <cmath>

namespace margay::detect {
namespace {

constexpr std::uint32_t kBlock = 8;  // slices in which visits hang together
// What is believed before anything is seen: visits of a node hang together so much, as much as so many pairs
// say; and the scores of a leaf not at all with those of the others, as so many visits say.
constexpr double kTogether = 0.1, kPairs = 200, kCompared = 30;
constexpr double kMostSquare = 2;  // times the variance
constexpr double kKeepBlock = 0.98, kKeep = 1 - 1 / 256.0;
constexpr double kLeastScoreVariance = 0.3;
constexpr float kOthers = 2;                           // visits that are as usual, added to those of others
constexpr float kFirstShift = 1.5f, kFirstVisits = 2;  // what scores are higher by, as so many visits say

}  // namespace

double ScoreSums::Common::slope() const {
  return std::clamp(xy / (yy + kCompared), 0.0, 1.0);
}

double ScoreSums::Common::variance() const {
  return std::clamp((squares + kCompared) / (n + kCompared), kLeastScoreVariance, 1.0);
}

double ScoreSums::together(const Scatter& s) {
  return std::clamp((s.squares - s.visits + kTogether * kPairs) / (s.pairs + kPairs), 0.0, 1.0);
}

void ScoreSums::lay_out(std::size_t items, std::size_t columns) {
  columns_ = std::max(columns, columns_);
  items_ = items;
  stretches_.lay_out(items, columns_);
  for (Grid* g : sums()) g->reach_before_last(items, columns_ + 1);
  for (Grid* g : {&slice_.score, &slice_.visits, &slice_.told, &slice_.lost, &slice_.ratio})
    g->reach(items, columns_);
  slice_.busy.resize(items);
  common_.resize(columns_);
}

void ScoreSums::clear_from(std::size_t item) {
  stretches_.clear_from(item);
  for (Grid* g : sums())
    if (g->rows() > item) g->clear_from(item);
}

void ScoreSums::restart() {
  stretches_.restart();
  for (Grid* g : {&score_, &visits_}) g->fill(0);
}

void ScoreSums::restart(std::size_t item) {
  stretches_.restart(item);
  for (Grid* g : {&score_, &visits_}) std::fill_n((*g)[item], g->columns(), 0.0f);
}

float ScoreSums::shift(std::size_t i, std::size_t x) const {
  return visits_[i][x] > 0 ? score_[i][x] / visits_[i][x] : 0;
}

void ScoreSums::add(std::size_t i, std::size_t x, const Told& t, float together) {
  now_score_[i][x] = t.score, now_visits_[i][x] = t.visits;
  float& lately = lately_[i][x];
  lately = lately * (1 - 1.0f / kBlock) + std::max(0.0f, t.visits);
  const float shift = std::clamp((score_[i][x] + kFirstShift * kFirstVisits) / (visits_[i][x] + kFirstVisits),
                                 kLeastShift, kMostShift);
  const float design = 1 + together * std::max(0.0f, lately - 1);
  const float nats = (t.score * shift - t.visits * shift * shift / 2) / design;
  if (stretches_.add(i, x, {nats, t.lost, slice_.busy[i], t.ratio, t.told}))
    score_[i][x] += t.score, visits_[i][x] += t.visits;
  else
    score_[i][x] = visits_[i][x] = 0;
}

void ScoreSums::take(const NodeItems& items) {
  std::vector<float> all(columns_), visits(columns_), slope(columns_), deviation(columns_);
  for (std::size_t x = 0; x < columns_; ++x) {
    slope[x] = static_cast<float>(common_[x].slope());
    deviation[x] = static_cast<float>(std::sqrt(common_[x].variance()));
    for (std::size_t l = 0; l < items.leaves(); ++l)
      all[x] += slice_.score[l][x], visits[x] += slice_.visits[l][x];
  }
  scatter_.resize(std::max(scatter_.size(), items.groups()));
  for (auto& of : scatter_) of.resize(columns_ + 1);
  compared_.clear();
  stretches_.begin_slice();
  for (std::size_t i = 0; i < items_; ++i) {
    const auto& scatter = scatter_[items.group(i)];
    Told sum;
    for (std::size_t x = 0; x < columns_; ++x) {
      Told t{slice_.score[i][x], slice_.visits[i][x], slice_.lost[i][x], slice_.ratio[i][x],
             slice_.told[i][x]};
      const float n_others = visits[x] - t.visits;
      const float others = (all[x] - t.score) / std::max(1.0f, n_others + kOthers);
      if (i < items.leaves() && t.visits > 0 && n_others > 0)
        compared_.push_back({x, t.score, t.visits, others});
      t.score -= std::max(0.0f, t.visits) * (others > 0 ? others : slope[x] * others);
      t.score /= deviation[x];
      add(i, x, t, static_cast<float>(together(scatter[x + 1])));
      sum.score += t.score, sum.visits += t.visits, sum.lost += t.lost, sum.ratio += t.ratio;
      sum.told += t.told;
    }
    add(i, columns_, sum, static_cast<float>(together(scatter[0])));
  }
}

void ScoreSums::learn(const NodeItems& items) {
  for (Common& c : common_)
    for (double* sum : {&c.xy, &c.yy, &c.squares, &c.n}) *sum *= kKeep;
  for (const Compared& k : compared_) {
    Common& c = common_[k.column];
    const auto z = static_cast<double>(k.score), n = static_cast<double>(k.visits),
               others = static_cast<double>(k.others), left = z - n * c.slope() * others;
    c.xy += z * others, c.yy += n * others * others, c.squares += left * left / n, c.n += 1;
  }
  for (std::size_t i = 0; i < items_; ++i)
    for (std::size_t x = 0; x <= columns_; ++x)
      block_score_[i][x] += now_score_[i][x], block_visits_[i][x] += now_visits_[i][x];
  if (++in_block_ < kBlock) return;
  in_block_ = 0;
  for (auto& of : scatter_)
    for (Scatter& s : of)
      for (double* sum : {&s.squares, &s.visits, &s.pairs}) *sum *= kKeepBlock;
  for (std::size_t i = 0; i < items_; ++i)
    for (std::size_t x = 0; x <= columns_; ++x) {
      const auto n = static_cast<double>(block_visits_[i][x]), z = static_cast<double>(block_score_[i][x]);
      if (n < 1) continue;
      Scatter& s = scatter_[items.group(i)][x == columns_ ? 0 : x + 1];
      const double pairs = n * (n - 1);
      s.squares += std::min(z * z, kMostSquare * (n + pairs * together(s)));
      s.visits += n, s.pairs += pairs;
    }
  block_score_.fill(0), block_visits_.fill(0);
}

}  // namespace margay::detect
