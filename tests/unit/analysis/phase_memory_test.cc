#include "margay/analysis/phase_memory.h"

#include <gtest/gtest.h>

#include <random>

namespace margay::daemon {
namespace phase_memory_test {

detect::KnownPhase example() {
  detect::KnownPhase k;
  k.name = "AB";
  k.born = SliceIndex(17'000'000'123);
  k.states = {StateId(2), StateId(5), StateId(3)};
  k.signature = detect::Distribution(3, {0.5, 0.25, 0.25, 7, 0, 1}, {1, 8}, 8, {40, 0, 60});
  return k;
}

TEST(PhaseMemory, ASignatureComesBack) {
  const auto blob = to_blob(example());
  ASSERT_TRUE(blob);
  EXPECT_EQ(blob->name, "phase/AB");
  const auto back = from_blob_untrusted(*blob);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->name, "AB");
  EXPECT_EQ(back->born, example().born);
  EXPECT_EQ(back->states, example().states);
  EXPECT_EQ(back->signature.slices(), 8);
  EXPECT_EQ(detect::distance_bits(back->signature, example().signature), 0);
  EXPECT_EQ(std::vector<double>(back->signature.visits().begin(), back->signature.visits().end()),
            (std::vector<double>{40, 0, 60}));
  EXPECT_EQ(to_blob(*back)->bytes, blob->bytes);
}

TEST(PhaseMemory, ASignatureWithoutVisitsIsReadAsWell) {
  store::Blob old = *to_blob(example());
  old.bytes[0] = 1;
  old.bytes.resize(old.bytes.size() - 3 * sizeof(float));
  const auto back = from_blob_untrusted(old);
  ASSERT_TRUE(back);
  EXPECT_EQ(detect::distance_bits(back->signature, example().signature), 0);
  EXPECT_EQ(std::vector<double>(back->signature.visits().begin(), back->signature.visits().end()),
            std::vector<double>(3, 0.0));
}

// Only how they divide matters, and many are as many as a float can tell.
TEST(PhaseMemory, OfManyVisitsTheirSharesAreKept) {
  detect::KnownPhase k = example();
  k.signature = detect::Distribution(3, {0.5, 0.25, 0.25, 7, 0, 1}, {1, 8}, 8, {4e12, 0, 6e12});
  const auto back = from_blob_untrusted(*to_blob(k));
  ASSERT_TRUE(back);
  EXPECT_TRUE(detect::same_visits(back->signature, k.signature));
}

TEST(PhaseMemory, WhatDoesNotReadIsLeftOut) {
  const store::Blob good = *to_blob(example());
  for (std::size_t n = 0; n < good.bytes.size(); ++n)
    EXPECT_FALSE(from_blob_untrusted({good.name, good.bytes.substr(0, n)})) << n;
  EXPECT_FALSE(from_blob_untrusted({good.name, good.bytes + "x"}));
  EXPECT_FALSE(from_blob_untrusted({"other/A", good.bytes}));
  EXPECT_FALSE(from_blob_untrusted({"phase/" + std::string(100, 'A'), good.bytes}));
  std::mt19937 random(4711);
  for (int i = 0; i < 20'000; ++i) {
    store::Blob b = good;
    for (std::size_t k = 1 + random() % 4; k > 0; --k)
      b.bytes[random() % b.bytes.size()] = static_cast<char>(random());
    if (const auto k = from_blob_untrusted(b)) {
      for (const double v : k->signature.sums()) ASSERT_TRUE(v >= 0 && v <= 1e9);
      ASSERT_EQ(k->signature.sums().size(), k->states.size() * k->signature.leaves());
    }
  }
  detect::KnownPhase large = example();
  large.signature =
      detect::Distribution(3, std::vector<double>(3 * 100'000, 0.1), std::vector<double>(100'000, 1.0), 4);
  EXPECT_FALSE(to_blob(large)) << "beyond the bound";
}

TEST(PhaseMemory, OnlyWhatWasKnownBeforeIsTold) {
  store::Resume resume;
  resume.run.levels = {milliseconds(100)};
  for (const char* name : {"MPI_Send", "MPI_Recv", "MPI_Wait"})
    ASSERT_TRUE(resume.states.intern(name, model::StateFamily::kPointToPoint));
  detect::KnownPhase k = example();
  for (const auto& [name, born] : {std::pair("A", 900), std::pair("B", 1'100)}) {
    k.name = name;
    k.born = SliceIndex(born);
    resume.signatures.push_back(*to_blob(k));
  }
  k.name = "C";
  k.born = SliceIndex(10);
  k.states[1] = StateId(600);  // no such state
  resume.signatures.push_back(*to_blob(k));
  const auto at = [](std::int64_t slice) { return slice_begin(SliceIndex(slice), milliseconds(100)); };
  resume.phases = {{0, "A", "", at(0), at(800), 1, false},
                   {1, "B", "", at(800), at(1'000), 1, false},
                   {2, "A", "", at(1'000), at(1'200), 2, false},
                   {3, "B", "", at(1'200), at(1'300), 2, true}};
  const auto memory = phase_memory(resume, SliceIndex(1'000));
  ASSERT_EQ(memory.phases.size(), 1u);
  EXPECT_EQ(memory.phases[0].name, "A");
  ASSERT_EQ(memory.before.size(), 2u);
  EXPECT_EQ(memory.before[1].name, "B");
}

TEST(PhaseMemory, CoarserLevelsAreRememberedToo) {
  store::Resume resume;
  resume.run.levels = {milliseconds(100), seconds(10)};
  for (const char* name : {"MPI_Send", "MPI_Recv", "MPI_Wait"})
    ASSERT_TRUE(resume.states.intern(name, model::StateFamily::kPointToPoint));
  detect::KnownPhase k = example();
  k.name = "1500ms:ABC";
  k.born = SliceIndex(900);
  resume.signatures.push_back(*to_blob(k));
  const auto at = [](std::int64_t slice) { return slice_begin(SliceIndex(slice), milliseconds(100)); };
  resume.phases = {{0, "A", "", at(0), at(800), 1, false}};
  resume.coarser_phases = {{0, "10s:A", "", at(0), at(700), 1, false, LevelIndex(1)},
                           {1, "10s:B", "", at(700), at(1'100), 1, false, LevelIndex(1)}};
  const auto memory = phase_memory(resume, SliceIndex(1'000));
  ASSERT_EQ(memory.phases.size(), 1u);
  EXPECT_EQ(memory.phases[0].name, "1500ms:ABC");
  ASSERT_EQ(memory.before.size(), 2u);
  EXPECT_EQ(memory.before[1].name, "10s:A");
}

}  // namespace phase_memory_test
}  // namespace margay::daemon
