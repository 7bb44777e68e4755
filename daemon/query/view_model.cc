#include "margay/query/view_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "margay/settings/units.h"
#include "view_tree.h"

namespace margay::daemon {
namespace {

using Measure = slicer::Operator::Measure;

// As messages of the zoom call it.
constexpr const char* kInput = "this run";

// The zoom names options of `margay partition`; whoever asks by message knows fields.
std::string in_fields(std::string text) {
  constexpr std::string_view kCommand = "partition: ";
  if (text.starts_with(kCommand)) text.erase(0, kCommand.size());
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kWords = {
      {{"--view", "view"},
       {"--from", "from_ns"},
       {"--to", "to_ns"},
       {"--slices", "slices"},
       {"--state", "states"},
       {"--node", "node"},
       {"--level", "slice_ns"},
       {"--operator", "measure"}}};
  for (const auto& [option, field] : kWords)
    if (text.starts_with(option)) text.replace(0, option.size(), field);
  return text;
}

// What is below the node that was asked for, and the way down to it; all, where there is no such node (the
// zoom says so).
Result<partition::TreeShape> tree_of(const ViewRequest& request, const store::Resume& resume) {
  const ViewTree view(attributes_of(resume), request.view);
  auto place = view.find(request.node);
  if (!place) place = view.find("");
  auto shape = view.shape(place->node, place->leaves);
  if (!shape) return tl::unexpected(shape.error());
  return std::move(shape->tree);
}

Result<Stretch> newest(const ViewRequest& q, const store::Resume& resume, const ZoomExtent& extent,
                       std::uint32_t usual) {
  const auto& levels = resume.run.levels;
  std::size_t level = 0;
  if (q.slice != DurationNs()) {
    level = static_cast<std::size_t>(std::find(levels.begin(), levels.end(), q.slice) - levels.begin());
    if (level == levels.size()) {
      std::string known;
      for (const DurationNs d : levels) known += (known.empty() ? "" : ", ") + config::to_text(d);
      return fail(ErrorCode::kInvalidArgument,
                  "slice_ns: " + config::to_text(q.slice) + ": this run has the levels " + known);
    }
  }
  const ZoomExtent::Kept& kept = extent.levels[level];
  const DurationNs d = levels[level];
  if (!kept.any || slice_end(kept.last, d) <= extent.zero)
    return fail(ErrorCode::kUnavailable, "there are no closed slices of " + config::to_text(d) + " yet");
  const std::int64_t wanted = q.slices > 0 ? q.slices : usual;
  const SliceIndex first = std::max({kept.first, kept.last - (wanted - 1), slice_of(extent.zero, d)});
  Stretch out;
  out.from = std::max(slice_begin(first, d), extent.zero);
  out.to = slice_end(kept.last, d);
  out.slices = static_cast<std::uint32_t>(kept.last.value - first.value + 1);
  if (slice_begin(first, d) < extent.zero) out.level = d;  // the run began within it
  return out;
}

// As many slices as are allowed, each made of so many of the finest.
Stretch chosen(TimeNs from, TimeNs to, const ZoomExtent& extent, DurationNs d, std::uint32_t most) {
  from = std::max(extent.zero, slice_begin(slice_of(from, d), d));
  to = std::min(extent.end, slice_end(slice_of(TimeNs(to.value - 1), d), d));
  const std::int64_t count = (to - from).value / d.value;
  const std::int64_t each = (count + most - 1) / most, n = (count + each - 1) / each;
  // A little more than was asked for, so that all slices are alike.
  from = std::max(extent.zero, from - d * (n * each - count));
  return {from, from + d * (n * each), static_cast<std::uint32_t>(n), {}, false};
}

// Whether it is what chosen() makes of such a stretch, which may reach behind the end.
bool as_chosen(const ViewRequest& q, const ZoomExtent& extent, DurationNs d) {
  if (q.slices == 0 || q.from < extent.zero || q.to <= extent.end || q.from >= extent.end) return false;
  const std::int64_t length = (q.to - q.from).value, each = length / q.slices;
  return q.from.value % d.value == 0 && length % q.slices == 0 && each > 0 && each % d.value == 0 &&
         (q.to - extent.end).value < each;
}

// Whether cells tell it all, without a boundary that cuts one.
bool whole_cells(const ViewRequest& q, const Stretch& s, DurationNs finest) {
  const std::int64_t length = (s.to - s.from).value;
  return s.level || (q.op.measure == Measure::kDuration && s.from.value % finest.value == 0 &&
                     length % s.slices == 0 && length / s.slices % finest.value == 0);
}

}  // namespace

Result<Stretch> locate(const ViewRequest& q, const store::Resume& resume, const ZoomExtent& extent,
                       const StretchLimits& limits) {
  if (extent.end <= extent.zero)
    return fail(ErrorCode::kUnavailable, "nothing of this run is in its archive yet");
  const std::uint32_t most = std::min(limits.most_slices, ViewRequest::kMostSlices);
  if (most == 0 || q.slices > most) {
    const std::string what = q.node.empty() ? "the whole run" : q.node;
    return fail(ErrorCode::kLimit,
                most == 0 ? "slices: not even one of " + what + " fits the memory that a view may take"
                          : "slices: " + std::to_string(q.slices) + " of " + what +
                                " do not fit the memory that a view may take, " + std::to_string(most) +
                                " do: ask for so many, or for what is below a node");
  }
  const std::uint32_t usual = std::clamp(limits.usual_slices, 1u, std::min(most, ViewRequest::kUsualSlices));
  Stretch out;
  if (q.newest) {
    auto found = newest(q, resume, extent, usual);
    if (!found) return found;
    out = *found;
  } else {
    const TimeNs from = std::max(q.from, extent.zero), to = std::min(q.to, extent.end);
    if (to <= from)
      return fail(ErrorCode::kInvalidArgument,
                  std::string(q.from >= extent.end ? "from_ns: is after" : "to_ns: is before") +
                      " what there is of this run: from " + std::to_string(extent.zero.value) + " to " +
                      std::to_string(extent.end.value));
    if (as_chosen(q, extent, resume.run.levels[0]))
      out = {q.from, q.to, q.slices, {}, false};
    else if (q.slices > 0)
      out = {from, to, q.slices, {}, false};
    else
      out = chosen(from, to, extent, resume.run.levels[0], usual);
  }
  if (q.op.measure != Measure::kDuration) out.level.reset();  // cells hold durations only
  out.settled = limits.unsettled == DurationNs() || resume.run.end || out.to <= extent.end - limits.unsettled;
  return out;
}

SlicesThatFit slices_that_fit(const ViewRequest& request, const store::Resume& resume,
                              std::uint64_t table_bytes, std::uint64_t sum_bytes) {
  partition::Batch::Options options;
  if (auto tree = tree_of(request, resume)) options.tree = std::move(*tree);
  options.op = request.cuts;
  options.states =
      std::max<std::size_t>(1, request.states.empty() ? resume.states.size() : request.states.size());
  const auto most = [&](auto memory) {
    const auto fits = [&](std::uint64_t slices) {
      return memory(options, slices) <= table_bytes &&
             8 * slices * resume.leaves.size() * (resume.states.size() + 1) <= sum_bytes;
    };
    std::uint32_t fit = 0, not_fit = ViewRequest::kMostSlices + 1;
    while (not_fit - fit > 1) {
      const std::uint32_t middle = fit + (not_fit - fit) / 2;
      (fits(middle) ? fit : not_fit) = middle;
    }
    return fit;
  };
  SlicesThatFit fit{most(partition::Batch::least_memory), most(partition::Batch::memory_needed)};
  if (request.view.is_usual()) return fit;
  // No more than from the usual point of view: so the same stretch is cut alike from all.
  ViewRequest usual = request;
  usual.view = {};
  const SlicesThatFit there = slices_that_fit(usual, resume, table_bytes, sum_bytes);
  return {std::min(fit.most, there.most), std::min(fit.with_tables, there.with_tables)};
}

Result<Zoomed> read_view_model(const ViewRequest& request, const Stretch& stretch, const ViewSource& source,
                               const store::Resume& resume, const ModelWishes& wishes, const Clock& clock) {
  const auto at = [](TimeNs t) { return "@" + std::to_string(t.value); };
  ZoomRequest zoom_request;
  zoom_request.input = kInput;
  zoom_request.from = at(stretch.from);
  zoom_request.to = at(stretch.to);
  if (!stretch.level) zoom_request.slices = stretch.slices;
  zoom_request.past_end = true;
  zoom_request.states = request.states;
  zoom_request.view = request.view;
  zoom_request.node = request.node;
  zoom_request.filter = request.filter;
  zoom_request.op = request.op;
  if (stretch.level) zoom_request.level = config::to_text(*stretch.level);
  zoom_request.memory_bytes = wishes.memory_bytes;
  const auto still = [&] { return !wishes.go_on || wishes.go_on(); };
  const bool events = !whole_cells(request, stretch, resume.run.levels[0]);
  const TimeNs until = clock.monotonic() + wishes.events_patience;
  bool patient = true;
  zoom_request.go_on = [&] {
    patient = !events || clock.monotonic() < until;
    return patient && still();
  };
  auto out = source.zoom(zoom_request, resume);
  if (!out && !patient && still()) {
    const std::string why =
        "reading the events of this stretch takes longer than " + config::to_text(wishes.events_patience);
    if (request.op.measure != Measure::kDuration)
      return fail(ErrorCode::kLimit, "measure: " + why + "; ask for a shorter one");
    zoom_request.level = config::to_text(resume.run.levels[0]);
    zoom_request.go_on = still;
    out = source.zoom(zoom_request, resume);
    if (out)
      out->notes.push_back(why + ": where a boundary cuts a slice of " + *zoom_request.level +
                           ", its times are spread in proportion");
  }
  if (!out) return fail(out.error().code, in_fields(out.error().message));
  return out;
}

}  // namespace margay::daemon
