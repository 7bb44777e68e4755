// Traces damaged on purpose: what decodes is read, the rest is counted, other streams go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "recorder.h"
#include "support/ctf_writer.h"
#include "support/decoder_leaks.h"

namespace margay::lttng::test {
namespace damage_test {

using test_support::CtfBytes;
using test_support::CtfOptions;
using test_support::CtfTrace;
using test_support::cut_file;
using test_support::DecoderLeaks;
using test_support::flip_bits;
using testing::HasSubstr;

constexpr std::uint64_t kEach = 300;  // events of each of three CPUs
constexpr std::uint64_t kEventBytes = 12 + 24 + 4;

// CPU c has an event each 1000 ns, at c; packets of 10 events.
std::unique_ptr<CtfTrace> made(const std::string& path, CtfOptions options = {}) {
  options.packet_bytes = 10 * kEventBytes;
  auto trace = std::make_unique<CtfTrace>(path, options,
                                          std::vector<test_support::CtfClass>{{"app:x", {{"n", "i32"}}}});
  for (std::uint64_t i = 0; i < kEach; ++i)
    for (std::uint32_t cpu = 0; cpu < 3; ++cpu)
      trace->event(cpu, 1'000'000 + i * 1'000 + cpu, 0, CtfBytes().i32(1).i32(2).comm("x"),
                   CtfBytes().i32(static_cast<int>(i)));
  EXPECT_TRUE(trace->finish());
  return trace;
}
constexpr std::uint64_t kPacket = 512;  // 84 + 400, rounded up

std::size_t of_cpu(const Recorder& seen, int cpu) {
  return static_cast<std::size_t>(
      std::count_if(seen.events.begin(), seen.events.end(), [&](const Seen& s) { return s.cpu == cpu; }));
}

struct Read {
  Recorder seen;
  std::string error;  // of opening or reading
  ReaderCounts counts;
  std::vector<Damage> damage;
};
void read(const std::string& path, Read& out) {
  auto reader = TraceReader::open_directory(path, out.seen);
  if (!reader) {
    out.error = reader.error().message;
    return;
  }
  out.error = read_all(**reader);
  out.counts = (*reader)->counts();
  out.damage = (*reader)->damage();
  EXPECT_TRUE(out.seen.in_order);
}

// CPU 1's stream ends after `events`, with one Damage that names its file; the others are whole.
void expect_damaged(const CtfTrace& trace, const Read& r, std::size_t events) {
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(of_cpu(r.seen, 0), kEach);
  EXPECT_EQ(of_cpu(r.seen, 1), events);
  EXPECT_EQ(of_cpu(r.seen, 2), kEach);
  EXPECT_EQ(r.counts.damaged_streams, 1U);
  EXPECT_EQ(r.counts.damaged_traces, 0U);
  EXPECT_EQ(r.counts.events_before_damage, events);
  ASSERT_EQ(r.damage.size(), 1U);
  EXPECT_EQ(r.damage[0].place, trace.stream_file(1));
  EXPECT_EQ(r.damage[0].events, events);
  EXPECT_FALSE(r.damage[0].what.empty());
}

// A trace whose stream of CPU 1 is cut to so many bytes, and what is read of it.
struct Cut {
  explicit Cut(std::uint64_t bytes, const CtfOptions& options = {}) : trace(made(place.path, options)) {
    EXPECT_EQ(std::filesystem::file_size(trace->stream_file(1)), kEach / 10 * kPacket);
    EXPECT_TRUE(cut_file(trace->stream_file(1), bytes));
    read(place.path, r);
  }
  const TemporaryFolder place;
  const std::unique_ptr<CtfTrace> trace;
  Read r;
};

TEST(Damage, NothingIsDamaged) {
  const TemporaryFolder place;
  made(place.path);
  Read r;
  read(place.path, r);
  EXPECT_EQ(r.seen.events.size(), 3 * kEach);
  EXPECT_EQ(r.counts.damaged_streams, 0U);
  EXPECT_TRUE(r.damage.empty());
}

TEST(Damage, StreamCutWithinAPacket) {
  // Of the fifth packet, head and 4 events and a bit are left.
  const Cut cut(4 * kPacket + 84 + 4 * kEventBytes + 3);
  expect_damaged(*cut.trace, cut.r, 44);
  ASSERT_EQ(cut.r.seen.discarded.size(), 1U);
  EXPECT_FALSE(cut.r.seen.discarded[0].exact);
  EXPECT_EQ(cut.r.seen.discarded[0].cpu, 1);
}

TEST(Damage, StreamCutWithinAHead) {
  const Cut cut(4 * kPacket + 30);
  expect_damaged(*cut.trace, cut.r, 40);
}

// Nothing tells that there was more.
TEST(Damage, StreamCutBetweenPackets) {
  const Cut cut(4 * kPacket);
  EXPECT_EQ(of_cpu(cut.r.seen, 1), 40U);
  EXPECT_EQ(cut.r.seen.events.size(), 2 * kEach + 40);
  EXPECT_EQ(cut.r.counts.damaged_streams, 0U);
}

TEST(Damage, StreamCutToItsFirstHead) {
  const Cut cut(50);
  expect_damaged(*cut.trace, cut.r, 0);
}

TEST(Damage, EmptyStreamIsNoDamage) {
  const Cut cut(0);
  EXPECT_EQ(cut.r.error, "");
  EXPECT_EQ(cut.r.seen.events.size(), 2 * kEach);
  EXPECT_EQ(cut.r.counts.damaged_streams, 0U);
}

TEST(Damage, FileThatIsNoStream) {
  const TemporaryFolder place;
  const auto trace = made(place.path);
  std::ofstream(trace->stream_file(1))
      << "this is a text that somebody left here; it is longer than a packet's head";
  Read r;
  read(place.path, r);
  expect_damaged(*trace, r, 0);
}

TEST(Damage, BitsFlippedInAPacketsHead) {
  // magic, uuid, stream class, instance, end of time, content size, packet size
  for (const std::uint64_t at : {0, 5, 20, 24, 47, 55, 57, 63}) {
    SCOPED_TRACE(at);
    const TemporaryFolder place;
    const auto trace = made(place.path);
    ASSERT_TRUE(flip_bits(trace->stream_file(1), 4 * kPacket + at, at == 57 ? 0x02 : 0x80));
    Read r;
    read(place.path, r);
    // A wrong size is seen at the packet that should follow; the packet itself decodes.
    expect_damaged(*trace, r, at == 57 ? 50 : 40);
  }
}

// A size that leads to a later packet: those between are missed by their numbers.
TEST(Damage, PacketsSkipped) {
  const TemporaryFolder place;
  const auto trace = made(place.path);
  ASSERT_TRUE(flip_bits(trace->stream_file(1), 4 * kPacket + 57, 0x80));  // 9 packets long
  Read r;
  read(place.path, r);
  EXPECT_EQ(of_cpu(r.seen, 1), kEach - 80);
  EXPECT_EQ(r.counts.discarded_packets, 8U);
}

TEST(Damage, BitsFlippedInTheFirstHead) {
  for (const std::uint64_t at : {0, 5, 20, 63}) {
    SCOPED_TRACE(at);
    const TemporaryFolder place;
    const auto trace = made(place.path);
    ASSERT_TRUE(flip_bits(trace->stream_file(1), at, 0x80));
    Read r;
    read(place.path, r);
    expect_damaged(*trace, r, 0);
  }
}

TEST(Damage, UnknownEventAndWrongTimes) {
  for (const std::uint64_t at : {1, 4 + 2, 4 + 7}) {  // class; time a bit, and far, off
    SCOPED_TRACE(at);
    const TemporaryFolder place;
    const auto trace = made(place.path);
    ASSERT_TRUE(flip_bits(trace->stream_file(1), 4 * kPacket + 84 + 3 * kEventBytes + at, 0x40));
    Read r;
    read(place.path, r);
    // A time that jumps ahead by less than a second is seen by the next one, which goes back.
    expect_damaged(*trace, r, at == 4 + 2 ? 44 : 43);
  }
}

TEST(Damage, MetadataCut) {
  const DecoderLeaks leaks;
  const TemporaryFolder place;
  const auto whole = made(place.path + "/a");
  CtfOptions other;
  other.uuid = 2;
  const auto trace = made(place.path + "/b", other);
  ASSERT_TRUE(cut_file(place.path + "/b/metadata", trace->metadata().size() / 2));
  Read r;
  read(place.path, r);
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.seen.events.size(), 3 * kEach);
  EXPECT_EQ(r.counts.damaged_traces, 1U);
  EXPECT_EQ(r.counts.damaged_streams, 0U);
  ASSERT_EQ(r.damage.size(), 1U);
  EXPECT_EQ(r.damage[0].place, place.path + "/b");
}

// Babeltrace would end the program by a division.
TEST(Damage, ClockWithoutFrequency) {
  for (const auto& [find, replace] :
       {std::pair<std::string, std::string>{"freq = 1000000000", "freq = 0000000000"},
        {"freq = 1000000000", "frEq = 1000000000"}}) {
    const TemporaryFolder place;
    const auto trace = made(place.path);
    std::string text = trace->metadata();
    text.replace(text.find(find), find.size(), replace);
    std::ofstream(place.path + "/metadata") << text;
    Read r;
    read(place.path, r);
    EXPECT_THAT(r.error, HasSubstr("frequency"));
  }
}

// Lost by the nanosecond: a counter that is damaged counts nothing.
TEST(Damage, DiscardedCounters) {
  for (const std::uint64_t at : {64 + 5, 72 + 5}) {  // packets, events
    const TemporaryFolder place;
    const auto trace = made(place.path);
    ASSERT_TRUE(flip_bits(trace->stream_file(1), 4 * kPacket + at, 0x10));
    Read r;
    read(place.path, r);
    EXPECT_EQ(r.error, "");
    EXPECT_EQ(r.counts.discarded_packets, 0U);
    EXPECT_EQ(r.counts.discarded_events, 0U);
    EXPECT_GE(r.counts.unknown_discards, 1U);
    EXPECT_LE(r.seen.events.size(), 3 * kEach);
    ASSERT_FALSE(r.seen.discarded.empty());
    EXPECT_FALSE(r.seen.discarded[0].exact);
  }
}

// Chunks of one trace: only the one whose metadata is damaged is left out.
TEST(Damage, MetadataOfOneChunkCut) {
  const DecoderLeaks leaks;
  const TemporaryFolder place;
  made(place.path + "/1");
  const auto trace = made(place.path + "/2");
  ASSERT_TRUE(cut_file(place.path + "/2/metadata", trace->metadata().size() / 2));
  Read r;
  read(place.path, r);
  EXPECT_EQ(r.seen.events.size(), 3 * kEach);
  EXPECT_EQ(r.counts.damaged_traces, 1U);
}

TEST(Damage, NoTraceAtAll) {
  const DecoderLeaks leaks;
  const TemporaryFolder place;
  for (const char* text : {"", "hello", "/* CTF 1.8 */\ntrace {"}) {
    std::ofstream(place.path + "/metadata") << text;
    std::ofstream(place.path + "/stream_0") << "something";
    Read r;
    read(place.path, r);
    EXPECT_THAT(r.error, HasSubstr(place.path));
    EXPECT_THAT(r.error, HasSubstr("no trace in it can be read"));
  }
}

// An index of LTTng's that is not of these packets would end the program within Babeltrace.
TEST(Damage, WrongIndexIsNotUsed) {
  const TemporaryFolder place;
  const auto trace = made(place.path);
  std::filesystem::create_directories(place.path + "/index");
  std::string index("\xC1\xF1\xDC\xC1\0\0\0\1\0\0\0\0\0\0\0\x38", 16);
  std::string entry(56, '\0');
  entry[0] = 0x40;  // far behind the file's end
  entry[14] = static_cast<char>(kEach / 10 * kPacket * 8 >> 8);
  entry[13] = static_cast<char>(kEach / 10 * kPacket * 8 >> 16);
  std::ofstream(place.path + "/index/channel0_1.idx", std::ios::binary) << index + entry;
  Read r;
  read(place.path, r);
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.seen.events.size(), 3 * kEach);
  EXPECT_EQ(r.counts.damaged_streams, 0U);
}

