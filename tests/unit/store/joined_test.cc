// Slices that became one value: the codec, and an archive that has some.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "joined_walk.h"
#include "margay/store/archive.h"
#include "margay/store/column_codec.h"
#include "margay/store/joined_codec.h"
#include "margay/store/slice_compactor.h"
#include "store_support.h"

namespace margay::store {
namespace joined_test {

using model::SliceColumn;
using test::TemporaryFolder;
using testing::example_run;
using testing::random_column;
using testing::some_takers;

constexpr std::uint64_t kSeed = 20261121;
constexpr DurationNs kSlice = milliseconds(100);
constexpr LevelIndex kFinest{0};

// Ascending, with gaps, growing, each different from the one before.
std::vector<SliceColumn> random_columns(std::mt19937_64& random, std::size_t count) {
  std::vector<SliceColumn> columns;
  std::int64_t index = 17'000'000'000;
  std::uint32_t leaves = 1, states = 3;
  for (std::size_t i = 0; i < count; ++i) {
    index += 1 + static_cast<std::int64_t>(random() % 8 == 0 ? random() % 5 : 0);
    leaves += random() % 8 == 0;
    states += random() % 8 == 0;
    columns.push_back(*random_column(random, kFinest, SliceIndex(index), leaves, states, kSlice));
    SliceColumn& c = columns.back();
    if (random() % 4 == 0) c.region = random() % 2 == 0 ? "" : "solve";
    for (std::uint32_t l = 0; l < leaves; ++l) {
      model::NodeEvidence& e = c.evidence(LeafIndex(l));
      e.process_state = random() % 4 == 0 ? 'T' : 'R';
      e.sampled_ns = 100'000'000;
      e.cpu_ns = static_cast<std::int64_t>(random() % 100'000'000);
      e.run_delay_ns = random() % 2 == 0 ? 0 : static_cast<std::int64_t>(random() >> 1);
      e.stopped_ns = random() % 9 == 0 ? INT64_MAX : 0;
      if (random() % 4 == 0) e.stopped_since = TimeNs(static_cast<std::int64_t>(random()));
    }
  }
  return columns;
}

void expect_back(const std::string& bytes, const std::vector<SliceColumn>& columns) {
  std::vector<SliceColumn> back;
  const Status decoded = decode_joined_untrusted(bytes, kFinest, columns.back().index, back);
  ASSERT_TRUE(decoded) << decoded.error().message;
  ASSERT_EQ(back, columns);
}

TEST(JoinedCodec, RandomColumns_ComeBack) {
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (const std::size_t count : {1u, 2u, 17u, 64u, 256u})
    for (const DurationNs slice : {kSlice, DurationNs(0), DurationNs(77)}) {
      const auto columns = random_columns(random, count);
      std::string bytes;
      const Status encoded = encode_joined(columns, slice, bytes);
      // Where the slice is not the columns', an open visit may begin behind what it takes for the end.
      if (slice != kSlice) continue;
      ASSERT_TRUE(encoded) << encoded.error().message;
      ASSERT_NO_FATAL_FAILURE(expect_back(bytes, columns));
    }
}

TEST(JoinedCodec, WhoUsesStorage_ComesBackInAVersionOfItsOwn) {
  RecordProperty("seed", std::to_string(kSeed + 2));
  std::mt19937_64 random(kSeed + 2);
  auto columns = random_columns(random, 64);
  std::string bytes;
  ASSERT_TRUE(encode_joined(columns, kSlice, bytes));
  EXPECT_EQ(bytes[0], 1) << "what nobody has is not written";
  for (SliceColumn& c : columns)
    for (std::uint32_t l = 0; l < c.leaves(); l += 2) {
      c.evidence(LeafIndex(l)).blocked_ns = static_cast<std::int64_t>(random() % 100'000'000);
      c.evidence(LeafIndex(l)).storage_bytes = random() % 9 == 0 ? INT64_MAX : 4096 * (l + 1);
    }
  ASSERT_TRUE(encode_joined(columns, kSlice, bytes));
  EXPECT_EQ(bytes[0], 2);
  expect_back(bytes, columns);
}

TEST(JoinedCodec, WhoHadTheCpu_ComesBackInAVersionOfItsOwn) {
  RecordProperty("seed", std::to_string(kSeed + 3));
  std::mt19937_64 random(kSeed + 3);
  auto columns = random_columns(random, 64);
  for (std::size_t i = 0; i < columns.size(); i += 3) columns[i].takers = some_takers();
  std::string bytes;
  ASSERT_TRUE(encode_joined(columns, kSlice, bytes));
  EXPECT_EQ(bytes[0], 3);
  expect_back(bytes, columns);
}

TEST(JoinedCodec, EmptyAndLargestValues_ComeBack) {
  std::vector<SliceColumn> columns = {SliceColumn(kFinest, SliceIndex(-3), 0, 0),
                                      SliceColumn(kFinest, SliceIndex(-2), 2, 0),
                                      SliceColumn(kFinest, SliceIndex(-1), 2, 40)};
  SliceColumn& c = columns.back();
  c.lost_events = UINT64_MAX;
  c.provisional = true;
  c.region = std::string(256, '\xff');
  c.open(LeafIndex(1)) = {StateId(1023), TimeNs(-1)};
  c.visits(LeafIndex(1))[39] = UINT32_MAX;
  c.longest_ns(LeafIndex(1))[38] = INT64_MAX;
  c.duration_ns(LeafIndex(1))[37] = (std::int64_t{1} << 56) - 1;
  for (SliceColumn& each : columns)
    for (std::uint32_t l = 0; l < each.leaves(); ++l)
      if (each.open(LeafIndex(l)) == model::OpenState{})
        each.open(LeafIndex(l)).since = slice_begin(each.index, kSlice);
  std::string bytes;
  ASSERT_TRUE(encode_joined(columns, kSlice, bytes));
  std::vector<SliceColumn> back;
  ASSERT_TRUE(decode_joined_untrusted(bytes, kFinest, SliceIndex(-1), back));
  EXPECT_EQ(back, columns);
}

TEST(JoinedCodec, WhatNoSlicerMakes_StaysByItself) {
  SliceColumn c(kFinest, SliceIndex(7), 1, 2);
  c.duration_ns(LeafIndex(0))[1] = -1;
  std::string bytes;
  const Status s = encode_joined({c}, kSlice, bytes);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code, ErrorCode::kLimit);
  EXPECT_FALSE(encode_joined({}, kSlice, bytes));
  EXPECT_FALSE(encode_joined(
      {SliceColumn(kFinest, SliceIndex(7), 1, 2), SliceColumn(kFinest, SliceIndex(7), 1, 2)}, kSlice, bytes));
}

TEST(JoinedCodec, TruncatedFlippedAndRandomBytes_AreRefused) {
  RecordProperty("seed", std::to_string(kSeed + 1));
  std::mt19937_64 random(kSeed + 1);
  const auto columns = random_columns(random, 5);
  std::string bytes;
  ASSERT_TRUE(encode_joined(columns, kSlice, bytes));
  std::vector<SliceColumn> back;
  const SliceIndex last = columns.back().index;
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(decode_joined_untrusted(std::string_view(bytes).substr(0, n), kFinest, last, back)) << n;
  EXPECT_FALSE(decode_joined_untrusted(bytes + '\0', kFinest, last, back));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string broken = bytes;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(decode_joined_untrusted(broken, kFinest, last, back)) << "bit " << bit;
  }
  // With a check that is right, whatever they say is bounded.
  for (int i = 0; i < 20'000; ++i) {
    std::string any(1 + random() % 64, '\0');
    for (char& c : any) c = static_cast<char>(random());
    any[0] = static_cast<char>(1 + i % 3);
    const std::uint32_t check = joined::check_of(any);
    for (unsigned k = 0; k < joined::kCheckBytes; ++k) any += static_cast<char>(check >> (8 * k));
    static_cast<void>(decode_joined_untrusted(any, kFinest, last, back));
    std::size_t cells = 0;
    for (const SliceColumn& c : back) cells += std::size_t{c.leaves()} * c.states();
    ASSERT_LE(cells, kMostJoinedCells + std::size_t{kMostJoinedLeaves} * kMostColumnStates);
  }
  std::string newer = bytes;
  newer[0] = 4;
  const Status s = decode_joined_untrusted(newer, kFinest, last, back);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code, ErrorCode::kVersion);
}

