// The model that a viewer asks for: where its slices lie, and what is in them, through the zoom
// (partition/zoom.h).
//
// Thread safety: functions are safe; the archive may be written meanwhile. Errors: sentences for the viewer,
// in the question's words; kInvalidArgument, kLimit, and those of the zoom.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "margay/query/view_source.h"
#include "margay/query/zoom.h"
#include "margay/store/archive.h"
#include "view_question.h"

namespace margay::daemon {

// Where a question's slices lie, once it is known what there is.
struct Stretch {
  TimeNs from{}, to{};  // trace time; not inside
  std::uint32_t slices = 0;
  std::optional<DurationNs> level;  // each is one of this level's; nothing: as `from`, `to` and `slices` say
  bool settled = false;             // late events change nothing in it any more
  bool operator==(const Stretch&) const = default;
};

struct StretchLimits {
  std::uint32_t most_slices = ViewRequest::kMostSlices;    // that memory allows
  std::uint32_t usual_slices = ViewRequest::kUsualSlices;  // at most, where it is left to the daemon
  DurationNs unsettled{};  // so long before its newest slice a run can still change; 0: nothing changes
};

// The newest slices: those of the level that are closed and kept. Another stretch is cut to what there is;
// where the viewer leaves the number of slices to the daemon, boundaries go outwards to slices of the finest
// level, each of the stretch's is made of the same number of them, and the last may reach behind the end: no
// events have to be read. Pure.
Result<Stretch> locate(const ViewRequest& request, const store::Resume& resume, const ZoomExtent& extent,
                       const StretchLimits& limits);

// How many slices fit, 0 to kMostSlices, going by the nodes below request.node and all states of the run:
// into `table_bytes` as what a Batch takes, and into `sum_bytes` as sums of cells. Fewer fit with its tables:
// another p of these is one quick solution, and there is a curve.
struct SlicesThatFit {
  std::uint32_t most = 0, with_tables = 0;
};
SlicesThatFit slices_that_fit(const ViewRequest& request, const store::Resume& resume,
                              std::uint64_t table_bytes, std::uint64_t sum_bytes);

// Reads it. `go_on` false ends that with kTimeout. Where boundaries want events and these take longer than
// `events_patience`, the finest slices are spread in proportion instead, and a note says so; other measures
// than durations are refused then. Takes up to memory_bytes. Cost: the cells or events of the stretch.
struct ModelWishes {
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;
  DurationNs events_patience = seconds(5);
  std::function<bool()> go_on;  // empty: to the end
};
Result<Zoomed> read_view_model(const ViewRequest& request, const Stretch& stretch, const ViewSource& source,
                               const store::Resume& resume, const ModelWishes& wishes, const Clock& clock);

}  // namespace margay::daemon
