// What accesses to memory become: leaves, states and records, of each format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <tuple>

#include "margay/import/archive_writer.h"
#include "margay/store/archive.h"
#include "memory_accesses.h"
#include "rig.h"
#include "support/temporary_folder.h"

namespace margay::trace::testing {
namespace memory_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// A pipe cannot be read twice.
Input input_of(const std::string& text, bool pipe, std::size_t piece = 1 << 20) {
  if (!pipe) return Input::of_text("t", text, piece);
  auto whole = std::make_shared<Input>(Input::of_text("t", text, piece));
  return Input(
      "t", [whole](std::span<char> into) { return whole->read(into); }, text.size());
}

std::vector<std::string> lines_of(const char* format, const std::string& text,
                                  const ReadOptions& options = {}, bool pipe = false) {
  Notebook book;
  Input input = input_of(text, pipe);
  const auto chosen = choose_format(format, input);
  EXPECT_TRUE(chosen) << chosen.error().message;
  const auto counts = (*chosen)->read(input, options, book);
  EXPECT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->bytes, text.size());
  return book.final_lines();
}

std::string error_of(const char* format, const std::string& text, const ReadOptions& options = {}) {
  Notebook book;
  Input input = Input::of_text("t", text, 7);
  const auto counts = (*choose_format(format, input))->read(input, options, book);
  EXPECT_FALSE(counts) << text;
  return counts ? "" : counts.error().message;
}

std::string csv(const std::string& lines) {
  return "time,thread,address,kind\n" + lines;
}

TEST(Lackey, EachAccessIsATick) {
  EXPECT_THAT(
      lines_of(
          "auto",
          "==7== Lackey, an example Valgrind tool\n==7== \nI  04000000,3\n S 1ffe000ff8,8\n L 04000010,4\n M "
          "1ffe001000,8\n==7== Exit code:       0\n"),
      ElementsAre("0 /chunk1 0x4000000/page0 begin", "0 /chunk2 0x1ffe000000/page0 begin",
                  "0 /chunk2 0x1ffe000000/page1 begin", "0 /chunk1 0x4000000/page0 enter Fetch",
                  "1000 /chunk1 0x4000000/page0 leave Fetch", "2000 /chunk1 0x4000000/page0 enter Read",
                  "3000 /chunk1 0x4000000/page0 leave Read", "1000 /chunk2 0x1ffe000000/page0 enter Write",
                  "2000 /chunk2 0x1ffe000000/page0 leave Write",
                  "3000 /chunk2 0x1ffe000000/page1 enter Modify",
                  "4000 /chunk2 0x1ffe000000/page1 leave Modify", "4000 /chunk1 0x4000000/page0 end",
                  "4000 /chunk2 0x1ffe000000/page0 end", "4000 /chunk2 0x1ffe000000/page1 end"));
}

TEST(Lackey, OfAPipeALeafIsThereFromItsFirstSliceOn) {
  ReadOptions options;
  options.slice = DurationNs(2000);
  const std::string text = " L 1000,1\n L 1000,1\n L 1000,1\n L 9000,1\n";
  EXPECT_THAT(lines_of("lackey", text, options, true)[1], "0 /chunk1 0x1000/page0 enter Read")
      << "with the names that are known in the end";
  Notebook book;
  Input input = input_of(text, true);
  ASSERT_TRUE((*choose_format("lackey", input))->read(input, options, book));
  std::vector<EventRecord> begins;
  std::copy_if(book.records.begin(), book.records.end(), std::back_inserter(begins),
               [](const EventRecord& r) { return r.kind == MARGAY_BEGIN; });
  ASSERT_EQ(begins.size(), 2u);
  EXPECT_EQ(begins[1].time_ns, 2000);
}