class JoinedArchive : public ::testing::Test {
 protected:
  void SetUp() override {
    RecordProperty("seed", std::to_string(kSeed + 2));
    auto made = Archive::create(dir_ / "a", example_run());
    ASSERT_TRUE(made) << made.error().message;
    archive_ = std::move(*made);
    columns_ = random_columns(random_, 100);
    commit({columns_.begin(), columns_.end()});
  }
  void commit(const std::vector<SliceColumn>& columns) {
    Cut cut;
    cut.sequence = ++sequence_;
    for (const SliceColumn& c : columns) cut.columns.push_back(std::make_shared<SliceColumn>(c));
    const Status s = archive_->commit(cut, false);
    ASSERT_TRUE(s) << s.error().message;
  }
  void join(SliceIndex through, std::size_t least, std::size_t most, std::size_t expected) {
    const auto joined = archive_->join_columns(kFinest, through, least, most);
    ASSERT_TRUE(joined) << joined.error().message;
    EXPECT_EQ(*joined, expected);
  }
  void open_again() {
    archive_.reset();
    auto opened = Archive::open(dir_ / "a", Mode::kWrite);
    ASSERT_TRUE(opened) << opened.error().message;
    archive_ = std::move(*opened);
  }
  // The archive shows just these, from wherever it is asked.
  void expect_holds(const std::vector<SliceColumn>& expected) {
    const auto all = archive_->read_columns(kFinest, SliceIndex(INT64_MIN), SliceIndex(INT64_MAX));
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(*all, expected);
    const auto range = archive_->column_range(kFinest);
    ASSERT_TRUE(range && *range);
    EXPECT_EQ(**range, std::pair(expected.front().index, expected.back().index));
    for (std::size_t i = 0; i < expected.size(); i += 7)
      for (std::size_t j = i; j < expected.size(); j += 13) {
        const auto part = archive_->read_columns(kFinest, expected[i].index, expected[j].index);
        ASSERT_TRUE(part);
        ASSERT_EQ(*part, std::vector(expected.begin() + static_cast<std::ptrdiff_t>(i),
                                     expected.begin() + static_cast<std::ptrdiff_t>(j) + 1));
      }
    for (const SliceColumn& c : expected) {
      const auto shown = archive_->read_shown(c.index, 1);
      ASSERT_TRUE(shown && *shown);
      ASSERT_EQ(**shown, c);
    }
  }

