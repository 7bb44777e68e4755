#include "margay/model/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margay/model/hierarchy.h"

namespace margay::model {
namespace view_test {

using testing::ElementsAre;
using testing::HasSubstr;

View view(const char* levels, const char* groups = "") {
  auto v = View::parse(levels, groups);
  EXPECT_TRUE(v) << v.error().message;
  return v.value_or(View());
}
std::string error_of(std::string_view levels, std::string_view groups = "") {
  const auto v = View::parse(levels, groups);
  EXPECT_FALSE(v);
  return v ? "" : v.error().message;
}
std::vector<std::string> paths(std::span<const Attributes> leaves, const View& v) {
  const Hierarchy h(leaves, v);
  std::vector<std::string> out;
  for (std::uint32_t l = 0; l < leaves.size(); ++l) out.push_back(h.path_of(LeafIndex(l)));
  return out;
}
Attributes rank(int r, const char* host, const char* core) {
  return {{"rank", std::to_string(r)}, {"host", host}, {"core", core}, {"thread", "0"}};
}
const std::vector<Attributes> kFour = {rank(0, "a", "0"), rank(1, "a", "1"), rank(10, "b", "0"),
                                       rank(11, "b", "0")};

TEST(View, TheUsualOneHasNoText) {
  EXPECT_TRUE(View().is_usual());
  EXPECT_TRUE(view("").is_usual());
  EXPECT_TRUE(view(" site/cluster/host/rank/process/thread/path ").is_usual());
  EXPECT_EQ(view("").text(), "");
  EXPECT_EQ(view(" host / rank  mod 8/rank div 2").text(), "host/rank mod 8/rank div 2");
  EXPECT_EQ(view(view("host/rank mod 8").text().c_str()), view("host/rank mod 8"));
}

TEST(View, EachResourceIsTheEndOfItsPath) {
  EXPECT_THAT(paths(kFour, view("host/core")),
              ElementsAre("/a/core0/rank0", "/a/core1/rank1", "/b/core0/rank10", "/b/core0/rank11"));
  EXPECT_THAT(paths(kFour, view("core/host/rank")),
              ElementsAre("/core0/a/rank0", "/core1/a/rank1", "/core0/b/rank10", "/core0/b/rank11"));
  EXPECT_THAT(paths(kFour, view("rank")), ElementsAre("/rank0", "/rank1", "/rank10", "/rank11"));
}

TEST(View, RestsAndRowsOfNumbers) {
  EXPECT_THAT(paths(kFour, view("rank mod 2")),
              ElementsAre("/rank mod 2 = 0/rank0", "/rank mod 2 = 1/rank1", "/rank mod 2 = 0/rank10",
                          "/rank mod 2 = 1/rank11"));
  EXPECT_THAT(
      paths(kFour, view("rank div 4/host")),
      ElementsAre("/rank 0-3/a/rank0", "/rank 0-3/a/rank1", "/rank 8-11/b/rank10", "/rank 8-11/b/rank11"));
  // What has no number skips the level.
  EXPECT_THAT(paths(kFour, view("host mod 2")), ElementsAre("/rank0", "/rank1", "/rank10", "/rank11"));
  const std::vector<Attributes> large = {{{"rank", "18446744073709551615"}},
                                         {{"rank", "18446744073709551616"}}};
  EXPECT_THAT(paths(large, view("rank div 10")),
              ElementsAre("/rank 18446744073709551610-18446744073709551615/"
                          "rank18446744073709551615",
                          "/rank18446744073709551616"));
}

TEST(View, GroupsOfAFile) {
  const char* groups = "# who writes\nio: rank1 /b/rank1?  # two patterns\n\nmore: /b\n";
  EXPECT_THAT(paths(kFour, view("group/host", groups)),
              ElementsAre("/others/a/rank0", "/io/a/rank1", "/io/b/rank10", "/io/b/rank11"));
  EXPECT_THAT(paths(kFour, view("host/group", "b: /b/rank10\n")),
              ElementsAre("/a/others/rank0", "/a/others/rank1", "/b/b/rank10", "/b/others/rank11"));
}

TEST(View, ImportedResourcesKeepTheirName) {
  const std::vector<Attributes> leaves = {{{"path1", "s"}, {"path2", "7"}, {"path3", "x"}, {"kind", "cpu"}},
                                          {{"path1", "s"}, {"path2", "8"}, {"kind", "cpu"}},
                                          {{"path1", "t"}, {"path2", "8"}, {"kind", "disk"}}};
  EXPECT_THAT(paths(leaves, view("kind")), ElementsAre("/cpu/x", "/cpu/8", "/disk/8"));
  EXPECT_THAT(paths(leaves, view("kind/path")), ElementsAre("/cpu/s/7/x", "/cpu/s/8", "/disk/t/8"));
  EXPECT_THAT(paths(leaves, view("path2/path1")), ElementsAre("/7/s/x", "/8/s", "/8/t"));
}

TEST(View, ThreadsShowWhereAProcessHasSeveral) {
  const std::vector<Attributes> leaves = {{{"host", "a"}, {"rank", "0"}, {"thread", "0"}, {"core", "3"}},
                                          {{"host", "a"}, {"rank", "0"}, {"thread", "1"}, {"core", "3"}},
                                          {{"host", "a"}, {"rank", "1"}, {"thread", "0"}, {"core", "4"}}};
  EXPECT_THAT(paths(leaves, view("core")),
              ElementsAre("/core3/rank0/thread0", "/core3/rank0/thread1", "/core4/rank1"));
}

TEST(View, RefusesWithTheLevelOrTheLine) {
  EXPECT_THAT(error_of("host//rank"), HasSubstr("a level is the name of an attribute"));
  EXPECT_THAT(error_of("host/"), HasSubstr("a level is the name of an attribute"));
  EXPECT_THAT(error_of("rank modulo 8"),
              HasSubstr("'rank modulo 8': a level is an attribute, 'ATTRIBUTE mod N'"));
  EXPECT_THAT(error_of("rank mod 0"), HasSubstr("'rank mod 0': expected a number from 1 on behind 'mod'"));
  EXPECT_THAT(error_of("rank div x"), HasSubstr("behind 'div'"));
  EXPECT_THAT(error_of("host/rank/host"), HasSubstr("'host': is there twice"));
  EXPECT_THAT(error_of("a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q"), HasSubstr("more than 16 levels"));
  EXPECT_THAT(error_of(std::string(600, 'x')), HasSubstr("longer than 512 bytes"));
  EXPECT_THAT(error_of("group/rank"), HasSubstr("'group': which groups there are is not said"));
  EXPECT_THAT(error_of("host", "io: x"), HasSubstr("no level of the view is 'group'"));
  EXPECT_THAT(error_of("group", "# nothing\n\n"), HasSubstr("groups: no group in it"));
  EXPECT_THAT(error_of("group", "io: x\nnonsense\n"),
              HasSubstr("groups: line 2: 'nonsense': expected 'NAME: PATTERN ...'"));
  EXPECT_THAT(error_of("group", "a:\n"), HasSubstr("line 1: 'a': a group has a pattern"));
  EXPECT_THAT(error_of("group", ": x\n"), HasSubstr("a group has a name"));
  EXPECT_THAT(error_of("group", "a/b: x\n"), HasSubstr("'a/b': a name has no '/'"));
  EXPECT_THAT(error_of("group", std::string(70'000, 'x')), HasSubstr("groups: longer than 65536 bytes"));
  std::string many = "a:";
  for (int i = 0; i < 4097; ++i) many += " x";
  EXPECT_THAT(error_of("group", many), HasSubstr("line 1: more than 4096 patterns"));
}

}  // namespace view_test
}  // namespace margay::model
