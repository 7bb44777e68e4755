// Messages paired from calls: written out by hand, and against made-up jobs of which each message is known.
#include "margay/trace/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>
#include <tuple>

namespace margay::trace {
namespace messages_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

enum Call : std::uint16_t {
  kSend = 3,
  kIsend,
  kRecv,
  kIrecv,
  kSendrecv,
  kWait,
  kWaitall,
  kWaitany,
  kBarrier,
  kStart
};
const char* const kNames[] = {"Absent",      "Unknown",     "Compute",      "MPI_Send", "MPI_Isend",
                              "MPI_Recv",    "MPI_Irecv",   "MPI_Sendrecv", "MPI_Wait", "MPI_Waitall",
                              "MPI_Waitany", "MPI_Barrier", "MPI_Start"};

struct Partner {
  std::int32_t peer = MARGAY_NO_PEER, tag = MARGAY_NO_TAG;
  std::uint64_t bytes = 0;
  std::uint32_t comm = 0;
};

// The records of a job's ranks, a leaf each, read back as a stretch of it.
class Job {
 public:
  explicit Job(std::uint32_t ranks, std::uint32_t jobs = 1) : records_(ranks) {
    for (std::uint32_t r = 0; r < ranks; ++r)
      processes_.push_back({r * jobs / ranks, static_cast<std::int32_t>(r % (ranks / jobs))});
  }
  void call(std::uint32_t rank, Call what, std::int64_t begin, std::int64_t end, Partner posted = {},
            Partner completed = {}) {
    records_[rank].push_back(
        {begin, posted.bytes, posted.peer, posted.tag, posted.comm, what, MARGAY_ENTER, 0});
    records_[rank].push_back(
        {end, completed.bytes, completed.peer, completed.tag, completed.comm, what, MARGAY_LEAVE, 0});
  }
  void record(std::uint32_t rank, EventRecord r) { records_[rank].push_back(r); }
  std::vector<Message> paired(std::int64_t from = 0, DurationNs slack = {}) {
    MessagePairs pairs(processes_, slack);
    Occurrences calls(TimeNs(from), TimeNs(INT64_MAX), [&](const Occurrence& o) {
      return o.begin.value < from ? Status() : pairs.add(o, calls.names()[o.name]);
    });
    std::uint16_t i = 0;
    for (const char* name : kNames) EXPECT_TRUE(calls.on_name(i++, {Name::Kind::kState, name}));
    for (std::uint32_t l = 0; l < records_.size(); ++l) {
      EXPECT_TRUE(calls.on_leaf(LeafIndex(l), {}));
      EXPECT_TRUE(calls.on_records(LeafIndex(l), records_[l]));
    }
    EXPECT_TRUE(calls.on_covered(TimeNs(1'000'000)));
    std::vector<Message> out;
    counts = pairs.finish(out);
    return out;
  }
  // "0-1 sent 10 received 25: 100 bytes, tag 5", with a ~ where no call is known that completed it.
  std::vector<std::string> lines(std::int64_t from = 0, DurationNs slack = {}) {
    std::vector<std::string> out;
    for (const Message& m : paired(from, slack))
      out.push_back(std::to_string(m.from.value) + "-" + std::to_string(m.to.value) + " " +
                    std::to_string(m.sent.value) + (m.completed ? " to " : " to ~") +
                    std::to_string(m.received.value) + ": " + std::to_string(m.bytes) + " bytes, tag " +
                    std::to_string(m.tag));
    return out;
  }
  MessageCounts counts;

