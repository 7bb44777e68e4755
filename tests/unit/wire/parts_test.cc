#include "margay/wire/parts.h"

#include <gtest/gtest.h>

#include <random>

#include "margay/wire/ingest.pb.h"

namespace margay::wire {
namespace parts_test {

std::size_t parts_of(const std::string& bytes, std::size_t most = 1'000'000) {
  return count_parts_untrusted(bytes, *ToCollector::descriptor(), most);
}

TEST(Parts, OfAllDepthsAreCounted) {
  ToCollector m;
  EXPECT_EQ(parts_of(m.SerializeAsString()), 0u);
  m.set_run("a run whose name looks like nothing else");
  (*m.mutable_hello()->mutable_attributes())["host"] = "node7";  // an entry of a map is a message
  for (int i = 0; i < 3; ++i) m.mutable_hello()->add_names()->set_name("MPI_Send");
  for (int i = 0; i < 5; ++i) m.add_batches()->set_columns(std::string(1000, '\x0a'));
  auto* process = m.mutable_node()->add_processes();
  process->add_threads();
  process->add_takers();
  EXPECT_EQ(parts_of(m.SerializeAsString()), 1u + 1 + 3 + 5 + 1 + 1 + 2);
}

TEST(Parts, AreNotCountedBeyondWhatIsAskedFor) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += std::string("\x5a\x00", 2);  // an empty batch, field 11
  ToCollector m;
  ASSERT_TRUE(m.ParseFromString(bytes));
  ASSERT_EQ(m.batches_size(), 1000);
  EXPECT_EQ(parts_of(bytes), 1000u);
  EXPECT_EQ(parts_of(bytes, 10), 11u);
}

TEST(Parts, RandomBytesAreNoTrouble) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? 0x5a : random());
    EXPECT_LE(parts_of(bytes), bytes.size());
  }
}

}  // namespace parts_test
}  // namespace margay::wire
