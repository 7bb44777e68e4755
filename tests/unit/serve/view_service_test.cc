// Questions about a run that goes on, and about stretches by many who ask at once.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "margay/serve/view_service.h"
#include "support/job_archive.h"
#include "support/temporary_folder.h"
#include "unit/query/view_support.h"

namespace margay::daemon {
namespace view_service_test {

using test::TemporaryFolder;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- a run that goes on

class LiveView : public testing::Test {
 protected:
  void SetUp() override {
    plan_.phases = {{3000, {0.70, 0.10, 0.10, 0.05, 0.05}, "a"}, {3000, {0.20, 0.35, 0.35, 0.05, 0.05}, "b"}};
    job_ = test::make_job(plan_);
    auto archive = store::Archive::create(dir_ / "a", test::job_run(plan_));
    ASSERT_TRUE(archive) << archive.error().message;
    archive_ = std::move(*archive);
  }
  void commit(std::size_t first, std::size_t last) {
    store::Cut cut;
    cut.sequence = ++sequence_;
    if (sequence_ == 1) test::add_job(plan_, cut);
    test::add_slices(std::span(job_).subspan(first, last - first), cut);
    ASSERT_TRUE(archive_->commit(cut, false));
  }
  std::int64_t at(std::size_t slice) const {
    return slice_begin(job_[0].index, plan_.slice).value +
           static_cast<std::int64_t>(slice) * plan_.slice.value;
  }
  wire::ViewQuestion question(std::size_t from, std::size_t to) const {
    wire::ViewQuestion q;
    q.set_from_ns(at(from));
    q.set_to_ns(at(to));
    q.set_slices(static_cast<std::uint32_t>(to - from));
    return q;
  }
  wire::ViewAnswer answer(ViewMaker& maker, const wire::ViewQuestion& q) {
    clock_.mono = clock_.mono + seconds(1);
    return *maker.answer(*decode_view_untrusted(q), [] { return true; });
  }
  static ViewMaker::Options live() {
    ViewMaker::Options o;
    o.live = true;
    o.unsettled = seconds(1);
    return o;
  }

