#include "margay/scene/live_view.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace margay::scene {
namespace {

tl::unexpected<Error> bad_report(const std::string& what) {
  return fail(ErrorCode::kCorrupt, "the daemon's report: " + what);
}

// Depth-first, with a path each: what is above a node are the nodes before it of smaller depth.
Status put_nodes(const wire::Report& report, wire::ViewAnswer& answer) {
  std::vector<std::uint32_t> above;
  for (int i = 0; i < report.nodes_size(); ++i) {
    const wire::NodeBar& from = report.nodes(i);
    if (i == 0 ? from.depth() != 0 : from.depth() == 0 || from.depth() > above.size())
      return bad_report("node " + std::to_string(i) + " does not follow its parent, depth first");
    above.resize(from.depth());
    wire::ViewNode& to = *answer.add_nodes();
    to.set_leaves(from.leaves());
    if (i > 0) {
      to.set_parent(above.back());
      std::string_view name = from.path();
      const std::string& parent = report.nodes(static_cast<int>(above.back())).path();
      if (name.starts_with(parent)) name.remove_prefix(parent.size());
      while (name.starts_with('/')) name.remove_prefix(1);
      to.set_name(std::string(name));
    }
    above.push_back(static_cast<std::uint32_t>(i));
  }
  return {};
}

void put_root(const wire::Report& report, wire::ViewAnswer& answer) {
  if (report.nodes_size() > 0) answer.add_nodes()->set_leaves(report.nodes(0).leaves());
}

Status put_times(const wire::Report& report, const wire::PartitionView& of, wire::ViewAnswer& answer) {
  const std::int64_t slice = report.slice_ns();
  std::uint32_t slices = 0;
  for (int i = 2; i < of.parts_size(); i += 3) {
    if (of.parts(i) >= kMostSlices)
      return fail(ErrorCode::kLimit, "the daemon's report: more slices than can be shown");
    slices = std::max(slices, of.parts(i) + 1);
  }
  // The first slice of what a run can last.
  std::int64_t begin = 0, end = 0;
  if (slice <= 0 || __builtin_mul_overflow(of.first_slice(), slice, &begin) ||
      __builtin_mul_overflow(slice, static_cast<std::int64_t>(slices), &end) ||
      __builtin_add_overflow(begin, end, &end))
    return bad_report("the times of its slices are out of range");
  for (std::uint32_t k = 0; k <= slices; ++k) answer.add_boundaries(begin + slice * k);
  answer.set_zero_ns(report.run_begin_ns() - report.run_begin_ns() % slice);
  return {};
}

// Only the states that the partition has: of all that a program could do most are never seen.
Status put_states(const wire::Report& report, const wire::PartitionView& of, wire::ViewAnswer& answer) {
  const std::vector<std::uint32_t> ids = states_of(of);
  for (const std::uint32_t id : ids) {
    if (id >= static_cast<std::uint32_t>(report.states_size())) return bad_report("an unknown state");
    *answer.add_states() = report.states(static_cast<int>(id));
  }
  for (const std::uint32_t id : of.share_state())
    answer.add_share_state(
        static_cast<std::uint32_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin()));
  return {};
}

void put_parts(const wire::PartitionView& of, wire::ViewAnswer& answer) {
  for (int i = 0; i < of.parts_size(); i += 3) {
    answer.add_part_node(of.parts(i));
    answer.add_part_first(of.parts(i + 1));
    answer.add_part_last(of.parts(i + 2));
  }
  *answer.mutable_part_gain() = of.part_gain();
  *answer.mutable_part_loss() = of.part_loss();
  *answer.mutable_part_known() = of.part_known();
  *answer.mutable_part_states() = of.part_states();
  *answer.mutable_share() = of.share();
}

}  // namespace

std::vector<std::uint32_t> states_of(const wire::PartitionView& partition) {
  std::vector<std::uint32_t> ids(partition.share_state().begin(), partition.share_state().end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

bool is_live(const Subject& s, const wire::Report& report) {
  const bool everything = !s.time && (s.node.empty() || s.node == "/") && s.states.empty() &&
                          s.filter.empty() && s.view.is_usual();
  const bool finest = s.level.value == 0 || s.level.value == report.slice_ns();
  const bool by_daemon = !s.p && (s.policy.empty() || s.policy == "noise");
  // What a replay shows is chosen by who plays it, and what is measured is not durations.
  return everything && finest && by_daemon && s.slices == 0 && s.measure.empty() &&
         s.cuts == wire::ViewQuestion::SPATIOTEMPORAL && !s.time_p && !report.has_replay() &&
         !report.has_measured();
}

Result<ViewData> live_view_untrusted(const wire::Report& report, LivePart part) {
  const bool temporal = part == LivePart::kTimeLine;
  const wire::PartitionView& of = temporal ? report.temporal() : report.spatiotemporal();
  if (of.parts().empty()) return fail(ErrorCode::kUnavailable, "the report lists no parts");
  if (of.parts_size() % 3 != 0) return bad_report("its parts are not triples");
  wire::ViewAnswer answer;
  if (temporal)
    put_root(report, answer);
  else if (Status ok = put_nodes(report, answer); !ok)
    return tl::unexpected(ok.error());
  for (const auto step : {put_times, put_states})
    if (Status ok = step(report, of, answer); !ok) return tl::unexpected(ok.error());
  put_parts(of, answer);
  answer.set_p(of.p());
  answer.set_gain(of.gain());
  answer.set_loss(of.loss());
  answer.set_policy(kDaemonsPolicy);
  answer.set_why(temporal ? "the p by which the daemon finds phases"
                          : "just above the job's noise, and no larger than alerts need to be seen");
  if (temporal) answer.mutable_question()->set_partition(wire::ViewQuestion::TEMPORAL);
  return view_data_untrusted(answer);
}

}  // namespace margay::scene
