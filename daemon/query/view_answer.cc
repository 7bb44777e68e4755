#include "margay/query/view_answer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <vector>

#include "margay/base/text.h"
#include "margay/query/event_list.h"
#include "margay/query/message_list.h"
#include "margay/query/run_views.h"

namespace margay::daemon {
namespace {

using Measure = slicer::Operator::Measure;

wire::StateFamily family_of(const std::string& name, const ViewRequest& request,
                            const model::StateTable& states) {
  if (request.op.of_variable()) return wire::FAMILY_VARIABLE;
  for (const model::StateInfo& s : states.states())
    if (s.name == name) return static_cast<wire::StateFamily>(s.family);
  return request.op.measure == Measure::kOccurrences ? wire::FAMILY_MARK : wire::FAMILY_LINK;
}

// Sums of a part's cells.
struct Sums {
  double known = 0;
  double cells = 0;
  std::vector<std::pair<double, std::uint32_t>> states;  // that it has, largest first
};
Sums sums_of(const Model& model, NodeIndex node, std::size_t first, std::size_t last,
             std::vector<double>& scratch) {
  scratch.assign(model.states, 0.0);
  const auto leaves = model.tree.leaves_under(node);
  Sums out;
  out.cells = static_cast<double>(leaves.size()) * static_cast<double>(last - first + 1);
  if (model.weights.empty()) out.known = out.cells;
  for (std::size_t t = first; t <= last; ++t)
    for (const partition::LeafPosition s : leaves) {
      const std::size_t cell = t * model.leaves() + s.value;
      if (!model.weights.empty()) out.known += model.weights[cell];
      const double* row = model.values.data() + cell * model.states;
      for (std::size_t x = 0; x < model.states; ++x) scratch[x] += row[x];
    }
  for (std::uint32_t x = 0; x < model.states; ++x)
    if (scratch[x] > 0) out.states.emplace_back(scratch[x], x);
  std::sort(out.states.begin(), out.states.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  return out;
}

}  // namespace

void put_model(const Model& model, const ViewRequest& request, const model::StateTable& states,
               wire::ViewAnswer& answer) {
  answer.set_zero_ns(model.times->zero.value);
  for (std::size_t k = 0; k <= model.slices; ++k)
    answer.add_boundaries(
        (model.times->zero + model.begin_of(model.first_slice + static_cast<std::int64_t>(k))).value);
  for (std::uint32_t k = 0; k < model.tree.size(); ++k) {
    const NodeIndex node(k);
    const bool root = node == model.tree.root();
    wire::ViewNode& out = *answer.add_nodes();
    if (!root) out.set_name(clean_utf8(model.node_names[k]));
    out.set_parent(root ? k : model.tree.parent(node).value);
    out.set_leaves(static_cast<std::uint32_t>(model.tree.leaves_under(node).size()));
  }
  for (std::uint32_t l = 0; l < model.resources.size(); ++l)
    answer.mutable_nodes(static_cast<int>(model.tree.leaf_node(partition::LeafPosition(l)).value))
        ->set_resource(clean_utf8(model.resources[l]));
  for (const std::string& name : model.state_names) {
    wire::Name& out = *answer.add_states();
    out.set_name(clean_utf8(name));
    out.set_family(static_cast<std::uint32_t>(family_of(name, request, states)));
  }
  if (request.op.measure == Measure::kDuration) return;
  answer.set_unit(request.op.unit());
  // As bars of reports have it: of one resource, a second; what does not add up is what it is.
  const double slice = static_cast<double>((model.times->to - model.times->from).value) * 1e-9 /
                       static_cast<double>(model.slices);
  answer.set_full(request.op.adds_up() ? model.unit / slice : model.unit);
}

void put_attributes(std::span<const model::Attributes> leaves, wire::ViewAnswer& answer) {
  for (const RunAttribute& a : attributes_of_run(leaves)) {
    wire::ViewAttribute& out = *answer.add_attributes();
    out.set_name(clean_utf8(a.name));
    out.set_values(static_cast<std::uint32_t>(a.values));
  }
  for (const std::string& view : views_worth_trying(leaves)) answer.add_views(clean_utf8(view));
}

bool put_parts(const Model& model, const partition::Partition& partition, const AnswerLimits& limits,
               wire::ViewAnswer& answer) {
  if (partition.parts.size() > limits.parts) return false;
  answer.set_p(partition.p);
  answer.set_gain(partition.gain * model.unit);
  answer.set_loss(partition.loss * model.unit);
  std::vector<double> scratch;
  for (const partition::Part& part : partition.parts) {
    const NodeIndex node = part.node == partition::kAllLeaves ? model.tree.root() : part.node;
    const auto first = static_cast<std::uint32_t>(part.first.value - model.first_slice.value);
    const auto last = static_cast<std::uint32_t>(part.last.value - model.first_slice.value);
    const Sums sums = sums_of(model, node, first, last, scratch);
    if (static_cast<std::size_t>(answer.share_size()) + sums.states.size() > limits.shares) return false;
    answer.add_part_node(node.value);
    answer.add_part_first(first);
    answer.add_part_last(last);
    answer.add_part_gain(static_cast<float>(part.gain * model.unit));
    answer.add_part_loss(static_cast<float>(part.loss * model.unit));
    answer.add_part_known(static_cast<float>(std::clamp(sums.known / sums.cells, 0.0, 1.0)));
    answer.add_part_states(static_cast<std::uint32_t>(sums.states.size()));
    for (const auto& [sum, state] : sums.states) {
      answer.add_share_state(state);
      answer.add_share(static_cast<float>(sum / sums.cells));
    }
  }
  return answer.ByteSizeLong() <= limits.bytes;
}

void put_curve(const Model& model, const partition::SignificantP& curve, const AnswerLimits& limits,
               wire::ViewAnswer& answer) {
  const std::size_t points = std::min(curve.points.size(), limits.curve);
  for (std::size_t i = 0; i < points; ++i) {
    const partition::QualityPoint& q = curve.points[i];
    wire::QualityPoint& out = *answer.add_curve();
    out.set_p(q.p);
    out.set_gain(q.gain * model.unit);
    out.set_loss(q.loss * model.unit);
    out.set_parts(static_cast<std::uint32_t>(q.aggregates));
  }
  answer.set_curve_complete(curve.complete && points == curve.points.size());
}

namespace {

// What events are said to be of: a resource's path in the usual view.
std::map<std::string, std::uint32_t> nodes_by_resource(const wire::ViewAnswer& answer) {
  std::map<std::string, std::uint32_t> nodes;
  std::vector<std::string> paths;
  for (int k = 0; k < answer.nodes_size(); ++k) {
    const wire::ViewNode& node = answer.nodes(k);
    paths.push_back(k == 0 ? "" : paths[node.parent()] + "/" + node.name());
    nodes.emplace(node.resource().empty() ? paths.back() : node.resource(), k);
  }
  return nodes;
}

// Of the answer's stretch and node, as many as visits are wanted; false: there is no stretch, or no node.
template <class Query>
bool look_at(const ViewRequest& request, const wire::ViewAnswer& answer, const std::function<bool()>& go_on,
             Query& query) {
  const int slices = answer.boundaries_size();
  if (slices < 2 || answer.nodes_size() == 0) return false;
  query.from = TimeNs(answer.boundaries(0)), query.to = TimeNs(answer.boundaries(slices - 1));
  std::string node = request.node.starts_with('/') ? request.node : "/" + request.node;
  while (node.size() > 1 && node.ends_with('/')) node.pop_back();
  query.view = request.view;
  query.nodes = {std::move(node)};
  query.resources = request.filter.resources;
  query.refused = request.visits;
  query.go_on = go_on;
  return true;
}

// Regions, variables and marks, in the order in which they are told.
class Annotations {
 public:
  void add(const EventRow& row, std::uint32_t leaf, TimeNs from) {
    const trace::Occurrence& o = row.what;
    const int kind = kind_of(o.kind);
    const double value = kind == 2 ? std::bit_cast<double>(o.bytes) : 0;
    if (kind == 0 || !std::isfinite(value)) return;
    const auto [name, fresh] = names_.emplace(o.name, static_cast<std::uint32_t>(names_.size()));
    if (fresh) out_.add_names(clean_utf8(row.name.shown()));
    out_.add_node(leaf);
    out_.add_name(name->second);
    out_.add_kind(static_cast<std::uint32_t>(kind));
    out_.add_begin_ns((o.begin - from).value);
    out_.add_length_ns(kind == 1 ? static_cast<std::uint64_t>((o.end - o.begin).value) : 0);
    out_.add_value(value);
    out_.add_depth(kind == 1 ? o.depth : 0);
  }
  wire::ViewAnnotations take() { return std::move(out_); }

