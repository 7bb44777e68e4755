// What Alertmanager is told, and what the real one (Debian's prometheus-alertmanager) makes of it.
#include "alertmanager_sink.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "http_receiver.h"
#include "sink_fixture.h"

namespace margay::sinks {
namespace alertmanager_test {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = Outcome::Kind;

constexpr const char* kProgram = "/usr/bin/prometheus-alertmanager";

TEST(AlertmanagerJson, LabelsAreTheSameFromTheFirstWordToTheLast) {
  const auto firing = a_notice("night-1");
  const auto resolved = std::make_shared<Notice>(*firing);
  resolved->alert.status = alert::Status::kResolved;
  resolved->end = firing->began + seconds(1);
  resolved->alert.node = "/";  // more resources are blamed by now
  resolved->alert.message = "it is over";
  const TimeNs now = firing->began + seconds(10);
  const json f = json::parse(alertmanager_json(*firing, now, seconds(300)));
  const json r = json::parse(alertmanager_json(*resolved, now, seconds(300)));
  EXPECT_EQ(f["labels"], json({{"alertname", "MargayPerturbation"},
                               {"kind", "perturbation"},
                               {"severity", "warning"},
                               {"run", "night"},
                               {"node", "/h1"},
                               {"alert_id", "night-1"}}));
  EXPECT_EQ(f["labels"], r["labels"]);
  EXPECT_EQ(f["annotations"]["summary"], "rank3 on h1 has been stopped for 0.2 s");
  EXPECT_EQ(f["annotations"]["likely_cause"], "/h1/rank3, /h1/rank4");
  EXPECT_EQ(f["annotations"]["cost_s"], "0.25");
  EXPECT_EQ(f["annotations"]["false_alarms_per_day"], "0.03");
  EXPECT_EQ(f["annotations"]["link"], "margay:///data/night.margay#t=1.2-4.4");
  EXPECT_EQ(r["annotations"]["summary"], "it is over");
  EXPECT_EQ(f["startsAt"], r["startsAt"]);
}

TEST(AlertmanagerJson, TimesAreInAnOrderThatItTakes) {
  Notice n = *a_notice("1", alert::Status::kResolved);
  n.began = TimeNs(1'700'000'000'000'000'000);
  n.end = n.began + milliseconds(1500);
  const auto times = [&](TimeNs now) {
    const json j = json::parse(alertmanager_json(n, now, seconds(300)));
    return j["startsAt"].get<std::string>() + " " + j["endsAt"].get<std::string>();
  };
  EXPECT_EQ(times(n.began + seconds(60)), "2023-11-14T22:13:20.000Z 2023-11-14T22:13:21.500Z");
  // The clock was set back meanwhile: an end that lies ahead would mean that it fires.
  EXPECT_EQ(times(n.began - seconds(60)), "2023-11-14T22:12:20.000Z 2023-11-14T22:12:20.000Z");
  n.end = n.began - seconds(5);
  EXPECT_EQ(times(n.began + seconds(60)), "2023-11-14T22:13:20.000Z 2023-11-14T22:13:20.000Z");
  n.alert.status = alert::Status::kFiring;
  EXPECT_EQ(times(n.began + seconds(60)), "2023-11-14T22:13:20.000Z 2023-11-14T22:19:20.000Z");
}

TEST(AlertmanagerJson, HostileNamesAreFitForLabels) {
  Notice n = *a_notice("1");
  n.node = "/\xff\n" + std::string(10'000, 'x');
  n.alert.phase = "";
  n.alert.cost_s.reset();
  n.alert.message = std::string(10'000, 'y');
  const json j = json::parse(alertmanager_json(n, n.began, seconds(1)));
  EXPECT_EQ(j["labels"]["node"].get<std::string>().size(), 512u);
  EXPECT_EQ(j["labels"]["node"].get<std::string>().substr(0, 4), "/?\?x");
  EXPECT_FALSE(j["annotations"].contains("phase")) << "empty is left out";
  EXPECT_FALSE(j["annotations"].contains("cost_s"));
  EXPECT_LE(j["annotations"]["summary"].get<std::string>().size(), 2048u);
}

AlertmanagerSink sink_at(const std::string& base, const Clock& clock, DurationNs repeat, DurationNs hold) {
  auto post = HttpPost::make({base + "/api/v2/alerts", "", "", seconds(60)});
  EXPECT_TRUE(post);
  return AlertmanagerSink(std::move(*post), clock, repeat, hold);
}

TEST(AlertmanagerRepeats, OpenOnesAreToldAgainTogetherAndResolvedOnesOnce) {
  support::HttpReceiver server;
  const SystemClock clock;
  auto sink = sink_at(server.url(), clock, seconds(60), seconds(300));
  const TimeNs now(0);
  const auto go = [&](const Notice& n, TimeNs at) {
    sink.begin(n, at);
    EXPECT_EQ(outcome_of(sink).kind, Kind::kSent);
  };
  EXPECT_EQ(sink.repeat_at(), Sink::kNever);
  go(*a_notice("1"), now);
  EXPECT_EQ(sink.repeat_at(), now + seconds(60));
  go(*a_notice("2"), now + seconds(30));
  EXPECT_EQ(sink.repeat_at(), now + seconds(60));
  sink.begin_repeat(now + seconds(60));
  EXPECT_EQ(outcome_of(sink).kind, Kind::kSent);
  EXPECT_EQ(sink.repeat_at(), now + seconds(120));
  go(*a_notice("1", alert::Status::kResolved), now + seconds(61));
  go(*a_notice("2", alert::Status::kResolved), now + seconds(62));
  EXPECT_EQ(sink.repeat_at(), Sink::kNever);
  // One that a daemon before this one told.
  sink.adopt(*a_notice("3"));
  EXPECT_LE(sink.repeat_at(), now + seconds(63)) << "at once";
  sink.begin_repeat(now + seconds(63));
  EXPECT_EQ(outcome_of(sink).kind, Kind::kSent);
  std::vector<std::string> told;
  for (const auto& r : server.requests()) {
    EXPECT_EQ(r.path, "/api/v2/alerts");
    std::string ids;
    for (const json& a : json::parse(r.body)) ids += a["labels"]["alert_id"].get<std::string>();
    told.push_back(ids);
  }
  EXPECT_THAT(told, ElementsAre("1", "2", "12", "1", "2", "3"));
}

TEST(AlertmanagerRepeats, WhatIsRepeatedIsBounded) {
  support::HttpReceiver server;
  const SystemClock clock;
  auto sink = sink_at(server.url(), clock, seconds(60), seconds(300));
  for (std::size_t i = 0; i < AlertmanagerSink::kMostOpen + 10; ++i) sink.adopt(*a_notice(std::to_string(i)));
  sink.begin_repeat(TimeNs(0));
  EXPECT_EQ(outcome_of(sink).kind, Kind::kSent);
  const json all = json::parse(server.requests().at(0).body);
  EXPECT_EQ(all.size(), AlertmanagerSink::kMostOpen);
  EXPECT_EQ(all[0]["labels"]["alert_id"], "10");
}

// The real one, on a port and in a folder of its own, without its cluster.
class RealAlertmanager : public InAFolder {
 protected:
  void SetUp() override {
    InAFolder::SetUp();
    if (::access(kProgram, X_OK) != 0) GTEST_SKIP() << kProgram << " is not installed";
    file("am.yml",
         "route: {receiver: none, group_wait: 1s, group_interval: 1s}\nreceivers: [{name: none}]\n"
         "global: {resolve_timeout: 5m}\n");
    base_ = "http://127.0.0.1:" + std::to_string(support::free_port());
    std::vector<std::string> words = {kProgram,
                                      "--config.file=" + path("am.yml"),
                                      "--storage.path=" + path("data"),
                                      "--web.listen-address=" + base_.substr(7),
                                      "--cluster.listen-address=",
                                      "--log.level=warn"};
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 2, path("log").c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    ASSERT_EQ(posix_spawn(&pid_, kProgram, &files, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    ASSERT_TRUE(soon([&] { return get("/-/ready").has_value(); })) << content("log");
  }
  void TearDown() override {
    if (pid_ > 0) {
      ::kill(pid_, SIGTERM);
      ::waitpid(pid_, nullptr, 0);
    }
    InAFolder::TearDown();
  }
  std::optional<std::string> get(const std::string& where) const {
    CURL* easy = curl_easy_init();
    std::string body;
    curl_easy_setopt(easy, CURLOPT_URL, (base_ + where).c_str());
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, 10L);
    curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(
        easy, CURLOPT_WRITEFUNCTION, +[](char* data, std::size_t size, std::size_t count, void* to) {
          static_cast<std::string*>(to)->append(data, size * count);
          return size * count;
        });
    const CURLcode code = curl_easy_perform(easy);
    curl_easy_cleanup(easy);
    return code == CURLE_OK ? std::optional(body) : std::nullopt;
  }
  // Those that fire.
  json alerts() const { return json::parse(get("/api/v2/alerts").value_or("null")); }
  std::string base_;
  pid_t pid_ = -1;
};

TEST_F(RealAlertmanager, FiringIsSeenUpdatesAreOneAlertAndResolvedEndsIt) {
  const SystemClock clock;
  auto sink = sink_at(base_, clock, seconds(60), seconds(300));
  auto n = a_notice("night-1");
  n->alert.message = "rank3 on h1 has been stopped for 0.2 s";
  ASSERT_EQ(send(sink, *n).kind, Kind::kSent);
  ASSERT_TRUE(soon([&] { return alerts().size() == 1; })) << alerts();
  const json first = alerts()[0];
  EXPECT_EQ(first["labels"]["alertname"], "MargayPerturbation");
  EXPECT_EQ(first["annotations"]["summary"], n->alert.message);
  EXPECT_EQ(
      first["startsAt"].get<std::string>().substr(0, 19),
      json::parse(alertmanager_json(*n, clock.realtime(), seconds(1)))["startsAt"].get<std::string>().substr(
          0, 19));
  // Told again and again, also with more to say.
  for (int i = 0; i < 5; ++i) {
    sink.begin_repeat(TimeNs(i));
    ASSERT_EQ(outcome_of(sink).kind, Kind::kSent);
  }
  n->alert.message = "rank3 on h1 has been stopped for 5 s";
  ASSERT_EQ(send(sink, *n).kind, Kind::kSent);
  ASSERT_TRUE(soon([&] { return alerts()[0]["annotations"]["summary"] == n->alert.message; })) << alerts();
  EXPECT_EQ(alerts().size(), 1u) << alerts();
  EXPECT_EQ(alerts()[0]["fingerprint"], first["fingerprint"]);
  // Another one beside it.
  ASSERT_EQ(send(sink, *a_notice("night-2")).kind, Kind::kSent);
  ASSERT_TRUE(soon([&] { return alerts().size() == 2; })) << alerts();
  for (const char* id : {"night-1", "night-2"}) {
    auto over = a_notice(id, alert::Status::kResolved);
    ASSERT_EQ(send(sink, *over).kind, Kind::kSent);
  }
  EXPECT_TRUE(soon([&] { return alerts() == json::array(); })) << alerts();
  EXPECT_EQ(sink.repeat_at(), Sink::kNever);
}

TEST_F(RealAlertmanager, OneThatIsNoLongerRepeatedEndsByItself) {
  const SystemClock clock;
  auto sink = sink_at(base_, clock, seconds(60), seconds(2));
  ASSERT_EQ(send(sink, *a_notice("night-1")).kind, Kind::kSent);
  ASSERT_TRUE(soon([&] { return alerts().size() == 1; })) << alerts();
  EXPECT_TRUE(soon([&] { return alerts() == json::array(); })) << alerts();
}

TEST_F(RealAlertmanager, WhatItRefusesIsTold) {
  auto post = HttpPost::make({base_ + "/api/v2/alerts", "", "", seconds(60)});
  ASSERT_TRUE(post);
  post->begin(R"([{"labels":{"not a label":"x"}}])");
  std::optional<Outcome> o;
  ASSERT_TRUE(soon([&] { return (o = post->progress()).has_value(); }));
  EXPECT_EQ(o->kind, Kind::kRefused);
  EXPECT_THAT(o->why, testing::HasSubstr("400"));
}

}  // namespace alertmanager_test
}  // namespace margay::sinks
