// What a Pajé trace becomes: names, leaves and records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "rig.h"

namespace margay::trace::testing {
namespace paje_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What happens behind the start, and the containers' end, as lines.
std::vector<std::string> lines_of(const std::string& events, const ReadOptions& options = {}) {
  Notebook book;
  const auto counts = read(start() + events, book, options);
  EXPECT_TRUE(counts) << counts.error().message;
  EXPECT_THAT(std::vector(book.lines.begin(), book.lines.begin() + 2),
              ElementsAre("0 /prog/one begin", "0 /prog/two begin"));
  book.lines.erase(book.lines.begin(), book.lines.begin() + 2);
  return book.lines;
}

TEST(Paje, PushAndPopNest) {
  EXPECT_THAT(lines_of("9 1 S t s\n9 2 S t x\n10 3 S t\n10 4 S t\n7 5 T t\n"),
              ElementsAre("1000000000 /prog/one enter Send", "2000000000 /prog/one enter x",
                          "3000000000 /prog/one leave x", "4000000000 /prog/one leave Send",
                          "5000000000 /prog/one end", "5000000000 /prog/two end"));
}

TEST(Paje, SetLeavesAllThatIsOpen) {
  EXPECT_THAT(
      lines_of("9 1 S t a\n9 1 S t b\n8 2 S t c\n8 3 S t d\n"),
      ElementsAre("1000000000 /prog/one enter a", "1000000000 /prog/one enter b",
                  "2000000000 /prog/one leave b", "2000000000 /prog/one leave a",
                  "2000000000 /prog/one enter c", "3000000000 /prog/one leave c",
                  "3000000000 /prog/one enter d", "3000000000 /prog/one end", "3000000000 /prog/two end"));
}

TEST(Paje, ResetLeavesAllAndMayFindNothing) {
  EXPECT_THAT(lines_of("9 1 S t a\n9 1 S t b\n11 2 S t\n11 3 S t\n"),
              ElementsAre("1000000000 /prog/one enter a", "1000000000 /prog/one enter b",
                          "2000000000 /prog/one leave b", "2000000000 /prog/one leave a",
                          "3000000000 /prog/one end", "3000000000 /prog/two end"));
}

TEST(Paje, VariablesHaveTheValueThatTheyCameTo) {
  EXPECT_THAT(lines_of("12 1 V t 10\n13 2 V t 2.5\n14 3 V t 1e1\n13 4 V u 7\n"),
              ElementsAre("1000000000 /prog/one Heat = 10.000000", "2000000000 /prog/one Heat = 12.500000",
                          "3000000000 /prog/one Heat = 2.500000", "4000000000 /prog/two Heat = 7.000000",
                          "4000000000 /prog/one end", "4000000000 /prog/two end"));
}

TEST(Paje, EventsAndLinksKeepTypeAndValue) {
  EXPECT_THAT(
      lines_of("15 1 E t \"sig 9\"\n16 1 L p t m k1\n16 2 L p u m k2\n17 3 L p u m k1\n17 3 L p t n k2\n"),
      ElementsAre("1000000000 /prog/one mark Signal:sig 9", "1000000000 /prog/one link_begin Message:m 0",
                  "2000000000 /prog/two link_begin Message:m 1", "3000000000 /prog/two link_end Message:m 0",
                  "3000000000 /prog/one link_end Message:n 1", "3000000000 /prog/one end",
                  "3000000000 /prog/two end"));
}

TEST(Paje, LinkTellsTheLevelOfItsContainer) {
  Notebook book;
  ASSERT_TRUE(read(start() + "16 1 L p t m a\n16 1 L 0 t m b\n16 1 L u t m c\n", book));
  std::vector<std::int32_t> levels;
  for (const EventRecord& r : book.records)
    if (r.kind == MARGAY_LINK_BEGIN) levels.push_back(r.peer);
  EXPECT_THAT(levels, ElementsAre(1, 0, MARGAY_NO_PEER)) << "u is not above t";
}

TEST(Paje, LinkMayEndBeforeItBegins) {
  Notebook book;
  const auto counts = read(start() + "17 1 L p u m k\n16 2 L p t m k\n17 3 L p u m k\n", book);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->links, 1u);
  EXPECT_EQ(counts->half_links, 1u) << "the key is free again, and used again";
}

