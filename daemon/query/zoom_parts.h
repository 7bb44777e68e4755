// What the readers of archives and captures share. Private to the folder.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "margay/model/hierarchy.h"
#include "margay/model/state_table.h"
#include "margay/query/zoom.h"
#include "margay/slicer/grid.h"
#include "margay/trace/resampler.h"
#include "view_tree.h"

namespace margay::daemon::internal {

// kInvalidArgument, in the words of `margay partition`.
inline tl::unexpected<Error> wrong(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, "partition: " + what);
}

// The range of a request within [zero, end). Errors name the option. What lies beyond the end is cut off.
Result<slicer::Grid> range_of(const ZoomRequest& request, TimeNs zero, TimeNs end, std::uint64_t slices);
// A time as people write it, or "@" and trace time. `option` begins the error.
Result<TimeNs> time_of(const std::string& text, const char* option, TimeNs zero, TimeNs end);

// "; did you mean 'x'?" for the nearest of the names, if one is near; else the first few there are.
std::string hint(const std::string& word, const std::vector<std::string>& names);

// Checks that the states that were asked for exist.
Status check_states(const ZoomRequest& request, const std::vector<std::string>& names);
// The hierarchy that was asked for, and the node in it. Errors: kInvalidArgument with a hint.
struct Looked {
  ViewTree tree;
  ViewTree::Place at;
};
Result<Looked> look_at(std::span<const model::Attributes> leaves, const ZoomRequest& request);
// Which names get a column; nothing: all. `states` are those of the run; other names are of no family.
std::function<bool(std::string_view)> state_filter(const ZoomRequest& request,
                                                   std::vector<model::StateInfo> states);
// kInvalidArgument where the request leaves none of these states.
Status check_some_state(const ZoomRequest& request, const std::vector<model::StateInfo>& states);

// Cells, wherever they come from.
struct Cells {
  slicer::Grid grid;
  TimeNs zero{};
  const Looked& of;
  std::vector<std::string> columns;
  std::function<double(LeafIndex, std::uint32_t slice, std::size_t column)> value;
  std::function<std::uint64_t(LeafIndex, std::uint32_t slice)> not_there;  // ns Absent or Unknown
  bool durations = true;
};
Result<Model> model_of(const Cells& cells, const ZoomRequest& request);
// The same of what a re-slicer holds.
Result<Model> model_of(const trace::Resampler& trace, TimeNs zero, const ZoomRequest& request);

Result<Zoomed> zoom_archive(const ZoomRequest& request);
Result<Zoomed> zoom_capture(const ZoomRequest& request);

}  // namespace margay::daemon::internal
