// The list of events (event_list.h) a page at a time, for somebody who looks at it while it is read: what
// could be read until `go_on` ended it, and where to go on. All pages of a stretch, one behind the other, are
// its list: each row once, in order.
//
// A page reads its events anew, from its place on and from what comes before it as the list does. What is
// open where it ends, and began after its own begin, waits for the next one. Where that would leave nothing
// to tell (it has been open for all of the page, or for half of it) it is told as going on, with what it has
// lasted so far: that is the least that it lasts. The longest rows of a page are the longest of those that
// it would have: of all pages together, of the stretch.
//
// Errors: as list_events, but that neither kTimeout nor kLimit is one. Thread safety: none. Cost: as
// list_events; a page that is full ends the reading. Memory: `most_held` rows of some 90 bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "margay/query/event_list.h"

namespace margay::daemon {

// Rows that begin before `at` come before it, and so do the first `rows` of those that begin then.
struct EventPlace {
  TimeNs at{};
  std::uint64_t rows = 0;
  bool operator==(const EventPlace&) const = default;
};

struct EventPageCounts {
  std::uint64_t told = 0;
  std::uint64_t holes = 0;         // places at which records are missing, of what was read
  bool exact = true;               // of all that is open at `from` it is known, as far as was read
  bool stuck = false;              // nothing could be told: it takes longer to come to where the page begins
  std::optional<EventPlace> next;  // nothing: the stretch was read to its end; with `stuck` as `after`
  TimeNs read_until{};             // all rows that begin before were told, by this page or those before
};

// With query.most rows, or query.longest, or with neither all, in no order: how long they last is not asked
// then, and nothing waits for its end. `refused` is not looked at. `after` is where the page before ended;
// nothing: the first page.
Result<EventPageCounts> list_event_page(const store::Archive& archive, const store::Resume& resume,
                                        const EventQuery& query, const std::optional<EventPlace>& after,
                                        const std::function<Status(const EventRow&)>& take);

}  // namespace margay::daemon
