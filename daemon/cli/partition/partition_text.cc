// The human view of `margay partition`.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "margay/query/part_states.h"
#include "margay/text/table.h"
#include "margay/text/text.h"
#include "partition_output.h"

namespace margay::daemon {
namespace {

constexpr std::size_t kWidestName = 48;
constexpr int kBar = 12;

std::string printf_text(const char* format, double x) {
  char text[64];
  std::snprintf(text, sizeof text, format, x);
  return text;
}
// Bits, and values of p: five digits say what a person compares.
std::string number(double x) {
  return printf_text("%.5g", x + 0.0);
}
std::string percent(double share) {
  return printf_text("%.1f", 100 * share);
}
double share_of(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}
std::string name_text(const std::string& name) {
  return text::shortened(text::printable(name, true, 4 * kWidestName), kWidestName);
}
std::string plural(std::size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string range(SliceIndex first, SliceIndex last) {
  return first == last ? std::to_string(first.value)
                       : std::to_string(first.value) + ".." + std::to_string(last.value);
}

// Seconds, to what a person can compare; ns where there is less than that.
std::string time_text(DurationNs d) {
  const double s = static_cast<double>(d.value) / 1e9;
  return d.value % 1000 != 0 && std::abs(s) < 1e-3 ? std::to_string(d.value) + " ns"
                                                   : printf_text("%.6g", s) + " s";
}

std::string head_text(const PartitionReport& r) {
  const Model& m = r.model;
  std::string out = text::printable(r.name, true, 200) + ": " +
                    (m.leaves() == 1 ? "1 leaf" : std::to_string(m.leaves()) + " leaves") + ", " +
                    plural(m.slices, "slice") + " (" +
                    range(m.first_slice, m.first_slice + static_cast<std::int64_t>(m.slices) - 1) + "), " +
                    plural(m.states, "state") + "; a hierarchy of " + plural(m.tree.size(), "node") +
                    ", depth " + std::to_string(m.depth()) + "\n";
  if (m.times)
    out += "from " + time_text(m.times->from - m.times->zero) + " to " +
           time_text(m.times->to - m.times->zero) + ", slices of " +
           time_text(m.begin_of(m.first_slice + 1) - m.begin_of(m.first_slice)) + "; ";
  for (const auto& [name, op] : partition::kOperatorNames)
    if (op == r.op) out += "operator " + std::string(name);
  if (!r.measures.empty()) out += ", " + name_text(r.measures);
  if (!r.view.empty()) out += ", by " + name_text(r.view);
  if (number(m.unit) != "1")
    out += "; values up to " + number(m.unit) + " a cell, gain and loss in their units";
  return out + "\n";
}

std::string measures_text(const PartitionReport& r, const partition::Partition& p) {
  const bool temporal = r.op == partition::Operator::kTemporal;
  const double cells =
      static_cast<double>(r.model.slices) * (temporal ? 1.0 : static_cast<double>(r.model.leaves()));
  const double lost = std::min(1.0, share_of(p.loss, r.whole.loss));
  std::string out = plural(p.parts.size(), "part") + " of " + printf_text("%.0f", cells) +
                    (temporal ? " slices" : " cells") + "\n";
  text::Table table({"", ">", ""});
  table.add({"pIC", number(p.pIC), "bits"});
  table.add({"gain", number(p.gain),
             "bits, " + percent(share_of(p.gain, r.whole.gain)) + " % of the complexity reduced"});
  table.add({"loss", number(p.loss),
             "bits, " + percent(lost) + " % of the information lost, " + percent(1 - lost) + " % kept"});
  const std::string lines = table.text();
  return out + lines.substr(lines.find('\n') + 1);
}

std::vector<std::string> part_row(const PartitionReport& r, const ShownPartition& shown, std::size_t i) {
  const partition::Part& part = shown.partition.parts[i];
  const auto states = internal::largest_states(r.model, part, 3);
  std::vector<std::string> row = {name_text(r.model.label(internal::node_of(r.model, part))),
                                  range(part.first, part.last)};
  if (r.model.times) {
    row.push_back(time_text(r.model.begin_of(part.first)));
    row.push_back(time_text(r.model.begin_of(part.last + 1)));
  }
  row.push_back(number(part.gain));
  row.push_back(number(part.loss));
  if (shown.strengths) {
    const double s = (*shown.strengths)[i];
    row.push_back(std::isfinite(s) ? number(s) : "never");
  }
  row.push_back(states.empty() ? "-" : name_text(r.model.state_label(states.front().state)));
  row.push_back(states.empty() ? "" : percent(states.front().share) + " %");
  std::string means;
  for (const internal::StateShare& s : states)
    means += (means.empty() ? "" : ", ") + name_text(r.model.state_label(s.state)) + ": " +
             printf_text("%.3g", s.mean);
  row.push_back(means);
  return row;
}

std::string text_of(const PartitionReport& r, const ShownPartition& shown, bool all) {
  const partition::Partition& p = shown.partition;
  std::string out = "\np " + number(p.p);
  if (shown.chosen) out += " (" + shown.chosen->policy + ": " + shown.chosen->why + ")";
  out += ": " + measures_text(r, p) + "\n";
  std::vector<std::string> head = {"resource", "slices"};
  for (const char* h : {">from", ">to"})
    if (r.model.times) head.emplace_back(h);
  for (const char* h : {">gain", ">loss"}) head.emplace_back(h);
  if (shown.strengths) head.emplace_back(">merges at p");
  for (const char* h : {"mode", ">share", "mean of a cell"}) head.emplace_back(h);
  text::Table table(head);
  const std::size_t lines = all ? p.parts.size() : std::min(p.parts.size(), kMostLines);
  for (std::size_t i = 0; i < lines; ++i) table.add(part_row(r, shown, i));
  out += table.text();
  if (lines < p.parts.size())
    out += "  ... and " + plural(p.parts.size() - lines, "part") + " more (--all)\n";
  return out;
}

std::string bar(double share) {
  const int filled = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kBar));
  return "|" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(kBar - filled), ' ') + "|";
}

