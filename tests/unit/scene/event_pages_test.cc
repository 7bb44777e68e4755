// The list of single events: what is asked for it and when, what is known of it, what its cells say, and
// answers that nobody should trust.
#include "margay/scene/event_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "made_up_events.h"

namespace margay::scene {
namespace event_pages_test {

using testing::HasSubstr;
using testing::StartsWith;
using Q = wire::EventsQuestion;

EventSubject subject() {
  EventSubject s;
  s.time = {TimeNs(kFirstBegin), TimeNs(2 * kFirstBegin)};
  return s;
}

// Asks until there is nothing to ask; returns the questions.
std::vector<Q> answered(EventPages& pages, const Daemon& daemon, int most = 10'000) {
  std::vector<Q> out;
  std::uint64_t token = 100;
  while (static_cast<int>(out.size()) < most) {
    const auto q = pages.next(++token);
    if (!q) break;
    out.push_back(*q);
    EXPECT_TRUE(pages.take(checked(daemon.answer_to(*q))));
  }
  return out;
}

TEST(EventPages, AskForWhatIsInSightThenForHowManyThereAre) {
  EventPages pages;
  EXPECT_FALSE(pages.next(1)) << "of no time nothing is asked";
  pages.set(subject());
  pages.see(0, 20);
  const auto first = pages.next(7);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->token(), 7u);
  EXPECT_EQ(first->kind(), Q::BY_TIME);
  EXPECT_EQ(first->most(), EventPages::kPageRows);
  EXPECT_FALSE(first->has_after());
  EXPECT_EQ(first->from_ns(), kFirstBegin);
  EXPECT_FALSE(pages.next(8)) << "one at a time";
  const Daemon daemon{10'000};
  EXPECT_TRUE(pages.take(checked(daemon.answer_to(*first))));
  const std::vector<Q> rest = answered(pages, daemon);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].kind(), Q::BY_TIME) << "a page ahead";
  EXPECT_EQ(rest[1].kind(), Q::DENSITY);
  EXPECT_EQ(pages.rows(), 1000u);
  EXPECT_FALSE(pages.complete());
  EXPECT_EQ(pages.status(), "the first 1,000 rows of 10,000");
  EXPECT_EQ(std::accumulate(pages.density().begin(), pages.density().end(), std::uint64_t{0}), 10'000u);
  EXPECT_TRUE(pages.density_complete());
}

TEST(EventPages, MillionsOfRowsAreScrolledThroughWithAFewInMemory) {
  EventPages pages;
  pages.set(subject());
  const Daemon daemon{2'000'000};
  std::uint64_t seen = 0;
  while (!pages.complete()) {
    pages.see(seen, seen + 40);
    ASSERT_FALSE(answered(pages, daemon).empty());
    seen = pages.rows();
  }
  EXPECT_EQ(pages.rows(), daemon.rows);
  // The end is there, the begin was given up, and comes again when it is in sight.
  EXPECT_EQ(pages.at(1'999'999).row->begin.value, daemon.begin_of(1'999'999));
  EXPECT_EQ(pages.at(3).row, nullptr);
  pages.see(1'234, 1'274);
  const std::vector<Q> again = answered(pages, daemon);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].after().rows(), 1'000u);
  for (std::uint64_t row = 1'234; row < 1'274; ++row) {
    ASSERT_NE(pages.at(row).row, nullptr);
    EXPECT_EQ(pages.at(row).row->begin.value, daemon.begin_of(row));
  }
  std::size_t kept = 0;
  for (std::uint64_t row = 0; row < pages.rows(); row += EventPages::kPageRows)
    kept += pages.at(row).row != nullptr ? 1 : 0;
  EXPECT_LE(kept, EventPages::kMostKept);
}

