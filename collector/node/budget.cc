#include "margay/node/budget.h"

#include <algorithm>
#include <limits>

namespace margay::node {
namespace {

constexpr DurationNs kLongestPart = milliseconds(100);
constexpr DurationNs kBetween = milliseconds(200);
constexpr DurationNs kAtLeast = seconds(2);
constexpr double kClearlyLess = 0.5;  // of the budget

}  // namespace

double fair_limit(std::vector<double> rates, double allowed) {
  std::sort(rates.begin(), rates.end());
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double each = allowed / static_cast<double>(rates.size() - i);
    if (rates[i] > each) return each;
    allowed -= rates[i];
  }
  return std::numeric_limits<double>::infinity();
}

bool Budget::tell(const wire::Slices& slices) {
  share_ = slices.budget();
  DurationNs part(slices.slice_ns());
  const std::int64_t parts = (part.value + kLongestPart.value - 1) / kLongestPart.value;
  if (part.value % parts == 0) part = DurationNs(part.value / parts);
  if (share_ <= 0) part = {};
  const TimeNs origin(slices.origin_ns());
  if (part == slice_ && origin == origin_) return false;
  slice_ = part;
  origin_ = origin;
  return true;
}

void Budget::decide(TimeNs now, std::span<Process* const> processes) {
  if (slice_.value == 0) {
    for (Process* p : processes) p->summing = false;
    return;
  }
  // A ring that is about to overflow cannot wait.
  for (Process* p : processes) {
    if (p->floods && !p->summing) {
      p->summing = true;
      p->since = now;
    }
    p->floods = false;
  }
  const auto cores = std::min<std::size_t>(cores_, processes.size());
  const double allowed = share_ * static_cast<double>(cores) * 1e9 / kRecordNs;
  const double s = static_cast<double>((now - looked_).value) / 1e9;
  if (now - looked_ < kBetween) {
    // Nor can a job that has used up already what is allowed for that long.
    std::uint64_t recorded = 0;
    for (const Process* p : processes)
      if (p->known && !p->summing && p->events > p->before) recorded += p->events - p->before;
    if (static_cast<double>(recorded) <= allowed * static_cast<double>(kBetween.value) / 1e9) return;
  }
  looked_ = now;
  std::vector<double> rates;
  for (Process* p : processes) {
    rates.push_back(p->known && p->events > p->before ? static_cast<double>(p->events - p->before) / s : 0.0);
    p->before = p->events;
    p->known = true;
  }
  const double limit = fair_limit(rates, allowed);
  const double clearly_less = fair_limit(rates, kClearlyLess * allowed);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    Process& p = *processes[i];
    if (rates[i] > limit) {
      p.summing = true;
      p.since = now;
    } else if (p.summing) {
      if (rates[i] > clearly_less) p.since = now;
      if (now - p.since >= kAtLeast) p.summing = false;
    }
  }
}

}  // namespace margay::node
