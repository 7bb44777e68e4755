#include "margay/node/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace margay::node {
namespace outbox_test {

wire::Hello hello_of(std::uint64_t source) {
  wire::Hello h;
  h.set_source(source);
  h.set_epoch(1);
  return h;
}
wire::EventBatch batch_of(std::uint64_t source, std::uint64_t first, std::uint32_t count,
                          std::size_t bytes = 100) {
  wire::EventBatch b;
  b.set_source(source);
  b.set_epoch(1);
  b.set_first(first);
  b.set_count(count);
  b.mutable_columns()->assign(count == 0 ? 0 : bytes, 'x');
  return b;
}

struct OutboxTest : testing::Test {
  OutboxOptions options;
  std::unique_ptr<Outbox> box;
  std::vector<wire::ToCollector> sent;
  bool open = true;
  TimeNs now = TimeNs(1'000'000'000'000);
  std::uint64_t instance = 1;

  void SetUp() override { make(); }
  void make() { box = std::make_unique<Outbox>(options); }
  // A small box, full with batches of one record of source 5; how many.
  std::uint64_t fill() {
    options.memory_bytes = 10'000;
    options.window_bytes = 3'000;
    make();
    box->put_hello(hello_of(5));
    std::uint64_t batches = 0;
    while (box->has_room()) box->put_batch(batch_of(5, batches++, 1, 500));
    return batches;
  }
  void flush() {
    sent.clear();
    box->flush(now, [&](const wire::ToCollector& m) {
      if (open) sent.push_back(m);
      return open;
    });
  }
  // "H5" a hello, "5:0+3" a batch, "5:3~" a heartbeat, "G5" a goodbye, "N" a sample
  std::vector<std::string> said() const {
    std::vector<std::string> out;
    for (const auto& m : sent) {
      if (m.has_hello()) out.push_back("H" + std::to_string(m.hello().source()));
      for (const auto& b : m.batches())
        out.push_back(std::to_string(b.source()) + ":" + std::to_string(b.first()) +
                      (b.count() > 0 ? "+" + std::to_string(b.count()) : "~"));
      if (m.has_node()) out.push_back("N");
      if (m.has_goodbye()) out.push_back("G" + std::to_string(m.goodbye().source()));
    }
    return out;
  }
  wire::ToAgent reply() {
    wire::ToAgent r;
    r.set_instance(instance);
    return r;
  }
  void ack(std::uint64_t source, std::uint64_t next, bool goodbye = false, std::uint32_t epoch = 1) {
    wire::ToAgent r = reply();
    auto* a = r.add_acks();
    a->set_source(source);
    a->set_epoch(epoch);
    a->set_next(next);
    a->set_goodbye(goodbye);
    box->on_reply_untrusted(r, now);
  }
};

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(OutboxTest, HelloThenBatchesInOrderThenGoodbye) {
  box->put_hello(hello_of(5));
  box->put_batch(batch_of(5, 0, 3));
  box->put_batch(batch_of(5, 3, 2));
  wire::Goodbye g;
  g.set_source(5);
  g.set_epoch(1);
  box->put_goodbye(g);
  flush();
  EXPECT_THAT(said(), ElementsAre("H5", "5:0+3", "5:3+2", "G5"));
  flush();
  EXPECT_THAT(said(), IsEmpty());
  ack(5, 5, true);
  EXPECT_TRUE(box->goodbye_acked(5));
  EXPECT_EQ(box->bytes(), 0u);
  EXPECT_FALSE(box->outstanding());
}

TEST_F(OutboxTest, WhatBelongsToAnotherKeyIsTriedNowAndThenAndKeepsNobodyUp) {
  box->put_hello(hello_of(5));
  box->put_hello(hello_of(6));
  box->put_batch(batch_of(5, 0, 3));
  box->put_batch(batch_of(6, 0, 1));
  flush();
  wire::ToAgent r = reply();
  r.add_not_yours(5);
  r.add_not_yours(99);
  box->on_reply_untrusted(r, now);
  EXPECT_TRUE(box->not_ours(5));
  EXPECT_FALSE(box->not_ours(6));
  EXPECT_FALSE(box->not_ours(99));
  box->put_batch(batch_of(6, 1, 1));
  flush();
  EXPECT_THAT(said(), ElementsAre("6:1+1"));
  ack(6, 2);
  now = now + options.last_retry;
  flush();
  EXPECT_THAT(said(), ElementsAre("H5", "H6", "5:0+3"));
  ack(5, 3);  // its owner has put that right
  EXPECT_FALSE(box->not_ours(5));
}

TEST_F(OutboxTest, WithoutSourcesItKnocksOnceASecond) {
  int knocks = 0;
  const auto knock = [&] {
    box->knock(now, [&](const wire::ToCollector& m) {
      EXPECT_FALSE(m.has_hello() || m.batches_size() > 0);
      return ++knocks > 0;
    });
  };
  knock();
  knock();
  EXPECT_EQ(knocks, 1);
  now = now + seconds(1);
  knock();
  EXPECT_EQ(knocks, 2);
  now = now + seconds(1);
  box->put_hello(hello_of(5));
  knock();
  EXPECT_EQ(knocks, 2);
}

TEST_F(OutboxTest, AFullQueueLosesNothing) {
  box->put_hello(hello_of(5));
  box->put_batch(batch_of(5, 0, 3));
  box->put_heartbeat(batch_of(5, 3, 0));
  open = false;
  flush();
  open = true;
  flush();
  EXPECT_THAT(said(), ElementsAre("H5", "5:0+3", "5:3~"));
  EXPECT_EQ(sent[0].sequence(), 0u);  // what was not sent took no number
}

TEST_F(OutboxTest, OnlyTheNewestHeartbeatAndNeverAheadOfItsBatches) {
  options.window_bytes = 200;
  make();
  box->put_hello(hello_of(5));
  for (std::uint64_t i = 0; i < 4; ++i) box->put_batch(batch_of(5, i, 1));
  box->put_heartbeat(batch_of(5, 4, 0));
  flush();
  const auto first = said();
  EXPECT_LT(first.size(), 5u);
  EXPECT_THAT(first, testing::Not(testing::Contains("5:4~")));
  ack(5, 4);  // of the future as far as the last ones go: refused
  EXPECT_EQ(box->refused_acks(), 1u);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    ack(5, i);
    flush();
  }
  EXPECT_THAT(said(), testing::Not(testing::Contains("5:3+1")));
  EXPECT_EQ(box->bytes(), 0u);
}