// As with an expression that is hardly ever found: rows come as they are found, with how far it is.
TEST(EventPages, WhatIsFoundIsThereWhileItIsReadAndItCanBeStopped) {
  EventPages pages;
  EventSubject s = subject();
  s.filter.match = "rank3 ";
  pages.set(s);
  const Daemon daemon{1000, 10};
  const std::vector<Q> some = answered(pages, daemon, 40);
  EXPECT_EQ(some[0].match(), "rank3 ");
  EXPECT_EQ(pages.rows(), 400u);
  EXPECT_EQ(pages.status(), "reading 40 %, 400 rows so far");
  EXPECT_NEAR(pages.progress(), 0.4, 0.001);
  const auto under_way = pages.next(999);
  ASSERT_TRUE(under_way);
  pages.stop();
  EXPECT_TRUE(pages.take(checked(daemon.answer_to(*under_way)))) << "what was asked for is taken";
  EXPECT_FALSE(pages.next(1000)) << "and no more is asked";
  EXPECT_EQ(pages.status(), "stopped at 41 %: 410 rows so far");
  pages.go_on();
  pages.see(900, 940);
  answered(pages, daemon);
  EXPECT_TRUE(pages.complete());
  EXPECT_EQ(pages.status(), "1,000 rows");
}

TEST(EventPages, TheLongestOfAllPagesAreSorted) {
  EventPages pages;
  EventSubject s = subject();
  s.longest = true;
  pages.set(s);
  const Daemon daemon{5'000, 1'500};
  const std::vector<Q> asked = answered(pages, daemon);
  EXPECT_EQ(asked[0].kind(), Q::LONGEST);
  EXPECT_EQ(asked[0].patience_ms(), EventPages::kFirstOfLongest);
  EXPECT_TRUE(pages.complete());
  ASSERT_EQ(pages.rows(), EventPages::kMostLongest);
  for (std::uint64_t i = 0; i < pages.rows(); ++i) {
    const auto at = pages.at(i);
    EXPECT_EQ((at.row->end - at.row->begin).value, kLength + 4'999 - static_cast<std::int64_t>(i));
    EXPECT_EQ(at.page->resources[at.row->resource], "/a/r1");
  }
  EXPECT_EQ(pages.at(0).page->names.size(), 1u) << "names are kept once";
  EXPECT_EQ(pages.status(), "the longest 1,000 rows of 5,000");
}

TEST(EventPages, AnswersOfAnotherListAreNotTaken) {
  EventPages pages;
  pages.set(subject());
  const auto old = pages.next(1);
  EventSubject s = subject();
  s.nodes = {"/a"};
  pages.set(s);
  const auto now = pages.next(2);
  ASSERT_TRUE(now);
  EXPECT_EQ(now->nodes(0), "/a");
  const Daemon daemon;
  EXPECT_FALSE(pages.take(checked(daemon.answer_to(*old))));
  EXPECT_FALSE(pages.refuse(1, "superseded"));
  EXPECT_EQ(pages.rows(), 0u);
  EXPECT_TRUE(pages.take(checked(daemon.answer_to(*now))));
  EXPECT_EQ(pages.rows(), 500u);
}

TEST(EventPages, AskWithMorePatienceWhereNothingComesAndGiveUpInTheEnd) {
  EventPages pages;
  pages.set(subject());
  std::vector<std::uint32_t> patience;
  for (std::uint64_t token = 1; token < 100; ++token) {
    const auto q = pages.next(token);
    if (!q) break;
    patience.push_back(q->patience_ms());
    wire::EventsAnswer a = answer();
    a.set_token(token);
    a.set_stuck(true);
    EXPECT_TRUE(pages.take(checked(a)));
  }
  EXPECT_EQ(patience, (std::vector<std::uint32_t>{250, 500, 1000, 2000, 4000, 5000}));
  EXPECT_TRUE(pages.stopped());
  EXPECT_THAT(pages.status(), HasSubstr("takes longer than 5 s"));
}

TEST(EventPages, ARefusalIsSaidAndNothingIsAskedAgain) {
  EventPages pages;
  pages.set(subject());
  ASSERT_TRUE(pages.next(3));
  EXPECT_TRUE(pages.refuse(3, "'a(' is no regular expression"));
  EXPECT_FALSE(pages.next(4));
  EXPECT_THAT(pages.status(), StartsWith("'a(' is no regular expression"));
}

TEST(EventPages, AQuestionSaysWhatIsLeftOut) {
  EventPages pages;
  EventSubject s = subject();
  s.nodes = {"/host1"};
  s.states = {"MPI_Send", "Compute"};
  s.filter.resource = "rank3";
  s.filter.name = "MPI_*";
  s.filter.least = milliseconds(1), s.filter.most = seconds(1);
  s.filter.least_bytes = 5, s.filter.most_bytes = 6;
  s.filter.peer = 0;
  pages.set(s);
  const auto q = pages.next(1);
  ASSERT_TRUE(q);
  EXPECT_EQ(q->nodes(0), "/host1");
  EXPECT_EQ(q->states_size(), 2);
  EXPECT_EQ(q->paths(0), "*rank3*") << "text is found anywhere";
  EXPECT_EQ(q->names(0), "MPI_*") << "a pattern is the whole name";
  EXPECT_EQ(q->least_ns(), 1'000'000);
  EXPECT_EQ(q->most_ns(), 1'000'000'000);
  EXPECT_EQ(q->least_bytes(), 5u);
  EXPECT_EQ(q->most_bytes(), 6u);
  EXPECT_TRUE(q->has_peer());
  s = subject();
  s.nodes = {"/"};
  pages.set(s);
  EXPECT_EQ(pages.next(2)->nodes_size(), 0);
}

TEST(EventPages, ATimeIsFoundInTheList) {
  EventPages pages;
  pages.set(subject());
  const Daemon daemon{10'000};
  pages.see(0, 2000);
  answered(pages, daemon);
  EXPECT_EQ(pages.row_at(TimeNs(kFirstBegin)), 0u);
  EXPECT_EQ(pages.row_at(TimeNs(daemon.begin_of(1234))), 1234u);
  EXPECT_EQ(pages.row_at(TimeNs(daemon.begin_of(1234) - 1)), 1234u);
  EXPECT_EQ(pages.row_at(TimeNs(2 * kFirstBegin)), pages.rows());
}

// ---- what is typed

TEST(EventFilters, OfDurationsAreBounds) {
  const auto of = [](const char* text) {
    const auto b = parse_durations(text);
    return b ? std::pair(b->least.value, b->most.value) : std::pair<std::int64_t, std::int64_t>(-1, -1);
  };
  EXPECT_EQ(of(""), std::pair(0L, 0L));
  EXPECT_EQ(of("10 ms"), std::pair(10'000'000L, 0L));
  EXPECT_EQ(of("> 10ms"), std::pair(10'000'000L, 0L));
  EXPECT_EQ(of("<= 1s"), std::pair(0L, 1'000'000'000L));
  EXPECT_EQ(of("..1 s"), std::pair(0L, 1'000'000'000L));
  EXPECT_EQ(of(" 10 ms .. 1 s "), std::pair(10'000'000L, 1'000'000'000L));
  EXPECT_EQ(of("1s..10ms").first, -1);
  EXPECT_EQ(of("-5 ms").first, -1);
  EXPECT_EQ(of("soon").first, -1);
  EXPECT_THAT(parse_durations("1s..10ms").error().message, HasSubstr("the end is before the begin"));
}

TEST(EventFilters, OfBytesAndPartnersAreNumbers) {
  const auto of = [](const char* text) {
    const auto b = parse_bytes(text);
    return b ? std::pair(b->least, b->most) : std::pair<std::uint64_t, std::uint64_t>(77, 77);
  };
  EXPECT_EQ(of("4096"), std::pair(4096UL, 0UL));
  EXPECT_EQ(of("4 KiB..1.5MiB"), std::pair(4096UL, 1572864UL));
  EXPECT_EQ(of("<1kB"), std::pair(0UL, 1000UL));
  for (const char* bad : {"many", "4 KiX", "-1", "1e300", "nan", "4 KiB..x"})
    EXPECT_EQ(of(bad).first, 77u) << bad;
  EXPECT_EQ(parse_partner("").value(), std::nullopt);
  EXPECT_EQ(parse_partner("rank 3").value(), 3);
  EXPECT_EQ(parse_partner("0").value(), 0);
  for (const char* bad : {"-1", "x", "3 4", "99999999999"}) EXPECT_FALSE(parse_partner(bad)) << bad;
}

// ---- answers

TEST(EventRows, SayWhatTheyAre) {
  wire::EventsAnswer a = answer();
  add_row(a, kFirstBegin + 12'000'000'345, 1'500'000);
  a.set_bytes(0, 4096);
  a.set_peer(0, 3);
  a.set_tag(0, 7);
  a.set_depth(0, 1);
  add_row(a, kFirstBegin, 2'000'000);
  a.set_calls(1, 1200);
  a.set_longest_ns(1, 5000);
  a.set_flags(1, 3);
  a.add_names()->set_name("temperature");
  a.mutable_names(1)->set_family(wire::FAMILY_VARIABLE);
  add_row(a, kFirstBegin, 0);
  a.set_name(2, 1);
  a.set_kind(2, 2);
  a.set_bytes(2, std::bit_cast<std::uint64_t>(36.5));
  const EventPagePtr page = checked(a);
  const auto cell = [&](std::size_t row, EventColumn c) { return event_cell(*page, page->rows[row], c); };
  EXPECT_EQ(cell(0, EventColumn::kBegin), "12.000000345");
  EXPECT_EQ(cell(0, EventColumn::kDuration), "1.5 ms");
  EXPECT_EQ(cell(0, EventColumn::kResource), "/a/r1");
  EXPECT_EQ(cell(0, EventColumn::kName), "  MPI_Send");
  EXPECT_EQ(cell(0, EventColumn::kPartner), "rank 3");
  EXPECT_EQ(cell(0, EventColumn::kBytes), "4.0 KiB");
  EXPECT_EQ(cell(0, EventColumn::kDetails), "tag 7");
  EXPECT_EQ(cell(1, EventColumn::kDuration), "≥ 2 ms");
  EXPECT_EQ(cell(1, EventColumn::kCalls), "1,200");
  EXPECT_EQ(cell(1, EventColumn::kDetails), "summed, the longest 5 µs, began before, goes on");
  EXPECT_EQ(cell(2, EventColumn::kDuration), "");
  EXPECT_EQ(cell(2, EventColumn::kDetails), "= 36.5");
  EXPECT_EQ(event_csv(*page, page->rows[0]),
            "12.000000345,1500000,state,/a/r1,MPI_Send,1,1,,4096,3,7,0,,FALSE,FALSE\n");
  EXPECT_EQ(event_csv(*page, page->rows[2]),
            "0.000000000,0,variable,/a/r1,temperature,0,1,,,,,,36.5,FALSE,FALSE\n");
}

std::string refusal(const std::function<void(wire::EventsAnswer&)>& spoil) {
  wire::EventsAnswer a = answer();
  add_row(a, kFirstBegin + 5, 7);
  spoil(a);
  const auto page = event_page_untrusted(a);
  return page ? "" : page.error().message;
}

TEST(EventRows, OfHostileAnswersAreRefusedWithASentence) {
  using A = wire::EventsAnswer;
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(refusal([](A&) {}), "");
  EXPECT_EQ(refusal([](A& a) { a.set_error("no raw events"); }), "no raw events");
  EXPECT_THAT(refusal([](A& a) { a.add_bytes(1); }), HasSubstr("differ in length"));
  EXPECT_THAT(refusal([](A& a) { a.clear_flags(); }), HasSubstr("differ in length"));
  EXPECT_THAT(refusal([](A& a) { a.set_resource(0, 1); }), HasSubstr("row 0 is of no resource"));
  EXPECT_THAT(refusal([](A& a) { a.set_name(0, 4'000'000'000); }), HasSubstr("row 0 has no name"));
  EXPECT_THAT(refusal([](A& a) { a.set_kind(0, 6); }), HasSubstr("row 0 is of no kind"));
  EXPECT_THAT(refusal([](A& a) { a.set_begin_ns(0, kMax); }), HasSubstr("beyond all times"));
  EXPECT_THAT(refusal([](A& a) { a.set_length_ns(0, std::numeric_limits<std::uint64_t>::max()); }),
              HasSubstr("beyond all times"));
  EXPECT_THAT(refusal([](A& a) { a.mutable_question()->set_to_ns(kFirstBegin); }),
              HasSubstr("time range is none"));
  EXPECT_THAT(
      refusal([](A& a) { a.mutable_question()->set_from_ns(kMin), a.mutable_question()->set_to_ns(kMax); }),
      HasSubstr("time range is none"));
  EXPECT_THAT(refusal([](A& a) {
                for (int i = 0; i < 2000; ++i) add_row(a, kFirstBegin, 1);
              }),
              HasSubstr("more rows than a page may have"));
  EXPECT_THAT(refusal([](A& a) {
                for (int i = 0; i < 2001; ++i) a.add_density(1);
              }),
              HasSubstr("more rows than a page may have"));
}

// What is refused is refused, what is taken can be shown: numbers of any kind at any place.
TEST(EventRows, AndListsOfAnyAnswerCanBeShown) {
  std::mt19937_64 random(11);
  int taken = 0;
  for (int i = 0; i < 3000; ++i) {
    EventPages pages;
    EventSubject s = subject();
    s.longest = i % 2 != 0;
    pages.set(s);
    for (std::uint64_t token = 1; token < 6; ++token) {
      if (!pages.next(token)) break;
      wire::EventsAnswer a = answer();
      a.set_token(token);
      const auto any = [&] { return random() >> (random() % 64); };
      for (std::uint64_t n = random() % 4; n > 0; --n) add_row(a, kFirstBegin, 9);
      for (std::uint64_t n = random() % 3; n > 0 && a.resource_size() > 0; --n) {
        const int row = static_cast<int>(random() % static_cast<std::uint64_t>(a.resource_size()));
        switch (random() % 9) {
          case 0:
            a.set_begin_ns(row, static_cast<std::int64_t>(any()));
            break;
          case 1:
            a.set_length_ns(row, any());
            break;
          case 2:
            a.set_depth(row, static_cast<std::uint32_t>(any()));
            break;
          case 3:
            a.set_bytes(row, any()), a.set_kind(row, static_cast<std::uint32_t>(random() % 8));
            break;
          case 4:
            a.set_calls(row, any()), a.set_longest_ns(row, any());
            break;
          case 5:
            a.set_peer(row, static_cast<std::int32_t>(any()));
            break;
          case 6:
            a.mutable_names(0)->set_name("\xff\x01");
            break;
          case 7:
            a.mutable_question()->set_from_ns(static_cast<std::int64_t>(any()));
            break;
          default:
            a.set_flags(row, static_cast<std::uint32_t>(any()));
            break;
        }
      }
      for (std::uint64_t n = random() % 300; n > 0; --n) a.add_density(any());
      if (random() % 2 != 0) a.mutable_next()->set_at_ns(static_cast<std::int64_t>(any()));
      a.set_read_until_ns(static_cast<std::int64_t>(any()));
      a.set_holes(any());
      a.set_stuck(random() % 4 == 0);
      auto page = event_page_untrusted(a);
      if (!page) {
        EXPECT_FALSE(page.error().message.empty());
        EXPECT_TRUE(pages.refuse(token, page.error().message));
        continue;
      }
      ++taken;
      EXPECT_TRUE(pages.take(std::make_shared<const EventPage>(std::move(*page))));
      EXPECT_FALSE(pages.status().empty());
      EXPECT_TRUE(pages.progress() >= 0 && pages.progress() <= 1);
      for (std::uint64_t row = 0; row < pages.rows(); ++row) {
        const auto at = pages.at(row);
        for (int c = 0; c < kEventColumns && at.row != nullptr; ++c)
          static_cast<void>(event_cell(*at.page, *at.row, static_cast<EventColumn>(c)));
        EXPECT_TRUE(at.row == nullptr || event_csv(*at.page, *at.row).ends_with("\n"));
      }
    }
  }
  EXPECT_GT(taken, 1000);
}

}  // namespace event_pages_test
}  // namespace margay::scene
