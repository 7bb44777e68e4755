// Collective calls as one, against calls that were made up together; and their outlines.
#include "margay/scene/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "synthetic_view.h"

namespace margay::scene {
namespace collectives_test {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Ranks on two hosts, a second of 1000 slices; times in microseconds.
struct Job {
  support::ViewBuilder build{1000, 1'000'000};
  std::uint32_t compute = build.state("Compute", wire::FAMILY_COMPUTE);
  std::uint32_t barrier = build.state("MPI_Barrier", wire::FAMILY_COLLECTIVE);
  std::uint32_t allreduce = build.state("MPI_Allreduce", wire::FAMILY_COLLECTIVE);
  std::uint32_t send = build.state("MPI_Send", wire::FAMILY_POINT_TO_POINT);
  std::vector<std::uint32_t> ranks;
  struct Call {
    std::uint32_t node, state;
    std::int64_t begin, end;
    std::uint32_t flags = 0;
  };
  std::vector<Call> calls;

  explicit Job(std::size_t count) {
    for (const char* host : {"host0", "host1"}) {
      const std::uint32_t node = build.node(host, 0);
      for (std::size_t i = 0; i < count / 2; ++i) {
        std::string name = "r";
        name += std::to_string(ranks.size());
        ranks.push_back(build.node(name, node));
      }
    }
    build.part(0, 0, 1000, {{compute, 1}});
  }
  ViewData data() {
    std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.begin < b.begin; });
    wire::ViewAnswer answer = build.answer();
    wire::ViewVisits& v = *answer.mutable_visits();
    for (const Call& c : calls) {
      v.add_node(c.node), v.add_state(c.state), v.add_depth(0), v.add_flags(c.flags);
      v.add_begin_ns(c.begin * 1000);
      v.add_length_ns(static_cast<std::uint64_t>(c.end - c.begin) * 1000);
    }
    auto out = view_data_untrusted(answer);
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : ViewData();
  }
};

std::set<std::uint32_t> nodes_of(const ViewData& data, const Collective& c) {
  std::set<std::uint32_t> out;
  for (const std::uint32_t v : c.visits) out.insert(data.visits[v].node);
  return out;
}

// All come in any order, nobody goes before the last is there: rounds one behind the other are found again.
TEST(Collectives, AreThoseThatWereMadeTogether) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937 rng(seed);
    const auto up_to = [&](std::int64_t n) { return static_cast<std::int64_t>(rng()) % n; };
    Job job(8);
    struct Round {
      std::uint32_t state, last;
      std::int64_t first_in, last_in, first_out, last_out;
    };
    std::vector<Round> rounds;
    std::vector<std::int64_t> free(job.ranks.size(), 0);
    for (int round = 0; round < 40; ++round) {
      const std::uint32_t state = round % 3 == 0 ? job.barrier : job.allreduce;
      std::vector<std::int64_t> in;
      for (const std::int64_t t : free) in.push_back(t + 1 + up_to(5000));
      const auto last = std::max_element(in.begin(), in.end());
      Round r{state,
              job.ranks[static_cast<std::size_t>(last - in.begin())],
              *std::min_element(in.begin(), in.end()),
              *last,
              INT64_MAX,
              0};
      for (std::size_t i = 0; i < in.size(); ++i) {
        free[i] = *last + 1 + up_to(500);
        job.calls.push_back({job.ranks[i], state, in[i], free[i]});
        r.first_out = std::min(r.first_out, free[i]);
        r.last_out = std::max(r.last_out, free[i]);
      }
      rounds.push_back(r);
    }
    const ViewData data = job.data();
    const auto found = collectives(data);
    ASSERT_EQ(found.size(), rounds.size()) << "seed " << seed;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Collective& c = found[i];
      EXPECT_EQ(data.states[c.state].name, rounds[i].state == job.barrier ? "MPI_Barrier" : "MPI_Allreduce");
      EXPECT_EQ(nodes_of(data, c).size(), 8u);
      EXPECT_EQ(data.visits[c.last].begin, c.last_in);
      const auto us = [&](TimeNs t) { return (t - data.range().from).value / 1000; };
      EXPECT_EQ(us(c.first_in), rounds[i].first_in);
      EXPECT_EQ(us(c.last_in), rounds[i].last_in);
      EXPECT_EQ(us(c.first_out), rounds[i].first_out);
      EXPECT_EQ(us(c.last_out), rounds[i].last_out);
      for (const std::uint32_t v : c.visits) EXPECT_EQ(collective_of(found, v), &c);
    }
  }
}

