// What an operator measured, beside the cells of the same slices: comes back, goes with them, trusts nothing.
#include <gtest/gtest.h>

#include <limits>

#include "margay/store/archive.h"
#include "margay/store/column_codec.h"
#include "plane_codec.h"
#include "store_support.h"

namespace margay::store {
namespace plane_test {

using model::Plane;
using test::TemporaryFolder;
using testing::expect_ok;
using testing::must;

constexpr std::uint64_t kSeed = 20261121;

std::shared_ptr<model::SliceColumn> measured_column(std::mt19937_64& random, Plane plane, std::int64_t index,
                                                    std::uint32_t leaves, std::uint32_t states = 7,
                                                    LevelIndex level = LevelIndex(0)) {
  auto c = testing::random_column(random, level, SliceIndex(index), leaves, states, milliseconds(100));
  c->measure(plane);
  for (std::uint32_t l = 0; l < leaves; ++l) {
    for (std::uint64_t& n : c->measured(LeafIndex(l)))
      if (random() % 3 == 0) n = random() >> (random() % 64);
    if (plane == Plane::kMean) c->integral(LeafIndex(l)) = static_cast<double>(random()) / 3.0;
  }
  return c;
}

std::vector<model::SliceColumn> all(const Archive& archive, LevelIndex level = LevelIndex(0)) {
  auto read = archive.read_columns(level, SliceIndex(-1000), SliceIndex(1000));
  EXPECT_TRUE(read) << read.error().message;
  return read ? std::move(*read) : std::vector<model::SliceColumn>();
}

TEST(MeasuredPlane, ComesBackWithItsSliceAndGoesWithIt) {
  for (const Plane plane : {Plane::kCounts, Plane::kMean}) {
    SCOPED_TRACE("seed " + std::to_string(kSeed));
    std::mt19937_64 random(kSeed);
    const TemporaryFolder dir;
    std::vector<std::shared_ptr<model::SliceColumn>> columns;
    for (std::int64_t i = -2; i < 6; ++i)
      columns.push_back(measured_column(random, plane, i, i == 3 ? 2100 : static_cast<std::uint32_t>(i + 2)));
    columns.push_back(measured_column(random, plane, 0, 3, 7, LevelIndex(1)));
    {
      const auto archive = must(Archive::create(dir / "a", testing::example_run()));
      Cut cut;
      cut.sequence = 1;
      cut.columns = {columns.begin(), columns.end()};
      expect_ok(archive->commit(cut, true));
      // Cells without a plane may stand beside them.
      cut = {};
      cut.sequence = 2;
      cut.columns = {testing::random_column(random, LevelIndex(0), SliceIndex(6), 4, 3, milliseconds(100))};
      expect_ok(archive->commit(cut, true));
    }
    const auto archive = must(Archive::open(dir / "a", Mode::kWrite));
    auto read = all(*archive);
    ASSERT_EQ(read.size(), 9u);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_TRUE(read[i] == *columns[i]) << i;
    EXPECT_EQ(read[8].plane(), Plane::kNone);
    ASSERT_EQ(all(*archive, LevelIndex(1)).size(), 1u);
    EXPECT_TRUE(all(*archive, LevelIndex(1))[0] == *columns[8]);
    const auto range = archive->column_range(LevelIndex(0));
    ASSERT_TRUE(range && *range);
    EXPECT_EQ(**range, std::pair(SliceIndex(-2), SliceIndex(6)));
    expect_ok(archive->drop_columns_before(LevelIndex(0), SliceIndex(4)));
    read = all(*archive);
    ASSERT_EQ(read.size(), 3u);
    EXPECT_TRUE(read[0] == *columns[6]);
    EXPECT_EQ(all(*archive, LevelIndex(1)).size(), 1u);
  }
}

TEST(MeasuredPlane, ASliceThatChangesIsKeptAsItWasShown) {
  std::mt19937_64 random(kSeed);
  const TemporaryFolder dir;
  const auto archive = must(Archive::create(dir / "a", testing::example_run()));
  const auto first = measured_column(random, Plane::kCounts, 1, 1500);
  const auto other = measured_column(random, Plane::kCounts, 2, 1500);
  Cut cut;
  cut.sequence = 1;
  cut.columns = {first, other};
  expect_ok(archive->commit(cut, true));
  auto changed = std::make_shared<model::SliceColumn>(*first);
  changed->measured(LeafIndex(1400))[3] += 17;
  auto again = std::make_shared<model::SliceColumn>(*changed);
  again->measured(LeafIndex(3))[4] += 1;
  cut = {};
  cut.sequence = 2;
  cut.columns = {again};
  cut.superseded = {{SliceIndex(1), 5}};
  cut.kept = {{9, changed}};
  expect_ok(archive->commit(cut, true));
  const auto shown = [&](std::uint64_t sequence) {
    auto c = archive->read_shown(SliceIndex(1), sequence);
    EXPECT_TRUE(c && *c);
    return std::move(**c);
  };
  EXPECT_TRUE(shown(5) == *first);
  EXPECT_TRUE(shown(9) == *changed);
  EXPECT_TRUE(shown(11) == *again);
  expect_ok(archive->drop_columns_before(LevelIndex(0), SliceIndex(2)));
  for (const std::uint64_t sequence : {5u, 9u, 11u}) {
    const auto gone = archive->read_shown(SliceIndex(1), sequence);
    ASSERT_TRUE(gone);
    EXPECT_FALSE(*gone);
  }
}

TEST(MeasuredPlane, BrokenBytesAreRefusedOrWellFormed) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (const Plane plane : {Plane::kCounts, Plane::kMean}) {
    const auto column = measured_column(random, plane, 0, 20);
    std::string bytes;
    expect_ok(encode_plane(*column, 0, bytes));
    model::SliceColumn back = *column;
    back.measure(Plane::kNone);
    expect_ok(decode_plane_untrusted(bytes, 0, back));
    EXPECT_TRUE(back == *column);
    for (std::size_t n = 0; n < bytes.size(); ++n)
      EXPECT_FALSE(decode_plane_untrusted(std::string_view(bytes).substr(0, n), 0, back)) << n << " bytes";
    EXPECT_FALSE(decode_plane_untrusted(bytes + '\0', 0, back));
    EXPECT_FALSE(decode_plane_untrusted(bytes, 1, back)) << "behind the column's end";
    model::SliceColumn smaller(LevelIndex(0), SliceIndex(0), 19, 7);
    EXPECT_FALSE(decode_plane_untrusted(bytes, 0, smaller));
    std::size_t wrong = 0;
    for (int i = 0; i < 2000; ++i) {
      std::string broken = bytes;
      broken[random() % broken.size()] = static_cast<char>(random());
      if (decode_plane_untrusted(broken, 0, back) && !(back == *column)) ++wrong;
    }
    EXPECT_EQ(wrong, 0u) << "the frame has a checksum, the header is checked";
  }
  auto negative = measured_column(random, Plane::kMean, 0, 2);
  negative->integral(LeafIndex(0)) = -1;
  std::string bytes;
  expect_ok(encode_plane(*negative, 0, bytes));
  EXPECT_FALSE(decode_plane_untrusted(bytes, 0, *negative));
  negative->integral(LeafIndex(0)) = std::numeric_limits<double>::quiet_NaN();
  expect_ok(encode_plane(*negative, 0, bytes));
  EXPECT_FALSE(decode_plane_untrusted(bytes, 0, *negative));
}

TEST(MeasuredPlane, WhereALeafStandsComesBack) {
  const TemporaryFolder dir;
  MeasureState state{LeafIndex(1), {{77, true}, {0, false}}, true, TimeNs(-5), 0.1, 1e200};
  {
    const auto archive = must(Archive::create(dir / "a", testing::example_run()));
    Cut cut;
    cut.sequence = 1;
    for (std::uint32_t l = 0; l < 2; ++l) cut.leaves.push_back({LeafIndex(l), SourceId(1), l, {}});
    cut.measure_states = {state};
    expect_ok(archive->commit(cut, true));
    cut = {};
    cut.sequence = 2;
    cut.measure_states = {state};
    cut.measure_states[0].value = std::numeric_limits<double>::infinity();
    EXPECT_FALSE(archive->commit(cut, true));
  }
  const auto resume = must(Archive::open(dir / "a", Mode::kReadOnly))->load();
  ASSERT_TRUE(resume) << resume.error().message;
  ASSERT_EQ(resume->measure_states.size(), 1u);
  EXPECT_EQ(resume->measure_states[0], state);
  const std::string bytes = encode(state);
  MeasureState back;
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(decode_untrusted(std::string_view(bytes).substr(0, n), back)) << n;
}

}  // namespace plane_test
}  // namespace margay::store
