// The whole daemon in this process, without sources: what it tells of itself, and taking a run up again.
#include "margay/live/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>

#include "margay/query/view_maker.h"
#include "margay/store/archive.h"
#include "margay/transport/transport.h"
#include "margay/wire/columns.h"
#include "support/control_client.h"
#include "support/daemon_run.h"
#include "support/synthetic_job.h"

namespace margay::daemon {
namespace pipeline_test {

using testing::HasSubstr;

struct PipelineTest : test::DaemonRun {
  // The status once it knows what the ingest says and something has been committed.
  wire::Report status() const {
    test::ControlClient control(options.directory.control_endpoint());
    for (;;) {
      const auto reply = control.ask(wire::ControlRequest::STATUS);
      if (!reply) return {};
      for (const auto& c : reply->report().health().counters())
        if (c.name() == "commits" && c.value() > 0) return reply->report();
    }
  }
  static std::uint64_t value(const wire::Report& r, const std::string& name) {
    for (const auto& c : r.health().counters())
      if (c.name() == name) return c.value();
    ADD_FAILURE() << name;
    return 0;
  }
};

TEST_F(PipelineTest, FillsEveryRowOfTheTableOfCounters) {
  auto pipeline = Pipeline::start(options);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  const wire::Report r = status();
  std::set<std::string> filled, rows;
  for (const auto& c : r.health().counters()) filled.insert(c.name());
  for (const auto& row : observe::table()) rows.insert(row.name);
  EXPECT_EQ(filled, rows);
  EXPECT_EQ(r.health().state(), wire::Health::HEALTHY) << r.health().verdict();
  EXPECT_GT(value(r, "memory_bytes"), 0u);
  EXPECT_GT(value(r, "disk_free_bytes"), 0u);
  EXPECT_GT(value(r, "descriptors_open"), 0u);
  EXPECT_EQ(value(r, "restarts"), 0u);
  EXPECT_EQ((*pipeline)->verdict(), "healthy");
}

TEST_F(PipelineTest, ARunThatIsOpenIsTakenUpAndTheStartsAreCounted) {
  for (std::uint64_t starts = 0; starts < 3; ++starts) {
    auto pipeline = Pipeline::start(options);
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    EXPECT_EQ(value(status(), "restarts"), starts);
  }
  options.restarts = 7;  // who started it may know of more
  auto pipeline = Pipeline::start(options);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  EXPECT_EQ(value(status(), "restarts"), 7u);
}

// So that the picture, whose slices are whole, and everything else that is told of it count from the same
// moment.
TEST_F(PipelineTest, ARunBeginsWhereItsFirstSliceDoes) {
  std::int64_t told = 0;
  const TimeNs before = SystemClock().realtime();
  {
    auto pipeline = Pipeline::start(options);
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    told = status().run_begin_ns();
  }
  const auto archive = store::Archive::open(options.archive, store::Mode::kReadOnly);
  ASSERT_TRUE(archive) << archive.error().message;
  const auto all = (*archive)->load();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->run.begin, TimeNs(told));
  EXPECT_EQ(all->run.begin.value % options.levels[0].value, 0);
  EXPECT_LE(all->run.begin, SystemClock().realtime());
  EXPECT_GT(all->run.begin + options.levels[0], before);
}

TEST_F(PipelineTest, TheResolutionOfRawEventsIsKeptWithTheRunAndMustDivideItsSlices) {
  options.raw_resolution = DurationNs(16);
  {
    auto pipeline = Pipeline::start(options);
    ASSERT_TRUE(pipeline) << pipeline.error().message;
  }
  {
    const auto archive = store::Archive::open(options.archive, store::Mode::kReadOnly);
    ASSERT_TRUE(archive) << archive.error().message;
    const auto all = (*archive)->load();
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->run.settings.at(store::kResolutionSetting), "16ns");
  }
  options.raw_resolution = DurationNs(512);
  const auto refused = Pipeline::start(options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("store.resolution of 512ns does not divide its slices of 100ms"));
}

