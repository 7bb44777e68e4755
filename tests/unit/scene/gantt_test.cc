// Single visits as boxes, against a plain painter of all visits; and answers whose visits make no sense.
#include "margay/scene/gantt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "synthetic_view.h"

namespace margay::scene {
namespace gantt_test {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000'000;

// Two hosts of two ranks, ten slices of a second, all of which do the same.
wire::ViewAnswer plain_answer() {
  support::ViewBuilder build(10);
  for (const char* s : {"Compute", "MPI_Send", "MPI_Recv", "MPI_Wait"}) build.state(s);
  std::uint32_t rank = 0;
  for (const char* host : {"host0", "host1"}) {
    const std::uint32_t node = build.node(host, 0);
    for (int i = 0; i < 2; ++i) build.node("rank" + std::to_string(rank++), node);
  }
  build.part(0, 0, 10, {{0, 1.0F}});
  return build.answer();
}
constexpr std::uint32_t kLeaves[] = {2, 3, 5, 6};  // nodes

void add(wire::ViewAnswer& a, std::uint32_t node, std::uint32_t state, double begin, double end,
         std::uint32_t depth = 0, std::uint32_t flags = 0) {
  wire::ViewVisits& v = *a.mutable_visits();
  v.add_node(node), v.add_state(state), v.add_depth(depth), v.add_flags(flags);
  v.add_begin_ns(static_cast<std::int64_t>(begin * kSecond));
  v.add_length_ns(static_cast<std::uint64_t>((end - begin) * kSecond));
}

Viewport window(const Rows& rows, double from, double to, double width = 1000, double height = 80) {
  return {
      width,
      height,
      {TimeNs(static_cast<std::int64_t>(from * kSecond)), TimeNs(static_cast<std::int64_t>(to * kSecond))},
      {0, rows.height}};
}

ViewData read(const wire::ViewAnswer& a) {
  auto d = view_data_untrusted(a);
  EXPECT_TRUE(d) << d.error().message;
  return d ? std::move(*d) : ViewData();
}

TEST(Gantt, AVisitIsABoxInTheRowOfItsResource) {
  wire::ViewAnswer a = plain_answer();
  add(a, 5, 1, 2, 4, 0, 5);
  add(a, 5, 2, 2.5, 3, 1);
  const ViewData d = read(a);
  ASSERT_THAT(d.visits, SizeIs(2));
  EXPECT_TRUE(d.visits[0].begun_before && d.visits[0].several_calls && !d.visits[0].goes_on);
  const Rows rows = rows_of(d, {});
  const Viewport view = window(rows, 0, 10);
  const Gantt calls = gantt(d, rows, view);
  const std::vector<VisitBox>& boxes = calls.boxes;
  ASSERT_THAT(boxes, SizeIs(2));
  // The third row of four, 20 pixels high; what is inside is half as high.
  EXPECT_NEAR(boxes[0].x0, 200, 1e-6);
  EXPECT_NEAR(boxes[0].x1, 400, 1e-6);
  EXPECT_NEAR(boxes[0].y0, 40, 1e-6);
  EXPECT_NEAR(boxes[0].y1, 60, 1e-6);
  EXPECT_NEAR(boxes[1].y0, 50, 1e-6);
  EXPECT_EQ(visit_at(calls, 270, 55), 1);
  EXPECT_EQ(visit_at(calls, 270, 45), 0);
  EXPECT_EQ(visit_at(calls, 310, 55), 0);
  EXPECT_EQ(visit_at(calls, 450, 55), kNoPart);

  // What is not known: the first, second and fourth row, and what of the third is before and after.
  ASSERT_THAT(calls.gaps, SizeIs(5));
  EXPECT_NEAR(calls.gaps[2].x1, 200, 1e-6);
  EXPECT_NEAR(calls.gaps[3].x0, 400, 1e-6);
  EXPECT_NEAR(calls.gaps[3].x1, 1000, 1e-6);
  EXPECT_NEAR(calls.gaps[3].y0, 40, 1e-6);
  EXPECT_NEAR(calls.gaps[3].y1, 60, 1e-6);

  Folding folding;
  folding.folded = {"/host1"};
  EXPECT_THAT(gantt(d, rows_of(d, folding), view).boxes, IsEmpty()) << "what several do is an aggregate";
  EXPECT_THAT(gantt(d, rows, window(rows, 5, 6)).boxes, IsEmpty());
  EXPECT_THAT(gantt(d, rows, Viewport{}).boxes, IsEmpty());
}

TEST(Gantt, WhatIsNarrowerThanAPixelIsDrawnTogether) {
  wire::ViewAnswer a = plain_answer();
  for (int i = 0; i < 100; ++i) {
    const double at = 3 + 1e-4 * i;  // all within the pixel from 3.00 to 3.01
    add(a, 2, 1, at, at + 3e-5);
    add(a, 2, 3, at + 3e-5, at + 1e-4);
  }
  const ViewData d = read(a);
  const Rows rows = rows_of(d, {});
  const Gantt calls = gantt(d, rows, window(rows, 0, 10));
  const std::vector<VisitBox>& boxes = calls.boxes;
  ASSERT_THAT(boxes, SizeIs(1));
  EXPECT_EQ(boxes[0].state, 3u) << "it has most of the time";
  EXPECT_EQ(boxes[0].visit, kNoPart);
  EXPECT_NEAR(boxes[0].x0, 300, 1e-6);
  EXPECT_NEAR(boxes[0].x1, 301, 1e-6);
  EXPECT_THAT(gantt(d, rows, window(rows, 3, 3.01)).boxes, SizeIs(200)) << "closer by, each is one";
}

// What a leaf does from `begin` to `end`, nested at random.
void live(std::mt19937_64& random, wire::ViewAnswer& a, std::uint32_t node, double begin, double end,
          std::uint32_t depth) {
  std::uniform_real_distribution<double> part(0, 1);
  for (double at = begin; at < end;) {
    const double length = std::pow(10.0, -4 + 4 * part(random)), until = std::min(end, at + length);
    add(a, node, static_cast<std::uint32_t>(random() % 4), at, until, depth);
    if (depth < 2 && part(random) < 0.3)
      live(random, a, node, at + 0.2 * (until - at), until - 0.3 * (until - at), depth + 1);
    at = until + (part(random) < 0.2 ? 0.3 * length : 0);
  }
}

TEST(Gantt, EachPixelHasWhatAPlainPainterOfAllVisitsPutsThere) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    wire::ViewAnswer a = plain_answer();
    for (const std::uint32_t leaf : kLeaves) live(random, a, leaf, 0, 10, 0);
    const ViewData d = read(a);
    const Rows rows = rows_of(d, {});
    std::uniform_real_distribution<double> at(0, 8);
    const double from = at(random), to = from + 0.01 + at(random) / 4;
    const Viewport view = window(rows, from, to, 600, 160);
    const Gantt calls = gantt(d, rows, view);
    for (std::size_t r = 0; r < 4; ++r)
      for (double x = 0.5; x < view.width; x += 1) {
        std::int64_t innermost = kNoPart;
        bool crowded = false;
        for (const Visit& v : d.visits_of(kLeaves[r])) {
          const double x0 = x_of(view, v.begin), x1 = x_of(view, v.end);
          if (x1 - x0 < 1.001)
            crowded = crowded || (x1 > x - 1 && x0 < x + 1);
          else if (x0 <= x && x < x1 &&
                   (innermost == kNoPart || v.depth > d.visits[static_cast<std::size_t>(innermost)].depth))
            innermost = &v - d.visits.data();
        }
        if (crowded) continue;
        ++compared;
        ASSERT_EQ(visit_at(calls, x, 40 * static_cast<double>(r + 1) - 0.5), innermost)
            << "row " << r << " x " << x;
      }
  }
  EXPECT_GT(compared, 20'000u);
}

void send(wire::ViewAnswer& a, std::uint32_t from, std::uint32_t to, double sent, double took,
          std::uint32_t flags = 0) {
  wire::ViewMessages& m = *a.mutable_messages();
  m.add_from(from), m.add_to(to), m.add_bytes(100), m.add_tag(7), m.add_flags(flags);
  m.add_sent_ns(static_cast<std::int64_t>(sent * kSecond));
  m.add_took_ns(static_cast<std::int64_t>(took * kSecond));
}

TEST(Gantt, AMessageIsAnArrowFromRowToRow) {
  wire::ViewAnswer a = plain_answer();
  add(a, 2, 1, 1, 2);
  add(a, 3, 1, 2, 4);
  add(a, 2, 2, 3, 5);
  send(a, 3, 2, 4, 1, 1);
  send(a, 2, 3, 1, 3);
  send(a, 2, 6, 1, 0.5);
  const ViewData d = read(a);
  ASSERT_THAT(d.messages, SizeIs(3));
  EXPECT_EQ(d.messages[0].to, 3u) << "by the time they were sent";
  EXPECT_EQ(d.messages[0].received.value - d.boundaries[0].value, 4 * kSecond);
  EXPECT_EQ(d.messages[0].bytes, 100u);
  EXPECT_EQ(d.messages[0].tag, 7);
  EXPECT_TRUE(d.messages[0].arrival_known && !d.messages[2].arrival_known);
  // Four rows of twenty pixels.
  Rows rows = rows_of(d, {});
  Gantt g = gantt(d, rows, window(rows, 0, 10));
  ASSERT_THAT(g.arrows, SizeIs(3));
  EXPECT_EQ(g.messages_in_sight, 3u);
  EXPECT_EQ(std::tuple(g.arrows[0].x0, g.arrows[0].y0, g.arrows[0].x1, g.arrows[0].y1),
            std::tuple(100.0, 10.0, 400.0, 30.0));
  EXPECT_EQ(std::tuple(g.arrows[1].x0, g.arrows[1].y0, g.arrows[1].x1, g.arrows[1].y1),
            std::tuple(100.0, 10.0, 150.0, 70.0));
  // What neither begins, ends nor passes there is not seen.
  EXPECT_THAT(gantt(d, rows, window(rows, 2, 3)).arrows, SizeIs(1));
  EXPECT_THAT(gantt(d, rows, window(rows, 6, 7)).arrows, IsEmpty());
  // Those inside a folded row are part of what it stands for.
  Folding folding;
  folding.folded.insert(d.nodes[1].path);
  rows = rows_of(d, folding);
  g = gantt(d, rows, window(rows, 0, 10));
  ASSERT_THAT(g.arrows, SizeIs(1));
  EXPECT_EQ(d.messages[g.arrows[0].message].to, 6u);

  // Of a visit: what it sent, and what was there when it ended.
  EXPECT_THAT(messages_of(d, d.visits_of(2)[0]), testing::ElementsAre(0, 1));
  EXPECT_THAT(messages_of(d, d.visits_of(3)[0]), testing::ElementsAre(0));
  EXPECT_THAT(messages_of(d, d.visits_of(2)[1]), IsEmpty()) << "nothing says that it was there then";
}

TEST(Gantt, OfTooManyMessagesThoseThatTookLongestAreSeen) {
  wire::ViewAnswer a = plain_answer();
  add(a, 2, 1, 1, 2);
  for (std::size_t i = 0; i < kMostArrows + 50; ++i)
    send(a, 2, 3, static_cast<double>(i) / 1000, 1 + static_cast<double>(i * 37 % 2000) / 1000);
  const ViewData d = read(a);
  const Rows rows = rows_of(d, {});
  const Gantt g = gantt(d, rows, window(rows, 0, 10));
  ASSERT_THAT(g.arrows, SizeIs(kMostArrows));
  EXPECT_EQ(g.messages_in_sight, kMostArrows + 50);
  std::set<std::uint32_t> seen;
  DurationNs shortest(INT64_MAX), left_out(0);
  for (const Arrow& arrow : g.arrows) {
    EXPECT_TRUE(seen.empty() || *seen.rbegin() < arrow.message) << "in order";
    seen.insert(arrow.message);
    shortest = std::min(shortest, d.messages[arrow.message].received - d.messages[arrow.message].sent);
  }
  for (std::uint32_t i = 0; i < d.messages.size(); ++i)
    if (!seen.contains(i)) left_out = std::max(left_out, d.messages[i].received - d.messages[i].sent);
  EXPECT_LE(left_out, shortest);
}

TEST(Gantt, MessagesThatMakeNoSenseAreRefused) {
  const auto wrong = [](auto&& change) {
    wire::ViewAnswer a = plain_answer();
    send(a, 2, 3, 1, 2);
    change(*a.mutable_messages());
    const auto d = view_data_untrusted(a);
    return d ? "nothing" : d.error().message;
  };
  using M = wire::ViewMessages;
  EXPECT_EQ(wrong([](M&) {}), "nothing");
  EXPECT_THAT(wrong([](M& m) { m.add_tag(1); }), HasSubstr("the lists of its messages differ in length"));
  EXPECT_THAT(wrong([](M& m) { m.set_from(0, 1); }), HasSubstr("message 0 is of no leaf"));
  EXPECT_THAT(wrong([](M& m) { m.set_to(0, 7); }), HasSubstr("message 0 is of no leaf"));
  EXPECT_THAT(wrong([](M& m) { m.set_took_ns(0, INT64_MAX); }), HasSubstr("ends beyond all times"));
  EXPECT_THAT(wrong([](M& m) { m.set_sent_ns(0, INT64_MAX); }), HasSubstr("ends beyond all times"));
}

TEST(Gantt, VisitsThatMakeNoSenseAreRefused) {
  const auto wrong = [](auto&& change) {
    wire::ViewAnswer a = plain_answer();
    add(a, 2, 1, 1, 2);
    change(*a.mutable_visits());
    const auto d = view_data_untrusted(a);
    return d ? "nothing" : d.error().message;
  };
  using V = wire::ViewVisits;
  EXPECT_EQ(wrong([](V&) {}), "nothing");
  EXPECT_THAT(wrong([](V& v) { v.add_depth(1); }), HasSubstr("the lists of its visits differ in length"));
  EXPECT_THAT(wrong([](V& v) { v.set_node(0, 1); }), HasSubstr("visit 0 is of no leaf"));
  EXPECT_THAT(wrong([](V& v) { v.set_node(0, 7); }), HasSubstr("visit 0 is of no leaf"));
  EXPECT_THAT(wrong([](V& v) { v.set_state(0, 4); }), HasSubstr("visit 0 has an unknown state"));
  EXPECT_THAT(wrong([](V& v) { v.set_depth(0, 65); }), HasSubstr("visit 0 is too deep"));
  EXPECT_THAT(wrong([](V& v) { v.set_length_ns(0, ~std::uint64_t{0}); }), HasSubstr("ends beyond all times"));
  EXPECT_THAT(wrong([](V& v) { v.set_begin_ns(0, std::numeric_limits<std::int64_t>::max()); }),
              HasSubstr("ends beyond all times"));
}

}  // namespace gantt_test
}  // namespace margay::scene
