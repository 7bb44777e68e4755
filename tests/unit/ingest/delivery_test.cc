// Whatever happens to messages on the way, the cells and the account come out the same.
#include <google/protobuf/stubs/logging.h>

#include "rig.h"

namespace margay::ingest::test {
namespace delivery_test {

// Protobuf writes a line for every text that is not UTF-8.
struct Quiet {
  google::protobuf::LogHandler* before = google::protobuf::SetLogHandler(nullptr);
  ~Quiet() { google::protobuf::SetLogHandler(before); }
};

// A lossy, repeating, reordering network between one source and the ingest; the source behaves: it re-sends
// from the last acknowledgement on.
void deliver(std::unique_ptr<Rig>& rig, FakeSource& s, std::mt19937& random, bool restarts) {
  std::uint64_t acked = 0, sent = 0;
  std::vector<wire::ToCollector> old;  // messages that may turn up once more
  std::unique_ptr<Rig> cut;
  std::uint64_t cut_next = 0;
  rig->receive(s.hello());
  for (int step = 0; acked < s.records.size() && step < 5000; ++step) {
    rig->now = TimeNs(s.records[std::min<std::size_t>(sent, s.records.size() - 1)].time_ns) + milliseconds(5);
    const unsigned what = random() % 16;
    if (what < 8) {
      const std::size_t count = std::min<std::size_t>(random() % 20, s.records.size() - sent);
      auto m = s.batch(sent, count);
      sent += count;
      if (random() % 5 == 0) continue;  // lost
      if (random() % 5 == 0) {          // late
        old.push_back(m);
        continue;
      }
      rig->receive(m);
      old.push_back(m);
    } else if (what < 11 && !old.empty()) {
      rig->receive(old[random() % old.size()]);  // repeated, out of order
    } else if (what == 11 && !old.empty()) {
      std::string bytes = old[random() % old.size()].SerializeAsString();
      bytes.resize(random() % bytes.size());
      rig->ingest.receive(bytes, "agent", rig->now);  // cut short
    } else if (what == 12) {
      rig->receive(s.hello());
    } else if (what == 13) {
      rig->slicer.close_through(rig->ingest.watermark(rig->now));
    } else if (what == 14) {
      // A cut; what it holds is acknowledged.
      if (rig->ingest.sources().at(SourceId(s.id)).streams.empty()) continue;
      cut = std::make_unique<Rig>(*rig, rig->now);
      cut_next = acked = rig->account(s.id).next;
    } else if (restarts && cut != nullptr && random() % 4 == 0) {
      rig = std::make_unique<Rig>(*cut, rig->now);  // kill -9: only what the cut held
      rig->receive(s.hello());
      acked = cut_next;
      sent = acked;
    } else {
      sent = acked;  // nothing was acknowledged for too long
    }
    if (rig->ingest.sources().contains(SourceId(s.id)) &&
        !rig->ingest.sources().at(SourceId(s.id)).streams.empty()) {
      EXPECT_TRUE(rig->account(s.id).balanced());
      EXPECT_EQ(rig->account(s.id).wire_lost, 0u);
    }
  }
  rig->receive(s.goodbye(s.end()));
}

TEST(Delivery, WithoutCommitsTheAgentIsToldWhatWasTaken) {
  std::mt19937 random(1);
  FakeSource s;
  s.live(random, 40, kRunBegin);
  Rig rig;
  rig.now = TimeNs(s.records.back().time_ns);
  rig.receive(s.hello());
  rig.receive(s.batch(0, 10));
  static_cast<void>(rig.ingest.take_replies(rig.now));
  const auto told = [&] {
    rig.now = rig.now + milliseconds(200);
    rig.ingest.tick(rig.now);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
    for (const auto& [agent, reply] : rig.ingest.take_replies(rig.now))
      for (const auto& ack : reply.acks()) out.emplace_back(ack.next(), ack.taken());
    return out;
  };
  using Told = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(told(), (Told{{0, 10}}));
  EXPECT_EQ(told(), Told{});   // nothing new
  rig.receive(s.batch(0, 5));  // a repeat: it had not heard
  EXPECT_EQ(told(), (Told{{0, 10}}));
  // A commit says both.
  const AckPoint point = rig.ingest.ack_point();
  rig.receive(s.batch(10, 5));
  rig.ingest.committed(point);
  EXPECT_EQ(told(), (Told{{10, 15}}));
}

TEST(Delivery, AnyRoadGivesTheSameCellsAndABalancedAccount) {
  for (const bool restarts : {false, true})
    for (unsigned seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " restarts " << restarts);
      std::mt19937 random(seed);
      FakeSource s;
      s.live(random, 300, kRunBegin);
      auto rig = std::make_unique<Rig>();
      deliver(rig, s, random, restarts);
      ASSERT_TRUE(rig->ingest.all_ended());
      const Account& a = rig->account();
      EXPECT_EQ(a.produced, s.records.size());
      EXPECT_EQ(a.modelled, s.records.size());
      EXPECT_TRUE(a.balanced());
      EXPECT_EQ(a.in_flight(), 0u);
      const TimeNs end = slice_end(slice_of(trace(s.end()), kSlice), kSlice);
      rig->slicer.close_through(end);
      EXPECT_EQ(rig->cells(LeafIndex(0), end),
                reference_cells(s.reference(*rig), trace(kRunBegin), end, kSlice));
      if (testing::Test::HasFailure()) return;
    }
}

TEST(Delivery, RandomBytesNeverCrashAndChangeNoAccount) {
  const Quiet quiet;
  std::mt19937 random(4711);
  FakeSource s;
  s.live(random, 50, kRunBegin);
  Rig rig;
  rig.now = s.end();
  rig.receive(s.hello());
  rig.receive(s.batch(0, 30));
  const Account before = rig.account();
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    rig.ingest.receive(bytes, "agent", rig.now);
  }
  EXPECT_EQ(rig.account(), before);
  EXPECT_EQ(rig.ingest.sources().size(), 1u);
}

