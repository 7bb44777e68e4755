// The thread "margay-alerts" with sinks of our own, and with real ones against a server of our own.
#include "margay/sinks/dispatcher.h"

#include <gmock/gmock.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "channel.h"
#include "http_receiver.h"
#include "margay/sinks/settings.h"
#include "sink_fixture.h"

namespace margay::sinks {
namespace dispatcher_test {

using support::HttpReceiver;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Outcome::Kind;

// What a sink of ours got; survives it.
struct Book {
  std::mutex mutex;
  std::vector<std::string> got;
  std::string link;  // of the newest
  std::atomic<bool> dead{false}, hangs{false}, throws{false};
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex);
    return got;
  }
  void forget() {
    const std::lock_guard lock(mutex);
    got.clear();
  }
};
class BookSink final : public Sink {
 public:
  BookSink(Book& book, const char* name) : book_(book), name_(name) {}
  const char* name() const override { return name_; }
  std::string where() const override { return "here"; }
  void begin(const Notice& n, TimeNs) override {
    if (book_.throws) throw std::runtime_error("no memory");
    const std::lock_guard lock(book_.mutex);
    book_.link = n.link;
    refuses_ = book_.dead;  // also if that changes before it is asked
    if (!refuses_ && !book_.hangs) book_.got.push_back(n.alert.id + "/" + alert::to_string(n.alert.status));
  }
  std::optional<Outcome> progress(TimeNs) override {
    if (book_.hangs) return std::nullopt;
    return refuses_ ? Outcome{Kind::kRetry, "dead", {}} : Outcome{};
  }
  void cut(TimeNs) override {}
  void adopt(const Notice& n) override {
    const std::lock_guard lock(book_.mutex);
    book_.got.push_back("adopted " + n.alert.id);
  }

 private:
  Book& book_;
  const char* name_;
  bool refuses_ = false;
};

class Dispatch : public InAFolder {
 protected:
  std::unique_ptr<Dispatcher> dispatcher(std::vector<std::unique_ptr<Sink>> sinks) {
    Dispatcher::Options o;
    o.log_path = path("sent");
    o.wall_offset = clock_.realtime() - clock_.monotonic();
    o.place = {"/data/night.margay", clock_.realtime() - seconds(100)};
    o.say = [this](Dispatcher::Weight weight, const std::string& line) {
      const std::lock_guard lock(mutex_);
      said_ += (weight == Dispatcher::Weight::kInfo ? "  " : "! ") + line + "\n";
    };
    return std::make_unique<Dispatcher>(std::move(sinks), std::move(o), clock_);
  }
  std::unique_ptr<Dispatcher> with(std::initializer_list<std::pair<Book*, const char*>> books) {
    std::vector<std::unique_ptr<Sink>> sinks;
    for (const auto& [book, name] : books) sinks.push_back(std::make_unique<BookSink>(*book, name));
    return dispatcher(std::move(sinks));
  }
  std::unique_ptr<Dispatcher> started(std::initializer_list<std::pair<Book*, const char*>> books) {
    auto d = with(books);
    d->start();
    return d;
  }
  static void push(Dispatcher& d, const std::string& id, alert::Status status = alert::Status::kFiring) {
    alert::Alert a = a_later_alert(id);
    a.status = status;
    d.push(a);
  }
  static void push_begin_and_updates(Dispatcher& d, alert::Alert a, std::uint64_t updates) {
    for (a.updates = 0; a.updates <= updates; ++a.updates) d.push(a);
  }
  // Raised after the sinks were first used.
  static alert::Alert a_later_alert(const std::string& id) {
    alert::Alert a = an_alert(id);
    a.detected = a.detected + seconds(3600);
    return a;
  }
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  static constexpr alert::Status kOver = alert::Status::kResolved;
  SystemClock clock_;
  std::mutex mutex_;
  std::string said_;
};

TEST_F(Dispatch, EachSinkIsGivenTheLinkToThePicture) {
  Book book;
  auto d = started({{&book, "a"}});
  push(*d, "1");
  ASSERT_TRUE(soon([&] { return book.all().size() == 1; }));
  d->stop();
  EXPECT_THAT(book.link, testing::MatchesRegex("margay:///data/night\\.margay#t=[0-9.]+-[0-9.]+"));
}

TEST_F(Dispatch, EverySinkHasEverythingOnceAndInOrder) {
  Book one, two;
  auto d = started({{&one, "one"}, {&two, "two"}});
  push(*d, "1");
  push(*d, "2");
  push(*d, "1", kOver);
  push(*d, "1");  // said again
  push(*d, "2", kOver);
  d->stop();
  EXPECT_THAT(one.all(), testing::IsSupersetOf({"1/firing", "2/firing", "1/resolved", "2/resolved"}));
  auto told = one.all();
  std::erase(told, "adopted 1");
  EXPECT_THAT(told, ElementsAre("1/firing", "2/firing", "1/resolved", "2/resolved"));
  told = two.all();
  std::erase(told, "adopted 1");
  EXPECT_THAT(told, ElementsAre("1/firing", "2/firing", "1/resolved", "2/resolved"));
  EXPECT_EQ(d->delivery().sent, 8u);
  EXPECT_EQ(d->delivery().given_up, 0u);
  EXPECT_EQ(d->delivery().waiting, 0u);
}

