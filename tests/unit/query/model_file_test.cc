// The models that `margay partition` reads: what is read, and that each kind of mistake is told with its
// line.
#include "margay/query/model_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace margay::daemon {
namespace model_file_test {

constexpr std::uint64_t kMemory = 1u << 20;

Model model_of(const std::string& text) {
  auto r = parse_model(text, "m", kMemory);
  EXPECT_TRUE(r) << r.error().message;
  return r ? std::move(*r) : Model();
}
std::string error_of(const std::string& text, std::uint64_t memory = kMemory) {
  const auto r = parse_model(text, "m", memory);
  return r ? "no error" : r.error().message;
}
void expect_error(const std::string& text, const std::string& begin, const std::string& part = "") {
  const std::string e = error_of(text);
  EXPECT_TRUE(e.starts_with(begin) && e.find(part) != std::string::npos) << text << "\n-> " << e;
}

// 3 leaves, 2 slices, 2 states; nodes 3 (over 0 and 1) and 4 (the root).
const char* const kText =
    "3 2 2 5\n3 3 4\n4 -1\n"
    "0.1 0.9  0.2 0.8\n"
    "0.3 0.7  0.4 0.6\n"
    "0.5 0.5  1 0\n";

TEST(ModelText, ValuesAreByLeafSliceState) {
  const Model m = model_of(kText);
  EXPECT_EQ(m.leaves(), 3u);
  EXPECT_EQ(m.slices, 2u);
  EXPECT_EQ(m.states, 2u);
  EXPECT_EQ(m.first_slice, SliceIndex(0));
  EXPECT_EQ(m.tree.root(), NodeIndex(4));
  EXPECT_EQ(m.depth(), 2u);
  EXPECT_EQ(m.unit, 1);
  const std::vector<double> by_slice = {0.1, 0.9, 0.3, 0.7, 0.5, 0.5, 0.2, 0.8, 0.4, 0.6, 1, 0};
  EXPECT_EQ(m.values, by_slice);
  EXPECT_EQ(m.label(NodeIndex(1)), "leaf 1");
  EXPECT_EQ(m.label(NodeIndex(3)), "node 3");
  EXPECT_FALSE(m.has_names());
}

TEST(ModelText, LinesMayBreakAnywhereAfterTheFirst) {
  const std::string crlf =
      "\xEF\xBB\xBF"
      "3 2 2 5\r\n3\r\n3 4 4\t-1 0.1 0.9 2e-1 8E-1 +0.3 .7 0.4\r\n0.6 0.5 0.5 1 -0";
  EXPECT_EQ(model_of(crlf).values, model_of(kText).values);
}

TEST(ModelText, ALoneRootIsALeaf) {
  const Model m = model_of("1 1 1 1\n-1\n0.5\n");
  EXPECT_EQ(m.leaves(), 1u);
  EXPECT_EQ(m.depth(), 0u);
}

TEST(ModelText, RowsOverOneAreScaledByTheLargest) {
  const Model m = model_of("1 3 2 1\n-1\n1 3  10 0  0 0\n");
  EXPECT_EQ(m.unit, 10);
  const std::vector<double> scaled = {0.1, 0.3, 1, 0, 0, 0};
  EXPECT_EQ(m.values, scaled);
  EXPECT_EQ(model_of("1 1 2 1\n-1\n0.5 0.5000000001\n").unit, 1);  // rounding
  EXPECT_EQ(model_of("1 1 2 1\n-1\n1e280 1e-400\n").unit, 1e280);
}

TEST(ModelText, MistakesOfTheFirstLine) {
  expect_error("", "m:1: nothing");
  expect_error(" \n\n", "m:1: nothing");
  expect_error("3 2 2\n1", "m:1: ", "H (nodes) is missing");
  expect_error("hello", "m:1: ", "'hello'");
  expect_error("0 2 2 5\n", "m:1: S (leaves) is 0");
  expect_error("3 -2 2 5\n", "m:1: T (slices) is -2");
  expect_error("3 2 2.5 5\n", "m:1: ", "'2.5'");
  expect_error("3 2 2 5 1\n", "m:1: more than four");
  expect_error("3 2 2 2\n", "m:1: 2 nodes (H) cannot hold 3 leaves (S)");
  expect_error("3 1000001 2 5\n", "m:1: T (slices) is 1000001, not 1 to 1000000");
  expect_error("99999999999999999999 1 1 1\n", "m:1: ");
  expect_error(std::string("\0\x1b[31m\xff", 7), "m:1: ");
}

TEST(ModelText, WhatDoesNotFitIsRefusedBeforeItIsRead) {
  const std::string e = error_of("2000000 1000000 65536 2000001\n");
  EXPECT_TRUE(e.starts_with("m:1: 2000000 leaves x 1000000 slices x 65536 states take ")) << e;
  EXPECT_NE(e.find("the memory budget is 1048576 bytes"), std::string::npos) << e;
  EXPECT_TRUE(error_of(kText, 64).starts_with("m:1: ")) << error_of(kText, 64);
  // Within the budget, but not there: nothing is allocated for it.
  const auto r = parse_model("1000 1000 1000 1001\n", "m", ~std::uint64_t{0});
  ASSERT_FALSE(r);
  EXPECT_TRUE(r.error().message.starts_with("m:2: only 0 parents")) << r.error().message;
}

TEST(ModelText, MistakesOfTheHierarchy) {
  expect_error("3 2 2 5\n3 3 4\n4", "m:3: only 4 parents of H = 5", "node 4 is missing");
  expect_error("3 2 2 5\n3 3 x\n", "m:2: the parent of node 2, 'x'");
  expect_error("3 2 2 5\n3 3 4\n4 5\n", "m:3: the parent of node 4 is 5");
  expect_error("3 2 2 5\n3 3 -2\n", "m:2: the parent of node 2 is -2");
  expect_error("3 2 2 5\n3 3\n1 4 -1\n", "m:3: the parent of node 2 is 1, which is a leaf");
  expect_error("3 2 2 5\n3 3 4\n-1\n-1\n", "m:4: two roots: node 4", "node 3 (line 3)");
  expect_error("3 2 2 5\n3 3 4\n4 3\n", "m:3: no root");
  // 3 -> 4 -> 3, and a root elsewhere.
  expect_error("3 2 2 6\n3 3 5\n4\n3 -1\n", "m:3: cycle: node 3 is its own ancestor");
  expect_error("3 2 2 5\n4 4 4\n4 -1\n", "m:3: node 3 has no child");
}

TEST(ModelText, MistakesOfTheValues) {
  const std::string head = "1 2 2 1\n-1\n";
  expect_error(head + "1 0\n0.5\n", "m:", "only 3 values of S*T*X = 4: value 3 (leaf 0, slice 1, state 1)");
  expect_error(head + "1 0\n0.5 0.5\n0 0\n", "m:5: too many values: S*T*X = 4");
  expect_error(head + "1 0\nabc 0\n", "m:4: value 2 (leaf 0, slice 1, state 0), 'abc', is not a number");
  expect_error(head + "1 0\n-0.5 0\n", "m:4: ", "is negative");
  expect_error(head + "1 0\n-inf 0\n", "m:4: ", "is negative");
  expect_error(head + "1 inf\n0 0\n", "m:3: ", "is not finite");
  expect_error(head + "1 1e999\n0 0\n", "m:3: ", "is not finite");
  expect_error(head + "1 nan\n0 0\n", "m:3: ", "is not a number");
  expect_error(head + "1 1e281\n0 0\n", "m:3: ", "is over 1e280");
  expect_error(head + "1 0x1\n0 0\n", "m:3: ", "is not a number");
  expect_error(head + "1 1;0 0 0\n", "m:3: ", "'1;0'");
}

TEST(ModelCsv, NodesAreNumberedDepthFirstInOrderOfAppearance) {
  const Model m = model_of(
      "resource,slice,state,value\n"
      "/a/y/2,5,run,0.25\n"
      "/b/z,5,wait,0.5\n"
      "/a/x,6,run,1\n"
      "/a/y/1,5,wait,0.75\n");
  ASSERT_TRUE(m.has_names());
  std::vector<std::string> paths;
  for (std::uint32_t k = 0; k < m.tree.size(); ++k) paths.push_back(m.path(NodeIndex(k)));
  const std::vector<std::string> expected = {"/", "/a", "/a/y", "/a/y/2", "/a/y/1", "/a/x", "/b", "/b/z"};
  EXPECT_EQ(paths, expected);
  EXPECT_EQ(m.leaves(), 4u);
  EXPECT_EQ(m.first_slice, SliceIndex(5));
  EXPECT_EQ(m.slices, 2u);
  EXPECT_EQ(m.depth(), 3u);
  const std::vector<std::string> states = {"run", "wait"};
  EXPECT_EQ(m.state_names, states);
  const std::vector<double> values = {0.25, 0, 0, 0.75, 0, 0, 0, 0.5, 0, 0, 0, 0, 1, 0, 0, 0};
  EXPECT_EQ(m.values, values);
}

TEST(ModelCsv, QuotesBlanksEndsOfLinesAndSpellings) {
  const Model m = model_of(
      "\"/a/x,\"\"1\"\"\" , -3 ,\"two\nlines\",1\r\n"
      "\r\n"
      "b//c/,-1,s,0.5\r\n"
      "/b/c,-3,s,0.5");
  EXPECT_EQ(m.leaves(), 2u);
  EXPECT_EQ(m.path(NodeIndex(2)), "/a/x,\"1\"");
  EXPECT_EQ(m.path(NodeIndex(4)), "/b/c");
  EXPECT_EQ(m.state_names[0], "two\nlines");
  EXPECT_EQ(m.first_slice, SliceIndex(-3));
  EXPECT_EQ(m.slices, 3u);  // -2 is empty
}

TEST(ModelCsv, AHeaderIsWordsWhereNumbersBelong) {
  EXPECT_EQ(model_of("rank,time,function,share\n/a,0,s,1\n").leaves(), 1u);
  EXPECT_EQ(model_of("/a,0,s,1\n/b,0,s,1\n").leaves(), 2u);
  expect_error("/a,x,s,1\n", "m:1: the slice, 'x'");
  expect_error("/a,1,s,x\n", "m:1: the value, 'x'");
  expect_error("resource,slice,state,value\n", "m:1: a header, and no rows");
}

TEST(ModelCsv, TimesAreSlicesOfAStep) {
  const std::string head = "resource,time,state,value\n";
  // In any order, some of them missing.
  const Model m = model_of(head + "/a,100.75,s,1\n/a,100.25,s,0.5\n/b,100.5,s,0.25\n/b,102,s,0.75\n");
  EXPECT_EQ(m.first_slice, SliceIndex(0));
  EXPECT_EQ(m.slices, 8u);
  ASSERT_TRUE(m.times);
  EXPECT_EQ(m.times->from, TimeNs(100'250'000'000));
  EXPECT_EQ(m.times->to, TimeNs(102'250'000'000));
  EXPECT_EQ(m.times->zero, TimeNs());
  const std::vector<double> values = {0.5, 0, 0, 0.25, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.75};
  EXPECT_EQ(m.values, values);
  // Times since 1970 have all their digits; those before 0 are times, too.
  EXPECT_EQ(model_of(head + "/a,1700000000.000000001,s,1\n/a,1700000000.100000001,s,1\n").times->from,
            TimeNs(1'700'000'000'000'000'001));
  EXPECT_EQ(model_of(head + "/a,-1.5,s,1\n/a,-1e0,s,1\n/a,-.5,s,1\n").times->from, TimeNs(-1'500'000'000));
  EXPECT_EQ(model_of(head + "/a,-1.5,s,1\n/a,-1e0,s,1\n/a,-.5,s,1\n").times->to, TimeNs());
  EXPECT_EQ(model_of(head + "/a,-1.5e9,s,1\n/a,2.5e9,s,1\n").times->to, TimeNs(6'500'000'000'000'000'000));
  // A single one is a second long.
  EXPECT_EQ(model_of(head + "/a,7,s,1\n").times->to, TimeNs(8'000'000'000));
}

TEST(ModelCsv, TimesMayBeRounded) {
  std::string text = "resource,time,state,value\n";
  for (int k = 0; k < 3000; ++k) {
    char line[64];
    std::snprintf(line, sizeof line, "/a,%.3f,s,%d\n", k / 3.0, k % 2);
    text += line;
  }
  const Model m = model_of(text);
  EXPECT_EQ(m.slices, 3000u);
  for (std::size_t k = 0; k < m.slices; ++k) ASSERT_EQ(m.values[k], static_cast<double>(k % 2)) << k;
}

TEST(ModelCsv, TimesThatAreNotRegularAreNamed) {
  const std::string head = "resource,time,state,value\n";
  expect_error(head + "/a,0,s,1\n/a,1,s,1\n/a,2.5,s,1\n/a,4,s,1\n",
               "m:4: the time 2.5 s is not a whole number of steps of 1 s");
  expect_error(head + "/a,0,s,1\n/a,x,s,1\n", "m:3: the time, 'x', is not a number of seconds");
  expect_error(head + "/a,nan,s,1\n", "m:2: the time, 'nan'");
  expect_error(head + "/a,3e9,s,1\n", "m:2: the time, '3e9'");
  expect_error(head + "/a,2.5e9,s,1\n/a,-2.5e9,s,1\n",
               "m:2: times from -2.5e+09 to 2.5e+09 s are more than 4e9 s apart");
  expect_error(head + "/a,1,s,1\n/a,1.0,s,1\n",
               "m:3: '/a', slice 0: this state has a value already, in line 2");
  expect_error(head + "/a,0,s,1\n/a,0.001,s,1\n/a,1e6,s,1\n",
               "m:4: ", "are more than 1000000 steps of 0.001 s");
}

TEST(ModelFile, LooksLikeAModel) {
  for (const char* yes :
       {"resource,slice,state,value\n", "\xEF\xBB\xBF\n a,1,s,2", "4 3 2 7\n4 4", " 1 1 1 1"})
    EXPECT_TRUE(looks_like_model(yes)) << yes;
  for (const char* no :
       {"", "\n\n", "%EventDef PajeDefineContainerType 0\n", "1 2 3\n4", "1 2 3 x", "{\"a\": 1}"})
    EXPECT_FALSE(looks_like_model(no)) << no;
}

TEST(ModelCsv, MistakesOfTheRows) {
  const std::string head = "resource,slice,state,value\n/a/b,0,s,1\n";
  const std::pair<const char*, const char*> mistakes[] = {
      {"/a/c,0,s\n", "m:3: 3 fields, expected 4"},
      {"/a/c,0,s,1,2\n", "m:3: 5 fields, expected 4"},
      {",0,s,1\n", "m:3: no resource"},
      {"/a/c,0,,1\n", "m:3: no state"},
      {"/a/c,0.5,s,1\n", "m:3: the slice, '0.5'"},
      {"/a/c,9223372036854775807,s,1\n", "m:3: the slice"},
      {"/a/c,0,s,-1\n", "m:3: the value, '-1', is negative"},
      {"/a/c,1000000,s,1\n", "m:3: slice 1000000 makes it 1000001 slices from 0 to 1000000"},
      {"/a/c,-1000000,s,1\n", "m:3: slice -1000000 "},
      {"/a,0,s,1\n", "m:3: '/a' is a resource here, but '/a/b' lies below it (line 2)"},
      {"/a/b/c,0,s,1\n", "m:3: '/a/b/c' lies below a resource of line 2, '/a/b'"},
      {"\"/a,0,s,1\n", "m:3: a quoted field is not closed"},
      {"\"/a\"c,0,s,1\n", "m:3: something follows a quoted field"},
      {"/a\"c,0,s,1\n", "m:3: a quote inside a field"},
      {"\"two\nlines\",0,s,1\n/a/d,0,s\n", "m:5: 3 fields"},
  };
  for (const auto& [rows, error] : mistakes) expect_error(head + rows, error);
  expect_error(head + "/a/c,0,s,inf\n", "m:3: ", "is not finite");
  expect_error(head + "/a/c,0,s,1\n/a/b,0,s,0\n", "m:4: '/a/b', slice 0", "line 2");
  expect_error(head + "a/b/,0,s,0\n", "m:3: '/a/b', slice 0", "line 2");  // spelt otherwise
  expect_error(head + std::string(5000, 'a') + ",0,s,1\n", "m:3: a field of 5000 bytes");
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += "/d";
  expect_error(head + deep + ",0,s,1\n", "m:3: ", "is deeper than 64");
}

TEST(ModelCsv, AModelOfFewRowsMayBeTooLarge) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += "/r" + std::to_string(i) + "," + std::to_string(i * 10) + ",s" + std::to_string(i) + ",1\n";
  const std::string e = error_of(text);
  EXPECT_TRUE(e.starts_with("m:100: 100 leaves x 991 slices x 100 states take ")) << e;
}

TEST(ModelCsv, GivesTheSameModelAsText) {
  const Model text = model_of(kText);
  const Model csv = model_of(
      "/a/0,0,x,0.1\n/a/0,0,y,0.9\n/a/0,1,x,0.2\n/a/0,1,y,0.8\n/a/1,0,x,0.3\n/a/1,0,y,0.7\n"
      "/a/1,1,x,0.4\n/a/1,1,y,0.6\n/2,0,x,0.5\n/2,0,y,0.5\n/2,1,x,1\n");
  EXPECT_EQ(csv.values, text.values);
  EXPECT_EQ(csv.tree.size(), text.tree.size());
}

TEST(ReadInput, FilesThatAreNotThere) {
  const auto missing = read_input("/nowhere/m.csv", kMemory);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "/nowhere/m.csv: No such file or directory");
  const auto folder = read_input("/", kMemory);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, "/: Is a directory");
}

TEST(ReadInput, FilesBeyondTheBudget) {
  const std::string path = testing::TempDir() + "model_file_test_input";
  std::ofstream(path) << std::string(1000, 'x');
  EXPECT_EQ(read_input(path, 1000).value_or(""), std::string(1000, 'x'));
  const auto large = read_input(path, 999);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kLimit);
  std::remove(path.c_str());
}

}  // namespace model_file_test
}  // namespace margay::daemon
