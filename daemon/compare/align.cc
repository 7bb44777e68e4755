#include "margay/compare/align.h"

#include <algorithm>
#include <cmath>

#include "margay/compare/run_in_blocks.h"

namespace margay::compare {
namespace {

// Parts of all calls: what is done within this of each other is done at the same time, where nothing is
// called for a while.
constexpr double kNear = 0.002;

// What was done before each slice, as a part of all; and 1 at the end.
std::vector<double> done_before(const std::vector<SliceOf>& slices) {
  std::vector<double> out{0};
  for (const SliceOf& s : slices) out.push_back(out.back() + s.calls);
  const double all = out.back();
  if (all > 0)
    for (double& d : out) d /= all;
  return out;
}

// Slices in a row in which nothing was called.
struct Quiet {
  std::size_t begin = 0, end = 0;
  double done = 0;  // by then, as a part of all
};
std::vector<Quiet> quiet_in(const std::vector<SliceOf>& slices, const std::vector<double>& done) {
  std::vector<Quiet> out;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].calls > 0) continue;
    if (out.empty() || out.back().end != i) out.push_back({i, i, done[i]});
    out.back().end = i + 1;
  }
  return out;
}

}  // namespace

bool same_work(double calls, double others_calls) {
  return calls > 0 && others_calls > 0 && std::fabs(std::log(others_calls / calls)) <= std::log1p(kSameWork);
}

std::vector<std::uint32_t> by_work(const std::vector<SliceOf>& baseline, const std::vector<SliceOf>& run) {
  const std::vector<double> known = done_before(baseline), done = done_before(run);
  std::vector<std::uint32_t> out(run.size(), kNoPhase);
  if (baseline.empty()) return out;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const double middle = (done[i] + done[i + 1]) / 2;
    const auto after = std::upper_bound(known.begin(), known.end(), middle);
    const std::size_t at = after == known.begin() ? 0 : static_cast<std::size_t>(after - known.begin()) - 1;
    out[i] = baseline[std::min(at, baseline.size() - 1)].phase;
  }
  // Where nothing is called, what was done does not tell the time: such stretches are held against each
  // other.
  const std::vector<Quiet> theirs = quiet_in(baseline, known);
  for (const Quiet& q : quiet_in(run, done)) {
    const auto nearest = std::min_element(theirs.begin(), theirs.end(), [&](const Quiet& a, const Quiet& b) {
      return std::fabs(a.done - q.done) < std::fabs(b.done - q.done);
    });
    if (nearest == theirs.end() || std::fabs(nearest->done - q.done) > kNear) continue;
    for (std::size_t i = q.begin; i < q.end; ++i) {
      const std::size_t at =
          (2 * (i - q.begin) + 1) * (nearest->end - nearest->begin) / (2 * (q.end - q.begin));
      out[i] = baseline[nearest->begin + at].phase;
    }
  }
  return out;
}

double divergence_bits(const std::vector<double>& a, const std::vector<double>& b) {
  const auto part = [](double p, double mean) { return p > 0 ? p * std::log2(p / mean) : 0; };
  double bits = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const double p = i < a.size() ? a[i] : 0, q = i < b.size() ? b[i] : 0;
    bits += (part(p, (p + q) / 2) + part(q, (p + q) / 2)) / 2;
  }
  return std::clamp(bits, 0.0, 1.0);
}

std::vector<std::uint32_t> by_likeness(std::vector<PhaseOfRun>& known,
                                       const std::vector<PhaseOfRun>& phases) {
  std::vector<std::uint32_t> out;
  const std::size_t before = known.size();
  for (const PhaseOfRun& phase : phases) {
    std::size_t best = known.size();
    double nearest = kApartBits;
    for (std::size_t i = 0; i < before; ++i) {
      // What the program itself calls the same is the same, and only that.
      if (known[i].label != phase.label && !known[i].label.empty() && !phase.label.empty()) continue;
      const bool named = !phase.label.empty() && known[i].label == phase.label;
      const double bits = named ? -1 : divergence_bits(known[i].shares, phase.shares);
      if (bits <= nearest) nearest = bits, best = i;
    }
    if (best == known.size()) known.push_back(phase);
    out.push_back(static_cast<std::uint32_t>(best));
  }
  return out;
}

std::size_t blocks_for(std::size_t slices) {
  const std::size_t blocks = std::min(kBlocks, slices / 2);
  return blocks < kLeastBlocks ? 0 : blocks;
}

std::vector<std::uint32_t> blocks_of(const std::vector<double>& calls, std::size_t blocks) {
  std::vector<std::uint32_t> out(calls.size());
  if (blocks == 0) return out;
  double all = 0;
  for (const double c : calls) all += c;
  const bool counted = all >= 4 * static_cast<double>(blocks);
  const double total = counted ? all : static_cast<double>(calls.size());
  double done = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const double work = counted ? calls[i] : 1;
    const auto block = static_cast<std::size_t>((done + work / 2) / total * static_cast<double>(blocks));
    out[i] = static_cast<std::uint32_t>(std::min(block, blocks - 1));
    done += work;
  }
  return out;
}

}  // namespace margay::compare
