// The list of events a page at a time, and as viewers are answered: all pages together against the list that
// `margay events` prints; and questions that make no sense.
#include "margay/query/event_page.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "margay/query/event_answer.h"
#include "view_support.h"

namespace margay::daemon {
namespace event_page_test {

using test::SyntheticArchive;
using testing::HasSubstr;
using trace::Occurrence;

// All that a row says but where it goes on.
using Row =
    std::tuple<std::int64_t, std::int64_t, std::uint32_t, std::string, int, std::uint64_t, std::int32_t>;

Row row_of(const EventRow& r) {
  return {r.what.begin.value, r.what.end.value, r.what.leaf.value, r.name.text,
          r.what.depth,       r.what.bytes,     r.what.peer};
}

// An archive, opened.
struct SomeRun {
  explicit SomeRun(const SyntheticArchive& what) {
    EXPECT_TRUE(what.write(dir / "archive"));
    auto opened = store::Archive::open(dir / "archive", store::Mode::kReadOnly);
    EXPECT_TRUE(opened);
    if (!opened) return;
    archive = std::move(*opened);
    auto all = archive->load();
    EXPECT_TRUE(all);
    if (all) resume = std::move(*all);
    const auto there = zoom_extent(*archive, resume);
    EXPECT_TRUE(there);
    if (there) extent = *there;
  }
  test::TemporaryFolder dir;
  std::unique_ptr<store::Archive> archive;
  store::Resume resume;
  ZoomExtent extent;
};

// Of visits so short that the reading asks whether to go on a dozen times; "Program" is around those of the
// other run.
class Pages : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    SyntheticArchive what;
    what.visit = milliseconds(6);
    plain_ = new SomeRun(what);
    what.leaves = 4;
    what.visit = milliseconds(2);
    what.program = true;
    program_ = new SomeRun(what);
  }
  static void TearDownTestSuite() {
    delete plain_;
    delete program_;
  }
  EventQuery everything() const {
    EventQuery q;
    q.from = SyntheticArchive::kBegin, q.to = run_->extent.end + DurationNs(1);
    return q;
  }
  std::vector<Row> listed(const EventQuery& q) const {
    std::vector<Row> out;
    const auto counts = list_events(*run_->archive, run_->resume, q, [&](const EventRow& r) {
      out.push_back(row_of(r));
      return Status();
    });
    EXPECT_TRUE(counts) << counts.error().message;
    return out;
  }
  EventPageCounts page(const EventQuery& q, const std::optional<EventPlace>& after,
                       std::vector<Row>& to) const {
    const auto counts = list_event_page(*run_->archive, run_->resume, q, after, [&](const EventRow& r) {
      to.push_back(row_of(r));
      return Status();
    });
    EXPECT_TRUE(counts) << counts.error().message;
    return counts ? *counts : EventPageCounts{};
  }
  // Of as many pages as it takes.
  std::vector<Row> paged(const EventQuery& q, int* pages = nullptr) const {
    std::vector<Row> out;
    std::optional<EventPlace> after;
    for (int n = 1; n < 100'000; ++n) {
      if (pages != nullptr) *pages = n;
      const EventPageCounts counts = page(q, after, out);
      EXPECT_FALSE(counts.stuck);
      if (!counts.next || counts.stuck) return out;
      EXPECT_NE(counts.next, after) << "it goes on";
      after = counts.next;
    }
    ADD_FAILURE() << "no end";
    return out;
  }
  wire::EventsAnswer answer_to(const wire::EventsQuestion& q) const {
    const auto request = decode_events_untrusted(q);
    EXPECT_TRUE(request) << request.error().message;
    return answer_events(*run_->archive, run_->resume, run_->extent, *request, clock_, always);
  }

  static bool always() { return true; }
  TimeNs zero() const { return run_->extent.zero; }

  static inline SomeRun *plain_ = nullptr, *program_ = nullptr;
  static inline const SystemClock clock_{};
  const SomeRun* run_ = plain_;
};

