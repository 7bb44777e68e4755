// The same calls in every language that MPI has an interface for, under both MPIs: counts and bytes are
// equal.
#include "mpi_job.h"

namespace margay::node {
namespace probe_languages_test {

using Case = std::tuple<std::string, std::string>;  // MPI, program

struct ProbeLanguagesTest : ProbeMpiTest, testing::WithParamInterface<Case> {
  std::string program;
  void SetUp() override {
    const auto& [mpi, name] = GetParam();
    program = std::string(MARGAY_PROGRAMS "/") + name + "." + mpi;
    mpirun = std::string(MARGAY_MPIRUN_OF) + mpi;
    if (!std::filesystem::exists(program)) GTEST_SKIP() << "there is no compiler for " << program;
  }
};

TEST_P(ProbeLanguagesTest, CountsPeersTagsAndBytesAreRight) {
  const Outcome o = sh(watched() + ranks(2) + program);
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.err, testing::Not(HasSubstr("margay")));
  const auto all = read();
  expect_counted(all);
  if (HasFatalFailure()) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Rank& r = all[i];
    EXPECT_THAT(r.identity.clock, testing::AnyOf("tsc", "kernel"));
    EXPECT_EQ(r.identity.mpi, std::get<0>(GetParam()) == "mpich" ? "MPICH" : "Open MPI");
    ASSERT_EQ(r.rings.size(), 1u);
    EXPECT_EQ(r.rings[0].size(), 2u * (1 + 10 + 10 + 1 + 3 + 3 + 2 + 1 + 1 + 1 + 1 + 1));
    EXPECT_EQ(r.of("MPI_Recv", MARGAY_LEAVE)[0].peer, 1 - static_cast<int>(i));
    EXPECT_EQ(r.of("MPI_Recv", MARGAY_LEAVE)[0].bytes, 400u);
    EXPECT_EQ(r.of("MPI_Comm_free", MARGAY_ENTER)[0].comm, r.of("MPI_Barrier", MARGAY_ENTER)[3].comm);
    ASSERT_EQ(r.of("MPI_Allreduce", MARGAY_ENTER).size(), 3u);
    EXPECT_EQ(r.of("MPI_Allreduce", MARGAY_ENTER)[2].bytes, 32u) << "in place";
    EXPECT_EQ(r.of("MPI_Irecv", MARGAY_ENTER)[0].bytes, 0u) << "not known yet";
    EXPECT_EQ(r.of("MPI_Waitall", MARGAY_LEAVE)[0].peer, 1 - static_cast<int>(i));
  }
}

INSTANTIATE_TEST_SUITE_P(AllLanguages, ProbeLanguagesTest,
                         testing::Combine(testing::Values("openmpi", "mpich"),
                                          testing::Values("c", "cxx", "mpif_h", "use_mpi", "mpi_f08",
                                                          "python")),
                         [](const auto& of) { return std::get<1>(of.param) + "_" + std::get<0>(of.param); });

// What came with MPI 4: the same calls with counts of 64 bits are the same states.
INSTANTIATE_TEST_SUITE_P(LargeCounts, ProbeLanguagesTest,
                         testing::Combine(testing::Values("mpich"),
                                          testing::Values("c_large", "mpi_f08_large")),
                         [](const auto& of) { return std::get<1>(of.param) + "_" + std::get<0>(of.param); });

// Another tool in the same process sees all of it, and so do we, once: whoever is asked first.
TEST_P(ProbeLanguagesTest, BesideAnotherTool) {
  const auto& [mpi, name] = GetParam();
  const std::string tool = MARGAY_PROGRAMS "/tool." + mpi;
  const bool in_c = name == "c" || name == "cxx" ||
                    name == "python";  // Fortran mostly calls by the name that the tool has not
  for (const std::string& order : {tool + ":" MARGAY_PROBE_FILE, MARGAY_PROBE_FILE ":" + tool}) {
    const Outcome o = sh("MARGAY_RUN_DIR=" + dir.path + " LD_PRELOAD=" + order + " " + ranks(2) + program);
    EXPECT_EQ(o.code, 0) << o.err;
    if (in_c) {
      EXPECT_THAT(o.out, HasSubstr("tool: 15")) << "rank 0: 11 MPI_Send, 4 MPI_Barrier";
      EXPECT_THAT(o.out, HasSubstr("tool: 14"));
    }
    const auto all = read();
    ASSERT_EQ(all.size(), 2u) << order;
    for (std::size_t i = 0; i < 2; ++i) {
      expect_nested(all[i]);
      EXPECT_EQ(all[i].of("MPI_Send", MARGAY_ENTER).size(), i == 0 ? 11u : 10u) << order;
      EXPECT_EQ(all[i].of("MPI_Barrier", MARGAY_ENTER).size(), 4u) << order;
      EXPECT_EQ(all[i].of("MPI_Finalize", MARGAY_ENTER).size(), 1u) << order;
    }
    for (const auto& e : std::filesystem::directory_iterator(dir.rings())) std::filesystem::remove(e.path());
  }
}