TEST_F(Dispatch, ASinkThatHangsOrIsDeadHoldsUpNoOther) {
  Book hangs, dead, well;
  hangs.hangs = dead.dead = true;
  auto d = started({{&hangs, "hangs"}, {&dead, "dead"}, {&well, "well"}});
  for (int i = 0; i < 50; ++i) push(*d, std::to_string(i));
  EXPECT_TRUE(soon([&] { return well.all().size() == 50; }));
  EXPECT_TRUE(soon([&] { return d->delivery().waiting == 100; }));
  EXPECT_THAT(d->delivery().trouble, HasSubstr("dead (here): dead"));
  dead.dead = false;
  EXPECT_TRUE(soon([&] { return dead.all().size() == 50; }));
  hangs.hangs = false;
  d->stop();
  EXPECT_EQ(d->delivery().given_up, 0u);
  EXPECT_THAT(said(), HasSubstr("! alerts: dead (here): dead; it is tried again\n"));
  EXPECT_THAT(said(), HasSubstr("  alerts: dead (here) takes alerts again\n"));
}

TEST_F(Dispatch, ANodeThatWidensAndATimeStayWhatTheyWere) {
  HttpReceiver server;
  Settings s;
  s.alertmanager = server.url() + "/";
  auto sinks = make_sinks(s, clock_);
  ASSERT_TRUE(sinks);
  auto d = dispatcher(std::move(*sinks));
  d->start();
  alert::Alert a = an_alert("1");
  d->push(a);
  a.status = kOver;
  a.node = "/";
  a.end = a.onset + seconds(1);
  d->push(a);
  d->stop();
  const auto got = server.requests();
  ASSERT_EQ(got.size(), 2u);
  const auto first = nlohmann::json::parse(got[0].body)[0], second = nlohmann::json::parse(got[1].body)[0];
  EXPECT_EQ(first["labels"], second["labels"]);
  EXPECT_EQ(first["startsAt"], second["startsAt"]);
}

TEST_F(Dispatch, AfterARestartOnlyWhatWasNotSentIsSent) {
  Book book;
  book.dead = false;
  {
    auto d = started({{&book, "webhook"}});
    push(*d, "1");
    push(*d, "2");
    push(*d, "2", kOver);
    d->stop();
    book.dead = true;
    push(*d, "ignored");  // nothing may come any more, and nothing happens
  }
  {
    auto d = started({{&book, "webhook"}});
    push(*d, "3");
    push(*d, "4");
    push(*d, "4", kOver);
    d->stop();  // in vain, for a bounded time
    EXPECT_EQ(d->delivery().given_up, 3u);
    EXPECT_EQ(d->delivery().waiting, 0u);
  }
  EXPECT_THAT(said(), HasSubstr("given up on 3 alerts, the newest 4 (resolved): dead; the archive has them"));
  book.dead = false;
  book.forget();
  auto d = with({{&book, "webhook"}});
  for (const char* id : {"1", "2", "3", "4"}) push(*d, id);  // looks back
  push(*d, "2", kOver);
  push(*d, "4", kOver);
  EXPECT_THAT(book.all(), IsEmpty());
  d->start();
  push(*d, "1", kOver);
  d->stop();
  EXPECT_THAT(book.all(), ElementsAre("adopted 1", "3/firing", "4/firing", "4/resolved", "1/resolved"));
}

TEST_F(Dispatch, UpdatesAreSentOnceAndThoseOfThePastAreNotButAreHowTheAlertIs) {
  Book book;
  alert::Alert a = a_later_alert("1");
  {
    auto d = started({{&book, "webhook"}});
    for (const std::uint64_t n : {0u, 1u, 1u}) {
      a.updates = n;
      d->push(a);
      EXPECT_TRUE(soon([&] { return d->delivery().waiting == 0 && d->delivery().sent == n + 1; }));
    }
    d->stop();
  }
  auto told = book.all();
  std::erase(told, "adopted 1");
  EXPECT_THAT(told, ElementsAre("1/firing", "1/firing"));
  book.forget();
  auto d = with({{&book, "webhook"}});
  push_begin_and_updates(*d, a, 2);
  d->start();
  EXPECT_THAT(book.all(), ElementsAre("adopted 1"));
  a.updates = 3;
  d->push(a);
  d->stop();
  EXPECT_THAT(book.all(), ElementsAre("adopted 1", "1/firing"));
}

TEST_F(Dispatch, WhoWasFirstToldOfAnUpdateIsNotToldOfTheBeginAfterARestart) {
  Book book;
  alert::Alert a = a_later_alert("1");
  {
    auto d = started({{&book, "webhook"}});
    a.updates = 2;
    d->push(a);
    d->stop();
  }
  auto d = with({{&book, "webhook"}});
  push_begin_and_updates(*d, a, 2);
  d->start();
  a.status = kOver;
  d->push(a);
  d->stop();
  EXPECT_THAT(book.all(), ElementsAre("1/firing", "adopted 1", "1/resolved"));
}

