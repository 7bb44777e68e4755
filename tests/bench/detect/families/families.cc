#include "families.h"

#include <algorithm>
#include <stdexcept>

#include "chance.h"
#include "stream.h"

namespace margay::bench {

Recording record_stencil(std::string_view kind, std::uint64_t seed, bool acts);
Recording record_wavefront(std::string_view kind, std::uint64_t seed, bool acts);
Recording record_farm(std::string_view kind, std::uint64_t seed, bool acts);
Recording record_training(std::string_view kind, std::uint64_t seed, bool acts);
Recording record_checkpoint(std::string_view kind, std::uint64_t seed, bool acts);
Recording record_noise(std::string_view kind, std::uint64_t seed, bool acts);
Recording record_unequal(std::string_view kind, std::uint64_t seed, bool acts);
Recording record_stops(std::string_view kind, std::uint64_t seed, bool acts);
Recording record_requests(std::string_view kind, std::uint64_t seed, bool acts);
Recording record_queues(std::string_view kind, std::uint64_t seed, bool acts);
Recording record_workflow(std::string_view kind, std::uint64_t seed, bool acts);

namespace {

constexpr double kHurtShare = 0.1;   // of the time in which it hurt, whom it cost most
constexpr double kHurtSlices = 0.5;  // and so many slices
constexpr double kLasts = 1.2;       // slices from the first that was hurt to the last, at least
constexpr double kSignal = 5;        // deviations
constexpr std::uint64_t kMostKinds = 16;
constexpr std::uint64_t kDraws = 100;

bool hurts(const Recording& r) {
  for (const Fault& f : r.faults) {
    double most = 0;
    for (const auto& [leaf, lost] : f.lost) most = std::max(most, lost);
    const double last = std::min(f.last, r.end_s);
    if (most < kHurtSlices * r.slice_s || most < kHurtShare * (last - f.first)) return false;
    if (last - f.first < kLasts * r.slice_s || f.squares < kSignal * kSignal) return false;
  }
  return true;
}

// As they are imported: a path is what it is.
std::shared_ptr<detect::Topology> topology_of(const Recording& r) {
  using F = model::StateFamily;
  auto t = std::make_shared<detect::Topology>();
  std::vector<model::Attributes> leaves;
  for (const std::string& path : r.paths) {
    model::Attributes& leaf = leaves.emplace_back();
    int level = 0;
    for (std::size_t at = 0; at < path.size();) {
      const std::size_t next = std::min(path.find('/', at + 1), path.size());
      leaf["path" + std::to_string(++level)] = path.substr(at + 1, next - at - 1);
      at = next;
    }
  }
  t->hierarchy = model::Hierarchy(leaves);
  t->states = {{"Absent", F::kAbsent}, {"Unknown", F::kUnknown}, {"Compute", F::kCompute}};
  for (const auto& s : r.states) t->states.push_back({s, F::kOther});
  return t;
}

}  // namespace

std::span<const Family> families() {
  static const std::vector<Family> all = {
      {"stencil", {"slow_link", "slow_rank", "slow_machine", "clean"}, record_stencil},
      {"wavefront", {"blocked_rank", "rupture", "slow_rank", "clean"}, record_wavefront},
      {"farm", {"slow_worker", "slow_master", "slow_machine", "clean"}, record_farm},
      {"training", {"straggler", "throttling", "input_stall", "clean"}, record_training},
      {"checkpoint", {"brownout", "slow_rank", "slow_machine", "clean"}, record_checkpoint},
      {"noise", {"noisy_rank", "noisy_machine", "noisy_machines", "clean"}, record_noise},
      {"unequal", {"slow_rank", "slow_machine", "slow_disk", "clean"}, record_unequal},
      {"stops", {"one_rank", "one_machine", "any_rank", "clean"}, record_stops},
      {"requests", {"cpu_contention", "slow_database", "retry_storm", "clean"}, record_requests},
      {"queues", {"slow_host", "slow_disk", "held_lock", "clean"}, record_queues},
      {"workflow", {"slow_disk", "slow_cpu", "slow_network", "clean"}, record_workflow},
  };
  return all;
}

Recording record(const Family& family, std::string_view kind, std::uint64_t seed, bool hurt) {
  const auto number = static_cast<std::uint64_t>(std::find(family.kinds.begin(), family.kinds.end(), kind) -
                                                 family.kinds.begin());
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const std::uint64_t drawn = (seed * kMostKinds + number) * kDraws + draw;
    Recording r = family.record(kind, drawn, true);
    if (hurts(r)) return hurt ? r : family.record(kind, drawn, false);
  }
  throw std::runtime_error("no draw of " + std::string(family.name) + " " + std::string(kind) + " seed " +
                           std::to_string(seed) + " hurts anybody");
}

Case case_of(const Family& family, std::string_view kind, std::uint64_t seed, const Recording& r) {
  Case c;
  c.group = std::string(family.name) + " " + std::string(kind);
  c.seed = seed;
  c.slice_s = r.slice_s;
  c.topology = topology_of(r);
  c.idle_states = r.idle_states;
  const auto states = static_cast<std::uint32_t>(kFirst + r.states.size());
  Stream stream(static_cast<std::uint32_t>(r.paths.size()), states, DurationNs(std::llround(r.slice_s * 1e9)),
                [&](const model::SliceColumn& slice) { c.slices.push_back(slice); });
  for (std::uint32_t l = 0; l < r.paths.size(); ++l) {
    const auto& changes = r.changes[l];
    if (!changes.empty()) stream.until(l, kAbsent.value, changes.front().at);
    for (std::size_t i = 0; i < changes.size(); ++i)
      stream.until(l, static_cast<std::uint16_t>(kFirst + changes[i].state),
                   i + 1 < changes.size() ? changes[i + 1].at : r.end_s);
    stream.until(l, kAbsent.value, r.end_s);
  }
  stream.tell();
  for (const Fault& f : r.faults) {
    if (!f.acts) continue;
    Truth t;
    t.begin_s = f.first, t.end_s = std::min(f.last, r.end_s);
    t.leaves = f.leaves, t.alternatives = f.alternatives;
    t.fault = f.kind, t.factor = f.factor;
    for (const auto& [leaf, lost] : f.lost) {
      const double share = std::min(1.0, lost / std::max(1e-9, t.end_s - t.begin_s));
      t.lost += share / static_cast<double>(t.leaves.size());
      t.most_lost = std::max(t.most_lost, share);
    }
    t.signal = std::sqrt(f.squares);
    c.truths.push_back(std::move(t));
  }
  return c;
}

}  // namespace margay::bench
