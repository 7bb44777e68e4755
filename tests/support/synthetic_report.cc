#include "synthetic_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "margay/wire/report_version.h"

namespace margay::support {
namespace {

enum State : std::uint32_t {
  kAbsent,
  kUnknown,
  kCompute,
  kInit,
  kIsend,
  kRecv,
  kAllreduce,
  kBarrier,
  kWaitall,
  kWrite
};
struct Named {
  const char* name;
  wire::StateFamily family;
};
constexpr Named kStates[] = {{"Absent", wire::FAMILY_ABSENT},
                             {"Unknown", wire::FAMILY_UNKNOWN},
                             {"Compute", wire::FAMILY_COMPUTE},
                             {"MPI_Init", wire::FAMILY_START_END},
                             {"MPI_Isend", wire::FAMILY_POINT_TO_POINT},
                             {"MPI_Recv", wire::FAMILY_POINT_TO_POINT},
                             {"MPI_Allreduce", wire::FAMILY_COLLECTIVE},
                             {"MPI_Barrier", wire::FAMILY_COLLECTIVE},
                             {"MPI_Waitall", wire::FAMILY_WAIT},
                             {"MPI_File_write_all", wire::FAMILY_IO}};
using Mix = std::map<std::uint32_t, double>;

// Smooth noise without a generator: the same for the same (rank, instant).
double wobble(int rank, double at_s) {
  return 0.5 + 0.5 * std::sin(at_s * 2.1 + rank * 1.7) * std::cos(at_s * 0.63 + rank * 0.4);
}

char phase_at(const SyntheticRun& run, double at_s) {
  if (at_s < 2) return 'A';
  return std::fmod(at_s - 2, run.phase_a_s + run.phase_b_s) < run.phase_b_s ? 'B' : 'C';
}

Mix mix_of(const SyntheticRun& run, int rank, double at_s) {
  const double w = wobble(rank, at_s);
  const bool trouble = at_s >= run.trouble_from_s && at_s < run.trouble_to_s;
  Mix m;
  switch (phase_at(run, at_s)) {
    case 'A':
      m = {{kInit, 0.9}, {kCompute, 0.1}};
      break;
    case 'B':
      m = {{kCompute, 0.66 + 0.06 * w},
           {kIsend, 0.05},
           {kRecv, 0.06},
           {kWaitall, 0.10},
           {kAllreduce, 0.13 - 0.06 * w}};
      break;
    default:
      m = {{kCompute, 0.15}, {kWrite, 0.5 + 0.1 * w}, {kBarrier, 0.35 - 0.1 * w}};
  }
  if (trouble) {
    if (rank == run.ranks - 1)
      m = {{kCompute, 0.95}, {kIsend, 0.03}, {kAllreduce, 0.02}};
    else
      m = {{kCompute, 0.28},
           {kIsend, 0.02},
           {kRecv, 0.02},
           {kWaitall, 0.45 + 0.05 * w},
           {kAllreduce, 0.23 - 0.05 * w}};
  }
  if (at_s >= run.loss_at_s && at_s < run.loss_at_s + 5 && rank == 2) m = {{kUnknown, 0.6}, {kCompute, 0.4}};
  return m;
}

void put_shares(const Mix& mix, google::protobuf::RepeatedPtrField<wire::StateShare>* out) {
  std::vector<std::pair<double, std::uint32_t>> order;
  for (const auto& [state, share] : mix) order.push_back({-share, state});
  std::sort(order.begin(), order.end());
  for (const auto& [share, state] : order) {
    auto* s = out->Add();
    s->set_state(state);
    s->set_share(static_cast<float>(-share));
  }
}

std::int64_t ns(double s) {
  return static_cast<std::int64_t>(s * 1e9);
}

wire::Alert& add_alert(const SyntheticRun& run, const char* id, bool firing, double onset, double end,
                       const std::string& path, wire::Report& r) {
  wire::Alert& a = *r.add_alerts();
  a.set_id(id);
  a.set_run("r");
  a.set_resolved(!firing);
  a.set_onset_ns(run.begin_ns + ns(onset));
  if (!firing) a.set_end_ns(run.begin_ns + ns(end));
  a.set_node(path);
  a.add_resources(path);
  a.set_phase("B");
  return a;
}

void add_change(const char* state, double expected, double observed, wire::Alert& a) {
  auto& change = *a.add_states();
  change.set_state(state);
  change.set_expected(expected);
  change.set_observed(observed);
}

}  // namespace

wire::Report synthetic_report(const SyntheticRun& run, double at_s) {
  wire::Report r;
  const double t = std::min(at_s, run.end_s);
  r.set_version(wire::kReportVersion);
  r.set_run("solver-4711");
  r.set_command("mpirun -np " + std::to_string(run.ranks) + " ./solver --grid 4096 input.toml");
  r.set_sequence(static_cast<std::uint64_t>(t * 10));
  r.set_slice_ns(100'000'000);
  r.set_slice_index(static_cast<std::int64_t>(t * 10));
  r.set_run_begin_ns(run.begin_ns);
  r.set_watermark_ns(run.begin_ns + ns(t));
  r.set_emitted_wall_ns(run.begin_ns + ns(t) + 180'000'000);
  r.set_final(at_s >= run.end_s);
  for (const Named& s : kStates) {
    auto* name = r.add_states();
    name->set_name(s.name);
    name->set_family(static_cast<std::uint32_t>(s.family));
  }

  const auto path_of = [&](int rank) {
    return "/node" + std::to_string(rank * run.hosts / run.ranks + 1) + "/rank" + std::to_string(rank);
  };
  Mix all;
  std::vector<Mix> per_host(static_cast<std::size_t>(run.hosts));
  std::vector<int> count(static_cast<std::size_t>(run.hosts), 0);
  for (int k = 0; k < run.ranks; ++k) {
    const auto h = static_cast<std::size_t>(k * run.hosts / run.ranks);
    ++count[h];
    for (const auto& [state, share] : mix_of(run, k, t))
      all[state] += share / run.ranks, per_host[h][state] += share;
  }
  auto* root = r.add_nodes();
  root->set_path("/");
  root->set_leaves(static_cast<std::uint32_t>(run.ranks));
  put_shares(all, root->mutable_shares());
  for (int k = 0, host = -1; k < run.ranks; ++k) {
    const int h = k * run.hosts / run.ranks;
    if (h != host) {
      host = h;
      auto* n = r.add_nodes();
      n->set_path("/node" + std::to_string(h + 1));
      n->set_depth(1);
      n->set_leaves(static_cast<std::uint32_t>(count[static_cast<std::size_t>(h)]));
      for (auto& [state, share] : per_host[static_cast<std::size_t>(h)])
        share /= count[static_cast<std::size_t>(h)];
      put_shares(per_host[static_cast<std::size_t>(h)], n->mutable_shares());
    }
    auto* n = r.add_nodes();
    n->set_path(path_of(k));
    n->set_depth(2);
    n->set_leaves(1);
    put_shares(mix_of(run, k, t), n->mutable_shares());
    if (r.final())
      n->set_condition("ended");
    else if (k == 1 && t >= run.stop_from_s && t < run.stop_to_s)
      n->set_condition("stopped");
  }

  std::map<char, std::uint32_t> times;
  for (double from = 0; from < t;) {
    const char name = phase_at(run, from + 1e-6);
    const double length = name == 'A' ? 2 : (name == 'B' ? run.phase_b_s : run.phase_a_s);
    auto* p = r.add_phases();
    p->set_name(std::string(1, name));
    if (name == 'C') p->set_label("checkpoint");
    p->set_begin_ns(run.begin_ns + ns(from));
    p->set_end_ns(run.begin_ns + ns(std::min(from + length, t)));
    p->set_occurrence(++times[name]);
    p->set_current(from + length >= t);
    from += length;
  }

  const std::string slow = path_of(run.ranks - 1);
  if (t > run.trouble_from_s + 0.2) {
    auto& a = add_alert(run, "p1", t < run.trouble_to_s, run.trouble_from_s, run.trouble_to_s, slow, r);
    a.set_kind(wire::Alert::PERTURBATION);
    add_change("Compute", 0.68, 0.95, a);
    add_change("MPI_Waitall", 0.10, 0.0, a);
    a.add_likely_cause(slow);
  }
  if (t > run.stop_from_s + 0.2) {
    auto& a = add_alert(run, "s1", t < run.stop_to_s, run.stop_from_s, run.stop_to_s, path_of(1), r);
    a.set_kind(wire::Alert::STALL);
    a.set_message("rank1 is stopped (SIGSTOP or a debugger); the others wait for it in MPI_Allreduce");
  }
  auto* h = r.mutable_health();
  h->set_lag_ns(180'000'000);
  if (!r.final())
    h->set_sources_live(static_cast<std::uint32_t>(run.ranks));
  else
    h->set_sources_ended(static_cast<std::uint32_t>(run.ranks));
  for (int k = 0; k < run.ranks; ++k) {
    auto* s = h->add_sources();
    s->set_resource(path_of(k));
    const auto produced = static_cast<std::uint64_t>(t * 12'345);
    const std::uint64_t lost = k == 2 && t > run.loss_at_s ? 4321 : 0;
    const std::uint64_t in_flight = r.final() ? 0 : 150;
    s->set_produced(produced + lost + in_flight);
    s->set_probe_dropped(lost);
    s->set_in_flight(in_flight);
    s->set_modelled(produced);
    h->set_lost_events(h->lost_events() + lost);
  }
  auto* c = h->add_counters();
  c->set_name("probe_dropped_total");
  c->set_value(h->lost_events());
  c->set_severity(2);
  c->set_help("Records that a probe had no room for.");
  c = h->add_counters();
  c->set_name("batches_repeated_total");
  c->set_value(static_cast<std::uint64_t>(t / 10));
  c->set_severity(0);
  c->set_help("Batches sent again after a missing acknowledgement; ignored.");
  r.mutable_spatiotemporal()->set_p(0.02);
  r.mutable_spatiotemporal()->set_gain(812.5);
  r.mutable_spatiotemporal()->set_loss(12.25);
  return r;
}

}  // namespace margay::support
