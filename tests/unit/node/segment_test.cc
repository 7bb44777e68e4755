// Segments that are half made, cut short or hostile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "fake_segment.h"
#include "margay/node/segment_reader.h"

namespace margay::node {
namespace segment_test {

struct SegmentTest : testing::Test {
  ScratchDirectory dir;
  FakeSegment segment{dir.rings(), 4321, 777};
  ErrorCode code() {
    const auto r = SegmentReader::open_untrusted(segment.path);
    EXPECT_FALSE(r);
    return r ? ErrorCode::kInternal : r.error().code;
  }
};

TEST_F(SegmentTest, WhatTheProbeWroteIsRead) {
  auto r = SegmentReader::open_untrusted(segment.path);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->identity().pid, 4321);
  EXPECT_EQ(r->identity().host, "node7");
  EXPECT_EQ(r->identity().environment.at("SLURM_JOB_ID"), "4711");
  EXPECT_EQ(r->rank(), 3);
  ASSERT_EQ(r->names().size(), 2u);
  EXPECT_EQ(r->names()[1].name, "MPI_Send");
  EXPECT_FALSE(r->ring_used(0));
  (void)segment.writer(0);
  EXPECT_TRUE(r->ring_used(0));
  EXPECT_EQ(r->next_epoch(), 1u);
  EXPECT_EQ(SegmentReader::open_untrusted(segment.path)->next_epoch(), 2u);
  const auto again = SegmentReader::open_untrusted(segment.path);
  EXPECT_EQ(r->source_id(), again->source_id());
}

TEST_F(SegmentTest, HalfMadeIsTriedAgain) {
  segment.header->magic = 0;
  EXPECT_EQ(code(), ErrorCode::kUnavailable);
  std::filesystem::resize_file(segment.path, 0);
  EXPECT_EQ(code(), ErrorCode::kUnavailable);
}

TEST_F(SegmentTest, EveryWrongFieldIsRefused) {
  segment.header->magic = probe::kMagic + 1;
  EXPECT_EQ(code(), ErrorCode::kCorrupt);
  segment.header->magic = probe::kMagic;
  segment.header->layout = 99;
  EXPECT_EQ(code(), ErrorCode::kVersion);
  segment.header->layout = probe::kLayoutVersion;
  segment.header->pid = -1;
  EXPECT_EQ(code(), ErrorCode::kCorrupt);
  segment.header->pid = 4321;
  segment.header->rings[7].control.capacity *= 2;
  EXPECT_EQ(code(), ErrorCode::kCorrupt);
  for (const std::uint64_t none : {0, 32, 100, 16383}) {
    segment.header->rings[7].control.capacity = none;
    EXPECT_EQ(code(), ErrorCode::kCorrupt) << none;
  }
  segment.header->rings[7].control.capacity = 64;  // a smaller one is a ring
  EXPECT_TRUE(SegmentReader::open_untrusted(segment.path));
  segment.header->rings[7].control.capacity = probe::ring_capacity(7);
  segment.header->rings[0].control.offset = ~std::uint64_t{0};
  EXPECT_EQ(code(), ErrorCode::kCorrupt);
}

TEST_F(SegmentTest, EveryLengthButTheRightOneIsRefused) {
  for (const std::uintmax_t size :
       {std::uintmax_t{1}, std::uintmax_t{4096}, std::uintmax_t{probe::kRingsBegin},
        std::uintmax_t{probe::kFileBytes - 1}}) {
    std::filesystem::resize_file(segment.path, size);
    EXPECT_EQ(code(), ErrorCode::kCorrupt) << size;
  }
  std::filesystem::resize_file(segment.path, probe::kFileBytes + 1);
  EXPECT_EQ(code(), ErrorCode::kCorrupt);
}

TEST_F(SegmentTest, CutShortWhileOpenIsNoticed) {
  auto r = SegmentReader::open_untrusted(segment.path);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->intact());
  std::filesystem::resize_file(segment.path, 100);
  EXPECT_FALSE(r->ring_used(0)) << "what is not there reads as zeros";
  EXPECT_FALSE(r->intact());
}

TEST_F(SegmentTest, CutShortAndMadeLongAgainIsNoticed) {
  auto r = SegmentReader::open_untrusted(segment.path);
  ASSERT_TRUE(r);
  std::filesystem::resize_file(segment.path, 0);
  std::filesystem::resize_file(segment.path, probe::kFileBytes);
  EXPECT_FALSE(r->intact());
}

