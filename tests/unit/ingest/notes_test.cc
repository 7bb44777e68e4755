// Records that change no state, of live sources: variables, marks and links, for operators that measure them.
#include <bit>

#include "rig.h"

namespace margay::ingest::test {
namespace notes_test {

using Measure = slicer::Operator::Measure;

enum : std::uint16_t { kLoad = 5, kOther, kStep, kPipe };

struct Noting : FakeSource {
  Noting() {
    names.insert(names.end(), {{"load", wire::FAMILY_VARIABLE},
                               {"other", wire::FAMILY_VARIABLE},
                               {"step", wire::FAMILY_MARK},
                               {"pipe", wire::FAMILY_LINK}});
  }
  void value(std::uint16_t name, double v, TimeNs t) {
    add(MARGAY_VARIABLE, name, t, std::bit_cast<std::uint64_t>(v));
  }
};

Options with(const slicer::Operator& op) {
  Options o = Rig::options();
  o.op = op;
  return o;
}

Noting a_source() {
  Noting s;
  s.value(kLoad, 2, at(50));
  s.add(MARGAY_ENTER, kSend, at(60), 100);
  s.add(MARGAY_MARK, kStep, at(70));
  s.add(MARGAY_MARK, kStep, at(110));
  s.value(kLoad, 6, at(150));
  s.value(kOther, -1, at(160));
  s.add(MARGAY_LINK_BEGIN, kPipe, at(170), 33);
  s.add(MARGAY_LEAVE, kSend, at(180));
  s.add(MARGAY_LINK_END, kPipe, at(230));
  return s;
}

void take(Rig& rig, const Noting& s) {
  rig.receive_at(at(400), {s.hello(), s.batch(0, s.records.size(), at(300))});
  static_cast<void>(rig.slicer.close_through(trace(at(300))));
}

const model::SliceColumn& slice_at(const Rig& rig, std::int64_t ms) {
  return *rig.slicer.column(slice_of(trace(at(ms)), kSlice));
}

TEST(Notes, AVariableIsMeasuredLive) {
  Rig rig(with({Measure::kMean, "load"}));
  const Noting s = a_source();
  take(rig, s);
  EXPECT_EQ(rig.account().modelled, s.records.size());
  EXPECT_TRUE(rig.account().balanced());
  EXPECT_EQ(slice_at(rig, 0).measured(LeafIndex(0))[0], 50'000'000u);
  EXPECT_EQ(slice_at(rig, 0).measured_value(LeafIndex(0), 0), 2);
  EXPECT_EQ(slice_at(rig, 100).measured_value(LeafIndex(0), 0), 4);
  EXPECT_EQ(slice_at(rig, 200).measured_value(LeafIndex(0), 0), 6);
  EXPECT_EQ(slice_at(rig, 0).duration_ns(LeafIndex(0))[kCompute.value], 10'000'000)
      << "a value is the first that is heard of it";
}

TEST(Notes, MarksAndLinksHaveColumnsOfTheirOwn) {
  for (const auto& [op, name, first, second] :
       {std::tuple(Measure::kOccurrences, "step", 1u, 1u), std::tuple(Measure::kBytes, "pipe", 0u, 33u),
        std::tuple(Measure::kMessages, "pipe", 0u, 1u)}) {
    Rig rig(with({op, {}}));
    take(rig, a_source());
    ASSERT_TRUE(rig.states.knows(name));
    const StateId id = *rig.states.intern(name, model::StateFamily::kOther);
    const auto count = [&](std::int64_t ms) -> std::uint64_t {
      const auto& c = slice_at(rig, ms);
      return id.value < c.plane_columns() ? c.measured(LeafIndex(0))[id.value] : 0;
    };
    EXPECT_EQ(count(0), first) << name;
    EXPECT_EQ(count(100), second) << name;
    EXPECT_EQ(slice_at(rig, 100).measured(LeafIndex(0))[3],
              op == Measure::kBytes ? 100u : op == Measure::kMessages)
        << "MPI_Send";
  }
}

TEST(Notes, WithDurationsTheyAreTakenAndChangeNothing) {
  Rig rig, plain;
  const Noting s = a_source();
  take(rig, s);
  EXPECT_EQ(rig.account().modelled, s.records.size());
  EXPECT_EQ(rig.account().rejected, 0u);
  Noting calls = s;
  std::erase_if(calls.records,
                [](const EventRecord& r) { return r.kind > MARGAY_STACK && r.time_ns != at(50).value; });
  take(plain, calls);
  EXPECT_EQ(rig.cells(LeafIndex(0), trace(at(300))), plain.cells(LeafIndex(0), trace(at(300))));
  EXPECT_FALSE(rig.states.knows("step"));
  EXPECT_EQ(slice_at(rig, 0).plane(), model::Plane::kNone);
}

TEST(Notes, WhatMakesNoSenseIsRejectedAndCounted) {
  Rig rig(with({Measure::kMean, "load"}));
  Noting s;
  s.value(kLoad, 1, at(10));
  s.value(kLoad, -1, at(20));
  s.value(kLoad, std::numeric_limits<double>::quiet_NaN(), at(30));
  s.value(kLoad, 1e300, at(40));
  s.value(kStep, 1, at(50));                // a mark's name
  s.add(MARGAY_MARK, kSend, at(60));        // a state's
  s.add(MARGAY_LINK_BEGIN, kLoad, at(70));  // a variable's
  s.add(MARGAY_BEGIN, kSend, at(80));       // only a trace may say so
  s.add(MARGAY_END, kSend, at(90));
  s.add(17, kSend, at(95));  // no kind
  take(rig, s);
  EXPECT_EQ(rig.account().modelled, 1u);
  EXPECT_EQ(rig.account().rejected, s.records.size() - 1);
  EXPECT_TRUE(rig.account().balanced());
  EXPECT_EQ(slice_at(rig, 0).measured_value(LeafIndex(0), 0), 1);
}

TEST(Notes, NamesBeyondTheBoundOfStatesAreNotMeasured) {
  Options o = with({Measure::kOccurrences, {}});
  o.limits.states = 6;  // those of the source
  Rig rig(o);
  const Noting s = a_source();
  take(rig, s);
  EXPECT_FALSE(rig.states.knows("step"));
  EXPECT_EQ(rig.ingest.counters().refused_by_limit, 1u);
  EXPECT_EQ(rig.account().modelled, s.records.size());
}

}  // namespace notes_test
}  // namespace margay::ingest::test
