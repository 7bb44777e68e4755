// Runs a made-up job through a detector.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "contrast.h"
#include "margay/detect/detector.h"
#include "support/synthetic_job.h"

namespace margay::detect::test {

using namespace margay::test;

struct Watched {
  std::vector<alert::Alert> alerts;
  std::deque<PhaseSpan> spans;
  std::map<std::string, DurationStatistics> durations;
  std::size_t of(alert::Kind kind, alert::Status status) const {
    std::size_t n = 0;
    for (const auto& a : alerts) n += a.kind == kind && a.status == status ? 1 : 0;
    return n;
  }
  std::vector<alert::Alert> with(alert::Status status) const {
    std::vector<alert::Alert> out;
    for (const auto& a : alerts)
      if (a.status == status) out.push_back(a);
    return out;
  }
  std::string names() const {
    std::string out;
    for (const auto& s : spans) out += (out.empty() ? "" : "-") + s.name;
    return out;
  }
};

// A job, slice by slice changed.
using Change = std::function<void(std::int64_t slice, model::SliceColumn&)>;
inline std::vector<model::SliceColumn> changed(const JobPlan& plan, const Change& change) {
  auto job = make_job(plan);
  for (std::size_t i = 0; i < job.size(); ++i) change(static_cast<std::int64_t>(i), job[i]);
  return job;
}

// Of `rank`, that share of the slice goes to `to` instead of whatever it was.
inline void spend(model::SliceColumn& c, std::uint32_t rank, StateId to, double share) {
  auto row = c.duration_ns(LeafIndex(rank));
  std::int64_t moved = 0;
  for (std::size_t x = kCompute.value; x < row.size(); ++x) {
    const auto part = static_cast<std::int64_t>(share * static_cast<double>(row[x]));
    row[x] -= part;
    moved += part;
  }
  row[to.value] += moved;
}

// It is ready to run, and not let, for this share of the time.
inline void deny(model::NodeEvidence& e, double share) {
  e.run_delay_ns = static_cast<std::int64_t>(share * static_cast<double>(e.sampled_ns));
  e.cpu_ns = std::min(e.cpu_ns, e.sampled_ns - e.run_delay_ns);
}

inline DetectorOptions job_options(const JobPlan& plan, std::size_t slices = 128) {
  DetectorOptions o;
  o.run = "r";
  o.window.slice = plan.slice;
  o.window.slices = slices;
  return o;
}

inline Watched watch(const DetectorOptions& options, std::shared_ptr<const Topology> topology,
                     const std::vector<model::SliceColumn>& job) {
  Detector d(options);
  d.set_topology(std::move(topology));
  Watched out;
  TimeNs end{};
  const auto take = [&](std::vector<alert::Alert> alerts) {
    out.alerts.insert(out.alerts.end(), alerts.begin(), alerts.end());
  };
  for (const auto& c : job) {
    end = slice_end(c.index, options.window.slice);
    take(d.on_slice(c, end));
    EXPECT_EQ(d.error(), "");
  }
  take(d.finish(end, end));
  out.spans = d.phases().spans();
  out.durations = d.durations().statistics();
  return out;
}
inline Watched watch(const JobPlan& plan, const std::vector<model::SliceColumn>& job,
                     std::shared_ptr<const Topology> topology = nullptr) {
  return watch(job_options(plan), topology != nullptr ? topology : job_topology(plan), job);
}
inline Watched watch(const JobPlan& plan) {
  return watch(plan, make_job(plan));
}

// Compute, MPI_Send, MPI_Recv, MPI_Allreduce, MPI_Wait
inline const Shares kA = {0.70, 0.10, 0.10, 0.05, 0.05};
inline const Shares kB = {0.20, 0.35, 0.35, 0.05, 0.05};
inline const Shares kC = {0.35, 0.05, 0.05, 0.50, 0.05};

// A window and a contrast that see the same slices.
struct Measured {
  explicit Measured(const JobPlan& plan) : window(options(plan)), contrast(plan.slice) {
    window.set_topology(job_topology(plan));
  }
  static WindowOptions options(const JobPlan& plan) {
    WindowOptions o;
    o.slice = plan.slice;
    o.slices = 16;
    return o;
  }
  void take(const model::SliceColumn& c, bool learn = true) {
    ASSERT_TRUE(window.push(c));
    contrast.measure(window, c, {}, columns);
    if (learn) contrast.learn();
  }
  // Of the cell of a state; it has occurred.
  std::size_t column(StateId state) const {
    for (std::size_t x = 0; x < window.columns(); ++x)
      if (window.state_of(x) == state) return Contrast::kMachine + x;
    ADD_FAILURE() << "no state " << state.value;
    return 0;
  }
  std::size_t cell(Contrast::Measure measure, StateId state) const {
    return measure * contrast.columns() + column(state);
  }
  Window window;
  Contrast contrast;
  Columns columns;
};

// Milliseconds by which the begin of each span misses the plan's; the spans must be as many as the phases.
inline std::vector<double> edge_errors(const JobPlan& plan, const Watched& w) {
  std::vector<double> out;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < w.spans.size() && i < plan.phases.size(); ++i) {
    out.push_back(std::abs(static_cast<double>((w.spans[i].begin - job_time(plan, at)).value)) * 1e-6);
    at += plan.phases[i].ms;
  }
  return out;
}

}  // namespace margay::detect::test
