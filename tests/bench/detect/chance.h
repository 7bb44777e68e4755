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

// Ranks on machines on clusters; the states are `states`, from kFirst on.
std::shared_ptr<detect::Topology> topology_of(const Shape& shape, const std::vector<std::string>& states);

}  // namespace margay::bench
