// What events sum to, as the window takes it from a daemon: hostile answers, the histogram and the matrix,
// worked out by hand.
#include "margay/scene/event_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <span>

#include "small_view.h"

namespace margay::scene {
namespace event_sums_test {

using testing::HasSubstr;
using testing::Pair;

wire::EventsSum& add_visits(wire::EventsAnswer& a, const char* name,
                            std::vector<std::array<std::uint64_t, 3>> bins) {
  a.add_names()->set_name(name);
  wire::EventsSum& s = *a.add_sums();
  s.set_name(static_cast<std::uint32_t>(a.names_size() - 1));
  std::uint64_t single = 0;
  for (const auto& [from, until, count] : bins) {
    s.add_bin_from_ns(from), s.add_bin_until_ns(until), s.add_bin_count(count);
    single += count;
  }
  s.set_single(single);
  s.set_count(single);
  return s;
}

wire::EventsAnswer visits() {
  wire::EventsAnswer a;
  a.mutable_question()->set_kind(wire::EventsQuestion::SUMS);
  a.mutable_question()->set_from_ns(1'000);
  a.mutable_question()->set_to_ns(2'000);
  a.add_resources("/a/r0");
  add_visits(a, "Send", {{100, 104, 5}, {1'000'000, 1'000'001, 2}});
  add_visits(a, "Wait", {{100, 104, 3}, {9'000'000, 9'500'000, 1}}).set_longest_ns(9'400'000);
  return a;
}

wire::EventsAnswer messages() {
  wire::EventsAnswer a;
  a.mutable_question()->set_kind(wire::EventsQuestion::PAIRS);
  a.mutable_question()->set_to_ns(1);
  for (const char* path : {"/a/r0", "/a/r1", "/b/r2", "/c/gone"}) a.add_resources(path);
  const std::uint32_t pairs[][4] = {
      {0, 1, 10, 1000}, {1, 0, 4, 50}, {0, 2, 1, 7}, {2, 2, 6, 60}, {3, 0, 9, 9}};
  for (const auto& [from, to, count, bytes] : pairs) {
    wire::EventsSum& s = *a.add_sums();
    s.set_from(from), s.set_to(to), s.set_count(count), s.set_bytes(bytes);
    s.set_single(count), s.set_total_ns(count * 100);
  }
  return a;
}

void add_block(wire::EventsBlocks& to, std::uint32_t from, std::uint32_t receiver, std::uint64_t pairs,
               std::uint64_t count, std::uint64_t bytes) {
  to.add_from(from), to.add_to(receiver), to.add_pairs(pairs), to.add_count(count), to.add_bytes(bytes);
  to.add_timed(count / 2), to.add_total_ns(static_cast<double>(50 * count));
}

// messages(), with /a (4), / (5) and three partitions: each by itself would be too long.
wire::EventsAnswer blocks() {
  wire::EventsAnswer a = messages();
  a.add_resources("/a"), a.add_resources("/"), a.add_resources("/b");
  wire::EventsBlocks& fine = *a.add_blocks();
  add_block(fine, 0, 1, 1, 10, 1000);
  add_block(fine, 1, 0, 1, 4, 50);
  add_block(fine, 4, 6, 2, 1, 7);
  add_block(fine, 6, 6, 1, 6, 60);
  add_block(fine, 3, 5, 3, 9, 9);
  wire::EventsBlocks& middle = *a.add_blocks();
  middle.set_p(0.25), middle.set_gain(3), middle.set_loss(1), middle.set_chosen(true);
  add_block(middle, 4, 4, 2, 14, 1050);
  add_block(middle, 4, 6, 2, 1, 7);
  add_block(middle, 6, 6, 1, 6, 60);
  wire::EventsBlocks& whole = *a.add_blocks();
  whole.set_p(0.5);
  add_block(whole, 5, 5, 12, 30, 1126);
  return a;
}

TEST(EventSums, AreTakenFromAnAnswer) {
  wire::EventsAnswer a = visits();
  a.mutable_sums(1)->set_longest_begin_ns(-40);
  a.add_notes("some\nthing");
  const auto sums = event_sums_untrusted(a);
  ASSERT_TRUE(sums) << sums.error().message;
  EXPECT_FALSE(sums->messages);
  EXPECT_EQ(sums->time, (TimeRange{TimeNs(1'000), TimeNs(2'000)}));
  ASSERT_EQ(sums->sums.size(), 2u);
  EXPECT_EQ(sums->names[sums->sums[1].name].name, "Wait");
  EXPECT_EQ(sums->sums[1].longest, DurationNs(9'400'000));
  EXPECT_EQ(sums->sums[1].longest_begin, TimeNs(960));
  EXPECT_EQ(sums->notes[0].find('\n'), std::string::npos);
}

TEST(EventSums, HostileAnswersAreSentences) {
  using Wrong = std::function<void(wire::EventsAnswer&)>;
  const std::pair<Wrong, const char*> cases[] = {
      {[](auto& a) { a.set_error("no\x01 such run"); }, "such run"},
      {[](auto& a) { a.mutable_question()->set_to_ns(1'000); }, "time range"},
      {[](auto& a) { a.mutable_question()->set_from_ns(std::numeric_limits<std::int64_t>::min()); },
       "time range"},
      {[](auto& a) { a.mutable_sums(0)->set_name(2); }, "of nothing that it names"},
      {[](auto& a) { a.mutable_sums(0)->set_longest_resource(1); }, "of nothing that it names"},
      {[](auto& a) {
         a.mutable_question()->set_kind(wire::EventsQuestion::PAIRS), a.mutable_sums(0)->set_to(1);
       },
       "of nothing that it names"},
      {[](auto& a) { a.mutable_sums(0)->set_mean_ns(std::numeric_limits<double>::quiet_NaN()); }, "mean"},
      {[](auto& a) { a.mutable_sums(0)->set_deviation_ns(-1); }, "mean"},
      {[](auto& a) { a.mutable_sums(0)->set_q99_ns(std::numeric_limits<std::uint64_t>::max()); },
       "longer than"},
      {[](auto& a) { a.mutable_sums(0)->set_longest_begin_ns(std::numeric_limits<std::int64_t>::max()); },
       "beyond"},
      {[](auto& a) { a.mutable_sums(0)->set_longest_ns(std::numeric_limits<std::int64_t>::max()); },
       "beyond"},
      {[](auto& a) { a.set_zero_ns(std::numeric_limits<std::int64_t>::min()); }, "beyond"},
      {[](auto& a) { a.mutable_sums(0)->add_bin_count(1); }, "differ in length"},
      {[](auto& a) { a.mutable_sums(0)->set_bin_until_ns(0, 100); }, "overlap"},
      {[](auto& a) { a.mutable_sums(0)->set_bin_from_ns(1, 103); }, "overlap"},
      {[](auto& a) { a.mutable_sums(0)->set_single(6); }, "hold others"},
      {[](auto& a) {
         for (int i = 0; i <= kMostSums; ++i) a.add_resources();
       },
       "more sums"},
      {[](auto& a) {
         auto& s = *a.mutable_sums(0);
         for (std::uint64_t i = 0; i <= kMostSumBins; ++i)
           s.add_bin_from_ns(2'000'000 + i), s.add_bin_until_ns(2'000'001 + i), s.add_bin_count(0);
       },
       "too many bins"},
  };
  const std::pair<Wrong, const char*> of_blocks[] = {
      {[](auto& a) { a.mutable_blocks(0)->set_from(0, 7); }, "a block of partition 0 is of nothing"},
      {[](auto& a) { a.mutable_blocks(1)->set_to(2, 99); }, "a block of partition 1 is of nothing"},
      {[](auto& a) { a.mutable_blocks(1)->add_timed(1); }, "differ in length"},
      {[](auto& a) { a.mutable_blocks(1)->clear_pairs(); }, "differ in length"},
      {[](auto& a) { a.mutable_blocks(1)->set_p(0.6); }, "partition 2 is of no p"},
      {[](auto& a) { a.mutable_blocks(2)->set_p(1.5); }, "partition 2 is of no p"},
      {[](auto& a) { a.mutable_blocks(1)->set_loss(std::numeric_limits<double>::infinity()); }, "of no p"},
      {[](auto& a) { a.add_blocks()->set_p(1); }, "partition 3 is of no p"},
      {[](auto& a) { a.mutable_blocks(0)->set_total_ns(0, -1); }, "time that is none"},
      {[](auto& a) {
         for (int i = 0; i <= kMostSumBlocks; ++i) add_block(*a.mutable_blocks(0), 0, 0, 1, 1, 1);
       },
       "too many blocks"},
      {[](auto& a) {
         for (int i = 0; i <= kMostSumPartitions; ++i) a.add_blocks();
       },
       "more sums"},
  };
  const auto try_all = [](std::span<const std::pair<Wrong, const char*>> wrongs,
                          wire::EventsAnswer (*good)()) {
    ASSERT_TRUE(event_sums_untrusted(good()));
    for (const auto& [wrong, sentence] : wrongs) {
      SCOPED_TRACE(sentence);
      wire::EventsAnswer a = good();
      wrong(a);
      const auto sums = event_sums_untrusted(a);
      ASSERT_FALSE(sums);
      EXPECT_THAT(sums.error().message, HasSubstr(sentence));
    }
  };
  try_all(cases, visits);
  try_all(of_blocks, blocks);
}

TEST(EventSums, AHistogramHasEachVisitOnceWhereItsLengthIs) {
  const EventSums sums = *event_sums_untrusted(visits());
  const Histogram h = histogram_of(sums, 10);  // 100 ns to 10 ms: half powers of ten
  EXPECT_EQ(h.from, 2);
  EXPECT_EQ(h.until, 7);
  ASSERT_EQ(h.columns.size(), 10u);
  EXPECT_THAT(h.columns[0].counts, testing::ElementsAre(Pair(0, 5), Pair(1, 3)));
  EXPECT_THAT(h.columns[8].counts, testing::ElementsAre(Pair(0, 2)));  // a millisecond
  EXPECT_THAT(h.columns[9].counts, testing::ElementsAre(Pair(1, 1)));  // nine
  EXPECT_EQ(h.most, 8u);
  std::uint64_t all = 0;
  for (const Histogram::Column& c : h.columns) all += c.total;
  EXPECT_EQ(all, 11u);
  EXPECT_EQ(h.edge(0), 100);
  EXPECT_EQ(h.edge(8), 1'000'000);
  EXPECT_EQ(h.edge(10), 10'000'000);
  // Nothing that is known by itself is nothing to show, and lengths of nothing have a place.
  EXPECT_TRUE(histogram_of(EventSums(), 10).columns.empty());
  wire::EventsAnswer zero = visits();
  add_visits(zero, "Mark", {{0, 1, 4}});
  EXPECT_EQ(histogram_of(*event_sums_untrusted(zero), 10).from, 0);
}

TEST(EventSums, AMatrixFollowsTheRowsOfThePicture) {
  const EventSums sums = *event_sums_untrusted(messages());
  const ViewData data = SmallView().data();
  const auto cell = [](const MessageMatrix& m, std::uint32_t from, std::uint32_t to) {
    const auto at = m.cells.find({from, to});
    return at == m.cells.end() ? std::pair<std::uint64_t, std::uint64_t>()
                               : std::pair(at->second.count, at->second.bytes);
  };
  const MessageMatrix open = matrix_of(sums, data, rows_of(data, {}));
  EXPECT_EQ(open.size, 4u);
  EXPECT_THAT(cell(open, 0, 1), Pair(10, 1000));
  EXPECT_THAT(cell(open, 1, 0), Pair(4, 50));
  EXPECT_THAT(cell(open, 2, 2), Pair(6, 60));
  EXPECT_THAT(cell(open, 3, 0), Pair(0, 0));
  EXPECT_EQ(open.all.count, 21u);
  EXPECT_EQ(open.most.bytes, 1000u);
  EXPECT_EQ(open.unseen, 9u);
  EXPECT_EQ(open.all.total / static_cast<double>(open.all.timed), 100);
  Folding folding;
  folding.folded = {"/a"};
  const MessageMatrix folded = matrix_of(sums, data, rows_of(data, folding));
  EXPECT_EQ(folded.size, 3u);
  EXPECT_THAT(cell(folded, 0, 0), Pair(14, 1050));
  EXPECT_THAT(cell(folded, 0, 1), Pair(1, 7));
  EXPECT_EQ(folded.all.count, open.all.count);
}

TEST(EventSums, BlocksLieOnTheRowsOfTheirNodes) {
  const EventSums sums = *event_sums_untrusted(blocks());
  const ViewData data = SmallView().data();
  const Rows rows = rows_of(data, {});
  ASSERT_EQ(sums.blocks.size(), 3u);
  const BlockMatrix fine = block_matrix_of(sums, sums.blocks[0], data, rows);
  EXPECT_EQ(fine.size, 4u);
  ASSERT_EQ(fine.blocks.size(), 4u);
  EXPECT_EQ(fine.unseen, 9u);  // of /c/gone
  const auto edges = [](const BlockMatrix::Block& b) {
    return std::array<std::uint32_t, 4>{b.from, b.from_until, b.to, b.to_until};
  };
  using Edges = std::array<std::uint32_t, 4>;
  EXPECT_EQ(edges(fine.blocks[0]), (Edges{0, 1, 1, 2}));
  EXPECT_EQ(edges(fine.blocks[2]),
            (Edges{0, 2, 2, rows.last_row[static_cast<std::uint32_t>(node_at(data, "/b"))]}));
  EXPECT_EQ(fine.blocks[2].pairs, 2u);
  EXPECT_EQ(fine.blocks[0].sum.bytes, 1000u);
  EXPECT_EQ(fine.blocks[0].sum.timed, 5u);
  EXPECT_EQ(fine.blocks[0].sum.total, 500);
  const BlockMatrix whole = block_matrix_of(sums, sums.blocks[2], data, rows);
  ASSERT_EQ(whole.blocks.size(), 1u);
  EXPECT_EQ(edges(whole.blocks[0]), (Edges{0, 4, 0, 4}));
  // The partition of a p, and the one that is chosen without any.
  EXPECT_EQ(partition_at(sums, std::nullopt), 1u);
  EXPECT_EQ(partition_at(sums, 0.0), 0u);
  EXPECT_EQ(partition_at(sums, 0.25), 1u);
  EXPECT_EQ(partition_at(sums, 0.4), 1u);
  EXPECT_EQ(partition_at(sums, 1.0), 2u);
  EXPECT_EQ(blocks_csv(sums, sums.blocks[1]),
            "p,from,to,pairs,messages,bytes,mean_ns\r\n0.25,/a,/a,2,14,1050,100\r\n0.25,/a,/b,2,1,7,0\r\n"
            "0.25,/b,/b,1,6,60,100\r\n");
}

TEST(EventSums, OfAPictureOfANodeABlockOfAllIsAllOfIt) {
  const EventSums sums = *event_sums_untrusted(blocks());
  ViewData data = SmallView().data();
  data.nodes[0].path = "/x/y";
  const BlockMatrix whole = block_matrix_of(sums, sums.blocks[2], data, rows_of(data, {}));
  ASSERT_EQ(whole.blocks.size(), 1u);
  EXPECT_EQ(whole.blocks[0].sender, 0u);
  const BlockMatrix fine = block_matrix_of(sums, sums.blocks[0], data, rows_of(data, {}));
  EXPECT_EQ(fine.unseen, 30u);
}

TEST(EventSums, AsCsvNamesAreQuotedAndAllIsThere) {
  wire::EventsAnswer a = messages();
  a.set_resources(0, "/a/\"r,0\"");
  const std::string csv = event_sums_csv(*event_sums_untrusted(a));
  EXPECT_THAT(csv, HasSubstr("\"/a/\"\"r,0\"\"\",/a/r1,10,1000,1000,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);
}

}  // namespace event_sums_test
}  // namespace margay::scene