// Commits may be far apart: every slice is in the archive, also those that could no longer be amended by
// then.
TEST_F(PipelineTest, SlicesThatAreOverLongBeforeTheNextCommitAreArchived) {
  options.levels = {milliseconds(1), milliseconds(10)};
  options.commit_period = seconds(60);
  {
    auto pipeline = Pipeline::start(options);
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    wire::Report r = status();
    while (r.watermark_ns() - r.run_begin_ns() < 400 * options.levels[0].value) r = status();
    (*pipeline)->request_stop();
    (*pipeline)->wait();
  }
  const auto archive = store::Archive::open(options.archive, store::Mode::kReadOnly);
  ASSERT_TRUE(archive) << archive.error().message;
  const auto all = (*archive)->load();
  ASSERT_TRUE(all) << all.error().message;
  for (const store::ClosedThrough& closed : all->closed) {
    if (closed.level != LevelIndex(0)) continue;
    const SliceIndex first = slice_of(all->run.begin, options.levels[0]);
    EXPECT_GE(closed.through.value - first.value, 398);
    const auto columns = (*archive)->read_columns(LevelIndex(0), first, closed.through);
    ASSERT_TRUE(columns) << columns.error().message;
    ASSERT_EQ(columns->size(), static_cast<std::size_t>(closed.through.value - first.value + 1));
    return;
  }
  FAIL() << "nothing was closed";
}

// Speaks for one source of this machine.
class FakeAgent {
 public:
  explicit FakeAgent(const Options& options) {
    auto socket =
        transport::Socket::connect(context_, zmq::socket_type::dealer, options.directory.ingest_endpoint());
    EXPECT_TRUE(socket) << socket.error().message;
    socket_.emplace(std::move(*socket));
  }
  // What was sent.
  std::string send(const std::function<void(wire::ToCollector&)>& fill) {
    wire::ToCollector m;
    m.set_version(wire::kWireVersion);
    m.set_run("r");
    m.set_agent(1);
    fill(m);
    EXPECT_TRUE(socket_->send(m, std::chrono::seconds(60)));
    return m.SerializeAsString();
  }
  void say_hello() {
    send([](wire::ToCollector& m) {
      wire::Hello& h = *m.mutable_hello();
      h.set_source(1);
      std::ifstream in("/proc/sys/kernel/random/boot_id");
      std::string boot;
      std::getline(in, boot);
      (*h.mutable_attributes())["boot_id"] = boot;
      (*h.mutable_attributes())["rank"] = "0";
      h.add_names()->set_name("Compute");
      h.mutable_names(0)->set_family(wire::FAMILY_COMPUTE);
      h.add_names()->set_name("MPI_Send");
    });
  }

 private:
  zmq::context_t context_{1};
  std::optional<transport::Socket> socket_;
};

// An error of ours amid a message: its events are rejected, it is kept, the daemon goes on.
TEST_F(PipelineTest, AnErrorAmidAMessageIsCountedAndTheMessageKept) {
  options.fault_in_batch = [](const wire::EventBatch& b) {
    if (b.first() == 2) throw std::bad_alloc();
  };
  auto pipeline = Pipeline::start(options);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  FakeAgent agent(options);
  const SystemClock clock;
  agent.say_hello();
  std::string poison;
  for (std::uint64_t first = 0; first < 6; first += 2) {
    const std::string sent = agent.send([&](wire::ToCollector& m) {
      wire::EventBatch& b = *m.add_batches();
      b.set_source(1);
      b.set_first(first);
      b.set_count(2);
      std::vector<EventRecord> records(2);
      const std::int64_t now = clock.monotonic().value;
      records[0].kind = MARGAY_ENTER;
      records[1].kind = MARGAY_LEAVE;
      for (EventRecord& r : records) r.state = 1, r.time_ns = now;
      wire::encode_columns(records, *b.mutable_columns());
      b.set_covered_until_ns(now);
      b.set_produced(first + 2);
      b.set_recorded(first + 2);
    });
    if (first == 2) poison = sent;
  }
  wire::Report r = status();
  // The verdict is made a moment after the counters.
  while (value(r, "events_modelled") < 4 || value(r, "messages_quarantined") < 1 ||
         r.health().state() != wire::Health::DEGRADED)
    r = status();
  EXPECT_EQ(value(r, "events_modelled"), 4u);
  EXPECT_EQ(value(r, "events_rejected"), 2u);
  EXPECT_EQ(value(r, "events_produced"), 6u);
  EXPECT_EQ(value(r, "messages_quarantined"), 1u);
  EXPECT_THAT(r.health().reasons(), testing::Contains(HasSubstr("an internal error of the daemon")));
  (*pipeline)->request_stop();
  (*pipeline)->wait();  // with a last cut, with which it is written
  const std::string file = options.archive + "/quarantine.0";
  std::ifstream in(file, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), poison);
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

