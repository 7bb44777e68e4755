#include "contrast.h"

#include <algorithm>
#include <cmath>

namespace margay::detect {
namespace {

constexpr std::size_t kMostModes = 8;
constexpr float kMemory = 96;              // slices
constexpr std::size_t kMostSampled = 128;  // leaves that a median is taken of
// Half of what a cell can hold must be known.
constexpr double kLeastWeight = 0.5;
constexpr float kLeastVisits = 3;  // that a usual duration rests on
// A mode fits a slice that most leaves are this near, beyond what is usual.
constexpr double kNear = 0.06, kNearTimes = 2.5;
// A new mode: so many slices alike; or so many, if they never are.
constexpr double kAlike = 3, kUnlike = 8;
constexpr float kNoLog = -1e9f;
// Nearly all visits are no longer than so many deviations of their logarithms; a leaf's own are believed as
// much as those of all after so many.
constexpr float kLogDeviations = 1.5f, kOwnVisits = 8, kLeastLogDeviation = 0.1f;
constexpr float kShortOfMean = 0.5f;
constexpr double kIdleShare = 0.1;

template <class Get>
float median(const std::vector<std::uint32_t>& of, std::vector<float>& scratch, Get get) {
  if (of.empty()) return 0;
  scratch.clear();
  for (const std::uint32_t l : of) scratch.push_back(get(l));
  const auto middle = scratch.begin() + static_cast<std::ptrdiff_t>(scratch.size() / 2);
  std::nth_element(scratch.begin(), middle, scratch.end());
  float m = *middle;
  if (scratch.size() % 2 == 0) m = (m + *std::max_element(scratch.begin(), middle)) / 2;
  return m;
}

}  // namespace

void Grid::reach(std::size_t rows, std::size_t columns) {
  rows = std::max(rows, rows_), columns = std::max(columns, columns_);
  if (columns > columns_) {
    std::vector<float> wider(rows * columns, 0.0f);
    for (std::size_t r = 0; r < rows_; ++r)
      std::copy_n(v_.data() + r * columns_, columns_, wider.data() + r * columns);
    v_ = std::move(wider);
  } else {
    v_.resize(rows * columns, 0.0f);
  }
  rows_ = rows, columns_ = columns;
}

void Grid::widen(std::size_t parts, std::size_t columns) {
  const std::size_t narrow = columns_ / parts;
  std::vector<float> wider(rows_ * parts * columns, 0.0f);
  for (std::size_t r = 0; r < rows_; ++r)
    for (std::size_t k = 0; k < parts; ++k)
      std::copy_n(v_.data() + r * columns_ + k * narrow, narrow, wider.data() + (r * parts + k) * columns);
  v_ = std::move(wider);
  columns_ = parts * columns;
}

void Contrast::reach(Mode& mode) const {
  const std::size_t leaves = there_.size();
  if (mode.share.rows() >= leaves && mode.share.columns() >= columns_) return;
  mode.share.reach(leaves, columns_);
  mode.spent.reach(leaves, columns_);
  mode.visits.reach(leaves, columns_);
  for (Grid* g : {&mode.logs, &mode.log_sum, &mode.log_squares}) g->reach(leaves, columns_);
  mode.n.resize(std::max(mode.n.size(), leaves), 0.0f);
}

double Contrast::fit(const Mode& mode) const {
  std::vector<float> scratch;
  std::vector<std::uint32_t> of;
  for (const std::uint32_t l : sample_)
    if (l < mode.n.size() && mode.n[l] > 0) of.push_back(l);
  if (of.empty()) return 1;
  return median(of, scratch, [&](std::uint32_t l) {
    float apart = 0;
    for (std::size_t x = 0; x < columns_; ++x) apart += std::abs(row_[l][x] - mode.share[l][x]);
    return apart / 2;
  });
}

bool Contrast::fits(const Mode& mode, double fit) const {
  return fit <= kNear + kNearTimes * mode.fit;
}

void Contrast::measure(const Window& window, const model::SliceColumn& column,
                       const std::set<std::uint16_t>& idle) {
  ++clock_;
  const Window::Rows rows = window.rows(window.last());
  const std::size_t leaves = std::min(rows.weights.size(), window.leaves());  // nobody has named the others
  columns_ = std::max(columns_, window.columns());
  for (Grid* g : {&row_, &spent_, &visits_, &age_, &in_, &ended_}) g->reach(leaves, columns_);
  if (departure_.columns() != cells()) departure_ = Grid();
  departure_.reach(std::max(there_.size(), leaves), cells());
  there_.resize(std::max(there_.size(), leaves));
  std::fill(there_.begin(), there_.end(), 0);
  known_.assign(there_.size(), 0);
  counted_.assign(columns_, 1);
  for (std::size_t x = 0; x < columns_; ++x) counted_[x] = !idle.contains(window.state_of(x).value);

  const float one = 1 / static_cast<float>(slice_.value);
  const TimeNs end = slice_end(column.index, slice_);
  sample_.clear();
  std::size_t present = 0;
  for (std::size_t l = 0; l < leaves; ++l) present += rows.weights[l] >= kLeastWeight;
  const std::size_t stride = present / kMostSampled + 1;
  std::size_t seen = 0;
  for (std::size_t l = 0; l < leaves; ++l) {
    if (rows.weights[l] < kLeastWeight || l >= column.leaves()) continue;
    if (column.evidence(LeafIndex(static_cast<std::uint32_t>(l))).drawn_out) continue;  // nobody knows
    there_[l] = 1;
    if (seen++ % stride == 0) sample_.push_back(static_cast<std::uint32_t>(l));
    const auto scale = static_cast<float>(1 / rows.weights[l]);
    const auto durations = column.duration_ns(LeafIndex(static_cast<std::uint32_t>(l)));
    const auto ended = column.visits(LeafIndex(static_cast<std::uint32_t>(l)));
    const auto longest = column.longest_ns(LeafIndex(static_cast<std::uint32_t>(l)));
    const auto& open = column.open(LeafIndex(static_cast<std::uint32_t>(l)));
    for (std::size_t x = 0; x < columns_; ++x) {
      row_[l][x] = x < rows.columns ? static_cast<float>(rows.values[l * rows.columns + x]) * scale : 0.0f;
      const std::size_t state = window.state_of(x).value;
      spent_[l][x] = state < durations.size() ? static_cast<float>(durations[state]) * one : 0.0f;
      visits_[l][x] = state < ended.size() ? static_cast<float>(ended[state]) : 0.0f;
      const float age = state < longest.size() ? static_cast<float>(longest[state]) * one : 0.0f;
      age_[l][x] = age;
      in_[l][x] = std::min(age, spent_[l][x]);
      // A visit that ended, if it can be told from the one that is open.
      const bool is_open =
          open.state.value == state && static_cast<float>((end - open.since).value) * one >= age * 0.999f;
      float one_visit = -1;
      if (visits_[l][x] == 1 && !is_open)
        one_visit = age;
      else if (visits_[l][x] > 1)
        one_visit = std::min(age, spent_[l][x] / visits_[l][x]);
      ended_[l][x] = one_visit > 0 ? std::log(one_visit) : kNoLog;
    }
  }

  // Which mode is it?
  for (Mode& m : modes_) reach(m);
  unsettled_ = true;
  if (mode_) {
    fit_now_ = fit(modes_[*mode_]);
    unsettled_ = !fits(modes_[*mode_], fit_now_) && !without_.contains(Ingredient::kModes);
    if (unsettled_) {
      double best = 1;
      std::optional<std::size_t> other;
      for (std::size_t m = 0; m < modes_.size(); ++m) {
        const double f = m == *mode_ ? 1 : fit(modes_[m]);
        if (f < best && fits(modes_[m], f)) best = f, other = m;
      }
      if (other) {
        mode_ = other;
        fit_now_ = best;
        unsettled_ = false;
      }
    }
  }
  departure_.fill(0);
  common_.assign(cells(), 0);
  if (!mode_) return;
  const Mode& mode = modes_[*mode_];

  // What visits of a state usually take, of all leaves together, for those that have seen few.
  std::vector<double> spent(columns_), visits(columns_);
  for (const std::uint32_t l : sample_)
    for (std::size_t x = 0; x < columns_; ++x) spent[x] += mode.spent[l][x], visits[x] += mode.visits[l][x];
  std::vector<float> pooled(columns_, -1);
  for (std::size_t x = 0; x < columns_; ++x)
    if (visits[x] >= kLeastVisits) pooled[x] = static_cast<float>(spent[x] / visits[x]);
  // The same of logarithms, with the deviation.
  std::vector<double> logs(columns_), log_sum(columns_), log_squares(columns_);
  for (const std::uint32_t l : sample_)
    for (std::size_t x = 0; x < columns_; ++x) {
      logs[x] += mode.logs[l][x];
      log_sum[x] += mode.log_sum[l][x];
      log_squares[x] += mode.log_squares[l][x];
    }
  // Shorter visits are ordinary, whoever has them.
  std::vector<float> usual_least(columns_, 0.0f);
  for (std::size_t x = 0; x < columns_; ++x)
    if (logs[x] >= kLeastVisits)
      usual_least[x] = kShortOfMean * static_cast<float>(std::exp(log_sum[x] / logs[x]));
  for (std::size_t l = 0; l < there_.size(); ++l) {
    if (!there_[l] || mode.n[l] <= 0) continue;
    known_[l] = 1;
    float* const share = departure_[l] + kShare * columns_;
    float* const excess = departure_[l] + kExcess * columns_;
    float* const overtime = departure_[l] + kOvertime * columns_;
    // Where a leaf often has nothing to do, how much it does is a matter of what it is given.
    float idle_share = 0;
    for (std::size_t x = 0; x < columns_; ++x) idle_share += counted_[x] ? 0 : mode.share[l][x];
    const bool shares = idle_share < kIdleShare;
    for (std::size_t x = 0; x < columns_; ++x) {
      if (!counted_[x]) continue;
      if (shares) share[x] = row_[l][x] - mode.share[l][x];
      const float each = mode.visits[l][x] >= kLeastVisits ? mode.spent[l][x] / mode.visits[l][x] : pooled[x];
      if (each >= 0 && !without_.contains(Ingredient::kExcess))
        excess[x] = spent_[l][x] - visits_[l][x] * each;
      // What no visit can be beyond needs no logarithm.
      if (logs[x] < kLeastVisits || age_[l][x] <= usual_least[x] || without_.contains(Ingredient::kOvertime))
        continue;
      // The leaf's own logarithms, as far as they are believed, and those of all.
      const float k = kOwnVisits / (kOwnVisits + mode.logs[l][x]);
      const auto mean_all = static_cast<float>(log_sum[x] / logs[x]);
      const auto square_all = static_cast<float>(log_squares[x] / logs[x]);
      const float own = std::max(mode.logs[l][x], 1e-3f);
      const float mean = k * mean_all + (1 - k) * mode.log_sum[l][x] / own;
      const float square = k * square_all + (1 - k) * mode.log_squares[l][x] / own;
      const float deviation =
          std::sqrt(std::max(square - mean * mean, kLeastLogDeviation * kLeastLogDeviation));
      const float usual = std::exp(mean + kLogDeviations * deviation);
      overtime[x] = std::clamp(age_[l][x] - usual, 0.0f, in_[l][x]);
    }
  }
  std::erase_if(sample_, [&](std::uint32_t l) { return !known_[l]; });
  if (without_.contains(Ingredient::kCommon)) return;
  // Mostly nobody departs, or few: then the median is 0, as counting tells.
  const std::size_t n = sample_.size();
  std::vector<std::uint32_t> below(cells()), above(cells());
  for (const std::uint32_t l : sample_) {
    const float* const from = departure_[l];
    for (std::size_t c = 0; c < below.size(); ++c) {
      below[c] += from[c] < 0 ? 1 : 0;
      above[c] += from[c] > 0 ? 1 : 0;
    }
  }
  std::vector<float> scratch;
  for (std::size_t c = 0; c < cells(); ++c)
    if (below[c] >= n - n / 2 || above[c] >= n - n / 2)
      common_[c] = median(sample_, scratch, [&](std::uint32_t l) { return departure_[l][c]; });
  for (std::size_t l = 0; l < there_.size(); ++l)
    if (known_[l])
      for (std::size_t c = 0; c < cells(); ++c) departure_[l][c] -= common_[c];
}

void Contrast::add(Mode& mode) {
  reach(mode);
  mode.slices += 1;
  const float keep = 1 - 1 / kMemory;
  for (std::size_t l = 0; l < there_.size(); ++l) {
    if (!there_[l]) continue;
    mode.n[l] = std::min(mode.n[l] + 1, kMemory);
    const float rate = 1 / mode.n[l];
    for (std::size_t x = 0; x < columns_; ++x) {
      mode.share[l][x] += rate * (row_[l][x] - mode.share[l][x]);
      mode.spent[l][x] = keep * mode.spent[l][x] + spent_[l][x];
      mode.visits[l][x] = keep * mode.visits[l][x] + visits_[l][x];
      if (ended_[l][x] > kNoLog) {
        mode.logs[l][x] = keep * mode.logs[l][x] + 1;
        mode.log_sum[l][x] = keep * mode.log_sum[l][x] + ended_[l][x];
        mode.log_squares[l][x] = keep * mode.log_squares[l][x] + ended_[l][x] * ended_[l][x];
      }
    }
  }
}

void Contrast::learn() {
  if (!unsettled_) {
    Mode& mode = modes_[*mode_];
    mode.used = clock_;
    mode.fit += std::max(1 / 32.0, 1 / (mode.slices + 1)) * (fit_now_ - mode.fit);
    add(mode);
    candidate_ = {};
    return;
  }
  if (sample_.empty() && !mode_) {
    // Nobody is there.
    candidate_ = {};
    return;
  }
  if (candidate_.slices > 0) {
    reach(candidate_);
    const double apart = fit(candidate_);
    // The mean of few slices is itself apart from the mode's.
    const double usual = mode_ ? modes_[*mode_].fit : 0;
    if (candidate_.slices < kUnlike && apart > kNear + kNearTimes * usual && mode_) {
      candidate_ = {};
    } else {
      candidate_.fit = candidate_.slices > 1 ? std::max(candidate_.fit, apart) : apart;
    }
  }
  add(candidate_);
  const bool alike = candidate_.fit <= kNear || mode_.has_value();
  if (candidate_.slices < (alike ? kAlike : kUnlike)) return;
  if (modes_.size() >= kMostModes) {
    const auto oldest = std::min_element(modes_.begin(), modes_.end(),
                                         [](const Mode& a, const Mode& b) { return a.used < b.used; });
    *oldest = std::move(candidate_);
    mode_ = static_cast<std::size_t>(oldest - modes_.begin());
  } else {
    modes_.push_back(std::move(candidate_));
    mode_ = modes_.size() - 1;
  }
  modes_[*mode_].used = clock_;
  candidate_ = {};
}

}  // namespace margay::detect