  TemporaryFolder dir_;
  std::mt19937_64 random_{kSeed + 2};
  std::unique_ptr<Archive> archive_;
  std::vector<SliceColumn> columns_;
  std::uint64_t sequence_ = 0;
};

TEST_F(JoinedArchive, ShowsTheSameSlices) {
  join(columns_[59].index, 2, 30, 30);
  expect_holds(columns_);
  join(columns_[59].index, 2, 256, 30);
  join(columns_[59].index, 2, 256, 0);
  join(columns_[60].index, 2, 256, 0);  // fewer than are worth it
  expect_holds(columns_);
  open_again();
  expect_holds(columns_);
  join(SliceIndex(INT64_MAX), 1, 256, 40);
  expect_holds(columns_);
  ASSERT_TRUE(archive_->compact());
  expect_holds(columns_);
}

TEST_F(JoinedArchive, StoredBytes_AreThoseOfTheRange) {
  const SliceIndex low(INT64_MIN), high(INT64_MAX);
  const std::uint64_t apart = *archive_->stored_bytes(kFinest, low, high);
  join(high, 2, 256, 100);
  const std::uint64_t joined = *archive_->stored_bytes(kFinest, low, high);
  EXPECT_LT(joined, apart);
  const SliceIndex middle = columns_[50].index;
  const std::uint64_t before = *archive_->stored_bytes(kFinest, low, middle - 1),
                      behind = *archive_->stored_bytes(kFinest, middle, high);
  EXPECT_GT(before, joined / 3);
  EXPECT_GT(behind, joined / 3);
  EXPECT_LE(before + behind, joined);
  EXPECT_GE(before + behind + 2, joined);
}

TEST_F(JoinedArchive, SliceWrittenAgain_CountsInsteadOfTheJoinedOne) {
  join(columns_[79].index, 2, 40, 40);
  join(columns_[79].index, 2, 40, 40);
  std::vector<SliceColumn> now = columns_;
  for (const std::size_t i : {0u, 39u, 40u, 55u, 79u}) {
    now[i] = *random_column(random_, kFinest, columns_[i].index, 30, 40, kSlice);
    commit({now[i]});
  }
  expect_holds(now);
  open_again();
  join(SliceIndex(INT64_MAX), 1, 256, 20);
  expect_holds(now);
}

