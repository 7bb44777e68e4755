// A daemon that was away: not running, stopped, on a machine that was suspended or started anew, for seconds
// or for days. The clock is the test's own; the agent's side is the real outbox.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <memory>

#include "archive/archive_check.h"
#include "archive/archive_facts.h"
#include "margay/analysis/report_builder.h"
#include "margay/base/record.h"
#include "margay/live/pipeline.h"
#include "margay/node/outbox.h"
#include "margay/query/zoom.h"
#include "margay/replay/replay.h"
#include "margay/store/archive.h"
#include "margay/transport/rundir.h"
#include "margay/transport/transport.h"
#include "margay/wire/columns.h"
#include "support/control_client.h"
#include "support/daemon_run.h"

namespace margay::daemon {
namespace absence_test {

using testing::HasSubstr;

// The machine's clocks, moved by hand.
class MovedClock final : public Clock {
 public:
  TimeNs monotonic() const override { return TimeNs(machine_.monotonic().value + monotonic_by); }
  TimeNs realtime() const override { return TimeNs(machine_.realtime().value + realtime_by); }
  TimeNs processor() const override { return machine_.processor(); }
  void pass(DurationNs d) {
    monotonic_by += d.value;
    realtime_by += d.value;
  }
  std::atomic<std::int64_t> monotonic_by{0}, realtime_by{0};

 private:
  SystemClock machine_;
};

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

enum : std::uint16_t { kComputeName, kSendName, kRecvName };

// The agent of some ranks on this machine.
class Agent {
 public:
  Agent(const Options& options, const MovedClock& clock, std::uint64_t first_id, std::size_t ranks)
      : clock_(clock), first_(first_id), outbox_([&] {
          node::OutboxOptions o;
          o.run = options.run;
          o.agent = first_id;
          return o;
        }()) {
    auto socket =
        transport::Socket::connect(context_, zmq::socket_type::dealer, options.directory.ingest_endpoint());
    EXPECT_TRUE(socket);
    socket_.emplace(std::move(*socket));
    ranks_.resize(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      wire::Hello hello;
      hello.set_source(first_ + r);
      hello.set_epoch(1);
      for (const auto& [k, v] : std::map<std::string, std::string>{{"host", "h"},
                                                                   {"boot_id", boot_id()},
                                                                   {"pid", std::to_string(first_ + r)},
                                                                   {"rank", std::to_string(r)}})
        (*hello.mutable_attributes())[k] = v;
      for (const auto& [name, family] :
           {std::pair("Compute", wire::FAMILY_COMPUTE), std::pair("MPI_Send", wire::FAMILY_POINT_TO_POINT),
            std::pair("MPI_Recv", wire::FAMILY_POINT_TO_POINT)}) {
        auto* n = hello.add_names();
        n->set_name(name);
        n->set_family(family);
      }
      outbox_.put_hello(hello);
    }
  }

  // All ranks enter or leave a state now.
  void all(std::uint8_t kind, std::uint16_t state) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) event(r, kind, state);
  }
  void event(std::size_t rank, std::uint8_t kind, std::uint16_t state) {
    EventRecord record{};
    record.time_ns = clock_.monotonic().value;
    record.kind = kind;
    record.state = state;
    record.peer = MARGAY_NO_PEER;
    record.tag = MARGAY_NO_TAG;
    wire::EventBatch b = head(rank);
    b.set_count(1);
    std::string columns;
    wire::encode_columns({&record, 1}, columns);
    b.set_columns(columns);
    ++ranks_[rank];
    b.set_recorded(ranks_[rank]);
    b.set_produced(ranks_[rank]);
    outbox_.put_batch(std::move(b));
    ++events;
  }
  // What the agent does each 20 ms.
  void pump(bool talks = true) {
    if (talks) {
      for (std::size_t r = 0; r < ranks_.size(); ++r) outbox_.put_heartbeat(head(r));
      outbox_.flush(clock_.monotonic(), [&](const wire::ToCollector& m) { return socket_->try_send(m); });
      if (outbox_.take_reconnect()) {
      }
    }
    while (const auto frame = socket_->try_receive()) {
      wire::ToAgent reply;
      if (reply.ParseFromString(frame->body)) outbox_.on_reply_untrusted(reply, clock_.monotonic());
    }
  }
  bool outstanding() const { return outbox_.bytes() > 0; }
  std::uint64_t events = 0;

