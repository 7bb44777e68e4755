#include "margay/live/pipeline.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <utility>

#include "margay/alert/alert.h"
#include "margay/analysis/detector_settings.h"
#include "margay/analysis/history.h"
#include "margay/analysis/phase_memory.h"
#include "margay/log/log.h"
#include "margay/observe/process.h"
#include "margay/settings/memory_budget.h"
#include "margay/settings/units.h"
#include "margay/transport/dial.h"

namespace margay::app {
namespace {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "host";
}

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

store::RunMeta new_run(const Options& o, const Clock& clock) {
  store::RunMeta run;
  run.run = o.run;
  run.command = o.command;
  run.host = host_name();
  run.boot_id = boot_id();
  run.margay_version = MARGAY_VERSION;
  const TimeNs mono = clock.monotonic();
  run.begin = clock.realtime();
  run.wall_offset = run.begin - mono;
  run.levels = o.levels;
  run.lateness = o.lateness;
  run.silence_hold_slices = o.silence_hold_slices;
  if (o.raw_events) run.settings[store::kResolutionSetting] = config::to_text(o.raw_resolution);
  if (o.op != slicer::Operator{}) run.settings[store::kOperatorSetting] = o.op.text();
  run.settings["store.cells"] = o.compact ? "compact" : "exact";
  return run;
}

// Daemons that committed something to this run before.
std::uint32_t starts_before(const store::Resume& resume) {
  for (const store::Blob& b : resume.state)
    if (b.name == kStartsBlob) return static_cast<std::uint32_t>(std::strtoul(b.bytes.c_str(), nullptr, 10));
  return resume.sequence > 0 ? 1 : 0;
}

// Handshakes from the network that the authenticator can tell apart at one time.
constexpr std::uint32_t kLanes = 16;
// The newest time that the archive tells of.
TimeNs newest(const store::Resume& resume) {
  TimeNs t = resume.run.begin;
  for (const auto& c : resume.closed)
    if (c.level.value < resume.run.levels.size())
      t = std::max(t, slice_end(c.through, resume.run.levels[c.level.value]));
  for (const auto& l : resume.leaf_states) t = std::max({t, l.position, l.last_event});
  return t;
}

// What is kept in memory of a run's past; the rest stays in the archive.
store::LoadBounds load_bounds() {
  store::LoadBounds bounds;
  bounds.alert_bytes = kLoadedAlertBytes;
  bounds.phase_bytes = kLoadedPhaseBytes;
  bounds.signature_bytes = kLoadedSignatureBytes;
  bounds.alert_time = [](const store::AlertRecord& a) {
    const auto alert = alert::parse_untrusted(a.json);
    return alert ? alert->detected.value : std::numeric_limits<std::int64_t>::min();
  };
  bounds.signature_time = [](const store::Blob& b) {
    const auto known = from_blob_untrusted(b);
    return known ? known->born.value : std::numeric_limits<std::int64_t>::min();
  };
  bounds.names_of_gone = false;
  return bounds;
}

// What a person wants to know of a start.
void say_start(const Options& o, const store::Resume& resume, bool exists, const MemoryBudget& memory) {
  const auto mebibytes = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  log::info("version " MARGAY_VERSION ", run " + o.run + ", archive " + o.archive + ", slice " +
            std::to_string(o.levels[0].value / 1'000'000) + " ms, pid " + std::to_string(getpid()));
  log::info("memory: " + mebibytes(memory.sum()) + " at most: " + memory.text() + "; up to " +
            std::to_string(o.limits.sources) + " sources, " + std::to_string(o.limits.leaves) + " leaves, " +
            std::to_string(o.limits.states) + " states");
  if (exists) {
    log::info("takes up the run at cut " + std::to_string(resume.sequence) + ": " +
              std::to_string(resume.leaves.size()) + " leaves, " +
              std::to_string(resume.alerts.size() + resume.alerts_left) + " alerts; restart number " +
              std::to_string(o.restarts));
    if (resume.alerts_left + resume.phases_left + resume.signatures_left > 0)
      log::info("of its past, the oldest stay in the archive (margay alerts ls): " +
                std::to_string(resume.alerts_left) + " alerts, " + std::to_string(resume.phases_left) +
                " phase stretches, and what " + std::to_string(resume.signatures_left) +
                " phases looked like, which get a new name if they come again");
  }
  const std::uint64_t limit = observe::memory_limit();
  if (limit > 0 && limit < memory.sum())
    log::warning("memory: this process may use " + mebibytes(limit) +
                 " only, less than its bounds in sum; lower limits.cells, limits.memory, limits.views or "
                 "store.memory");
}

}  // namespace

