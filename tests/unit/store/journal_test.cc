// The journal: what the analysis was shown comes back as it was shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <fstream>

#include "margay/store/archive.h"
#include "record_codec.h"
#include "store_support.h"

namespace margay::store {
namespace journal_test {

using test::TemporaryFolder;
using testing::expect_ok;
using testing::must;
using Kind = JournalEntry::Kind;

constexpr std::uint64_t kSeed = 20261121;

JournalEntry shown(Kind kind, std::uint64_t sequence, std::int64_t slice, std::int64_t newest) {
  JournalEntry e;
  e.kind = kind;
  e.sequence = sequence;
  e.slice = SliceIndex(slice);
  e.at = SliceIndex(newest);
  e.watermark = TimeNs((newest + 1) * 100'000'000 + 17);
  e.region = slice % 2 == 0 ? "solve" : "";
  return e;
}
std::vector<JournalEntry> some_entries() {
  JournalEntry start;
  start.kind = Kind::kStart;
  start.sequence = 1;
  start.at = SliceIndex(-3);
  start.slice = SliceIndex(-2);
  start.whole = true;
  start.settings = {{"p", "0.1"}, {"window.slices", "256"}};
  JournalEntry topology;
  topology.kind = Kind::kTopology;
  topology.sequence = 2;
  topology.at = SliceIndex(-3);
  topology.states = 5;
  topology.leaves = 2;
  topology.changed = {{LeafIndex(0), {{"host", "node7"}, {"rank", "0"}}}, {LeafIndex(1), {{"rank", "1"}}}};
  JournalEntry end;
  end.kind = Kind::kEnd;
  end.sequence = 6;
  end.at = SliceIndex(8);
  end.watermark = TimeNs(901);
  end.time = TimeNs(900);
  return {start,
          topology,
          shown(Kind::kClosed, 3, 7, 7),
          shown(Kind::kClosed, 4, 8, 8),
          shown(Kind::kAmended, 5, 7, 8),
          end};
}
std::vector<JournalEntry> read(const Archive& archive, std::int64_t from = -1000) {
  std::vector<JournalEntry> out;
  expect_ok(archive.read_journal(SliceIndex(from), 0, [&](JournalEntry&& e) {
    out.push_back(std::move(e));
    return true;
  }));
  return out;
}

TEST(Journal, EntriesComeBackInOrderAndNoPartOfOneDecodes) {
  const TemporaryFolder dir;
  const std::vector<JournalEntry> entries = some_entries();
  {
    const auto archive = must(Archive::create(dir / "a", testing::example_run()));
    Cut cut;
    cut.sequence = 1;
    cut.journal = entries;
    expect_ok(archive->commit(cut, true));
  }
  const auto archive = must(Archive::open(dir / "a", Mode::kReadOnly));
  EXPECT_EQ(read(*archive), entries);
  EXPECT_EQ(read(*archive, 8), (std::vector{entries[3], entries[4], entries[5]}));
  for (const JournalEntry& e : entries) {
    const std::string bytes = encode(e);
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      JournalEntry part;
      EXPECT_FALSE(decode_untrusted(bytes.substr(0, n), part));
    }
    JournalEntry more;
    EXPECT_FALSE(decode_untrusted(bytes + '\0', more));
  }
}

TEST(Journal, SliceComesBackAsItWasShownHoweverOftenItChanged) {
  const TemporaryFolder dir;
  std::mt19937_64 random(kSeed);
  const auto archive = must(Archive::create(dir / "a", testing::example_run()));
  // More than one chunk, and fewer leaves later than before.
  const auto version = [&](std::uint32_t leaves) {
    return testing::random_column(random, LevelIndex(0), SliceIndex(7), leaves, 5, milliseconds(100));
  };
  const auto first = version(2500), second = version(3000), third = version(700), unseen = version(4);
  Cut cut;
  cut.sequence = 1;
  cut.columns = {first};
  expect_ok(archive->commit(cut, false));
  EXPECT_EQ(*archive->read_shown(SliceIndex(7), 3), *first);
  EXPECT_EQ(*archive->is_superseded(SliceIndex(7), 3), false);

  cut.sequence = 2;
  cut.columns = {second};
  cut.superseded = {{SliceIndex(7), 3}};
  expect_ok(archive->commit(cut, false));
  expect_ok(archive->commit(cut, false));  // as after an error: the cut was there already
  EXPECT_EQ(*archive->read_shown(SliceIndex(7), 3), *first);
  EXPECT_EQ(*archive->is_superseded(SliceIndex(7), 3), true);
  EXPECT_EQ(*archive->read_shown(SliceIndex(7), 4), *second);

  // Changed before it was ever committed as shown.
  cut.sequence = 3;
  cut.columns = {unseen};
  cut.superseded = {{SliceIndex(7), 4}};
  cut.kept = {{5, third}};
  expect_ok(archive->commit(cut, false));
  EXPECT_EQ(*archive->read_shown(SliceIndex(7), 3), *first);
  EXPECT_EQ(*archive->read_shown(SliceIndex(7), 4), *second);
  EXPECT_EQ(*archive->read_shown(SliceIndex(7), 5), *third);
  EXPECT_EQ(archive->read_columns(LevelIndex(0), SliceIndex(7), SliceIndex(7))->at(0), *unseen);
  EXPECT_EQ(*archive->read_shown(SliceIndex(8), 9), std::nullopt);

  expect_ok(archive->drop_columns_before(LevelIndex(0), SliceIndex(8)));
  EXPECT_EQ(*archive->read_shown(SliceIndex(7), 3), std::nullopt) << "goes with the slices";
}

TEST(Journal, GoesWithTheSlicesThatItTellsOf) {
  const TemporaryFolder dir;
  const auto archive = must(Archive::create(dir / "a", testing::example_run()));
  Cut cut;
  cut.sequence = 1;
  cut.journal = some_entries();
  expect_ok(archive->commit(cut, false));
  expect_ok(archive->drop_columns_before(LevelIndex(1), SliceIndex(1000)));
  EXPECT_EQ(read(*archive).size(), 6u);
  expect_ok(archive->drop_columns_before(LevelIndex(0), SliceIndex(8)));
  EXPECT_EQ(read(*archive), (std::vector{cut.journal[3], cut.journal[4], cut.journal[5]}));
}

TEST(Journal, HostileEntryIsRefusedBeforeMemoryIsTaken) {
  JournalEntry e = some_entries()[1];
  std::string bytes = encode(e);
  // A count of changed leaves that the bytes cannot hold.
  const std::string claims = bytes.substr(0, 4) + std::string("\xff\xff\x3f", 3);
  EXPECT_FALSE(decode_untrusted(claims, e));
  bytes[1] = 9;  // no such kind
  EXPECT_FALSE(decode_untrusted(bytes, e));
}

// An archive of format 1 has no such family.
TEST(Journal, OlderFormatIsReadAndGetsAJournalWhenItIsWritten) {
  const TemporaryFolder dir;
  const std::string path = dir / "a";
  std::mt19937_64 random(kSeed);
  const auto column = testing::random_column(random, LevelIndex(0), SliceIndex(7), 3, 5, milliseconds(100));
  Cut cut;
  cut.sequence = 1;
  cut.columns = {column};
  expect_ok(must(Archive::create(path, testing::example_run()))->commit(cut, true));
  {
    std::vector<std::string> names;
    ASSERT_TRUE(rocksdb::DB::ListColumnFamilies({}, path + "/db", &names).ok());
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const auto& n : names) families.emplace_back(n, rocksdb::ColumnFamilyOptions());
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, path + "/db", families, &handles, &db).ok());
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == "journal") {
        ASSERT_TRUE(db->DropColumnFamily(handles[i]).ok());
      }
      db->DestroyColumnFamilyHandle(handles[i]);
    }
    delete db;
    std::ofstream(path + "/MARGAY") << "Margay archive, format 1\n";
  }
  const auto format = [&] {
    std::string line;
    std::ifstream in(path + "/MARGAY");
    std::getline(in, line);
    return line;
  };
  {
    const auto archive = must(Archive::open(path, Mode::kReadOnly));
    EXPECT_THAT(read(*archive), ::testing::IsEmpty());
    EXPECT_EQ(*archive->read_shown(SliceIndex(7), 1), *column);
    EXPECT_EQ(*archive->is_superseded(SliceIndex(7), 1), false);
    EXPECT_EQ(format(), "Margay archive, format 1") << "reading changes nothing";
  }
  {
    const auto archive = must(Archive::open(path, Mode::kWrite));
    EXPECT_EQ(format(), "Margay archive, format 3");
    cut.sequence = 2;
    cut.journal = some_entries();
    expect_ok(archive->commit(cut, true));
  }
  EXPECT_EQ(read(*must(Archive::open(path, Mode::kReadOnly))), some_entries());
}

}  // namespace journal_test
}  // namespace margay::store