 private:
  static int kind_of(trace::Occurrence::Kind kind) {
    using Kind = trace::Occurrence::Kind;
    return kind == Kind::kRegion ? 1 : kind == Kind::kVariable ? 2 : kind == Kind::kMark ? 3 : 0;
  }
  wire::ViewAnnotations out_;
  std::map<std::uint16_t, std::uint32_t> names_;
};

// Where there are too many, or none are kept, an answer goes without.
Status or_none(const Error& error) {
  const bool none = error.code == ErrorCode::kLimit || error.code == ErrorCode::kNotFound ||
                    error.code == ErrorCode::kTimeout;
  return none ? Status() : tl::unexpected(error);
}

}  // namespace

Status put_visits(const store::Archive& archive, const store::Resume& resume, const ViewRequest& request,
                  const std::function<bool()>& go_on, wire::ViewAnswer& answer) {
  EventQuery query;
  if (!look_at(request, answer, go_on, query)) return {};
  const auto nodes = nodes_by_resource(answer);
  std::map<std::string, std::uint32_t> states;
  for (int x = 0; x < answer.states_size(); ++x) states.emplace(answer.states(x).name(), x);
  wire::ViewVisits out;
  Annotations annotations;
  const auto counts = list_events(archive, resume, query, [&](const EventRow& row) -> Status {
    const trace::Occurrence& o = row.what;
    const auto leaf = nodes.find(clean_utf8(row.resource));
    if (leaf == nodes.end()) return {};
    if (o.kind != trace::Occurrence::Kind::kState)
      return annotations.add(row, leaf->second, query.from), Status();
    const auto state = states.find(clean_utf8(row.name.text));
    if (state == states.end()) return {};  // it was not asked for, or is Unknown
    out.add_node(leaf->second);
    out.add_state(state->second);
    out.add_begin_ns((o.begin - query.from).value);
    out.add_length_ns(static_cast<std::uint64_t>((o.end - o.begin).value));
    out.add_depth(o.depth);
    out.add_flags((o.begun_before ? 1u : 0u) | (o.goes_on ? 2u : 0u) | (o.calls != 1 ? 4u : 0u));
    return {};
  });
  if (!counts) return or_none(counts.error());
  if (out.node_size() == 0) return {};
  *answer.mutable_visits() = std::move(out);
  if (auto told = annotations.take(); told.node_size() > 0) *answer.mutable_annotations() = std::move(told);
  return {};
}

Status put_messages(const store::Archive& archive, const store::Resume& resume, const ViewRequest& request,
                    const std::function<bool()>& go_on, wire::ViewAnswer& answer) {
  MessageQuery query;
  if (!look_at(request, answer, go_on, query)) return {};
  const auto nodes = nodes_by_resource(answer);
  wire::ViewMessages out;
  const auto counts = list_messages(archive, resume, query, [&](const MessageRow& row) -> Status {
    const auto from = nodes.find(clean_utf8(row.from)), to = nodes.find(clean_utf8(row.to));
    if (from == nodes.end() || to == nodes.end()) return {};
    out.add_from(from->second);
    out.add_to(to->second);
    out.add_sent_ns((row.what.sent - query.from).value);
    out.add_took_ns((row.what.received - row.what.sent).value);
    out.add_bytes(row.what.bytes);
    out.add_tag(row.what.tag);
    out.add_flags(row.what.completed ? 0 : 1);
    return {};
  });
  if (!counts) return or_none(counts.error());
  for (const std::string& note : unpaired_notes(counts->calls)) answer.add_notes("messages: " + note);
  if (out.from_size() > 0) *answer.mutable_messages() = std::move(out);
  return {};
}

void put_question(const Model& model, const ViewRequest& request, wire::ViewAnswer& answer) {
  wire::ViewQuestion& q = *answer.mutable_question();
  q.set_from_ns(model.times->from.value);
  q.set_to_ns(model.times->to.value);
  q.set_slices(static_cast<std::uint32_t>(model.slices));
  q.set_node(clean_utf8(request.node));
  if (!request.view.is_usual()) *q.mutable_view() = request.view_terms;
  for (const std::string& s : request.states) q.add_states(s);
  if (request.filter_terms.ByteSizeLong() > 0) *q.mutable_filter() = request.filter_terms;
  if (request.op != slicer::Operator{}) q.set_measure(request.op.text());
  q.set_partition(cuts_on_the_wire(request.cuts));
  if (request.p)
    q.set_p(*request.p);
  else
    q.set_policy(request.policy == ViewRequest::Policy::kJump ? "jump" : "noise");
  q.set_curve(request.curve);
  q.set_visits(request.visits);
}

wire::ViewAnswer view_error(std::uint64_t token, const std::string& sentence) {
  wire::ViewAnswer answer;
  answer.set_token(token);
  answer.mutable_question()->set_token(token);
  answer.set_error(clean_utf8(sentence));
  return answer;
}

}  // namespace margay::daemon
