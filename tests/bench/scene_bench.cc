// What it takes to make a picture of an answer:
//
//   build/release/tests/bench/scene_bench [--benchmark_filter=REGEX]
//
// Arguments: resources, slices, parts, pixels each way. `check` is view_data_untrusted(), `rows` the
// hierarchy as rows, `layout` the visual aggregation at 3 pixels, `every_part` without it, `bars` the
// temporal overview.
#include <benchmark/benchmark.h>

#include "margay/scene/layout.h"
#include "margay/scene/temporal_bars.h"
#include "synthetic_view.h"

namespace margay::scene {
namespace {

wire::ViewAnswer answer(const benchmark::State& state) {
  std::mt19937_64 rng(1);
  const auto arg = [&](int i) { return static_cast<std::size_t>(state.range(i)); };
  return support::cluster_view(rng, arg(0), arg(1), arg(2));
}

void check(benchmark::State& state) {
  const wire::ViewAnswer a = answer(state);
  for (auto _ : state) benchmark::DoNotOptimize(view_data_untrusted(a)->parts.size());
}

void rows(benchmark::State& state) {
  const ViewData d = *view_data_untrusted(answer(state));
  for (auto _ : state) benchmark::DoNotOptimize(rows_of(d, {}).rows.size());
}

void paint(benchmark::State& state, double threshold) {
  const ViewData d = *view_data_untrusted(answer(state));
  const Rows r = rows_of(d, {});
  const auto px = static_cast<double>(state.range(3));
  std::size_t rects = 0;
  for (auto _ : state) rects = layout(d, r, {px, px, d.range(), whole(r)}, {threshold}).rects.size();
  state.counters["parts"] = static_cast<double>(d.parts.size());
  state.counters["rects"] = static_cast<double>(rects);
}

void bars(benchmark::State& state) {
  const ViewData d = *view_data_untrusted(answer(state));
  for (auto _ : state) benchmark::DoNotOptimize(temporal_bars(d).size());
}

void sizes(benchmark::internal::Benchmark* b) {
  b->Unit(benchmark::kMillisecond);
  for (const auto& [leaves, slices] : {std::pair{1000, 256}, {100'000, 256}})
    b->Args({leaves, slices, 65'000, 1000});
}
BENCHMARK(check)->Apply(sizes);
BENCHMARK(rows)->Apply(sizes);
BENCHMARK_CAPTURE(paint, layout, 3.0)->Apply(sizes);
BENCHMARK_CAPTURE(paint, every_part, 0.0)->Apply(sizes);
BENCHMARK(bars)->Apply(sizes);

}  // namespace
}  // namespace margay::scene

BENCHMARK_MAIN();
