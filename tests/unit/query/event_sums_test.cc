// What the events of a stretch sum to, as viewers are answered: against plain sums of the lists that `margay
// events` prints.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "example_run.h"
#include "margay/partition/significant.h"
#include "margay/query/event_answer.h"
#include "margay/query/message_blocks.h"
#include "margay/query/message_list.h"
#include "margay/query/waits.h"
#include "view_support.h"

namespace margay::daemon {
namespace event_sums_test {

using testing::HasSubstr;

// The example: sixteen ranks, with messages.
class Sums : public ExampleRun {
 protected:
  static wire::EventsQuestion question(wire::EventsQuestion::Kind kind, std::uint32_t most = 2000) {
    wire::EventsQuestion q;
    q.set_kind(kind);
    q.set_most(most);
    q.set_from_ns((resume_->run.begin + milliseconds(12'000)).value);
    q.set_to_ns((resume_->run.begin + milliseconds(15'500)).value);
    return q;
  }
  static wire::EventsAnswer answer_to(
      const wire::EventsQuestion& q, const std::function<bool()>& go_on = [] { return true; }) {
    const auto request = decode_events_untrusted(q);
    EXPECT_TRUE(request) << request.error().message;
    return answer_events(*archive_, *resume_, *extent_, *request, clock_, go_on);
  }

  static inline const SystemClock clock_{};
};

struct Plain {
  std::vector<std::int64_t> lengths;
  std::uint64_t calls = 0, bytes = 0;
  std::int64_t total = 0, longest = -1;
};

TEST_F(Sums, OfVisitsAreThoseOfTheList) {
  for (const char* node : {"", "/node1"}) {
    SCOPED_TRACE(node);
    wire::EventsQuestion q = question(wire::EventsQuestion::SUMS);
    if (*node != '\0') q.add_nodes(node);
    const wire::EventsAnswer a = answer_to(q);
    ASSERT_EQ(a.error(), "");
    std::map<std::string, Plain> plain;
    EventQuery list;
    list.from = TimeNs(q.from_ns()), list.to = TimeNs(q.to_ns());
    if (*node != '\0') list.nodes = {node};
    ASSERT_TRUE(list_events(*archive_, *resume_, list, [&](const EventRow& r) -> Status {
      if (r.what.kind != trace::Occurrence::Kind::kState) return {};
      Plain& p = plain[r.name.text];
      p.calls += r.what.calls;
      p.bytes += r.what.bytes;
      p.total += (std::min(r.what.end, list.to) - std::max(r.what.begin, list.from)).value;
      const std::int64_t length = (r.what.end - r.what.begin).value;
      if (r.what.calls == 1) p.lengths.push_back(length);
      p.longest = std::max(p.longest, r.what.calls == 1 ? length : r.what.longest.value);
      return {};
    }));
    ASSERT_EQ(static_cast<std::size_t>(a.sums_size()), plain.size());
    ASSERT_GT(plain.size(), 3u);
    for (const wire::EventsSum& s : a.sums()) {
      const std::string& name = a.names(static_cast<int>(s.name())).name();
      SCOPED_TRACE(name);
      Plain& p = plain[name];
      EXPECT_EQ(s.count(), p.calls);
      EXPECT_EQ(s.single(), p.lengths.size());
      EXPECT_EQ(s.bytes(), p.bytes);
      EXPECT_EQ(s.total_ns(), static_cast<std::uint64_t>(p.total));
      EXPECT_EQ(s.longest_ns(), static_cast<std::uint64_t>(p.longest));
      // Each bin has the lengths that lie in it, and none lies in no bin.
      std::uint64_t binned = 0;
      for (int i = 0; i < s.bin_count_size(); ++i) {
        EXPECT_EQ(s.bin_count(i), static_cast<std::uint64_t>(
                                      std::count_if(p.lengths.begin(), p.lengths.end(), [&](std::int64_t ns) {
                                        const auto length = static_cast<std::uint64_t>(ns);
                                        return length >= s.bin_from_ns(i) && length < s.bin_until_ns(i);
                                      })));
        EXPECT_GT(s.bin_count(i), 0u);
        if (i > 0) {
          EXPECT_GE(s.bin_from_ns(i), s.bin_until_ns(i - 1));
        }
        binned += s.bin_count(i);
      }
      EXPECT_EQ(binned, p.lengths.size());
      std::sort(p.lengths.begin(), p.lengths.end());
      if (p.lengths.empty()) continue;
      const auto median = static_cast<double>(p.lengths[(p.lengths.size() - 1) / 2]);
      EXPECT_NEAR(static_cast<double>(s.median_ns()), median, median / 64 + 1);
    }
    for (int i = 1; i < a.sums_size(); ++i) EXPECT_LE(a.sums(i).total_ns(), a.sums(i - 1).total_ns());
  }
}

TEST_F(Sums, OfMessagesAreThoseOfTheList) {
  const wire::EventsQuestion q = question(wire::EventsQuestion::PAIRS, 65'536);
  const wire::EventsAnswer a = answer_to(q);
  ASSERT_EQ(a.error(), "");
  std::map<std::pair<std::string, std::string>, std::pair<std::uint64_t, std::uint64_t>> plain;
  MessageQuery list;
  list.from = TimeNs(q.from_ns()), list.to = TimeNs(q.to_ns());
  ASSERT_TRUE(list_messages(*archive_, *resume_, list, [&](const MessageRow& row) -> Status {
    auto& [count, bytes] = plain[{row.from, row.to}];
    ++count;
    bytes += row.what.bytes;
    return {};
  }));
  ASSERT_EQ(static_cast<std::size_t>(a.sums_size()), plain.size());
  ASSERT_GE(plain.size(), 16u);
  for (const wire::EventsSum& s : a.sums()) {
    const auto& [count, bytes] =
        plain[{a.resources(static_cast<int>(s.from())), a.resources(static_cast<int>(s.to()))}];
    EXPECT_EQ(s.count(), count);
    EXPECT_EQ(s.bytes(), bytes);
    EXPECT_LE(s.single() + s.untimed(), s.count());
  }
  for (int i = 1; i < a.sums_size(); ++i) EXPECT_LE(a.sums(i).bytes(), a.sums(i - 1).bytes());
}

// At or below.
bool covers(const std::string& node, const std::string& path) {
  return node == "/" || path == node ||
         (path.size() > node.size() && path.compare(0, node.size(), node) == 0 && path[node.size()] == '/');
}

TEST_F(Sums, OfMessagesAreSummedUpOnceWhereTheyAreAlike) {
  for (const auto alike :
       {wire::EventsQuestion::BYTES, wire::EventsQuestion::MESSAGES, wire::EventsQuestion::MEAN_TIME}) {
    SCOPED_TRACE(alike);
    wire::EventsQuestion q = question(wire::EventsQuestion::PAIRS, 65'536);
    q.set_alike(alike);
    const wire::EventsAnswer a = answer_to(q);
    ASSERT_EQ(a.error(), "");
    if (alike == wire::EventsQuestion::MEAN_TIME) {  // no call of the example says when messages were there
      ASSERT_EQ(a.blocks_size(), 1);
      EXPECT_THAT(a.notes(), testing::Contains(HasSubstr("of no message is it known")));
    } else {
      ASSERT_GT(a.blocks_size(), 2);
    }
    const auto path = [&](std::uint32_t index) { return a.resources(static_cast<int>(index)); };
    int chosen = 0;
    double chosen_p = 0;
    std::vector<partition::QualityPoint> points;
    for (int i = 0; i < a.blocks_size(); ++i) {
      const wire::EventsBlocks& one = a.blocks(i);
      points.push_back({one.p(), one.gain(), one.loss(), 0});
      chosen += one.chosen();
      if (one.chosen()) chosen_p = one.p();
      if (i == 0) {
        EXPECT_EQ(one.p(), 0);
      } else {
        EXPECT_GT(one.p(), a.blocks(i - 1).p());
        EXPECT_GE(one.loss(), a.blocks(i - 1).loss());
        EXPECT_LT(one.from_size(), a.blocks(i - 1).from_size());
      }
      std::vector<Plain> plain(static_cast<std::size_t>(one.from_size()));
      for (const wire::EventsSum& pair : a.sums()) {
        int held = 0;
        for (int k = 0; k < one.from_size(); ++k) {
          if (!covers(path(one.from(k)), path(pair.from())) || !covers(path(one.to(k)), path(pair.to())))
            continue;
          ++held;
          Plain& p = plain[static_cast<std::size_t>(k)];
          p.calls += pair.count(), p.bytes += pair.bytes();
          p.total += static_cast<std::int64_t>(pair.total_ns());
        }
        EXPECT_EQ(held, 1) << path(pair.from()) << " to " << path(pair.to());
      }
      std::uint64_t pairs = 0;
      for (int k = 0; k < one.from_size(); ++k) {
        const Plain& p = plain[static_cast<std::size_t>(k)];
        EXPECT_EQ(one.count(k), p.calls);
        EXPECT_EQ(one.bytes(k), p.bytes);
        EXPECT_NEAR(one.total_ns(k), static_cast<double>(p.total), 1);
        pairs += one.pairs(k);
      }
      EXPECT_EQ(pairs, 16u * 15u);
    }
    EXPECT_EQ(chosen, 1);
    EXPECT_EQ(chosen_p, partition::largest_jump(points));
    const wire::EventsBlocks& whole = a.blocks(a.blocks_size() - 1);
    ASSERT_EQ(whole.from_size(), 1);
    EXPECT_EQ(path(whole.from(0)), "/");
  }
}

EventSummary sent(const std::string& from, const std::string& to, std::uint64_t bytes) {
  EventSummary out;
  out.name = from, out.resource = to, out.bytes = bytes, out.untimed = 1;
  return out;
}

TEST(MessageBlocks, OfMoreResourcesThanAreTakenNodesAboveAreTheSmallest) {
  std::vector<EventSummary> pairs;
  for (int rank = 0; rank < 1500; ++rank) {
    const std::string from = "/site/host" + std::to_string(rank / 75) + "/rank" + std::to_string(rank);
    const int other = (rank + 1) % 1500;
    pairs.push_back(
        sent(from, "/site/host" + std::to_string(other / 75) + "/rank" + std::to_string(other), 100));
  }
  const auto found = find_blocks(pairs, wire::EventsQuestion::BYTES, {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(found->notes, testing::Contains(HasSubstr("1500 are summed up by the nodes above")));
  const MessageBlocks& fine = found->partitions.front();
  std::uint64_t all = 0, pairs_in_all = 0, within = 0;
  for (const MessageBlock& block : fine.blocks) {
    all += block.count, pairs_in_all += block.pairs;
    if (block.from == block.to && found->nodes[block.from] == "/site/host3") within = block.count;
  }
  EXPECT_EQ(all, 1500u);
  EXPECT_EQ(pairs_in_all, 1500u * 1499u);
  EXPECT_EQ(within, 74u);  // and one to the next host
}

TEST(MessageBlocks, OfMoreBlocksThanCanBeShownTheNearestAreThere) {
  std::mt19937_64 rng(7);
  std::vector<EventSummary> pairs;
  const auto path = [](int rank) {
    return "/host" + std::to_string(rank / 8) + "/rank" + std::to_string(rank);
  };
  for (int from = 0; from < 128; ++from)
    for (int to = 0; to < 128; ++to)
      if (from != to)
        pairs.push_back(sent(path(from), path(to), (from / 8 == to / 8 ? 9000 : 100) + rng() % 200));
  const auto found = find_blocks(pairs, wire::EventsQuestion::BYTES, {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(found->notes,
              testing::Contains(testing::ContainsRegex("at p 0 there are 16,[0-9]* blocks: shown are")));
  const MessageBlocks& fine = found->partitions.front();
  EXPECT_EQ(fine.p, 0);
  EXPECT_LE(fine.blocks.size(), kMostBlocks);
  EXPECT_GT(fine.blocks.size(), 300u);
  EXPECT_GT(fine.loss, 0);
  EXPECT_LT(fine.loss, found->partitions.back().loss / 10);
  std::uint64_t all = 0;
  for (const MessageBlock& block : fine.blocks) all += block.count;
  EXPECT_EQ(all, 128u * 127u);
}

TEST(MessageBlocks, ANodeThatSendsItselfIsALeafBesideThoseBelow) {
  const std::vector<EventSummary> pairs = {sent("/host", "/host/rank0", 10), sent("/host/rank0", "/host", 20),
                                           sent("/host/rank1", "/host/rank1", 3)};
  const auto found = find_blocks(pairs, wire::EventsQuestion::MESSAGES, {});
  ASSERT_TRUE(found) << found.error().message;
  const MessageBlocks& whole = found->partitions.back();
  ASSERT_EQ(whole.blocks.size(), 1u);
  EXPECT_EQ(whole.blocks[0].pairs, 3u * 2u + 1u);
  EXPECT_EQ(whole.blocks[0].bytes, 33u);
  EXPECT_EQ(whole.blocks[0].count, 3u);
  std::vector<std::string> told;
  for (const MessageBlock& b : found->partitions.front().blocks)
    if (b.count > 0)
      told.push_back(found->nodes[b.from] + " to " + found->nodes[b.to] + ": " + std::to_string(b.bytes));
  EXPECT_THAT(told, testing::UnorderedElementsAre("/host to /host/rank0: 10", "/host/rank0 to /host: 20",
                                                  "/host/rank1 to /host/rank1: 3"));
}

TEST(MessageBlocks, ByMeanTimeASlowLinkIsABlockHoweverManyMessagesItHas) {
  std::vector<EventSummary> pairs;
  for (const char* from : {"/host0/a", "/host0/b", "/host1/c", "/host1/d"})
    for (const char* to : {"/host0/a", "/host0/b", "/host1/c", "/host1/d"}) {
      if (std::string(from) == to) continue;
      const bool slow = std::string(from) < "/host1" && std::string(to) > "/host1";
      EventSummary pair = sent(from, to, 8);
      pair.untimed = 0;
      for (int i = 0; i < (slow ? 3 : 5 + (from[7] - 'a')); ++i) {
        pair.lengths.add(slow ? 900'000 : 1000);
        pair.total += DurationNs(slow ? 900'000 : 1000);
      }
      pairs.push_back(pair);
    }
  const auto found = find_blocks(pairs, wire::EventsQuestion::MEAN_TIME, {});
  ASSERT_TRUE(found) << found.error().message;
  const MessageBlocks& exact = found->partitions.front();
  EXPECT_EQ(exact.loss, 0);
  std::vector<std::string> told;
  for (const MessageBlock& b : exact.blocks)
    told.push_back(found->nodes[b.from] + " to " + found->nodes[b.to] + ": " +
                   std::to_string(b.total_ns / static_cast<double>(b.timed)));
  EXPECT_THAT(
      told, testing::UnorderedElementsAre("/host0 to /host0: 1000.000000", "/host0 to /host1: 900000.000000",
                                          "/host1 to /: 1000.000000"));
  EXPECT_THAT(found->notes, testing::IsEmpty());
}

TEST(MessageBlocks, OfNothingThereAreNoneAndAnEndedSearchIsASentence) {
  EXPECT_THAT(find_blocks({}, wire::EventsQuestion::BYTES, {})->partitions, testing::IsEmpty());
  const std::vector<EventSummary> pairs = {sent("/a", "/b", 10), sent("/b", "/a", 20)};
  const auto ended = find_blocks(pairs, wire::EventsQuestion::BYTES, [] { return false; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kTimeout);
}

// Rank 6 of the example was stopped, and the others waited, for it among others.
wire::EventsQuestion about_the_stopped(wire::EventsQuestion q) {
  q.set_most(1);
  q.add_nodes("/");
  q.add_except("/node1/rank6");
  return q;
}

TEST_F(Sums, WhomResourcesWaitedForIsThatOfAlertsShow) {
  const wire::EventsQuestion q = about_the_stopped(question(wire::EventsQuestion::WAITS));
  const wire::EventsAnswer a = answer_to(q);
  ASSERT_EQ(a.error(), "");
  const auto plain =
      read_waits(*archive_, *resume_, {{"/"}, {"/node1/rank6"}, TimeNs(q.from_ns()), TimeNs(q.to_ns()), {}});
  ASSERT_TRUE(plain) << plain.error().message;
  ASSERT_FALSE(plain->partners.empty());
  const wire::EventsWaits& w = a.waits();
  EXPECT_EQ(w.leaves(), 15u);
  EXPECT_EQ(w.waited_ns(), static_cast<std::uint64_t>(plain->waited.value));
  EXPECT_NEAR(static_cast<double>(w.unknown_ns()), plain->unknown * static_cast<double>(plain->waited.value),
              2);
  ASSERT_EQ(static_cast<std::size_t>(w.partner_size()), plain->partners.size());
  for (int i = 0; i < w.partner_size(); ++i) {
    EXPECT_EQ(a.resources(static_cast<int>(w.partner(i))),
              plain->partners[static_cast<std::size_t>(i)].resource);
    EXPECT_EQ(w.for_ns(i),
              static_cast<std::uint64_t>(plain->partners[static_cast<std::size_t>(i)].time.value));
  }
}

TEST_F(Sums, WhoWaitedIsNotSaidOfAHalfAndOfALongStretchTheFirstMinute) {
  wire::EventsQuestion q = about_the_stopped(question(wire::EventsQuestion::WAITS));
  const wire::EventsAnswer half = answer_to(q, [] { return false; });
  EXPECT_THAT(half.error(), HasSubstr("who waited for whom is not known"));
  EXPECT_FALSE(half.has_waits());
  q.set_from_ns(0), q.set_to_ns(0);
  const wire::EventsAnswer all = answer_to(q);
  ASSERT_EQ(all.error(), "");
  EXPECT_LE(all.question().to_ns() - all.question().from_ns(), WaitsQuery::kLongest.value);
  EXPECT_GT(all.waits().waited_ns(), 0u);
}

TEST_F(Sums, WhatIsLeftOutIsCounted) {
  for (const auto kind : {wire::EventsQuestion::SUMS, wire::EventsQuestion::PAIRS}) {
    const wire::EventsAnswer all = answer_to(question(kind)), few = answer_to(question(kind, 3));
    ASSERT_EQ(few.sums_size(), 3);
    EXPECT_EQ(all.sums_left_out(), 0u);
    EXPECT_EQ(few.sums_left_out(), static_cast<std::uint64_t>(all.sums_size() - 3));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(few.sums(i).total_ns(), all.sums(i).total_ns());
  }
}

// Half of it would look like all of it.
TEST_F(Sums, WhatIsNotReadToItsEndIsASentence) {
  for (const auto kind : {wire::EventsQuestion::SUMS, wire::EventsQuestion::PAIRS}) {
    const wire::EventsAnswer a = answer_to(question(kind), [] { return false; });
    EXPECT_THAT(a.error(), HasSubstr("choose a shorter one"));
    EXPECT_EQ(a.sums_size(), 0);
  }
}

TEST_F(Sums, AQuestionForTooManyIsRefused) {
  EXPECT_FALSE(decode_events_untrusted(question(wire::EventsQuestion::SUMS, 2001)));
  EXPECT_FALSE(decode_events_untrusted(question(wire::EventsQuestion::PAIRS, 65'537)));
  EXPECT_FALSE(decode_events_untrusted(question(wire::EventsQuestion::PAIRS, 0)));
  wire::EventsQuestion alike = question(wire::EventsQuestion::SUMS);
  alike.set_alike(wire::EventsQuestion::BYTES);
  EXPECT_THAT(decode_events_untrusted(alike).error().message, HasSubstr("alike: is of PAIRS alone"));
  alike.set_kind(wire::EventsQuestion::PAIRS);
  EXPECT_TRUE(decode_events_untrusted(alike));
  alike.set_alike(static_cast<wire::EventsQuestion::Alike>(7));
  EXPECT_THAT(decode_events_untrusted(alike).error().message, HasSubstr("alike: is unknown"));
  wire::EventsQuestion q = question(wire::EventsQuestion::PAIRS);
  q.add_nodes("/node1");
  EXPECT_TRUE(decode_events_untrusted(q));
  q.set_match("rank");
  EXPECT_THAT(decode_events_untrusted(q).error().message, HasSubstr("of PAIRS only nodes"));
  q.clear_match(), q.add_except("/node1/rank6");
  EXPECT_THAT(decode_events_untrusted(q).error().message, HasSubstr("except: is of WAITS alone"));
  q.set_kind(wire::EventsQuestion::WAITS);
  EXPECT_THAT(decode_events_untrusted(q).error().message, HasSubstr("most: 2000, expected 1 to 1"));
  q.set_most(1);
  EXPECT_TRUE(decode_events_untrusted(q));
  for (int i = 0; i < EventPageRequest::kMostNames; ++i) q.add_except("/node1/rank7");
  EXPECT_THAT(decode_events_untrusted(q).error().message, HasSubstr("more than 256 names"));
  q.clear_except(), q.clear_nodes();
  EXPECT_THAT(decode_events_untrusted(q).error().message, HasSubstr("nodes: WAITS is of one at least"));
  q = question(wire::EventsQuestion::SUMS);
  q.mutable_after()->set_rows(1);
  EXPECT_THAT(decode_events_untrusted(q).error().message, HasSubstr("after: "));
}

}  // namespace event_sums_test
}  // namespace margay::daemon
