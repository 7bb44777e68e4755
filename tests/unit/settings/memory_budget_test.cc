// The sum of memory that is promised, and its terms; what runs against it is tests/e2e/memory_test.py.
#include "margay/settings/memory_budget.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace margay::daemon {
namespace memory_budget_test {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Options options_of_a_daemon() {
  Options o;
  o.limits.held_slices = held_slices(o);
  return o;
}

std::map<std::string, std::uint64_t> terms(const Options& o) {
  std::map<std::string, std::uint64_t> all;
  const MemoryBudget budget(o);
  for (const MemoryBudget::Term& t : budget.terms()) all[t.name] += t.bytes;
  return all;
}

TEST(MemoryBudget, TheSumIsThatOfItsTermsAndNamesThem) {
  const MemoryBudget budget(options_of_a_daemon());
  std::uint64_t sum = 0;
  for (const MemoryBudget::Term& t : budget.terms()) {
    sum += t.bytes;
    EXPECT_GT(t.bytes, 0u) << t.name;
    EXPECT_NE(budget.text().find(std::string(t.name) + ' ' + std::to_string(t.bytes >> 20) + " MiB"),
              std::string::npos)
        << budget.text();
  }
  EXPECT_EQ(budget.sum(), sum);
  std::printf("defaults: %llu MiB: %s\n", static_cast<unsigned long long>(sum >> 20), budget.text().c_str());
  EXPECT_LT(sum, 10'240 * kMiB) << "the defaults are for a usual node";
}

// Each limit that a person may set is in it, at least by as much as it says.
TEST(MemoryBudget, GrowsWithEachLimit) {
  const Options before = options_of_a_daemon();
  const std::uint64_t sum = MemoryBudget(before).sum();
  const auto more = [&](auto change, std::uint64_t by) {
    Options o = before;
    change(o);
    o.limits.held_slices = held_slices(o);
    EXPECT_GE(MemoryBudget(o).sum(), sum + by);
  };
  more([](Options& o) { o.window_memory_bytes += 100 * kMiB; }, 200 * kMiB);  // coarser levels, too
  more([](Options& o) { o.view_memory_bytes += 100 * kMiB; }, 100 * kMiB);
  more([](Options& o) { o.store_memory_bytes += 100 * kMiB; }, 100 * kMiB);
  more([](Options& o) { o.raw_backlog_bytes += 100 * kMiB; }, 300 * kMiB);  // and twice in a batch
  more([](Options& o) { o.limits.cell_bytes += 100 * kMiB; }, 100 * kMiB);
  more([](Options& o) { o.limits.sources += 100'000; }, 100 * kMiB);
  more([](Options& o) { o.limits.leaves += 100'000; }, 100 * kMiB);
  more([](Options& o) { o.limits.text_bytes += 100 * kMiB; }, 400 * kMiB);
  more([](Options& o) { o.op = *slicer::Operator::parse("bytes"); }, before.window_memory_bytes);
  more(
      [](Options& o) {
        o.listen.ingest = "tcp://127.0.0.1:1";
        o.listen.connections = 100;
      },
      100 * 3 * static_cast<std::uint64_t>(kRecords.largest));
}

// The slicer's slices and those of all levels, of as many leaves and states as are let in.
TEST(MemoryBudget, WhatIsHeldOfSlicesFitsTheirTerm) {
  for (const auto& levels : {std::vector<DurationNs>{milliseconds(100)},
                             {milliseconds(100), seconds(1), seconds(10), seconds(60)},
                             {milliseconds(10), seconds(10)}}) {
    Options o;
    o.levels = levels;
    o.limits.held_slices = held_slices(o);
    std::uint64_t held = ingest::Limits::kHeldSlices;
    for (std::size_t i = 0; i < levels.size(); ++i)  // slicer/levels.h
      held +=
          o.amendable_slices +
          (i + 1 < levels.size() ? 2 * static_cast<std::uint64_t>(levels[i + 1].value / levels[i].value) : 0);
    for (const std::uint64_t leaves : {1u, 64u, 1000u, 4096u}) {
      std::uint64_t states = 3;
      while (states < 1024 && o.limits.cells_fit(leaves, states + 1)) ++states;
      if (!o.limits.cells_fit(leaves, states)) continue;
      EXPECT_LE(held * o.limits.column_bytes(leaves, states), terms(o)["slices that can still change"]);
    }
  }
}

}  // namespace memory_budget_test
}  // namespace margay::daemon
