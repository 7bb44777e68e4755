// What a new slice costs the partition engines, beside reading their triangles once in the same run:
//
//   build/release/tests/bench/partition_bench [--benchmark_filter=REGEX]
//   build/release/tests/bench/partition_bench --benchmark_format=json | tests/bench/plot.py OUT.svg
//
// ms: one slice, all included (cells, measures, tables). read_ms: the same triangles read once from front to
// end, between the measured rounds. x_read: their ratio, which is what a shared machine cannot falsify; below
// 1 where most of them need not be read. Medians of rounds.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "margay/partition/spatiotemporal.h"
#include "margay/partition/temporal.h"
#include "support/parallel.h"

namespace margay::partition {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

// Leaves in hosts of 16, hosts in racks of 16, and so on up to a root.
TreeShape cluster(std::size_t leaves) {
  std::vector<NodeIndex> parents(leaves, kNoParent);
  std::size_t from = 0, to = leaves;
  while (to - from > 1) {
    const std::size_t groups = (to - from + 15) / 16;
    for (std::size_t k = from; k < to; ++k)
      parents[k] = NodeIndex(static_cast<std::uint32_t>(to + (k - from) / 16));
    for (std::size_t g = 0; g < groups; ++g) parents.push_back(kNoParent);
    from = to;
    to += groups;
  }
  return *TreeShape::from_parents(parents);
}

// Phases of 20 slices in which states keep their shares, with noise; a tenth of the leaves behave
// differently. Noise below 0: restless, 35 leaves at a time have shares of their own, which change in a third
// of the slices, and each cell has noise.
class Cells {
 public:
  Cells(std::size_t leaves, std::size_t states, double noise, std::uint64_t seed = 1)
      : leaves_(leaves), states_(states), noise_(noise), rng_(seed), v_(leaves * states), w_(leaves, 1.0) {}
  Column next() {
    std::uniform_real_distribution<double> uniform;
    if (noise_ < 0) return next_restless();
    for (std::size_t s = 0; s < leaves_; ++s) {
      double sum = 0;
      for (std::size_t x = 0; x < states_; ++x) {
        const std::uint64_t shape = slice_ / 20 * 31 + x * 7 + (s % 10 == 0 ? 1 : 0);
        const double share = static_cast<double>(shape % 13 + 1);
        sum += v_[s * states_ + x] = share * (1 + noise_ * (uniform(rng_) - 0.5));
      }
      for (std::size_t x = 0; x < states_; ++x) v_[s * states_ + x] /= sum * (1 + 1e-12);
    }
    ++slice_;
    return {v_, w_};
  }

 private:
  static constexpr std::size_t kGroup = 35;

  Column next_restless() {
    std::uniform_real_distribution<double> uniform;
    const std::size_t groups = (leaves_ + kGroup - 1) / kGroup;
    shares_.resize(groups * states_);
    for (std::size_t n = 0; n < groups; ++n)
      if (slice_ == 0 || (slice_ * 7 + n) % 3 == 0)
        for (std::size_t x = 0; x < states_; ++x) shares_[n * states_ + x] = 0.2 + uniform(rng_);
    for (std::size_t s = 0; s < leaves_; ++s) {
      double sum = 0;
      for (std::size_t x = 0; x < states_; ++x)
        sum += v_[s * states_ + x] = shares_[s / kGroup * states_ + x] * (0.8 + 0.4 * uniform(rng_));
      for (std::size_t x = 0; x < states_; ++x) v_[s * states_ + x] *= 0.95 / sum;
    }
    ++slice_;
    return {v_, w_};
  }

  std::size_t leaves_, states_;
  double noise_;
  std::mt19937_64 rng_;
  std::vector<double> v_, w_, shares_;
  std::size_t slice_ = 0;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

template <class F>
double timed(F f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return Milliseconds(std::chrono::steady_clock::now() - begin).count();
}

// A buffer read from front to end, by one thread or several.
class Reading {
 public:
  explicit Reading(std::size_t bytes) : words_(bytes / 8, 1) {}
  double once(std::size_t threads) {
    return timed([&] {
      std::vector<std::jthread> readers;
      const std::size_t each = words_.size() / threads;
      for (std::size_t n = 1; n < threads; ++n)
        readers.emplace_back([&, n] { read(n * each, (n + 1) * each); });
      read(0, each);
    });
  }

