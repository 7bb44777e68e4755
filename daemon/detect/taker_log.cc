#include "margay/detect/taker_log.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

namespace margay::detect {
namespace {

using model::Taker;

constexpr std::array<const char*, Taker::kKinds> kKinds = {"other",  "job",    "rank",
                                                           "margay", "unseen", "hypervisor"};
// Whoever is not of the job is told before a rank that shares a CPU with another, as it always does; if it
// takes so much.
constexpr double kWorthIt = 0.1;

bool of_job(const alert::Taker& t) {
  return t.kind == kKinds[static_cast<std::size_t>(Taker::Kind::kRank)] ||
         t.kind == kKinds[static_cast<std::size_t>(Taker::Kind::kJob)];
}

}  // namespace

void TakerLog::on_slice(const model::SliceColumn& column) {
  if (!column.takers.empty()) slices_.emplace_back(column.index, column.takers);
  while (!slices_.empty() && slices_.front().first.value + kKept <= column.index.value) slices_.pop_front();
}

std::vector<alert::Taker> TakerLog::most(const std::set<std::uint32_t>& leaves, SliceIndex from,
                                         const Topology& topology) const {
  struct Sum {
    Taker taker;
    std::int64_t cpu_ns = 0;
  };
  std::vector<Sum> sums;
  std::map<std::uint32_t, std::int64_t> over;  // of each leaf: the time that was looked at
  for (const auto& [slice, takers] : slices_) {
    if (slice < from) continue;
    std::map<std::uint32_t, std::int64_t> here;
    for (const Taker& t : takers) {
      if (!leaves.contains(t.leaf.value)) continue;
      here[t.leaf.value] = std::max(here[t.leaf.value], t.over_ns);
      const auto same = std::find_if(sums.begin(), sums.end(), [&](const Sum& s) {
        return s.taker.leaf == t.leaf && s.taker.kind == t.kind && s.taker.pid == t.pid;
      });
      Sum& sum = same != sums.end() ? *same : sums.emplace_back();
      sum.taker = t;
      sum.cpu_ns += std::min(t.cpu_ns, std::int64_t{1} << 50);
    }
    for (const auto& [leaf, ns] : here) over[leaf] += std::min(ns, std::int64_t{1} << 50);
  }
  const model::Hierarchy& h = topology.hierarchy;
  const auto path = [&](std::uint32_t leaf) {
    return leaf < h.leaf_count() ? h.path_of(LeafIndex(leaf)) : std::string();
  };
  std::vector<alert::Taker> out;
  for (const Sum& s : sums) {
    // Who is blamed beside takes nothing from the other.
    if (s.taker.kind == Taker::Kind::kRank && leaves.contains(s.taker.rank)) continue;
    const std::int64_t ns = over[s.taker.leaf.value];
    const double share = ns > 0 ? static_cast<double>(s.cpu_ns) / static_cast<double>(ns) : 0;
    if (share < kLeastShare) continue;
    const bool rank = s.taker.kind == Taker::Kind::kRank;
    out.push_back({path(s.taker.leaf.value), kKinds[static_cast<std::size_t>(s.taker.kind)],
                   rank ? path(s.taker.rank) : s.taker.name, s.taker.pid, s.taker.cpu, share});
  }
  std::stable_sort(out.begin(), out.end(), [](const alert::Taker& a, const alert::Taker& b) {
    const bool first = !of_job(a) && a.share >= kWorthIt, second = !of_job(b) && b.share >= kWorthIt;
    return first != second ? first : a.share > b.share;
  });
  // Each once.
  for (std::size_t i = 0; i < out.size(); ++i)
    out.erase(std::remove_if(out.begin() + static_cast<std::ptrdiff_t>(i) + 1, out.end(),
                             [&](const alert::Taker& t) {
                               return t.kind == out[i].kind && t.pid == out[i].pid && t.cpu == out[i].cpu;
                             }),
              out.end());
  if (out.size() > kMostTold) out.resize(kMostTold);
  return out;
}

std::string told(const alert::Taker& t) {
  const std::string pid = std::to_string(t.pid);
  std::string who;
  if (t.kind == "rank")
    who = t.name.substr(t.name.rfind('/') + 1) + " of the same job";
  else if (t.kind == "job")
    who = t.name + " (pid " + pid + ", of the same job)";
  else if (t.kind == "margay")
    who = t.name + " itself (pid " + pid + ")";
  else if (t.kind == "unseen")
    who = "something that has ended since, or is hidden from Margay,";
  else if (t.kind == "hypervisor")
    who = "the hypervisor";
  else
    who = t.name + " (pid " + pid + ", not of this job)";
  char share[64];
  std::snprintf(share, sizeof share, " takes %.0f %% of ", 100 * t.share);
  return who + share + (t.cpu >= 0 ? "CPU " + std::to_string(t.cpu) : std::string("a CPU"));
}

}  // namespace margay::detect
