// Regions, marks and variables in the rows of their resources; and answers whose annotations make no sense.
#include "margay/scene/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "synthetic_view.h"

namespace margay::scene {
namespace annotations_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint32_t kRegion = 1, kVariable = 2, kMark = 3;

// Two ranks (nodes 1 and 2), ten slices of a second.
class Told {
 public:
  Told() {
    support::ViewBuilder build(10);
    build.state("Compute");
    for (const char* rank : {"rank0", "rank1"}) build.node(rank, 0);
    build.part(0, 0, 10, {{0, 1.0F}});
    answer = build.answer();
    for (const char* name : {"step", "load", "checkpoint", "heat"})
      answer.mutable_annotations()->add_names(name);
  }
  void add(std::uint32_t node, std::uint32_t kind, std::uint32_t name, double begin, double length = 0,
           double value = 0, std::uint32_t depth = 0) {
    wire::ViewAnnotations& a = *answer.mutable_annotations();
    a.add_node(node), a.add_kind(kind), a.add_name(name), a.add_value(value), a.add_depth(depth);
    a.add_begin_ns(static_cast<std::int64_t>(begin * kSecond));
    a.add_length_ns(static_cast<std::uint64_t>(length * kSecond));
  }
  ViewData read() const {
    auto d = view_data_untrusted(answer);
    EXPECT_TRUE(d) << d.error().message;
    return d ? std::move(*d) : ViewData();
  }
  wire::ViewAnswer answer;
};

// A hundred pixels a second, forty a row.
AnnotationLayout laid_out(const ViewData& d, double from = 0, double to = 10) {
  const Rows rows = rows_of(d, {});
  const auto at = [&](double s) {
    return d.boundaries[0] + DurationNs(static_cast<std::int64_t>(s * kSecond));
  };
  return annotations(d, rows, {(to - from) * 100, 80, {at(from), at(to)}, {0, rows.height}});
}

TEST(Annotations, ARegionIsABracketAndThoseInsideItAreLower) {
  Told told;
  told.add(2, kRegion, 0, 1, 5);
  told.add(2, kRegion, 2, 2, 1, 0, 1);
  const ViewData d = told.read();
  const AnnotationLayout all = laid_out(d);
  ASSERT_THAT(all.brackets, SizeIs(2));
  EXPECT_EQ(all.brackets[0].x0, 100);
  EXPECT_EQ(all.brackets[0].x1, 600);
  EXPECT_GT(all.brackets[0].y, 40);
  EXPECT_GT(all.brackets[1].y, all.brackets[0].y);
  EXPECT_TRUE(all.brackets[0].begins && all.brackets[0].ends);
  EXPECT_EQ(d.annotation_names[d.annotations[all.brackets[1].annotation].name], "checkpoint");
  const AnnotationLayout middle = laid_out(d, 4, 5);
  ASSERT_THAT(middle.brackets, SizeIs(1));
  EXPECT_FALSE(middle.brackets[0].begins || middle.brackets[0].ends);
  EXPECT_EQ(middle.brackets[0].x1, 100);
}

TEST(Annotations, MarksOfAPixelAreOneTick) {
  Told told;
  for (const double t : {1.0, 1.001, 1.002, 3.0}) told.add(1, kMark, 2, t);
  told.add(1, kMark, 3, 1.0015);
  const AnnotationLayout all = laid_out(told.read());
  ASSERT_THAT(all.ticks, SizeIs(2));
  EXPECT_EQ(all.ticks[0].x, 100);
  EXPECT_EQ(all.ticks[0].count, 4u);
  EXPECT_EQ(all.ticks[1].count, 1u);
  EXPECT_LT(all.ticks[1].y1, 40);
  EXPECT_THAT(laid_out(told.read(), 5, 6).ticks, IsEmpty());
}

TEST(Annotations, AVariableHoldsUntilItsNextValueOnTheScaleOfItsName) {
  Told told;
  told.add(1, kVariable, 1, 2, 0, 0);
  told.add(1, kVariable, 1, 4, 0, 10);
  told.add(2, kVariable, 1, 0, 0, 5);
  told.add(2, kVariable, 3, 0, 0, -1e300);
  const AnnotationLayout all = laid_out(told.read());
  ASSERT_THAT(all.curves, SizeIs(3));
  // The lower half of a row, two pixels above its end.
  EXPECT_THAT(all.curves[0].points, ElementsAre(Pair(200, 38), Pair(400, 38), Pair(400, 20), Pair(1000, 20)));
  EXPECT_EQ(all.curves[1].points[0], std::pair(0.0, 69.0)) << "half of what rank0 has at most";
  EXPECT_EQ(all.curves[2].points[0].second, 69) << "of a constant the middle";
}

// Whatever the number of values in a pixel: its least and largest are seen, and four at most.
TEST(Annotations, APixelHasItsExtremes) {
  Told told;
  for (int i = 0; i < 1000; ++i)
    told.add(1, kVariable, 1, 1 + i * 1e-6, 0, i == 500 ? 100 : i == 700 ? -100 : i % 7);
  const AnnotationLayout all = laid_out(told.read());
  ASSERT_THAT(all.curves, SizeIs(1));
  EXPECT_LE(all.curves[0].points.size(), 5u);
  std::vector<double> y;
  for (const auto& [x, at] : all.curves[0].points) y.push_back(at);
  EXPECT_EQ(*std::min_element(y.begin(), y.end()), 20);
  EXPECT_EQ(*std::max_element(y.begin(), y.end()), 38);
}

TEST(Annotations, FoldedRowsHaveNone) {
  Told told;
  told.add(1, kMark, 2, 1);
  const ViewData d = told.read();
  Folding folding;
  folding.most_depth = 0;
  const Rows rows = rows_of(d, folding);
  EXPECT_TRUE(annotations(d, rows, {1000, 80, d.range(), {0, rows.height}}).empty());
}

TEST(Annotations, WhatHoldsAtATimeIsFound) {
  Told told;
  told.add(1, kRegion, 2, 2, 1, 0, 1);
  told.add(1, kRegion, 0, 1, 5);
  told.add(1, kVariable, 1, 1, 0, 3);
  told.add(1, kVariable, 1, 2, 0, 4);
  told.add(1, kVariable, 3, 5, 0, 4);
  told.add(1, kMark, 2, 2.5);
  told.add(2, kMark, 2, 2.5);
  const ViewData d = told.read();
  std::vector<std::string> names;
  for (const std::uint32_t i :
       annotations_at(d, 1, d.boundaries[0] + milliseconds(2'510), milliseconds(20))) {
    const Annotation& a = d.annotations[i];
    names.push_back(d.annotation_names[a.name] + (a.kind == Annotation::Kind::kVariable
                                                      ? " = " + std::to_string(static_cast<int>(a.value))
                                                      : ""));
  }
  EXPECT_THAT(names, ElementsAre("step", "checkpoint", "load = 4", "checkpoint"));
  EXPECT_THAT(annotations_at(d, 2, d.boundaries[0] + milliseconds(2'600), milliseconds(20)), IsEmpty());
}

TEST(Annotations, ThatMakeNoSenseAreRefused) {
  const auto wrong = [](auto&& change) {
    Told told;
    told.add(1, kRegion, 0, 1, 1);
    change(*told.answer.mutable_annotations());
    const auto d = view_data_untrusted(told.answer);
    return d ? "nothing" : d.error().message;
  };
  using A = wire::ViewAnnotations;
  EXPECT_EQ(wrong([](A&) {}), "nothing");
  EXPECT_THAT(wrong([](A& a) { a.add_depth(1); }),
              HasSubstr("the lists of its annotations differ in length"));
  EXPECT_THAT(wrong([](A& a) { a.set_node(0, 0); }), HasSubstr("annotation 0 is of no leaf"));
  EXPECT_THAT(wrong([](A& a) { a.set_name(0, 4); }), HasSubstr("annotation 0 has an unknown name"));
  EXPECT_THAT(wrong([](A& a) { a.set_kind(0, 0); }), HasSubstr("annotation 0 is of an unknown kind"));
  EXPECT_THAT(wrong([](A& a) { a.set_kind(0, 4); }), HasSubstr("annotation 0 is of an unknown kind"));
  EXPECT_THAT(wrong([](A& a) { a.set_depth(0, 65); }), HasSubstr("annotation 0 is too deep"));
  EXPECT_THAT(wrong([](A& a) { a.set_value(0, std::numeric_limits<double>::infinity()); }),
              HasSubstr("has a value that is no number"));
  EXPECT_THAT(wrong([](A& a) { a.set_length_ns(0, ~std::uint64_t{0}); }), HasSubstr("ends beyond all times"));
}

}  // namespace annotations_test
}  // namespace margay::scene
