// The messages of any stretch of a run: who sent what to whom, when it was sent and when it was there.
//
// Read are the raw events of all ranks in the stretch, and of as long before and behind it as it lasts
// (kLeastAround to kMostAround), for who receives what was sent before. How messages are paired, and which
// are not: margay/trace/messages.h. Amid a run the order in which messages are taken begins with what is
// read: `exact` says that it is the run's.
//
// Errors: kNotFound (no raw events of that time), kInvalidArgument (an empty range, a node that is none),
// kLimit (more than `refused`, or than MessagePairs::kMost calls), kTimeout (go_on), those of Archive's
// reading calls and of `take`. Thread safety: none. Cost: the blocks of the stretch; a call some 150 ns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/model/view.h"
#include "margay/store/archive.h"
#include "margay/trace/messages.h"
#include "margay/wire/filter.h"

namespace margay::daemon {

struct MessageQuery {
  TimeNs from{}, to{};  // trace time, half-open: sent before its end, and not there before its begin
  std::vector<std::string> nodes;  // paths: sent or received at or below one of them; nothing: all
  model::View view;                // as EventQuery's
  wire::ResourceTerms resources;   // that both ends are of
  DurationNs least{};              // from the begin of the sending call on until it was there
  std::uint64_t longest = 0;       // not 0: so many, the longest first, of those of which the end is known
  std::uint64_t most = 0;          // not 0: the first so many
  std::uint64_t refused = 0;       // not 0: where there are more, none (kLimit)
  // Told now and then how much of the stretch was read, 0 to 1.
  std::function<void(double)> progress;
  // Asked now and then: false ends the reading.
  std::function<bool()> go_on;

  static constexpr DurationNs kLeastAround = milliseconds(100), kMostAround = seconds(1);
};

// Valid during the call.
struct MessageRow {
  const trace::Message& what;
  const std::string &from, &to;  // paths
  const trace::Name &sent_by, &taken_by;
};

struct MessageListCounts {
  trace::MessageCounts calls;  // of all that was read
  std::uint64_t told = 0;
  bool more = false;        // `most` were told, and there are others
  std::uint64_t holes = 0;  // stretches of which events are missing
  bool exact = true;        // read from the run's begin on
};

// What is to be known of messages that are not in the list, a sentence each; none: all were paired.
std::vector<std::string> unpaired_notes(const trace::MessageCounts& counts);

// By the time they were sent. `resume` is what load() told of the archive.
Result<MessageListCounts> list_messages(const store::Archive& archive, const store::Resume& resume,
                                        const MessageQuery& query,
                                        const std::function<Status(const MessageRow&)>& take);

}  // namespace margay::daemon
