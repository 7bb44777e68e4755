#include "job_activity.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "margay/detect/distribution.h"
#include "margay/statistics/student.h"
#include "moderated.h"

namespace margay::detect {
namespace {

constexpr double kJobMemory = 256;   // slices
constexpr double kDeviation = 0.05;  // of a share of work, before anything is known
constexpr double kLeastWork = 1e-3;  // share of the time

}  // namespace

JobSlices JobSlices::of(const model::SliceColumn& slice, const VisitsSeen& seen, const Columns& columns) {
  JobSlices out;
  const std::size_t width = std::min(columns.work.size(), seen.spent.columns());
  for (auto* const of : {&out.visits, &out.lengths, &out.spent}) of->assign(width, 0);
  for (std::size_t l = 0; l < std::min(seen.there.size(), seen.spent.rows()); ++l) {
    if (!seen.there[l]) continue;
    out.leaves += 1, out.most_leaves += 1;
    const model::NodeEvidence& process = slice.evidence(LeafIndex(static_cast<std::uint32_t>(l)));
    if (process.sampled_ns > 0)
      out.denied += std::clamp(
          static_cast<double>(process.run_delay_ns) / static_cast<double>(process.sampled_ns), 0.0, 1.0);
    for (std::size_t x = Contrast::kMachine; x < width; ++x) {
      const auto spent = static_cast<double>(seen.spent[l][x]), n = static_cast<double>(seen.ended[l][x]);
      out.spent[x] += spent;
      if (columns.work[x]) out.work += spent;
      if (n < 1 || columns.polls[x]) continue;
      out.visits[x] += n;
      const auto age = [&](const OpenVisit& v) {
        return v.state == seen.state_of[x] && v.age > kOpenFrom ? static_cast<double>(v.age) : 0.0;
      };
      out.lengths[x] += std::max(0.0, spent - age(seen.after[l])) + age(seen.before[l]);
    }
  }
  return out;
}

double JobSlices::visits_to_work(const Columns& columns) const {
  double all = 0, to_work = 0;
  for (std::size_t x = 0; x < visits.size(); ++x) {
    all += visits[x];
    if (columns.work[x]) to_work += visits[x];
  }
  return all > 0 ? to_work / all : 0;
}

bool JobSlices::tell(const Columns& columns) const {
  const double all = std::accumulate(visits.begin(), visits.end(), 0.0);
  return all >= kLeastVisits && all * visits_to_work(columns) >= most_leaves;
}

void JobSlices::add(const JobSlices& o) {
  visits.resize(std::max(visits.size(), o.visits.size()));
  lengths.resize(visits.size()), spent.resize(visits.size());
  for (std::size_t x = 0; x < o.visits.size(); ++x)
    visits[x] += o.visits[x], lengths[x] += o.lengths[x], spent[x] += o.spent[x];
  work += o.work, leaves += o.leaves, denied += o.denied;
  most_leaves = std::max(most_leaves, o.most_leaves);
}

void JobSlices::fade(double keep) {
  for (auto* const of : {&visits, &lengths, &spent})
    for (double& v : *of) v *= keep;
  work *= keep, leaves *= keep, denied *= keep;
}

double JobActivity::apart(const JobSlices& s, const Columns& columns) const {
  double apart = 0, all = 0;
  for (std::size_t x = Contrast::kMachine; x < std::min(s.visits.size(), slices_.visits.size()); ++x) {
    if (!columns.work[x] || s.lengths[x] <= 0 || slices_.lengths[x] <= 0) continue;
    const double usual = slices_.lengths[x] / slices_.visits[x];
    apart += s.lengths[x] * std::min(1.0, std::abs(std::log(s.lengths[x] / s.visits[x] / usual)));
    all += s.lengths[x];
  }
  return all > 0 ? apart / all : 1;
}

bool JobActivity::is(const JobSlices& s, const Columns& columns) const {
  return same_visits(slices_.visits, s.visits) &&
         apart(s, columns) <= Contrast::kNear + Contrast::kNearTimes * usually_apart_;
}

double JobActivity::fewer_work(const JobSlices& s, const Columns& columns) const {
  const double usual = slices_.visits_to_work(columns);
  return usual > 0 ? 1 - s.visits_to_work(columns) / usual : 1;
}

double JobActivity::elsewhere(const JobSlices& s, const Columns& columns) const {
  double out = 0;
  for (std::size_t x = Contrast::kMachine; x < s.spent.size(); ++x)
    if (!columns.polls[x] && (x >= slices_.visits.size() || slices_.visits[x] <= 0)) out += s.spent[x];
  return s.leaves > 0 ? out / s.leaves : 0;
}

JobActivity::Less JobActivity::less_work(std::size_t span, const JobSlices& slices) const {
  const Usual& u = usual_[span];
  const auto own_samples = static_cast<double>(kOwnSamples), of_span = static_cast<double>(kSpans[span]);
  // Spans share slices.
  const double own = u.n / of_span;
  if (learned_ < 2 * own_samples || own <= 1) return {};
  const double prior = kDeviation * kDeviation / of_span;
  const double variance = (own * u.square / u.n + own_samples * prior) / (own + own_samples);
  const double less = u.mean - std::log(std::max(kLeastWork, slices.work_share()));
  if (less <= 0) return {};
  const double t = less / std::sqrt(variance * (1 + 1 / own));
  return {-std::log(std::max(1e-300, statistics::student_survival(t, own + own_samples - 1))),
          -std::expm1(-less), std::exp(u.mean)};
}

void JobActivity::learn(std::size_t span, const JobSlices& slices) {
  Usual& u = usual_[span];
  u.n = std::min(u.n + 1, kJobMemory);
  double away = std::log(std::max(kLeastWork, slices.work_share())) - u.mean;
  if (u.n > static_cast<double>(kOwnSamples)) {
    const double most =
        std::sqrt(static_cast<double>(kMostSquare) * std::max(kDeviation * kDeviation / 4, u.square / u.n));
    away = std::clamp(away, -most, most);
  }
  u.mean += away / u.n;
  u.square = (u.n < kJobMemory ? u.square : u.square * (1 - 1 / kJobMemory)) + away * away * (u.n - 1) / u.n;
}

void JobActivity::learn(const JobSlices& newest, const VisitsSeen& seen, const Columns& columns) {
  const double n = std::min(++learned_, kJobMemory);
  usually_apart_ += (std::min(3 * Contrast::kNear, apart(newest, columns)) - usually_apart_) / (n + 1);
  slices_.fade(1 - 1 / kJobMemory);
  slices_.add(newest);
  share_.reach(seen.spent.rows(), seen.spent.columns());
  const auto rate = static_cast<float>(1 / n);
  for (std::size_t l = 0; l < seen.spent.rows(); ++l)
    for (std::size_t x = 0; x < seen.spent.columns(); ++x)
      share_[l][x] += rate * (seen.spent[l][x] - share_[l][x]);
}

}  // namespace margay::detect
