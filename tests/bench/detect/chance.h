// What made-up jobs are made of: chance that is the same in every run, the shape of a machine. No files, no
// clock.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "margay/detect/topology.h"

namespace margay::bench {

// The first state of a made-up job: after Absent, Unknown, Compute, which imported traces do not use.
inline constexpr std::uint16_t kFirst = 3;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed * 7919 + 17) {}
  double uniform(double a = 0, double b = 1) { return std::uniform_real_distribution<double>(a, b)(engine_); }
  double normal() { return normal_(engine_); }
  // Mean 1, coefficient of variation about `cv`.
  double jitter(double cv) { return std::exp(cv * normal() - cv * cv / 2); }
  double exponential(double mean) { return -mean * std::log(1 - uniform()); }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  bool chance(double p) { return uniform() < p; }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

// Noise that lasts: mean 1, log-normal, correlation exp(-dt / memory).
class Slow {
 public:
  Slow(double deviation, double memory_s) : deviation_(deviation), memory_(memory_s) {}
  double at(double t, Random& random) {
    const double keep = std::exp(-std::max(0.0, t - last_) / memory_);
    x_ = keep * x_ + std::sqrt(1 - keep * keep) * random.normal();
    last_ = t;
    return std::exp(deviation_ * x_);
  }

 private:
  double deviation_, memory_, x_ = 0, last_ = -1e9;
};

struct Shape {
  std::uint32_t ranks = 64, machines = 8, clusters = 1;
  std::uint32_t machine(std::uint32_t r) const { return r * machines / ranks; }
  std::uint32_t cluster(std::uint32_t r) const { return machine(r) * clusters / machines; }
};

// What a step takes longer where ranks share cores with others, as a share of the slice: seldom, and then
// with a heavy tail (index 1.5).
inline double preempted(Random& random) {
  return random.chance(0.05) ? std::min(0.5, 0.01 * std::pow(random.uniform(1e-6, 1), -1 / 1.5)) : 0;
}

// A machine's clock goes wrong by so much a second, until it is put right, by a step.
class Clock {
 public:
  explicit Clock(Random& random) : drift_(50e-6 * random.normal()) {}
  // What it says more than the true one, s, put right every `every` seconds or so to `precision` (s).
  double offset(double t, double every, double precision, Random& random) {
    if (t >= next_)
      offset_ = -drift_ * t + precision * random.normal(), next_ = t + random.exponential(every);
    return offset_ + drift_ * t;
  }

 private:
  double drift_, offset_ = 0, next_ = 0;
};

// Ranks on machines on clusters; the states are `states`, from kFirst on.
std::shared_ptr<detect::Topology> topology_of(const Shape& shape, const std::vector<std::string>& states);

}  // namespace margay::bench
