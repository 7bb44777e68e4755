#include "margay/live/pipeline.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "margay/live/durability.h"
#include "margay/live/open_run.h"
#include "margay/log/log.h"
#include "margay/observe/process.h"
#include "margay/settings/memory_budget.h"
#include "margay/transport/client_connection.h"

namespace margay::daemon {
namespace {

// Handshakes from the network that the authenticator can tell apart at one time.
constexpr std::uint32_t kLanes = 16;

// What a person wants to know of a start.
void say_start(const Options& o, const store::Resume& resume, bool exists, const MemoryBudget& memory) {
  const auto mebibytes = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  log::info("version " MARGAY_VERSION ", run " + o.run + ", archive " + o.archive + ", slice " +
            std::to_string(o.levels[0].value / 1'000'000) + " ms, pid " + std::to_string(getpid()));
  log::info("memory: " + mebibytes(memory.sum()) + " at most: " + memory.text() + "; up to " +
            std::to_string(o.limits.sources) + " sources, " + std::to_string(o.limits.leaves) + " leaves, " +
            std::to_string(o.limits.states) + " states");
  if (exists) {
    log::info("continues the run at cut " + std::to_string(resume.sequence) + ": " +
              std::to_string(resume.leaves.size()) + " leaves, " +
              std::to_string(resume.alerts.size() + resume.alerts_left) + " alerts; restart number " +
              std::to_string(o.restarts));
    if (resume.alerts_left + resume.phases_left + resume.signatures_left > 0)
      log::info("the oldest history stays in the archive only (margay alerts ls): " +
                std::to_string(resume.alerts_left) + " alerts, " + std::to_string(resume.phases_left) +
                " phase stretches, and what " + std::to_string(resume.signatures_left) +
                " phases looked like: these get a new name if they come again");
  }
  const std::uint64_t limit = observe::memory_limit();
  if (limit > 0 && limit < memory.sum())
    log::warning("memory: this process may use " + mebibytes(limit) +
                 " only, less than the sum of its limits; lower limits.cells, limits.memory, limits.views or "
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
  auto opened = open_run(o, p->clock_, this_boot());
  if (!opened) return tl::unexpected(opened.error());
  p->archive_ = std::move(opened->archive);
  const MemoryBudget memory(o);
  p->exchange_.memory_promised = memory.sum();
  auto remote = p->open_door();
  if (!remote) return tl::unexpected(remote.error());
  auto ingest = IngestLoop::make(o, p->context_, *p->archive_, opened->resume, opened->back, p->exchange_,
                                 p->clock_, std::move(remote->ingest));
  if (!ingest) return tl::unexpected(ingest.error());
  p->ingest_ = std::move(*ingest);
  auto analysis = AnalysisLoop::make(o, p->context_, *p->archive_, opened->resume, opened->back, p->exchange_,
                                     p->clock_, std::move(remote->viewers));
  if (!analysis) return tl::unexpected(analysis.error());
  p->analysis_ = std::move(*analysis);
  say_start(o, opened->resume, opened->exists, memory);
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
  if (!report) return "ends before the first report";
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

}  // namespace margay::daemon