 private:
  std::vector<MessagePairs::Process> processes_;
  std::vector<std::vector<EventRecord>> records_;
};

TEST(Messages, TheNthReceiveTakesTheNthSendOfItsTag) {
  Job job(2);
  job.call(0, kSend, 10, 12, {1, 5, 100});
  job.call(0, kSend, 20, 22, {1, 6, 7});
  job.call(0, kIsend, 30, 31, {1, 5, 200});
  job.call(1, kRecv, 5, 25, {0, 6, 50}, {0, 6, 7});
  job.call(1, kRecv, 26, 28, {0, 5, 500}, {0, 5, 100});
  job.call(1, kRecv, 29, 35, {MARGAY_NO_PEER, MARGAY_NO_TAG, 500}, {0, 5, 200});
  EXPECT_THAT(job.lines(), ElementsAre("0-1 10 to 28: 100 bytes, tag 5", "0-1 20 to 25: 7 bytes, tag 6",
                                       "0-1 30 to 35: 200 bytes, tag 5"));
  EXPECT_EQ(job.counts.paired, 3u);
  EXPECT_EQ(job.counts.untaken + job.counts.unsent + job.counts.anybody + job.counts.doubtful, 0u);
}

TEST(Messages, ASendrecvSendsToOneAndReceivesFromAnother) {
  Job job(3);
  for (std::int32_t r = 0; r < 3; ++r)
    job.call(static_cast<std::uint32_t>(r), kSendrecv, 10 + r, 20 + r, {(r + 1) % 3, 1, 64},
             {(r + 2) % 3, 1, 64});
  EXPECT_THAT(job.lines(), ElementsAre("0-1 10 to 21: 64 bytes, tag 1", "1-2 11 to 22: 64 bytes, tag 1",
                                       "2-0 12 to 20: 64 bytes, tag 1"));
  Job end(2);  // of a line: it sends, and receives from MPI_PROC_NULL
  end.call(0, kSendrecv, 10, 20, {1, 1, 64}, {MARGAY_NO_PEER, MARGAY_NO_TAG, 0});
  end.call(1, kSendrecv, 10, 22, {MARGAY_NO_PEER, 1, 64}, {0, 1, 64});
  EXPECT_THAT(end.lines(), ElementsAre("0-1 10 to 22: 64 bytes, tag 1"));
  EXPECT_EQ(end.counts.unsent, 0u);
}

TEST(Messages, ANonblockingReceiveIsThereWhereACallSaysSo) {
  Job job(3);
  job.call(0, kSend, 10, 11, {2, 1, 8});
  job.call(1, kSend, 12, 13, {2, 1, 9});
  job.call(2, kIrecv, 1, 2, {0, 1});
  job.call(2, kIrecv, 3, 4, {MARGAY_NO_PEER, MARGAY_NO_TAG});
  job.call(2, kWait, 14, 20, {}, {1, 1, 9});
  job.call(2, kWaitany, 21, 25, {}, {0, 1, 8});
  EXPECT_THAT(job.lines(), ElementsAre("0-2 10 to 25: 8 bytes, tag 1", "1-2 12 to 20: 9 bytes, tag 1"));

  Job all(2);
  all.call(0, kSend, 10, 11, {1, 1, 8});
  all.call(0, kSend, 12, 13, {1, 1, 9});
  all.call(1, kIrecv, 1, 2, {0, 1});
  all.call(1, kIrecv, 3, 4, {0, 1});
  all.call(1, kWaitall, 5, 30, {}, {MARGAY_NO_PEER, MARGAY_NO_TAG, 17});
  all.call(1, kIrecv, 31, 32, {0, 1});
  all.call(1, kIrecv, 33, 34, {MARGAY_NO_PEER, 1});
  all.call(0, kSend, 40, 41, {1, 1, 3});
  EXPECT_THAT(all.lines(), ElementsAre("0-1 10 to 30: 8 bytes, tag 1", "0-1 12 to 30: 9 bytes, tag 1",
                                       "0-1 40 to ~40: 3 bytes, tag 1"));
  EXPECT_EQ(all.counts.anybody, 1u) << "nothing says from whom it was";
  // Of several calls that say nothing it cannot have been one that was over before it was sent.
  Job unsaid(2);
  unsaid.call(0, kSend, 10, 11, {1, 1, 8});
  unsaid.call(1, kIrecv, 1, 2, {0, 1});
  unsaid.call(1, kWait, 3, 5);
  unsaid.call(1, kWait, 6, 15);
  unsaid.call(1, kWait, 16, 18);
  EXPECT_THAT(unsaid.lines(), ElementsAre("0-1 10 to ~15: 8 bytes, tag 1"));
}

TEST(Messages, WhatCannotBePairedIsCounted) {
  Job job(2);
  job.call(0, kSend, 10, 11, {1, 1, 8, 3});  // another communicator
  job.call(0, kSend, 12, 13, {1, 2, 8});     // never received
  job.call(0, kSend, 14, 15, {MARGAY_NO_PEER, 2, 8});
  job.call(0, kBarrier, 15, 16);
  job.call(0, kStart, 16, 17);
  job.record(0, {40, 5, 1, 1, 12, kSend, MARGAY_SUM, 0});
  job.call(1, kRecv, 10, 11, {0, 1, 8, 3}, {0, 1, 8, 3});
  job.call(1, kRecv, 12, 13, {0, 4, 8}, {0, 4, 8});  // its send is lost
  job.call(1, kWait, 14, 15, {}, {0, 7, 1});         // a persistent one
  EXPECT_THAT(job.lines(), IsEmpty());
  EXPECT_EQ(job.counts.elsewhere, 2u);
  EXPECT_EQ(job.counts.untaken, 1u);
  EXPECT_EQ(job.counts.unsent, 1u);
  EXPECT_EQ(job.counts.unposted, 1u);
  EXPECT_EQ(job.counts.summed, 12u);
  EXPECT_EQ(job.counts.started, 1u);
  EXPECT_EQ(job.counts.sent, 1u);
  EXPECT_EQ(job.counts.received, 1u);

  Job doubtful(2);
  doubtful.call(0, kSend, 10, 11, {1, 1, 8});
  doubtful.call(1, kRecv, 10, 12, {0, 1, 100}, {0, 1, 9});
  EXPECT_EQ(doubtful.lines().size(), 1u);
  EXPECT_EQ(doubtful.counts.doubtful, 1u);
}

TEST(Messages, AReceiveThatWasOverBeforeTheSendTookAnEarlierOne) {
  Job job(2);
  for (std::int64_t i = 0; i < 4; ++i) {
    job.call(0, kSend, 10 + 10 * i, 11 + 10 * i, {1, 1, 8});
    job.call(1, kRecv, 14 + 10 * i, 16 + 10 * i, {0, 1, 8}, {0, 1, 8});
  }
  EXPECT_EQ(job.lines().size(), 4u);
  // From the middle of the first one on.
  EXPECT_THAT(job.lines(12), ElementsAre("0-1 20 to 26: 8 bytes, tag 1", "0-1 30 to 36: 8 bytes, tag 1",
                                         "0-1 40 to 46: 8 bytes, tag 1"));
  EXPECT_EQ(job.counts.unsent, 1u);
  // Where clocks may differ by more than that nobody can tell.
  EXPECT_EQ(job.lines(12, DurationNs(100))[0], "0-1 20 to 16: 8 bytes, tag 1");
}

TEST(Messages, RanksOfTwoJobsAreTwo) {
  Job job(4, 2);
  job.call(0, kSend, 10, 11, {1, 1, 8});
  job.call(2, kSend, 12, 13, {1, 1, 9});
  job.call(1, kRecv, 20, 30, {0, 1, 8}, {0, 1, 8});
  job.call(3, kRecv, 20, 29, {0, 1, 9}, {0, 1, 9});
  EXPECT_THAT(job.lines(), ElementsAre("0-1 10 to 30: 8 bytes, tag 1", "2-3 12 to 29: 9 bytes, tag 1"));
}

// A job in which messages are sent, posted for, waited for and received in any order that MPI allows.
class RandomJob {
 public:
  using Truth =
      std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t, std::uint64_t, std::int32_t>;

