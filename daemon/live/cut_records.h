// Records of a cut from what the ingest holds, and back. Pure. Thread safety: functions of their arguments.
#pragma once

#include "margay/ingest/source_registry.h"
#include "margay/model/state_table.h"
#include "margay/slicer/slicer.h"
#include "margay/store/records.h"

namespace margay::daemon {

// The stack as the archive keeps it: what the leaf does when nothing is open, then the open states.
store::LeafState to_record(LeafIndex leaf, const slicer::LeafState& s);
slicer::LeafState from_record(const store::LeafState& r);

// The part of it that the operator goes on from.
store::MeasureState to_measure_record(LeafIndex leaf, const slicer::LeafState& s);
void add_measure_record(const store::MeasureState& m, slicer::LeafState& s);

// Without its streams.
store::SourceRecord to_record(SourceId id, const ingest::Source& s);
// `heard`: host time.
ingest::Source from_record(const store::SourceRecord& r, const model::StateTable& states, TimeNs heard);

store::StreamRecord to_record(SourceId source, std::uint32_t stream, std::uint32_t epoch,
                              const ingest::Account& a);
ingest::Account from_record(const store::StreamRecord& r);

}  // namespace margay::daemon
