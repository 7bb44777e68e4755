#include "plan.h"

namespace margay::bench {
namespace {

constexpr double kGap = 10;      // slices between two faults, at least
constexpr double kTail = 4;      // slices after the last
constexpr double kCosts = 0.75;  // slices that a fault costs at least, of who does nothing but what is hurt

std::string padded(std::uint32_t i, std::uint32_t count) {
  std::string out = std::to_string(i);
  const std::size_t width = std::to_string(count - 1).size();
  return std::string(width - out.size(), '0') + out;
}

}  // namespace

Plan plan(std::string_view kind, const Ranges& ranges, bool acts, Random& random) {
  Plan out;
  const double raw = log_uniform(ranges.least_slice_s, ranges.most_slice_s, random);
  const double unit = std::pow(10, std::floor(std::log10(raw)) - 1);
  out.slice_s = std::round(raw / unit) * unit;
  const double slices = std::floor(random.uniform(100, 400));
  out.end_s = slices * out.slice_s;
  const double how = random.uniform();
  out.returns = how < 0.2;
  std::uint32_t count = how < 0.2 ? 2 + random.below(3) : how < 0.7 ? 1 : how < 0.9 ? 2 : 3;
  const double first = random.chance(1.0 / 6) ? random.uniform(12, 30) : random.uniform(30, 0.5 * slices);
  const double factor =
      random.chance(ranges.stops) ? 0 : log_uniform(ranges.least_factor, ranges.most_factor, random);
  if (kind == "clean") return out;
  // Each has a part of what is left of the time, and is somewhere in it.
  const double part = (slices - kTail - first) / count;
  for (std::uint32_t i = 0; i < count; ++i) {
    Fault f;
    f.kind = kind;
    f.acts = acts;
    f.factor = out.returns || i == 0         ? factor
               : random.chance(ranges.stops) ? 0
                                             : log_uniform(ranges.least_factor, ranges.most_factor, random);
    const double least = std::max(ranges.least_slices, kCosts / (1 - f.share()));
    const double room = std::max(least, part - kGap);
    const double lasts = log_uniform(least, std::clamp(room, least, ranges.most_slices), random);
    const double late = i == 0 ? 0 : random.uniform(0, std::max(0.0, room - lasts));
    f.begin = (first + i * part + late) * out.slice_s;
    f.end = f.begin + lasts * out.slice_s;
    out.faults.push_back(std::move(f));
  }
  return out;
}

std::vector<std::uint32_t> places(const Plan& plan, std::uint32_t count, Random& random) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < plan.faults.size(); ++i)
    out.push_back(i > 0 && plan.returns ? out.front() : random.below(count));
  return out;
}

std::set<std::uint32_t> Machines::on(std::uint32_t m) const {
  std::set<std::uint32_t> out;
  for (std::uint32_t r = m * per_machine; r < (m + 1) * per_machine; ++r) out.insert(r);
  return out;
}

Machines machines_of(std::uint32_t machines, std::uint32_t per_machine, Random& random) {
  Machines out;
  out.machines = machines, out.per_machine = per_machine, out.ranks = machines * per_machine;
  const std::uint32_t tree = random.below(3);
  const std::uint32_t in_group = machines >= 32 ? 8 : machines >= 8 ? 4 : 2;
  const std::uint32_t groups = (machines + in_group - 1) / in_group;
  out.levels = tree == 0   ? std::vector<std::string>{"site", "cluster", "machine", "rank"}
               : tree == 1 ? std::vector<std::string>{"rack", "host", "rank"}
                           : std::vector<std::string>{"host", "rank"};
  for (std::uint32_t r = 0; r < out.ranks; ++r) {
    const std::uint32_t m = out.machine(r);
    const std::string group = padded(m / in_group, groups), machine = padded(m, machines);
    const std::string rank = "rank" + std::to_string(r);
    out.paths.push_back(tree == 0   ? "/site/cluster" + group + "/m" + machine + "/" + rank
                        : tree == 1 ? "/rack" + group + "/host" + machine + "/" + rank
                                    : "/node" + machine + "/" + rank);
  }
  return out;
}

void only_hurt(Plan& plan) {
  for (Fault& f : plan.faults) {
    if (f.lost.empty()) continue;
    f.alternatives.push_back(f.leaves);
    f.leaves.clear();
    for (const auto& [leaf, lost] : f.lost) f.leaves.insert(leaf);
  }
}

void stopped_in_a_call(Recording& recording) {
  std::set<std::uint32_t> all;
  for (std::uint32_t l = 0; l < recording.paths.size(); ++l) all.insert(l);
  for (Fault& f : recording.faults) {
    if (f.factor > 0 || f.leaves.size() != 1) continue;
    const auto& of = recording.changes[*f.leaves.begin()];
    const auto after =
        std::upper_bound(of.begin(), of.end(), f.first, [](double t, const Change& c) { return t < c.at; });
    if (after != of.begin() && recording.states[std::prev(after)->state] != "compute")
      f.alternatives.push_back(all);
  }
}

Machines some_machines(std::uint32_t most, Random& random) {
  const auto power = [&](double least, double top) {
    return 1u << static_cast<std::uint32_t>(random.uniform(std::log2(least), std::log2(top) + 0.999));
  };
  const std::uint32_t ranks = power(4, most);
  const std::uint32_t per_machine = power(1, std::min(32u, ranks / 2));
  return machines_of(ranks / per_machine, per_machine, random);
}

double least_step(const Machines& shape, const Plan& plan, double changes) {
  return shape.ranks * (plan.end_s / plan.slice_s) * changes / 1e6;
}

}  // namespace margay::bench