TEST(Paje, FieldsStandInTheOrderOfTheHeader) {
  Notebook book;
  const std::string text =
      "# made by hand\n\n%EventDef PajeSetState 4711\n%  Value string\n%\tMark double\n% Container string\n"
      "% Type string\n% Time date\n%EndEventDef\n"
      "%EventDef\tDefineContainerType\t3\n%\tName string\n%\tContainerType string\n%EndEventDef\n"
      "%EventDef DefineStateType 300\n% ContainerType string\n% Name string\n%EndEventDef\n"
      "%EventDef PajeCreateContainer 0\n% Name string\n% Type string\n% Time date\n% Container "
      "string\n%EndEventDef \n"
      "3 Machine 0\r\n300 Machine \"My state\"\n0 a Machine .5 0\n"
      "  4711 \"\" 17 a \"My state\" 1.25e-0 # and a comment\n"
      "4711 \"two words\"\t0  a \"My state\" 2\n";
  const auto counts = read(text, book);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_THAT(book.lines, ElementsAre("500000000 /a begin", "1250000000 /a enter ", "2000000000 /a leave ",
                                      "2000000000 /a enter two words", "2000000000 /a end"));
  EXPECT_EQ(book.leaves[0].attributes,
            (model::Attributes{
                {"path1", "a"}, {"type1", "Machine"}, {"state_type", "My state"}, {"base", "None"}}));
}

TEST(Paje, AliasesAndNamesBothRefer) {
  EXPECT_THAT(
      lines_of("9 1 State one s\n9 2 S t Send\n10 3 State t\n"),
      ElementsAre("1000000000 /prog/one enter Send", "2000000000 /prog/one enter Send",
                  "3000000000 /prog/one leave Send", "3000000000 /prog/one end", "3000000000 /prog/two end"));
}

TEST(Paje, TypeOfTheContainerIsMeantAmongThoseOfOneName) {
  Notebook book;
  const auto counts = read(header() +
                               "0 A 0 A\n0 B 0 B\n1 S1 A state\n1 S2 B state\n6 0 a A 0 a\n6 0 b B 0 b\n"
                               "9 1 state a x\n9 1 state b y\n",
                           book);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(book.leaves.size(), 2u);
}

TEST(Paje, ValuesMayBeDefinedLate) {
  EXPECT_THAT(lines_of("9 1 S t v\n5 v S \"Long name\"\n9 2 S t v\n"),
              ElementsAre("1000000000 /prog/one enter v", "2000000000 /prog/one enter Long name",
                          "2000000000 /prog/one end", "2000000000 /prog/two end"));
}

TEST(Paje, ANameCanBeUsedAgainAfterItsContainerIsDestroyed) {
  EXPECT_THAT(lines_of("9 1 S t a\n7 2 T t\n6 3 t T p three\n9 4 S t a\n"),
              ElementsAre("1000000000 /prog/one enter a", "2000000000 /prog/one end",
                          "3000000000 /prog/three begin", "4000000000 /prog/three enter a",
                          "4000000000 /prog/two end", "4000000000 /prog/three end"));
}

TEST(Paje, ContainersAreWhereTheirNamesSay) {
  Notebook book;
  const auto counts = read(
      header() +
          "0 M 0 Machine\n0 C M Core\n1 S C State\n6 0 m M 0 /site/7\n6 0 c C m core/0\n6 0 d C m /x/y\n",
      book);
  ASSERT_TRUE(counts) << counts.error().message;
  ASSERT_EQ(book.leaves.size(), 2u);
  EXPECT_EQ(book.leaves[0].attributes, (model::Attributes{{"path1", "site"},
                                                          {"path2", "7"},
                                                          {"path3", "core/0"},
                                                          {"type2", "Machine"},
                                                          {"type3", "Core"},
                                                          {"state_type", "State"},
                                                          {"base", "None"}}));
  EXPECT_EQ(book.path(LeafIndex(1)), "/x/y");
  const std::vector<model::Attributes> all = {book.leaves[0].attributes, book.leaves[1].attributes};
  const model::Hierarchy h(all);
  EXPECT_EQ(h.path_of(LeafIndex(0)), "/site/7/core_0");
}

TEST(Paje, SeveralStateTypesAreLeavesBelowTheContainer) {
  Notebook book;
  const auto counts =
      read(header() + "0 M 0 Machine\n1 S M Cpu\n1 N M Net\n6 0 m M 0 m\n9 1 S m a\n9 1 N m b\n", book);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_THAT(book.lines,
              ElementsAre("0 /m/Cpu begin", "0 /m/Net begin", "1000000000 /m/Cpu enter a",
                          "1000000000 /m/Net enter b", "1000000000 /m/Cpu end", "1000000000 /m/Net end"));
}

TEST(Paje, StatesAboveContainersWithStates) {
  Notebook book;
  const auto counts =
      read(header() + "0 M 0 M\n0 C M C\n1 S M S\n1 R C R\n6 0 m M 0 m\n6 1 c C m c\n9 2 S m a\n9 2 R c b\n",
           book);
  ASSERT_TRUE(counts) << counts.error().message;
  const std::vector<model::Attributes> all = {book.leaves[0].attributes, book.leaves[1].attributes};
  const model::Hierarchy h(all);
  EXPECT_EQ(h.path_of(LeafIndex(0)), "/m/self");
  EXPECT_EQ(h.path_of(LeafIndex(1)), "/m/c");
}

