// Captures as they come: whole, cut off, damaged, with messages twice, with holes.
#include "margay/trace/capture.h"

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "capture_rig.h"
#include "capture_wire.h"
#include "margay/trace/resampler.h"
#include "margay/wire/columns.h"
#include "margay/wire/ingest.pb.h"
#include "support/synthetic_capture.h"

namespace margay::trace {
namespace capture_test {

using namespace testing;

using Story = std::vector<std::string>;

TEST(Capture, AThreadThatSaysThatItEndsExistsNoMore) {
  File f;
  f.hello(7, 3, 5)
      .batch(7, 0, {record(MARGAY_ENTER, 1, 10), record(MARGAY_LEAVE, 1, 12)}, 20)
      .batch(7, 2, {record(MARGAY_ENTER, 4, 30), record(MARGAY_LEAVE, 4, 30)}, 30)
      .goodbye(7, 80, 4);
  Keeper k;
  f.read(k);
  EXPECT_EQ(k.story(0), (Story{"ENTER MPI_Send 10", "LEAVE MPI_Send 12", "ENTER (thread end) 30",
                               "LEAVE (thread end) 30", "END 30"}));
}

TEST(Capture, ARunIsNamesLeavesAndRecordsInTraceTime) {
  File f;
  f.hello(7, 3).batch(7, 0, {record(MARGAY_ENTER, 1, 10), record(MARGAY_LEAVE, 1, 12)}, 20);
  f.batch(7, 2,
          {record(MARGAY_REGION_ENTER, 3, 21), record(MARGAY_ENTER, 2, 30), record(MARGAY_LEAVE, 2, 31)}, 31);
  f.goodbye(7, 31, 5);
  Keeper k;
  const auto counts = f.read(k);
  EXPECT_EQ(k.story(0), (Story{"ENTER MPI_Send 10", "LEAVE MPI_Send 12", "REGION solve 21",
                               "ENTER MPI_Finalize 30", "LEAVE MPI_Finalize 31", "END 31"}));
  ASSERT_EQ(k.leaves.size(), 1u);
  EXPECT_EQ(k.leaves[0]["rank"], "3");
  EXPECT_EQ(k.leaves[0]["thread"], "0");
  ASSERT_EQ(k.names.size(), 4u);
  EXPECT_EQ(k.names[3].kind, Name::Kind::kRegion);
  EXPECT_EQ(k.names[1].family, model::StateFamily::kPointToPoint);
  EXPECT_EQ(counts.begin, TimeNs(kWall + 10'000'000));
  EXPECT_EQ(counts.end, TimeNs(kWall + 31'000'000));
  EXPECT_EQ(k.covered, counts.end);
  EXPECT_EQ(counts.bytes, f.bytes.size());
  EXPECT_EQ(counts.messages, 4u);
  EXPECT_EQ(counts.cut_off, 0u);
}

TEST(Capture, TheRunsOwnOffsetIsTakenForItsHost) {
  File f;
  f.hello(7, 3).batch(7, 0, {record(MARGAY_ENTER, 1, 10)}, 20);
  Keeper k;
  CaptureOptions options;
  options.boot_id = "boot";
  options.clock_offset = DurationNs(kOffset + 123);
  static_cast<void>(f.read(k, options));
  EXPECT_EQ(k.records[0][0].time_ns, kWall + 10'000'000 + 123);
}

TEST(Capture, WhatCameTwiceIsTakenOnce) {
  File f;
  const std::vector<EventRecord> all = {record(MARGAY_ENTER, 1, 1), record(MARGAY_LEAVE, 1, 2),
                                        record(MARGAY_ENTER, 1, 3), record(MARGAY_LEAVE, 1, 4)};
  f.hello(7, 0).batch(7, 0, {all[0], all[1], all[2]}, 3).hello(7, 0);
  f.batch(7, 0, {all[0], all[1]}, 2).batch(7, 1, {all[1], all[2], all[3]}, 4);
  Keeper k;
  EXPECT_EQ(f.read(k).repeats, 4u);
  EXPECT_EQ(k.story(0),
            (Story{"ENTER MPI_Send 1", "LEAVE MPI_Send 2", "ENTER MPI_Send 3", "LEAVE MPI_Send 4"}));
}

TEST(Capture, AHoleThatIsFilledIsNone) {
  File f;
  f.hello(7, 0).batch(7, 1, {record(MARGAY_LEAVE, 1, 2)}, 2);
  f.batch(7, 0, {record(MARGAY_ENTER, 1, 1)}, 1).batch(7, 1, {record(MARGAY_LEAVE, 1, 2)}, 2);
  Keeper k;
  EXPECT_EQ(f.read(k).holes, 0u);
  EXPECT_EQ(k.story(0), (Story{"ENTER MPI_Send 1", "LEAVE MPI_Send 2"}));
}

TEST(Capture, AHoleThatIsGivenUpIsAGap) {
  File f;
  f.hello(7, 0).batch(7, 0, {record(MARGAY_ENTER, 1, 1)}, 1);
  f.at(200).batch(7, 5, {record(MARGAY_ENTER, 1, 150)}, 150);
  f.at(10'300).batch(7, 5, {record(MARGAY_ENTER, 1, 150)}, 150);
  Keeper k;
  const auto counts = f.read(k);
  EXPECT_EQ(counts.lost, 4u);
  EXPECT_EQ(k.story(0), (Story{"ENTER MPI_Send 1", "GAP 4 150", "ENTER MPI_Send 150"}));
}

TEST(Capture, ANewAgentCannotFillTheHoleOfTheOldOne) {
  File f;
  f.hello(7, 0).batch(7, 0, {record(MARGAY_ENTER, 1, 1)}, 1).batch(7, 3, {record(MARGAY_LEAVE, 1, 9)}, 9, 1);
  Keeper k;
  EXPECT_EQ(f.read(k).holes, 1u);
  EXPECT_EQ(k.story(0), (Story{"ENTER MPI_Send 1", "GAP 2 9", "LEAVE MPI_Send 9"}));
}

TEST(Capture, AKilledProcessEndsWhereItWasCoveredTo) {
  File f;
  f.hello(7, 0).batch(7, 0, {record(MARGAY_ENTER, 1, 1)}, 8).goodbye(7, 1, 1, 3);
  Keeper k;
  static_cast<void>(f.read(k));
  EXPECT_EQ(k.story(0), (Story{"ENTER MPI_Send 1", "GAP 3 1", "END 8"}));
}

TEST(Capture, ARankOfTheNextProgramIsTheSameLeaf) {
  File f;
  f.hello(7, 0).batch(7, 0, {record(MARGAY_ENTER, 1, 1), record(MARGAY_LEAVE, 1, 2)}, 3).goodbye(7, 3, 2);
  f.hello(8, 0)
      .batch(8, 0, {record(MARGAY_ENTER, 1, 50)}, 51)
      .hello(9, 1)
      .batch(9, 0, {record(MARGAY_ENTER, 1, 5)}, 6);
  Keeper k;
  EXPECT_EQ(f.read(k).leaves, 2u);
  EXPECT_EQ(k.story(0), (Story{"ENTER MPI_Send 1", "LEAVE MPI_Send 2", "END 3", "ENTER MPI_Send 50"}));
}

TEST(Capture, CutOffAnywhereWhatIsWholeIsUsed) {
  File f;
  f.hello(7, 0).batch(7, 0, {record(MARGAY_ENTER, 1, 1)}, 1).batch(7, 1, {record(MARGAY_LEAVE, 1, 2)}, 2);
  for (std::size_t n = 0; n <= f.bytes.size(); ++n) {
    Keeper k;
    const auto counts = read_capture_bytes(std::string_view(f.bytes).substr(0, n), "c", {}, k);
    ASSERT_TRUE(counts) << n;
    const auto whole =
        static_cast<std::size_t>(std::count_if(f.ends.begin(), f.ends.end(), [&](auto e) { return e <= n; }));
    EXPECT_EQ(counts->messages, whole);
    EXPECT_EQ(counts->bytes + counts->cut_off, n);
    EXPECT_EQ(counts->records, whole == 0 ? 0 : whole - 1);
  }
}

TEST(Capture, WhereNoMessageBeginsTheByteIsTold) {
  File f;
  f.hello(7, 0);
  const std::string damaged =
      f.bytes + std::string(8, 'x') + std::string("\x05\0\0\0\xff\xff\xff\x7f", 8) + "body";
  Keeper k;
  const auto counts = read_capture_bytes(damaged, "night.capture", {}, k);
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(counts.error().message.find("night.capture: byte " + std::to_string(f.bytes.size())),
            std::string::npos)
      << counts.error().message;
}

TEST(Capture, WhatNoSenderShouldSendIsCountedAndLeftOut) {
  File f;
  f.hello(7, 0).raw("\xff\xff garbage");
  wire::ToCollector m = File::message();
  m.set_run("another");
  f.put(m).batch(99, 0, {record(MARGAY_ENTER, 1, 1)}, 1);  // of a source that is not known
  // A kind, a name and times that make no sense.
  f.batch(7, 0,
          {record(99, 1, 1), record(MARGAY_ENTER, 77, 1), record(MARGAY_ENTER, 1, 1'000'000),
           record(MARGAY_ENTER, 1, -9'000), record(MARGAY_ENTER, 1, 4)},
          5);
  m = File::message();
  auto& b = *m.add_batches();
  b.set_source(7);
  b.set_first(5);
  b.set_count(3);
  b.set_covered_until_ns(kMono + 9'000'000);
  b.set_columns("no columns");
  f.put(m).batch(7, 8, {record(MARGAY_LEAVE, 1, 10)}, 10);
  Keeper k;
  const auto counts = f.read(k);
  EXPECT_EQ(counts.undecodable, 1u);
  EXPECT_EQ(counts.foreign, 1u);
  EXPECT_EQ(counts.nameless, 1u);
  EXPECT_EQ(counts.bad_batches, 1u);
  EXPECT_EQ(counts.rejected, 4u + 3u);
  EXPECT_EQ(k.story(0), (Story{"ENTER MPI_Send 4", "GAP 3 9", "LEAVE MPI_Send 10"}));
}

TEST(Capture, RecordsOfMoreStreamsThanASourceMayHaveAreCounted) {
  File f;
  f.hello(7, 0);
  for (std::uint32_t stream = 0; stream < 256; ++stream)
    f.batch(7, 0, {record(MARGAY_ENTER, 1, 1)}, 5, 0, stream);
  f.batch(7, 0, {record(MARGAY_ENTER, 1, 2), record(MARGAY_LEAVE, 1, 3)}, 5, 0, 256);
  f.batch(7, 1, {record(MARGAY_LEAVE, 1, 4)}, 5, 0, 255);
  Keeper k;
  const auto counts = f.read(k);
  EXPECT_EQ(counts.rejected, 2u);
  EXPECT_EQ(k.leaves.size(), 256u);
  EXPECT_EQ(k.story(255), (Story{"ENTER MPI_Send 1", "LEAVE MPI_Send 4"}));
}

TEST(Capture, PartsAreTheWhole) {
  const test::SyntheticCapture what{20'000, 20, 3};
  const std::string bytes = what.bytes();
  Keeper whole;
  const auto counts = read_capture_bytes(bytes, "c", {}, whole);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->repeats + counts->lost + counts->rejected + counts->bad_batches + counts->undecodable,
            0u);
  std::map<std::uint32_t, std::vector<EventRecord>> joined;
  std::uint64_t records = 0, sent = 0;
  for (std::uint32_t part = 0; part < 3; ++part) {
    Keeper k;
    CaptureOptions options;
    options.part = part;
    options.parts = 3;
    ASSERT_TRUE(read_capture_bytes(bytes, "c", options, k));
    EXPECT_EQ(k.leaves, whole.leaves);
    for (const auto& [leaf, r] : k.records) {
      EXPECT_EQ(leaf % 3, part);
      joined[leaf] = r;
      records += r.size();
    }
  }
  for (const auto& [leaf, r] : whole.records) {
    ASSERT_EQ(joined[leaf].size(), r.size());
    EXPECT_EQ(std::memcmp(joined[leaf].data(), r.data(), r.size() * sizeof(EventRecord)), 0);
    for (const EventRecord& e : r) sent += e.kind != MARGAY_END ? 1 : 0;
  }
  EXPECT_EQ(sent, what.events);
  EXPECT_EQ(records, counts->records);
}

// What is found in place is what the generated parser finds, also in damaged messages.
TEST(Capture, PartsOfAMessageAreThoseOfTheParser) {
  const google::protobuf::LogSilencer silent;  // it complains of text that is no UTF-8
  std::mt19937_64 random(11);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    wire::ToCollector m = File::message();
    for (std::uint64_t i = 0; i < random() % 3; ++i) {
      auto& b = *m.add_batches();
      b.set_source(random());
      b.set_first(random() >> (random() % 64));
      b.set_count(static_cast<std::uint32_t>(random() >> 40));
      b.set_stream(static_cast<std::uint32_t>(random() % 3));
      b.set_epoch(static_cast<std::uint32_t>(random() % 3));
      b.set_covered_until_ns(static_cast<std::int64_t>(random()));
      b.set_open_state(static_cast<std::uint32_t>(random() % 5));
      b.set_columns(std::string(random() % 40, 'c'));
    }
    std::string bytes = m.SerializeAsString();
    for (std::uint64_t i = random() % 3; i > 0 && !bytes.empty(); --i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    wire::ToCollector parsed;
    internal::MessageView found;
    const bool good = parsed.ParseFromString(bytes);
    const bool mine = internal::find_parts_untrusted(bytes, found);
    // The parser also looks into text and parts that are not looked at here.
    if (good) {
      ASSERT_TRUE(mine) << "round " << round;
      ++accepted;
      EXPECT_EQ(found.version, parsed.version());
      EXPECT_EQ(found.run, parsed.run());
      ASSERT_EQ(found.batches.size(), static_cast<std::size_t>(parsed.batches_size()));
      for (std::size_t i = 0; i < found.batches.size(); ++i) {
        const auto& a = found.batches[i];
        const auto& b = parsed.batches(static_cast<int>(i));
        EXPECT_TRUE(a.source == b.source() && a.epoch == b.epoch() && a.stream == b.stream() &&
                    a.first == b.first() && a.count == b.count() &&
                    a.covered_until_ns == b.covered_until_ns() && a.open_state == b.open_state() &&
                    a.columns == b.columns())
            << "round " << round;
      }
    } else {
      ++refused;
    }
  }
  EXPECT_GT(accepted, 5000);
  EXPECT_GT(refused, 1000);
}

TEST(Capture, LooksLikeOne) {
  File f;
  f.hello(7, 0);
  EXPECT_TRUE(looks_like_capture(f.bytes));
  for (const char* text : {"4 3 2 7\n4 4 5 5  6 6  -1\n", "resource,slice,state,value\n/a/b,1,s,2\n", "",
                           "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"})
    EXPECT_FALSE(looks_like_capture(text)) << text;
}

}  // namespace capture_test
}  // namespace margay::trace
