#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace margay::bench {
namespace {

double middle(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

double mean(const std::vector<double>& v) {
  return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

double variance(const std::vector<double>& v) {
  const double m = mean(v);
  double sum = 0;
  for (const double x : v) sum += (x - m) * (x - m);
  return v.size() < 2 ? 0 : sum / static_cast<double>(v.size() - 1);
}

}  // namespace

double hill(std::vector<double> values, std::size_t least_tail) {
  std::erase_if(values, [](double v) { return !(v > 0); });
  const std::size_t k = std::max(least_tail, values.size() / 10);
  if (values.size() < 2 * k) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(k), values.end(),
                   std::greater<>());
  double logs = 0;
  for (std::size_t i = 0; i < k; ++i) logs += std::log(values[i] / values[k]);
  return logs > 0 ? static_cast<double>(k) / logs : 0;
}

double lag1(const std::vector<double>& series) {
  const double m = mean(series);
  double both = 0, one = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    one += (series[i] - m) * (series[i] - m);
    if (i > 0) both += (series[i] - m) * (series[i - 1] - m);
  }
  return one > 1e-12 ? both / one : 0;
}

double fano(const std::vector<double>& counts) {
  const double m = mean(counts);
  return m > 0 ? variance(counts) / m : 0;
}

void CellSeries::add(const model::SliceColumn& column) {
  std::vector<Cell> cells;
  std::size_t there = 0;
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const LeafIndex leaf(l);
    std::int64_t all = 0, known = 0;
    for (std::size_t x = 0; x < column.states(); ++x) {
      all += column.duration_ns(leaf)[x];
      if (x >= kCompute.value) known += column.duration_ns(leaf)[x];
    }
    there += 2 * known >= all && all > 0;
    const double one = all > 0 ? 1.0 / static_cast<double>(all) : 0;
    for (std::size_t x = 0; x < column.states(); ++x)
      cells.push_back({static_cast<float>(static_cast<double>(column.duration_ns(leaf)[x]) * one),
                       static_cast<float>(static_cast<double>(column.longest_ns(leaf)[x]) * one),
                       static_cast<float>(column.visits(leaf)[x])});
  }
  if (column.leaves() == 0 || 2 * there < column.leaves()) return;
  states_ = std::max<std::size_t>(states_, column.states());
  leaves_ = std::max<std::size_t>(leaves_, column.leaves());
  slices_.push_back(std::move(cells));
  width_.push_back(column.states());
}

CellStatistics CellSeries::statistics() const {
  CellStatistics out;
  out.leaves = leaves_, out.slices = slices_.size();
  if (slices_.empty()) return out;
  const auto cell = [&](std::size_t t, std::size_t l, std::size_t x) {
    const std::size_t at = l * width_[t] + x;
    return x < width_[t] && at < slices_[t].size() ? slices_[t][at] : Cell{0, 0, 0};
  };
  std::vector<double> total(states_);
  for (std::size_t t = 0; t < slices_.size(); ++t)
    for (std::size_t l = 0; l < leaves_; ++l)
      for (std::size_t x = kCompute.value; x < states_; ++x)
        total[x] += static_cast<double>(cell(t, l, x).share);
  out.busiest = static_cast<std::size_t>(std::max_element(total.begin(), total.end()) - total.begin());
  for (const double x : total) out.states += x > 0;
  out.share = total[out.busiest] / static_cast<double>(leaves_ * slices_.size());

  std::vector<double> deviations, own_deviations, lags, own_lags, fanos, visits, longest, common;
  for (std::size_t t = 0; t < slices_.size(); ++t) {
    std::vector<double> of;
    for (std::size_t l = 0; l < leaves_; ++l)
      of.push_back(static_cast<double>(cell(t, l, out.busiest).share));
    common.push_back(middle(of));
  }
  for (std::size_t l = 0; l < leaves_; ++l) {
    std::vector<double> share, own, count;
    for (std::size_t t = 0; t < slices_.size(); ++t) {
      const Cell c = cell(t, l, out.busiest);
      share.push_back(static_cast<double>(c.share));
      own.push_back(static_cast<double>(c.share) - common[t]);
      count.push_back(static_cast<double>(c.visits));
      longest.push_back(static_cast<double>(c.longest));
    }
    deviations.push_back(std::sqrt(variance(share)));
    own_deviations.push_back(std::sqrt(variance(own)));
    lags.push_back(bench::lag1(share));
    own_lags.push_back(bench::lag1(own));
    fanos.push_back(bench::fano(count));
    visits.push_back(mean(count));
  }
  out.deviation = middle(deviations), out.own_deviation = middle(own_deviations);
  out.lag1 = middle(lags), out.own_lag1 = middle(own_lags);
  out.fano = middle(fanos), out.visits = mean(visits);
  out.hill_work = hill(longest);
  std::vector<double> others;
  for (std::size_t x = kCompute.value; x < states_; ++x) {
    if (x == out.busiest) continue;
    std::vector<double> of;
    for (std::size_t t = 0; t < slices_.size(); ++t)
      for (std::size_t l = 0; l < leaves_; ++l) of.push_back(static_cast<double>(cell(t, l, x).longest));
    if (const double h = hill(std::move(of)); h > 0) others.push_back(h);
  }
  out.hill_others = middle(others);
  return out;
}

}  // namespace margay::bench