TEST(Paje, WhatHasNoStatesIsAbsentAndKeepsItsRecords) {
  Notebook book;
  const auto counts = read(header() + "0 M 0 M\n2 V M power\n6 0 m M 0 m\n6 0 n M 0 n\n12 1 V m 5\n", book);
  ASSERT_TRUE(counts) << counts.error().message;
  ASSERT_EQ(book.leaves.size(), 1u) << "n has neither states nor records";
  EXPECT_EQ(book.names.at(*book.leaves[0].base).text, "Absent");
  EXPECT_THAT(book.lines,
              ElementsAre("1000000000 /m begin", "1000000000 /m power = 5.000000", "1000000000 /m end"));
}

TEST(Paje, StateTypeThatComesLateIsALeafFromThenOn) {
  EXPECT_THAT(lines_of("9 1 S t a\n1 Z T Zed\n9 2 Z t z\n"),
              ElementsAre("1000000000 /prog/one enter a", "2000000000 /prog/one/Zed begin",
                          "2000000000 /prog/one/Zed enter z", "2000000000 /prog/one end",
                          "2000000000 /prog/one/Zed end", "2000000000 /prog/two end"));
}

TEST(Paje, LatenessPutsLinesInTheirPlace) {
  ReadOptions options;
  options.lateness = seconds(2);
  EXPECT_THAT(lines_of("9 3 S t b\n9 1.5 S t a\n10 4 S t\n10 2.5 S t\n9 4 S t c\n8 9 S u x\n", options),
              ElementsAre("1500000000 /prog/one enter a", "2500000000 /prog/one leave a",
                          "3000000000 /prog/one enter b", "4000000000 /prog/one leave b",
                          "4000000000 /prog/one enter c", "9000000000 /prog/two enter x",
                          "9000000000 /prog/one end", "9000000000 /prog/two end"));
}

// Sorted, or shuffled within the lateness: the same records. And whatever pieces the reading gives.
TEST(Paje, ShuffledWithinTheLatenessIsTheSameTrace) {
  std::mt19937 random(7);
  RecordProperty("seed", 7);
  std::vector<std::pair<int, std::string>> events;
  for (int i = 1; i <= 500; ++i)
    events.emplace_back(i, "8 " + std::to_string(i) + "e-3 S " + (random() % 2 ? "t" : "u") + " v" +
                               std::to_string(random() % 9) + "\n");
  const auto text = [&] {
    std::string out;
    for (const auto& e : events) out += e.second;
    return out;
  };
  const auto sorted = lines_of(text());
  // Each moves by at most 40 ms.
  std::vector<std::pair<std::uint32_t, std::size_t>> order;
  for (std::size_t i = 0; i < events.size(); ++i) order.emplace_back(i + random() % 40, i);
  std::sort(order.begin(), order.end());
  auto shuffled = events;
  for (std::size_t i = 0; i < order.size(); ++i) shuffled[i] = events[order[i].second];
  ASSERT_NE(shuffled, events);
  events = shuffled;
  ReadOptions options;
  options.lateness = milliseconds(40);
  EXPECT_EQ(lines_of(text(), options), sorted);
  for (const std::size_t piece : {1u, 7u, 4096u}) {
    Notebook book;
    ASSERT_TRUE(read(start() + text(), book, options, piece));
    EXPECT_EQ(std::vector(book.lines.begin() + 2, book.lines.end()), sorted);
  }
}

TEST(Paje, CountsAreWhatItHas) {
  Notebook book;
  const auto counts =
      read(start() + "9 1 S t a\n8 2 S t b\n12 2 V t 1\n15 2 E t e\n16 2 L p t m k\n17 3.5 L p u m k", book);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->containers, 3u);
  EXPECT_EQ(counts->states, 2u);
  EXPECT_EQ(counts->variables, 1u);
  EXPECT_EQ(counts->marks, 1u);
  EXPECT_EQ(counts->links, 1u);
  EXPECT_EQ(counts->half_links, 0u);
  EXPECT_EQ(counts->records, book.lines.size());
  EXPECT_EQ(counts->begin, TimeNs(0));
  EXPECT_EQ(counts->end, TimeNs(3'500'000'000));
}

TEST(Paje, IsKnownByItsFirstLines) {
  EXPECT_TRUE(paje::detect(header()));
  EXPECT_TRUE(paje::detect("#POTI\n \n\r\n  %\tEventDef PajeX 1"));
  for (const char* other : {"", "#", "hello", "%PDF-1.4",
                            "\x7f"
                            "ELF",
                            "0 P 0 Program\n"})
    EXPECT_FALSE(paje::detect(other)) << other;
}

}  // namespace paje_test
}  // namespace margay::trace::testing
