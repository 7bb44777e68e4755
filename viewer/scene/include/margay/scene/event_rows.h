// A page of the list of single events: a daemon's answer (wire::EventsAnswer), checked, and what its cells
// say.
//
// WHAT IS CHECKED. As of a ViewAnswer (view_data.h): it is refused with a sentence (kCorrupt) where lists
// differ in length, an index is out of range, a kind is unknown, or a time does not fit 64 bits; and where it
// has more than kMostEventRows rows or bins (kLimit). An answer that is nothing but an error gives that error
// (kUnavailable). Names are made valid UTF-8 without control characters, and cut.
//
// UNITS. Times are trace time; a row is [begin, end), of a moment they are the same.
//
// Thread safety: values and pure functions. Cost: linear in the answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/scene/view_data.h"
#include "margay/wire/events.pb.h"

namespace margay::scene {

inline constexpr int kMostEventRows = 2000;  // of a page; and bins of a density

struct EventRow {
  enum class Kind : std::uint8_t { kState, kRegion, kVariable, kMark, kLinkBegin, kLinkEnd };
  Kind kind = Kind::kState;
  std::uint32_t resource = 0, name = 0;  // of the page
  std::uint32_t depth = 0;               // so many are open around it
  TimeNs begin{}, end{};
  std::uint64_t calls = 1;  // more than 1: summed, one behind the other
  DurationNs longest{};     // of these
  std::uint64_t bytes = 0;  // of a variable the bits of its value
  std::int32_t peer = -1, tag = -1;
  std::uint32_t communicator = 0;
  bool begun_before = false;  // it may have begun earlier
  bool goes_on = false;       // it lasts so long or longer
  bool lasts() const { return kind == Kind::kState || kind == Kind::kRegion; }
};

struct EventPage {
  std::vector<std::string> resources;  // paths
  std::vector<State> names;
  std::vector<EventRow> rows;
  TimeRange time;                         // of the stretch that was asked for, cut to what there is
  TimeNs zero{};                          // that times are shown from
  std::vector<std::uint64_t> density;     // rows that begin in each part of `time`
  std::optional<wire::EventsPlace> next;  // where the next page begins; nothing: there is none
  bool stuck = false;                     // nothing could be read in the time there was
  TimeNs read_until{};                    // within `time`
  std::uint64_t holes = 0;                // places at which records are missing
  bool exact = true;                      // of all that is open at the begin it is known
  std::uint64_t token = 0;
};

Result<EventPage> event_page_untrusted(const wire::EventsAnswer& answer);

enum class EventColumn : std::uint8_t {
  kBegin,
  kDuration,
  kResource,
  kName,
  kPartner,
  kBytes,
  kCalls,
  kDetails
};
inline constexpr int kEventColumns = 8;

// What a cell says, for people; "" where there is nothing to say. Names of states are set in by their depth.
std::string event_cell(const EventPage& page, const EventRow& row, EventColumn column);
// RFC 4180, as `margay events --csv` has it: times in seconds since `zero`, lines end in LF.
std::string event_csv_head();
std::string event_csv(const EventPage& page, const EventRow& row);

}  // namespace margay::scene
