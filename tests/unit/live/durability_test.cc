// What an archive says of acknowledged records that were not on the disk, to the daemon after a loss of
// power.
#include "margay/live/durability.h"

#include <gtest/gtest.h>

namespace margay::daemon {
namespace durability_test {

// The archive's blobs after `note` was committed.
void commit(store::Resume& archive, const std::optional<store::Blob>& note) {
  if (!note) return;
  std::erase_if(archive.state, [&](const store::Blob& b) { return b.name == note->name; });
  if (!note->bytes.empty()) archive.state.push_back(*note);
}

TEST(Durability, WithSyncNothingIsNotedAndNothingIsMissing) {
  store::Resume archive;
  for (const char* boot : {"a", "a", "b"}) {
    const Durability d(true, boot, archive);
    EXPECT_EQ(d.losses(), 0u);
    EXPECT_FALSE(d.said());
    commit(archive, d.first());
    EXPECT_TRUE(archive.state.empty());
    EXPECT_FALSE(d.last());
  }
}

TEST(Durability, ALossOfPowerWithoutSyncIsSaidOnceAndCountedForEver) {
  store::Resume archive;
  commit(archive, Durability(false, "a", archive).first());
  {
    const Durability d(false, "a", archive);  // killed, and started again: nothing is missing
    EXPECT_EQ(d.losses(), 0u);
    EXPECT_FALSE(d.said());
    EXPECT_FALSE(d.first()) << "the archive says so already";
  }
  archive.sequence = 17;
  {
    const Durability d(false, "b", archive);
    EXPECT_EQ(d.losses(), 1u);
    ASSERT_TRUE(d.said());
    EXPECT_NE(d.said()->find("cut 17 is the last one left"), std::string::npos) << *d.said();
    commit(archive, d.first());
  }
  {
    const Durability d(true, "c", archive);  // again, and from now on with sync
    EXPECT_EQ(d.losses(), 2u);
    EXPECT_TRUE(d.said());
    commit(archive, d.first());
  }
  const Durability d(true, "d", archive);
  EXPECT_EQ(d.losses(), 2u);
  EXPECT_FALSE(d.said());
}

TEST(Durability, AnEndInOrderLeavesNothingOutstanding) {
  store::Resume archive;
  const Durability first(false, "a", archive);
  commit(archive, first.first());
  commit(archive, first.last());
  const Durability d(false, "b", archive);
  EXPECT_EQ(d.losses(), 0u);
  EXPECT_FALSE(d.said());
}

}  // namespace durability_test
}  // namespace margay::daemon
