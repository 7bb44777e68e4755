// What `margay alerts` makes of an alert.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "alerts/alerts_output.h"

namespace margay::daemon {
namespace alerts_output_test {

alert::Alert example() {
  alert::Alert a;
  a.id = "r-stall-1300-2";
  a.run = "r";
  a.kind = alert::Kind::kStall;
  a.status = alert::Status::kResolved;
  a.level = milliseconds(100);
  a.onset = TimeNs(1'300'000'000);
  a.detected = TimeNs(2'900'000'000);
  a.end = TimeNs(2'400'000'000);
  a.emitted_wall = TimeNs(77);
  a.node = "/n";
  a.resources = {"/n/rank2"};
  a.affected = {"/n"};
  a.score_bits = 4.25;
  a.p_value = 1e-9;
  a.phase = "B";
  a.states = {{"MPI_Wait", 0.08, 0.31}, {"Compute", 0.9, 0.68}};
  a.likely_cause = {"/n/rank2"};
  a.p = 0.02;
  a.message = "rank2 is stopped";
  return a;
}

TEST(PictureLink, IsOfTheAlertAndAsLongAroundIt) {
  Evidence e;
  e.alert = example();
  e.run_begin = TimeNs(100'000'000);
  EXPECT_EQ(picture_link(e, "/data/my night.margay"), "margay:///data/my%20night.margay#t=0.1-3.5");
  e.alert.end = TimeNs(61'300'000'000);
  EXPECT_EQ(picture_link(e, "/a"), "margay:///a#t=0-121.3") << "no earlier than the run";
  e.alert.end.reset();
  EXPECT_EQ(picture_link(e, "/a"), "margay:///a#t=0-4.5") << "as far as it is known";
}

TEST(AlertParse, GivesBackWhatWasWritten) {
  const alert::Alert a = example();
  const auto back = alert::parse_untrusted(alert::to_json(a));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(alert::to_json(*back), alert::to_json(a));
  alert::Alert firing = a;
  firing.status = alert::Status::kFiring;
  firing.end.reset();
  const auto open = alert::parse_untrusted(alert::to_json(firing));
  ASSERT_TRUE(open);
  EXPECT_FALSE(open->end);
  EXPECT_EQ(alert::to_json(*open), alert::to_json(firing));
}

TEST(AlertParse, NamesWhatIsWrong) {
  const auto whole = nlohmann::json::parse(alert::to_json(example()));
  for (const char* member : {"id", "kind", "status", "onset_ns"}) {
    auto without = whole;
    without.erase(member);
    const auto r = alert::parse_untrusted(without.dump());
    ASSERT_FALSE(r) << member;
    EXPECT_NE(r.error().message.find(std::string("'") + member + "'"), std::string::npos)
        << r.error().message;
  }
  for (const auto& [member, value] : whole.items()) {
    auto other = whole;
    other[member] = nlohmann::json::object();
    EXPECT_FALSE(alert::parse_untrusted(other.dump())) << member;
  }
  auto more = whole;
  more["acknowledged"] = "somebody";
  EXPECT_TRUE(alert::parse_untrusted(more.dump())) << "a newer Margay may say more";
  for (const char* text : {"", "[]", "{", "null", "{\"states\":[1]}"})
    EXPECT_FALSE(alert::parse_untrusted(text));
}

TEST(AlertsOutput, OneALine_AndNamesAreMadePrintable) {
  ListedAlert one{"a.margay", TimeNs(300'000'000), example()};
  one.alert.message = "rank2 is \x1b[31mstopped";
  const std::string text = alerts_text({one}, true);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_NE(text.find("1.00 s"), std::string::npos) << "since the begin of the run\n" << text;
  EXPECT_NE(text.find("1.1 s"), std::string::npos) << "how long\n" << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(alerts_text({}, true), "no alerts\n");
  const auto json = nlohmann::json::parse(alerts_json({one}));
  EXPECT_EQ(json.at(0).at("archive"), "a.margay");
  EXPECT_EQ(json.at(0).at("onset_ns"), 1'300'000'000);
}

TEST(AlertsOutput, TellsWhatItRestsOn) {
  Evidence e;
  e.alert = example();
  e.phase = store::PhaseRecord{3, "B", "solve", TimeNs(0), TimeNs(9), 14, false};
  e.cells.leaves = {"/n/rank2"};
  e.cells.blamed = {{SliceIndex(12), {{"Compute", 1.0}}, 0},
                    {SliceIndex(13), {{"Compute", 0.5}, {"MPI_Wait", 0.5}}, 0.25}};
  e.cells.others = {{SliceIndex(12), {{"MPI_Wait", 1.0}}, 0}, {SliceIndex(13), {}, 0}};
  e.settings = {{"min_effect", "0.1"}};
  e.again.exact = true;
  e.again.alert = e.alert;
  e.again.same = true;
  const std::string text = evidence_text(e);
  for (const char* part :
       {"B (solve), 14th time", "MPI_Wait: expected 8.0 %, observed 31 %", "min_effect=0.1", "unknown 25 %",
        "from the archive: identical", "4.25 bits, p-value 1e-09"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("waited for"), std::string::npos);
  EXPECT_EQ(text.find("duration"), std::string::npos);
  e.waits = {
      3, seconds(4), {{"/n/rank2", seconds(3), 0.75}, {"/n/rank1", milliseconds(1), 0.00025}}, 0.24975};
  e.alert.duration =
      alert::PhaseDuration{milliseconds(48'200), milliseconds(31'800), milliseconds(47'700), 14};
  const std::string more = evidence_text(e);
  for (const char* part : {"waited for    /n/rank2 75 %, unknown partner 25 %\n",
                           "48.2 s, usually 31.8 s (median of the newest, 14 times in all), limit 47.7 s\n"})
    EXPECT_NE(more.find(part), std::string::npos) << part << "\n" << more;
  const auto told = nlohmann::json::parse(evidence_json(e));
  EXPECT_EQ(told["waits_for"][0].dump(), R"({"for_ns":3000000000,"resource":"/n/rank2","share":0.75})");
  EXPECT_EQ(told["waited"]["leaves"], 3);
  EXPECT_EQ(more.find("cost"), std::string::npos) << "an older Margay's";
  e.alert.area = {{"/n/rank2"}, SliceIndex(13), 11};
  e.alert.cost_s = 0.75;
  e.alert.false_alarms_per_day = 0.031;
  e.alert.candidates = {{"/n/rank2", "resource", 0, 0.97}, {"python3", "other", 4242, 0.9}};
  const std::string claims = evidence_text(e);
  for (const char* part :
       {"cost          0.75 s that the job is late", "false alarms  0.031 a day expected from chance",
        "candidates    /n/rank2 0.97, python3 (pid 4242) 0.9\n",
        "area          /n/rank2: 11 slices of 100 ms from 1.30 s on"})
    EXPECT_NE(claims.find(part), std::string::npos) << part << "\n" << claims;
  e.alert.likely_cause.clear();
  EXPECT_NE(evidence_text(e).find("likely cause  unknown"), std::string::npos);
  EXPECT_NE(evidence_text(e).find("those blamed"), std::string::npos);
  EXPECT_EQ(evidence_text(e).find("the cause"), std::string::npos);
  EXPECT_NE(alerts_text({{"a", TimeNs(0), e.alert, {}}}, false).find("0.8 s"), std::string::npos);
  e.again.same = false;
  e.again.alert->score_bits = 3;
  EXPECT_NE(evidence_text(e).find("it differs"), std::string::npos);
  e.again.alert.reset();
  EXPECT_NE(evidence_text(e).find("there is no such alert"), std::string::npos);
  e.again.exact = false;
  EXPECT_NE(evidence_text(e).find("does not have all of its data"), std::string::npos);
  e.cells = {};
  EXPECT_NE(evidence_text(e).find("not kept any more"), std::string::npos);
  const auto json = nlohmann::json::parse(evidence_json(e));
  EXPECT_TRUE(json.at("again").at("alert").is_null());
}

}  // namespace alerts_output_test
}  // namespace margay::daemon