TEST_F(Pages, OneBehindTheOtherAreTheList) {
  const std::vector<Row> all = listed(everything());
  ASSERT_GT(all.size(), 5000u);
  for (const std::uint64_t most : {1000u, 137u, 2000u}) {
    EventQuery q = everything();
    q.most = most;
    int pages = 0;
    EXPECT_EQ(paged(q, &pages), all);
    EXPECT_EQ(static_cast<std::size_t>(pages), (all.size() + most - 1) / most) << "each is full";
  }
}

TEST_F(Pages, OfAnyStretchAndFilterAreTheList) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 12; ++i) {
    SCOPED_TRACE(i);
    EventQuery q = everything();
    q.from = q.from + DurationNs(static_cast<std::int64_t>(random() % 20'000'000'000));
    q.to = q.from + DurationNs(static_cast<std::int64_t>(1 + random() % 5'000'000'000));
    if (i % 3 == 1) q.nodes = {"/host1"}, q.least = milliseconds(5);
    if (i % 3 == 2) q.match = "rank[37] S";
    if (i % 4 == 3) q.most_lasts = milliseconds(40);
    const std::vector<Row> all = listed(q);
    EventQuery some = q;
    some.most = 1 + random() % 200;
    EXPECT_EQ(paged(some), all);
  }
}

// A page that is ended in the middle tells no less and no more; what is open there waits for the next.
TEST_F(Pages, ThatAreEndedByTimeAreTheList) {
  const std::vector<Row> all = listed(everything());
  for (const int looks : {4, 5, 9}) {
    EventQuery q = everything();
    q.most = 1'000'000;
    int left = 0;
    q.go_on = [&] { return --left > 0; };
    std::vector<Row> rows;
    std::optional<EventPlace> after;
    int pages = 0;
    for (; pages < 10'000; ++pages) {
      left = looks;
      const EventPageCounts counts = page(q, after, rows);
      ASSERT_FALSE(counts.stuck);
      if (!counts.next) break;
      EXPECT_EQ(counts.read_until, counts.next->at);
      after = counts.next;
    }
    EXPECT_GT(pages, 0) << looks;
    EXPECT_EQ(rows.size(), all.size());
    for (std::size_t i = 0; i < std::min(rows.size(), all.size()); ++i)
      ASSERT_EQ(rows[i], all[i]) << "row " << i << ", looks " << looks;
  }
}

// As the calls of a program inside a state of its own that is open all the time.
TEST_F(Pages, WhatIsOpenForAllOfAPageGoesOnAndIsToldOnce) {
  run_ = program_;
  EventQuery q = everything();
  const std::vector<Row> all = listed(q);
  ASSERT_GT(all.size(), 20'000u);
  q.most = 500;
  q.most_held = 10'000;  // less than happens inside
  const std::vector<Row> rows = paged(q);
  ASSERT_EQ(rows.size(), all.size());
  std::size_t shorter = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(std::get<0>(rows[i]), std::get<0>(all[i]));
    EXPECT_EQ(std::get<3>(rows[i]), std::get<3>(all[i]));
    EXPECT_LE(std::get<1>(rows[i]), std::get<1>(all[i])) << "the least that it lasts";
    shorter += std::get<1>(rows[i]) < std::get<1>(all[i]) ? 1 : 0;
  }
  EXPECT_GE(shorter, 4u) << "the programs";
  EXPECT_LT(shorter, rows.size() / 20);
}

TEST_F(Pages, TheLongestOfAllPagesAreTheLongest) {
  EventQuery q = everything();
  q.longest = 40;
  const std::vector<Row> longest = listed(q);
  int left = 0;
  q.go_on = [&] { return --left > 0; };
  std::vector<Row> rows;
  std::optional<EventPlace> after;
  int pages = 0;
  for (; pages < 1000; ++pages) {
    left = 6;
    const EventPageCounts counts = page(q, after, rows);
    ASSERT_FALSE(counts.stuck);
    EXPECT_LE(counts.told, 40u);
    if (!counts.next) break;
    after = counts.next;
  }
  EXPECT_GT(pages, 0);
  const auto longer = [](const Row& a, const Row& b) {
    return std::get<1>(a) - std::get<0>(a) > std::get<1>(b) - std::get<0>(b);
  };
  std::stable_sort(rows.begin(), rows.end(), longer);
  rows.resize(std::min<std::size_t>(rows.size(), 40));
  const std::multiset<Row> found(rows.begin(), rows.end()), there(longest.begin(), longest.end());
  EXPECT_TRUE(found == there);
}

TEST_F(Pages, WhatTakesTooLongToComeToIsStuck) {
  EventQuery q = everything();
  q.most = 10;
  q.go_on = [] { return false; };
  std::vector<Row> rows;
  const EventPlace at{SyntheticArchive::kBegin + seconds(9), 3};
  const EventPageCounts counts = page(q, at, rows);
  EXPECT_TRUE(counts.stuck);
  EXPECT_EQ(counts.next, at);
  EXPECT_TRUE(rows.empty());
}

// ---- answers

wire::EventsQuestion whole(std::uint32_t most) {
  wire::EventsQuestion q;
  q.set_most(most);
  return q;
}

TEST_F(Pages, AnAnswerHasTheRowsOfTheList) {
  const std::vector<Row> all = listed([&] {
    EventQuery q = everything();
    q.from = std::min(run_->resume.run.begin, run_->extent.zero);
    return q;
  }());
  std::vector<Row> rows;
  wire::EventsQuestion q = whole(2000);
  for (int pages = 0; pages < 1000; ++pages) {
    const wire::EventsAnswer a = answer_to(q);
    ASSERT_EQ(a.error(), "");
    ASSERT_LE(a.resource_size(), 2000);
    for (const int n : {a.name_size(), a.kind_size(), a.depth_size(), a.begin_ns_size(), a.length_ns_size(),
                        a.calls_size(), a.longest_ns_size(), a.bytes_size(), a.peer_size(), a.tag_size(),
                        a.communicator_size(), a.flags_size()})
      ASSERT_EQ(n, a.resource_size());
    EXPECT_EQ(a.zero_ns(), zero().value);
    for (int i = 0; i < a.resource_size(); ++i) {
      const std::int64_t begin = a.question().from_ns() + a.begin_ns(i);
      const std::string& path = a.resources(static_cast<int>(a.resource(i)));
      rows.push_back({begin, begin + static_cast<std::int64_t>(a.length_ns(i)),
                      static_cast<std::uint32_t>(std::stoi(path.substr(path.find("rank") + 4))),
                      a.names(static_cast<int>(a.name(i))).name(), static_cast<int>(a.depth(i)), a.bytes(i),
                      a.peer(i)});
    }
    if (!a.has_next()) {
      EXPECT_TRUE(a.exact());
      EXPECT_EQ(rows, all);
      return;
    }
    *q.mutable_after() = a.next();
  }
  FAIL() << "no end";
}

TEST_F(Pages, TheDensityCountsEachRowOnceWhereItBegins) {
  EventQuery q = everything();
  q.from = std::min(run_->resume.run.begin, run_->extent.zero);
  q.names = {"S*"};
  const std::vector<Row> all = listed(q);
  constexpr std::size_t kBins = 64;
  std::vector<std::uint64_t> expected(kBins);
  for (const Row& r : all) {
    const double at = static_cast<double>(std::get<0>(r) - q.from.value) /
                      static_cast<double>((q.to - q.from).value) * static_cast<double>(kBins);
    ++expected[static_cast<std::size_t>(std::clamp(at, 0.0, kBins - 1.0))];
  }
  for (const int looks : {1'000'000, 6}) {  // in one piece, and in several
    wire::EventsQuestion question = whole(kBins);
    question.set_kind(wire::EventsQuestion::DENSITY);
    question.add_names("S*");
    std::vector<std::uint64_t> sums(kBins);
    int pieces = 0;
    for (; pieces < 1000; ++pieces) {
      const auto request = decode_events_untrusted(question);
      ASSERT_TRUE(request);
      int left = looks;
      const auto a = answer_events(*run_->archive, run_->resume, run_->extent, *request, clock_,
                                   [&] { return --left > 0; });
      ASSERT_EQ(a.error(), "");
      ASSERT_FALSE(a.stuck());
      ASSERT_EQ(a.density_size(), static_cast<int>(kBins));
      EXPECT_EQ(a.resource_size(), 0);
      for (std::size_t i = 0; i < kBins; ++i) sums[i] += a.density(static_cast<int>(i));
      if (!a.has_next()) break;
      *question.mutable_after() = a.next();
    }
    EXPECT_EQ(pieces > 0, looks < 1000);
    EXPECT_EQ(sums, expected);
  }
}

// Of many resources at once much is read before it is known that all of a moment is there.
TEST_F(Pages, OfADenseRunAreNotEndedByWhatIsReadAtOnce) {
  SyntheticArchive what;
  what.lasts = seconds(2);
  what.visit = DurationNs(40'000);  // 200,000 rows in each second, which is a block of each rank
  const SomeRun dense(what);
  run_ = &dense;
  EventQuery q = everything();
  q.from = std::min(run_->resume.run.begin, run_->extent.zero);
  const std::vector<Row> all = listed(q);
  ASSERT_GT(all.size(), 300'000u);
  wire::EventsQuestion question = whole(10);
  question.set_kind(wire::EventsQuestion::DENSITY);
  const wire::EventsAnswer a = answer_to(question);
  EXPECT_FALSE(a.has_next());
  EXPECT_EQ(std::accumulate(a.density().begin(), a.density().end(), std::uint64_t{0}), all.size());
  question = whole(2000);
  question.set_match("S");
  std::size_t rows = 0;
  for (int pages = 0; pages < 20; ++pages) {
    const wire::EventsAnswer page = answer_to(question);
    EXPECT_EQ(page.resource_size(), 2000) << "each is full";
    *question.mutable_after() = page.next();
    rows += static_cast<std::size_t>(page.resource_size());
  }
  EXPECT_EQ(rows, 40'000u);
}

TEST_F(Pages, FiltersOfAQuestionAreThoseOfTheList) {
  const std::vector<Row> all = listed(everything());
  const auto those = [&](wire::EventsQuestion q, const auto& wanted) {
    std::multiset<std::pair<std::int64_t, std::string>> found, there;
    for (bool more = true; more;) {
      const wire::EventsAnswer a = answer_to(q);
      ASSERT_EQ(a.error(), "");
      for (int i = 0; i < a.resource_size(); ++i)
        found.emplace(a.question().from_ns() + a.begin_ns(i), a.names(static_cast<int>(a.name(i))).name());
      more = a.has_next();
      *q.mutable_after() = a.next();
    }
    for (const Row& r : all)
      if (wanted(r)) there.emplace(std::get<0>(r), std::get<3>(r));
    EXPECT_EQ(found.size(), there.size());
    EXPECT_TRUE(found == there);
    EXPECT_FALSE(found.empty());
  };
  const auto lasts = [](const Row& r) { return std::get<1>(r) - std::get<0>(r); };
  wire::EventsQuestion q = whole(2000);
  q.add_states("S3");
  those(q, [](const Row& r) { return std::get<3>(r) == "S3"; });
  q = whole(2000);
  q.add_paths("*rank7");
  q.add_names("S?");
  those(q, [](const Row& r) { return std::get<2>(r) == 7 && std::get<3>(r)[0] == 'S'; });
  q = whole(2000);
  q.set_match("rank(3|11) S[28]$");
  those(q, [](const Row& r) {
    return (std::get<2>(r) == 3 || std::get<2>(r) == 11) &&
           (std::get<3>(r) == "S2" || std::get<3>(r) == "S8");
  });
  q = whole(2000);
  q.set_least_ns(60'000'000);
  q.set_most_ns(90'000'000);
  those(q, [&](const Row& r) { return lasts(r) >= 60'000'000 && lasts(r) <= 90'000'000; });
}

std::string wrong(const std::function<void(wire::EventsQuestion&)>& change) {
  wire::EventsQuestion q = whole(100);
  change(q);
  const auto request = decode_events_untrusted(q);
  return request ? "" : request.error().message;
}

TEST(EventsQuestions, ThatMakeNoSenseAreRefusedWithTheirField) {
  using Q = wire::EventsQuestion;
  EXPECT_EQ(wrong([](Q&) {}), "");
  EXPECT_THAT(wrong([](Q& q) { q.set_from_ns(5), q.set_to_ns(5); }), HasSubstr("to_ns: is not after"));
  EXPECT_THAT(wrong([](Q& q) { q.set_kind(static_cast<Q::Kind>(Q::Kind_MAX + 1)); }),
              HasSubstr("kind: is unknown"));
  EXPECT_THAT(wrong([](Q& q) { q.set_kind(static_cast<Q::Kind>(-1)); }), HasSubstr("kind: is unknown"));
  EXPECT_THAT(wrong([](Q& q) { q.set_most(0); }), HasSubstr("most: 0, expected 1 to 2000"));
  EXPECT_THAT(wrong([](Q& q) { q.set_most(4'000'000'000); }), HasSubstr("most: 4000000000"));
  EXPECT_THAT(wrong([](Q& q) { q.add_nodes(std::string(3000, 'n')); }), HasSubstr("nodes: a name has"));
  EXPECT_THAT(wrong([](Q& q) { q.add_states(""); }), HasSubstr("states: a name has 1 to 128"));
  EXPECT_THAT(wrong([](Q& q) {
                for (int i = 0; i < 200; ++i) q.add_names("n"), q.add_paths("p");
              }),
              HasSubstr("paths: more than 256 names"));
  EXPECT_THAT(wrong([](Q& q) { q.set_match(std::string(129, 'x')); }), HasSubstr("match: longer than 128"));
  EXPECT_THAT(wrong([](Q& q) { q.set_match("((a{1,30}){1,30}){1,9}"); }), HasSubstr("match: its counts"));
  EXPECT_THAT(wrong([](Q& q) { q.set_match("a{99999999999999999999}"); }), HasSubstr("match: its counts"));
  EXPECT_EQ(wrong([](Q& q) { q.set_match("MPI_.{3,8}"); }), "");
  EXPECT_THAT(wrong([](Q& q) { q.set_least_ns(-1); }), HasSubstr("least_ns: is negative"));
  EXPECT_THAT(wrong([](Q& q) { q.set_least_ns(5), q.set_most_ns(4); }), HasSubstr("most_ns: is less"));
  EXPECT_THAT(wrong([](Q& q) { q.set_least_bytes(5), q.set_most_bytes(4); }),
              HasSubstr("most_bytes: is less"));
  EXPECT_THAT(wrong([](Q& q) { q.set_patience_ms(5001); }), HasSubstr("patience_ms: 5001"));
}

TEST_F(Pages, WhatTheRunDoesNotHaveIsASentence) {
  wire::EventsQuestion q = whole(10);
  q.add_nodes("/nobody");
  EXPECT_THAT(answer_to(q).error(), HasSubstr("there is no resource at or below '/nobody'"));
  q = whole(10);
  q.set_match("a(");
  EXPECT_THAT(answer_to(q).error(), HasSubstr("is no regular expression"));
  q = whole(10);
  q.set_match("(a)\\1");  // would take a time that is exponential in the text
  EXPECT_THAT(answer_to(q).error(), HasSubstr("is no regular expression"));
  q = whole(10);
  q.set_from_ns(1), q.set_to_ns(2);
  EXPECT_THAT(answer_to(q).error(), HasSubstr("nothing is in this range"));
  for (const std::int64_t at :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    q = whole(10);
    q.mutable_after()->set_at_ns(at);
    EXPECT_THAT(answer_to(q).error(), HasSubstr("after: is not a place of this range"));
  }
  q = whole(10);
  q.mutable_after()->set_at_ns(zero().value + 5'000'000'000);
  q.mutable_after()->set_rows(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(answer_to(q).error(), "") << "a place behind all rows of its time";
}

// No name takes longer than its length squared times the expression's: what would be exponential elsewhere.
TEST_F(Pages, AnExpressionThatNestsItsRepetitionsIsMatchedInTime) {
  wire::EventsQuestion q = whole(10);
  q.set_match("(([a-z0-9/]+)+)+$x");
  EXPECT_EQ(answer_to(q).error(), "");
}

}  // namespace event_page_test
}  // namespace margay::daemon
