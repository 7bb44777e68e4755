// Which call of whom received what which call of whom sent: the messages of a stretch, paired from the calls
// that the probe recorded.
//
// MPI keeps the order of messages of one sender, receiver, tag and communicator: the n-th that is sent is
// taken by the n-th receive that was posted (MPI 4.0, 3.5: messages are non-overtaking). A receive from
// anybody counts for whom it completed with. A nonblocking receive completes in the call that says so
// (MPI_Wait and its kin, with partner and tag); where a call completed several it says how many bytes came,
// and not from whom: MPI_Waitall counts as the end of all that were posted before it.
//
// Paired is what was sent in MPI_COMM_WORLD by calls that name the partner. Told as numbers, and not paired:
// calls that were summed (MARGAY_SUM), other communicators (which rank is who there the records do not tell),
// starts of persistent and partitioned requests. Where events are missing, pairs behind them may be wrong by
// some.
//
// A stretch that begins amid a run has receives of messages that were sent before: a receive that was over
// before the sending began, by more than `slack`, belongs to such a one and is left out.
//
// Thread safety: none. Cost: O(n log n) of the calls. Memory: some 60 bytes a call, kMost at most.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "margay/trace/occurrences.h"

namespace margay::trace {

// Both calls are half-open, [begin, end), trace time.
struct Message {
  LeafIndex from{}, to{};
  std::uint16_t sent_by = 0, taken_by = 0;  // names: the sending call, the one that posted the receive
  TimeNs sent{}, sent_end{};                // the sending call
  TimeNs posted{};                          // the begin of the receiving call
  TimeNs received{};                        // when it was there: the end of the call that completed it
  // False: no call is known to say so. Then `received` is the earliest that it can have been: the end of the
  // receiver's next call that waits or tests, or of the posting one.
  bool completed = true;
  std::uint64_t bytes = 0;  // as sent
  std::int32_t tag = MARGAY_NO_TAG;
};

struct MessageCounts {
  std::uint64_t sent = 0, received = 0;  // calls that name a partner in the world; messages of it
  std::uint64_t paired = 0;
  std::uint64_t untaken = 0;    // sent, and no receive is in the stretch
  std::uint64_t unsent = 0;     // received, and the send is not in the stretch
  std::uint64_t elsewhere = 0;  // sent or received in another communicator
  std::uint64_t anybody = 0;    // receives of which nothing says from whom they were
  std::uint64_t unposted =
      0;                      // calls that completed a receive that was not posted here (or a persistent one)
  std::uint64_t started = 0;  // calls that start persistent requests: nothing says to or from whom
  std::uint64_t summed = 0;   // calls that send or receive, of which only sums are known
  std::uint64_t doubtful = 0;  // pairs in which more came than was sent: events are missing
};

class MessagePairs {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 22;  // calls
  // Of a leaf: whose thread it is. Ranks are told apart by the job; a rank below 0 sends nothing.
  struct Process {
    std::uint32_t job = 0;
    std::int32_t rank = -1;
  };
  MessagePairs(std::vector<Process> processes, DurationNs slack)
      : processes_(std::move(processes)), slack_(slack) {}

  // In any order. Errors: kLimit, more than kMost calls that matter.
  Status add(const Occurrence& call, const Name& name);
  // What pairs there are, by the time they were sent. Once.
  MessageCounts finish(std::vector<Message>& out);

 private:
  enum class Role : std::uint8_t { kNone, kSend, kReceive, kBoth, kPost, kStart, kComplete, kCompleteAll };
  // Who to whom, in whose order.
  struct Lane {
    std::uint32_t job = 0;
    std::int32_t from = -1, to = -1, tag = MARGAY_NO_TAG;
    auto operator<=>(const Lane&) const = default;
  };
  struct Send {
    Lane lane;
    LeafIndex leaf;
    std::uint16_t name;
    TimeNs begin, end;
    std::uint64_t bytes;
  };
  struct Receive {
    Lane lane;  // from, tag below 0: not known yet
    LeafIndex leaf;
    std::uint16_t name;
    TimeNs posted, end;
    std::uint64_t bytes = 0;
    bool completed = false;
    bool elsewhere = false;
  };
  struct Completion {
    Lane lane;  // from, tag below 0: several, or none
    TimeNs begin, end;
    std::uint64_t bytes;
    bool all;
  };
  static Role role_of(const Name& name);
  void add_receive(const Occurrence& call, Role role, const Process& who);
  void complete();
  void complete_one(const Completion& by, std::vector<std::size_t>& open);
  TimeNs earliest(const Receive& receive, TimeNs sent) const;
  void pair(std::vector<Message>& out);

  std::vector<Process> processes_;
  DurationNs slack_;
  std::vector<std::uint8_t> roles_;  // by name: 1 + Role; 0: not looked at yet
  std::vector<Send> sends_;
  std::vector<Receive> receives_;  // that are over, and, until complete(), those that were posted
  std::vector<Completion> completions_;
  MessageCounts counts_;
};

}  // namespace margay::trace
