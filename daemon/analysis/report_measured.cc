#include "report_measured.h"

#include <algorithm>
#include <numeric>

#include "margay/base/text.h"

namespace margay::daemon {
namespace {

using Measure = slicer::Operator::Measure;

constexpr int kMostShares = 12;
constexpr double kLeastShare = 0.0005;  // of a node's sum

// Of the slices [from, to], per leaf: sums by column, and how many of the slices it was there.
struct Pool {
  std::vector<std::vector<double>> sum;
  std::vector<double> there;
};

Pool pool(const detect::Window& w, std::size_t leaves, SliceIndex from, SliceIndex to) {
  Pool p{std::vector<std::vector<double>>(leaves, std::vector<double>(w.columns(), 0.0)),
         std::vector<double>(leaves, 0.0)};
  for (SliceIndex s = from; s <= to; ++s)
    for (std::uint32_t l = 0; l < leaves; ++l) {
      const auto row = w.row(s, LeafIndex(l));
      for (std::size_t x = 0; x < row.size(); ++x) p.sum[l][x] += row[x];
      p.there[l] += w.weight(s, LeafIndex(l));
    }
  return p;
}

}  // namespace

std::uint32_t measured_state(const ReportInput& in, std::size_t column) {
  return in.options.op.measure == Measure::kMean ? static_cast<std::uint32_t>(in.topology.states.size())
                                                 : in.measured->state_of(column).value;
}

wire::NodeBar* add_bar(const model::Hierarchy::Node& node, wire::Report& report) {
  wire::NodeBar* bar = report.add_nodes();
  bar->set_path(node.path);
  bar->set_depth(node.depth);
  bar->set_leaves(node.leaf_count);
  return bar;
}

void add_measured(const ReportInput& in, std::int64_t pooled_slices, wire::Report& report) {
  const detect::Window& w = *in.measured;
  const slicer::Operator& op = in.options.op;
  const bool mean = op.measure == Measure::kMean;
  auto* told = report.mutable_measured();
  told->set_operator_(clean_utf8(op.text()));
  told->set_unit(op.unit());
  if (!in.measured_error.empty())
    told->set_note("not partitioned: " + in.measured_error);
  else if (w.columns() == 0)
    told->set_note(mean ? "no value of " + clean_utf8(op.variable) + " so far" : "nothing to measure so far");
  if (mean) report.add_states()->set_name(clean_utf8(op.variable));
  if (w.size() == 0) return;

  const model::Hierarchy& h = in.topology.hierarchy;
  const std::size_t leaves = std::min(h.leaf_count(), w.leaves());
  const SliceIndex newest = std::max(w.first(), w.last() + 1 - pooled_slices);
  const Pool now = pool(w, leaves, newest, w.last());
  // Of a stretch: a leaf's rate, or mean.
  const double slice_s = static_cast<double>(in.options.levels[0].value) * 1e-9;
  const auto divisor = [&](const Pool& p, std::size_t leaf, SliceIndex from, SliceIndex to) {
    return mean ? std::max(1.0, p.there[leaf]) : slice_s * static_cast<double>(to.value + 1 - from.value);
  };
  double full = 0;
  const auto look = [&](const Pool& p, SliceIndex from, SliceIndex to) {
    for (std::size_t l = 0; l < leaves; ++l)
      full = std::max(full, std::accumulate(p.sum[l].begin(), p.sum[l].end(), 0.0) / divisor(p, l, from, to));
  };
  look(now, newest, w.last());
  for (SliceIndex to = newest - 1; to - pooled_slices + 1 >= w.first(); to = to - pooled_slices)
    look(pool(w, leaves, to - pooled_slices + 1, to), to - pooled_slices + 1, to);
  told->set_full(full);

  const std::size_t count = std::min(h.node_count(), kMostReportedNodes);
  for (std::size_t n = 0; n < count; ++n) {
    wire::NodeBar* bar = add_bar(h.nodes()[n], report);
    std::vector<double> sum(w.columns(), 0.0);
    double some = 0;
    for (const LeafIndex l : h.leaves_below(NodeIndex(static_cast<std::uint32_t>(n)))) {
      if (l.value >= leaves || now.there[l.value] <= 0) continue;
      ++some;
      for (std::size_t x = 0; x < sum.size(); ++x)
        sum[x] += now.sum[l.value][x] / divisor(now, l.value, newest, w.last());
    }
    const double whole = std::accumulate(sum.begin(), sum.end(), 0.0);
    std::vector<std::pair<double, std::uint32_t>> shares;
    for (std::size_t x = 0; x < sum.size(); ++x)
      if (sum[x] > 0 && sum[x] >= kLeastShare * whole) shares.emplace_back(sum[x], measured_state(in, x));
    std::sort(shares.rbegin(), shares.rend());
    if (shares.size() > kMostShares) shares.resize(kMostShares);
    for (const auto& [value, state] : shares) {
      auto* share = bar->add_shares();
      share->set_state(state);
      share->set_share(static_cast<float>(value / full / std::max(1.0, some)));
      share->set_value(mean ? value / std::max(1.0, some) : value);
    }
  }
}

}  // namespace margay::daemon