TEST(Lackey, WhatIsWrongIsSaidWithItsLine) {
  for (const char* line : {" L 1ffe", "I  ,3", " L 1000,", " X 1000,4", " L 11112222333344445,1", "hello",
                           " L 1000,8x", "L 1000,8", "=7= a", "\x01\xff", " L g000,4"}) {
    const std::string said = error_of("lackey", "I  1000,1\n" + std::string(line) + "\n L 2000,1\n");
    EXPECT_THAT(said, HasSubstr("t:2: is '")) << line;
    EXPECT_THAT(said, HasSubstr("expected 'I  ADDRESS,SIZE'"));
  }
  EXPECT_THAT(error_of("lackey", "I  1000,1\n" + std::string(70'000, 'x') + "\n"),
              HasSubstr("t:2: is longer"));
}

TEST(Lackey, GoesOnWhereAsked) {
  ReadOptions options;
  options.keep_going = true;
  std::vector<std::string> told;
  options.problem = [&](const std::string& sentence) { told.push_back(sentence); };
  Notebook book;
  Input input = Input::of_text("t", "I  1000,1\noops\n" + std::string(70'000, 'x') + "\n L 2000,4\n L 20", 5);
  const auto counts = (*choose_format("lackey", input))->read(input, options, book);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->rejected, 3u);
  EXPECT_EQ(counts->states, 2u);
  EXPECT_EQ(counts->lines, 5u);
  EXPECT_EQ(told.size(), 3u) << "once, though it is read twice";
}

TEST(Accesses, AreSharedWhereAnotherThreadIsInTheSameSlice) {
  ReadOptions options;
  options.slice = milliseconds(1);
  const auto lines = lines_of(
      "auto", csv("0,1,0x1000,R\n0.0005,2,0x1ff8,W\n0.0005,1,0x2000,M\n0.001,1,0x1000,W\n"), options);
  std::vector<std::string> entered;
  for (const std::string& l : lines)
    if (l.find(" enter ") != std::string::npos) entered.push_back(l);
  EXPECT_THAT(entered, UnorderedElementsAre("0 /chunk1 0x1000/page0/tid1 enter SharedRead",
                                            "500000 /chunk1 0x1000/page0/tid2 enter SharedWrite",
                                            "500000 /chunk1 0x1000/page1/tid1 enter PrivateModify",
                                            "1000000 /chunk1 0x1000/page0/tid1 enter PrivateWrite"));
}

TEST(Accesses, AVisitEndsAtTheNextOneAndWithItsSlice) {
  ReadOptions options;
  options.slice = DurationNs(2500);
  std::vector<std::string> left;
  for (const std::string& l :
       lines_of("accesses", csv("0,1,0,R\n5e-7,1,8,W\n5e-7,1,16,R\n2e-6,1,0,R\n"), options))
    if (l.find(" leave ") != std::string::npos) left.push_back(l);
  EXPECT_THAT(left, ElementsAre("500 /chunk1 0x0/page0/tid1 leave PrivateRead",
                                "500 /chunk1 0x0/page0/tid1 leave PrivateWrite",
                                "1500 /chunk1 0x0/page0/tid1 leave PrivateRead",
                                "2500 /chunk1 0x0/page0/tid1 leave PrivateRead"));
}

TEST(Accesses, LatencyAndCpuAreVariables) {
  std::vector<std::string> values;
  for (const std::string& l :
       lines_of("accesses",
                "cpu,latency,time,thread,address,kind,size\n3,55.5,0,main,4096,read,8\n3,,1,main,4096,"
                "load,\n2,7,2,main,4096,L,8\n"))
    if (l.find(" = ") != std::string::npos) values.push_back(l);
  EXPECT_THAT(values, ElementsAre("0 /chunk1 0x1000/page0/main cpu = 3.000000",
                                  "0 /chunk1 0x1000/page0/main latency = 55.500000",
                                  "2000000000 /chunk1 0x1000/page0/main cpu = 2.000000",
                                  "2000000000 /chunk1 0x1000/page0/main latency = 7.000000"));
}

TEST(Accesses, ProcessesHaveTheirOwnMemory) {
  const auto lines = lines_of("accesses", "process,time,thread,address,kind\n1,0,1,4096,R\n2,0,1,4096,R\n");
  EXPECT_THAT(lines[2], "0 /pid1/chunk1 0x1000/page0/tid1 enter PrivateRead");
  EXPECT_THAT(lines[4], "0 /pid2/chunk2 0x1000/page0/tid1 enter PrivateRead");
}

TEST(Accesses, WhatIsWrongIsSaidWithItsLine) {
  const std::pair<const char*, const char*> wrong[] = {
      {"1,1,0x1000,R,5", "t:3: has 5 fields; expected 4"},
      {"1,1,0x1000", "t:3: has 3 fields; expected 4"},
      {"x,1,0x1000,R", "t:3: the time is 'x'; expected seconds"},
      {"1,,0x1000,R", "t:3: the thread is ''; expected a number or a name"},
      {"1,1,1000h,R", "t:3: the address is '1000h'; expected a number of 64 bits"},
      {"1,1,0x10000000000000000,R", "t:3: the address is "},
      {"1,1,-5,R", "t:3: the address is '-5'"},
      {"1,1,0x1000,Q", "t:3: the kind is 'Q'; expected R, W, M or I"},
      {"0.5,1,0x1000,R",
       "t:3: its time is 500000000 ns before that of the lines above; expected lines that are sorted"}};
  for (const auto& [line, sentence] : wrong)
    EXPECT_THAT(error_of("accesses", csv("1,1,0x1000,R\n" + std::string(line) + "\n")), HasSubstr(sentence));
  EXPECT_THAT(error_of("accesses", "time,thread,address\n"),
              HasSubstr("t:1: of the columns, 'kind' is not known"));
  EXPECT_THAT(error_of("accesses", "time,thread,address,kind,heat\n"), HasSubstr("'heat'"));
  EXPECT_THAT(error_of("accesses", "time,thread,address,kind,time\n"), HasSubstr("'time'"));
  EXPECT_THAT(error_of("accesses", "time,thread,address,kind,cpu\n0,1,2,R,-1\n"),
              HasSubstr("the cpu is '-1'"));
  EXPECT_THAT(error_of("accesses", "time,thread,address,kind,latency\n0,1,2,R,nan\n"),
              HasSubstr("the latency is 'nan'"));
}

TEST(Perf, LinesAreReadAsPerfPrintsThem) {
  const auto lines = lines_of("auto",
                              "# comment\n"
                              "          matrix  4242/4243  [001]  5123.123456:          5 "
                              "cpu/mem-loads,ldlat=30/P:     7f3a4c012340         "
                              "5080142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A         "
                              "     55     401136 main+0x26\n"
                              "   my prog 2  4242/4244  [000]  5123.123457: cpu/mem-stores/P:     "
                              "7f3a4c012348 A+0x8     5080144 |OP STORE|LVL "
                              "L1 hit|SNP N/A|TLB N/A|LCK N/A|BLK  N/A               0\n");
  EXPECT_THAT(lines, ElementsAre("5123123456000 /chunk1 0x7f3a4c012000/page0/tid4243 begin",
                                 "5123123456000 /chunk1 0x7f3a4c012000/page0/tid4244 begin",
                                 "5123123456000 /chunk1 0x7f3a4c012000/page0/tid4243 enter SharedRead",
                                 "5123123456000 /chunk1 0x7f3a4c012000/page0/tid4243 cpu = 1.000000",
                                 "5123123456000 /chunk1 0x7f3a4c012000/page0/tid4243 latency = 55.000000",
                                 "5123123457000 /chunk1 0x7f3a4c012000/page0/tid4243 leave SharedRead",
                                 "5123123457000 /chunk1 0x7f3a4c012000/page0/tid4244 enter SharedWrite",
                                 "5123123457000 /chunk1 0x7f3a4c012000/page0/tid4244 cpu = 0.000000",
                                 "5123123457000 /chunk1 0x7f3a4c012000/page0/tid4244 latency = 0.000000",
                                 "5123123458000 /chunk1 0x7f3a4c012000/page0/tid4244 leave SharedWrite",
                                 "5123123458000 /chunk1 0x7f3a4c012000/page0/tid4243 end",
                                 "5123123458000 /chunk1 0x7f3a4c012000/page0/tid4244 end"));
}

TEST(Perf, FewerFieldsWillDo) {
  const auto lines = lines_of("perf", "t  8279 78762.350122: mem-loads:           404018               12\n");
  EXPECT_THAT(lines[2], HasSubstr("latency = 12"));
  EXPECT_THAT(lines_of("perf", "8279 1.5: mem-stores:u: 404018\n")[1],
              "1500000000 /chunk1 0x404000/page0/tid8279 enter PrivateWrite");
}

TEST(Perf, WhatIsWrongIsSaidWithItsLine) {
  const std::pair<const char*, const char*> wrong[] = {
      {"hello", "t:1: has no time; expected a line of perf script -F"},
      {"t 82 1.5: mem-loads 4040", "t:1: has 'mem-loads' in the place of the event"},
      {"t 82 1.5: mem-loads: xyz", "t:1: has 'xyz' in the place of the address"},
      {"t 82 1.5: mem-loads:", "t:1: has '' in the place of the address"},
      {"t 82 1.5: page-faults: 404018", "t:1: neither its source of the data nor its event, 'page-faults'"},
      {"t x82 1.5: mem-loads: 404018", "t:1: has 'x82' in the place of the thread"},
      {"1.5: mem-loads: 404018", "t:1: has '' in the place of the thread"},
      {"t 82 99999999999999.5: mem-loads: 404018", "t:1: has a time that lies beyond"}};
  for (const auto& [line, sentence] : wrong) EXPECT_THAT(error_of("perf", line), HasSubstr(sentence)) << line;
}

// Attributes of each leaf, by path.
std::map<std::string, model::Attributes> leaves_of(const std::string& text, const ReadOptions& options,
                                                   bool pipe = false) {
  Notebook book;
  Input input = input_of(text, pipe);
  EXPECT_TRUE((*choose_format("auto", input))->read(input, options, book));
  std::map<std::string, model::Attributes> out;
  for (std::uint32_t l = 0; l < book.leaves.size(); ++l)
    out[book.path(LeafIndex(l))] = book.leaves[l].attributes;
  EXPECT_EQ(out.size(), book.leaves.size()) << "each has a path of its own";
  return out;
}

std::vector<std::string> keys_of(const std::map<std::string, model::Attributes>& leaves) {
  std::vector<std::string> out;
  for (const auto& l : leaves) out.push_back(l.first);
  return out;
}

TEST(MemoryPaths, RangesAreHalvesAndChunksEndWhereAMebibyteIsUntouched) {
  std::string text;
  for (const std::uint64_t page : {0x100, 0x101, 0x103, 0x107, 0x207, 0x308}) {
    char line[64];
    std::snprintf(line, sizeof line, " L %llx,1\n", static_cast<unsigned long long>(page * 4096));
    text += line;
  }
  const std::vector<std::string> expected = {"/chunk1 0x100000/pages0-7/pages0-3/pages0-1/page0",
                                             "/chunk1 0x100000/pages0-7/pages0-3/pages0-1/page1",
                                             "/chunk1 0x100000/pages0-7/pages0-3/page3",
                                             "/chunk1 0x100000/pages0-7/page7",
                                             "/chunk1 0x100000/page263",
                                             "/chunk2 0x308000/page0"};
  const auto leaves = leaves_of(text, {});
  EXPECT_THAT(keys_of(leaves), ::testing::UnorderedElementsAreArray(expected));
  EXPECT_THAT(keys_of(leaves_of(text, {}, true)), ::testing::UnorderedElementsAreArray(expected));
  const auto& a = leaves.at("/chunk1 0x100000/pages0-7/page7");
  EXPECT_EQ(a.at("structure"), "chunk1 0x100000");
  EXPECT_EQ(a.at("page"), "7");
  EXPECT_EQ(a.at("number"), "263");
  EXPECT_EQ(a.at("address"), "0x107000");
  EXPECT_EQ(a.at("base"), "None");
}

TEST(MemoryPaths, StructuresComeFirstAndArraysHaveIndices) {
  const test::TemporaryFolder place;
  ReadOptions options;
  options.structures = place.path + "/s";
  std::ofstream(options.structures) << "begin,size,name,element\n0x1100,8192,A,8\n0x3200,16,small,\n";
  const auto leaves = leaves_of(
      csv("0,1,0x1100,R\n0,1,0x10ff,R\n0,1,0x2100,R\n0,1,0x3000,R\n0,1,0x3200,R\n0,1,0x3210,R\n"), options);
  EXPECT_THAT(keys_of(leaves), UnorderedElementsAre("/A/[0-991]/[0-479]/tid1", "/A/[0-991]/[480-991]/tid1",
                                                    "/A/[992-1023]/tid1", "/chunk1 0x1000/page0/tid1",
                                                    "/chunk1 0x1000/page2/tid1", "/small/page0/tid1"));
}

TEST(MemoryPages, MoreLeavesThanFitAreAnErrorThatNamesWhatHelps) {
  std::string text;
  char line[64];
  for (std::uint64_t page = 0; page <= memory::Pages::kMostLeaves; ++page) {
    std::snprintf(line, sizeof line, " L %llx,1\n", static_cast<unsigned long long>(page * 4096));
    text += line;
  }
  EXPECT_THAT(
      error_of("lackey", text),
      HasSubstr("t:65537: more than 65,536 leaves: pages of 4KiB, each for every thread and structure that "
                "it is of; expected larger ones: with --page 8KiB what was read so far takes 32,768"));
  ReadOptions options;
  options.page = 8192;
  Notebook book;
  book.keep = false;
  Input input = Input::of_text("t", text);
  EXPECT_TRUE((*choose_format("lackey", input))->read(input, options, book));
  EXPECT_EQ(book.leaves.size(), 32'769u);
  options.page = 3000;
  EXPECT_THAT(error_of("lackey", text, options), HasSubstr("a page has 3000 bytes; expected a power of two"));
}

// Cells by path, slice and state.
using Cells = std::map<std::tuple<std::string, std::int64_t, std::string>,
                       std::tuple<std::int64_t, std::int64_t, std::uint32_t>>;

Cells cells_of(const std::string& text, bool raw, DurationNs slice) {
  const test::TemporaryFolder place;
  ArchiveWriter::Options options;
  options.run.run = "r";
  options.run.levels = {slice, slice * 10};
  options.raw = raw;
  auto writer = ArchiveWriter::create(place.path + "/a", std::move(options));
  EXPECT_TRUE(writer);
  ReadOptions how;
  how.slice = slice;
  how.sums = !raw;
  Input input = Input::of_text("t", text);
  EXPECT_TRUE((*choose_format("auto", input))->read(input, how, **writer));
  EXPECT_TRUE((*writer)->finish(0, 0));
  const auto archive = store::Archive::open(place.path + "/a", store::Mode::kReadOnly);
  EXPECT_TRUE(archive);
  const auto resume = (*archive)->load();
  EXPECT_TRUE(resume);
  const auto columns = (*archive)->read_columns(LevelIndex(0), SliceIndex(-1'000'000), SliceIndex(1'000'000));
  EXPECT_TRUE(columns);
  Cells out;
  for (const model::SliceColumn& c : *columns)
    for (std::uint32_t l = 0; l < c.leaves(); ++l) {
      const auto& a = resume->leaves[l].attributes;
      std::string path;
      for (int i = 1; a.contains("path" + std::to_string(i)); ++i)
        path += "/" + a.at("path" + std::to_string(i));
      for (std::uint16_t s = 0; s < c.states(); ++s)
        if (c.duration_ns(LeafIndex(l))[s] != 0 || c.visits(LeafIndex(l))[s] != 0)
          out[{path, c.index.value, resume->states[StateId(s)].name}] = {
              c.duration_ns(LeafIndex(l))[s], c.longest_ns(LeafIndex(l))[s], c.visits(LeafIndex(l))[s]};
    }
  return out;
}

TEST(Accesses, SumsGiveTheSameCells) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    const DurationNs slice(seed % 3 == 0 ? 1'500 : 100'000);
    std::mt19937_64 random(seed);
    std::string text = csv("");
    std::int64_t ns = -3'000'000;
    char line[96];
    for (int i = 0; i < 3000; ++i) {
      ns += static_cast<std::int64_t>(random() % (i % 500 == 0    ? 300 * slice.value
                                                  : seed % 2 == 0 ? 3000
                                                                  : 400));
      std::snprintf(line, sizeof line, "%.9Lf,%llu,%llu,%c\n", static_cast<long double>(ns) / 1e9L,
                    static_cast<unsigned long long>(random() % 3),
                    static_cast<unsigned long long>(random() % 40'000), "RWMI"[random() % 4]);
      text += line;
    }
    if (seed % 3 == 0) text.resize(text.rfind('\n', text.size() / 6) + 1);
    const Cells raw = cells_of(text, true, slice), sums = cells_of(text, false, slice);
    EXPECT_GT(raw.size(), 50u);
    EXPECT_EQ(raw, sums);
  }
}

TEST(Accesses, ManyInOneSliceNeedSums) {
  std::string text = csv("");
  for (std::size_t i = 0; i <= memory::Accesses::kMostHeld; ++i) text += "0,1,64,R\n";
  Notebook book;
  book.keep = false;
  Input input = Input::of_text("t", text);
  const auto counts = (*choose_format("auto", input))->read(input, {}, book);
  ASSERT_FALSE(counts);
  EXPECT_EQ(
      counts.error().message,
      "t:1048578: more than 1,048,576 accesses lie within a slice; expected a shorter --slice, or --no-raw");
  ReadOptions options;
  options.sums = true;
  Notebook sums;
  input = Input::of_text("t", text);
  EXPECT_TRUE((*choose_format("auto", input))->read(input, options, sums));
  EXPECT_LT(sums.count, 20u);
}

}  // namespace memory_test
}  // namespace margay::trace::testing
