// The list of events of an archive against all that was written into it, and what is said of requests that
// make no sense.
#include "margay/query/event_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "../../support/temporary_folder.h"
#include "margay/store/archive.h"
#include "support/synthetic_archive.h"

namespace margay::daemon {
namespace event_list_test {

using test::SyntheticArchive;
using testing::HasSubstr;
using trace::Occurrence;

// Leaf, begin, end, name, depth.
using Row = std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::string, int>;

struct Listed {
  std::vector<Row> rows;
  std::vector<std::string> resources;
  EventCounts counts;
  std::string error;
};

class EventList : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TemporaryFolder;
    all_ = new std::vector<Occurrence>;
    trace::Occurrences plain(TimeNs(0), kEnd + seconds(1), [](const Occurrence& o) {
      all_->push_back(o);
      return Status();
    });
    for (std::uint16_t s = 0; s < 3 + what_.states; ++s)
      ASSERT_TRUE(plain.on_name(s, {trace::Name::Kind::kState, name(s), model::StateFamily::kOther}));
    for (std::uint32_t l = 0; l < what_.leaves; ++l) ASSERT_TRUE(plain.on_leaf(LeafIndex(l), {}));
    ASSERT_TRUE(what_.write(path(), [&](LeafIndex leaf, const EventRecord& r) {
      EXPECT_TRUE(plain.on_records(leaf, std::span(&r, 1)));
    }));
    ASSERT_TRUE(plain.on_covered(kEnd));
    auto archive = store::Archive::open(path(), store::Mode::kBeside);
    ASSERT_TRUE(archive);
    archive_ = archive->release();
    auto resume = archive_->load();
    ASSERT_TRUE(resume);
    resume_ = new store::Resume(std::move(*resume));
  }
  static void TearDownTestSuite() {
    delete resume_;
    delete archive_;
    delete all_;
    delete folder_;
  }
  static std::string path() { return *folder_ / "archive"; }
  static std::string name(std::uint16_t s) {
    return s == 0 ? "Absent" : s == 1 ? "Unknown" : s == 2 ? "Compute" : "S" + std::to_string(s - 2);
  }
  static EventQuery range(TimeNs from, TimeNs to) {
    EventQuery q;
    q.from = from, q.to = to;
    return q;
  }
  static EventQuery everything() { return range(SyntheticArchive::kBegin, kEnd); }
  static Listed list(const EventQuery& query) {
    Listed out;
    const auto counts = list_events(*archive_, *resume_, query, [&](const EventRow& r) {
      out.rows.push_back(
          {r.what.leaf.value, r.what.begin.value, r.what.end.value, r.name.text, r.what.depth});
      out.resources.push_back(r.resource);
      return Status();
    });
    if (counts)
      out.counts = *counts;
    else
      out.error = counts.error().message;
    return out;
  }
  // Of that range, cut to it.
  static std::vector<Row> expected(TimeNs from, TimeNs to) {
    std::vector<Row> out;
    for (const Occurrence& o : *all_)
      if (o.begin < to && (o.end > from || o.begin >= from))
        out.push_back(
            {o.leaf.value, std::max(from, o.begin).value, std::min(to, o.end).value, name(o.name), o.depth});
    std::sort(out.begin(), out.end());
    return out;
  }
  static std::vector<Row> cut(std::vector<Row> rows, TimeNs from, TimeNs to) {
    for (auto& [leaf, begin, end, name, depth] : rows)
      begin = std::max(begin, from.value), end = std::min(end, to.value);
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  static inline const SyntheticArchive what_ = {};
  // The last slice of the run is closed.
  static inline const TimeNs kEnd =
      slice_end(slice_of(SyntheticArchive::kBegin + what_.lasts, what_.levels[0]), what_.levels[0]);
  static inline test::TemporaryFolder* folder_ = nullptr;
  static inline std::vector<Occurrence>* all_ = nullptr;
  static inline store::Archive* archive_ = nullptr;
  static inline store::Resume* resume_ = nullptr;
};

TEST_F(EventList, OfTheWholeRunHasAllInOrder) {
  const Listed all = list(everything());
  ASSERT_GT(all.rows.size(), 5000u);
  EXPECT_EQ(cut(all.rows, SyntheticArchive::kBegin, kEnd), expected(SyntheticArchive::kBegin, kEnd));
  EXPECT_EQ(all.counts.told, all.rows.size());
  EXPECT_EQ(all.counts.late, 0u);
  EXPECT_TRUE(all.counts.exact);
  EXPECT_FALSE(all.counts.more);
  EXPECT_TRUE(std::is_sorted(all.rows.begin(), all.rows.end(),
                             [](const Row& a, const Row& b) { return std::get<1>(a) < std::get<1>(b); }));
}

TEST_F(EventList, OfAnyStretchHasWhatTheWholeRunHasThere) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    const auto ns = static_cast<std::uint64_t>(what_.lasts.value);
    const TimeNs from = SyntheticArchive::kBegin + DurationNs(static_cast<std::int64_t>(random() % ns));
    const TimeNs to = std::min(kEnd, from + DurationNs(1 + static_cast<std::int64_t>(random() % (ns / 8))));
    const Listed some = list(range(from, to));
    EXPECT_EQ(some.error, "");
    EXPECT_TRUE(some.counts.exact);
    const std::vector<Row> found = cut(some.rows, from, to), there = expected(from, to);
    std::vector<Row> missing, other;
    std::set_difference(there.begin(), there.end(), found.begin(), found.end(), std::back_inserter(missing));
    std::set_difference(found.begin(), found.end(), there.begin(), there.end(), std::back_inserter(other));
    EXPECT_THAT(missing, testing::IsEmpty());
    EXPECT_THAT(other, testing::IsEmpty());
  }
}