// Valid messages with bytes changed: nothing to expect but that it stands, and stays within bounds.
// Told once, with the first records; a hello says nothing of it, nor does a batch that comes later.
TEST(Delivery, AThreadsNameIsKeptAcrossHellosAndRestarts) {
  FakeSource s;
  s.attributes = {{"host", "n1"}, {"pid", "100"}, {"program", "player"}, {"boot_id", "boot"}};
  s.add(MARGAY_ENTER, kSend, kRunBegin);
  s.add(MARGAY_LEAVE, kSend, kRunBegin + milliseconds(10));
  auto rig = std::make_unique<Rig>();
  rig->now = kRunBegin + milliseconds(20);
  rig->receive(s.hello());
  auto first = s.batch(0, 1);
  first.mutable_batches(0)->set_thread("queue0:src");
  rig->receive(first);
  EXPECT_EQ(rig->ingest.leaves()[0].at("thread"), "queue0:src");
  EXPECT_EQ(rig->ingest.leaves()[0].at("process"), "player:100");
  rig = std::make_unique<Rig>(*rig, rig->now);
  rig->receive(s.batch(1, 1));
  s.attributes["core"] = "3";
  rig->receive(s.hello());
  ASSERT_EQ(rig->ingest.leaves().size(), 1u);
  EXPECT_EQ(rig->ingest.leaves()[0].at("thread"), "queue0:src");
  EXPECT_EQ(rig->ingest.leaves()[0].at("core"), "3");
  auto renamed = s.batch(2, 0);
  renamed.mutable_batches(0)->set_thread(std::string(1000, 'x'));
  rig->receive(renamed);
  EXPECT_EQ(rig->ingest.leaves()[0].at("thread"), std::string(256, 'x'));
}

TEST(Delivery, ChangedBytesNeverCrash) {
  const Quiet quiet;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    FakeSource s;
    s.live(random, 40, kRunBegin);
    Rig rig;
    rig.now = s.end();
    wire::ToCollector sample = s.message();
    sample.mutable_node()->set_time_ns(rig.now.value);
    sample.mutable_node()->add_processes()->set_source(1);
    const std::string good[] = {s.hello().SerializeAsString(), s.batch(0, 20).SerializeAsString(),
                                s.batch(20, 20).SerializeAsString(), sample.SerializeAsString(),
                                s.goodbye(s.end()).SerializeAsString()};
    rig.receive(s.hello());
    for (int i = 0; i < 200; ++i) {
      std::string bytes = good[random() % std::size(good)];
      for (unsigned k = 0; k <= random() % 3; ++k)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      rig.ingest.receive(bytes, "agent", rig.now);
      rig.slicer.close_through(rig.ingest.watermark(rig.now));
      rig.now = rig.now + milliseconds(1);
    }
    EXPECT_LE(rig.ingest.sources().size(), 200u) << seed;
    EXPECT_EQ(rig.slicer.column(slice_of(trace(rig.now), kSlice) + 20), nullptr) << seed;
  }
}

}  // namespace delivery_test
}  // namespace margay::ingest::test