  RandomJob(std::uint32_t ranks, std::uint32_t seed)
      : job(ranks), ranks_(ranks), random_(seed), open_(ranks) {}
  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      t_ += 10;
      switch (any(6)) {
        case 0:
        case 1:
          send();
          break;
        case 2:
          receive(any(ranks_));
          break;
        case 3:
          post(any(ranks_));
          break;
        case 4:
          wait(any(ranks_));
          break;
        default:
          wait_all(any(ranks_));
      }
    }
  }
  Job job;
  std::set<Truth> truth;  // of what was received

 private:
  using Lane = std::tuple<std::uint32_t, std::uint32_t, std::int32_t>;  // from, to, tag
  struct Sent {
    std::int64_t at;
    std::uint64_t bytes;
  };
  struct Posted {
    Lane lane;
    bool from_anybody;
    std::optional<Sent> message;
  };

  std::uint32_t any(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  Lane any_lane(std::uint32_t to) { return {any(ranks_), to, static_cast<std::int32_t>(any(2))}; }
  void send() {
    const Lane lane = any_lane(any(ranks_));
    const auto& [from, to, tag] = lane;
    const Sent m{t_, 1 + any(1000)};
    job.call(from, any(2) == 0 ? kSend : kIsend, t_, t_ + 3, {static_cast<std::int32_t>(to), tag, m.bytes});
    for (Posted& p : open_[to])
      if (p.lane == lane && !p.message) {
        p.message = m;
        return;
      }
    there_[lane].push_back(m);
  }
  std::optional<Sent> take(const Lane& lane) {
    auto& queue = there_[lane];
    if (queue.empty()) return std::nullopt;
    const Sent m = queue.front();
    queue.pop_front();
    return m;
  }
  void done(const Lane& lane, const Sent& m, std::int64_t end) {
    truth.emplace(std::get<0>(lane), std::get<1>(lane), m.at, end, m.bytes, std::get<2>(lane));
  }
  // Whether a receive is open there for that lane.
  bool is_open(const Lane& lane) {
    const auto& open = open_[std::get<1>(lane)];
    return std::any_of(open.begin(), open.end(), [&](const Posted& p) { return p.lane == lane; });
  }
  void receive(std::uint32_t to) {
    const Lane lane = any_lane(to);
    if (is_open(lane)) return;
    const auto m = take(lane);
    if (!m) return;
    const auto from = static_cast<std::int32_t>(std::get<0>(lane));
    const bool anybody = any(2) == 0;
    job.call(to, kRecv, t_, t_ + 4,
             {anybody ? MARGAY_NO_PEER : from, anybody ? MARGAY_NO_TAG : std::get<2>(lane), 4096},
             {from, std::get<2>(lane), m->bytes});
    done(lane, *m, t_ + 4);
  }
  void post(std::uint32_t to) {
    const Lane lane = any_lane(to);
    const bool anybody = any(3) == 0 && !is_open(lane);
    for (const Posted& p : open_[to])
      if (p.lane == lane && p.from_anybody) return;
    const auto m = take(lane);
    if (anybody && !m) return;
    job.call(to, kIrecv, t_, t_ + 1,
             {anybody ? MARGAY_NO_PEER : static_cast<std::int32_t>(std::get<0>(lane)),
              anybody ? MARGAY_NO_TAG : std::get<2>(lane)});
    open_[to].push_back({lane, anybody, m});
  }
  void wait(std::uint32_t to) {
    auto& open = open_[to];
    const auto p =
        std::find_if(open.begin(), open.end(), [](const Posted& o) { return o.message.has_value(); });
    if (p == open.end()) return;
    job.call(to, any(2) == 0 ? kWait : kWaitany, t_, t_ + 5, {},
             {static_cast<std::int32_t>(std::get<0>(p->lane)), std::get<2>(p->lane), p->message->bytes});
    done(p->lane, *p->message, t_ + 5);
    open.erase(p);
  }
  // Of those from anybody it does not say what came.
  void wait_all(std::uint32_t to) {
    auto& open = open_[to];
    std::uint64_t bytes = 0;
    for (const Posted& p : open) {
      if (!p.message || p.from_anybody) return;
      bytes += p.message->bytes;
    }
    if (open.size() < 2) return;
    job.call(to, kWaitall, t_, t_ + 6, {}, {MARGAY_NO_PEER, MARGAY_NO_TAG, bytes});
    for (const Posted& p : open) done(p.lane, *p.message, t_ + 6);
    open.clear();
  }

  std::uint32_t ranks_;
  std::mt19937 random_;
  std::int64_t t_ = 0;
  std::map<Lane, std::deque<Sent>> there_;
  std::vector<std::vector<Posted>> open_;
};

