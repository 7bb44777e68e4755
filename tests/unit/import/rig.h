// What the importer's tests share: a consumer that writes down what it is told, and traces in few lines.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "margay/import/format.h"
#include "paje.h"
#include "support/paje_header.h"

namespace margay::trace::testing {

// Everything as text, records as "1.5 /a/b enter Send"; and checks what a producer promises.
class Notebook final : public Consumer {
 public:
  Status on_name(std::uint16_t index, const Name& name) override {
    EXPECT_EQ(index, names.size());
    names.push_back(name);
    return refuse_names ? fail(ErrorCode::kLimit, "no more names") : Status();
  }
  Status on_leaf(LeafIndex index, const Leaf& leaf) override {
    EXPECT_EQ(index.value, leaves.size());
    EXPECT_TRUE(leaf.base && *leaf.base < names.size());
    leaves.push_back(leaf);
    last.push_back(TimeNs(std::numeric_limits<std::int64_t>::min()));
    return {};
  }
  Status on_attributes(LeafIndex leaf, const model::Attributes& attributes) override {
    EXPECT_LT(leaf.value, leaves.size());
    leaves[leaf.value].attributes = attributes;
    return {};
  }
  Status on_records(LeafIndex leaf, std::span<const EventRecord> some) override {
    EXPECT_LT(leaf.value, leaves.size());
    for (const EventRecord& r : some) {
      EXPECT_GE(TimeNs(r.time_ns), last[leaf.value]);
      EXPECT_GE(TimeNs(r.time_ns), covered) << "a record before what is covered";
      last[leaf.value] = TimeNs(r.time_ns);
      ++count;
      if (keep) records.push_back(r);
      if (keep) lines.push_back(line(leaf, r));
      if (keep) leaf_of.push_back(leaf);
    }
    return {};
  }
  Status on_covered(TimeNs t) override {
    EXPECT_GE(t, covered);
    covered = t;
    return {};
  }

  std::string path(LeafIndex leaf) const {
    std::string out;
    const auto& a = leaves[leaf.value].attributes;
    for (int i = 1; a.contains("path" + std::to_string(i)); ++i)
      out += "/" + a.at("path" + std::to_string(i));
    return out;
  }
  // As `lines`, with what leaves are called in the end.
  std::vector<std::string> final_lines() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < records.size(); ++i) out.push_back(line(leaf_of[i], records[i]));
    return out;
  }
  std::string line(LeafIndex leaf, const EventRecord& r) const {
    static constexpr const char* kKinds[] = {"?",    "enter",      "leave",    "?",   "?",
                                             "?",    "?",          "begin",    "end", "?",
                                             "mark", "link_begin", "link_end", "sum"};
    std::string out = std::to_string(r.time_ns) + " " + path(leaf) + " ";
    if (r.kind == MARGAY_VARIABLE) {
      double x = 0;
      std::memcpy(&x, &r.bytes, sizeof x);
      return out + names.at(r.state).text + " = " + std::to_string(x);
    }
    out += kKinds[r.kind];
    if (r.kind == MARGAY_BEGIN || r.kind == MARGAY_END) return out;
    std::string name = names.at(r.state).text;
    std::replace(name.begin(), name.end(), '\n', ':');
    out += " " + name;
    if (r.tag != MARGAY_NO_TAG) out += " " + std::to_string(r.tag);
    return out;
  }

  bool keep = true, refuse_names = false;
  std::uint64_t count = 0;
  std::vector<Name> names;
  std::vector<Leaf> leaves;
  std::vector<TimeNs> last;
  std::vector<EventRecord> records;
  std::vector<std::string> lines;
  std::vector<LeafIndex> leaf_of;  // of each of `records`
  TimeNs covered{std::numeric_limits<std::int64_t>::min()};
};

inline std::string header() {
  return test_support::paje_header();
}

// Types P > T, states S of T, variables V, events E, links L; containers p > t, u. All at time 0.
inline std::string start() {
  return header() +
         "0 P 0 Program\n0 T P Thread\n1 S T State\n2 V T Heat\n3 E T Signal\n4 L P T T Message\n"
         "5 s S Send\n6 0 p P 0 prog\n6 0 t T p one\n6 0 u T p two\n";
}
inline std::string line_of(const std::string& text) {
  return std::to_string(std::count(text.begin(), text.end(), '\n') + 1);
}

inline Result<ReadCounts> read(const std::string& text, Consumer& consumer, const ReadOptions& options = {},
                               std::size_t piece = 1 << 20) {
  Input input = Input::of_text("t.trace", text, piece);
  return paje::read(input, options, consumer);
}

}  // namespace margay::trace::testing