std::string text_of(const PartitionReport& r, const ShownList& shown, bool all) {
  const partition::SignificantP& list = shown.list;
  std::string out = "\n" + plural(list.points.size(), "partition");
  if (shown.envelope)
    out += ", the best pIC being known to within " + number(list.error) + " bits at any p";
  else
    out += list.complete ? ", every one that is optimal at some p" : "";
  if (!list.complete) out += "; the search ended early, and there may be others between these";
  out += "\n\n";
  text::Table table({">from p", ">parts", ">gain", ">loss", ">complexity reduced", ">information lost", ""});
  // Where there are too many: every difference shown, and then the simplest ones.
  const std::size_t left_out = all || list.points.size() <= kMostLines ? 0 : list.points.size() - kMostLines;
  for (std::size_t i = 0; i < list.points.size(); ++i) {
    if (i >= 1 && i <= left_out) continue;
    const partition::QualityPoint& q = list.points[i];
    const double gain = share_of(q.gain, r.whole.gain), loss = share_of(q.loss, r.whole.loss);
    table.add({number(q.p), std::to_string(q.aggregates), number(q.gain), number(q.loss),
               percent(gain) + " % " + bar(gain), percent(loss) + " % " + bar(loss),
               list.points.size() > 1 && q.p == shown.jump ? "<- the largest fall of quality follows" : ""});
    if (i == 0 && left_out > 0) table.add({"...", "", "", "", "", "", ""});
  }
  out += table.text();
  if (left_out > 0)
    out += "  ... " + plural(left_out, "partition") +
           " left out after the first (--all; --envelope gives fewer)\n";
  return out;
}

}  // namespace

std::string partition_text(const PartitionReport& report, bool all) {
  std::string out = head_text(report);
  for (const ShownPartition& p : report.partitions) out += text_of(report, p, all);
  if (report.list) out += text_of(report, *report.list, all);
  return out;
}

}  // namespace margay::daemon
