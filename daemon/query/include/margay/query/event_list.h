// The single events of any stretch of a run: visits, regions, variables, marks and links, one by one, in
// order, filtered: the list of events.
//
// Read are the raw events of the stretch, and of the resources that are asked for what comes before it, back
// to where nothing was open (margay/trace/archive_trace.h). Rows come in the order of their begins; a visit
// is known when it is over, so what begins inside a long one waits for it: `most_held` rows at most. Where
// more would wait, they come before the visits that they wait for (EventCounts::late).
//
// Errors: kNotFound (no raw events of that time), kInvalidArgument (an empty range, a pattern that is none),
// kTimeout (go_on), kLimit (more than `refused`), those of Archive's reading calls and of `take`. Thread
// safety: none. Cost: the blocks of the stretch; a row some 100 ns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/model/view.h"
#include "margay/store/archive.h"
#include "margay/trace/occurrences.h"
#include "margay/wire/filter.h"

namespace margay::daemon {

struct EventQuery {
  TimeNs from{}, to{};              // trace time, half-open: what touches it
  std::vector<std::string> nodes;   // paths: resources at or below one of them; nothing: all
  model::View view;                 // in which, or in the usual one, those of `nodes` and `resources` are
  std::vector<std::string> names;   // patterns with * and ?: of states, regions, variables ...; nothing: all
  std::vector<std::string> states;  // exactly: of states; nothing: all that there is
  std::vector<std::string> paths;   // patterns of the resource's path; nothing: all
  wire::StateTerms terms;           // of names of any kind
  wire::ResourceTerms resources;    // of the resource's path
  // A regular expression (ECMAScript, but for back-references) found in "RESOURCE NAME".
  std::string match;
  DurationNs least{};       // visits and regions that are shorter are left out; of more than 0: moments
  DurationNs most_lasts{};  // not 0: what is longer is left out
  std::uint64_t least_bytes = 0, most_bytes = 0;  // the same, of bytes; of either: variables, too
  std::optional<std::int32_t> peer;               // only what is with this rank; MARGAY_NO_PEER: with none
  std::uint64_t longest = 0;                      // not 0: so many, the longest first
  std::uint64_t most = 0;                         // not 0: the first so many
  std::uint64_t refused = 0;                      // not 0: where there are more, none (kLimit)
  // Told now and then how much of the stretch was read, 0 to 1.
  std::function<void(double)> progress;
  // Asked now and then: false ends the reading.
  std::function<bool()> go_on;

  std::size_t most_held = std::size_t{1} << 21;
  static constexpr std::uint64_t kMostLongest = 1'000'000;
};

// Valid during the call.
struct EventRow {
  const trace::Occurrence& what;
  const std::string& resource;  // path
  const trace::Name& name;
};

struct EventCounts {
  std::uint64_t told = 0;
  bool more = false;           // `most` were told, and there may be others
  std::uint64_t late = 0;      // told after one that begins later
  std::uint64_t holes = 0;     // stretches of which events are missing
  std::uint64_t rejected = 0;  // records that make no sense
  bool exact = true;           // of all that is open at `from` it is known
};

// `resume` is what load() told of the archive.
Result<EventCounts> list_events(const store::Archive& archive, const store::Resume& resume,
                                const EventQuery& query, const std::function<Status(const EventRow&)>& take);

}  // namespace margay::daemon
