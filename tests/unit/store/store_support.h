// What the store's tests share: a run, random columns, and what has to go well.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "../../support/temporary_folder.h"
#include "margay/model/slice_column.h"
#include "margay/store/archive.h"

namespace margay::store::testing {

inline RunMeta example_run() {
  RunMeta run;
  run.run = "job-4711";
  run.command = "mpirun -np 64 ./app";
  run.host = "node7";
  run.boot_id = "6f2a";
  run.margay_version = "0.1.0";
  run.begin = TimeNs(1'700'000'000'000'000'000);
  run.wall_offset = DurationNs(1'699'999'000'000'000'123);
  run.levels = {milliseconds(100), seconds(1), seconds(10)};
  run.lateness = milliseconds(10);
  run.settings = {{"slice.duration", "100ms"}};
  return run;
}

inline std::unique_ptr<Archive> must(Result<std::unique_ptr<Archive>> r) {
  EXPECT_TRUE(r) << r.error().message;
  return r ? std::move(*r) : nullptr;
}
inline void expect_ok(const Status& s) {
  EXPECT_TRUE(s) << s.error().message;
}

// What the archive holds of the state of a run is what the cut told, which was its last.
inline void expect_kept(const Resume& held, const Cut& cut) {
  EXPECT_EQ(held.wall, cut.wall);
  EXPECT_EQ(held.leaf_states, cut.leaf_states);
  EXPECT_EQ(held.streams, cut.streams);
  EXPECT_EQ(held.closed, cut.closed);
  EXPECT_EQ(held.alerts, cut.alerts);
  EXPECT_EQ(held.phases, cut.phases);
  EXPECT_EQ(held.state, cut.state);
}

// Who had the CPU, of several kinds, and values that are at the edge.
inline std::vector<model::Taker> some_takers() {
  using model::Taker;
  return {
      {LeafIndex(3), Taker::Kind::kOther, 4242, Taker::kNobody, 1, 90'000'000, 100'000'000, "python3"},
      {LeafIndex(3), Taker::Kind::kRank, 77, 5, -1, 30'000'000, 100'000'000, "lmp"},
      {LeafIndex(1'048'575), Taker::Kind::kHypervisor, 0, Taker::kNobody, 8191, 0, 1, ""},
      {LeafIndex(0), Taker::Kind::kUnseen, 0, Taker::kNobody, 0, INT64_MAX, INT64_MAX, "a name of 15 by"}};
}

// A column as the slicer makes it: rows sum to the slice, few cells are present, states are open.
inline std::shared_ptr<model::SliceColumn> random_column(std::mt19937_64& random, LevelIndex level,
                                                         SliceIndex index, std::uint32_t leaves,
                                                         std::uint32_t states, DurationNs slice) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  auto column = std::make_shared<model::SliceColumn>(level, index, leaves, states);
  column->lost_events = random() % 4 == 0 ? random() % 1000 : 0;
  column->provisional = random() % 8 == 0;
  for (std::uint32_t l = 0; l < leaves && states > 0; ++l) {
    const LeafIndex leaf(l);
    std::int64_t left = slice.value;
    while (left > 0) {
      const auto x = static_cast<std::size_t>(below(states));
      const std::int64_t part = random() % 2 == 0 ? left : below(left) + 1;
      column->duration_ns(leaf)[x] += part;
      column->longest_ns(leaf)[x] = std::max(column->longest_ns(leaf)[x], part);
      ++column->visits(leaf)[x];
      left -= part;
    }
    const auto x = static_cast<std::size_t>(below(states));
    const std::int64_t since = slice_end(index, slice).value - below(100 * slice.value) - 1;
    column->open(leaf) = {StateId(static_cast<std::uint16_t>(x)), TimeNs(since)};
    if (random() % 2 == 0) column->longest_ns(leaf)[x] = slice_end(index, slice).value - since;
    if (random() % 8 == 0) {
      column->evidence(leaf).silent_since = TimeNs(since);
      column->evidence(leaf).drawn_out = random() % 2 == 0;
    }
  }
  return column;
}

}  // namespace margay::store::testing
