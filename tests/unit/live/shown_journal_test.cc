#include "margay/live/shown_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace margay::daemon {
namespace shown_journal_test {

using Kind = store::JournalEntry::Kind;
using ::testing::ElementsAre;

ClosedSlice closed(std::int64_t slice, bool amended = false) {
  ClosedSlice m;
  m.column = std::make_shared<model::SliceColumn>(LevelIndex(0), SliceIndex(slice), 1, 3);
  m.amended = amended;
  return m;
}
store::Cut cut_of(const ShownJournal& j) {
  store::Cut cut;
  j.put_into(cut);
  return cut;
}
std::vector<std::uint64_t> numbers(const store::Cut& cut) {
  std::vector<std::uint64_t> out;
  for (const auto& e : cut.journal) out.push_back(e.sequence);
  return out;
}

TEST(ShownJournal, EntriesWaitForACutAndAreNumbered) {
  ShownJournal j;
  j.start({}, {});
  j.shown(closed(4), 3, {});
  j.shown(closed(5), 3, {});
  const store::Cut cut = cut_of(j);
  EXPECT_THAT(numbers(cut), ElementsAre(1, 2, 3));
  EXPECT_EQ(cut.journal[0].kind, Kind::kStart);
  EXPECT_EQ(cut.journal[2].at, SliceIndex(5));
  j.submitted(SliceIndex(0));
  j.shown(closed(4, true), 3, {});
  EXPECT_THAT(numbers(cut_of(j)), ElementsAre(4));
  EXPECT_EQ(cut_of(j).journal[0].at, SliceIndex(5)) << "the newest shown does not go back";
  EXPECT_EQ(j.lost(), 0u);
}

TEST(ShownJournal, WhatChangesBeforeAnyCutHasItIsKeptFromHereAndLaterFromTheArchive) {
  ShownJournal j;
  const ClosedSlice first = closed(1);
  j.shown(first, 3, {});
  j.changed(SliceIndex(1));
  j.changed(SliceIndex(1));  // it is what was shown no more: once
  ASSERT_EQ(cut_of(j).kept.size(), 1u);
  EXPECT_EQ(cut_of(j).kept[0].sequence, 1u);
  EXPECT_EQ(cut_of(j).kept[0].column, first.column);
  EXPECT_TRUE(cut_of(j).superseded.empty());
  j.submitted(SliceIndex(0));

  j.shown(closed(1, true), 3, {});
  j.submitted(SliceIndex(0));
  j.changed(SliceIndex(1));
  EXPECT_THAT(cut_of(j).superseded, ElementsAre(store::SupersededSlice{SliceIndex(1), 2}));
  EXPECT_TRUE(cut_of(j).kept.empty());
}

TEST(ShownJournal, SlicesThatCanChangeNoMoreAreForgotten) {
  ShownJournal j;
  j.shown(closed(1), 3, {});
  j.shown(closed(2), 3, {});
  j.submitted(SliceIndex(2));
  j.changed(SliceIndex(1));
  j.changed(SliceIndex(2));
  EXPECT_THAT(cut_of(j).superseded, ElementsAre(store::SupersededSlice{SliceIndex(2), 2}));
}

TEST(ShownJournal, ARestartedDaemonGoesOnBehindTheArchive) {
  ShownJournal j;
  j.resume(40, SliceIndex(30), {{SliceIndex(29), 38}});
  const std::vector<model::Attributes> leaves = {{{"rank", "0"}}, {{"rank", "1"}}};
  j.start({}, std::span(leaves).first(1));
  j.changed(SliceIndex(29));
  ClosedSlice topology;
  topology.topology = std::make_shared<detect::Topology>();
  j.shown(topology, 5, leaves);
  const store::Cut cut = cut_of(j);
  EXPECT_THAT(numbers(cut), ElementsAre(41, 42));
  EXPECT_EQ(cut.journal[0].at, SliceIndex(30));
  EXPECT_EQ(cut.journal[0].changed.size(), 1u) << "all who are known";
  ASSERT_EQ(cut.journal[1].changed.size(), 1u) << "only who is new";
  EXPECT_EQ(cut.journal[1].changed[0].first, LeafIndex(1));
  EXPECT_EQ(cut.journal[1].leaves, 2u);
  EXPECT_EQ(cut.journal[1].states, 5u);
  EXPECT_THAT(cut.superseded, ElementsAre(store::SupersededSlice{SliceIndex(29), 38}));
}

// The disk is away: nothing is submitted.
TEST(ShownJournal, BeyondItsBoundsTheOldestGoAndAreCounted) {
  ShownJournal j({10, 3});
  for (int s = 0; s < 14; ++s) j.shown(closed(s), 3, {});
  EXPECT_EQ(j.lost(), 4u);
  EXPECT_THAT(numbers(cut_of(j)), ElementsAre(5, 6, 7, 8, 9, 10, 11, 12, 13, 14));
  for (int s = 0; s < 5; ++s) j.changed(SliceIndex(s));
  EXPECT_EQ(j.lost(), 4u + 2u);
  ASSERT_EQ(cut_of(j).kept.size(), 3u);
  EXPECT_EQ(cut_of(j).kept.front().sequence, 3u) << "the newest stay";

  ShownJournal k({10, 3});
  for (int s = 0; s < 12; ++s) {
    k.shown(closed(s), 3, {});
    k.submitted(SliceIndex(0));
  }
  for (int s = 0; s < 12; ++s) k.changed(SliceIndex(s));
  EXPECT_EQ(k.lost(), 2u);
  EXPECT_EQ(cut_of(k).superseded.size(), 10u);
}

}  // namespace shown_journal_test
}  // namespace margay::daemon
