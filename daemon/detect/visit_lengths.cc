#include "visit_lengths.h"

#include <algorithm>
#include <cmath>

namespace margay::detect {
namespace {

constexpr float kOwnVisits = 4;     // a leaf's own are believed as much as those of all after so many
constexpr double kLeastErrors = 8;  // until something is said
constexpr double kMemory = 128;     // slices
// Before anything has been seen; as much as so many errors say.
constexpr double kPriorDeviation = 0.6, kPriorErrors = 4;
constexpr double kLeastDeviation = 0.25;  // none is believed to be less
// Nor more, of visits that are told together only: what their mean length says of the mean logarithm would
// make errors that make the deviation greater still.
constexpr float kMostVariance = 2.25f;
constexpr double kWinsor = 16;          // an error counts as no more than so many times the usual square
constexpr double kFollowsBetter = 0.9;  // of the error of the prediction that stays
constexpr double kDriftVisits = 8;      // of all leaves, after which half of a change has been followed
constexpr float kMostFar = 3;
constexpr float kLongByItself = 0.01f, kSlowAsUsual = 0.1f;
constexpr float kTooShort = -3;  // deviations: who has lasted no longer has told nothing yet
constexpr double kInherited = 8, kInheritedVisits = 8;  // errors and a leaf's visits, in a new mode

// A function in [kFrom, kTo], linear between so many steps: what is asked for each visit must be cheap.
template <int kFrom, int kTo, int kSteps>
struct Table {
  std::array<float, kSteps + 1> value;

