// What the tests of captures share: a file of messages, and a consumer that keeps all.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "margay/trace/capture.h"
#include "margay/wire/columns.h"
#include "margay/wire/ingest.pb.h"

namespace margay::trace::testing {

inline constexpr std::int64_t kMono = 5'000'000'000, kWall = 1'700'000'000'000'000'000;
inline constexpr std::int64_t kOffset = kWall - kMono;

// Keeps everything it is told.
class Keeper final : public Consumer {
 public:
  Status on_name(std::uint16_t index, const Name& name) override {
    EXPECT_EQ(index, names.size());
    names.push_back(name);
    return {};
  }
  Status on_leaf(LeafIndex index, const Leaf& leaf) override {
    EXPECT_EQ(index.value, leaves.size());
    leaves.push_back(leaf.attributes);
    return {};
  }
  Status on_records(LeafIndex leaf, std::span<const EventRecord> r) override {
    EXPECT_LT(leaf.value, leaves.size());
    auto& all = records[leaf.value];
    all.insert(all.end(), r.begin(), r.end());
    return {};
  }
  Status on_covered(TimeNs t) override {
    EXPECT_GE(t, covered) << "it grows";
    covered = t;
    told.push_back(t);
    return {};
  }
  // "ENTER MPI_Send 12", times after kWall in units of a millisecond.
  std::vector<std::string> story(std::uint32_t leaf) const {
    static const std::map<int, const char*> kinds = {
        {MARGAY_ENTER, "ENTER"}, {MARGAY_LEAVE, "LEAVE"}, {MARGAY_GAP, "GAP"},
        {MARGAY_STACK, "STACK"}, {MARGAY_END, "END"},     {MARGAY_REGION_ENTER, "REGION"}};
    std::vector<std::string> out;
    const auto it = records.find(leaf);
    if (it == records.end()) return out;
    for (const EventRecord& r : it->second)
      out.push_back(std::string(kinds.at(r.kind)) +
                    (r.kind == MARGAY_GAP   ? " " + std::to_string(r.bytes)
                     : r.kind == MARGAY_END ? ""
                                            : " " + names[r.state].text) +
                    " " + std::to_string((r.time_ns - kWall) / 1'000'000));
    return out;
  }

  std::vector<Name> names;
  std::vector<model::Attributes> leaves;
  std::map<std::uint32_t, std::vector<EventRecord>> records;
  TimeNs covered{};
  std::vector<TimeNs> told;
};

inline EventRecord record(std::uint8_t kind, std::uint16_t state, std::int64_t ms) {
  return {kMono + ms * 1'000'000, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, state, kind, 0};
}

// Messages of one agent; local names: 0 Compute, 1 MPI_Send, 2 MPI_Finalize, 3 the region "solve",
// 4 (thread end), where so many are asked for.
class File {
 public:
  File& hello(std::uint64_t source, int rank, std::size_t names = 4) {
    wire::ToCollector m = message();
    auto& h = *m.mutable_hello();
    h.set_source(source);
    (*h.mutable_attributes())["host"] = "n1";
    (*h.mutable_attributes())["rank"] = std::to_string(rank);
    (*h.mutable_attributes())["boot_id"] = "boot";
    const std::pair<const char*, wire::StateFamily> all[] = {{"Compute", wire::FAMILY_COMPUTE},
                                                             {"MPI_Send", wire::FAMILY_POINT_TO_POINT},
                                                             {"MPI_Finalize", wire::FAMILY_START_END},
                                                             {"solve", wire::FAMILY_REGION},
                                                             {"(thread end)", wire::FAMILY_OTHER}};
    for (std::size_t i = 0; i < names; ++i) {
      h.add_names()->set_name(all[i].first);
      h.mutable_names(static_cast<int>(i))->set_family(all[i].second);
    }
    h.mutable_clock()->set_monotonic_ns(kMono);
    h.mutable_clock()->set_realtime_ns(kWall);
    return put(m);
  }
  File& batch(std::uint64_t source, std::uint64_t first, const std::vector<EventRecord>& records,
              std::int64_t covered_ms, std::uint32_t epoch = 0, std::uint32_t stream = 0) {
    wire::ToCollector m = message();
    auto& b = *m.add_batches();
    b.set_source(source);
    b.set_epoch(epoch);
    b.set_stream(stream);
    b.set_first(first);
    b.set_count(static_cast<std::uint32_t>(records.size()));
    b.set_covered_until_ns(kMono + covered_ms * 1'000'000);
    wire::encode_columns(records, *b.mutable_columns());
    return put(m);
  }
  File& goodbye(std::uint64_t source, std::int64_t end_ms, std::uint64_t recorded, std::uint64_t untold = 0) {
    wire::ToCollector m = message();
    auto& g = *m.mutable_goodbye();
    g.set_source(source);
    g.set_end_ns(kMono + end_ms * 1'000'000);
    g.add_streams()->set_recorded(recorded);
    g.mutable_streams(0)->set_untold(untold);
    return put(m);
  }
  File& put(const wire::ToCollector& m) { return raw(m.SerializeAsString()); }
  File& raw(const std::string& body, const std::string& from = "agent") {
    const auto sizes = {static_cast<std::uint32_t>(from.size()), static_cast<std::uint32_t>(body.size())};
    const std::int64_t arrival = kMono + arrival_ms * 1'000'000;
    bytes.append(reinterpret_cast<const char*>(&arrival), 8);
    for (const std::uint32_t n : sizes) bytes.append(reinterpret_cast<const char*>(&n), 4);
    bytes += from + body;
    ends.push_back(bytes.size());
    return *this;
  }
  File& at(std::int64_t ms) {
    arrival_ms = ms;
    return *this;
  }
  static wire::ToCollector message() {
    wire::ToCollector m;
    m.set_version(wire::kWireVersion);
    m.set_run("r");
    return m;
  }
  CaptureCounts read(Keeper& keeper, const CaptureOptions& options = {}) const {
    const auto counts = read_capture_bytes(bytes, "c", options, keeper);
    EXPECT_TRUE(counts) << counts.error().message;
    return counts ? *counts : CaptureCounts{};
  }

  std::string bytes;
  std::vector<std::size_t> ends;  // of messages
  std::int64_t arrival_ms = 100;
};

}  // namespace margay::trace::testing