TEST(Collectives, WhatDoesNotOverlapIsSummedOrIsNoneIsLeftOut) {
  Job job(4);
  const auto& r = job.ranks;
  job.calls = {{r[0], job.barrier, 100, 200}, {r[1], job.barrier, 200, 300},     // one after the other
               {r[0], job.send, 400, 500},    {r[1], job.send, 400, 500},        // no collective
               {r[0], job.barrier, 600, 700}, {r[1], job.allreduce, 600, 700},   // of two kinds
               {r[2], job.barrier, 800, 900}, {r[3], job.barrier, 800, 900, 4},  // summed
               {r[0], job.barrier, 950, 960}};
  EXPECT_THAT(collectives(job.data()), IsEmpty());
}

// Of a Bcast the root is gone before the last come.
TEST(Collectives, ThatSomeHaveLeftFallApart) {
  Job job(4);
  const auto& r = job.ranks;
  job.calls = {{r[0], job.allreduce, 100, 150},
               {r[1], job.allreduce, 120, 400},
               {r[2], job.allreduce, 300, 400},
               {r[3], job.allreduce, 350, 400}};
  const ViewData data = job.data();
  const auto found = collectives(data);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(nodes_of(data, found[0]), ElementsAre(r[0], r[1]));
  EXPECT_THAT(nodes_of(data, found[1]), ElementsAre(r[2], r[3]));
  EXPECT_EQ(collective_of(found, 1000), nullptr);
}

// A daemon may say anything: as many at once as an answer holds end in no time that grows with their square.
TEST(Collectives, OfAThousandAtOnceAreCounted) {
  Job job(2);
  for (std::int64_t i = 0; i < 20'000; ++i) job.calls.push_back({job.ranks[0], job.barrier, i, 900'000 + i});
  for (std::int64_t i = 0; i < 20'000; ++i) job.calls.push_back({job.ranks[1], job.barrier, i, 900'000 + i});
  EXPECT_THAT(collectives(job.data()), SizeIs(16));
}

TEST(Bands, AreTheOutlineOverTheRowsThatAreSeen) {
  Job job(4);
  const auto& r = job.ranks;
  job.calls = {{r[0], job.barrier, 100'000, 500'000}, {r[1], job.barrier, 200'000, 500'000},
               {r[2], job.barrier, 300'000, 600'000}, {r[3], job.barrier, 400'000, 500'000},
               {r[0], job.barrier, 700'000, 700'500}, {r[1], job.barrier, 700'000, 700'500}};  // half a pixel
  const ViewData data = job.data();
  const auto all = collectives(data);
  ASSERT_THAT(all, SizeIs(2));
  Rows rows = rows_of(data, {});
  Viewport view{1000, 80, data.range(), {0, rows.height}};
  const auto bands = collective_bands(data, all, rows, view);
  ASSERT_THAT(bands, SizeIs(1)) << "the other is too narrow to be seen";
  ASSERT_THAT(bands[0].edges, SizeIs(4));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(bands[0].edges[i].x0, 100 * static_cast<double>(i + 1), 0.1);
    EXPECT_NEAR(bands[0].edges[i].x1, i == 2 ? 600 : 500, 0.1);
    EXPECT_NEAR(bands[0].edges[i].y0, 20 * static_cast<double>(i), 0.1);
  }
  Viewport low = view;
  low.height = 4;
  EXPECT_THAT(collective_bands(data, all, rows, low)[0].edges, SizeIs(2))
      << "of rows of a pixel every fourth";
  Folding folding;
  folding.folded = {"/host1"};
  rows = rows_of(data, folding);
  view.rows = {0, rows.height};
  EXPECT_THAT(collective_bands(data, all, rows, view)[0].edges, SizeIs(2)) << "of a folded row nobody";
  view.time = {TimeNs(650'000'000), TimeNs(990'000'000)};
  EXPECT_THAT(collective_bands(data, all, rows, view), IsEmpty()) << "out of sight";
}

TEST(Bands, OfTooManyTheLongest) {
  Job job(2);
  for (std::int64_t i = 0; i < 600; ++i)
    for (const std::uint32_t r : job.ranks)
      job.calls.push_back({r, job.barrier, i * 1600, i * 1600 + 800 + i});
  const ViewData data = job.data();
  const auto all = collectives(data);
  ASSERT_THAT(all, SizeIs(600));
  const Rows rows = rows_of(data, {});
  const auto bands = collective_bands(data, all, rows, {10'000, 80, data.range(), {0, rows.height}});
  ASSERT_EQ(bands.size(), kMostBands);
  EXPECT_EQ(bands.front().collective, 100u);
  EXPECT_EQ(bands.back().collective, 599u);
}

}  // namespace collectives_test
}  // namespace margay::scene