TEST_F(OutboxTest, EverythingIsSentAgainToAnotherInstance) {
  box->put_hello(hello_of(5));
  box->put_batch(batch_of(5, 0, 3));
  box->put_batch(batch_of(5, 3, 2));
  flush();
  ack(5, 3);
  flush();
  EXPECT_THAT(said(), IsEmpty());
  instance = 2;
  box->on_reply_untrusted(reply(), now);
  flush();
  EXPECT_THAT(said(), ElementsAre("H5", "5:3+2"));
}

TEST_F(OutboxTest, NeedHelloSendsThatSourceAgain) {
  for (std::uint64_t s : {5, 6}) {
    box->put_hello(hello_of(s));
    box->put_batch(batch_of(s, 0, 3));
  }
  flush();
  auto r = reply();
  r.add_need_hello(6);
  r.add_need_hello(99);  // nobody
  box->on_reply_untrusted(r, now);
  flush();
  EXPECT_THAT(said(), IsEmpty());  // the hello is on its way
  now = now + milliseconds(150);
  box->on_reply_untrusted(r, now);
  flush();
  EXPECT_THAT(said(), ElementsAre("H6", "6:0+3"));
}

TEST_F(OutboxTest, SilenceSendsAgainWithDoublingPatience) {
  box->put_hello(hello_of(5));
  box->put_batch(batch_of(5, 0, 3));
  flush();
  std::vector<std::int64_t> after_ms;
  for (int ms = 100; ms <= 20'000; ms += 100) {
    now = now + milliseconds(100);
    flush();
    if (box->take_reconnect()) {
      flush();
      EXPECT_THAT(said(), ElementsAre("H5", "5:0+3"));
      after_ms.push_back(ms);
    }
  }
  EXPECT_THAT(after_ms, ElementsAre(1000, 3000, 7000, 12000, 17000));
}