// Whatever is done with it then: reading records and names, writing what the reader writes.
TEST_F(SegmentTest, CutShortBetweenTwoAccessesItEndsNobody) {
  for (const std::uint64_t left : {std::uint64_t{0}, std::uint64_t{4096}, probe::kRingsBegin}) {
    ScratchDirectory other;
    FakeSegment cut(other.rings(), 4321, 778);
    auto w = cut.writer(0);
    for (int i = 0; i < 3000; ++i) w.write(record_of(MARGAY_ENTER, 1), nullptr, 0, [&] { return i; });
    auto r = SegmentReader::open_untrusted(cut.path);
    ASSERT_TRUE(r) << r.error().message;
    const auto look = r->ring(0).look(TimeNs(5000));
    ASSERT_TRUE(look);
    std::filesystem::resize_file(cut.path, left);
    std::vector<EventRecord> out;
    (void)r->ring(0).take(*look, 5000, out);
    EXPECT_EQ(out.size(), 3000u);
    EXPECT_FALSE(r->intact()) << left;
    r->tell_slices(milliseconds(1), TimeNs(1));
    r->ring(0).sum(true);
    (void)r->next_epoch();
    (void)r->names();
    (void)r->ring(0).open_state();
    EXPECT_FALSE(r->intact());
  }
}

// A fault elsewhere is nobody else's than before.
TEST(GuardedMappingDeathTest, AnotherFaultEndsTheProcess) {
  ScratchDirectory dir;
  FakeSegment segment(dir.rings(), 1, 1);
  auto r = SegmentReader::open_untrusted(segment.path);
  ASSERT_TRUE(r);
  std::filesystem::resize_file(segment.path, 0);
  // Whose the fault was before.
#if defined(__SANITIZE_ADDRESS__)
  const testing::ExitedWithCode ends(1);
#elif defined(__SANITIZE_THREAD__)
  const testing::ExitedWithCode ends(66);
#else
  const testing::KilledBySignal ends(SIGBUS);
#endif
  EXPECT_EXIT(static_cast<void>(segment.header->magic.load()), ends, "");
}

TEST(GuardedMapping, PlacesAreUsedAgain) {
  ScratchDirectory dir;
  FakeSegment segment(dir.rings(), 1, 1);
  for (std::size_t i = 0; i < 2 * kMostMappings; ++i) {
    ASSERT_TRUE(SegmentReader::open_untrusted(segment.path));
  }
}

// A thread of the process writes nonsense while its segment is opened and read.
TEST_F(SegmentTest, WhatChangesWhileItIsReadIsReadOnce) {
  const std::uint64_t seed = 78;
  SCOPED_TRACE("seed " + std::to_string(seed));
  (void)segment.writer(0);
  std::atomic<bool> over{false};
  std::thread spoiler([&] {
    std::mt19937_64 rng(seed);
    const auto flip = [&](auto& at, auto good, auto bad) {
      using T = std::remove_reference_t<decltype(at)>;
      __atomic_store_n(&at, rng() % 2 == 0 ? static_cast<T>(good) : static_cast<T>(bad), __ATOMIC_RELAXED);
    };
    while (!over.load(std::memory_order_relaxed)) {
      flip(segment.header->pid, 4321, -1);
      flip(segment.header->rings[0].control.capacity, 64, std::uint64_t{1} << 40);
      segment.header->names_used = rng() % 2 == 0 ? 2 : 0xffff'ffff;
      probe::RingControl& c = segment.header->rings[0].control;
      c.head = rng() % 2 == 0 ? 64 : ~std::uint64_t{0};
      probe::SumTable& sums = segment.header->rings[0].sums;
      sums.entries = static_cast<std::uint16_t>(rng());
      sums.depth = static_cast<std::uint16_t>(rng());
      sums.held = static_cast<std::uint32_t>(rng() % 2);
    }
  });
  int opened = 0;
  for (int round = 0; round < 6'000; ++round) {
    auto r = SegmentReader::open_untrusted(segment.path);
    if (!r) continue;
    ++opened;
    ASSERT_EQ(r->identity().pid, 4321);
    ASSERT_LE(r->identity().command.size(), sizeof segment.header->command);
    ASSERT_LE(r->ring(0).capacity(), probe::ring_capacity(0));
    ASSERT_LE(r->names().size(), probe::kNames);
    std::vector<EventRecord> out;
    if (auto look = r->ring(0).look(TimeNs(1'000'000))) {
      ASSERT_LE(r->ring(0).take(*look, 5000, out), r->ring(0).capacity());
      out.clear();
      if (look->holds) {
        ASSERT_LE(r->ring(0).take_sums(*look, true, out), probe::kMostPieceRecords);
      }
      (void)r->ring(0).open_state();
    }
  }
  over = true;
  spoiler.join();
  EXPECT_GT(opened, 0);
}

