// A made-up archive, questions about it, and what `margay partition` says of them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "../../support/temporary_folder.h"
#include "margay/query/view_maker.h"
#include "margay/query/zoom.h"
#include "margay/store/archive.h"
#include "partition/partition_output.h"
#include "support/synthetic_archive.h"

namespace margay::daemon {

class ViewOfArchive : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new test::TemporaryFolder;
    ASSERT_TRUE(what_.write(path()));
    auto archive = store::Archive::open(path(), store::Mode::kReadOnly);
    ASSERT_TRUE(archive) << archive.error().message;
    archive_ = archive->release();
  }
  static void TearDownTestSuite() {
    delete archive_;
    delete dir_;
  }
  static std::string path() { return *dir_ / "archive"; }
  static TimeNs zero() {
    return slice_begin(slice_of(test::SyntheticArchive::kBegin, milliseconds(100)), milliseconds(100));
  }
  static wire::ViewQuestion question(std::int64_t from_ms, std::int64_t to_ms, std::uint32_t slices) {
    wire::ViewQuestion q;
    q.set_from_ns((zero() + milliseconds(from_ms)).value);
    q.set_to_ns((zero() + milliseconds(to_ms)).value);
    q.set_slices(slices);
    return q;
  }
  static wire::ViewAnswer answer(ViewMaker& maker, const wire::ViewQuestion& q) {
    const auto request = decode_view_untrusted(q);
    EXPECT_TRUE(request) << request.error().message;
    const auto out = maker.answer(*request, always);
    EXPECT_NE(out, nullptr);
    return *out;
  }
  static wire::ViewAnswer answer(const wire::ViewQuestion& q) {
    ViewMaker maker(*archive_, clock_, {});
    return answer(maker, q);
  }
  static std::string error_of(const wire::ViewQuestion& q) {
    const auto request = decode_view_untrusted(q);
    return request ? answer(q).error() : request.error().message;
  }

  // As `margay partition` does it.
  struct Said {
    Model model;
    partition::Batch batch;
  };
  static Said said(const wire::ViewQuestion& q) {
    ZoomRequest r;
    r.input = path();
    r.from = "@" + std::to_string(q.from_ns());
    r.to = "@" + std::to_string(q.to_ns());
    r.slices = q.slices();
    r.node = q.node();
    r.states.assign(q.states().begin(), q.states().end());
    if (!q.measure().empty()) r.op = *slicer::Operator::parse(q.measure());
    auto z = zoom(r);
    EXPECT_TRUE(z) << z.error().message;
    Model& m = z->model;
    std::vector<partition::Column> columns(m.slices);
    for (std::size_t t = 0; t < m.slices; ++t)
      columns[t] = {std::span(m.values).subspan(t * m.leaves() * m.states, m.leaves() * m.states),
                    std::span(m.weights).subspan(t * m.leaves(), m.leaves())};
    partition::Batch::Options options;
    using partition::Operator;
    const std::map<int, Operator> operators = {
        {wire::ViewQuestion::SPATIOTEMPORAL, Operator::kSpatiotemporal},
        {wire::ViewQuestion::TEMPORAL, Operator::kTemporal},
        {wire::ViewQuestion::SPATIAL, Operator::kSpatial},
        {wire::ViewQuestion::PRODUCT, Operator::kProduct}};
    options.op = operators.at(q.partition());
    options.tree = m.tree;
    options.states = m.states;
    auto batch = partition::Batch::create(std::move(options), columns);
    EXPECT_TRUE(batch) << batch.error().message;
    return {std::move(m), std::move(*batch)};
  }

  // That all tables of its partition in space and time would take.
  static std::uint64_t partition_bytes(const Model& m) {
    partition::Batch::Options options;
    options.tree = m.tree;
    options.states = m.states;
    return partition::Batch::memory_needed(options, m.slices);
  }
  // Of a question without p or policy there are as many parts as a picture shows.
  static void expect_same(const wire::ViewAnswer& a, Said& s) {
    ASSERT_EQ(a.error(), "");
    const Model& m = s.model;
    auto found = s.batch.solve(a.p());
    ASSERT_TRUE(found);
    if (a.question().partition() == wire::ViewQuestion::SPATIOTEMPORAL &&
        (a.policy() == "noise" || a.policy() == "default"))
      draw_picture(*found, s.batch, {});
    to_units(*found, m.unit);
    EXPECT_NEAR(a.gain(), found->gain, 1e-6);
    EXPECT_NEAR(a.loss(), found->loss, 1e-6);
    ASSERT_EQ(a.part_node_size(), static_cast<int>(found->parts.size()));
    for (int n : {a.part_first_size(), a.part_last_size(), a.part_gain_size(), a.part_loss_size(),
                  a.part_known_size(), a.part_states_size()})
      ASSERT_EQ(n, a.part_node_size());
    ASSERT_EQ(a.share_size(), a.share_state_size());
    ASSERT_EQ(a.boundaries_size(), static_cast<int>(m.slices) + 1);
    EXPECT_EQ(a.boundaries(0), m.times->from.value);
    EXPECT_EQ(a.boundaries(a.boundaries_size() - 1), m.times->to.value);
    EXPECT_EQ(a.zero_ns(), zero().value);
    ASSERT_EQ(a.nodes_size(), static_cast<int>(m.tree.size()));
    for (int k = 0; k < a.nodes_size(); ++k) {
      EXPECT_EQ(a.nodes(k).name(), m.node_names[static_cast<std::size_t>(k)]);
      EXPECT_EQ(a.nodes(k).leaves(), m.tree.leaves_under(NodeIndex(static_cast<std::uint32_t>(k))).size());
      EXPECT_TRUE(k == 0 ? a.nodes(k).parent() == 0 : a.nodes(k).parent() < static_cast<std::uint32_t>(k));
    }
    int at = 0;
    for (int i = 0; i < a.part_node_size(); ++i) {
      const partition::Part& part = found->parts[static_cast<std::size_t>(i)];
      const bool all = part.node == partition::kAllLeaves;
      EXPECT_EQ(a.part_node(i), all ? 0 : part.node.value);
      EXPECT_EQ(a.part_first(i), part.first.value);
      EXPECT_EQ(a.part_last(i), part.last.value);
      EXPECT_FLOAT_EQ(a.part_gain(i), static_cast<float>(part.gain));
      EXPECT_FLOAT_EQ(a.part_loss(i), static_cast<float>(part.loss));
      // Cell by cell.
      const auto leaves = m.tree.leaves_under(all ? m.tree.root() : part.node);
      std::vector<double> sums(m.states);
      double known = 0, cells = 0;
      for (auto t = part.first.value; t <= part.last.value; ++t)
        for (const auto l : leaves) {
          const std::size_t cell = static_cast<std::size_t>(t) * m.leaves() + l.value;
          cells += 1;
          known += m.weights[cell];
          for (std::size_t x = 0; x < m.states; ++x) sums[x] += m.values[cell * m.states + x];
        }
      EXPECT_NEAR(a.part_known(i), known / cells, 1e-6);
      float last = std::numeric_limits<float>::infinity();
      std::set<std::uint32_t> seen;
      for (std::uint32_t n = 0; n < a.part_states(i); ++n, ++at) {
        ASSERT_LT(at, a.share_size());
        EXPECT_TRUE(seen.insert(a.share_state(at)).second);
        ASSERT_LT(a.share_state(at), static_cast<std::uint32_t>(a.states_size()));
        EXPECT_EQ(a.states(static_cast<int>(a.share_state(at))).name(), m.state_names[a.share_state(at)]);
        EXPECT_NEAR(a.share(at), sums[a.share_state(at)] / cells, 1e-6);
        EXPECT_LE(a.share(at), last);
        last = a.share(at);
      }
      for (std::uint32_t x = 0; x < m.states; ++x) {
        EXPECT_EQ(seen.contains(x), sums[x] > 0);
      }
    }
    EXPECT_EQ(at, a.share_size());
  }

  static bool always() { return true; }

  static inline const SystemClock clock_{};
  static inline const test::SyntheticArchive what_{};
  static inline test::TemporaryFolder* dir_ = nullptr;
  static inline store::Archive* archive_ = nullptr;
};

}  // namespace margay::daemon
