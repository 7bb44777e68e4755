#include "margay/alert/alert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../../support/temporary_folder.h"
#include "margay/alert/jsonl_sink.h"
#include "margay/alert/picture_link.h"

namespace margay::alert {
namespace alert_test {

using testing::ElementsAre;

Alert whole() {
  Alert a;
  a.id = "run-1";
  a.run = "run";
  a.level = milliseconds(100);
  a.onset = TimeNs(1'700'000'000'123'456'789);
  a.detected = TimeNs(1'700'000'000'300'000'000);
  a.emitted_wall = TimeNs(1'700'000'000'350'000'000);
  a.node = "/h1";
  a.resources = {"/h1/rank3"};
  a.affected = {"/h1", "/h2"};
  a.score_bits = 4.25;
  a.p_value = 1e-9;
  a.phase = "B";
  a.states = {{"MPI_Wait", 0.08, 0.31}};
  a.likely_cause = {"/h1/rank3"};
  a.p = 0.02;
  a.lost_events = 7;
  a.message = "rank3 on h1 is stopped since 0.2 s";
  return a;
}

TEST(AlertJson, FieldsAndTheirOrder) {
  Alert a = whole();
  const auto j = nlohmann::ordered_json::parse(to_json(a));
  std::vector<std::string> keys;
  for (const auto& [key, value] : j.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("id", "run", "kind", "status", "level_ns", "onset_ns", "detected_ns",
                                "end_ns", "emitted_wall_ns", "updates", "updated_ns", "persistent", "node",
                                "resources", "affected", "score_bits", "p_value", "phase", "states",
                                "likely_cause", "p", "lost_events", "message"));
  EXPECT_EQ(j["updates"], 0);
  EXPECT_TRUE(j["updated_ns"].is_null());
  EXPECT_EQ(j["persistent"], false);
  EXPECT_EQ(j["kind"], "perturbation");
  EXPECT_EQ(j["status"], "firing");
  EXPECT_TRUE(j["end_ns"].is_null());
  EXPECT_EQ(j["onset_ns"], 1'700'000'000'123'456'789);  // to the nanosecond
  EXPECT_EQ(j["states"][0].dump(), R"({"state":"MPI_Wait","expected":0.08,"observed":0.31})");
  a.status = Status::kResolved;
  a.end = TimeNs(5);
  EXPECT_EQ(nlohmann::json::parse(to_json(a))["end_ns"], 5);
  EXPECT_EQ(nlohmann::json::parse(to_json(a))["status"], "resolved");
}

// An alert of that kind with a wrong field is refused, with words of it.
void expect_refused(const std::string& kind, const std::string& field, const std::string& words) {
  const auto refused =
      parse_untrusted(R"({"id":"i","kind":")" + kind + R"(","status":"firing","onset_ns":1,)" + field + "}");
  ASSERT_FALSE(refused) << field;
  EXPECT_NE(refused.error().message.find(words), std::string::npos) << refused.error().message;
}

TEST(AlertJson, ADurationIsReadAsItWasWritten) {
  Alert a = whole();
  a.kind = Kind::kPhaseDuration;
  a.duration = PhaseDuration{milliseconds(48'200), milliseconds(31'800), milliseconds(47'700), 14};
  const std::string json = to_json(a);
  EXPECT_EQ(nlohmann::json::parse(json)["duration"].dump(),
            R"({"lasted_ns":48200000000,"limit_ns":47700000000,"times":14,"usual_ns":31800000000})");
  const auto read = parse_untrusted(json);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->duration, a.duration);
  EXPECT_EQ(to_json(*read), json);
  EXPECT_FALSE(parse_untrusted(to_json(whole()))->duration);
  for (const char* wrong :
       {R"("duration":7)", R"("duration":{})", R"("duration":{"lasted_ns":1,"usual_ns":"x"})"}) {
    expect_refused("phase_duration", wrong, "'duration'");
  }
}

TEST(AlertJson, WhoHadTheCpuIsReadAsItWasWritten) {
  Alert a = whole();
  EXPECT_EQ(to_json(a).find("takers"), std::string::npos);
  a.takers = {{"/h1/rank3", "other", "python3", 4242, 1, 0.92},
              {"/h1/rank3", "rank", "/h1/rank5", 77, -1, 0.5}};
  const std::string json = to_json(a);
  EXPECT_EQ(nlohmann::ordered_json::parse(json)["takers"][0].dump(),
            R"({"resource":"/h1/rank3","kind":"other","name":"python3","pid":4242,"cpu":1,"share":0.92})");
  const auto read = parse_untrusted(json);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->takers, a.takers);
  EXPECT_EQ(to_json(*read), json);
  for (const char* wrong : {R"("takers":7)", R"("takers":[7])", R"("takers":[{"resource":"x"}])"}) {
    expect_refused("perturbation", wrong, "'takers'");
  }
}

TEST(AlertJson, WhatItClaimsOfItselfIsReadAsItWasWritten) {
  Alert a = whole();
  for (const char* name : {"area", "false_alarms_per_day", "cost_s", "candidates"})
    EXPECT_EQ(to_json(a).find(name), std::string::npos) << name;  // as an older Margay wrote it
  a.area = {{"/h1/rank3", "/h2"}, SliceIndex(17'000'000'001), 12};
  a.false_alarms_per_day = 0.03;
  a.cost_s = 2.5;
  a.candidates = {{"/h1/rank3", "resource", 0, 0.98}, {"python3", "other", 4242, 0.9}};
  const std::string json = to_json(a);
  const auto j = nlohmann::ordered_json::parse(json);
  EXPECT_EQ(j["area"].dump(), R"({"nodes":["/h1/rank3","/h2"],"first_slice":17000000001,"slices":12})");
  EXPECT_EQ(j["false_alarms_per_day"], 0.03);
  EXPECT_EQ(j["cost_s"], 2.5);
  EXPECT_EQ(j["candidates"].dump(), R"([{"name":"/h1/rank3","kind":"resource","probability":0.98},)"
                                    R"({"name":"python3","kind":"other","pid":4242,"probability":0.9}])");
  const auto read = parse_untrusted(json);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->area, a.area);
  EXPECT_EQ(read->false_alarms_per_day, a.false_alarms_per_day);
  EXPECT_EQ(read->cost_s, a.cost_s);
  EXPECT_EQ(read->candidates, a.candidates);
  EXPECT_EQ(to_json(*read), json);
  const std::pair<const char*, const char*> wrong[] = {
      {"area", "7"},         {"area", "{}"},
      {"cost_s", R"("x")"},  {"area", R"({"nodes":[1],"first_slice":1,"slices":1})"},
      {"candidates", "[7]"}, {"candidates", R"([{"name":"x"}])"}};
  for (const auto& [field, value] : wrong) {
    const std::string name = field;
    expect_refused("perturbation", "\"" + name + "\":" + value, "'" + name + "'");
  }
}

TEST(AlertJson, EveryKindHasAName) {
  EXPECT_STREQ(to_string(Kind::kPerturbation), "perturbation");
  EXPECT_STREQ(to_string(Kind::kStall), "stall");
  EXPECT_STREQ(to_string(Kind::kPhaseDuration), "phase_duration");
  EXPECT_STREQ(to_string(Kind::kSourceLost), "source_lost");
  EXPECT_STREQ(to_string(Kind::kLoss), "loss");
}

TEST(AlertJson, HostileNamesStayOneValidLine) {
  Alert a = whole();
  a.node = "/\xff\xfe\"\\\n\r\t";
  a.resources = {std::string("a\0b", 3), "\xC3", "\xF0\x9F\x98"};
  a.message = "line\nline\u2028";
  const std::string json = to_json(a);
  EXPECT_EQ(json.find('\n'), std::string::npos);
  const auto j = nlohmann::json::parse(json, nullptr, false);
  ASSERT_TRUE(j.is_object());
  EXPECT_EQ(j["resources"].size(), 3u);
}

TEST(AlertJson, NumbersThatAreNoneAreNull) {
  Alert a = whole();
  a.score_bits = std::numeric_limits<double>::quiet_NaN();
  a.p_value = std::numeric_limits<double>::infinity();
  const auto j = nlohmann::json::parse(to_json(a), nullptr, false);
  ASSERT_TRUE(j.is_object());
  EXPECT_TRUE(j["score_bits"].is_null());
}

class Sink : public testing::Test {
 protected:
  std::string content() const {
    std::ifstream in(path_);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }
  static Alert word(const std::string& id, Status status = Status::kFiring) {
    Alert a;
    a.id = id;
    a.status = status;
    return a;
  }
  static std::string line(const std::string& id, Status status = Status::kFiring) {
    return to_json(word(id, status));
  }
  const test::TemporaryFolder directory_;
  const std::string path_ = directory_ / "alerts.jsonl";
};

TEST_F(Sink, AppendsWholeLinesOncePerStatus) {
  auto sink = JsonlSink::open(path_);
  ASSERT_TRUE(sink);
  EXPECT_TRUE(sink->write(word("1")));
  EXPECT_FALSE(sink->write(word("1")));
  EXPECT_TRUE(sink->write(word("1", Status::kResolved)));
  EXPECT_EQ(content(), line("1") + "\n" + line("1", Status::kResolved) + "\n");
  EXPECT_EQ(sink->failed(), 0u);
}

// As the command has it, of which the other end is margay-viewer.
TEST(PictureLink, IsOfTheTimeOfTheAlertAndAsMuchRoundIt) {
  Alert a;
  a.onset = TimeNs(10'000'000'000), a.detected = TimeNs(10'400'000'000);
  const PicturePlace place = picture_place("/data/my night.margay", TimeNs(1'000'000'000));
  EXPECT_EQ(picture_link(a, place), "margay:///data/my%20night.margay#t=8-10.5") << "as far as is known";
  a.end = TimeNs(14'000'000'000);
  EXPECT_EQ(picture_link(a, place), "margay:///data/my%20night.margay#t=5-17.1");
  EXPECT_EQ(picture_link(a, {}), "");
  EXPECT_EQ(picture_place("", TimeNs()).archive, "");
  EXPECT_EQ(picture_place("/data/./x/../night", TimeNs()).archive, "/data/night");
  EXPECT_THAT(picture_place("night", TimeNs()).archive, testing::EndsWith("/night")) << "from any folder";
  a.onset = TimeNs(INT64_MIN), a.end = TimeNs(INT64_MAX);
  EXPECT_THAT(picture_link(a, place), testing::StartsWith("margay:///data/my%20night.margay#t=0-"));
}

TEST_F(Sink, ARestartDoesNotRepeat) {
  { JsonlSink::open(path_)->write(word("1")); }
  auto sink = JsonlSink::open(path_);
  EXPECT_FALSE(sink->write(word("1")));
  EXPECT_TRUE(sink->write(word("1", Status::kResolved)));
  EXPECT_EQ(content(), line("1") + "\n" + line("1", Status::kResolved) + "\n");
}

TEST_F(Sink, ALineThatACrashCutIsWrittenAgain) {
  std::ofstream(path_) << line("1") << "\nnot json\n[1]\n{\"id\":7}\n" << line("2").substr(0, 12);
  auto sink = JsonlSink::open(path_);
  EXPECT_FALSE(sink->write(word("1")));
  EXPECT_TRUE(sink->write(word("2")));
  EXPECT_TRUE(testing::Value(content(), testing::EndsWith("\n" + line("2") + "\n")));
}

TEST_F(Sink, AFullDiskIsCountedAndTheNextLineIsWholeAgain) {
  auto sink = JsonlSink::open(path_);
  EXPECT_TRUE(sink->write(word("1")));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit full = before;
  full.rlim_cur = content().size() + 10;  // half a line goes in
  setrlimit(RLIMIT_FSIZE, &full);
  EXPECT_FALSE(sink->write(word("2")));
  EXPECT_FALSE(sink->write(word("3")));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(sink->failed(), 2u);
  EXPECT_TRUE(sink->write(word("4")));
  EXPECT_TRUE(testing::Value(content(), testing::EndsWith("\n" + line("4") + "\n")));
}

TEST_F(Sink, ADeviceIsNotReadBack) {
  auto sink = JsonlSink::open("/dev/full");  // reading it never ends
  ASSERT_TRUE(sink);
  EXPECT_FALSE(sink->write(word("1")));
  EXPECT_EQ(sink->failed(), 1u);
}

TEST_F(Sink, APathThatCannotBeWrittenIsAnError) {
  const auto sink = JsonlSink::open(directory_ / "missing/a.jsonl");
  ASSERT_FALSE(sink);
  EXPECT_EQ(sink.error().code, ErrorCode::kIo);
  EXPECT_THAT(sink.error().message, testing::HasSubstr("a.jsonl: cannot be written"));
}

}  // namespace alert_test
}  // namespace margay::alert
