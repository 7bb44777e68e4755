// Threads for an engine that is given work to do side by side (margay/partition/spatiotemporal.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace margay::support {

inline void parallel(std::size_t threads, std::size_t tasks,
                     const std::function<void(std::size_t, std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&](std::size_t worker) {
    for (std::size_t task; (task = next.fetch_add(1)) < tasks;) work(worker, task);
  };
  std::vector<std::jthread> helpers;
  for (std::size_t n = 1; n < threads; ++n) helpers.emplace_back(run, n);
  run(0);
}

}  // namespace margay::support
