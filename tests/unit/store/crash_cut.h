// A cut in which every value tells the cut's number: mixed cuts show.
#pragma once

#include <memory>
#include <random>

#include "margay/store/records.h"

namespace margay::store::testing {

inline constexpr std::uint32_t kCrashLeaves = 1500;  // two chunks

inline Cut numbered_cut(std::uint64_t n) {
  const auto number = static_cast<std::int64_t>(n);
  Cut c;
  c.sequence = n;
  c.wall = TimeNs(number);
  for (std::uint8_t level = 0; level < 3; ++level) {
    auto column = std::make_shared<model::SliceColumn>(LevelIndex(level), SliceIndex(0), kCrashLeaves, 4);
    column->lost_events = n;
    for (std::uint32_t l = 0; l < kCrashLeaves; ++l)
      for (std::uint32_t x = 0; x < 4; ++x) {
        column->duration_ns(LeafIndex(l))[x] = number;
        column->longest_ns(LeafIndex(l))[x] = number + static_cast<std::int64_t>(l);
      }
    c.columns.push_back(std::move(column));
  }
  c.leaves = {{LeafIndex(0), SourceId(1), 0, {}}};
  c.leaf_states = {{LeafIndex(0), {}, TimeNs(number)}};
  StreamRecord stream;
  stream.source = SourceId(1);
  stream.next = n;
  c.streams = {stream};
  c.closed = {{LevelIndex(0), SliceIndex(number)}};
  c.alerts = {{"a", std::to_string(n), "firing"}};
  c.phases = {{0, "A", "", TimeNs(0), TimeNs(number), 1, true}};
  // Incompressible, so that write buffers fill and files are flushed while the kills fall.
  std::string noise(20'000, '\0');
  std::mt19937_64 random(n);
  for (char& b : noise) b = static_cast<char>(random());
  c.state = {{"noise", noise + std::to_string(n)}};
  return c;
}

}  // namespace margay::store::testing
