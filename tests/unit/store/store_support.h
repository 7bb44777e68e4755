// What the store's tests share: a directory that goes away, and random columns.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>

#include "margay/model/slice_column.h"
#include "margay/store/records.h"

namespace margay::store::testing {

class TempDir {
 public:
  // `above`: /dev/shm, say, where a sync costs nothing.
  explicit TempDir(const std::filesystem::path& above = std::filesystem::temp_directory_path()) {
    std::string name = (above / "margay-store-XXXXXX").string();
    if (mkdtemp(name.data())) path_ = name;
  }
  ~TempDir() {
    std::error_code ec;
    if (!path_.empty()) std::filesystem::remove_all(path_, ec);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

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
