// The partition that a daemon keeps up to date, as its reports bring it: what a picture that follows a run is
// drawn from, without asking.
//
// Thread safety: pure functions. Cost: linear in the report.
#pragma once

#include "margay/scene/navigation.h"
#include "margay/scene/view_data.h"
#include "margay/wire/report.pb.h"

namespace margay::scene {

// ViewData::policy of such a picture: p is the daemon's own, and phases and alerts go by it.
inline constexpr const char* kDaemonsPolicy = "daemon";

enum class LivePart : std::uint8_t { kPicture, kTimeLine };

// Whether reports bring what the subject asks for: the newest slices of the finest level, of everything that
// a run which goes on does, at a p that is left to the daemon. Everything else is asked for (question_of()).
bool is_live(const Subject& subject, const wire::Report& report);

// Untrusted, and checked like an answer (view_data_untrusted()). kUnavailable where the report lists no
// parts: there are none yet, or more than it has room for. A temporal partition knows of no node but the
// root. Token, question and curve are empty.
Result<ViewData> live_view_untrusted(const wire::Report& report, LivePart part = LivePart::kPicture);
// Of each state of the picture its index in Report.states: only those that a part has are there.
std::vector<std::uint32_t> states_of(const wire::PartitionView& partition);

}  // namespace margay::scene
