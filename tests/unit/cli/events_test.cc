// `margay events` as it is typed, of the example: sixteen ranks, rank 6 stopped for 0.9 s at 15 s.
#include "events/events_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "typed.h"

namespace margay::daemon {
namespace events_test {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

struct Done {
  int code = 0;
  std::vector<std::string> lines;
  std::string said;
};

Done events(std::vector<std::string> words) {
  words.insert(words.begin(), MARGAY_EXAMPLE);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Done out;
  out.code = run_typed(add_events_command, events_command, std::move(words));
  out.said = testing::internal::GetCapturedStderr();
  std::istringstream in(testing::internal::GetCapturedStdout());
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) out.lines.push_back(line);
  return out;
}

TEST(EventsCommand, AnAlertLeadsToTheCallsOfWhomItBlames) {
  const Done calls = events({"--alert", "531886-3"});
  EXPECT_EQ(calls.code, 0);
  EXPECT_THAT(calls.said, IsEmpty());
  ASSERT_GT(calls.lines.size(), 100u);
  EXPECT_THAT(calls.lines[0], ContainsRegex("begin s +duration +resource +what +details"));
  for (std::size_t i = 1; i < calls.lines.size(); ++i) EXPECT_THAT(calls.lines[i], HasSubstr("/node1/rank6"));
  // It was stopped while it computed.
  EXPECT_THAT(calls.lines,
              testing::Contains(ContainsRegex("14\\.96[0-9]+ +1\\.01 s  /node1/rank6  Compute")));

  const Done others = events({"--alert", "531886-3", "--node", "/", "--longest", "20", "--state", "MPI_*"});
  ASSERT_THAT(others.lines, SizeIs(21));
  for (std::size_t i = 1; i <= 15; ++i)
    EXPECT_THAT(others.lines[i], ContainsRegex("(1\\.0[0-9] s|99[0-9] ms) .*MPI_Allreduce"));
  EXPECT_THAT(others.lines[16], testing::Not(ContainsRegex("(1\\.0[0-9] s|9[0-9][0-9] ms) ")))
      << "the other 15 waited for it";
}

TEST(EventsCommand, TimesOfDayAreThoseOfTheZoneHere) {
  // The run began at 15:15:16.926122172 UTC.
  setenv("TZ", "UTC", 1);
  tzset();
  const Done since = events({"--from", "12", "--to", "12.05", "--node", "/node1/rank5"});
  const Done clock = events(
      {"--from", "15:15:28.926122172", "--to", "2026-11-22 15:15:28.976122172", "--node", "/node1/rank5"});
  EXPECT_GT(since.lines.size(), 10u);
  EXPECT_EQ(clock.lines, since.lines);
  setenv("TZ", "UTC-2", 1);
  tzset();
  const Done east =
      events({"--from", "17:15:28.926122172", "--to", "17:15:28.976122172", "--node", "/node1/rank5"});
  EXPECT_EQ(east.lines, since.lines);
  const Done wrong = events({"--from", "25:00"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.said, HasSubstr("--from: \"25:00\" is not a time of day"));
  setenv("TZ", "UTC", 1);
  tzset();
}

TEST(EventsCommand, ProgramsAreToldTheSameAsPeople) {
  const std::vector<std::string> what = {"--from", "12", "--to", "12.05", "--node", "/node1/rank5"};
  const auto with = [&](const char* flag) {
    std::vector<std::string> words = what;
    words.emplace_back(flag);
    return events(words);
  };
  const Done table = events(what), csv = with("--csv"), json = with("--json");
  ASSERT_GT(table.lines.size(), 10u);
  ASSERT_EQ(csv.lines.size(), table.lines.size());
  ASSERT_EQ(json.lines.size() + 1, table.lines.size());
  EXPECT_THAT(csv.lines[0], StartsWith("begin_s,duration_ns,kind,resource,name,depth,"));
  std::size_t sends = 0;
  for (std::size_t i = 0; i < json.lines.size(); ++i) {
    const auto j = nlohmann::json::parse(json.lines[i]);
    const std::string begin = csv.lines[i + 1].substr(0, csv.lines[i + 1].find(','));
    EXPECT_THAT(table.lines[i + 1], AllOf(HasSubstr(begin + " "), HasSubstr(j["name"].get<std::string>())));
    EXPECT_THAT(csv.lines[i + 1], HasSubstr("," + std::to_string(j["duration_ns"].get<std::int64_t>()) +
                                            ",state,/node1/rank5," + j["name"].get<std::string>() + ",0,"));
    if (j["name"] != "MPI_Isend") continue;
    ++sends;
    EXPECT_EQ(j["bytes"], 4096);
    EXPECT_THAT(csv.lines[i + 1], HasSubstr(",4096," + std::to_string(j["peer"].get<int>()) + ","));
    EXPECT_THAT(table.lines[i + 1],
                HasSubstr("rank " + std::to_string(j["peer"].get<int>()) + ", 4.0 KiB, tag "));
  }
  EXPECT_GT(sends, 1u);
}

TEST(EventsCommand, WhatIsLeftOutIsSaid) {
  const Done first = events({"--limit", "3"});
  EXPECT_THAT(first.lines, SizeIs(4));
  EXPECT_THAT(first.said, HasSubstr("the first 3 from 0.0 s on; there are more: --limit, or --longest N"));
  EXPECT_THAT(events({}).lines, SizeIs(1001)) << "of a table";
  const Done none = events({"--state", "MPI_Nothing"});
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.lines, IsEmpty());
  EXPECT_THAT(none.said, HasSubstr("nothing of that kind from 0.0 s to "));
}

// Each call that sends is in one of them, and the partner's rank is the one that the call was given.
TEST(EventsCommand, MessagesAreAllThatWereSent) {
  using Lane = std::tuple<std::string, std::string, int>;  // from, to, tag
  std::map<Lane, int> sent, paired;
  for (const std::string& line : events({"--state", "MPI_Isend", "--json"}).lines) {
    const auto j = nlohmann::json::parse(line);
    const int peer = j["peer"];
    ++sent[{j["resource"], "/node" + std::to_string(peer / 4) + "/rank" + std::to_string(peer), j["tag"]}];
  }
  const Done all = events({"--messages", "--json"});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.said, IsEmpty());
  std::int64_t last = 0;
  for (const std::string& line : all.lines) {
    const auto j = nlohmann::json::parse(line);
    ++paired[{j["from"], j["to"], j["tag"]}];
    EXPECT_EQ(j["bytes"], 4096);
    EXPECT_EQ(j["sent_by"], "MPI_Isend");
    EXPECT_EQ(j["taken_by"], "MPI_Irecv");
    EXPECT_GE(j["sent_ns"].get<std::int64_t>(), last);
    last = j["sent_ns"];
  }
  EXPECT_EQ(all.lines.size(), 29'440u);
  EXPECT_EQ(paired, sent);
}

TEST(EventsCommand, MessagesOfAStretchAreThoseOfTheRun) {
  const auto key = [](const std::string& csv) { return csv.substr(0, csv.find(",MPI_Isend")); };
  std::vector<std::string> of_run, of_stretch;
  for (const std::string& line : events({"--messages", "--csv"}).lines)
    if (line >= "12.0" && line < "12.3" && line.find("/node1/rank5,") != std::string::npos)
      of_run.push_back(key(line));
  const Done stretch =
      events({"--messages", "--csv", "--from", "12", "--to", "12.3", "--node", "/node1/rank5"});
  for (const std::string& line : stretch.lines)
    if (line >= "12.0" && line < "12.3") of_stretch.push_back(key(line));
  EXPECT_GT(of_run.size(), 20u);
  EXPECT_EQ(of_stretch, of_run);
  EXPECT_THAT(stretch.said, HasSubstr("paired by their order from shortly before this time on"));
}

TEST(EventsCommand, MessagesAreATableForPeopleAsWell) {
  const Done first = events({"--messages", "--limit", "3"});
  ASSERT_THAT(first.lines, SizeIs(4));
  EXPECT_THAT(first.lines[0], ContainsRegex("sent s +took +from +to +bytes +tag +calls"));
  EXPECT_THAT(
      first.lines[1],
      ContainsRegex("/node[0-3]/rank[0-9]+ +/node[0-3]/rank[0-9]+ +4\\.0 KiB +[12] +MPI_Isend MPI_Irecv"));
  EXPECT_THAT(first.said, HasSubstr("the first 3; there are more"));
  const Done none = events({"--messages", "--to", "0.5"});
  EXPECT_THAT(none.lines, IsEmpty());
  EXPECT_THAT(none.said, HasSubstr("no messages in this time"));
}

// Against the list itself.
TEST(EventsCommand, StatisticsAreWhatTheListSumsTo) {
  const std::vector<std::string> stretch = {"--from", "12", "--to", "13"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), stretch.begin(), stretch.end());
    return events(std::move(more));
  };
  struct Sum {
    std::uint64_t count = 0;
    std::int64_t total = 0, longest = 0;
    bool operator==(const Sum&) const = default;
  };
  std::map<std::string, Sum> listed, told;
  const std::int64_t from = 12'000'000'000, to = 13'000'000'000;
  for (const std::string& line : with({"--json"}).lines) {
    const auto j = nlohmann::json::parse(line);
    const std::int64_t begin = j["begin_ns"], length = j["duration_ns"];
    Sum& s = listed[j["name"]];
    ++s.count;
    s.total += std::min(to, begin + length) - std::max(from, begin);
    s.longest = std::max(s.longest, length);
  }
  for (const std::string& line : with({"--statistics", "--json"}).lines) {
    const auto j = nlohmann::json::parse(line);
    told[j["name"]] = {j["count"], j["total_ns"], j["longest_ns"]};
  }
  EXPECT_GT(listed.size(), 4u);
  EXPECT_EQ(told, listed);

  const Done table = with({"--statistics"});
  ASSERT_THAT(table.lines, SizeIs(listed.size() + 1));
  EXPECT_THAT(table.lines[0],
              ContainsRegex("what +count +total +share +bytes +mean +median +99 % +longest +from s +of"));
  double shares = 0;
  for (std::size_t i = 1; i < table.lines.size(); ++i) {
    const std::size_t end = table.lines[i].find(" %");
    ASSERT_NE(end, std::string::npos);
    shares += std::stod(table.lines[i].substr(table.lines[i].rfind(' ', end - 1)));
  }
  EXPECT_NEAR(shares, 100, 0.5) << "all ranks were in some state all the time";
  EXPECT_THAT(with({"--statistics", "--csv", "--by", "both"}).lines[0],
              StartsWith("name,resource,count,total_ns,"));
  EXPECT_THAT(with({"--statistics", "--by", "resource"}).lines, SizeIs(17));
  const Done pairs = events({"--messages", "--statistics"});
  EXPECT_THAT(pairs.lines, SizeIs(33)) << "each has two neighbours in the ring";
  EXPECT_THAT(pairs.lines[0], ContainsRegex("from +to +count +bytes +mean"));
}

TEST(EventsCommand, WhatIsWrongIsSaid) {
  const auto said = [](int code, const std::vector<std::string>& words) {
    const Done done = events(words);
    EXPECT_EQ(done.code, code);
    EXPECT_THAT(done.lines, IsEmpty());
    return done.said;
  };
  EXPECT_THAT(said(1, {"--alert", "99"}), AllOf(HasSubstr("99"), HasSubstr("margay alerts ls ")));
  EXPECT_THAT(said(2, {"--from", "soon"}), HasSubstr("--from soon: "));
  EXPECT_THAT(said(2, {"--least", "10"}), HasSubstr("--least 10: "));
  EXPECT_THAT(said(2, {"--from", "3", "--to", "2"}), HasSubstr("--to is not after --from"));
  EXPECT_THAT(said(2, {"--node", "/node9"}), HasSubstr("there is no resource at or below '/node9'"));
  EXPECT_THAT(said(2, {"--match", "["}), HasSubstr("'[' is no regular expression"));
  EXPECT_THAT(said(2, {"--messages", "--node", "/node9"}),
              HasSubstr("there is no resource at or below '/node9'"));
}

}  // namespace events_test
}  // namespace margay::daemon
