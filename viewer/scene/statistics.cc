#include "margay/scene/statistics.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <set>
#include <sstream>

#include "margay/base/text.h"
#include "margay/scene/palette.h"
#include "margay/scene/time_axis.h"

namespace margay::scene {
namespace {

// How many leaves below a node have most of each state: what the parts from the root down to a leaf say,
// added up.
class ModeLeaves {
 public:
  ModeLeaves(const ViewData& data, const Region& region)
      : data_(data), s_(region), sums_(data.states.size()), leaves_(data.states.size()) {}

  std::vector<std::uint64_t> count() {
    for (const std::uint32_t node : s_.nodes) {
      std::vector<std::uint32_t> above;
      for (std::uint32_t n = node; n != 0; n = data_.nodes[n].parent) above.push_back(data_.nodes[n].parent);
      std::reverse(above.begin(), above.end());
      for (const std::uint32_t n : above) add(n);
      visit(node);
      forget_to(0);
    }
    return std::move(leaves_);
  }

 private:
  void add(std::uint32_t node) {
    for (const Part& part : data_.parts_of(node)) {
      const std::size_t first = std::max<std::size_t>(part.first, s_.first);
      const std::size_t last = std::min<std::size_t>(part.last, s_.last);
      if (first >= last) continue;
      const double seconds = data_.seconds(first, last);
      for (const StateShare& share : data_.shares_of(part)) {
        before_.push_back({share.state, sums_[share.state]});
        sums_[share.state] += share.share * part.weight * seconds;
      }
    }
  }

  // Levels are at most kMostDepth.
  void visit(std::uint32_t node) {
    const std::size_t mark = before_.size();
    add(node);
    const Node& it = data_.nodes[node];
    // Without parts below its leaves are all alike.
    if (data_.part_begin[node + 1] == data_.part_begin[it.end]) {
      if (const std::int32_t mode = largest(); mode != kNoState)
        leaves_[static_cast<std::size_t>(mode)] += it.leaf_count;
    } else {
      for (const std::uint32_t child : data_.children_of(node)) visit(child);
    }
    forget_to(mark);
  }

  void forget_to(std::size_t mark) {
    for (; before_.size() > mark; before_.pop_back()) sums_[before_.back().state] = before_.back().sum;
  }

  std::int32_t largest() const {
    std::int32_t mode = kNoState;
    double most = 0;
    for (const Before& b : before_) {
      const auto state = static_cast<std::int32_t>(b.state);
      const double sum = sums_[b.state];
      if (!data_.states[b.state].known() || sum < most ||
          (sum == most && (mode != kNoState && state >= mode)))
        continue;
      if (!(sum > 0)) continue;
      mode = state;
      most = sum;
    }
    return mode;
  }

