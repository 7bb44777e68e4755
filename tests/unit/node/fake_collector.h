// A collector for tests: keeps what it is sent, in order and once, and acknowledges what it has committed.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "margay/wire/columns.h"
#include "margay/wire/ingest.pb.h"

namespace margay::node {

struct FakeCollector {
  using StreamKey = std::pair<std::uint64_t, std::uint32_t>;  // source, stream
  struct Stream {
    std::vector<EventRecord> committed, uncommitted;
    std::uint64_t first = 0;  // ordinal of committed[0]
    bool begun = false;
    std::uint32_t epoch = 0;
    std::int64_t covered = INT64_MIN;
    wire::EventBatch last;  // counters
    std::uint64_t next() const { return first + committed.size() + uncommitted.size(); }
  };
  std::uint64_t instance = 1;
  std::map<std::uint64_t, wire::Hello> hellos;  // lost by a restart
  std::map<StreamKey, Stream> streams;
  std::map<std::uint64_t, wire::Goodbye> goodbyes;
  std::set<std::uint64_t> need;
  std::vector<wire::NodeSample> samples;
  wire::NodeAccount node_account;
  std::uint64_t unwatched(wire::Unwatched::Reason reason) const {
    for (const auto& u : node_account.unwatched())
      if (u.reason() == reason) return u.processes();
    return 0;
  }
  std::uint64_t repeats = 0, holes = 0, broken_promises = 0;
  bool finish = false;
  std::optional<wire::Slices> slices;  // to be told

  void take(const wire::ToCollector& m) {
    ASSERT_EQ(m.version(), wire::kWireVersion);
    if (m.has_hello()) hellos[m.hello().source()] = m.hello();
    if (m.has_node()) samples.push_back(m.node());
    if (m.has_node_account()) node_account = m.node_account();
    for (const auto& b : m.batches()) take(b);
    if (m.has_goodbye()) {
      const auto& g = m.goodbye();
      bool whole = hellos.contains(g.source());
      if (!whole) need.insert(g.source());
      for (const auto& t : g.streams()) {
        const auto it = streams.find({g.source(), t.stream()});
        if (t.recorded() != 0 && (it == streams.end() || it->second.next() != t.recorded())) whole = false;
      }
      if (whole) goodbyes[g.source()] = g;
    }
  }
  void take(const wire::EventBatch& b) {
    if (!hellos.contains(b.source())) {
      need.insert(b.source());
      return;
    }
    Stream& s = streams[{b.source(), b.stream()}];
    if (!s.begun || s.epoch != b.epoch()) {
      if (!s.begun) s.first = b.first();
      s.begun = true;
      s.epoch = b.epoch();
    }
    if (b.first() < s.next()) {
      ++repeats;
      return;
    }
    if (b.first() > s.next()) {
      ++holes;
      return;
    }
    std::vector<EventRecord> records;
    ASSERT_TRUE(b.count() == 0 || wire::decode_columns_untrusted(b.columns(), b.count(), records));
    for (const auto& r : records) {
      ASSERT_LT(r.state, hellos[b.source()].names_size());
      if (r.time_ns < s.covered) ++broken_promises;
    }
    s.uncommitted.insert(s.uncommitted.end(), records.begin(), records.end());
    s.covered = std::max<std::int64_t>(s.covered, b.covered_until_ns());
    s.last = b;
  }
  wire::ToAgent commit() {
    for (auto& [key, s] : streams) {
      s.committed.insert(s.committed.end(), s.uncommitted.begin(), s.uncommitted.end());
      s.uncommitted.clear();
    }
    return reply();
  }
  wire::ToAgent reply() {
    wire::ToAgent a;
    a.set_version(wire::kWireVersion);
    a.set_instance(instance);
    a.set_finish(finish);
    if (slices) *a.mutable_slices() = *slices;
    for (auto& [key, s] : streams) {
      auto* ack = a.add_acks();
      ack->set_source(key.first);
      ack->set_stream(key.second);
      ack->set_epoch(s.epoch);
      ack->set_next(s.first + s.committed.size());
      ack->set_goodbye(goodbyes.contains(key.first));
    }
    for (const auto& [id, g] : goodbyes) {  // of sources that had no stream as well
      auto* ack = a.add_acks();
      ack->set_source(id);
      ack->set_epoch(g.epoch());
      ack->set_goodbye(true);
    }
    a.set_node_account(node_account.number());
    for (const std::uint64_t id : need) a.add_need_hello(id);
    need.clear();
    return a;
  }
  // kill -9 and start again: what was not committed is gone.
  void restart() {
    ++instance;
    hellos.clear();
    for (auto& [key, s] : streams) {
      s.uncommitted.clear();
      s.covered = INT64_MIN;
    }
    std::erase_if(goodbyes, [](const auto&) { return true; });
  }
};

}  // namespace margay::node