// With the slices before it in the archive, and with whatever is there after 40.
TEST_F(PipelineTest, AnErrorAmidASliceCostsTheAnalysisThatSlice) {
  options.levels = {milliseconds(10), milliseconds(100)};
  for (const bool archived : {true, false}) {
    SCOPED_TRACE(archived);
    options.archive = place + (archived ? "/archived" : "/not_yet");
    std::atomic<std::int64_t> first{-1}, failed{-1};
    std::atomic<int> shown{0}, times{0};
    std::atomic<bool> armed{false};
    options.fault_in_analysis = [&](const model::SliceColumn& c) {
      std::int64_t none = -1;
      first.compare_exchange_strong(none, c.index.value);
      if (c.leaves() == 0 || ++shown < 40 || (archived && !armed)) return;
      none = -1;
      failed.compare_exchange_strong(none, c.index.value);
      if (c.index.value != failed) return;
      ++times;
      throw std::runtime_error("a planted error");
    };
    auto pipeline = Pipeline::start(options);
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    FakeAgent agent(options);
    agent.say_hello();
    const SystemClock clock;
    agent.send([&](wire::ToCollector& m) {
      wire::EventBatch& b = *m.add_batches();
      b.set_source(1);
      b.set_covered_until_ns(clock.monotonic().value);
    });
    wire::Report r = status();
    // Each of these cuts has slices.
    const std::uint64_t commits = value(r, "commits");
    while (archived && (value(r, "window_slices") < 40 || value(r, "commits") < commits + 10)) r = status();
    armed = true;
    while (value(r, "slices_not_analysed") == 0) r = status();
    // It goes on, with slices behind it, and with those before, which it has from the archive.
    while (r.slice_index() < failed + 50) r = status();
    EXPECT_EQ(times, 1);
    // Counters are read when it is asked, and so may know slices that the report was too early for.
    const wire::Report then = r;
    const std::uint64_t known = value(then, "window_slices") + value(then, "slices_not_analysed");
    // Where all of this took long the oldest have left the window.
    const std::uint64_t held = options.window_slices + value(then, "slices_not_analysed");
    while (r.slice_index() < then.slice_index() + 20) r = status();
    EXPECT_GE(known,
              std::min<std::uint64_t>(static_cast<std::uint64_t>(then.slice_index() - first + 1), held));
    EXPECT_LE(known, static_cast<std::uint64_t>(r.slice_index() - first + 1));
    if (archived) {
      EXPECT_GE(value(r, "window_slices"), 60u);
    }
    EXPECT_EQ(r.health().state(), wire::Health::DEGRADED);
    EXPECT_THAT(r.health().verdict(), HasSubstr("a planted error"));
    EXPECT_EQ((*pipeline)->verdict(), r.health().verdict());
  }
}

