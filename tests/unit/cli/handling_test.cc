// What people say about alerts: asked of a daemon, and written into an archive that nobody watches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "alerts/alerts_output.h"
#include "alerts/handle_command.h"
#include "ask_daemon.h"
#include "margay/live/pipeline.h"
#include "support/daemon_run.h"

namespace margay::daemon {
namespace handling_test {

using Kind = HandlingRequest::Kind;
using testing::HasSubstr;
using testing::Not;

// An archive of a run that is not over, whose daemon was killed while two alerts fired.
struct Handled : test::DaemonRun {
  const SystemClock clock;

  void make(const std::string& handling, bool over = false) const {
    store::RunMeta run;
    run.run = "r";
    run.levels = options.levels;
    run.begin = clock.realtime();
    if (over) run.end = run.begin + seconds(1);
    auto archive = store::Archive::create(options.archive, run);
    ASSERT_TRUE(archive) << archive.error().message;
    store::Cut cut;
    cut.sequence = 1;
    for (const char* id : {"r-stall-13-1", "r-stall-14-2"}) {
      alert::Alert a;
      a.id = id;
      a.node = "/h";
      a.resources = {"/h/rank1"};
      cut.alerts.push_back({a.id, alert::to_json(a), "firing"});
    }
    if (!handling.empty()) cut.state = {{alert::kHandlingBlob, handling}};
    ASSERT_TRUE((*archive)->commit(cut, false));
  }
  store::Resume resume() const {
    const auto archive = store::Archive::open(options.archive, store::Mode::kBeside);
    EXPECT_TRUE(archive);
    return *(*archive)->load();
  }
  std::string blob() const {
    for (const store::Blob& b : resume().state)
      if (b.name == alert::kHandlingBlob) return b.bytes;
    return "";
  }
  alert::Handling kept() const { return *handling_in(resume()); }
  static HandlingRequest ack(const std::string& id) {
    HandlingRequest r;
    r.kind = Kind::kAcknowledge;
    r.id = id;
    r.by = "ann";
    r.token = 5;
    return r;
  }
  static HandlingRequest silence(const std::string& node) {
    HandlingRequest r;
    r.kind = Kind::kSilence;
    r.node = node;
    r.duration = seconds(3600);
    r.token = 6;
    return r;
  }
  std::string asked(const HandlingRequest& r) const {
    const auto reply = ask({"r", "", ""}, to_wire(r), seconds(60));
    return reply ? reply->said() : "refused: " + reply.error().message;
  }
};

TEST_F(Handled, WhereNobodyWatchesItGoesIntoTheArchive) {
  make("");
  const TimeNs now = clock.realtime();
  const auto said = perform_in_archive(options.archive, ack("-1"), now);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_THAT(*said, HasSubstr("r-stall-13-1 is acknowledged"));
  EXPECT_THAT(*said, HasSubstr("no daemon watches this run now"));
  ASSERT_TRUE(perform_in_archive(options.archive, silence("/h"), now));
  const alert::Handling h = kept();
  ASSERT_NE(h.ack_of("r-stall-13-1"), nullptr);
  EXPECT_EQ(h.ack_of("r-stall-13-1")->by, "ann");
  ASSERT_EQ(h.silences().size(), 1u);
  EXPECT_EQ(h.silences()[0].until, now + seconds(3600));
  EXPECT_THAT(silences_text(h, now), HasSubstr("s1 "));
  EXPECT_EQ(silences_text(h, now + seconds(3600)), "no silences\n");

  // A daemon that takes the run up knows it.
  auto pipeline = Pipeline::start(options);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  const auto there = ask({"r", "", ""}, to_wire({}), seconds(60));
  ASSERT_TRUE(there) << there.error().message;
  EXPECT_EQ(*alert::Handling::decode_untrusted(there->handling()), h);
  const auto locked = perform_in_archive(options.archive, silence("/h"), now);
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code, ErrorCode::kUnavailable);
}

TEST_F(Handled, AnAcknowledgementIsTakenBackHereAndThere) {
  make("");
  const TimeNs now = clock.realtime();
  HandlingRequest back = ack("13-1");
  back.kind = Kind::kUnacknowledge;
  EXPECT_THAT(perform_in_archive(options.archive, back, now).error().message,
              HasSubstr("no alert '13-1' is acknowledged: none is"));
  ASSERT_TRUE(perform_in_archive(options.archive, ack("13-1"), now));
  const auto said = perform_in_archive(options.archive, back, now);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_THAT(*said, HasSubstr("r-stall-13-1 is not acknowledged any more"));
  EXPECT_TRUE(kept().acks().empty());
  ASSERT_TRUE(perform_in_archive(options.archive, ack("13-1"), now));
  auto pipeline = Pipeline::start(options);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  back.token = 17;
  EXPECT_THAT(asked(back), HasSubstr("r-stall-13-1 is not acknowledged any more"));
  EXPECT_TRUE(kept().acks().empty()) << "it is in the archive when the answer comes";
  EXPECT_THAT(asked(back), HasSubstr("r-stall-13-1 is not acknowledged any more")) << "the same request";
  back.token = 18;
  EXPECT_THAT(asked(back), HasSubstr("none is"));
}

TEST_F(Handled, WhatIsRefusedChangesNothing) {
  make("");
  const TimeNs now = clock.realtime();
  EXPECT_THAT(perform_in_archive(options.archive, ack("r-stall"), now).error().message,
              HasSubstr("no alert 'r-stall' fires: firing are r-stall-13-1, r-stall-14-2"));
  HandlingRequest none = silence("");
  EXPECT_THAT(perform_in_archive(options.archive, none, now).error().message, HasSubstr("--node"));
  HandlingRequest unsilence;
  unsilence.kind = Kind::kUnsilence;
  unsilence.id = "s1";
  EXPECT_THAT(perform_in_archive(options.archive, unsilence, now).error().message,
              HasSubstr("no silence 's1'"));
  EXPECT_EQ(resume().sequence, 1u);
  EXPECT_EQ(blob(), "");
}

TEST_F(Handled, OfARunThatIsOverNothingFires) {
  make("", true);
  EXPECT_THAT(perform_in_archive(options.archive, ack("-1"), clock.realtime()).error().message,
              HasSubstr("this run is over"));
}

TEST_F(Handled, ADaemonAnswersWhenTheArchiveHasItAndOnceIsOnce) {
  make("");
  {
    auto pipeline = Pipeline::start(options);
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    EXPECT_EQ(asked(silence("/h")), "s1 silences node /h");
    EXPECT_EQ(kept().silences().size(), 1u) << "it is in the archive when the answer comes";
    EXPECT_EQ(asked(silence("/h")), "s1 silences node /h") << "the same request";
    EXPECT_EQ(kept().silences().size(), 1u);
    HandlingRequest other = silence("/h2");
    other.token = 7;
    other.from = clock.realtime() + seconds(7200);
    EXPECT_EQ(asked(other).substr(0, 24), "s2 will silence node /h2");
    const auto list = ask({"r", "", ""}, to_wire(HandlingRequest()), seconds(60));
    ASSERT_TRUE(list) << list.error().message;
    ASSERT_EQ(list->silences().silence_size(), 2) << "as viewers list them";
    const wire::Silence &holds = list->silences().silence(0), &planned = list->silences().silence(1);
    EXPECT_EQ(holds.id() + ", " + holds.what(), "s1, node /h");
    EXPECT_EQ(holds.until_ns() - holds.from_ns(), seconds(3600).value);
    EXPECT_TRUE(holds.active());
    EXPECT_EQ(planned.from_ns(), other.from.value);
    EXPECT_FALSE(planned.active());
    EXPECT_THAT(asked(ack("no-such")), HasSubstr("no alert 'no-such' fires"));
    HandlingRequest bad = silence("x");
    bad.token = 8;
    EXPECT_THAT(asked(bad), HasSubstr("a node's path begins with '/'"));
  }
  auto pipeline = Pipeline::start(options);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  HandlingRequest unsilence;
  unsilence.kind = Kind::kUnsilence;
  unsilence.id = "s1";
  unsilence.token = 9;
  EXPECT_EQ(asked(unsilence), "s1 has ended: it silenced node /h");
  EXPECT_EQ(asked(unsilence), "s1 has ended: it silenced node /h") << "the same request";
  ASSERT_EQ(kept().silences().size(), 1u);
  EXPECT_EQ(kept().silences()[0].id, "s2");
}

TEST_F(Handled, ABlobThatDoesNotReadIsSaidAndOneOfANewerMargayIsLeftAlone) {
  const std::string newer = R"({"version":2,"silences":"otherwise"})";
  make(newer);
  EXPECT_THAT(perform_in_archive(options.archive, silence("/h"), clock.realtime()).error().message,
              HasSubstr("written by a newer Margay"));
  {
    auto pipeline = Pipeline::start(options);
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    EXPECT_THAT(asked(silence("/h")),
                HasSubstr("refused: silences and acknowledgements were written by a newer"));
  }
  EXPECT_EQ(blob(), newer);
  std::filesystem::remove_all(options.archive);
  make("\x01 no JSON");
  auto pipeline = Pipeline::start(options);
  ASSERT_TRUE(pipeline) << "alerts are sent as ever";
  EXPECT_EQ(asked(silence("/h")), "s1 silences node /h");
  EXPECT_EQ(kept().silences().size(), 1u);
}

TEST(HandledAlerts, AreShownWithWhoSaidWhat) {
  ListedAlert l;
  l.alert.id = "r-stall-13-1";
  l.alert.persistent = true;
  EXPECT_THAT(alerts_text({l}, false), HasSubstr("firing, persistent"));
  l.handled.ack = alert::Ack{"r-stall-13-1", TimeNs(5), "ann\x1b[31m", "disk"};
  l.handled.silenced_by = "s3";
  const std::string text = alerts_text({l}, false);
  EXPECT_THAT(text, HasSubstr("firing, acknowledged by ann"));
  EXPECT_THAT(text, HasSubstr(", silenced by s3"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(alerts_json({l}), HasSubstr("\"silenced_by\": \"s3\""));
}

TEST_F(Handled, ASilenceMayBePlanned) {
  make("");
  const TimeNs now = clock.realtime();
  HandlingRequest later = silence("/h");
  later.from = now + seconds(7200);
  const auto said = perform_in_archive(options.archive, later, now);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_THAT(*said, HasSubstr("s1 will silence node /h"));
  EXPECT_THAT(*said, Not(HasSubstr("alerts that fire"))) << "none of them is silenced now";
  ASSERT_EQ(kept().silences().size(), 1u);
  EXPECT_EQ(kept().silences()[0].from, now + seconds(7200));
  EXPECT_EQ(kept().silences()[0].until, now + seconds(7200 + 3600)) << "so long from its begin on";
  EXPECT_THAT(silences_text(kept(), now), HasSubstr("  in 2 h 0 min\n"));
  EXPECT_THAT(silences_text(kept(), now + seconds(7200 + 1800)), HasSubstr("30 min 0 s more"));
  EXPECT_THAT(handling_json(kept(), now), HasSubstr("\"active\":false"));
  EXPECT_THAT(handling_json(kept(), now + seconds(7200)), HasSubstr("\"active\":true"));

  later.token = 16;
  later.duration = {};
  later.until = later.from;
  EXPECT_THAT(perform_in_archive(options.archive, later, now).error().message,
              HasSubstr("over before it begins"));
  later.until = later.from + seconds(1);
  for (const TimeNs from : {now + alert::Silence::kLongest + seconds(1), TimeNs(INT64_MAX)}) {
    later.from = from;
    later.until = TimeNs(INT64_MAX);
    EXPECT_THAT(perform_in_archive(options.archive, later, now).error().message, HasSubstr("within a year"));
    later.duration = alert::Silence::kLongest;
    EXPECT_THAT(perform_in_archive(options.archive, later, now).error().message, HasSubstr("within a year"));
    later.duration = {};
  }
  auto pipeline = Pipeline::start(options);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  later = silence("/h2");
  later.token = 17;
  later.from = now + seconds(86'400);
  EXPECT_EQ(asked(later), "s2 will silence node /h2");
  EXPECT_EQ(kept().silences()[1].from, later.from);
  later.token = 18;
  later.from = TimeNs(INT64_MIN);
  EXPECT_EQ(asked(later), "s3 silences node /h2") << "what has begun holds from now on";
  HandlingRequest unsilence;
  unsilence.kind = Kind::kUnsilence;
  unsilence.id = "s2";
  unsilence.token = 19;
  EXPECT_EQ(asked(unsilence), "s2 is cancelled: it would have silenced node /h2");
}

TEST(ParseMoment, TakesTimesAsPeopleWriteThem) {
  setenv("TZ", "UTC", 1);
  tzset();
  const TimeNs now = TimeNs() + seconds(1'795'178'285);  // 2026-11-20 12:38:05
  const auto after = [&](const std::string& text) {
    const auto t = parse_moment(text, now);
    return t ? (*t - now).value / 1'000'000'000 : -1;
  };
  EXPECT_EQ(after("12:39"), 55);
  EXPECT_EQ(after("12:38:06Z"), 1);
  EXPECT_EQ(after("12:38"), 86'400 - 5) << "tomorrow";
  EXPECT_EQ(after("2026-11-20 12:39"), 55);
  EXPECT_EQ(after("2026-11-20T12:39:01Z"), 56);
  for (const char* text :
       {"", "Z", "25:00", "12", "12:39 or so", "2026-11-20", "2026-11-20 12:38", "1-1-1 1:1"})
    EXPECT_EQ(after(text), -1) << text;
  // The end of what begins in the evening is the next morning.
  const auto evening = parse_moment("22:00", now);
  ASSERT_TRUE(evening);
  EXPECT_EQ((*parse_moment("06:00", *evening) - *evening), seconds(8 * 3600));
}

}  // namespace handling_test
}  // namespace margay::daemon
