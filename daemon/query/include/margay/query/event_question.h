// What a viewer wants to see of the single events of a stretch (wire::EventsQuestion), decoded and checked.
// Pure.
//
// Errors: kInvalidArgument, a sentence that begins with the field. Whether nodes and times exist is for the
// archive to say (event_answer.h). Thread safety: values and functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event_page.h"
#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/wire/events.pb.h"

namespace margay::daemon {

struct EventPageRequest {
  static constexpr std::uint32_t kMostRows = 2000;  // or bins, or sums
  static constexpr std::uint32_t kMostPairs = 65'536;
  static constexpr int kMostNames = 256;  // nodes, states and patterns, in all
  static constexpr std::size_t kLongestName = 128;
  static constexpr std::size_t kLongestPath = 2048;
  static constexpr std::size_t kLongestMatch = 128;
  // Of a regular expression: its length times what its counts ({3,8}) multiply it to. What it takes to match
  // one name is at most this times the square of the name's length, about 30 ns each.
  static constexpr std::uint64_t kMostMatchSize = 1024;
  static constexpr DurationNs kLongestPatience = seconds(5);

  enum class Kind { kByTime, kLongest, kDensity, kSums, kPairs, kWaits };

  std::uint64_t token = 0;
  bool whole = true;  // all of the run; else [list.from, list.to)
  Kind kind = Kind::kByTime;
  std::uint32_t most = 0;           // rows or bins, 1 to kMostRows
  EventQuery list;                  // what is left out; most and longest as the kind wants them
  std::vector<std::string> except;  // of kWaits
  wire::EventsQuestion::Alike alike = wire::EventsQuestion::NOT;  // of kPairs
  std::optional<EventPlace> after;
  DurationNs patience = kLongestPatience;  // more than 0
};

Result<EventPageRequest> decode_events_untrusted(const wire::EventsQuestion& question);

}  // namespace margay::daemon