TEST_F(SegmentTest, WhatWasDroppedIsUntoldOnlyBehindTheLastRecord) {
  segment.header->rings[0].control.capacity = 64;
  auto w = segment.writer(0);
  std::int64_t time = 0;
  const auto write = [&](int n) {
    for (int i = 0; i < n; ++i) w.write(record_of(MARGAY_ENTER, 1), nullptr, 0, [&] { return ++time; });
  };
  auto r = SegmentReader::open_untrusted(segment.path);
  ASSERT_TRUE(r);
  RingReader& ring = r->ring(0);
  write(64 + 8);
  std::vector<EventRecord> out;
  const auto look = ring.look(TimeNs(1000));
  ASSERT_TRUE(look);
  EXPECT_EQ(ring.untold(*look), 0u) << "there are records to be taken";
  ring.take(*look, 64, out);
  EXPECT_EQ(ring.untold(*look), 8u);
  // While the reader was kept from looking on, the ring was filled anew, and more was dropped.
  write(70);
  auto torn = *look;
  torn.lost = segment.header->rings[0].control.lost;
  EXPECT_EQ(torn.lost, 8u);
  EXPECT_EQ(ring.untold(torn), 0u);
}

TEST_F(SegmentTest, LinksAndDirectoriesAreRefused) {
  std::filesystem::create_symlink(segment.path, dir.rings() + "/p1-1");
  EXPECT_FALSE(SegmentReader::open_untrusted(dir.rings() + "/p1-1"));
  std::filesystem::create_directory(dir.rings() + "/p2-1");
  EXPECT_FALSE(SegmentReader::open_untrusted(dir.rings() + "/p2-1"));
  EXPECT_EQ(SegmentReader::open_untrusted(dir.rings() + "/p3-1").error().code, ErrorCode::kNotFound);
}

TEST_F(SegmentTest, TextIsBoundedAndValid) {
  std::memset(segment.header->host, 'h', sizeof(segment.header->host));  // no end
  std::strcpy(segment.header->command, "caf\xc3\xa9 \xff\xfe\x01 \xed\xa0\x80 \xc0\xaf");
  std::memset(segment.header->names, 0xff, sizeof(segment.header->names));
  segment.header->names_used = 0xffffffff;
  segment.header->rank = -77;
  const auto r = SegmentReader::open_untrusted(segment.path);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->identity().host, std::string(64, 'h'));
  EXPECT_EQ(r->identity().command, "caf\xc3\xa9 ??? ??? ??");
  EXPECT_EQ(r->names().size(), probe::kNames);
  EXPECT_EQ(r->names()[5].name, std::string(48, '?'));
  EXPECT_EQ(r->rank(), -1);
}

TEST_F(SegmentTest, RandomBytesNeverCrash) {
  const std::uint64_t seed = 77;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  auto* bytes = reinterpret_cast<unsigned char*>(segment.header);
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 200; ++i) {
      // The start is kept every other time, so that what lies behind the checks is reached.
      const std::size_t low = round % 2 == 0 ? 48 : 0;
      bytes[low + rng() % (sizeof(probe::SegmentHeader) - low)] = static_cast<unsigned char>(rng());
    }
    auto r = SegmentReader::open_untrusted(segment.path);
    if (r) {
      (void)r->names();
      for (std::uint32_t ring = 0; ring < probe::kRings; ++ring) {
        (void)r->ring_used(ring);
        std::vector<EventRecord> out;
        const auto look = r->ring(ring).look(TimeNs(5));
        if (look) r->ring(ring).take(*look, 5000, out);
        if (look) (void)r->ring(ring).covered_until(*look);
      }
    }
    segment.header->magic = probe::kMagic;
    segment.header->layout = probe::kLayoutVersion;
    segment.header->header_bytes = sizeof(probe::SegmentHeader);
    segment.header->file_bytes = probe::kFileBytes;
    segment.header->pid = 4321;
    for (std::uint32_t k = 0; k < probe::kRings; ++k) {
      segment.header->rings[k].control.offset = probe::ring_offset(k);
      segment.header->rings[k].control.capacity = probe::ring_capacity(k);
    }
  }
}

}  // namespace segment_test
}  // namespace margay::node
