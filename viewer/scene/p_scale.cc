#include "margay/scene/p_scale.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace margay::scene {
namespace {

constexpr double kLeastOfRank = 0.5;

// From one range to another, without leaving it: what is before `a1` stays before `b1`, so that rounding
// leads to no other step.
double carried(double at, double a0, double a1, double b0, double b1) {
  if (!(at > a0) || !(a1 > a0)) return b0;
  if (at >= a1) return b1;
  const double to = std::lerp(b0, b1, (at - a0) / (a1 - a0));
  return to >= b1 && b1 > b0 ? std::nextafter(b1, b0) : to;
}

double within_unit(double value) {
  return value > 0 ? std::min(value, 1.0) : 0;  // also what is not a number
}

// Round values, those that are wanted most first.
const std::vector<double>& round_values() {
  static const std::vector<double> kValues = [] {
    std::vector<double> out{0, 1, 0.5};
    for (int digits = 1; digits <= 9; ++digits) out.push_back(std::pow(10, -digits));
    for (int digits = 1; digits <= 9; ++digits)
      for (const double k : {2, 5}) out.push_back(k * std::pow(10, -digits));
    for (const double p : {0.3, 0.4, 0.6, 0.7, 0.8, 0.9}) out.push_back(p);
    return out;
  }();
  return kValues;
}

}  // namespace

PScale::PScale(const Steps& steps, double least) : steps_(steps.steps.size()) {
  if (steps_ == 0) {
    p_ = x_ = {0, 1};
    return;
  }
  const auto n = static_cast<double>(steps_);
  const double rank = std::max(kLeastOfRank, within_unit(least * n));
  p_.reserve(steps_ + 1), x_.reserve(steps_ + 1);
  for (std::size_t k = 0; k < steps_; ++k) {
    // What is before the first step is its own.
    p_.push_back(k == 0 ? 0 : within_unit(steps.steps[k].p));
    x_.push_back(std::lerp(p_.back(), static_cast<double>(k) / n, rank));
  }
  p_.push_back(1), x_.push_back(1);
}

std::size_t PScale::room_of_p(double p) const {
  return static_cast<std::size_t>(std::upper_bound(p_.begin() + 1, p_.end() - 1, p) - p_.begin()) - 1;
}
std::size_t PScale::room_of_x(double x) const {
  return static_cast<std::size_t>(std::upper_bound(x_.begin() + 1, x_.end() - 1, x) - x_.begin()) - 1;
}

double PScale::x_of(double p) const {
  p = within_unit(p);
  const std::size_t k = room_of_p(p);
  return carried(p, p_[k], p_[k + 1], x_[k], x_[k + 1]);
}

double PScale::p_of(double x) const {
  x = within_unit(x);
  const std::size_t k = room_of_x(x);
  return carried(x, x_[k], x_[k + 1], p_[k], p_[k + 1]);
}

std::int64_t PScale::step_at(double x) const {
  return steps_ == 0 ? -1 : static_cast<std::int64_t>(room_of_x(within_unit(x)));
}

std::vector<PTick> p_ticks(const PScale& scale, const Steps& steps, const PTickOptions& options) {
  std::vector<PTick> ticks;
  if (!(options.width > 0) || !std::isfinite(options.width)) return ticks;
  std::vector<std::pair<double, double>> taken;
  const auto place = [&](double p) {
    PTick tick{p, scale.x_of(p) * options.width, p_text(p)};
    const double wide = static_cast<double>(tick.label.size()) * options.character_px;
    if (wide > options.width) return;
    const double from = std::clamp(tick.x - wide / 2, 0.0, options.width - wide), to = from + wide;
    for (const auto& [begin, end] : taken)
      if (from < end + options.gap_px && begin < to + options.gap_px) return;
    // Of two p that read the same one is enough.
    for (const PTick& other : ticks)
      if (other.label == tick.label) return;
    taken.emplace_back(from, to);
    ticks.push_back(std::move(tick));
  };
  for (const double p : round_values()) place(p);
  for (const Step& step : steps.steps) place(step.p);
  std::sort(ticks.begin(), ticks.end(), [](const PTick& a, const PTick& b) { return a.x < b.x; });
  return ticks;
}

}  // namespace margay::scene
