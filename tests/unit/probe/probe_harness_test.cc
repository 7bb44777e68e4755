// The probe under sanitizers, and at its limits: what was called is what was recorded, dropped or counted.
#include "mpi_job.h"

namespace margay::node {
namespace probe_harness_test {

struct ProbeHarnessTest : ProbeMpiTest {
  long calls = 0;
  Rank done(const std::string& what, const std::string& environment = "") {
    const Outcome o = sh("MARGAY_RUN_DIR=" + dir.path + " " + environment + " " MARGAY_HARNESS " " + what);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.err, "");
    calls = std::atol(o.out.c_str());
    auto all = read();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? Rank{} : std::move(all[0]);
  }
  // Records of calls of MPI, and those that found no ring.
  static std::size_t records(const Rank& r, bool states = false) {
    std::size_t n = 0;
    for (const auto& ring : r.rings)
      for (const auto& e : ring)
        n += (e.kind == MARGAY_ENTER || e.kind == MARGAY_LEAVE) && (states || r.name(e).starts_with("MPI_"));
    return n;
  }
};

TEST_F(ProbeHarnessTest, AThousandThreads) {
  const Rank r = done("threads 1000");
  EXPECT_EQ(calls, 2 + 1000 * 40);
  EXPECT_EQ(records(r) + r.dropped + r.ringless, 2 * static_cast<std::size_t>(calls));
  EXPECT_LE(r.rings.size(), std::size_t{probe::kRings});
  EXPECT_GE(r.of("MPI_Recv", MARGAY_LEAVE).size(), 20u * 16)
      << "rings of threads that have ended are taken over";
  expect_nested(r);
}

TEST_F(ProbeHarnessTest, TenThousandCommunicators) {
  const Rank r = done("communicators 10000");
  EXPECT_EQ(calls, 2 + 4 * 10'000);
  EXPECT_EQ(records(r), 2 * static_cast<std::size_t>(calls));
  EXPECT_EQ(r.of("MPI_Barrier", MARGAY_ENTER).size(), 20'000u) << "by both names";
  std::set<std::uint32_t> numbers;
  for (const auto& e : r.of("MPI_Barrier", MARGAY_ENTER)) numbers.insert(e.comm);
  EXPECT_EQ(numbers.size(), 10'000u);
  expect_nested(r);
}

TEST_F(ProbeHarnessTest, SmallRingsOverflowAndCount) {
  const Rank r = done("communicators 1000", "MARGAY_RING_RECORDS=64");
  ASSERT_EQ(r.rings.size(), 1u);
  EXPECT_EQ(r.rings[0].size(), 64u);  // and read() has compared what was produced with what was dropped
}

TEST_F(ProbeHarnessTest, NamesThatThreadsMakeAtTheSameTime) {
  const Rank r = done("names 16");
  EXPECT_EQ(calls, 2 + 16 * 20 * 2);
  std::map<std::string, std::size_t> times;
  for (const auto& name : r.names) ++times[name.name + "/" + std::to_string(name.family)];
  for (const auto& [name, n] : times) EXPECT_EQ(n, 1u) << name << " is there twice";
  EXPECT_GT(r.of("(other states)", MARGAY_ENTER).size(), 0u) << "320 are more than there is room for";
}

TEST_F(ProbeHarnessTest, WhatMpiCallsInsideIsPassedOn) {
  const Rank r = done("inside 50");
  EXPECT_EQ(r.of("MPI_Send", MARGAY_LEAVE).size(), 50u);
  EXPECT_TRUE(r.of("MPI_Barrier", MARGAY_ENTER).empty());
  EXPECT_EQ(r.of("MPI_Recv", MARGAY_LEAVE)[0].bytes, 12u) << "into a status of the probe's own";
  expect_nested(r);
}

TEST_F(ProbeHarnessTest, SignalsAtAnyMoment) {
  const Rank r = done("signals 300");
  // A handler that interrupts a call, or the probe, is passed on; between two calls it is recorded.
  EXPECT_EQ(r.of("MPI_Send", MARGAY_ENTER).size() * 2 + 2, static_cast<std::size_t>(calls));
  EXPECT_LE(r.of("MPI_Barrier", MARGAY_ENTER).size(), 300u);
  expect_nested(r);
}

TEST_F(ProbeHarnessTest, ThreadsThatRaceForTheFirstCall) {
  const Rank r = done("late 12");
  EXPECT_LE(records(r) + r.ringless, 2 * static_cast<std::size_t>(calls));
  EXPECT_GE(r.of("MPI_Init", MARGAY_ENTER).size(), 1u);
  expect_nested(r);
}

TEST_F(ProbeHarnessTest, AChildWritesNothing) {
  const Rank r = done("fork 30");
  EXPECT_EQ(records(r), 2 * static_cast<std::size_t>(calls));
  EXPECT_EQ(calls, 2 + 60);
}

}  // namespace probe_harness_test
}  // namespace margay::node
