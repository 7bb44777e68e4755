#include "margay/query/view_question.h"

#include <algorithm>
#include <cmath>

namespace margay::daemon {
namespace {

tl::unexpected<Error> wrong(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, what);
}

Status check(const wire::ViewQuestion& q) {
  using R = ViewRequest;
  const bool newest = q.from_ns() == 0 && q.to_ns() == 0;
  if (!newest && q.to_ns() <= q.from_ns()) return wrong("to_ns: is not after from_ns");
  if (q.slices() > R::kMostSlices)
    return wrong("slices: " + std::to_string(q.slices()) + ", at most " + std::to_string(R::kMostSlices));
  if (q.slice_ns() < 0) return wrong("slice_ns: is negative");
  if (q.node().size() > R::kLongestNode)
    return wrong("node: longer than " + std::to_string(R::kLongestNode) + " bytes");
  if (q.states_size() > R::kMostStates)
    return wrong("states: " + std::to_string(q.states_size()) + " names, at most " +
                 std::to_string(R::kMostStates));
  // Bounded below, and so no sum is too large.
  if (q.filter().states_size() <= wire::RunFilter::kMostTerms &&
      q.filter().resources_size() <= wire::RunFilter::kMostTerms &&
      q.states_size() + q.filter().states_size() + q.filter().resources_size() > R::kMostStates)
    return wrong("filter: " + std::to_string(q.filter().states_size() + q.filter().resources_size()) +
                 " terms and " + std::to_string(q.states_size()) + " states, at most " +
                 std::to_string(R::kMostStates) + " in all");
  for (const std::string& s : q.states())
    if (s.empty() || s.size() > R::kLongestName)
      return wrong("states: a name has 1 to " + std::to_string(R::kLongestName) + " bytes");
  if (q.measure().size() > R::kLongestMeasure)
    return wrong("measure: longer than " + std::to_string(R::kLongestMeasure) + " bytes");
  if (!wire::ViewQuestion::Partition_IsValid(q.partition())) return wrong("partition: is unknown");
  // Also what is no number.
  if (q.has_p() && !(q.p() >= 0 && q.p() <= 1)) return wrong("p: expected a number from 0 to 1");
  if (!q.policy().empty() && q.policy() != "noise" && q.policy() != "jump")
    return wrong("policy: expected noise or jump");
  if (q.visits() > R::kMostVisits)
    return wrong("visits: " + std::to_string(q.visits()) + ", at most " + std::to_string(R::kMostVisits));
  if (q.has_p() && !q.policy().empty()) return wrong("policy: p is given as well; one of the two");
  return {};
}

}  // namespace

wire::ViewQuestion::Partition cuts_on_the_wire(partition::Operator cuts) {
  switch (cuts) {
    case partition::Operator::kTemporal:
      return wire::ViewQuestion::TEMPORAL;
    case partition::Operator::kSpatial:
      return wire::ViewQuestion::SPATIAL;
    case partition::Operator::kProduct:
      return wire::ViewQuestion::PRODUCT;
    case partition::Operator::kSpatiotemporal:
      break;
  }
  return wire::ViewQuestion::SPATIOTEMPORAL;
}

Result<model::View> view_untrusted(const wire::View& view) {
  auto out = model::View::parse(view.levels(), view.groups());
  if (!out) return fail(out.error(), "view");
  return out;
}

Result<ViewRequest> decode_view_untrusted(const wire::ViewQuestion& q) {
  if (Status ok = check(q); !ok) return tl::unexpected(ok.error());
  ViewRequest r;
  if (!q.measure().empty()) {
    auto op = slicer::Operator::parse(q.measure());
    if (!op) return fail(op.error(), "measure");
    r.op = std::move(*op);
  }
  auto filter = wire::run_filter_untrusted(q.filter());
  if (!filter) return tl::unexpected(filter.error());
  r.filter = std::move(*filter);
  r.filter_terms = q.filter();
  r.token = q.token();
  r.newest = q.from_ns() == 0 && q.to_ns() == 0;
  r.from = TimeNs(q.from_ns());
  r.to = TimeNs(q.to_ns());
  r.slices = q.slices();
  r.slice = DurationNs(q.slice_ns());
  auto view = view_untrusted(q.view());
  if (!view) return tl::unexpected(view.error());
  r.view = std::move(*view);
  r.view_terms = q.view();
  r.node = q.node();
  r.states.assign(q.states().begin(), q.states().end());
  std::sort(r.states.begin(), r.states.end());
  r.states.erase(std::unique(r.states.begin(), r.states.end()), r.states.end());
  for (const auto& [name, cuts] : partition::kOperatorNames)
    if (cuts_on_the_wire(cuts) == q.partition()) r.cuts = cuts;
  if (q.has_p()) r.p = q.p();
  r.policy = q.policy() == "jump" ? ViewRequest::Policy::kJump : ViewRequest::Policy::kNoise;
  r.curve = q.curve();
  r.visits = q.visits();
  return r;
}

}  // namespace margay::daemon