// Another tracer's: not looked through; Babeltrace refuses the file by name.
TEST(Damage, OtherTracers) {
  CtfOptions options;
  options.tracer = "other";
  const Cut cut(4 * kPacket + 200, options);
  expect_damaged(*cut.trace, cut.r, 0);
}

// Whatever bits are flipped: an outcome, the other streams whole, and nothing beyond what was written.
TEST(Damage, AnyBitsFlipped) {
  std::mt19937 random(20261122);
  const TemporaryFolder place;
  const auto trace = made(place.path);
  const std::uint64_t size = std::filesystem::file_size(trace->stream_file(1));
  for (int round = 0; round < 150; ++round) {
    const std::uint64_t at = random() % size;
    const auto bits = static_cast<std::uint8_t>(1U << (random() % 8));
    if (at % kPacket >= 80 && at % kPacket < 84) continue;  // the number of its CPU
    SCOPED_TRACE("byte " + std::to_string(at) + " bits " + std::to_string(bits));
    ASSERT_TRUE(flip_bits(trace->stream_file(1), at, bits));
    Read r;
    read(place.path, r);
    ASSERT_EQ(r.error, "");
    ASSERT_LE(r.counts.damaged_streams, 1U);
    ASSERT_EQ(of_cpu(r.seen, 0), kEach);
    ASSERT_EQ(of_cpu(r.seen, 2), kEach);
    ASSERT_LE(r.seen.events.size(), 3 * kEach);
    if (r.counts.damaged_streams == 0 && r.seen.discarded.empty()) {
      ASSERT_EQ(r.seen.events.size(), 3 * kEach);
    }
    ASSERT_TRUE(flip_bits(trace->stream_file(1), at, bits));
  }
}

TEST(Damage, AnyBitsOfMetadataFlipped) {
  const DecoderLeaks leaks;
  std::mt19937 random(7);
  const TemporaryFolder place;
  const auto trace = made(place.path);
  const std::uint64_t size = trace->metadata().size();
  int readable = 0;
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t at = random() % size;
    const auto bits = static_cast<std::uint8_t>(1U << (random() % 8));
    ASSERT_TRUE(flip_bits(place.path + "/metadata", at, bits));
    Read r;
    read(place.path, r);
    readable += r.error.empty() ? 1 : 0;
    ASSERT_TRUE(flip_bits(place.path + "/metadata", at, bits));
  }
  EXPECT_GT(readable, 0);
}

}  // namespace damage_test
}  // namespace margay::lttng::test