// What waits for the end of a long visit is bounded: the others come first then, and that is counted.
TEST_F(EventList, WhatWouldWaitForTooLongComesFirst) {
  EventQuery query = everything();
  query.most_held = 20;
  const Listed some = list(query);
  EXPECT_GT(some.counts.late, 0u);
  EXPECT_EQ(cut(some.rows, SyntheticArchive::kBegin, kEnd), expected(SyntheticArchive::kBegin, kEnd));
}

TEST_F(EventList, NodesNamesPatternsAndDurationsLeaveOutTheOthers) {
  const std::vector<Row> all = list(everything()).rows;
  const auto those = [&](const auto& wanted) {
    std::vector<Row> out;
    std::copy_if(all.begin(), all.end(), std::back_inserter(out), wanted);
    return out;
  };
  EventQuery node = everything();
  node.nodes = {"/host1", "/host2/rank9"};
  const auto on = [](const Row& r) { return std::get<0>(r); };
  EXPECT_EQ(list(node).rows, those([&](const Row& r) { return (on(r) >= 4 && on(r) < 8) || on(r) == 9; }));

  EventQuery names = everything();
  names.names = {"S1", "Comp*"};
  EXPECT_EQ(list(names).rows,
            those([](const Row& r) { return std::get<3>(r) == "S1" || std::get<3>(r) == "Compute"; }));

  EventQuery match = everything();
  match.match = "rank(3|11) S[28]$";
  EXPECT_EQ(list(match).rows, those([&](const Row& r) {
              return (on(r) == 3 || on(r) == 11) && (std::get<3>(r) == "S2" || std::get<3>(r) == "S8");
            }));

  EventQuery least = everything();
  least.least = milliseconds(60);
  EXPECT_EQ(list(least).rows,
            those([&](const Row& r) { return std::get<2>(r) - std::get<1>(r) >= least.least.value; }));
}

TEST_F(EventList, TheLongestComeFirst) {
  std::vector<std::int64_t> lengths;
  for (const auto& [leaf, begin, end, name, depth] : list(everything()).rows) lengths.push_back(end - begin);
  std::sort(lengths.rbegin(), lengths.rend());
  EventQuery query = everything();
  query.longest = 100;
  const Listed some = list(query);
  ASSERT_EQ(some.rows.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_EQ(std::get<2>(some.rows[i]) - std::get<1>(some.rows[i]), lengths[i]);
}

TEST_F(EventList, NoMoreThanWasAskedForAreTold) {
  EventQuery query = everything();
  query.most = 10;
  const Listed some = list(query);
  EXPECT_EQ(some.error, "");
  EXPECT_TRUE(some.counts.more);
  const std::vector<Row> all = list(everything()).rows;
  EXPECT_EQ(some.rows, std::vector<Row>(all.begin(), all.begin() + 10));
  query.most = all.size();
  EXPECT_FALSE(list(query).counts.more) << "these are all";
}

TEST_F(EventList, WhatMakesNoSenseIsSaid) {
  EXPECT_THAT(list(range(kEnd, kEnd)).error, HasSubstr("the time range is empty"));
  EventQuery query = everything();
  query.nodes = {"/host7"};
  EXPECT_THAT(list(query).error,
              HasSubstr("there is no resource at or below '/host7'; it has /host0/rank0 to"));
  query = everything();
  query.match = "S(";
  EXPECT_THAT(list(query).error, HasSubstr("'S(' is no regular expression"));
  query = everything();
  query.longest = EventQuery::kMostLongest + 1;
  EXPECT_THAT(list(query).error, HasSubstr("at most"));
  query = everything();
  query.go_on = [] { return false; };
  EXPECT_THAT(list(query).error, HasSubstr("the reading was ended"));
  EXPECT_THAT(list(range(SyntheticArchive::kBegin - seconds(9), SyntheticArchive::kBegin - seconds(8))).error,
              HasSubstr("there are no single events of that time"));
}

TEST(EventListOfSlices, WithoutRawEventsItIsSaidThatThereAreNone) {
  const test::TemporaryFolder folder;
  SyntheticArchive what;
  what.lasts = seconds(2);
  what.events = false;
  ASSERT_TRUE(what.write(folder / "archive"));
  const auto archive = store::Archive::open(folder / "archive", store::Mode::kBeside);
  ASSERT_TRUE(archive);
  const auto resume = (*archive)->load();
  ASSERT_TRUE(resume);
  EventQuery query;
  query.from = SyntheticArchive::kBegin, query.to = SyntheticArchive::kBegin + seconds(2);
  const auto counts = list_events(**archive, *resume, query, [](const EventRow&) { return Status(); });
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(counts.error().message, HasSubstr("margay partition shows what the slices tell"));
}

}  // namespace event_list_test
}  // namespace margay::daemon