TEST_F(OutboxTest, DuplicateOldAndForeignAcksChangeNothing) {
  box->put_hello(hello_of(5));
  box->put_batch(batch_of(5, 10, 3));
  box->put_batch(batch_of(5, 13, 2));
  flush();
  ack(5, 13);
  const std::size_t bytes = box->bytes();
  ack(5, 13);
  ack(5, 11);
  ack(5, 14);  // inside a batch: all of it stays
  EXPECT_EQ(box->bytes(), bytes);
  EXPECT_EQ(box->refused_acks(), 0u);
  ack(5, 16);            // never sent
  ack(5, 15, false, 2);  // another epoch
  ack(7, 15);            // another source
  EXPECT_EQ(box->bytes(), bytes);
  EXPECT_EQ(box->refused_acks(), 3u);
  ack(5, 15, true);  // no goodbye was sent
  EXPECT_FALSE(box->goodbye_acked(5));
  EXPECT_EQ(box->bytes(), 0u);
}

TEST_F(OutboxTest, MemoryAndWindowAreBounded) {
  fill();
  EXPECT_LT(box->bytes(), 11'000u);
  flush();
  std::size_t flown = 0;
  for (const auto& m : sent) flown += m.ByteSizeLong();
  EXPECT_LT(flown, 4'000u);
  flush();
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(OutboxTest, SourcesTakeTurnsAtTheWindow) {
  options.window_bytes = 2'000;
  make();
  std::map<std::uint64_t, std::uint64_t> next;
  for (const std::uint64_t source : {5u, 6u, 7u}) {
    box->put_hello(hello_of(source));
    for (std::uint64_t i = 0; i < 30; ++i) box->put_batch(batch_of(source, i, 1, 500));
  }
  // However much the first of them has, after three windows each has sent, after six each twice.
  std::map<std::uint64_t, int> windows;
  for (int i = 0; i < 6; ++i) {
    flush();
    std::set<std::uint64_t> seen;
    for (const auto& m : sent)
      for (const auto& b : m.batches()) {
        seen.insert(b.source());
        next[b.source()] = b.first() + 1;
      }
    for (const std::uint64_t source : seen) ++windows[source];
    for (const auto& [source, n] : next) ack(source, n);
    if (i == 2) {
      for (const std::uint64_t source : {5u, 6u, 7u}) EXPECT_GE(windows[source], 1) << source;
    }
  }
  for (const std::uint64_t source : {5u, 6u, 7u}) EXPECT_GE(windows[source], 2) << source;
}

TEST_F(OutboxTest, WhatIsTakenIsKeptButNoLongerUnderWay) {
  const std::uint64_t batches = fill();
  const std::size_t bytes = box->bytes();
  std::uint64_t sent_next = 0;
  const auto go_on = [&] {
    flush();
    for (const auto& m : sent)
      for (const auto& b : m.batches()) {
        EXPECT_EQ(b.first(), sent_next);  // nothing twice
        sent_next = b.first() + b.count();
      }
  };
  const auto taken = [&](std::uint64_t next) {
    auto r = reply();
    auto* a = r.add_acks();
    a->set_source(5);
    a->set_epoch(1);
    a->set_taken(next);
    box->on_reply_untrusted(r, now);
  };
  // Nothing is committed, for as long as you like: all of it goes out, and stays here.
  for (int i = 0; i < 20; ++i) {
    go_on();
    taken(sent_next);
    now = now + milliseconds(700);
  }
  EXPECT_EQ(sent_next, batches);
  EXPECT_EQ(box->bytes(), bytes);
  EXPECT_FALSE(box->has_room());
  now = now + seconds(100);  // no news: still nothing twice
  go_on();
  taken(batches + 1);  // never sent
  EXPECT_EQ(box->refused_acks(), 1u);
  // Another instance has taken nothing.
  instance = 2;
  sent_next = 0;
  box->on_reply_untrusted(reply(), now);
  go_on();
  EXPECT_GT(sent_next, 0u);
  EXPECT_LT(sent_next, batches);
  while (sent_next < batches) {
    taken(sent_next);
    go_on();
  }
  ack(5, batches);
  EXPECT_EQ(box->bytes(), 0u);
}

TEST_F(OutboxTest, RefusedIsSilentButForAKnock) {
  box->put_hello(hello_of(5));
  flush();
  auto r = reply();
  r.set_refused("wire version 1 is too old");
  box->on_reply_untrusted(r, now);
  box->put_batch(batch_of(5, 0, 3));
  flush();
  EXPECT_THAT(said(), IsEmpty());
  now = now + seconds(5);
  flush();
  EXPECT_THAT(said(), ElementsAre("H5"));
  instance = 2;
  box->on_reply_untrusted(reply(), now);
  flush();
  EXPECT_THAT(said(), ElementsAre("H5", "5:0+3"));
}

TEST_F(OutboxTest, SamplesAreKeptUpToABound) {
  for (int i = 0; i < 1000; ++i) box->put_sample(wire::NodeSample());
  flush();
  EXPECT_EQ(sent.size(), 64u);
}

TEST_F(OutboxTest, ForgettingGivesMemoryBack) {
  box->put_hello(hello_of(5));
  box->put_batch(batch_of(5, 0, 3));
  box->put_batch(batch_of(5, 3, 3));
  flush();
  box->forget(5);
  EXPECT_EQ(box->bytes(), 0u);
  EXPECT_FALSE(box->outstanding());
}

TEST_F(OutboxTest, AReadersAccountGoesOutWhenItChangesAndToAnotherCollector) {
  wire::ReaderAccount account;
  account.set_seen(7);
  account.set_used(7);
  const auto told = [&] {
    flush();
    std::vector<std::uint64_t> seen;
    for (const auto& m : sent)
      if (m.has_account()) seen.push_back(m.account().seen());
    return seen;
  };
  box->put_account(account);
  open = false;
  EXPECT_TRUE(told().empty());
  open = true;
  EXPECT_EQ(told(), std::vector<std::uint64_t>{7});
  box->put_account(account);
  EXPECT_TRUE(told().empty()) << "it is the same";
  account.set_seen(8);
  box->put_account(account);
  account.set_seen(9);
  box->put_account(account);
  EXPECT_EQ(told(), std::vector<std::uint64_t>{9}) << "the newest";
  box->on_reply_untrusted(reply(), now);
  EXPECT_TRUE(told().empty());
  ++instance;
  box->on_reply_untrusted(reply(), now);
  EXPECT_EQ(told(), std::vector<std::uint64_t>{9});
}

TEST_F(OutboxTest, TheNodesAccountGoesOutUntilItIsAcknowledged) {
  wire::NodeAccount account;
  account.set_node("n");
  account.add_unwatched()->set_processes(2);
  box->put_node_account(account);
  box->put_node_account(account);  // the same
  flush();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].node_account().number(), 1u);
  EXPECT_TRUE(box->outstanding());
  flush();
  EXPECT_TRUE(sent.empty());
  std::size_t again = 0;
  for (int i = 0; i < 4; ++i) {
    now = now + options.first_retry;
    flush();
    again += sent.size();
    static_cast<void>(box->take_reconnect());
  }
  EXPECT_GE(again, 1u) << "nobody has said that it came";
  account.mutable_unwatched(0)->set_processes(3);
  box->put_node_account(account);
  wire::ToAgent reply;
  reply.set_instance(instance);
  reply.set_node_account(1);
  box->on_reply_untrusted(reply, now);
  EXPECT_TRUE(box->node_account_waits()) << "that was the one before";
  reply.set_node_account(2);
  box->on_reply_untrusted(reply, now);
  EXPECT_FALSE(box->node_account_waits());
  EXPECT_FALSE(box->outstanding());
  reply.set_instance(instance + 1);
  reply.set_node_account(0);
  box->on_reply_untrusted(reply, now);
  flush();
  ASSERT_EQ(sent.size(), 1u) << "to another collector";
  EXPECT_EQ(sent[0].node_account().number(), 2u);
}

}  // namespace outbox_test
}  // namespace margay::node