  TemporaryFolder dir_;
  test::JobPlan plan_;
  std::vector<model::SliceColumn> job_;
  std::unique_ptr<store::Archive> archive_;
  ManualClock clock_;
  std::uint64_t sequence_ = 0;
};

TEST_F(LiveView, TheNewestSlicesMoveOnAndWhatIsSettledIsKept) {
  ViewMaker maker(*archive_, clock_, live());
  wire::ViewQuestion newest;
  newest.set_slices(10);
  EXPECT_THAT(answer(maker, newest).error(), HasSubstr("nothing of this run is in its archive yet"));
  commit(0, 20);
  wire::ViewAnswer a = answer(maker, newest);
  ASSERT_EQ(a.error(), "");
  EXPECT_EQ(a.boundaries(10), at(20));
  commit(20, 30);
  a = answer(maker, newest);
  EXPECT_EQ(a.boundaries(10), at(30));
  EXPECT_EQ(maker.models(), 2u);
  // Up to a second before the newest slice nothing changes any more; behind that it may.
  answer(maker, question(0, 20));
  answer(maker, question(0, 21));
  EXPECT_EQ(maker.models(), 4u);
  commit(30, 31);
  answer(maker, question(0, 20));
  EXPECT_EQ(maker.models(), 4u);
  answer(maker, question(0, 21));
  EXPECT_EQ(maker.models(), 5u) << "it was read before a slice that may have changed it";
}

// Its first slice of a coarser level begins before it.
TEST_F(LiveView, ARunThatBeganWithinASliceOfItsLevel) {
  store::RunMeta run;
  run.run = "r";
  run.levels = {plan_.slice, plan_.slice * 10};
  run.begin = TimeNs(at(4));
  auto made = store::Archive::create(dir_ / "b", run);
  ASSERT_TRUE(made) << made.error().message;
  archive_ = std::move(*made);
  const SliceIndex first = slice_of(run.begin, run.levels[1]);
  ASSERT_EQ(slice_begin(first, run.levels[1]).value, at(0));
  commit(4, 20);
  store::Cut cut;
  cut.sequence = ++sequence_;
  for (std::size_t k = 0; k < 2; ++k) {
    auto c = std::make_shared<model::SliceColumn>(LevelIndex(1), first + static_cast<std::int64_t>(k),
                                                  job_[0].leaves(), job_[0].states());
    for (std::size_t i = std::max<std::size_t>(4, 10 * k); i < 10 * k + 10; ++i) c->merge(job_[i]);
    cut.columns.push_back(std::move(c));
  }
  cut.closed = {{LevelIndex(0), job_[19].index}, {LevelIndex(1), first + 1}};
  ASSERT_TRUE(archive_->commit(cut, false));
  ViewMaker maker(*archive_, clock_, live());
  wire::ViewQuestion q;
  q.set_slices(7);
  q.set_slice_ns(run.levels[1].value);
  q.set_p(0);
  const wire::ViewAnswer a = answer(maker, q);
  ASSERT_EQ(a.error(), "");
  EXPECT_EQ(std::vector<std::int64_t>(a.boundaries().begin(), a.boundaries().end()),
            (std::vector<std::int64_t>{at(0), at(10), at(20)}));
  for (int i = 0; i < a.part_node_size(); ++i)
    if (a.part_last(i) == 0) {
      EXPECT_FLOAT_EQ(a.part_known(i), 0.6F);
    }
}

TEST_F(LiveView, WhatRetentionTookIsSaid) {
  commit(0, 60);
  ASSERT_TRUE(archive_->drop_columns_before(LevelIndex(0), job_[30].index));
  ViewMaker maker(*archive_, clock_, live());
  const wire::ViewAnswer a = answer(maker, question(20, 50));
  ASSERT_EQ(a.error(), "");
  ASSERT_GE(a.notes_size(), 1);
  EXPECT_THAT(a.notes(0), HasSubstr("10 slices of 100ms in this range are not kept any more"));
  EXPECT_THAT(answer(maker, question(0, 10)).error(), HasSubstr("this run: nothing is in this range of it"));
  wire::ViewQuestion newest;
  newest.set_slices(1000);
  EXPECT_EQ(answer(maker, newest).boundaries(0), at(30));
}

TEST_F(LiveView, WhileItIsWrittenAndPrunedEveryAnswerIsWholeOrASentence) {
  commit(0, 10);
  const SystemClock clock;
  ViewService::Options options;
  options.maker = live();
  ViewService service(*archive_, clock, options);
  service.start();
  std::size_t written = 10;
  wire::ViewQuestion q;
  q.set_slices(20);
  for (std::uint64_t token = 1; written < job_.size(); ++token) {
    q.set_token(token);
    ASSERT_THAT(service.ask({"a", false}, q), IsEmpty());
    commit(written, written + 5);
    written += 5;
    if (written == 30) {
      ASSERT_TRUE(archive_->drop_columns_before(LevelIndex(0), job_[15].index));
    }
    std::optional<ViewReply> reply;
    while (!(reply = service.try_take())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(reply->answer.token(), token);
    EXPECT_EQ(reply->answer.error(), "");
  }
  EXPECT_EQ(service.status().answered, 10u);
}

// ---- many who ask

class Service : public ViewOfArchive {
 protected:
  // Questions are computed when they are let through.
  struct Door {
    std::mutex mutex;
    std::condition_variable changed;
    int open = 0, come = 0;
    void pass() {
      std::unique_lock lock(mutex);
      ++come;
      changed.notify_all();
      changed.wait(lock, [&] { return open > 0; });
      --open;
    }
    void let(int n) {
      const std::lock_guard lock(mutex);
      open += n;
      changed.notify_all();
    }
    void wait_for(int n) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return come >= n; });
    }
  };
  void SetUp() override {
    ViewService::Options options;
    options.before = [this] { door_.pass(); };
    service_.emplace(*archive_, clock_, options);
    service_->start();
  }
  void TearDown() override {
    door_.let(1000);
    service_.reset();
  }
  std::vector<ViewReply> ask(const std::string& who, std::uint64_t token, wire::ViewQuestion q) {
    q.set_token(token);
    return service_->ask({who, false}, q);
  }
  ViewReply take() {
    for (int i = 0; i < 60'000; ++i) {
      if (auto r = service_->try_take()) return std::move(*r);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "no answer";
    return {};
  }

  Door door_;
  std::optional<ViewService> service_;
};

TEST_F(Service, ANewerQuestionTakesThePlaceOfTheOneThatWaits) {
  EXPECT_THAT(ask("a", 1, question(0, 10'000, 10)), IsEmpty());
  door_.wait_for(1);  // it is being computed
  EXPECT_THAT(ask("a", 2, question(0, 11'000, 10)), IsEmpty());
  EXPECT_THAT(ask("b", 7, question(0, 12'000, 10)), IsEmpty());
  const auto superseded = ask("a", 3, question(0, 13'000, 10));
  ASSERT_EQ(superseded.size(), 1u);
  EXPECT_EQ(superseded[0].to.from, "a");
  EXPECT_EQ(superseded[0].answer.token(), 2u);
  EXPECT_EQ(superseded[0].answer.error(), "superseded by a newer question");
  door_.let(1000);
  std::vector<std::pair<std::string, std::uint64_t>> order;
  for (int i = 0; i < 3; ++i) {
    const ViewReply r = take();
    EXPECT_EQ(r.answer.error(), "");
    EXPECT_EQ(r.answer.question().token(), r.answer.token());
    order.emplace_back(r.to.from, r.answer.token());
  }
  EXPECT_EQ(order, (std::vector<std::pair<std::string, std::uint64_t>>{{"a", 1}, {"a", 3}, {"b", 7}}));
  const ViewServiceStatus s = service_->status();
  EXPECT_EQ(s.answered, 3u);
  EXPECT_EQ(s.superseded, 1u);
  EXPECT_EQ(s.models, 3u);
  EXPECT_EQ(s.waiting, 0u);
}

TEST_F(Service, AQuestionThatIsSentAgainIsTheSameOne) {
  const wire::ViewQuestion q = question(0, 10'000, 10);
  EXPECT_THAT(ask("a", 1, q), IsEmpty());
  door_.wait_for(1);
  EXPECT_THAT(ask("a", 1, q), IsEmpty());  // while it is computed
  EXPECT_THAT(ask("a", 1, q), IsEmpty());  // and while it waits
  EXPECT_THAT(ask("b", 2, question(0, 11'000, 10)), IsEmpty());
  door_.let(1000);
  EXPECT_EQ(take().to.from, "a");
  EXPECT_EQ(take().to.from, "b");
  EXPECT_EQ(service_->status().answered, 2u);
  EXPECT_EQ(service_->status().superseded, 0u);
}

TEST_F(Service, WhoAsksTheSameIsAnsweredByOneComputation) {
  const wire::ViewQuestion q = question(0, 10'000, 40);
  for (std::uint64_t i = 1; i <= 10; ++i) EXPECT_THAT(ask("viewer" + std::to_string(i), i, q), IsEmpty());
  door_.let(1000);
  std::set<std::uint64_t> tokens;
  std::string first;
  for (int i = 0; i < 10; ++i) {
    ViewReply r = take();
    EXPECT_EQ(r.to.from, "viewer" + std::to_string(r.answer.token()));
    tokens.insert(r.answer.token());
    r.answer.clear_token();
    r.answer.mutable_question()->clear_token();
    if (first.empty()) first = r.answer.SerializeAsString();
    EXPECT_EQ(r.answer.SerializeAsString(), first);
  }
  EXPECT_EQ(tokens.size(), 10u);
  EXPECT_EQ(service_->status().models, 1u);
  EXPECT_EQ(service_->status().solutions, 1u);
}

TEST_F(Service, QuestionsBeyondTheBoundAndThoseThatMakeNoSenseAreRefusedAtOnce) {
  EXPECT_THAT(ask("first", 1, question(0, 10'000, 10)), IsEmpty());
  door_.wait_for(1);
  for (std::size_t i = 0; i < ViewService::kMostWaiting; ++i)
    EXPECT_THAT(ask("w" + std::to_string(i), 1, question(0, 10'000, 10)), IsEmpty());
  const auto full = ask("one more", 5, question(0, 10'000, 10));
  ASSERT_EQ(full.size(), 1u);
  EXPECT_EQ(full[0].answer.token(), 5u);
  EXPECT_THAT(full[0].answer.error(), HasSubstr("too many viewers ask at once (32 wait)"));
  wire::ViewQuestion bad = question(0, 10'000, 10);
  bad.set_p(2);
  const auto wrong = ask("first", 6, bad);
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_THAT(wrong[0].answer.error(), HasSubstr("p: expected"));
  EXPECT_EQ(service_->status().refused, 2u);
  EXPECT_EQ(service_->status().waiting, 32u);
}

wire::EventsQuestion page_of(TimeNs from, TimeNs to) {
  wire::EventsQuestion q;
  q.set_from_ns(from.value);
  q.set_to_ns(to.value);
  q.set_most(10);
  return q;
}

// A viewer's list does not take the place of its picture, nor the picture that of the list.
TEST_F(Service, AQuestionAboutEventsWaitsBesideOneAboutAStretch) {
  EXPECT_THAT(ask("a", 1, question(0, 10'000, 10)), IsEmpty());
  door_.wait_for(1);
  const auto ask_events = [&](std::uint64_t token, std::int64_t from_ms) {
    wire::EventsQuestion q = page_of(zero() + milliseconds(from_ms), zero() + seconds(10));
    q.set_token(token);
    return service_->ask({"a", false}, q);
  };
  EXPECT_THAT(ask_events(2, 0), IsEmpty());
  EXPECT_THAT(ask("a", 3, question(0, 11'000, 10)), IsEmpty());
  EXPECT_THAT(ask_events(2, 0), IsEmpty()) << "the very same";
  const auto superseded = ask_events(4, 1000);
  ASSERT_EQ(superseded.size(), 1u);
  ASSERT_TRUE(superseded[0].events);
  EXPECT_EQ(superseded[0].events->token(), 2u);
  EXPECT_EQ(superseded[0].events->error(), "superseded by a newer question");
  door_.let(1000);
  EXPECT_EQ(take().answer.token(), 1u);
  const ViewReply page = take();
  ASSERT_TRUE(page.events);
  EXPECT_EQ(page.events->token(), 4u);
  EXPECT_EQ(page.events->question().token(), 4u);
  EXPECT_EQ(page.events->error(), "");
  EXPECT_EQ(page.events->resource_size(), 10);
  EXPECT_TRUE(control_reply(ViewReply(page)).has_events());
  EXPECT_FALSE(control_reply(ViewReply(page)).has_view());
  EXPECT_EQ(take().answer.token(), 3u);
}

TEST_F(Service, QuestionsAboutEventsThatMakeNoSenseAreRefusedAtOnce) {
  wire::EventsQuestion q = page_of(zero(), zero() + seconds(10));
  q.set_most(0);
  q.set_token(5);
  const auto wrong = service_->ask({"a", false}, q);
  ASSERT_EQ(wrong.size(), 1u);
  ASSERT_TRUE(wrong[0].events);
  EXPECT_EQ(wrong[0].events->token(), 5u);
  EXPECT_THAT(wrong[0].events->error(), HasSubstr("most: 0"));
  EXPECT_EQ(service_->status().refused, 1u);
}

TEST_F(Service, EndsWhileQuestionsWaitAndAnswersAreNotTaken) {
  for (int i = 0; i < 20; ++i) ask("w" + std::to_string(i), 1, question(0, 10'000 + 100 * i, 10));
  door_.let(1000);
  take();  // and no more
}

}  // namespace view_service_test
}  // namespace margay::daemon