 private:
  wire::EventBatch head(std::size_t rank) const {
    wire::EventBatch b;
    b.set_source(first_ + rank);
    b.set_epoch(1);
    b.set_stream(0);
    b.set_first(ranks_[rank]);
    b.set_recorded(ranks_[rank]);
    b.set_produced(ranks_[rank]);
    b.set_covered_until_ns(clock_.monotonic().value);
    return b;
  }
  const MovedClock& clock_;
  std::uint64_t first_;
  node::Outbox outbox_;
  std::vector<std::uint64_t> ranks_;  // records so far
  zmq::context_t context_{1};
  std::optional<transport::Socket> socket_;
};

struct Absence : test::DaemonRun {
  MovedClock clock;
  std::unique_ptr<Pipeline> daemon;
  std::uint64_t most_held = 0;

  void TearDown() override {
    daemon.reset();
    DaemonRun::TearDown();
  }

  void start() {
    auto started = Pipeline::start(options, clock);
    ASSERT_TRUE(started) << started.error().message;
    daemon = std::move(*started);
  }
  // As systemd ends it, or a kill: without a word to anybody.
  void stop() {
    daemon->request_stop();
    daemon->wait();
    daemon.reset();
  }
  std::optional<wire::ControlReply> ask(wire::ControlRequest::Kind kind) const {
    return test::ControlClient(options.directory.control_endpoint()).ask(kind);
  }
  wire::Report status() const {
    const auto reply = ask(wire::ControlRequest::STATUS);
    return reply ? reply->report() : wire::Report();
  }
  static std::uint64_t value(const wire::Report& r, const std::string& name) {
    for (const auto& c : r.health().counters())
      if (c.name() == name) return c.value();
    return 0;
  }
  // Until what is asked for holds; the agent goes on meanwhile, and so does time, by `step` each round. Not
  // while a cut waits for the disk, which knows nothing of this clock: it would be taken for one that does
  // not answer.
  wire::Report until(Agent* agent, const std::function<bool(const wire::Report&)>& holds,
                     DurationNs step = {}, bool talks = true) {
    const SystemClock real;
    const TimeNs deadline = real.monotonic() + seconds(100);
    for (;;) {
      if (agent != nullptr) agent->pump(talks);
      wire::Report r = status();
      most_held = std::max(most_held, value(r, "slices_held"));
      EXPECT_EQ(r.health().archive_trouble(), "");
      if (holds(r)) return r;
      if (real.monotonic() > deadline) {
        ADD_FAILURE() << "does not come to hold; " << r.health().verdict();
        return r;
      }
      if (value(r, "commits_waiting") == 0) clock.pass(step);
    }
  }
  wire::Report until_modelled(Agent& agent, std::uint64_t events, DurationNs step = {}) {
    return until(
        &agent,
        [&](const wire::Report& r) {
          return value(r, "events_modelled") + value(r, "events_late_dropped") >= events &&
                 !agent.outstanding();
        },
        step);
  }
  // The picture is up to date.
  wire::Report until_live(Agent* agent, DurationNs step = {}, bool talks = true) {
    return until(
        agent,
        [&](const wire::Report& r) {
          return value(r, "commits") > 0 && value(r, "standing_age_ms") < 1500 && r.watermark_ns() > 0 &&
                 value(r, "watermark_lag_ms") < 2000;
        },
        step, talks);
  }
  void finish() {
    const auto reply = ask(wire::ControlRequest::FINISH);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->error(), "");
    stop();
  }
  store::Resume kept() const {
    auto archive = store::Archive::open(options.archive, store::Mode::kReadOnly);
    EXPECT_TRUE(archive);
    return *(*archive)->load();
  }
  // Returns slices kept of the finest level.
  std::uint64_t verify() const {
    auto archive = store::Archive::open(options.archive, store::Mode::kReadOnly);
    EXPECT_TRUE(archive);
    const auto check = check_archive(**archive, {});
    EXPECT_TRUE(check);
    EXPECT_EQ(check->damages, 0u) << testing::PrintToString(check->damaged);
    std::uint64_t slices = 0;
    EXPECT_TRUE((*archive)->scan_columns(LevelIndex(0), SliceIndex(INT64_MIN), SliceIndex(INT64_MAX),
                                         [&](model::SliceColumn&&) { return ++slices > 0; }));
    return slices;
  }
  // Nanoseconds of each state of the leaf, from slices of a level that lie in [from, to).
  std::map<std::uint16_t, std::int64_t> times(LevelIndex level, LeafIndex leaf, TimeNs from,
                                              TimeNs to) const {
    auto archive = store::Archive::open(options.archive, store::Mode::kReadOnly);
    EXPECT_TRUE(archive);
    const DurationNs d = options.levels[level.value];
    std::map<std::uint16_t, std::int64_t> sum;
    EXPECT_TRUE((*archive)->scan_columns(level, slice_of(from + d - DurationNs(1), d), slice_of(to, d) - 1,
                                         [&](model::SliceColumn&& c) {
                                           for (std::uint16_t x = 0; x < c.states(); ++x)
                                             if (const auto ns = c.duration_ns(leaf)[x]; ns != 0)
                                               sum[x] += ns;
                                           return true;
                                         }));
    return sum;
  }
  // Byte by byte, what the daemons reported.
  void expect_replay_says_the_same() const {
    auto archive = store::Archive::open(options.archive, store::Mode::kReadOnly);
    ASSERT_TRUE(archive) << archive.error().message;
    std::map<std::uint64_t, std::string> live;  // by position
    ASSERT_TRUE((*archive)->read_reports(TimeNs(INT64_MIN), TimeNs(INT64_MAX), [&](store::ReportRecord&& r) {
      wire::Report report;
      EXPECT_TRUE(report.ParseFromString(r.bytes));
      live[report.position()] = content_of(report).SerializeAsString();
      return true;
    }));
    ASSERT_FALSE(live.empty());
    const auto all = (*archive)->load();
    ASSERT_TRUE(all);
    ReplayListener listener;
    listener.after = [&](const Analyst& analyst) {
      const auto at = live.find(analyst.position());
      if (at == live.end()) return;
      EXPECT_EQ(at->second, content_of(analyst.report()).SerializeAsString()) << "decision " << at->first;
      live.erase(at);
    };
    Options settings;
    std::unique_ptr<Analyst> analyst;
    const auto result = replay(**archive, *all, {}, settings, listener, analyst);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->repeats);
    EXPECT_TRUE(live.empty()) << live.size() << " reports were not replayed";
  }
  // What an archive says that was written by a daemon of an earlier boot of this machine.
  void machine_is_started_anew() {
    auto archive = store::Archive::open(options.archive, store::Mode::kWrite);
    ASSERT_TRUE(archive) << archive.error().message;
    const auto all = (*archive)->load();
    ASSERT_TRUE(all);
    store::Cut cut;
    cut.sequence = all->sequence + 1;
    cut.wall = clock.realtime();
    cut.run = all->run;
    cut.run->boot_id = "an earlier boot";
    for (store::SourceRecord s : all->sources) {
      s.attributes["boot_id"] = "an earlier boot";
      cut.sources.push_back(s);
    }
    ASSERT_TRUE((*archive)->commit(cut, false));
    archive->reset();
    clock.monotonic_by = seconds(7).value - SystemClock().monotonic().value;
  }
};