 private:
  typedef std::uint64_t Lanes __attribute__((vector_size(64)));
  // With the widest loads there are: compared with less, anything is quick.
#if defined(__x86_64__)
  __attribute__((target("avx512f"))) void read512(std::size_t from, std::size_t to) const {
    read_lanes(from, to);
  }
  __attribute__((target("avx2"))) void read256(std::size_t from, std::size_t to) const {
    read_lanes(from, to);
  }
  void read(std::size_t from, std::size_t to) const {
    if (__builtin_cpu_supports("avx512f")) return read512(from, to);
    if (__builtin_cpu_supports("avx2")) return read256(from, to);
    read_lanes(from, to);
  }
#else
  void read(std::size_t from, std::size_t to) const {
    read_lanes(from, to);
  }
#endif
  [[gnu::always_inline]] void read_lanes(std::size_t from, std::size_t to) const {
    Lanes sum[4] = {};
    for (std::size_t i = from; i + 32 <= to; i += 32)
      for (std::size_t n = 0; n < 4; ++n) {
        Lanes v;
        __builtin_memcpy(&v, words_.data() + i + n * 8, sizeof v);
        sum[n] += v;
      }
    benchmark::DoNotOptimize(sum);
  }
  std::vector<std::uint64_t> words_;
};

// Arguments: leaves, slices, states, 32 or 64 bits, slices a pass, threads, values of p, noise in percent
// (-1: restless).
void push(benchmark::State& state) {
  const auto arg = [&](std::size_t i) { return static_cast<std::size_t>(state.range(static_cast<int>(i))); };
  Spatiotemporal::Options o;
  o.tree = cluster(arg(0));
  o.window = arg(1);
  o.states = arg(2);
  o.tables = arg(3) == 32 ? Spatiotemporal::Tables::kCompact : Spatiotemporal::Tables::kExact;
  o.threads = arg(5);
  o.parallel = support::parallel;
  for (std::size_t q = 0; q < arg(6); ++q) o.p.push_back(0.02 * static_cast<double>(q + 1));
  o.memory_budget_bytes = std::uint64_t{16} << 30;
  const std::size_t nodes = o.tree.size();
  const std::uint64_t memory = Spatiotemporal::memory_needed(o);
  // Entries (i,j) of a triangle, without the padding of tiles.
  const std::size_t triangles = nodes * o.p.size() * (o.window * (o.window + 1) / 2) * (arg(3) / 8);
  auto engine = Spatiotemporal::create(std::move(o));
  if (!engine) return state.SkipWithError(engine.error().message.c_str());
  Cells cells(arg(0), arg(2), static_cast<double>(state.range(7)) / 100);
  for (std::size_t t = 0; t < arg(1) + 3; ++t)
    if (auto ok = engine->push(cells.next()); !ok) return state.SkipWithError(ok.error().message.c_str());
  engine->settle();
  Reading reading(triangles);
  std::vector<double> ms, read_ms;
  const std::uint64_t before = engine->entries_written();
  for (auto _ : state) {
    double spent = 0;
    for (std::size_t n = 0; n < arg(4); ++n) {
      const Column column = cells.next();
      spent += timed([&] { static_cast<void>(engine->push(column)); });
    }
    spent += timed([&] { engine->settle(); });
    ms.push_back(spent / static_cast<double>(arg(4)));
    read_ms.push_back(reading.once(arg(5)));
    state.SetIterationTime(spent / 1e3);
  }
  const double slices = static_cast<double>(ms.size() * arg(4));
  state.counters["ms"] = median(ms);
  state.counters["read_ms"] = median(read_ms);
  state.counters["x_read"] = median(ms) / median(read_ms);
  state.counters["written_per_NT"] = static_cast<double>(engine->entries_written() - before) / slices /
                                     static_cast<double>(nodes * arg(1) * arg(6));
  state.counters["MiB"] = static_cast<double>(memory) / (1 << 20);
  std::size_t parts = 0;
  state.counters["walk_ms"] = timed([&] { parts = engine->partition(0)->parts.size(); });
  state.counters["parts"] = static_cast<double>(parts);
}

// A whole model at once: an engine made, all slices pushed and solved. Arguments: leaves, slices, states,
// bits.
void whole(benchmark::State& state) {
  Spatiotemporal::Options o;
  o.tree = cluster(static_cast<std::size_t>(state.range(0)));
  o.window = static_cast<std::size_t>(state.range(1));
  o.states = static_cast<std::size_t>(state.range(2));
  o.tables = state.range(3) == 32 ? Spatiotemporal::Tables::kCompact : Spatiotemporal::Tables::kExact;
  o.p = {0.02};
  o.memory_budget_bytes = std::uint64_t{16} << 30;
  std::vector<std::vector<double>> v;
  const std::vector<double> w(o.tree.leaf_count(), 1.0);
  Cells cells(o.tree.leaf_count(), o.states, 0.1);
  for (std::size_t t = 0; t < o.window; ++t) {
    const Column c = cells.next();
    v.emplace_back(c.v.begin(), c.v.end());
  }
  std::vector<Column> columns;
  for (const auto& one : v) columns.push_back({one, w});
  std::vector<double> ms;
  for (auto _ : state) {
    const double spent = timed([&] {
      auto engine = rebuild(o, columns);
      benchmark::DoNotOptimize(engine->partition(0)->parts.size());
    });
    ms.push_back(spent);
    state.SetIterationTime(spent / 1e3);
  }
  state.counters["ms"] = median(ms);
}

void temporal(benchmark::State& state) {
  Temporal::Options o;
  o.leaves = static_cast<std::size_t>(state.range(0));
  o.window = static_cast<std::size_t>(state.range(1));
  o.states = static_cast<std::size_t>(state.range(2));
  o.p = {0.02};
  o.memory_budget_bytes = std::uint64_t{16} << 30;
  auto engine = Temporal::create(o);
  if (!engine) return state.SkipWithError(engine.error().message.c_str());
  Cells cells(o.leaves, o.states, 0.1);
  // The window's old columns are not needed for what a new one costs: only its cells.
  for (std::size_t t = 0; t < o.window + 3; ++t) static_cast<void>(engine->push(cells.next()));
  engine->settle();
  std::vector<double> ms;
  for (auto _ : state) {
    const Column column = cells.next();
    const double spent =
        timed([&] { static_cast<void>(engine->push(column)); }) + timed([&] { engine->settle(); });
    ms.push_back(spent);
    state.SetIterationTime(spent / 1e3);
  }
  state.counters["ms"] = median(ms);
}

// What is promised: sizes one by one, one slice a pass and four.
void sizes(benchmark::internal::Benchmark* b) {
  for (const int pass : {1, 4})
    for (const auto& [s, t, x] : {std::tuple{700, 100, 8}, {1000, 256, 8}, {1000, 512, 4}, {100'000, 64, 4}})
      b->Args({s, t, x, 32, pass, 1, 1, 10});
}
void restless_sizes(benchmark::internal::Benchmark* b) {
  for (const auto& [s, t, x] : {std::tuple{700, 100, 8}, {1000, 256, 8}, {1000, 512, 4}, {100'000, 64, 4}})
    b->Args({s, t, x, 32, 1, 1, 1, -1});
}
void exact_sizes(benchmark::internal::Benchmark* b) {
  b->Args({700, 100, 8, 64, 1, 1, 1, 10})->Args({1000, 256, 8, 64, 1, 1, 1, 10});
}
void whole_models(benchmark::internal::Benchmark* b) {
  for (const int bits : {32, 64})
    for (const auto& [s, t] : {std::pair{700, 30}, {700, 100}, {1000, 200}}) b->Args({s, t, 8, bits});
}
void two_threads(benchmark::internal::Benchmark* b) {
  for (const int threads : {1, 2}) b->Args({100'000, 64, 4, 32, 1, threads, 1, 10});
}
// For plot.py: one size varies, the others stay.
void sweep_leaves(benchmark::internal::Benchmark* b) {
  for (const int s : {100, 300, 1000, 3000, 10'000, 30'000}) b->Args({s, 64, 4, 32, 1, 1, 1, 10});
}
void sweep_slices(benchmark::internal::Benchmark* b) {
  for (const int t : {16, 32, 64, 128, 256, 512}) b->Args({500, t, 4, 32, 1, 1, 1, 10});
}
void sweep_states(benchmark::internal::Benchmark* b) {
  for (const int x : {2, 4, 8, 16, 32, 64}) b->Args({1000, 64, x, 32, 1, 1, 1, 10});
}
void sweep_p(benchmark::internal::Benchmark* b) {
  for (const int p : {1, 2, 4, 8}) b->Args({1000, 64, 4, 32, 1, 1, p, 10});
}
void sweep_noise(benchmark::internal::Benchmark* b) {
  for (const int noise : {0, 5, 10, 20, 50, 100}) b->Args({1000, 64, 4, 32, 1, 1, 1, noise});
}
void sweep_pass(benchmark::internal::Benchmark* b) {
  for (const int pass : {1, 2, 4, 8}) b->Args({1000, 128, 4, 32, pass, 1, 1, 10});
}

benchmark::internal::Benchmark* rounds(benchmark::internal::Benchmark* b, int n) {
  return b->UseManualTime()->Iterations(n)->Unit(benchmark::kMillisecond);
}
BENCHMARK(push)->Name("push")->Apply(sizes)->Apply([](auto* b) { rounds(b, 15); });
BENCHMARK(push)->Name("restless")->Apply(restless_sizes)->Apply([](auto* b) { rounds(b, 15); });
BENCHMARK(push)->Name("exact")->Apply(exact_sizes)->Apply([](auto* b) { rounds(b, 15); });
BENCHMARK(push)->Name("threads")->Apply(two_threads)->Apply([](auto* b) { rounds(b, 15); });
BENCHMARK(whole)->Apply(whole_models)->Apply([](auto* b) { rounds(b, 7); });
BENCHMARK(temporal)->Args({10'000, 1000, 8})->Apply([](auto* b) { rounds(b, 3); });
BENCHMARK(push)->Name("leaves")->Apply(sweep_leaves)->Apply([](auto* b) { rounds(b, 9); });
BENCHMARK(push)->Name("slices")->Apply(sweep_slices)->Apply([](auto* b) { rounds(b, 9); });
BENCHMARK(push)->Name("states")->Apply(sweep_states)->Apply([](auto* b) { rounds(b, 9); });
BENCHMARK(push)->Name("values_of_p")->Apply(sweep_p)->Apply([](auto* b) { rounds(b, 9); });
BENCHMARK(push)->Name("noise")->Apply(sweep_noise)->Apply([](auto* b) { rounds(b, 9); });
BENCHMARK(push)->Name("slices_a_pass")->Apply(sweep_pass)->Apply([](auto* b) { rounds(b, 9); });

}  // namespace
}  // namespace margay::partition

BENCHMARK_MAIN();