Result<std::unique_ptr<Pipeline>> Pipeline::start(Options options) {
  static const SystemClock clock;
  return start(std::move(options), clock);
}

Result<std::unique_ptr<Pipeline>> Pipeline::start(Options options, const Clock& clock) {
  std::unique_ptr<Pipeline> p(new Pipeline(std::move(options), clock));
  Options& o = p->options_;
  store::ArchiveOptions archive_options;
  archive_options.memory_bytes = o.store_memory_bytes;
  archive_options.disk_budget = o.disk_budget_bytes;

  auto archive = store::Archive::open(o.archive, store::Mode::kWrite, archive_options);
  const bool exists = archive || archive.error().code != ErrorCode::kNotFound;
  if (!exists) archive = store::Archive::create(o.archive, new_run(o, p->clock_), archive_options);
  if (!archive) return tl::unexpected(archive.error());
  p->archive_ = std::move(*archive);
  auto resume = p->archive_->load(load_bounds());
  if (!resume) return tl::unexpected(resume.error());
  if (resume->run.run != o.run)
    return fail(ErrorCode::kInvalidArgument, o.archive + ": holds the run '" + resume->run.run +
                                                 "'; give --archive a directory of its own");
  // A daemon that died after its last cut has a successor, which says again how the run ended.
  if (resume->run.end && o.restarts == 0)
    return fail(ErrorCode::kInvalidArgument,
                o.archive + ": this run is over; a new run needs a directory of its own");
  o.restarts = std::max(o.restarts, starts_before(*resume));
  o.levels = resume->run.levels;
  if (!o.levels.empty() && o.levels[0].value % o.raw_resolution.value != 0)
    return fail(ErrorCode::kInvalidArgument,
                o.archive + ": store.resolution of " + config::to_text(o.raw_resolution) +
                    " does not divide its slices of " + config::to_text(o.levels[0]));
  // The run's is that of the least exact events in it.
  std::string& resolution = resume->run.settings[store::kResolutionSetting];
  const auto before = config::parse_duration(resolution);
  if (o.raw_events && (!before || *before < o.raw_resolution)) resolution = config::to_text(o.raw_resolution);
  if (resolution.empty()) resume->run.settings.erase(store::kResolutionSetting);
  if (exists) {
    const auto kept = run_operator(resume->run);
    if (!kept) return fail(kept.error(), o.archive);
    if (*kept != o.op)
      log::warning(o.archive + ": the run was begun with the operator " + kept->text() + " and keeps it");
    o.op = *kept;
    o.limits.measured = o.op != slicer::Operator{};
  }
  if (resume->run.boot_id != boot_id()) {
    // The machine's clock began anew, and its wall clock may be behind what it was: trace time goes on.
    resume->run.wall_offset = std::max(p->clock_.realtime(), newest(*resume)) - p->clock_.monotonic();
    o.former_boot_id = std::exchange(resume->run.boot_id, boot_id());
  }

  o.limits.held_slices = held_slices(o);
  const MemoryBudget memory(o);
  p->exchange_.memory_promised = memory.sum();
  const auto back = look_back(*p->archive_, *resume);
  if (!back) return tl::unexpected(back.error());
  auto remote = p->open_door();
  if (!remote) return tl::unexpected(remote.error());
  auto ingest = IngestStage::make(o, p->context_, *p->archive_, *resume, *back, p->exchange_, p->clock_,
                                  std::move(remote->ingest));
  if (!ingest) return tl::unexpected(ingest.error());
  p->ingest_ = std::move(*ingest);
  auto analysis = AnalysisStage::make(o, p->context_, *p->archive_, *resume, *back, p->exchange_, p->clock_,
                                      std::move(remote->viewers));
  if (!analysis) return tl::unexpected(analysis.error());
  p->analysis_ = std::move(*analysis);
  say_start(o, *resume, exists, memory);
  if (!o.http_listen.empty()) {
    auto http = observe::HttpServer::start(o.http_listen, p->clock_, o.http_hosts);
    if (http) {
      p->exchange_.http = std::move(*http);
      log::info("http://" + p->exchange_.http->address() + "/metrics and /health are answered");
    } else if (http.error().code == ErrorCode::kInvalidArgument) {
      return tl::unexpected(http.error());
    } else {
      log::warning(http.error().message + " The run is watched all the same.");
    }
  }
  p->ingest_->start();
  p->analysis_->start();
  return p;
}

