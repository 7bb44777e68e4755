#include "margay/live/analysis_loop.h"

#include <pthread.h>

#include <utility>
#include <vector>

#include "margay/transport/client_connection.h"

namespace margay::daemon {
namespace {

// For questions, each round. Those who only ask to keep it busy are read as quickly as they can send.
constexpr DurationNs kQuestionsARound = milliseconds(10);

}  // namespace

Result<std::unique_ptr<AnalysisLoop>> AnalysisLoop::make(const Options& options, zmq::context_t& context,
                                                         const store::Archive& archive,
                                                         const store::Resume& resume, const LookBack& back,
                                                         Exchange& exchange, const Clock& clock,
                                                         RemoteViewers remote) {
  auto reports = transport::LimitedSocket::bind(context, zmq::socket_type::pub,
                                                options.directory.reports_endpoint(), kMostViewers, kReports);
  if (!reports) return tl::unexpected(reports.error());
  auto control =
      transport::LimitedSocket::bind(context, zmq::socket_type::router, options.directory.control_endpoint(),
                                     kMostViewers, transport::kQuestions);
  if (!control) return tl::unexpected(control.error());
  std::unique_ptr<AnalysisLoop> loop(
      new AnalysisLoop(std::move(*reports), std::move(*control), std::move(remote), exchange, clock));
  auto stage = AnalysisStage::make(options, archive, resume, back, exchange, clock, loop->ports());
  if (!stage) return tl::unexpected(stage.error());
  loop->stage_ = std::move(*stage);
  return loop;
}

AnalysisLoop::AnalysisLoop(transport::LimitedSocket reports, transport::LimitedSocket control,
                           RemoteViewers remote, Exchange& exchange, const Clock& clock)
    : exchange_(exchange),
      clock_(clock),
      reports_(std::move(reports)),
      control_(std::move(control)),
      remote_(std::move(remote)) {}

AnalysisStage::Ports AnalysisLoop::ports() {
  AnalysisStage::Ports ports;
  ports.publish = [this](const wire::Report& report) {
    static_cast<void>(transport::send_counted(reports_.socket(), report, "", exchange_.outgoing));
    if (remote_.reports)
      static_cast<void>(transport::send_counted(remote_.reports->socket(), report, "", exchange_.outgoing));
  };
  ports.reply = [this](const Client& client, const wire::ControlReply& reply) {
    transport::Socket& socket =
        client.remote && remote_.control ? remote_.control->socket() : control_.socket();
    static_cast<void>(transport::send_counted(socket, reply, client.from, exchange_.outgoing));
  };
  ports.set = [this](observe::Values& v) {
    using observe::Id;
    v.set(Id::requests_refused, v[Id::requests_refused] + control_.malformed() +
                                    (remote_.control ? remote_.control->malformed() : 0));
  };
  if (remote_.reports) ports.reports_port = remote_.reports_port;
  return ports;
}

void AnalysisLoop::start() {
  stage_->start_views();
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "margay-analyse");
    run();
  });
}

void AnalysisLoop::join() {
  if (thread_.joinable()) thread_.join();
}

void AnalysisLoop::run() {
  stage_->begin();
  stage_->start_sinks();
  std::vector<transport::Socket*> sockets = {&control_.socket()};
  if (remote_.control) sockets.push_back(&remote_.control->socket());
  while (!exchange_.stop) {
    ++exchange_.beats.analysis;
    static_cast<void>(transport::wait_readable(sockets, stage_->patience(), &exchange_.for_analysis));
    stage_->take_slices();
    receive();
    stage_->step();
  }
  stage_->stop_threads();
}

void AnalysisLoop::receive() {
  reports_.keep_up();
  control_.keep_up();
  for (auto* guarded : {&remote_.reports, &remote_.control})
    if (*guarded) (*guarded)->keep_up();
  const auto take_some = [&](auto& socket, bool remote) {
    const TimeNs begin = clock_.monotonic();
    while (const auto frame = socket.try_receive()) {
      stage_->ask(frame->body, {frame->from, remote, !remote || exchange_.door->is_operator(frame->user)});
      if (clock_.monotonic() - begin >= kQuestionsARound) return;
    }
  };
  take_some(control_, false);
  if (remote_.control) take_some(*remote_.control, true);
}

}  // namespace margay::daemon
