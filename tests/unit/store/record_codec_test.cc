#include "record_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "keys.h"
#include "store_support.h"

namespace margay::store {
namespace {

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

TEST(RecordCodec, SourcesOfVersion1AreRead) {
  SourceRecord source;
  source.epoch = 4;
  source.names = {StateId(2), StateId(5)};
  source.end = TimeNs(99);
  std::string old = encode(source);
  ASSERT_EQ(old[0], 2);
  old[0] = 1;
  old.pop_back();  // it ended before the texts, of which there are none
  SourceRecord back;
  back.texts = {{0, NameText::Kind::kMark, "left from before"}};
  const Status ok = decode_untrusted(old, back);
  ASSERT_TRUE(ok) << ok.error().message;
  EXPECT_EQ(back, source);
  old[0] = 3;
  EXPECT_EQ(decode_untrusted(old, back).error().message,
            "a source of version 3; this one reads version 1 to 2");
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
  const RawBlock block{LeafIndex(), 0, TimeNs(), TimeNs(42), 7, text};
  ASSERT_TRUE(encode_raw(block, value));
  RawBlock raw;
  ASSERT_TRUE(decode_raw_untrusted(value, raw));
  EXPECT_EQ(raw, block);
  for (std::size_t n = 0; n < value.size(); ++n)
    EXPECT_FALSE(decode_raw_untrusted(std::string_view(value).substr(0, n), raw));
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

}  // namespace
}  // namespace margay::store
