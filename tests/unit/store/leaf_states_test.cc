// Where the leaves stand: packed, one by one, and both.
#include <gtest/gtest.h>

#include <random>

#include "margay/store/archive.h"
#include "record_codec.h"
#include "store_support.h"

namespace margay::store {
namespace leaf_states_test {

using test::TemporaryFolder;
using testing::example_run;

constexpr std::uint64_t kSeed = 31;

std::vector<LeafState> random_states(std::mt19937_64& random, std::uint32_t leaves) {
  std::vector<LeafState> all;
  const auto any = [&] { return static_cast<std::int64_t>(random() >> (random() % 63)); };
  for (std::uint32_t l = 0; l < leaves; ++l) {
    LeafState s;
    s.leaf = LeafIndex(l);
    s.position = TimeNs(1'700'000'000'000'000'000 + any() % 1'000'000'000);
    s.last_event = TimeNs(any());
    s.longest_before_ns = any();
    for (std::uint64_t i = random() % 4; i != 0; --i)
      s.stack.push_back({StateId(static_cast<std::uint16_t>(random() % 1024)), TimeNs(-any())});
    all.push_back(std::move(s));
  }
  return all;
}

TEST(LeafStates, Packed_ComeBackAndTruncatedAreRefused) {
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (const std::uint32_t leaves : {0u, 1u, 50u, 1024u}) {
    const auto all = random_states(random, leaves);
    std::string bytes;
    ASSERT_TRUE(encode_packed(all, bytes));
    std::vector<LeafState> back;
    ASSERT_TRUE(decode_packed_untrusted(bytes, LeafIndex(0), back));
    ASSERT_EQ(back, all);
    for (std::size_t n = 0; n < std::min<std::size_t>(bytes.size(), 500); ++n) {
      back.clear();
      EXPECT_FALSE(decode_packed_untrusted(std::string_view(bytes).substr(0, n), LeafIndex(0), back)) << n;
    }
    EXPECT_FALSE(decode_packed_untrusted(bytes + '\0', LeafIndex(0), back));
  }
}

// As version 1 wrote it: every begin from the leaf's position.
TEST(LeafStates, Packed_ReadsTheVersionBefore) {
  // Leaf 5 at 1000 in states 2 (since 400) and 3 (since 990), its last event at 990; leaf 6 at 998, in none.
  const std::string bytes(
      "\x01\x02"
      "\xd0\x0f\x02\x02\xb0\x09\x03\x14\x14\x0e"
      "\x03\x00\x04\x00",
      16);
  LeafState first;
  first.leaf = LeafIndex(5);
  first.position = TimeNs(1000);
  first.stack = {{StateId(2), TimeNs(400)}, {StateId(3), TimeNs(990)}};
  first.last_event = TimeNs(990);
  first.longest_before_ns = 7;
  LeafState second;
  second.leaf = LeafIndex(6);
  second.position = TimeNs(998);
  second.last_event = TimeNs(996);
  std::vector<LeafState> back;
  const Status s = decode_packed_untrusted(bytes, LeafIndex(5), back);
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(back, (std::vector{first, second}));
}

// All leaves, yet not in their order; and one that is beyond the bounds.
TEST(LeafStates, OutOfOrder_AreKeptAllTheSame) {
  RecordProperty("seed", std::to_string(kSeed + 2));
  std::mt19937_64 random(kSeed + 2);
  const TemporaryFolder dir;
  constexpr std::uint32_t kLeaves = 20'000;  // enough for two threads
  auto archive = Archive::create(dir / "a", example_run());
  ASSERT_TRUE(archive);
  Cut cut;
  cut.sequence = 1;
  for (std::uint32_t l = 0; l < kLeaves; ++l) cut.leaves.push_back({LeafIndex(l), SourceId(1), l, {}});
  const auto expected = random_states(random, kLeaves);
  cut.leaf_states = expected;
  std::swap(cut.leaf_states[1500], cut.leaf_states[1501]);
  ASSERT_TRUE((*archive)->commit(cut, false));
  auto resume = (*archive)->load();
  ASSERT_TRUE(resume) << resume.error().message;
  EXPECT_EQ(resume->leaf_states, expected);
  for (const bool in_order : {false, true}) {
    cut.sequence = 2;
    cut.leaf_states = expected;
    if (!in_order) std::swap(cut.leaf_states[1500], cut.leaf_states[1501]);
    cut.leaf_states[19'000].stack.push_back({StateId(0xffff), TimeNs(0)});
    const Status s = (*archive)->commit(cut, false);
    ASSERT_FALSE(s);
    EXPECT_EQ(s.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(s.error().message.find("leaf 19000"), std::string::npos) << s.error().message;
  }
  cut.leaf_states = expected;
  ASSERT_TRUE((*archive)->commit(cut, false)) << "what was refused left nothing behind";
  resume = (*archive)->load();
  ASSERT_TRUE(resume);
  EXPECT_EQ(resume->leaf_states, expected);
}

TEST(LeafStates, AllOfThem_SomeOfThem_AllAgain) {
  RecordProperty("seed", std::to_string(kSeed + 1));
  std::mt19937_64 random(kSeed + 1);
  const TemporaryFolder dir;
  constexpr std::uint32_t kLeaves = 2100;
  auto archive = Archive::create(dir / "a", example_run());
  ASSERT_TRUE(archive);
  std::uint64_t sequence = 0;
  const auto commit = [&](std::vector<LeafState> states) {
    Cut cut;
    cut.sequence = ++sequence;
    if (sequence == 1)
      for (std::uint32_t l = 0; l < kLeaves; ++l) cut.leaves.push_back({LeafIndex(l), SourceId(1), l, {}});
    cut.leaf_states = std::move(states);
    const Status s = (*archive)->commit(cut, false);
    ASSERT_TRUE(s) << s.error().message;
  };
  const auto expect = [&](const std::vector<LeafState>& expected) {
    const auto resume = (*archive)->load();
    ASSERT_TRUE(resume) << resume.error().message;
    EXPECT_EQ(resume->leaf_states, expected);
  };
  auto states = random_states(random, 1500);
  commit(states);
  expect(states);
  auto other = random_states(random, kLeaves);
  for (const std::uint32_t l : {3u, 1024u, 1499u}) {
    commit({other[l]});
    states[l] = other[l];
  }
  expect(states);
  archive->reset();
  archive = Archive::open(dir / "a", Mode::kWrite);
  ASSERT_TRUE(archive);
  expect(states);
  commit({other.begin(), other.begin() + 5});  // the first are not all
  std::copy_n(other.begin(), 5, states.begin());
  expect(states);
  commit(other);
  expect(other);
  archive->reset();
  archive = Archive::open(dir / "a", Mode::kWrite);
  ASSERT_TRUE(archive);
  expect(other);
  commit({});
  expect(other);
}

}  // namespace leaf_states_test
}  // namespace margay::store
