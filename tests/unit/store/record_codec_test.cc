#include "record_codec.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "bytes.h"
#include "keys.h"
#include "raw_columns.h"
#include "store_support.h"

namespace margay::store {
namespace record_codec_test {

template <class Record>
void expect_exact(const Record& record, Record empty) {
  const std::string bytes = encode(record);
  Record back = empty;
  const Status s = decode_untrusted(bytes, back);
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(back, record);
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(decode_untrusted(std::string_view(bytes).substr(0, n), back)) << n << " bytes";
  EXPECT_FALSE(decode_untrusted(bytes + '\0', back));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string broken = bytes;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    static_cast<void>(decode_untrusted(broken, back));
  }
  std::string newer = bytes;
  newer[0] = 9;
  const Status refused = decode_untrusted(newer, back);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kVersion);
}

TEST(RecordCodec, EveryRecordComesBackAndNoPartOfItDoes) {
  RunMeta run = testing::example_run();
  expect_exact(run, RunMeta());
  run.end = TimeNs(-5);
  run.exit_code = -9;
  expect_exact(run, RunMeta());
  LeafRecord leaf;
  leaf.source = SourceId(~0ull);
  leaf.stream = 3;
  leaf.attributes = {{"host", "node7"}, {"rank", "12"}};
  expect_exact(leaf, LeafRecord());
  leaf.owner = "key node7";
  expect_exact(leaf, LeafRecord());
  LeafState state;
  state.stack = {{StateId(2), TimeNs(-1)}, {StateId(1023), TimeNs(1'700'000'000'000'000'000)}};
  state.position = TimeNs(1'700'000'000'000'000'777);
  expect_exact(state, LeafState());
  SourceRecord source;
  source.epoch = 4;
  source.attributes = {{"pid", "77"}};
  source.names = {StateId(2), StateId(5), StateId(1000)};
  source.clock_offset = DurationNs(-123456789);
  source.clock_error = DurationNs(40);
  source.goodbye = 3;
  source.end = TimeNs(99);
  expect_exact(source, SourceRecord());
  source.texts = {{1, NameText::Kind::kVariable, "heat"}, {2, NameText::Kind::kLink, "message\nhalo"}};
  source.owner = "local";
  source.speaker = ~0ull;
  expect_exact(source, SourceRecord());
  StreamRecord stream;
  stream.epoch = 1;
  stream.next = ~0ull;
  stream.produced = 10;
  stream.rejected = 1;
  expect_exact(stream, StreamRecord());
  expect_exact(AlertRecord{"", R"({"id":"a"})", "firing"}, AlertRecord());
  expect_exact(PhaseRecord{0, "B", "solve", TimeNs(5), TimeNs(7), 14, true}, PhaseRecord());
  expect_exact(std::vector<ClosedThrough>{{LevelIndex(0), SliceIndex(-3)}, {LevelIndex(1), SliceIndex(9)}},
               {});
}

TEST(RecordCodec, SourcesAndLeavesOfOlderVersionsAreRead) {
  SourceRecord source;
  source.epoch = 4;
  source.names = {StateId(2), StateId(5)};
  source.end = TimeNs(99);
  std::string old = encode(source);
  ASSERT_EQ(old[0], 3);
  old[0] = 2;
  old.resize(old.size() - 2);  // it ended before the owner and the agent, which are not told
  SourceRecord back;
  back.owner = "left from before";
  back.speaker = 1;
  Status two = decode_untrusted(old, back);
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(back, source);
  old[0] = 1;
  old.pop_back();  // it ended before the texts, of which there are none
  back.texts = {{0, NameText::Kind::kMark, "left from before"}};
  const Status ok = decode_untrusted(old, back);
  ASSERT_TRUE(ok) << ok.error().message;
  EXPECT_EQ(back, source);
  old[0] = 4;
  EXPECT_EQ(decode_untrusted(old, back).error().message,
            "a source of version 4; this one reads version 1 to 3");
  LeafRecord leaf;
  leaf.attributes = {{"rank", "3"}};
  old = encode(leaf);
  ASSERT_EQ(old[0], 2);
  old[0] = 1;
  old.pop_back();
  LeafRecord leaf_back;
  leaf_back.owner = "left from before";
  const Status one = decode_untrusted(old, leaf_back);
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(leaf_back, leaf);
}