// What is not a matter of the language, under the other MPI.
struct ProbeMpichTest : ProbeMpiTest {
  void SetUp() override {
    workload = MARGAY_PROGRAMS "/workload.mpich";
    mpirun = std::string(MARGAY_MPIRUN_OF) + "mpich";
    if (!std::filesystem::exists(workload)) GTEST_SKIP() << "MPICH is not installed";
  }
};

TEST_F(ProbeMpichTest, Regions) {
  for (const Rank& r : both_of("regions")) {
    EXPECT_EQ(r.of("solve", MARGAY_REGION_ENTER).size(), 1u);
    EXPECT_EQ(r.of("solve", MARGAY_REGION_LEAVE).size(), 1u);
  }
}

TEST_F(ProbeMpichTest, ReceivesAreKnownWhenTheyComplete) {
  expect_received();
}

TEST_F(ProbeMpichTest, GarbageThatMpiDoesNotLookAt) {
  ASSERT_EQ(run("counted").code, 0);
  const auto all = read();
  ASSERT_EQ(all.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(all[i].of("MPI_Gather", MARGAY_ENTER)[0].bytes, i == 0 ? 0u : 4u);
    EXPECT_EQ(all[i].of("MPI_Gather", MARGAY_ENTER)[0].peer, 0);
  }
}

TEST_F(ProbeMpichTest, ASessionWithoutInit) {
  const Outcome o = sh(watched() + ranks(2) + MARGAY_PROGRAMS "/sessions.mpich");
  ASSERT_EQ(o.code, 0) << o.err;
  const auto all = read();
  ASSERT_EQ(all.size(), 2u);
  std::set<std::string> ranks;
  for (const Rank& r : all) {
    expect_nested(r);
    EXPECT_EQ(r.flags, unsigned{probe::kFinalized | probe::kExiting});
    ASSERT_EQ(r.rings.size(), 1u);
    EXPECT_EQ(r.name(r.rings[0].front()), "MPI_Session_init");
    EXPECT_EQ(r.name(r.rings[0].back()), "MPI_Session_finalize");
    EXPECT_EQ(r.of("MPI_Comm_create_from_group", MARGAY_ENTER).size(), 1u);
    ASSERT_EQ(r.of("MPI_Allreduce", MARGAY_LEAVE).size(), 3u);
    EXPECT_EQ(r.of("MPI_Allreduce", MARGAY_ENTER)[0].bytes, 4u);
    const auto& environment = r.identity.environment;
    ASSERT_TRUE(environment.contains("PMI_RANK"));
    const std::string rank = environment.at("PMI_RANK");
    ranks.insert(rank);
    EXPECT_EQ(r.of("MPI_Send", MARGAY_ENTER).size(), rank == "0" ? 1u : 0u);
    const auto received = r.of("MPI_Recv", MARGAY_LEAVE);
    ASSERT_EQ(received.size(), rank == "1" ? 1u : 0u);
    EXPECT_EQ(received.empty() ? 4u : received[0].bytes, 4u) << "as its status says";
  }
  EXPECT_EQ(ranks, (std::set<std::string>{"0", "1"}));
}

TEST_F(ProbeMpichTest, AbortIsSeen) {
  EXPECT_NE(run("abort").code, 0);
  const auto all = read();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(
      std::count_if(all.begin(), all.end(), [](const Rank& r) { return (r.flags & probe::kAborted) != 0; }),
      1);
}

TEST_F(ProbeMpichTest, WithoutARunDirectoryOneLineAndNothingElse) {
  const Outcome bare = sh(ranks(2) + workload + " regions");
  const Outcome o = sh("LD_PRELOAD=" MARGAY_PROBE_FILE " " + ranks(2) + workload + " regions");
  EXPECT_EQ(o.code, bare.code);
  EXPECT_EQ(o.out, bare.out);
  EXPECT_EQ(o.err, "margay: no collector (MARGAY_RUN_DIR is not set): this job is not recorded\n" + bare.err);
}

TEST_F(ProbeMpichTest, ThroughAShellWrapper) {
  {
    std::ofstream script(dir.path + "/wrap.sh");
    script << "#!/bin/bash\necho wrapped | cat\nexec \"$@\"\n";
  }
  const Outcome o = sh(watched() + ranks(2) + "bash " + dir.path + "/wrap.sh " + workload + " code");
  EXPECT_EQ(o.code, 42);
  EXPECT_EQ(read().size(), 2u);
}

TEST_F(ProbeMpichTest, ThreadsHaveRings) {
  ASSERT_EQ(run("threads").code, 0);
  const auto all = read();
  ASSERT_EQ(all.size(), 2u);
  for (const Rank& r : all) EXPECT_GT(r.rings.size(), 1u);
}

}  // namespace probe_languages_test
}  // namespace margay::node
