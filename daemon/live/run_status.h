// How things stand with the sources: accounts and conditions by leaf, and their rows of the table of
// counters. Thread safety: functions of their arguments. Cost: O(streams).
#pragma once

#include "margay/analysis/exchange.h"
#include "margay/live/ingest_model.h"

namespace margay::daemon {

// What the sources are and have sent; `now` is host time.
void set_sources(const IngestModel& model, TimeNs now, RunStatus& status);
// What became of messages.
void set_messages(const ingest::Ingest& ingest, observe::Values& values);

}  // namespace margay::daemon