TEST(RecordCodec, TextsOfNamesThatAreNotThereAreRefused) {
  SourceRecord source;
  source.names = {StateId(2)};
  source.texts = {{1, NameText::Kind::kMark, "x"}};
  SourceRecord back;
  EXPECT_EQ(decode_untrusted(encode(source), back).error().code, ErrorCode::kCorrupt);
  source.texts = {{0, static_cast<NameText::Kind>(0), "x"}};
  EXPECT_EQ(decode_untrusted(encode(source), back).error().code, ErrorCode::kCorrupt);
  Cut cut;
  cut.sequence = 1;
  cut.sources = {source};
  EXPECT_EQ(check(cut).error().code, ErrorCode::kInvalidArgument);
}

TEST(RecordCodec, BlobsAndRawBlocksComeBack) {
  std::string value;
  std::string back;
  const std::string text(100'000, 'x');
  ASSERT_TRUE(encode_blob(text, value));
  EXPECT_LT(value.size(), 200u);
  ASSERT_TRUE(decode_blob_untrusted(value, back));
  EXPECT_EQ(back, text);
  for (std::size_t n = 0; n < value.size(); ++n)
    EXPECT_FALSE(decode_blob_untrusted(std::string_view(value).substr(0, n), back));
  const RawBlock block{LeafIndex(), 0, TimeNs(), TimeNs(42), 7, text, SourceId(~std::uint64_t{0})};
  ASSERT_TRUE(encode_raw(block, value));
  RawBlock raw;
  ASSERT_TRUE(decode_raw_untrusted(value, raw));
  EXPECT_EQ(raw, block);
  for (std::size_t n = 0; n < value.size(); ++n)
    EXPECT_FALSE(decode_raw_untrusted(std::string_view(value).substr(0, n), raw));
}

// Columns of the wire, of random widths and values.
std::string random_columns(std::mt19937_64& random, std::uint32_t count, std::int64_t first_time) {
  std::string out(1, '\1');
  const auto put = [&](std::uint64_t v, unsigned width) {
    for (unsigned k = 0; k < width; ++k) out.push_back(static_cast<char>(v >> (8 * k)));
  };
  put(static_cast<std::uint64_t>(first_time), 8);
  for (int c = 0; c < 7; ++c) {
    const unsigned width = std::array{0u, 1u, 2u, 4u, 8u}[random() % 5];
    out.push_back(static_cast<char>(width));
    put(random() >> (random() % 64), 8);
    for (std::uint32_t i = 0; i < count; ++i) put(random() >> (random() % 64), width);
  }
  return out;
}

TEST(RecordCodec, RawColumnsOfAnyWidthComeBackToTheByte) {
  constexpr std::uint64_t kSeed = 11;
  std::mt19937_64 random(kSeed);
  for (const std::uint32_t count : {0u, 1u, 15u, 16u, 17u, 100u, 1023u, 1024u, 3000u})
    for (int i = 0; i < 20; ++i) {
      const RawBlock block{LeafIndex(), 0,
                           TimeNs(),    TimeNs(42),
                           count,       random_columns(random, count, static_cast<std::int64_t>(random()))};
      std::string value;
      ASSERT_TRUE(encode_raw(block, value));
      RawBlock back;
      const Status s = decode_raw_untrusted(value, back);
      ASSERT_TRUE(s) << s.error().message << ", seed " << kSeed;
      EXPECT_EQ(back, block) << count << " records, seed " << kSeed;
    }
}

TEST(RecordCodec, DamagedRawPlanesAreRefused) {
  constexpr std::uint64_t kSeed = 12;
  std::mt19937_64 random(kSeed);
  const RawBlock block{LeafIndex(), 0, TimeNs(), TimeNs(42), 50, random_columns(random, 50, 7)};
  std::string value;
  ASSERT_TRUE(encode_raw(block, value));
  RawBlock back;
  for (std::size_t n = 0; n < value.size(); ++n)
    EXPECT_FALSE(decode_raw_untrusted(std::string_view(value).substr(0, n), back)) << n << " bytes";
  EXPECT_FALSE(decode_raw_untrusted(value + '\0', back)) << "a byte too many";
  for (std::size_t bit = 0; bit < 8 * value.size(); ++bit) {
    std::string broken = value;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    if (decode_raw_untrusted(broken, back)) {
      EXPECT_EQ(back.columns, block.columns) << "bit " << bit << " changed records unseen";
    }
  }
  value[0] = 4;
  EXPECT_EQ(decode_raw_untrusted(value, back).error().code, ErrorCode::kVersion);
}

// Three records as version 1 wrote them: archives of before must stay readable.
constexpr char kRawVersion1[] =
    "\x01\x80\x89\x7a\x03\x5d\x28\xb5\x2f\xfd\x24\x5d\xad\x01\x00\x14\x02\x01\x70\x3a"
    "\x0f\x00\x02\x00\x78\x05\x28\x0a\x01\x00\x10\x00\x04\x01\x02\x00\x02\x01\x01\x00"
    "\x0d\x0d\x00\x01\x05\x00\x01\x00\x01\x00\x08\x00\x44\x15\x01\xc8\x00\x65\x80\x41"
    "\x00\x21\x20\x73\x50\x38\x00\x5a\x25\x29\x60\xd4";
// The same three as version 2 wrote them.
constexpr char kRawVersion2[] =
    "\x02\x80\x89\x7a\x03\x5d\x27\x28\xb5\x2f\xfd\x24\x27\x39\x01\x00\xe0\xe9\x79\x02"
    "\x00\x01\x80\x20\x01\x02\x01\x01\x00\x00\x01\x05\x01\x01\x00\x00\x04\x00\x00\x02"
    "\x0d\x0d\x00\x00\x00\x01\x00\x01\x00\x00\x78\x28\x00\x05\x0a\x34\x1b\x5b\x7b";
TEST(RecordCodec, RawBlocksOfVersion1And2StayReadable) {
  const std::string_view value(kRawVersion1, sizeof(kRawVersion1) - 1);
  RawBlock back;
  const Status s = decode_raw_untrusted(value, back);
  ASSERT_TRUE(s) << s.error().message;
  RawBlock later;
  ASSERT_TRUE(decode_raw_untrusted({kRawVersion2, sizeof(kRawVersion2) - 1}, later));
  EXPECT_EQ(later, back);
  EXPECT_EQ(back.end, TimeNs(1'000'000));
  EXPECT_EQ(back.count, 3u);
  EXPECT_EQ(back.source, std::nullopt) << "whose they are was not kept";
  RawColumns columns;
  ASSERT_TRUE(parse_columns_untrusted(back.columns, 3, columns));
  EXPECT_EQ(columns.first_time, 998'000);
  EXPECT_EQ(columns.columns[0].width, 2);
  EXPECT_EQ(columns.columns[1].base, 4096u);
  EXPECT_EQ(columns.columns[6].width, 1);
}

// What a reader makes of columns: absolute times, and the other fields.
using Row = std::array<std::uint64_t, kRawColumns>;
std::vector<Row> rows_of(const RawBlock& b) {
  RawColumns columns;
  EXPECT_TRUE(parse_columns_untrusted(b.columns, b.count, columns));
  std::vector<Row> rows(b.count);
  std::int64_t now = columns.first_time;
  for (std::size_t c = 0; c < kRawColumns; ++c)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::uint64_t v = 0;
      const std::size_t width = columns.columns[c].width;
      for (std::size_t k = 0; k < width; ++k)
        v |= std::uint64_t{static_cast<std::uint8_t>(columns.columns[c].from[i * width + k])} << (8 * k);
      v += columns.columns[c].base;
      if (c == 0) v = static_cast<std::uint64_t>(now = wrapping_add(now, unzigzag(v)));
      rows[i][c] = v;
    }
  return rows;
}

TEST(RecordCodec, RawBlocksOfOneCommitAreJoinedWithoutChangingARecord) {
  constexpr std::uint64_t kSeed = 13;
  std::mt19937_64 random(kSeed);
  std::vector<RawBlock> blocks;
  std::array<std::uint64_t, 3> next{};
  std::array<std::vector<Row>, 3> expected;
  for (int i = 0; i < 60; ++i) {
    const auto leaf = static_cast<std::uint32_t>(random() % 3);
    const auto count = static_cast<std::uint32_t>(1 + random() % 50);
    RawBlock b{LeafIndex(leaf),
               next[leaf],
               TimeNs(1000 * i),
               TimeNs(1000 * i + 999),
               count,
               random_columns(random, count, static_cast<std::int64_t>(random()))};
    next[leaf] += count;
    for (const Row& r : rows_of(b)) expected[leaf].push_back(r);
    blocks.push_back(std::move(b));
  }
  const std::vector<RawBlock> joined = join_raw(blocks);
  ASSERT_EQ(joined.size(), 3u);
  for (const RawBlock& b : joined) {
    EXPECT_EQ(b.first, 0u);
    EXPECT_EQ(rows_of(b), expected[b.leaf.value]) << "seed " << kSeed;
  }
}

TEST(RecordCodec, RawBlocksThatDoNotGoOnStayApart) {
  std::mt19937_64 random(14);
  const auto block = [&](std::uint64_t first, std::int64_t begin, std::uint32_t count) {
    return RawBlock{LeafIndex(1),  first, TimeNs(begin),
                    TimeNs(begin), count, random_columns(random, count, 5)};
  };
  RawBlock strange = block(10, 20, 10);
  strange.columns = "no columns";
  const RawBlock a = block(0, 10, 10), gap = block(11, 20, 5),
                 late = block(10, 10 + 2 * kLongestJoined.value, 5), full = block(10, 20, kMostJoined);
  for (const RawBlock& other : {strange, gap, late, full})
    EXPECT_EQ(join_raw({a, other}), (std::vector{a, other}));
  EXPECT_EQ(join_raw({}), std::vector<RawBlock>());
  // The same ordinals of another leaf in between are no reason to part.
  RawBlock elsewhere = block(10, 20, 5);
  elsewhere.leaf = LeafIndex(2);
  EXPECT_EQ(join_raw({a, elsewhere, block(10, 20, 5)}).size(), 2u);
  // Another source has names of its own.
  RawBlock other = block(10, 20, 5);
  other.source = SourceId(7);
  EXPECT_EQ(join_raw({a, other}), (std::vector{a, other}));
  RawTails tails;
  tails.committed(1, {a});
  EXPECT_EQ(tails.extend(2, {other}), std::vector{other});
}

TEST(RecordCodec, SmallRawBlocksAreExtendedByTheNextCuts) {
  constexpr std::uint64_t kSeed = 15;
  std::mt19937_64 random(kSeed);
  RawTails tails;
  std::map<std::pair<std::int64_t, std::uint64_t>, RawBlock> archive;  // by begin and first: the key
  std::vector<Row> expected;
  std::uint64_t next = 0;
  for (std::uint64_t cut = 1; cut <= 100; ++cut) {
    const auto count = static_cast<std::uint32_t>(1 + random() % 100);
    const auto begin = static_cast<std::int64_t>(20'000'000 * cut);
    const RawBlock b{LeafIndex(3),      next,  TimeNs(begin),
                     TimeNs(begin + 9), count, random_columns(random, count, begin)};
    next += count;
    for (const Row& r : rows_of(b)) expected.push_back(r);
    // Some commits fail, some of those after they were written; then the same cut comes again.
    for (int attempt = static_cast<int>(random() % 3); attempt >= 0; --attempt) {
      const std::vector<RawBlock> written = tails.extend(cut, {b});
      for (const RawBlock& w : written) archive[{w.begin.value, w.first}] = w;
      if (attempt != 1) tails.committed(cut, written);
    }
    if (cut == 50) tails.clear();
  }
  std::vector<Row> rows;
  for (const auto& [key, b] : archive)
    for (const Row& r : rows_of(b)) rows.push_back(r);
  EXPECT_EQ(rows, expected) << "every record once, seed " << kSeed;
  EXPECT_LT(archive.size(), 20u);
}

TEST(Keys, ByteOrderIsTimeOrder) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    const SliceKey a{LevelIndex(1), SliceIndex(static_cast<std::int64_t>(random())), 3};
    const SliceKey b{LevelIndex(1), SliceIndex(static_cast<std::int64_t>(random())), 0};
    EXPECT_EQ(a.slice < b.slice, a.encode() < b.encode());
    EXPECT_EQ(SliceKey::decode(a.encode())->slice, a.slice);
    const RawKey r{TimeNs(static_cast<std::int64_t>(random())), LeafIndex(5), random()};
    EXPECT_EQ(RawKey::decode(r.encode())->begin, r.begin);
    EXPECT_EQ(RawKey::decode(r.encode())->first, r.first);
  }
  EXPECT_FALSE(SliceKey::decode("short"));
  EXPECT_FALSE(RawKey::decode("short"));
}

}  // namespace record_codec_test
}  // namespace margay::store
