#include "margay/command/run_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace margay::command {
namespace run_notes_test {

using testing::HasSubstr;

RunNotes some() {
  RunNotes out;
  RunNotes::Bookmark& b = out.bookmarks.emplace_back();
  b.of.from = "14.9", b.of.to = "15.1", b.of.node = "/node1/rank6";
  b.note = "is stopped here";
  out.bookmarks.emplace_back().of.from = "3";
  PictureOptions& f = out.filters.emplace_back();
  f.states = {"MPI_*"};
  f.of_the_rest = true;
  return out;
}

TEST(RunNotes, AreLinesThatLeadBack) {
  EXPECT_EQ(text_of(some()),
            "bookmark margay://#t=14.9-15.1&n=/node1/rank6 is stopped here\n"
            "bookmark margay://#t=3-\n"
            "filter margay://#s=MPI_%2A&of=rest\n");
  EXPECT_EQ(parse_run_notes(text_of(some())).value(), some());
  EXPECT_EQ(parse_run_notes("\n# a line of a person\n").value(), RunNotes());
}

TEST(RunNotes, LinksAreOfWhereTheRunIs) {
  PictureOptions place;
  place.connect = "tcp://head:7413";
  EXPECT_EQ(bookmark_links(some(), place),
            "margay+tcp://head:7413#t=14.9-15.1&n=/node1/rank6 is stopped here\n"
            "margay+tcp://head:7413#t=3-\n");
}

TEST(RunNotes, WhatIsWrongIsSaidWithItsLine) {
  const auto why = [](const std::string& text) {
    const auto notes = parse_run_notes(text);
    return notes ? std::string() : notes.error().message;
  };
  EXPECT_THAT(why("bookmark margay://#t=1-2\nmark x\n"), HasSubstr("line 2: expected bookmark or filter"));
  EXPECT_THAT(why("bookmark\n"), HasSubstr("line 1"));
  EXPECT_THAT(why("filter margay://#t=5"), HasSubstr("line 1: margay://#t=5: expected a range"));
  std::string many;
  for (std::size_t i = 0; i <= RunNotes::kMostBookmarks; ++i) many += "bookmark margay://\n";
  EXPECT_THAT(why(many), HasSubstr("more than 128 bookmarks"));
  std::string pins;
  for (std::size_t i = 0; i < RunNotes::kMostPins; ++i) pins += "pin margay://#t=1-2&r=/a,/b\n";
  EXPECT_EQ(why(pins), "");
  EXPECT_EQ(pins_of(*parse_run_notes(pins)), RunNotes::kMostPins);
  EXPECT_EQ(text_of(*parse_run_notes(pins)), pins);
  EXPECT_THAT(why(pins + "pin margay://\n"), HasSubstr("more than 8 pins"));
  EXPECT_THAT(why(std::string(RunNotes::kLongestText + 1, '#')), HasSubstr("longer than 1048576 bytes"));
}

TEST(RunNotes, AnyBytesAreNotesOrASentence) {
  std::mt19937 rng(3);
  const std::string good = text_of(some());
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (std::size_t n = 1 + rng() % 8; n > 0; --n)
      text[rng() % text.size()] = static_cast<char>(rng() % 256);
    if (const auto notes = parse_run_notes(text)) {
      EXPECT_TRUE(parse_run_notes(text_of(*notes))) << "round " << round;
    }
  }
}

}  // namespace run_notes_test
}  // namespace margay::command
