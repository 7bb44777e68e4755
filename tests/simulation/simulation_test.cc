// Runs of the whole of Margay in one thread, each from a seed; MARGAY_SEED=n is that one alone, SIMULATIONS=n
// so many of each.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "margay/log/log.h"
#include "support/temporary_folder.h"
#include "world.h"

namespace margay::simulation {
namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

class Simulation : public ::testing::Test {
 protected:
  void SetUp() override {
    log::Options quiet;
    quiet.level = log::Level::kOff;
    log::start(quiet);
  }
  void TearDown() override { log::start({}); }

  void runs(const Plan& plan, std::uint64_t many) {
    const std::uint64_t only = number("MARGAY_SEED", 0);
    const std::uint64_t first = only != 0 ? only : 1, last = only != 0 ? only : number("SIMULATIONS", many);
    std::uint64_t kills = 0, records = 0, lost = 0;
    for (std::uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
      const test::TemporaryFolder place("/dev/shm");
      World world(seed, plan, place / "");
      world.run();
      kills += world.kills();
      records += world.records();
      lost += world.lost();
    }
    std::printf("seeds %llu to %llu: %llu records, %llu kills, %llu lost\n",
                static_cast<unsigned long long>(first), static_cast<unsigned long long>(last),
                static_cast<unsigned long long>(records), static_cast<unsigned long long>(kills),
                static_cast<unsigned long long>(lost));
    if (only == 0 && plan.agent_killed > 0) {
      EXPECT_GT(lost, 0u) << "nothing was lost: this shows nothing";
    }
    if (only == 0 && (plan.daemon_killed + plan.killed_amid_a_write + plan.killed_at_the_end +
                      plan.agent_killed + plan.power_lost) > 0) {
      EXPECT_GT(kills, 0u) << "nobody was killed: this shows nothing";
    }
  }
};

constexpr LinkFaults kBadNetwork{12, 10, 8, 30};

TEST_F(Simulation, ABadRoad) {
  runs({.network = kBadNetwork, .overflow = true}, 6);
}

TEST_F(Simulation, DaemonsKilledBetweenTwoSteps) {
  runs({.network = kBadNetwork, .overflow = true, .daemon_killed = 15}, 6);
}

// Slices close all the same.
TEST_F(Simulation, DaemonsKilledBeforeAnybodyIsHeard) {
  runs({.lasts = seconds(3),
        .quiet = seconds(3),
        .network = kBadNetwork,
        .overflow = true,
        .daemon_killed = 15},
       12);
}

TEST_F(Simulation, DaemonsKilledAmidAWrite) {
  runs({.network = {40, 20, 10}, .killed_amid_a_write = 15, .slow_disk = 3}, 6);
}

// A run that is over goes no further: its end is said again, and is the same.
TEST_F(Simulation, DaemonsKilledWhileTheyCloseTheBooks) {
  runs({.lasts = seconds(3), .network = kBadNetwork, .overflow = true, .killed_at_the_end = 4}, 12);
}

// What they had not delivered is lost, and counted to the record.
TEST_F(Simulation, AgentsAndDaemonsKilled) {
  runs({.network = {40, 20, 10}, .overflow = true, .daemon_killed = 40, .agent_killed = 40}, 6);
}

TEST_F(Simulation, LossesOfPowerAndADiskThatFails) {
  runs({.network = {40, 20, 10}, .power_lost = 25, .disk_fails = 20, .slow_disk = 3}, 6);
}

}  // namespace
}  // namespace margay::simulation