  template <class F>
  explicit Table(const F& f) {
    for (std::size_t i = 0; i < value.size(); ++i)
      value[i] = static_cast<float>(f(kFrom + static_cast<double>(i) * (kTo - kFrom) / kSteps));
  }
  float operator()(float x) const {
    const float at = (x - kFrom) * (static_cast<float>(kSteps) / (kTo - kFrom));
    const int i = std::clamp(static_cast<int>(at), 0, kSteps - 1);
    const float* const from = value.data() + i;
    return from[0] + (at - static_cast<float>(i)) * (from[1] - from[0]);
  }
};

constexpr int kSurvivalFrom = -6, kSurvivalTo = 8, kRatioFrom = -12, kRatioTo = 16;
const Table<kSurvivalFrom, kSurvivalTo, 280> kLogSurvival([](double x) {
  return std::log(0.5 * std::erfc(x / std::sqrt(2.0)));
});
const Table<kRatioFrom, kRatioTo, 448> kBounded([](double x) {
  const double ratio = std::exp(x);
  return std::log(((1 - kSlowAsUsual) * ratio + kSlowAsUsual) / (1 - kLongByItself + kLongByItself * ratio));
});

// The logarithm of the survival function of a standard normal.
inline float log_survival(float z) {
  if (z <= kSurvivalFrom) return 0;
  if (z >= kSurvivalTo) return kLogSurvival.value.back() - (z - kSurvivalTo) * (z + kSurvivalTo) / 2;
  return kLogSurvival(z);
}

// What a single visit may say at most; to 1e-3.
inline float bounded(float log_ratio) {
  return kBounded(std::clamp<float>(log_ratio, kRatioFrom, kRatioTo));
}

}  // namespace

VisitLengths::Prediction VisitLengths::Column::best() const {
  return error[kFollows] < kFollowsBetter * error[kStays] ? kFollows : kStays;
}

double VisitLengths::Column::deviation() const {
  const double prior = kPriorErrors * kPriorDeviation * kPriorDeviation;
  return std::max(kLeastDeviation, std::sqrt((error[best()] + prior) / (errors + kPriorErrors)));
}

double VisitLengths::Column::of_all() const {
  return visits > 0 ? logs / visits : 0;
}

float VisitLengths::predicted(const Model& model, std::size_t l, std::size_t x, double of_all) const {
  return static_cast<float>((model.logs[l][x] + kOwnVisits * of_all) / (model.visits[l][x] + kOwnVisits));
}

VisitLengths::Model& VisitLengths::model_of(std::uint64_t mode) {
  const auto known =
      std::find_if(models_.begin(), models_.end(), [&](const Model& m) { return m.mode == mode; });
  if (known != models_.end()) {
    now_ = static_cast<std::size_t>(known - models_.begin());
  } else {
    Model fresh = models_.empty() ? Model() : models_[now_];
    fresh.mode = mode;
    for (std::size_t x = 0; x < fresh.columns.size(); ++x) {
      Column& c = fresh.columns[x];
      const double part = std::min(1.0, kInherited / std::max(c.errors, 1.0));
      for (double* v : {&c.visits, &c.logs, &c.error[kStays], &c.error[kFollows], &c.errors}) *v *= part;
      c.drift = 0;
      for (std::size_t l = 0; l < fresh.visits.rows(); ++l) {
        const auto own = static_cast<float>(kInheritedVisits);
        const float of = std::min(1.0f, own / std::max(fresh.visits[l][x], 1.0f));
        fresh.visits[l][x] *= of, fresh.logs[l][x] *= of;
      }
    }
    if (models_.size() < kMostModels) {
      now_ = models_.size();
      models_.push_back(std::move(fresh));
    } else {
      const auto oldest = std::min_element(models_.begin(), models_.end(),
                                           [](const Model& a, const Model& b) { return a.used < b.used; });
      now_ = static_cast<std::size_t>(oldest - models_.begin());
      *oldest = std::move(fresh);
    }
  }
  Model& m = models_[now_];
  m.used = ++clock_;
  m.visits.reach(leaves_, columns_);
  m.logs.reach(leaves_, columns_);
  if (m.columns.size() < columns_) m.columns.resize(columns_);
  return m;
}

void VisitLengths::measure(const Seen& seen, std::uint64_t mode) {
  leaves_ = seen.there.size();
  columns_ = seen.state_of.size();
  for (Grid* g : {&evidence_[0], &evidence_[1], &at_, &ended_, &far_, &lengths_}) {
    g->reach(leaves_, columns_);
    g->fill(0);
  }
  const Model& model = model_of(mode);
  std::vector<float> deviation(columns_), drift(columns_);
  std::vector<double> of_all(columns_);
  std::vector<std::array<float, kFactors.size()>> shifts(columns_);
  for (std::size_t x = 0; x < columns_; ++x) {
    const Column& c = model.columns[x];
    deviation[x] = static_cast<float>(c.deviation());
    of_all[x] = c.of_all();
    drift[x] = c.best() == kFollows ? c.drift : 0;
    for (std::size_t k = 0; k < kFactors.size(); ++k) shifts[x][k] = std::log(kFactors[k]) / deviation[x];
  }
  for (std::size_t l = 0; l < std::min(leaves_, seen.spent.rows()); ++l) {
    if (!seen.there[l]) continue;
    const OpenVisit &before = seen.before[l], &after = seen.after[l];
    for (std::size_t x = 0; x < columns_; ++x) {
      const float n = seen.ended[l][x];
      if (!seen.counted[x] || (n <= 0 && seen.spent[l][x] <= 0)) continue;
      const bool open = after.state == seen.state_of[x], was_open = before.state == seen.state_of[x];
      const bool goes_on = open && was_open && after.age >= before.age + 0.999f;
      const float s = deviation[x], usual = predicted(model, l, x, of_all[x]) + drift[x];
      const auto& shift = shifts[x];
      const bool known = model.columns[x].errors >= kLeastErrors;
      // `visits` alike, of this length in the mean: the logarithm of a mean is more than the mean logarithm.
      float lengths = 0;
      const auto ended = [&](float visits, float length) {
        const float y =
            std::log(std::max(length, 1e-6f)) - std::min(s * s, kMostVariance) / 2 * (1 - 1 / visits);
        const float z = (y - usual) / s;
        lengths += visits * y;
        if (!known) return;
        far_[l][x] += visits * std::clamp(z, -kMostFar, kMostFar);
        for (std::size_t k = 0; k < kFactors.size(); ++k)
          evidence_[k][l][x] += visits * bounded(shift[k] * z - shift[k] * shift[k] / 2);
      };
      const auto lasts = [&](float age, float sign) {
        if (age <= 0 || !known) return;
        const float z = (std::log(age) - usual) / s;
        if (z < kTooShort) return;
        const float survives = log_survival(z);
        for (std::size_t k = 0; k < kFactors.size(); ++k)
          evidence_[k][l][x] += sign * bounded(log_survival(z - shift[k]) - survives);
      };
      if (was_open && (goes_on || n >= 1)) lasts(before.age, -1);
      if (open) lasts(after.age, 1);
      if (n >= 1 && !goes_on) {
        float total = std::max(0.0f, seen.spent[l][x] - (open ? std::min(1.0f, after.age) : 0.0f));
        if (was_open) total += before.age;
        const float longest = seen.longest[l][x];
        if (n >= 2 && longest > after.age * (open ? 1.001f : 0.0f) && longest < total) {
          ended(1, longest);
          ended(n - 1, (total - longest) / (n - 1));
        } else {
          ended(n, total / n);
        }
        ended_[l][x] = n;
        lengths_[l][x] = lengths / n;
      }
      if (known) at_[l][x] = n + (open ? 1.0f : 0.0f);
    }
  }
}

void VisitLengths::learn() {
  if (models_.empty()) return;
  Model& model = models_[now_];
  const auto keep = static_cast<float>(1 - 1 / kMemory);
  for (std::size_t x = 0; x < columns_; ++x) {
    Column& c = model.columns[x];
    const double s = c.deviation(), most = kWinsor * s * s, of_all = c.of_all();
    std::array<double, kPredictions> errors{};
    double count = 0, visits = 0, logs = 0, apart = 0;
    for (std::size_t l = 0; l < leaves_; ++l) {
      const float n = ended_[l][x];
      if (n <= 0) continue;
      const double off = lengths_[l][x] - predicted(model, l, x, of_all), follows = off - c.drift;
      if (c.visits > 0) {
        errors[kStays] += std::min(most, n * off * off);
        errors[kFollows] += std::min(most, n * follows * follows);
        count += 1;
        apart += n * std::clamp(follows, -s, s);
      }
      visits += n;
      logs += n * lengths_[l][x];
    }
    for (std::size_t l = 0; l < leaves_; ++l) {
      model.visits[l][x] = keep * model.visits[l][x] + ended_[l][x];
      model.logs[l][x] = keep * model.logs[l][x] + ended_[l][x] * lengths_[l][x];
    }
    for (std::size_t p = 0; p < kPredictions; ++p) c.error[p] = keep * c.error[p] + errors[p];
    c.errors = keep * c.errors + count;
    c.visits = keep * c.visits + visits;
    c.logs = keep * c.logs + logs;
    if (visits > 0) c.drift += static_cast<float>(apart / (visits + kDriftVisits));
  }
}

}  // namespace margay::detect
