#include "support/synthetic_job.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace margay::test {
namespace {

constexpr std::uint32_t kStates = 7;
constexpr std::int64_t kSampleNs = 50'000'000;

class Noise {
 public:
  explicit Noise(const JobPlan& plan) : plan_(plan), random_(plan.seed) {}

  std::vector<double> factors(double deviation) {
    std::vector<double> out(kStates - 2, 1.0);
    if (deviation <= 0) return out;
    if (random_() % 50 == 0) deviation *= 3;
    for (double& f : out) f = std::exp(deviation * normal_(random_));
    return out;
  }
  Shares row(const Shares& mean, const std::vector<double>& common) {
    const auto own = factors(plan_.own_noise);
    Shares out(mean.size());
    double sum = 0;
    for (std::size_t x = 0; x < mean.size(); ++x) {
      double v = mean[x];
      if (plan_.n_eff > 0 && v > 0) v = std::gamma_distribution<double>(v * plan_.n_eff, 1.0)(random_);
      out[x] = v * common[x] * own[x];
      sum += out[x];
    }
    if (sum <= 0) return mean;
    for (double& v : out) v /= sum;
    return out;
  }
  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }

 private:
  const JobPlan& plan_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

std::int64_t overlap(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return std::max<std::int64_t>(0, std::min(b, d) - std::max(a, c));
}

}  // namespace

TimeNs job_time(const JobPlan& plan, std::int64_t ms) {
  return slice_begin(kJobFirst, plan.slice) + milliseconds(ms);
}

std::shared_ptr<const detect::Topology> job_topology(const JobPlan& plan) {
  auto t = std::make_shared<detect::Topology>();
  std::vector<model::Attributes> leaves;
  for (std::uint32_t r = 0; r < plan.ranks; ++r)
    leaves.push_back({{"host", "n" + std::to_string(r / plan.ranks_per_host)},
                      {"rank", std::to_string(r)},
                      {"thread", "0"}});
  t->hierarchy = model::Hierarchy(leaves);
  using F = model::StateFamily;
  t->states = {{"Absent", F::kAbsent},         {"Unknown", F::kUnknown},
               {"Compute", F::kCompute},       {"MPI_Send", F::kPointToPoint},
               {"MPI_Recv", F::kPointToPoint}, {"MPI_Allreduce", F::kCollective},
               {"MPI_Wait", F::kWait}};
  return t;
}

std::vector<model::SliceColumn> make_job(const JobPlan& plan) {
  Noise noise(plan);
  std::int64_t end_ns = 0;
  for (const JobPhase& p : plan.phases) end_ns += p.ms * 1'000'000;
  const std::int64_t width = plan.slice.value;
  std::vector<model::SliceColumn> out;
  for (std::int64_t k = 0; k * width < end_ns; ++k) {
    const std::int64_t from = k * width, to = from + width;  // in ns since the begin of the job
    const auto absolute = [&](std::int64_t ns) {
      return slice_begin(kJobFirst, plan.slice) + DurationNs(ns);
    };
    model::SliceColumn c(LevelIndex(0), kJobFirst + k, plan.ranks, kStates);
    const auto common = noise.factors(plan.common_noise);
    const bool sampled = plan.evidence && !noise.chance(plan.sample_missing);
    for (std::uint32_t r = 0; r < plan.ranks; ++r) {
      const LeafIndex leaf(r);
      auto d = c.duration_ns(leaf);
      // The plain course of the phases.
      Shares mean(kStates - 2, 0.0), often;
      std::int64_t phase_begin = 0;
      for (const JobPhase& p : plan.phases) {
        const std::int64_t phase_end = phase_begin + p.ms * 1'000'000;
        const double part =
            static_cast<double>(overlap(from, to, phase_begin, phase_end)) / static_cast<double>(width);
        for (std::size_t x = 0; x < mean.size() && x < p.shares.size(); ++x) mean[x] += part * p.shares[x];
        if (to > phase_begin && to <= phase_end) {
          c.region = p.region;
          often = p.visits;
        }
        phase_begin = phase_end;
      }
      const Shares row = noise.row(mean, common);
      // What departs from it, and how long.
      const std::int64_t join = r < plan.join_ms.size() ? plan.join_ms[r] * 1'000'000 : 0;
      const std::int64_t leave =
          r < plan.leave_ms.size() && plan.leave_ms[r] > 0 ? plan.leave_ms[r] * 1'000'000 : end_ns;
      std::int64_t plain = overlap(from, to, join, leave);
      d[kAbsent.value] = width - plain;
      model::OpenState open{kCompute, absolute(to - width / 10)};
      char state = 'R';
      TimeNs stopped_since{};
      std::int64_t cpu = width * 95 / 100, stopped = 0;
      // Its own faults first; where two overlap, the first counts.
      std::vector<JobFault> faults = plan.faults;
      const auto mine = [&](const JobFault& f) {
        return std::find(f.ranks.begin(), f.ranks.end(), r) != f.ranks.end();
      };
      std::stable_partition(faults.begin(), faults.end(), mine);
      bool decided = false;
      for (std::size_t i = 0; i < faults.size(); ++i) {
        const JobFault& f = faults[i];
        const std::int64_t fb = std::max(f.begin_ms * 1'000'000, join),
                           fe = std::min(f.end_ms * 1'000'000, leave);
        std::int64_t in = overlap(from, to, fb, fe);
        const bool me = mine(f);
        for (std::size_t j = 0; j < i; ++j)
          in -= overlap(std::max(from, fb), std::min(to, fe), faults[j].begin_ms * 1'000'000,
                        faults[j].end_ms * 1'000'000);
        in = std::max<std::int64_t>(0, in);
        if (in == 0 || (f.kind == JobFault::kLoss && !me)) continue;
        plain -= in;
        StateId s = kJobWait;
        if (f.kind == JobFault::kLoss) {
          s = kUnknown;
          c.lost_events += 100;
        } else if (me && f.kind != JobFault::kHang) {
          s = kCompute;
        }
        d[s.value] += in;
        if (to > fb && to <= fe && !std::exchange(decided, true))
          open = {s, absolute(fb + (me ? 0 : 20'000'000))};
        if (me && f.kind == JobFault::kStop) {
          const std::int64_t last_sample = (to - 1) / kSampleNs * kSampleNs;
          if (last_sample > fb && last_sample < fe) {
            state = 'T';
            stopped_since = absolute((fb - 1) / kSampleNs * kSampleNs);
            stopped = in;
          }
          cpu -= in * 95 / 100;
        }
      }
      std::int64_t left = plain;
      for (std::size_t x = 1; x < row.size(); ++x) {
        const auto ns = static_cast<std::int64_t>(row[x] * static_cast<double>(plain));
        d[x + 2] += ns;
        left -= ns;
      }
      d[kCompute.value] += left;
      if (to > leave || to <= join) open = {kAbsent, absolute(to > leave ? leave : 0)};
      for (std::size_t x = 0; x < row.size(); ++x)
        c.visits(leaf)[x + 2] =
            static_cast<std::uint32_t>(std::llround((x < often.size() ? often[x] : row[x]) * plan.visits *
                                                    static_cast<double>(plain) / static_cast<double>(width)));
      c.open(leaf) = open;
      if (sampled && open.state != kAbsent)
        c.evidence(leaf) = {state, stopped_since, width, std::max<std::int64_t>(0, cpu), 0, stopped};
    }
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace margay::test