TEST(Messages, OfMadeUpJobsAreThoseThatWereSent) {
  std::size_t messages = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RandomJob random(2 + seed % 4, seed);
    random.run(400);
    std::set<RandomJob::Truth> found;
    std::size_t unknown = 0;
    for (const Message& m : random.job.paired()) {
      unknown += m.completed ? 0 : 1;
      if (m.completed)
        found.emplace(m.from.value, m.to.value, m.sent.value, m.received.value, m.bytes, m.tag);
    }
    EXPECT_EQ(found, random.truth);
    EXPECT_EQ(random.job.counts.paired, found.size() + unknown);
    EXPECT_EQ(random.job.counts.doubtful, 0u);
    messages += found.size();
  }
  EXPECT_GT(messages, 5000u);
}

TEST(Messages, ThereIsABound) {
  MessagePairs pairs({{0, 0}, {0, 1}}, {});
  Occurrence call;
  call.posted_peer = 1, call.posted_tag = 1, call.name = 0;
  const Name send{Name::Kind::kState, "MPI_Send"};
  for (std::size_t i = 0; i < MessagePairs::kMost; ++i) ASSERT_TRUE(pairs.add(call, send));
  const Status more = pairs.add(call, send);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kLimit);
  EXPECT_THAT(more.error().message, ::testing::HasSubstr("a shorter time"));
}

}  // namespace messages_test
}  // namespace margay::trace
