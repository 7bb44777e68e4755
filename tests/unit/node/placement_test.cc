// What is told of where a process is: of text from outside, and of folders like the kernel's.
#include "margay/node/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "../../support/temporary_folder.h"

namespace margay::node {
namespace placement_test {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(OwnAttributes, AreNamesWithValues) {
  EXPECT_THAT(own_attributes("rack=7,role=io writer,cluster=a=b"),
              ElementsAre(Pair("cluster", "a=b"), Pair("rack", "7"), Pair("role", "io writer")));
  EXPECT_THAT(own_attributes(""), IsEmpty());
}

TEST(OwnAttributes, WhatMargayTellsItselfIsNotTakenFromAnybody) {
  EXPECT_THAT(own_attributes("rank=3,host=x,pid=1,thread=2,path1=x,type2=y,state_type=z,core=4,group=g"),
              IsEmpty());
  EXPECT_THAT(own_attributes("=,a=,=b,7=x,a b=c,a/b=c,\xff=x,,,ok=1"), ElementsAre(Pair("ok", "1")));
  EXPECT_THAT(own_attributes(std::string(60, 'n') + "=1"), IsEmpty());
  // What is as long as a segment keeps may have been cut: its last is left out.
  EXPECT_THAT(own_attributes("a=1,v=" + std::string(500, 'x')), ElementsAre(Pair("a", "1")));
  EXPECT_THAT(own_attributes(std::string(500, 'x')), IsEmpty());
  std::string many;
  for (char c = 'a'; c <= 'z'; ++c) many += std::string(1, c) + "=x,";
  EXPECT_EQ(own_attributes(many).size(), kMostOwnAttributes);
}

TEST(Environment, SlurmTellsClusterPartitionAndSwitch) {
  EXPECT_THAT(told_by_environment({{"HOME", "/root"},
                                   {"SLURM_CLUSTER_NAME", "big"},
                                   {"SLURM_JOB_PARTITION", "long"},
                                   {"SLURM_TOPOLOGY_ADDR", "root.s3.n17"},
                                   {"SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node"},
                                   {"MARGAY_ATTRIBUTES", "rack=7"}}),
              UnorderedElementsAre(Pair("slurm_cluster", "big"), Pair("slurm_partition", "long"),
                                   Pair("switch", "s3"), Pair("rack", "7")));
  EXPECT_THAT(told_by_environment({{"SLURM_TOPOLOGY_ADDR", "n17"}, {"SLURM_TOPOLOGY_ADDR_PATTERN", "node"}}),
              IsEmpty());
}

TEST(Container, IsANumberOf64Digits) {
  const std::string number = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  EXPECT_EQ(container_of("0::/system.slice/docker-" + number + ".scope\n"), "0123456789ab");
  EXPECT_EQ(container_of("12:cpu:/docker/" + number), "0123456789ab");
  EXPECT_EQ(container_of("0::/user.slice/user-1000.slice\n"), "");
  EXPECT_EQ(container_of(number + "0"), "");
}

TEST(Placement, IsReadFromTheKernelsFolders) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder / name).parent_path());
    std::ofstream(folder / name) << text;
  };
  write("proc/17/cgroup", "0::/\n");
  write("cpu/cpu5/topology/physical_package_id", "1\n");
  std::filesystem::create_directories(folder / "cpu/cpu5/node3");
  std::filesystem::create_directories(folder / "cpu/cpu5/nodes");
  const PlacementRoots roots{folder / "proc", folder / "cpu"};
  const Told told = placement(17, 5, roots);
  EXPECT_THAT(told, Contains(Pair("socket", "1")));
  EXPECT_THAT(told, Contains(Pair("numa", "3")));
  EXPECT_THAT(told, Contains(Key("user")));
  EXPECT_THAT(told, Not(Contains(Key("container"))));
  EXPECT_THAT(placement(17, -1, roots), Not(Contains(Key("socket"))));
  EXPECT_THAT(placement(17, 6, roots), Not(Contains(Key("socket"))));
  EXPECT_THAT(placement(18, 5, roots), UnorderedElementsAre(Pair("socket", "1"), Pair("numa", "3")));
}

TEST(Placement, OfThisProcess) {
  EXPECT_FALSE(placement(getpid(), 0).at("user").empty());
}

}  // namespace placement_test
}  // namespace margay::node