Result<Pipeline::Remote> Pipeline::open_door() {
  Remote remote;
  const Options::Listen& l = options_.listen;
  if (!l.any()) return remote;
  auto door = transport::Authenticator::start(context_, l.keys, clock_,
                                              [](const std::string& line) { log::warning(line); });
  if (!door) return tl::unexpected(door.error());
  door_ = std::move(*door);
  exchange_.door = door_.get();
  // The guarded sockets lie in the run's own directory; a gate stands at the addresses that the public sees.
  std::vector<transport::GateRoute> routes;
  std::vector<std::string> domains;
  const auto open = [&](std::optional<transport::GuardedSocket>& into, zmq::socket_type type,
                        const std::string& listen, const std::string& domain,
                        const transport::Intake& intake) -> Status {
    if (listen.empty()) return {};
    const std::string place = options_.directory.path + "/" + domain + "-far";
    std::vector<std::string> lanes;
    for (std::uint32_t i = 0; i < kLanes; ++i) lanes.push_back("ipc://" + transport::lane_of(place, i));
    auto socket = transport::GuardedSocket::bind(context_, type, lanes, domain, *door_, intake);
    if (!socket) return fail(socket.error(), "listen." + domain);
    into.emplace(std::move(*socket));
    routes.push_back({listen, place, kLanes});
    domains.push_back(domain);
    return {};
  };
  if (auto ok = open(remote.ingest, zmq::socket_type::router, l.ingest, "ingest", kRecords); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = open(remote.viewers.reports, zmq::socket_type::pub, l.reports, "reports", kReports); !ok)
    return tl::unexpected(ok.error());
  if (auto ok =
          open(remote.viewers.control, zmq::socket_type::router, l.control, "control", transport::kQuestions);
      !ok)
    return tl::unexpected(ok.error());
  transport::GateLimits limits;
  limits.connections = l.connections;
  limits.unauthenticated = std::min(limits.unauthenticated, l.connections);
  limits.per_address = std::min(l.per_address, l.connections);
  auto gate = transport::Gate::open(routes, limits, clock_,
                                    [door = door_.get()](const std::string& address, const char* reason) {
                                      door->note_refusal(address, reason);
                                    });
  if (!gate) return fail(gate.error(), "[listen]");
  gate_ = std::move(*gate);
  door_->stands_behind([gate = gate_.get(), domains](const std::string& domain, std::uint32_t lane) {
    const auto route = std::find(domains.begin(), domains.end(), domain) - domains.begin();
    return gate->at_lane(static_cast<std::size_t>(route), lane);
  });
  exchange_.gate = gate_.get();
  for (std::size_t i = 0; i < domains.size(); ++i) {
    const std::string endpoint = "tcp://" + gate_->addresses()[i];
    listening_.push_back("listening for " + domains[i] + " at " + endpoint);
    if (domains[i] == "reports") remote.viewers.reports_port = transport::port_of(endpoint);
  }
  listening_.push_back("the key of this daemon: " + door_->server_fingerprint());
  return remote;
}

void Pipeline::wait() {
  if (analysis_) analysis_->join();
  if (ingest_) ingest_->join();
}

std::string Pipeline::verdict() {
  const auto report = exchange_.last_shown();
  return report ? report->health().verdict() : "starting";
}

std::string Pipeline::summary() {
  const auto report = exchange_.last_shown();
  if (!report) return "ends before its first report";
  std::uint64_t produced = 0, alerts = 0;
  for (const auto& c : report->health().counters()) {
    if (c.name() == "events_produced") produced = c.value();
    if (c.name() == "alerts_raised") alerts = c.value();
  }
  return std::string(report->final() ? "the run is over: " : "ends, the run stays open: ") +
         std::to_string(produced) + " events, " + std::to_string(report->health().lost_events()) + " lost; " +
         std::to_string(report->phases_size()) + " phase stretches, " + std::to_string(alerts) + " alerts; " +
         report->health().verdict();
}

Pipeline::~Pipeline() {
  request_stop();
  wait();
  if (door_) door_->stands_behind({});
}

}  // namespace margay::app