// Slices that may be held at any time, however long the absence: those that can be amended, and those that
// are open (slicer::Options::ahead).
constexpr std::uint64_t kMostHeld = 64 + 1536 + 128;

struct HowLong {
  DurationNs away;
  std::vector<DurationNs> levels;
  std::size_t ranks;
  bool reboot;
};
void PrintTo(const HowLong& p, std::ostream* out) {
  *out << p.away.value / 1'000'000'000 << "s" << (p.levels.front() == milliseconds(10) ? "Fine" : "");
}

struct AbsenceOf : Absence, testing::WithParamInterface<HowLong> {};

// Nobody of before is there any more.
TEST_P(AbsenceOf, AnyLengthIsOneRecordAtMostAndTheArchiveIsWhole) {
  const HowLong& p = GetParam();
  options.levels = p.levels;
  ASSERT_NO_FATAL_FAILURE(start());
  std::uint64_t events = 0;
  {
    Agent agent(options, clock, 100, p.ranks);
    agent.all(MARGAY_ENTER, kSendName);
    agent.all(MARGAY_LEAVE, kSendName);
    agent.all(MARGAY_ENTER, kRecvName);
    until_modelled(agent, agent.events);
    until_live(&agent);
    events = agent.events;
  }
  ASSERT_NO_FATAL_FAILURE(stop());
  const std::uint64_t before = verify();
  clock.pass(p.away);
  if (p.reboot) {
    ASSERT_NO_FATAL_FAILURE(machine_is_started_anew());
  }
  const TimeNs back = clock.realtime();
  // Who began before the daemon did has something to tell, too.
  Agent agent(options, clock, 200, p.ranks);
  agent.all(MARGAY_ENTER, kSendName);
  clock.pass(std::min(p.away, seconds(20)));
  ASSERT_NO_FATAL_FAILURE(start());
  // Sources of the same boot may still come back: they are waited for.
  until_modelled(agent, events + agent.events, milliseconds(100));
  agent.all(MARGAY_LEAVE, kSendName);
  wire::Report r = until_modelled(agent, events + agent.events, milliseconds(20));
  r = until_live(&agent);
  EXPECT_EQ(value(r, "events_late_dropped"), 0u);
  EXPECT_EQ(value(r, "columns_not_archived"), 0u) << "no disk was away";
  EXPECT_EQ(r.health().archive_trouble(), "");
  EXPECT_LE(most_held, kMostHeld);
  const bool jumps = p.away > seconds(60);
  EXPECT_EQ(value(r, "absences"), jumps ? 1u : value(r, "absences"));
  if (jumps) {
    EXPECT_NEAR(static_cast<double>(value(r, "not_watched_ms")), static_cast<double>(p.away.value) * 1e-6,
                30'000);
  }
  ASSERT_NO_FATAL_FAILURE(stop());
  const std::uint64_t after = verify();
  const DurationNs watched = clock.realtime() - back + seconds(40);
  EXPECT_LE(after - before, static_cast<std::uint64_t>(watched.value / p.levels[0].value));
  const store::Resume all = kept();
  EXPECT_EQ(all.gaps.size(), value(r, "absences"));
  // Who was there before is Unknown in what coarse slices hold of the absence, and nothing else.
  if (jumps) {
    const store::GapRecord& gap = all.gaps.front();
    const TimeNs from = slice_begin(gap.first, p.levels[0]), to = slice_end(gap.last, p.levels[0]);
    for (std::uint8_t l = 1; l < p.levels.size(); ++l) {
      const DurationNs d = p.levels[l];
      if (slice_of(from, d) == slice_of(to, d) || slice_begin(slice_of(from, d), d) == from) continue;
      const auto sum = times(LevelIndex(l), LeafIndex(0), slice_begin(slice_of(from, d), d),
                             slice_end(slice_of(from, d), d));
      const auto whole = sum.find(kUnknown.value);
      ASSERT_NE(whole, sum.end()) << "level " << int{l};
      EXPECT_GE(whole->second, (slice_end(slice_of(from, d), d) - from).value) << "level " << int{l};
    }
  }
  // Who looks at it is told, and sees nothing of that time: from slices, and from events.
  if (jumps) {
    ZoomRequest look;
    look.input = options.archive;
    for (const auto& [to, slices] : {std::pair("1min", 6u), std::pair("59.0123s", 7u)}) {
      look.from = "0";
      look.to = to;
      look.slices = slices;
      const auto seen = zoom(look);
      ASSERT_TRUE(seen) << seen.error().message;
      if (seen->events == 0) {
        EXPECT_THAT(seen->notes, testing::Contains(HasSubstr("nothing was watched")));
      }
      for (std::size_t leaf = 0; leaf < seen->model.leaves(); ++leaf)
        EXPECT_LT(seen->model.weights[(slices - 2) * seen->model.leaves() + leaf], 0.01);
    }
  }
  // And once more, in the middle of it all.
  ASSERT_NO_FATAL_FAILURE(start());
  until_live(&agent);
  ASSERT_NO_FATAL_FAILURE(stop());
  verify();
  EXPECT_GE(clock.realtime(), back);
}

const std::vector<DurationNs> kUsual = {milliseconds(100), seconds(1), seconds(10), seconds(60)};
const std::vector<DurationNs> kFine = {milliseconds(10), milliseconds(100), seconds(1), seconds(10),
                                       seconds(60)};

INSTANTIATE_TEST_SUITE_P(Lengths, AbsenceOf,
                         testing::Values(HowLong{seconds(10), kUsual, 16, true},
                                         HowLong{seconds(61), kFine, 64, true},
                                         HowLong{seconds(450), kUsual, 16, false},
                                         HowLong{seconds(3 * 86'400), kUsual, 16, true},
                                         HowLong{seconds(10 * 86'400), kFine, 64, true}),
                         testing::PrintToStringParamName());

// The job went on, its agent kept what it recorded, and it comes in order: more than is held at once.
TEST_F(Absence, WhatAgentsKeptMeanwhileIsModelledInOrderWhateverIsHeldAtOnce) {
  options.levels = {milliseconds(10), milliseconds(100), seconds(1)};
  ASSERT_NO_FATAL_FAILURE(start());
  Agent agent(options, clock, 100, 4);
  agent.all(MARGAY_ENTER, kSendName);
  until_modelled(agent, agent.events);
  ASSERT_NO_FATAL_FAILURE(stop());
  // A minute of 10 ms slices: three times what is held at once.
  TimeNs first{}, last{};
  for (int i = 0; i < 60; ++i) {
    clock.pass(seconds(1));
    agent.all(i % 2 == 0 ? MARGAY_LEAVE : MARGAY_ENTER, kSendName);
    (i == 0 ? first : last) = clock.realtime();
  }
  ASSERT_NO_FATAL_FAILURE(start());
  const wire::Report r = until_modelled(agent, agent.events);
  EXPECT_EQ(value(r, "events_modelled"), agent.events);
  EXPECT_EQ(value(r, "events_late_dropped"), 0u);
  EXPECT_EQ(value(r, "events_wire_lost"), 0u);
  EXPECT_EQ(value(r, "absences"), 0u) << "somebody watched";
  EXPECT_LE(most_held, kMostHeld);
  until_live(&agent);
  ASSERT_NO_FATAL_FAILURE(stop());
  verify();
  // Half of the time each, to the second.
  auto sum = times(LevelIndex(2), LeafIndex(0), first, last);
  const store::Resume all = kept();
  std::uint16_t send = 0;
  for (std::size_t s = 0; s < all.states.size(); ++s)
    if (all.states[StateId(static_cast<std::uint16_t>(s))].name == "MPI_Send")
      send = static_cast<std::uint16_t>(s);
  EXPECT_NEAR(static_cast<double>(sum[send]), 29e9, 2e9);
  EXPECT_NEAR(static_cast<double>(sum[kCompute.value]), 29e9, 2e9);
  EXPECT_EQ(sum[kUnknown.value], 0);
}

// The daemon is stopped (or its machine's clock jumps) while a rank sits in one call, and its agent says so.
TEST_F(Absence, OneLongCallDuringAStopIsDrawnFromItsPromiseUnlessItIsLongerThanThat) {
  ASSERT_NO_FATAL_FAILURE(start());
  Agent agent(options, clock, 100, 2);
  agent.all(MARGAY_ENTER, kRecvName);
  until_modelled(agent, agent.events);
  until_live(&agent);
  const TimeNs stopped = clock.realtime();
  clock.pass(seconds(100));
  const TimeNs continued = clock.realtime();
  wire::Report r =
      until(&agent, [&](const wire::Report& now) { return now.watermark_ns() >= continued.value; });
  EXPECT_EQ(value(r, "absences"), 0u);
  EXPECT_EQ(value(r, "sources_silenced"), 0u);
  clock.pass(seconds(2 * 86'400));
  r = until(
      &agent, [](const wire::Report& now) { return value(now, "absences") > 0; }, milliseconds(100));
  r = until_live(&agent);
  EXPECT_EQ(value(r, "absences"), 1u);
  EXPECT_NEAR(static_cast<double>(value(r, "not_watched_ms")), 2.0 * 86'400'000, 120'000);
  EXPECT_LE(most_held, kMostHeld);
  const TimeNs known = clock.realtime() + seconds(2);
  until(
      &agent, [&](const wire::Report& now) { return now.watermark_ns() >= known.value; }, milliseconds(50));
  agent.all(MARGAY_LEAVE, kRecvName);
  r = until_modelled(agent, agent.events);
  EXPECT_EQ(value(r, "events_modelled"), agent.events);
  until_live(&agent);
  ASSERT_NO_FATAL_FAILURE(finish());
  verify();
  ASSERT_NO_FATAL_FAILURE(expect_replay_says_the_same());
  std::uint16_t recv = 0;
  const store::Resume all = kept();
  for (std::size_t s = 0; s < all.states.size(); ++s)
    if (all.states[StateId(static_cast<std::uint16_t>(s))].name == "MPI_Recv")
      recv = static_cast<std::uint16_t>(s);
  auto sum = times(LevelIndex(1), LeafIndex(0), stopped + seconds(2), continued - seconds(2));
  EXPECT_EQ(sum.size(), 1u);
  EXPECT_GT(sum[recv], seconds(90).value);
  // What it is in the middle of is known behind the gap as well.
  ASSERT_EQ(all.gaps.size(), 1u);
  sum = times(LevelIndex(0), LeafIndex(0), slice_end(all.gaps[0].last, options.levels[0]), known);
  // On a busy machine the agent's next heartbeat may be read slices later than the clock says: silence until
  // then.
  EXPECT_LE(sum[kUnknown.value], milliseconds(500).value);
  EXPECT_GT(sum[recv], seconds(1).value);
}

TEST_F(Absence, AfterARebootWithTheWallClockAnHourBackTraceTimeGoesOn) {
  ASSERT_NO_FATAL_FAILURE(start());
  std::uint64_t events = 0;
  {
    Agent agent(options, clock, 100, 2);
    agent.all(MARGAY_ENTER, kSendName);
    until_modelled(agent, agent.events);
    until_live(&agent);
    events = agent.events;
  }
  ASSERT_NO_FATAL_FAILURE(stop());
  const store::Resume before = kept();
  ASSERT_NO_FATAL_FAILURE(machine_is_started_anew());
  clock.realtime_by -= seconds(3600).value;
  for (int time = 0; time < 2; ++time) {  // and the one after that has the same time
    ASSERT_NO_FATAL_FAILURE(start());
    Agent agent(options, clock, 200 + 100 * static_cast<std::uint64_t>(time), 2);
    agent.all(MARGAY_ENTER, kSendName);
    agent.all(MARGAY_LEAVE, kSendName);
    const wire::Report r = until_modelled(agent, events + agent.events, milliseconds(50));
    EXPECT_EQ(value(r, "events_late_dropped"), 0u);
    EXPECT_EQ(value(r, "events_modelled"), events + agent.events);
    events += agent.events;
    until_live(&agent);
    ASSERT_NO_FATAL_FAILURE(stop());
    const store::Resume after = kept();
    EXPECT_EQ(after.run.boot_id, boot_id());
    EXPECT_GT(after.closed.at(0).through, before.closed.at(0).through);
    // A minute at most, not the hour.
    EXPECT_LT(
        (after.closed.at(0).through.value - before.closed.at(0).through.value) * options.levels[0].value,
        seconds(60).value);
    verify();
  }
}

}  // namespace absence_test
}  // namespace margay::daemon