TEST_F(Dispatch, ASinkThatIsNewIsToldOfThePastOnlyWhatFiresStill) {
  Book old_one, new_one;
  {
    auto d = started({{&old_one, "old"}});
    push(*d, "1");
    push(*d, "1", kOver);
    push(*d, "2");
    d->stop();
  }
  auto d = with({{&old_one, "old"}, {&new_one, "new"}});
  d->push(an_alert("1"));
  d->push(an_alert("1", kOver));
  d->push(an_alert("2"));
  d->start();
  push(*d, "2", kOver);
  d->stop();
  EXPECT_THAT(new_one.all(), ElementsAre("2/firing", "2/resolved"));
  EXPECT_THAT(old_one.all(), ElementsAre("1/firing", "1/resolved", "2/firing", "adopted 2", "2/resolved"));
}

TEST_F(Dispatch, WhatComesTooFastIsCountedAndPushingNeverWaits) {
  Book book;
  book.hangs = true;
  auto d = started({{&book, "webhook"}});
  const std::size_t many = 100'000;
  for (std::size_t i = 0; i < many; ++i) push(*d, std::to_string(i));
  book.hangs = false;
  EXPECT_TRUE(soon([&] { return d->delivery().waiting == 0; }));
  d->stop();
  const auto s = d->delivery();
  EXPECT_GT(s.given_up, 0u);
  EXPECT_EQ(s.sent + s.given_up, many) << "nothing is lost without a count";
}

TEST_F(Dispatch, AThreadThatFailsIsSaidAndHarmsNobody) {
  Book book;
  book.throws = true;
  auto d = started({{&book, "webhook"}});
  push(*d, "1");
  EXPECT_TRUE(soon([&] { return said().find("none are sent any more: no memory") != std::string::npos; }));
  for (std::size_t i = 0; i < 2 * Dispatcher::kMostIncoming; ++i) push(*d, std::to_string(i));
  d->stop();
}

TEST_F(Dispatch, AWebhookThatFailsAFewTimesHasEverythingInTheEnd) {
  HttpReceiver server([](std::size_t i) { return HttpReceiver::Answer{i < 2 ? 500 : 200, "", "", false}; });
  Settings s;
  s.webhook = server.url();
  auto sinks = make_sinks(s, clock_);
  ASSERT_TRUE(sinks);
  auto d = dispatcher(std::move(*sinks));
  d->start();
  push(*d, "1");
  push(*d, "1", kOver);
  EXPECT_TRUE(soon([&] { return d->delivery().sent == 2; }));
  std::vector<std::string> got;
  for (const auto& r : server.requests()) got.push_back(nlohmann::json::parse(r.body)["status"]);
  EXPECT_THAT(got, ElementsAre("firing", "firing", "firing", "resolved"));
  EXPECT_EQ(d->delivery().failed, 2u);
  EXPECT_EQ(d->delivery().trouble, "");
}

TEST_F(Dispatch, AServerThatNeverAnswersDoesNotHoldUpTheEnd) {
  HttpReceiver server([](std::size_t) { return HttpReceiver::Answer{200, "", "", true}; });
  Settings s;
  s.webhook = server.url();
  s.command = {"sleep", "600"};
  auto sinks = make_sinks(s, clock_);
  ASSERT_TRUE(sinks);
  auto d = dispatcher(std::move(*sinks));
  d->start();
  push(*d, "1");
  EXPECT_TRUE(soon([&] { return server.requests().size() == 1; }));
  d->stop();
  EXPECT_EQ(d->delivery().given_up, 2u);
}

TEST_F(Dispatch, SettingsThatMakeNoSenseAreRefusedWithTheKey) {
  const auto error_of = [&](const Settings& s) {
    const auto sinks = make_sinks(s, clock_);
    return sinks ? "no error" : sinks.error().message;
  };
  Settings s;
  EXPECT_FALSE(s.any());
  EXPECT_EQ(make_sinks(s, clock_)->size(), 0u);
  s.command = {"no-such-program-anywhere"};
  EXPECT_EQ(error_of(s), "alerts.command: 'no-such-program-anywhere' is no program that may be run");
  s = {};
  s.webhook = "http://127.0.0.1:1";
  s.webhook_headers = path("missing");
  EXPECT_EQ(error_of(s), "alerts.webhook: " + path("missing") + ": No such file or directory");
  s = {};
  s.alertmanager = "http://[";
  EXPECT_THAT(error_of(s), testing::StartsWith("alerts.alertmanager: "));
  s = {};
  s.journal = true;
  s.command = {"true"};
  s.webhook = s.alertmanager = "https://h";
  EXPECT_EQ(make_sinks(s, clock_)->size(), 4u);
}

}  // namespace dispatcher_test
}  // namespace margay::sinks
