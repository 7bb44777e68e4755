// Changes taken many at a time leave what they leave one by one.
#include <gtest/gtest.h>

#include <random>

#include "margay/base/record.h"
#include "margay/slicer/slicer.h"

namespace margay::slicer {
namespace plain_test {

constexpr DurationNs kSlice = milliseconds(10);
constexpr TimeNs kBegin(1'000'000'000'000);
constexpr DurationNs kOffset(-7'777);  // a host's clock: trace time is host time and this

struct Batch {
  std::vector<std::int64_t> time;
  std::vector<std::uint16_t> state;
  std::vector<std::uint8_t> kind;
  void add(std::int64_t at, int name, int what) {
    time.push_back(at);
    state.push_back(static_cast<std::uint16_t>(name));
    kind.push_back(static_cast<std::uint8_t>(what));
  }
};

// Two slicers that are told the same: one each change, one all it can take.
struct Pair {
  Options options{kSlice, 8, 4};
  Slicer one, many;
  std::vector<std::uint32_t> states = {kCompute.value, 3, 4, 5 + PlainChanges::kEnds, 6, 7};
  std::size_t taken = 0, given = 0;

  explicit Pair(Operator op = {}) : options{kSlice, 8, 4, op}, one(options), many(options) {
    for (Slicer* s : {&one, &many}) {
      s->start(kBegin);
      static_cast<void>(s->add_leaf());
      static_cast<void>(s->add_leaf());
    }
  }
  void each(Slicer& s, LeafIndex leaf, const Batch& b, std::size_t i) {
    const TimeNs t = TimeNs(b.time[i]) + kOffset;
    if (b.state[i] >= states.size()) return;  // rejected
    const StateId state(static_cast<std::uint16_t>(states[b.state[i]] & 0xffff));
    if (b.kind[i] == MARGAY_ENTER) {
      static_cast<void>(s.enter(leaf, state, t));
    } else if (b.kind[i] == MARGAY_LEAVE) {
      static_cast<void>(s.leave(leaf, state, t));
      if (states[b.state[i]] >= PlainChanges::kEnds) static_cast<void>(s.end(leaf, t));
    } else {
      static_cast<void>(s.gap(leaf, t, 1));
    }
  }
  void tell(LeafIndex leaf, const Batch& b) {
    given += b.time.size();
    for (std::size_t i = 0; i < b.time.size(); ++i) each(one, leaf, b, i);
    for (std::size_t i = 0; i < b.time.size();) {
      PlainChanges rest;
      rest.time_ns = std::span(b.time).subspan(i);
      rest.state = std::span(b.state).subspan(i);
      rest.kind = std::span(b.kind).subspan(i);
      rest.states = states;
      rest.offset = kOffset;
      rest.until = kBegin + seconds(1000);
      const std::size_t n = many.take_plain(leaf, rest);
      ASSERT_LE(n, b.time.size() - i);
      taken += n;
      i += n;
      if (i < b.time.size()) each(many, leaf, b, i++);
    }
  }
  void cover(LeafIndex leaf, TimeNs t) {
    one.cover(leaf, t);
    many.cover(leaf, t);
  }
  void close(TimeNs t) {
    static_cast<void>(one.close_through(t));
    static_cast<void>(many.close_through(t));
  }
  void expect_same() {
    for (std::uint32_t l = 0; l < 2; ++l)
      EXPECT_EQ(one.leaf_state(LeafIndex(l)), many.leaf_state(LeafIndex(l))) << "leaf " << l;
    EXPECT_EQ(one.take_amended(), many.take_amended());
    const auto changed = one.take_changed();
    EXPECT_EQ(changed, many.take_changed());
    EXPECT_EQ(one.next_open(), many.next_open());
    EXPECT_EQ(one.unbalanced(), many.unbalanced());
    EXPECT_EQ(one.backwards(), many.backwards());
    for (const SliceIndex s : changed) {
      ASSERT_EQ(one.column(s) == nullptr, many.column(s) == nullptr);
      if (one.column(s) != nullptr) {
        EXPECT_EQ(*one.column(s), *many.column(s)) << "slice " << s.value;
      }
    }
  }
};

constexpr LeafIndex kLeaf(0);
std::int64_t host(std::int64_t us) {
  return (kBegin - kOffset).value + us * 1000;
}

TEST(PlainChanges, AreTakenWholeWhereTheyCanBe) {
  Pair pair;
  static_cast<void>(pair.one.begin(kLeaf, kBegin));
  static_cast<void>(pair.many.begin(kLeaf, kBegin));
  Batch b;
  for (int i = 0; i < 1000; ++i) {
    b.add(host(100 + i * 50), 1 + i % 2, MARGAY_ENTER);
    b.add(host(120 + i * 50), 1 + i % 2, MARGAY_LEAVE);
  }
  pair.tell(kLeaf, b);
  EXPECT_EQ(pair.taken, 2000u);
  pair.expect_same();
  pair.close(kBegin + milliseconds(30));
  pair.expect_same();
  const auto* c = pair.many.column(slice_of(kBegin, kSlice));
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(c->visits(kLeaf)[3] + c->visits(kLeaf)[4], 198u);
}

TEST(PlainChanges, WhatIsMoreThanThatIsLeftToTheGeneralWay) {
  Pair pair;
  Batch b;
  b.add(host(100), 1, MARGAY_ENTER);  // the first thing heard of the leaf
  b.add(host(200), 2, MARGAY_ENTER);  // inside
  b.add(host(300), 2, MARGAY_LEAVE);
  b.add(host(400), 1, MARGAY_LEAVE);
  b.add(host(500), 4, MARGAY_LEAVE);  // is not open
  b.add(host(450), 4, MARGAY_ENTER);  // time runs backwards
  b.add(host(600), 99, MARGAY_LEAVE);
  b.add(host(700), 4, MARGAY_LEAVE);
  b.add(host(700), 0, MARGAY_ENTER);  // Compute, by name
  b.add(host(800), 0, MARGAY_LEAVE);
  b.add(host(900), 5, MARGAY_GAP);
  b.add(host(950), 2, MARGAY_ENTER);
  b.add(host(30'000), 2, MARGAY_LEAVE);
  b.add(host(30'000), 3, MARGAY_ENTER);
  b.add(host(31'000), 3, MARGAY_LEAVE);  // its last
  b.add(host(32'000), 1, MARGAY_ENTER);
  pair.tell(kLeaf, b);
  pair.expect_same();
  EXPECT_GT(pair.taken, 0u);
  EXPECT_LT(pair.taken, b.time.size());
}

TEST(PlainChanges, NothingIsTakenWhereMoreThanDurationsIsMeasured) {
  Operator op;
  op.measure = Operator::Measure::kOccurrences;
  Pair pair(op);
  Batch b;
  b.add(host(100), 1, MARGAY_ENTER);
  b.add(host(200), 1, MARGAY_LEAVE);
  pair.tell(kLeaf, b);
  EXPECT_EQ(pair.taken, 0u);
  pair.expect_same();
}

// Any mixture, in any batches, with promises and closed slices in between.
TEST(PlainChanges, AnyMixtureIsTheSame) {
  std::size_t taken = 0, given = 0;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto up_to = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    Pair pair;
    const int odd = up_to(3) == 0 ? 2 : up_to(60) + 3;  // one in so many changes is not as one would expect
    std::int64_t now[2] = {10, 20};
    int open[2] = {0, 0};
    for (int round = 0; round < 30; ++round) {
      const auto leaf = static_cast<std::uint32_t>(up_to(2));
      Batch b;
      for (int n = up_to(80); n > 0; --n) {
        now[leaf] += up_to(8) == 0 ? up_to(25'000) : up_to(400);
        if (up_to(12) == 0) now[leaf] = (now[leaf] / 10'000 + 1) * 10'000;  // on the edge of a slice
        if (up_to(odd) == 0) {
          b.add(host(now[leaf] - (up_to(4) == 0 ? up_to(200'000) : 0)), up_to(7),
                up_to(12) == 0  ? MARGAY_GAP
                : up_to(2) == 0 ? MARGAY_ENTER
                                : MARGAY_LEAVE);
        } else if (open[leaf] == 0) {
          open[leaf] = up_to(20) == 0 ? 3 : 1 + up_to(2) + (up_to(9) == 0 ? 3 : 0);
          b.add(host(now[leaf]), open[leaf], MARGAY_ENTER);
        } else {
          b.add(host(now[leaf]), std::exchange(open[leaf], 0), MARGAY_LEAVE);
        }
      }
      pair.tell(LeafIndex(leaf), b);
      if (up_to(3) == 0) pair.cover(LeafIndex(leaf), TimeNs(host(now[leaf] - up_to(3'000))) + kOffset);
      if (up_to(4) == 0) pair.close(TimeNs(host(std::min(now[0], now[1]) - 5'000 + up_to(20'000))) + kOffset);
      if (up_to(3) == 0) pair.expect_same();
    }
    pair.expect_same();
    if (HasFailure()) return;
    taken += pair.taken;
    given += pair.given;
  }
  EXPECT_GT(taken, given / 2) << "little of it was plain: " << taken << " of " << given;
}

}  // namespace plain_test
}  // namespace margay::slicer