  struct Before {
    std::uint32_t state;
    double sum;
  };
  const ViewData& data_;
  const Region& s_;
  std::vector<double> sums_;  // leaf-seconds of one leaf, of the parts of the path to the node
  std::vector<Before> before_;
  std::vector<std::uint64_t> leaves_;
};

struct Spread {
  double least = 0;
  double most = 0;
  std::size_t parts = 0;
  std::uint64_t mode_parts = 0;
};

void spread_over(const ViewData& data, const Region& s, std::span<const Part> parts,
                 std::vector<Spread>& spread) {
  for (const Part& part : parts) {
    if (part.last <= s.first || part.first >= s.last) continue;
    if (part.mode != kNoState) ++spread[static_cast<std::size_t>(part.mode)].mode_parts;
    for (const StateShare& share : data.shares_of(part)) {
      Spread& of = spread[share.state];
      of.least = of.parts == 0 ? share.share : std::min(of.least, share.share);
      of.most = std::max(of.most, share.share);
      ++of.parts;
    }
  }
}

// As operators call it (margay/slicer/operator.h).
constexpr std::string_view kTimeUnit = "ns a visit";

// Of what is measured, without its unit; of bytes and times with one that fits.
std::string number_text(std::string_view unit, double amount) {
  if (unit == kTimeUnit && amount >= 0 && amount < 0x1p63)
    return duration_text(DurationNs(std::llround(amount)));
  if (unit == "bytes" && amount >= 0 && amount < 0x1p63)
    return size_text(static_cast<std::uint64_t>(std::llround(amount)));
  std::ostringstream out;
  out << std::setprecision(4) << amount;
  return out.str();
}

// The lowest node at or above all of them.
std::uint32_t above_all(const ViewData& data, const std::vector<std::uint32_t>& nodes) {
  std::uint32_t above = nodes.front();
  for (const std::uint32_t n : nodes)
    while (n < above || n >= data.nodes[above].end) above = data.nodes[above].parent;
  return above;
}

}  // namespace

Statistics statistics(const ViewData& data, const Selection& selection) {
  return statistics(data, Region{{selection.node}, selection.first, selection.last});
}

Statistics statistics(const ViewData& data, const Region& region) {
  Statistics out;
  Region s = region;
  s.last = std::min(s.last, data.slices());
  s.first = std::min(s.first, s.last);
  const bool there = !s.nodes.empty() && s.nodes.back() < data.nodes.size();
  out.selection = {there ? above_all(data, s.nodes) : s.nodes.empty() ? 0 : s.nodes.back(), s.first, s.last};
  if (!there || s.first == s.last) return out;
  std::vector<LeafRange> leaves;
  for (const std::uint32_t n : s.nodes)
    leaves.push_back({data.nodes[n].first_leaf, data.nodes[n].leaf_count});
  const Proportions all = proportions(data, leaves, s.first, s.last);
  out.known = all.known;
  out.gain = all.gain;
  out.loss = all.loss;
  out.leaf_seconds = all.leaf_seconds;
  for (const LeafRange& r : leaves) out.leaves += r.count;
  out.parts = all.parts;
  out.pro_rata = all.pro_rata;
  std::vector<Spread> spread(data.states.size());
  std::set<std::uint32_t> above;
  for (const std::uint32_t node : s.nodes) {
    spread_over(data, s, data.parts_below(node), spread);
    for (std::uint32_t n = node; n != 0; n = data.nodes[n].parent) above.insert(data.nodes[n].parent);
  }
  for (const std::uint32_t n : above) spread_over(data, s, data.parts_of(n), spread);
  const std::vector<std::uint64_t> mode_leaves = ModeLeaves(data, s).count();
  for (std::uint32_t state = 0; state < data.states.size(); ++state) {
    if (!(all.shares[state] > 0)) continue;
    const Spread& of = spread[state];
    StateRow row;
    row.state = state;
    row.share = all.shares[state];
    row.total = total_of(data, row.share, all.leaf_seconds);
    row.mode_parts = of.mode_parts;
    row.mode_leaves = mode_leaves[state];
    row.least = of.parts < out.parts ? 0 : of.least;
    row.most = of.most;
    out.rows.push_back(row);
  }
  sort(out, data, StatisticsColumn::kShare, true);
  return out;
}

void sort(Statistics& statistics, const ViewData& data, StatisticsColumn by, bool descending) {
  const auto number = [by](const StateRow& r) -> double {
    switch (by) {
      case StatisticsColumn::kShare:
        return r.share;
      case StatisticsColumn::kTotal:
        return r.total;
      case StatisticsColumn::kModeParts:
        return static_cast<double>(r.mode_parts);
      case StatisticsColumn::kModeLeaves:
        return static_cast<double>(r.mode_leaves);
      case StatisticsColumn::kLeast:
        return r.least;
      case StatisticsColumn::kMost:
        return r.most;
      default:
        return 0;
    }
  };
  const auto text = [&](const StateRow& r) -> std::string_view {
    const State& state = data.states[r.state];
    if (by == StatisticsColumn::kFamily) return family_name(state.family);
    return by == StatisticsColumn::kName ? std::string_view(state.name) : std::string_view();
  };
  std::sort(statistics.rows.begin(), statistics.rows.end(), [&](const StateRow& a, const StateRow& b) {
    const StateRow& low = descending ? b : a;
    const StateRow& high = descending ? a : b;
    if (number(low) != number(high)) return number(low) < number(high);
    if (const int texts = text(low).compare(text(high)); texts != 0) return texts < 0;
    const int names = data.states[a.state].name.compare(data.states[b.state].name);
    return names != 0 ? names < 0 : a.state < b.state;
  });
}

std::string measure_text(const ViewData& data) {
  const std::string op =
      data.question.measure().empty() ? "duration" : clean_utf8(data.question.measure(), kLongestName);
  const std::string& levels = data.question.view().levels();
  const std::string by = levels.empty() ? "" : ", by " + clean_utf8(levels, kLongestName);
  if (data.unit.empty())
    return "operator " + op +
           (data.question.filter().of_the_rest() ? " (share of the rest)" : " (share of the time)") + by;
  return "operator " + op + " (" + data.unit + "; full: " + number_text(data.unit, data.full) +
         (measure_kind(op).adds_up ? " a second of a resource)" : ")") + by;
}

MeasureKind measure_kind(std::string_view measure) {
  if (measure == "duration") measure = "";
  for (const MeasureKind& m : kMeasures)
    if (m.of_variable ? measure.starts_with(m.word) : measure == m.word) return m;
  return {measure, measure};
}

std::string measure_name(std::string_view measure) {
  const MeasureKind kind = measure_kind(measure);
  if (!kind.of_variable) return clean_utf8(kind.name, kLongestName);
  return std::string(kind.name) + " " + clean_utf8(measure.substr(kind.word.size()), kLongestName);
}

double total_of(const ViewData& data, double share, double leaf_seconds) {
  if (data.unit.empty()) return share * leaf_seconds;
  return share * data.full * (measure_kind(data.question.measure()).adds_up ? leaf_seconds : 1);
}

std::string amount_text(const std::string& unit, double amount) {
  const std::string number = number_text(unit, amount);
  return unit == "bytes" || unit == kTimeUnit ? number : number + " " + unit;
}

}  // namespace margay::scene
