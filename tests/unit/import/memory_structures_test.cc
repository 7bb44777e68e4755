// What lies where in memory: files of all forms, and stretches that overlap.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "memory_structures.h"

namespace margay::trace::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> stretches(const Structures& s) {
  std::vector<std::string> out;
  for (const Structures::Segment& seg : s.within(0, ~std::uint64_t{0}))
    out.push_back(std::to_string(seg.begin) + "-" + std::to_string(seg.end) + " " + s[seg.structure].name);
  return out;
}

std::vector<std::string> read(const std::string& text) {
  Input input = Input::of_text("s", text, 3);
  const auto s = Structures::read(input);
  EXPECT_TRUE(s) << s.error().message;
  return s ? stretches(*s) : std::vector<std::string>();
}

TEST(Structures, AreReadFromCsvSymbolsAndMaps) {
  EXPECT_THAT(read("# mine\nbegin,end,name\n0x10,0x20,A\n 48 , 64 , B b \r\n"),
              ElementsAre("16-32 A", "48-64 B b"));
  EXPECT_THAT(read("name,element,size,begin\nA,8,16,0x10\nB,,4,100"), ElementsAre("16-32 A", "100-104 B"));
  EXPECT_THAT(
      read(
          "0000000000404040 0000000000000020 B table\n0000000000404060 t no_size\n                 U printf\n"
          "00000000004040a0 0000000000000010 d operator new(unsigned long)\n"),
      ElementsAre("4210752-4210784 table", "4210848-4210864 operator new(unsigned long)"));
  EXPECT_THAT(
      read("1000-2000 r--p 00000000 fe:01 123   /usr/lib/lib c.so.6\n2000-3000 rw-p 00000000 00:00 0 \n"
           "3000-4000 rw-p 00000000 00:00 0    [heap]\n"),
      ElementsAre("4096-8192 lib c.so.6", "12288-16384 heap"));
}

TEST(Structures, WhatIsWrongIsSaidWithItsLine) {
  const std::pair<const char*, const char*> wrong[] = {
      {"begin,name\n", "s:1: expected the columns begin, name, and one of end and size"},
      {"begin,end,size,name\n", "s:1: expected the columns"},
      {"begin,end,title\n", "s:1: the column 'title' is not known"},
      {"begin,end,name\n1,2\n", "s:2: has 2 fields; expected 3"},
      {"begin,end,name\nx,2,A\n", "s:2: expected numbers like 0x1f00 or 7936 for begin and end"},
      {"begin,end,name\n5,5,A\n", "s:2: 'A' ends before it begins, or has no bytes"},
      {"begin,size,name\n0xffffffffffffffff,5,A\n", "s:2: 'A' ends before it begins"},
      {"begin,end,name\n1,5,\n", "s:2: expected a name"},
      {"begin,end,name,element\n1,5,A,x\n", "s:2: expected a number of bytes for element"},
      {"\nhello world\n", "s:2: is 'hello world'; expected a line of nm -S"},
      {"1000-200z r--p 0 0 0 a\n", "s:1: begins with '1000-200z'; expected two addresses"}};
  for (const auto& [text, sentence] : wrong) {
    Input input = Input::of_text("s", text);
    const auto s = Structures::read(input);
    ASSERT_FALSE(s) << text;
    EXPECT_THAT(s.error().message, HasSubstr(sentence));
  }
}

TEST(Structures, AnAddressIsOfTheOneThatBeginsLast) {
  EXPECT_THAT(read("begin,end,name\n0,100,heap\n10,20,a\n12,14,field\n18,30,b\n"),
              ElementsAre("0-10 heap", "10-12 a", "12-14 field", "14-18 a", "18-30 b", "30-100 heap"));
  EXPECT_THAT(read("begin,end,name\n0,10,long\n0,5,short\n0,5,last\n"), ElementsAre("0-5 last", "5-10 long"));
}

// Against the rule, address by address.
TEST(Structures, OverlapsAreThoseOfTheRule) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Structure> all(1 + random() % 12);
    for (Structure& s : all) {
      s.begin = random() % 40;
      s.end = s.begin + 1 + random() % 30;
      s.name = std::to_string(&s - all.data());
    }
    const Structures structures(all);
    for (std::uint64_t at = 0; at < 80; ++at) {
      std::uint32_t owner = kNobody;
      for (std::uint32_t i = 0; i < all.size(); ++i) {
        if (at < all[i].begin || at >= all[i].end) continue;
        if (owner == kNobody || all[i].begin > all[owner].begin ||
            (all[i].begin == all[owner].begin && all[i].end <= all[owner].end))
          owner = i;
      }
      const auto here = structures.within(at, at);
      ASSERT_EQ(here.empty() ? kNobody : here.front().structure, owner)
          << "seed " << seed << ", address " << at;
    }
  }
}

}  // namespace
}  // namespace margay::trace::memory
