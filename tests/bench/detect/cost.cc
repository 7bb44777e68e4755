// What looking for departures costs, beside the partition update of the same slices.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cases.h"
#include "commands.h"
#include "departures.h"
#include "margay/detect/window.h"

namespace margay::bench {

// Of the same slices, one after the other: the window with its partitions, and looking for departures.
int cost(std::uint32_t leaves, std::size_t window, int slices) {
  using Clock = std::chrono::steady_clock;
  QuietJob job(leaves, 1, true);
  detect::WindowOptions o;
  o.slice = seconds(1);
  o.slices = window;
  o.memory_budget_bytes = std::uint64_t{16} << 30;
  detect::Window w(o);
  detect::Departures::Options d;
  d.slice = o.slice;
  detect::Departures departures(d);
  w.set_topology(job.topology());
  departures.set_topology(job.topology());
  std::vector<double> push, look;
  const auto fill = static_cast<int>(window) + 16;
  for (int i = 0; i < fill + slices; ++i) {
    const auto& column = job.next();
    const auto begin = Clock::now();
    const auto ok = w.push(column);
    const auto optimum = w.spatiotemporal();  // what the push put off
    const auto cuts = w.temporal();
    const auto pushed = Clock::now();
    static_cast<void>(departures.on_slice(w, column, {}, detect::Departures::Look::kNormal));
    const auto looked = Clock::now();
    if (!ok || !optimum || !cuts) std::printf("no partition\n");
    if (i < fill) continue;
    push.push_back(std::chrono::duration<double, std::milli>(pushed - begin).count());
    look.push_back(std::chrono::duration<double, std::milli>(looked - pushed).count());
  }
  const auto middle = [](std::vector<double>& v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  const double a = middle(push), b = middle(look);
  std::printf(
      "%u leaves, 4 states, window of %zu: partition %.3f ms, departures %.3f ms (medians), %.0f %%\n",
      leaves, window, a, b, 100 * b / a);
  return 0;
}

}  // namespace margay::bench
