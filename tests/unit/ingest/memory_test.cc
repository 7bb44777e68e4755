// No memory, at every place where some is asked for amid a message: the message pays, and nothing else. A
// program of its own, for it takes the place of operator new.
#include <cstdlib>
#include <new>

#include "rig.h"

namespace {

// Allocations of this program that still succeed; negative: all.
long g_left = -1;

void* take(std::size_t size) {
  if (g_left == 0) throw std::bad_alloc();
  if (g_left > 0) --g_left;
  if (void* const p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) {
  return take(size);
}
void* operator new[](std::size_t size) {
  return take(size);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete[](void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}

#if defined(__SANITIZE_ADDRESS__)
// Protobuf leaks what it was making when there is no memory.
extern "C" int __lsan_is_turned_off() {
  return 1;
}
#endif

namespace margay::ingest::test {
namespace {

// True if it went through without a lack of memory.
bool receive(Rig& rig, const wire::ToCollector& message, long allocations) {
  const std::string bytes = message.SerializeAsString(), agent = "agent";
  const std::uint64_t before = rig.ingest.counters().quarantined;
  g_left = allocations;
  rig.ingest.receive(bytes, agent, rig.now);
  g_left = -1;
  EXPECT_EQ(rig.ingest.trouble().empty(), rig.ingest.counters().quarantined == before);
  return rig.ingest.trouble().empty();
}

TEST(NoMemory, AMessageCostsItselfWhereverItRunsOut) {
  std::mt19937 random(4);
  FakeSource s;
  s.live(random, 400, at(10), milliseconds(10));
  const std::size_t half = s.records.size() / 2;
  // The hello; the first batch, which makes a stream and a leaf; one of the stream that is known; the
  // goodbye.
  for (int which = 0; which < 4; ++which) {
    bool through = false;
    for (long n = 0; !through; ++n) {
      ASSERT_LT(n, 100'000);
      SCOPED_TRACE("message " + std::to_string(which) + ", allocation " + std::to_string(n));
      Rig rig;
      rig.now = s.end() + milliseconds(10);
      through = receive(rig, s.hello(), which == 0 ? n : -1);
      if (which == 0 && !through) rig.receive(s.hello());
      const auto batch = [&](std::size_t first, std::size_t count, bool scarce) {
        const auto m = s.batch(first, count);
        if (!scarce) return rig.receive(m);
        through = receive(rig, m, n);
        if (!through) rig.receive(m);  // as an agent does that has no answer
      };
      if (which > 0) through = true;
      batch(0, half, which == 1);
      batch(half, s.records.size() - half, which == 2);
      if (which == 3) through = receive(rig, s.goodbye(s.end()), n);
      if (which != 3 || !through) rig.receive(s.goodbye(s.end()));
      const Account& a = rig.account();
      EXPECT_EQ(a.next, s.records.size());
      EXPECT_TRUE(a.balanced());
      EXPECT_EQ(a.modelled + a.late_dropped + a.rejected, s.records.size());
      EXPECT_TRUE(!through || a.rejected == 0) << a.rejected;
      EXPECT_TRUE(rig.ingest.all_ended());
      EXPECT_EQ(rig.ingest.leaves().size(), rig.slicer.leaf_count());
      EXPECT_EQ(rig.ingest.leaf_keepers().size(), rig.slicer.leaf_count());
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace margay::ingest::test
