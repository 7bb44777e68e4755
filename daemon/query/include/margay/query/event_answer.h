// The answer to a question about the single events of a stretch: a page of the list, or its density.
//
// Thread safety: functions are safe. Cost: that of list_event_page (event_page.h), for the question's
// patience at most; nothing is kept.
#pragma once

#include <functional>
#include <string>

#include "event_question.h"
#include "margay/query/zoom.h"
#include "margay/store/archive.h"

namespace margay::daemon {

// With token 0. Errors are answers. `extent` is what the archive holds; `go_on` ends the reading, as the
// request's patience does by `clock`: the answer has what was found so far, and where to go on.
wire::EventsAnswer answer_events(const store::Archive& archive, const store::Resume& resume,
                                 const ZoomExtent& extent, const EventPageRequest& request,
                                 const Clock& clock, const std::function<bool()>& go_on);

// An answer that is a sentence.
wire::EventsAnswer events_error(std::uint64_t token, const std::string& sentence);

}  // namespace margay::daemon
