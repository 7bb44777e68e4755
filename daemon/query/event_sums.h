// What all single events of a stretch sum to, as an answer: visits by name, with how long they last, and
// messages by who sent them to whom.
//
// Errors: those of list_events and list_messages; kTimeout where `go_on` of the query ended the reading:
// of what was read until then nothing is told, for it would look like all. Thread safety: functions are safe.
// Cost: that of the lists. Memory: kMostGroups of EventStatistics.
#pragma once

#include "margay/query/event_question.h"
#include "margay/store/archive.h"
#include "margay/wire/events.pb.h"

namespace margay::daemon {

// Into `answer`: sums, and the names and resources that they are of. `list` has the stretch.
Status put_sums(const store::Archive& archive, const store::Resume& resume, const EventPageRequest& request,
                const EventQuery& list, wire::EventsAnswer& answer);

}  // namespace margay::daemon