TEST_F(JoinedArchive, SupersededSlice_IsKeptAsItWasShown) {
  join(columns_[79].index, 2, 256, 80);
  Cut cut;
  cut.sequence = ++sequence_;
  const SliceColumn other = *random_column(random_, kFinest, columns_[12].index, 9, 9, kSlice);
  cut.columns = {std::make_shared<SliceColumn>(other)};
  cut.superseded = {{columns_[12].index, 7}};
  ASSERT_TRUE(archive_->commit(cut, false));
  EXPECT_EQ(*archive_->read_shown(columns_[12].index, 7), columns_[12]);
  EXPECT_EQ(*archive_->read_shown(columns_[12].index, 8), other);
}

TEST_F(JoinedArchive, Retention_GoesThroughTheMiddleOfAJoin) {
  join(columns_[79].index, 2, 40, 40);
  join(columns_[79].index, 2, 40, 40);
  ASSERT_TRUE(archive_->drop_columns_before(kFinest, columns_[55].index));
  expect_holds({columns_.begin() + 55, columns_.end()});
  EXPECT_EQ(*archive_->oldest(Shelf::kSlices, kFinest), slice_begin(columns_[55].index, kSlice));
  ASSERT_TRUE(archive_->flush());
  const auto extents = archive_->extents(Shelf::kSlices, kFinest, TimeNs(INT64_MAX / 4), 8);
  ASSERT_TRUE(extents);
  EXPECT_GT(std::accumulate(extents->begin(), extents->end(), std::uint64_t{0},
                            [](std::uint64_t n, const Extent& e) { return n + e.bytes; }),
            0u);
  open_again();
  expect_holds({columns_.begin() + 55, columns_.end()});
}

TEST(SliceCompactor, JoinsWhatCannotChange_AndAtTheEndTheRest) {
  RecordProperty("seed", std::to_string(kSeed + 3));
  std::mt19937_64 random(kSeed + 3);
  const TemporaryFolder dir;
  RunMeta run = example_run();
  run.levels = {kSlice, seconds(1)};
  auto archive = Archive::create(dir / "a", run);
  ASSERT_TRUE(archive);
  SliceCompactor compactor(**archive, SliceCompactor::amendable(run.levels, 64));
  std::vector<SliceColumn> columns;
  const auto range_bytes = [&](std::size_t from, std::size_t to) {
    return *(*archive)->stored_bytes(kFinest, columns[from].index, columns[to].index);
  };
  std::uint64_t sequence = 0;
  const auto commit = [&](Cut cut) {
    cut.sequence = ++sequence;
    const Status s = (*archive)->commit(cut, false);
    ASSERT_TRUE(s) << s.error().message;
    const Status joined = compactor.after_commit(cut);
    ASSERT_TRUE(joined) << joined.error().message;
  };
  constexpr std::int64_t kFirst = 1000;
  std::uint64_t apart = 0;
  for (std::int64_t i = 0; i < 400; ++i) {
    columns.push_back(*random_column(random, kFinest, SliceIndex(kFirst + i), 4, 8, kSlice));
    std::string bytes;
    ASSERT_TRUE(encode_chunk(columns.back(), 0, kSlice, bytes));
    apart += bytes.size() + 11;
    Cut cut;
    cut.columns = {std::make_shared<SliceColumn>(columns.back())};
    cut.closed = {{kFinest, SliceIndex(kFirst + i)}};
    commit(std::move(cut));
  }
  // What can still be amended stands by itself, to the byte.
  std::uint64_t newest = 0;
  for (std::size_t i = 400 - 64; i < 400; ++i) {
    std::string bytes;
    ASSERT_TRUE(encode_chunk(columns[i], 0, kSlice, bytes));
    newest += bytes.size() + 11;
  }
  EXPECT_EQ(range_bytes(400 - 64, 399), newest);
  EXPECT_LT(range_bytes(0, 399), apart * 9 / 10) << "a first join was due after 256 slices and the amendable";
  run.end = TimeNs(1);
  Cut last;
  last.run = run;
  commit(std::move(last));
  EXPECT_LT(range_bytes(400 - 64, 399), newest);
  const auto all = (*archive)->read_columns(kFinest, SliceIndex(INT64_MIN), SliceIndex(INT64_MAX));
  ASSERT_TRUE(all);
  EXPECT_EQ(*all, columns);
}

}  // namespace joined_test
}  // namespace margay::store
