#include "margay/replay/model_server.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "margay/base/text.h"
#include "margay/wire/columns.h"
#include "margay/wire/control.pb.h"
#include "margay/wire/report_version.h"

namespace margay::daemon {
namespace {

constexpr std::chrono::milliseconds kLook(10);
constexpr DurationNs kPeriod = seconds(1);  // for viewers that have just come

}  // namespace

Result<wire::Report> ModelServer::report_of(const ViewSource& source) {
  const auto resume = source.load();
  if (!resume) return tl::unexpected(resume.error());
  const auto extent = source.extent(*resume);
  if (!extent) return tl::unexpected(extent.error());
  ZoomRequest all;
  all.input = resume->run.run;
  all.slices = 1;
  const auto whole = source.zoom(all, *resume);
  if (!whole) return tl::unexpected(whole.error());
  wire::Report report;
  report.set_version(wire::kReportVersion);
  report.set_run(clean_utf8(resume->run.run));
  report.set_command("a model from a file");
  report.set_slice_ns(resume->run.levels.front().value);
  report.set_slice_index(extent->levels.front().last.value);
  report.set_watermark_ns(extent->end.value);
  report.set_run_begin_ns(resume->run.begin.value);
  wire::NodeBar& root = *report.add_nodes();
  root.set_path("/");
  root.set_leaves(static_cast<std::uint32_t>(resume->leaves.size()));
  for (const model::StateInfo& s : resume->states.states()) {
    wire::Name& name = *report.add_states();
    name.set_name(clean_utf8(s.name));
    name.set_family(static_cast<std::uint32_t>(s.family));
  }
  const Model& m = whole->model;
  std::vector<std::pair<double, int>> shares;
  for (std::size_t x = 0; x < m.states; ++x) {
    double sum = 0;
    for (std::size_t l = 0; l < m.leaves(); ++l) sum += m.values[l * m.states + x];
    const auto at = std::find_if(report.states().begin(), report.states().end(), [&](const wire::Name& n) {
      return n.name() == clean_utf8(m.state_names[x]);
    });
    shares.emplace_back(sum / static_cast<double>(m.leaves()),
                        static_cast<int>(at - report.states().begin()));
  }
  std::sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [share, state] : shares) {
    wire::StateShare& out = *root.add_shares();
    out.set_state(static_cast<std::uint32_t>(state));
    out.set_share(static_cast<float>(share));
  }
  wire::Replay& replay = *report.mutable_replay();
  replay.set_paused(true);
  replay.set_at_end(true);
  replay.set_begin_ns(extent->zero.value);
  replay.set_end_ns(extent->end.value);
  wire::Health& health = *report.mutable_health();
  health.set_state(wire::Health::HEALTHY);
  health.set_verdict("a model from a file");
  health.set_daemon_version(MARGAY_VERSION);
  return report;
}

Result<std::unique_ptr<ModelServer>> ModelServer::open(std::unique_ptr<const ViewSource> source,
                                                       const transport::RunDirectory& directory,
                                                       const Clock& clock) {
  auto report = report_of(*source);
  if (!report) return tl::unexpected(report.error());
  std::unique_ptr<ModelServer> out(new ModelServer(clock));
  out->report_ = std::move(*report);
  auto reports = transport::Socket::bind(out->context_, zmq::socket_type::pub, directory.reports_endpoint(),
                                         {}, transport::kSubscriptions);
  if (!reports) return tl::unexpected(reports.error());
  auto control = transport::Socket::bind(out->context_, zmq::socket_type::router,
                                         directory.control_endpoint(), {}, transport::kQuestions);
  if (!control) return tl::unexpected(control.error());
  out->reports_.emplace(std::move(*reports));
  out->control_.emplace(std::move(*control));
  ViewService::Options views;
  views.nice = 0;
  out->views_ = std::make_unique<ViewService>(std::move(source), clock, views);
  out->views_->start();
  return out;
}

void ModelServer::publish() {
  report_.set_sequence(report_.sequence() + 1);
  report_.set_emitted_wall_ns(clock_.realtime().value);
  static_cast<void>(reports_->try_send(report_));
}

void ModelServer::serve(const std::atomic<bool>& stop) {
  TimeNs next{};
  while (!stop) {
    if (clock_.monotonic() >= next) {
      publish();
      next = clock_.monotonic() + kPeriod;
    }
    transport::Socket* const one[] = {&*control_};
    static_cast<void>(transport::wait_readable(one, kLook));
    while (const auto frame = control_->try_receive())
      if (!answer(*frame)) return;
    while (auto view = views_->try_take()) {
      const std::string to = view->to.from;
      static_cast<void>(control_->try_send(control_reply(std::move(*view)), to));
    }
  }
}

bool ModelServer::answer(const transport::Socket::Frame& frame) {
  using Request = wire::ControlRequest;
  wire::ControlReply reply;
  reply.set_version(wire::kWireVersion);
  Request request;
  const bool good = request.ParseFromArray(frame.body.data(), static_cast<int>(frame.body.size())) &&
                    request.version() == wire::kWireVersion;
  const Request::Kind kind = good ? request.kind() : Request::NONE;
  if (kind == Request::VIEW || kind == Request::EVENTS) {
    const ViewAsker asker{frame.from, false};
    for (ViewReply& at_once :
         kind == Request::VIEW ? views_->ask(asker, request.view()) : views_->ask(asker, request.events()))
      static_cast<void>(control_->try_send(control_reply(std::move(at_once)), frame.from));
    return true;  // answered when it is computed
  }
  if (!good)
    reply.set_error("the request is not of wire version " + std::to_string(wire::kWireVersion));
  else if (kind != Request::STATUS && kind != Request::FINISH)
    reply.set_error("this is a model: nothing in it plays, and nothing is alerted");
  *reply.mutable_report() = report_;
  static_cast<void>(control_->try_send(reply, frame.from));
  return kind != Request::FINISH;
}

}  // namespace margay::daemon