// A run that was watched until just now, and is taken up.
TEST_F(PipelineTest, AnswersQuestionsAboutAStretchAndCountsThem) {
  const SystemClock clock;
  test::JobPlan plan;
  plan.phases = {{3000, {0.70, 0.10, 0.10, 0.05, 0.05}, "a"}};
  std::vector<model::SliceColumn> job = test::make_job(plan);
  const SliceIndex first = slice_of(clock.realtime(), plan.slice) - static_cast<std::int64_t>(job.size());
  store::RunMeta run;
  run.run = options.run;
  run.levels = options.levels;
  run.begin = slice_begin(first, plan.slice);
  {
    auto archive = store::Archive::create(options.archive, run);
    ASSERT_TRUE(archive) << archive.error().message;
    store::Cut cut;
    cut.sequence = 1;
    const auto topology = test::job_topology(plan);
    for (std::uint16_t s = 3; s < topology->states.size(); ++s)
      cut.states.push_back({StateId(s), topology->states[s]});
    for (std::uint32_t l = 0; l < plan.ranks; ++l)
      cut.leaves.push_back({LeafIndex(l), SourceId(l + 1), 0, {{"host", "h"}, {"rank", std::to_string(l)}}});
    for (std::size_t i = 0; i < job.size(); ++i) {
      job[i].index = first + static_cast<std::int64_t>(i);
      cut.columns.push_back(std::make_shared<model::SliceColumn>(job[i]));
    }
    cut.closed = {{LevelIndex(0), job.back().index}};
    const TimeNs end = slice_end(job.back().index, plan.slice);
    for (std::uint32_t l = 0; l < plan.ranks; ++l) cut.leaf_states.push_back({LeafIndex(l), {}, end, end, 0});
    ASSERT_TRUE((*archive)->commit(cut, false));
  }
  auto pipeline = Pipeline::start(options);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  test::ControlClient control(options.directory.control_endpoint());
  const auto ask = [&](const wire::ViewQuestion& q) {
    wire::ControlRequest request;
    request.set_kind(wire::ControlRequest::VIEW);
    *request.mutable_view() = q;
    const wire::ControlReply reply = control.ask(request).value();
    EXPECT_EQ(reply.error(), "");
    EXPECT_EQ(reply.view().token(), q.token());
    return reply.view();
  };
  wire::ViewQuestion q;
  q.set_token(7);
  q.set_from_ns(run.begin.value);
  q.set_to_ns(slice_end(job.back().index, plan.slice).value);
  q.set_slices(30);
  q.set_curve(true);
  const wire::ViewAnswer said = ask(q);
  EXPECT_EQ(said.error(), "");
  EXPECT_GT(said.part_node_size(), 0);
  EXPECT_GT(said.curve_size(), 1);

  const auto beside = store::Archive::open(options.archive, store::Mode::kBeside);
  ASSERT_TRUE(beside) << beside.error().message;
  ViewMaker maker(**beside, clock, {});
  wire::ViewAnswer expected = *maker.answer(*decode_view_untrusted(q), [] { return true; });
  expected.set_token(7);
  expected.mutable_question()->set_token(7);
  EXPECT_EQ(said.SerializeAsString(), expected.SerializeAsString());

  q.set_token(8);
  q.set_slices(5000);
  EXPECT_THAT(ask(q).error(), HasSubstr("slices: 5000, at most 1000"));
  const wire::Report r = status();
  EXPECT_EQ(value(r, "views_answered"), 1u);
  EXPECT_EQ(value(r, "views_refused"), 1u);
  EXPECT_EQ(value(r, "views_computed"), 1u);
}

TEST_F(PipelineTest, AnAddressThatMakesNoSenseIsRefusedAndATakenPortIsNot) {
  options.http_listen = "everywhere";
  auto pipeline = Pipeline::start(options);
  ASSERT_FALSE(pipeline);
  EXPECT_EQ(pipeline.error().code, ErrorCode::kInvalidArgument);
  SystemClock clock;
  const auto other = observe::HttpServer::start("0", clock);
  ASSERT_TRUE(other);
  options.http_listen = (*other)->address();
  pipeline = Pipeline::start(options);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  EXPECT_EQ(value(status(), "http_unavailable"), 1u);
}

}  // namespace pipeline_test
}  // namespace margay::daemon
