#include "partition_output.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "margay/query/part_states.h"
#include "margay/text/csv.h"

namespace margay::daemon {
namespace {

using internal::node_of;
using text::csv_field;
using json = nlohmann::ordered_json;  // keys in the order in which they are documented

// The shortest digits that read back as the same number, as in the JSON.
std::string digits(double x) {
  return json(x + 0.0).dump();
}
// No number: it is never reached.
json number_or_null(double x) {
  return std::isfinite(x) ? json(x + 0.0) : json(nullptr);
}

json json_of(const PartitionReport& report, const ShownPartition& shown) {
  const partition::Partition& p = shown.partition;
  auto parts = json::array();
  for (const partition::Part& part : p.parts)
    parts.push_back({node_of(report.model, part).value, part.first.value, part.last.value});
  json out = {{"p", p.p + 0.0},
              {"pIC", p.pIC + 0.0},
              {"gain", p.gain + 0.0},
              {"loss", p.loss + 0.0},
              {"parts", std::move(parts)}};
  if (report.model.times) {
    out["from_ns"] = report.model.times->from.value;
    out["to_ns"] = report.model.times->to.value;
    out["zero_ns"] = report.model.times->zero.value;
    out["slices"] = report.model.slices;
    out["states"] = report.model.state_names;
    out["operator"] = report.measures;
    if (!report.view.empty()) out["view"] = report.view;
  }
  if (shown.chosen) {
    out["p_policy"] = shown.chosen->policy;
    out["p_reason"] = shown.chosen->why;
  }
  if (shown.strengths) {
    auto& strengths = out["strengths"] = json::array();
    for (const double s : *shown.strengths) strengths.push_back(number_or_null(s));
  }
  if (report.model.has_names()) {
    auto& nodes = out["nodes"] = json::array();
    for (std::uint32_t k = 0; k < report.model.tree.size(); ++k)
      nodes.push_back(report.model.path(NodeIndex(k)));
  }
  return out;
}

json json_of(const ShownList& shown) {
  auto points = json::array();
  for (const partition::QualityPoint& q : shown.list.points)
    points.push_back(
        {{"p", q.p + 0.0}, {"gain", q.gain + 0.0}, {"loss", q.loss + 0.0}, {"aggregates", q.aggregates}});
  json out = {{"p_list", std::move(points)}, {"complete", shown.list.complete}, {"jump", shown.jump}};
  if (shown.envelope) out["error"] = shown.list.error;
  return out;
}

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

}  // namespace

void to_units(partition::Partition& partition, double unit) {
  partition.pIC *= unit;
  partition.gain *= unit;
  partition.loss *= unit;
  for (partition::Part& part : partition.parts) {
    part.gain *= unit;
    part.loss *= unit;
  }
}

void to_units(partition::SignificantP& list, double unit) {
  list.error *= unit;
  for (partition::QualityPoint& q : list.points) {
    q.gain *= unit;
    q.loss *= unit;
  }
}

std::string partition_json(const PartitionReport& report) {
  json out;
  if (report.list) {
    out = json_of(*report.list);
  } else if (report.partitions.size() == 1) {
    out = json_of(report, report.partitions.front());
  } else {
    out = json::array();
    for (const ShownPartition& p : report.partitions) out.push_back(json_of(report, p));
  }
  // Names are other people's: what is no UTF-8 in them is replaced.
  return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string partition_csv(const PartitionReport& report) {
  if (report.list) {
    std::string out = "p,gain,loss,aggregates,gain_percent,loss_percent\n";
    for (const partition::QualityPoint& q : report.list->list.points)
      out += digits(q.p) + "," + digits(q.gain) + "," + digits(q.loss) + "," + std::to_string(q.aggregates) +
             "," + digits(percent(q.gain, report.whole.gain)) + "," +
             digits(percent(q.loss, report.whole.loss)) + "\n";
    return out;
  }
  bool strong = false;
  for (const ShownPartition& shown : report.partitions) strong = strong || shown.strengths;
  std::string out = "p,node,resource,first_slice,last_slice,gain,loss,mode,mode_share";
  out += strong ? ",strength\n" : "\n";
  for (const ShownPartition& shown : report.partitions)
    for (std::size_t i = 0; i < shown.partition.parts.size(); ++i) {
      const partition::Part& part = shown.partition.parts[i];
      const NodeIndex node = node_of(report.model, part);
      const auto mode = internal::largest_states(report.model, part, 1);
      out += digits(shown.partition.p) + "," + std::to_string(node.value) + "," +
             csv_field(report.model.label(node)) + "," + std::to_string(part.first.value) + "," +
             std::to_string(part.last.value) + "," + digits(part.gain) + "," + digits(part.loss) + "," +
             (mode.empty() ? ","
                           : csv_field(report.model.state_label(mode.front().state)) + "," +
                                 digits(mode.front().share));
      if (shown.strengths) {
        const double s = (*shown.strengths)[i];
        out += "," + (std::isfinite(s) ? digits(s) : std::string());
      }
      out += "\n";
    }
  return out;
}

}  // namespace margay::daemon
