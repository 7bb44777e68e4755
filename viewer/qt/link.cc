#include "link.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <zmq.hpp>

#include "margay/base/time.h"
#include "margay/transport/dial.h"
#include "margay/transport/rundir.h"
#include "margay/wire/columns.h"

namespace margay::viewer {
namespace {

constexpr DurationNs kAskPeriod = seconds(1);  // silence after which the daemon is asked how it is
constexpr DurationNs kGoneAfter = seconds(3);  // silence that is called gone
constexpr DurationNs kPatience = seconds(20);  // of a question
constexpr int kPass = 200;                     // ms, at most, between two looks at everything
constexpr std::size_t kMostRequests = 64;

// What the thread has in its hands.
class Line {
 public:
  Line(const LinkTo& to, const SystemClock& clock) : to_(to), clock_(clock) {}

  Status open() {
    if (to_.connect.empty()) {
      auto dir = transport::open_run_directory(to_.run);
      if (!dir) return tl::unexpected(dir.error());
      dir_ = *dir;
    }
    control_.emplace(context_, clock_, zmq::socket_type::dealer,
                     to_.connect.empty() ? dir_.control_endpoint() : to_.connect, to_.key);
    if (auto ok = control_->open(); !ok) return ok;
    return to_.connect.empty() ? receive_from(dir_.reports_endpoint()) : Status();
  }
  Status receive_from(const std::string& endpoint) {
    reports_.emplace(context_, clock_, zmq::socket_type::sub, endpoint, to_.key);
    return reports_->open();
  }
  void look() {
    control_->look();
    if (reports_) reports_->look();
  }
  void wait(int wake) {
    std::vector<zmq::pollitem_t> items{{control_->socket().raw().handle(), 0, ZMQ_POLLIN, 0},
                                       {nullptr, wake, ZMQ_POLLIN, 0}};
    if (reports_) items.push_back({reports_->socket().raw().handle(), 0, ZMQ_POLLIN, 0});
    try {
      zmq::poll(items, std::chrono::milliseconds(kPass));
    } catch (const zmq::error_t&) {
      return;  // interrupted
    }
    std::uint64_t count = 0;
    if (items[1].revents != 0) static_cast<void>(!::read(wake, &count, sizeof count));
  }
  bool run_is_gone() const {
    struct stat s {};
    return to_.connect.empty() && ::stat(dir_.path.c_str(), &s) != 0;
  }
  transport::Socket& control() { return control_->socket(); }
  transport::Socket* reports() { return reports_ ? &reports_->socket() : nullptr; }
  const std::string& refused() const { return control_->refused(); }

 private:
  const LinkTo& to_;
  const SystemClock& clock_;
  transport::RunDirectory dir_;
  zmq::context_t context_{1};
  std::optional<transport::Dial> reports_, control_;
};

}  // namespace

Link::Link(LinkTo to, QObject* parent) : QObject(parent), to_(std::move(to)) {
  qRegisterMetaType<margay::viewer::ViewPtr>();
  wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void Link::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "margay-link");
    run();
  });
}

Link::~Link() {
  stop_ = true;
  wake();
  if (thread_.joinable()) thread_.join();
  if (wake_ >= 0) ::close(wake_);
}

void Link::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_, &one, sizeof one));
}

void Link::ask(wire::ViewQuestion question) {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = std::move(question);
  }
  wake();
}

void Link::send(wire::ControlRequest request) {
  {
    const std::lock_guard lock(mutex_);
    if (requests_.size() < kMostRequests) requests_.push_back(std::move(request));
  }
  wake();
}

ReportPtr Link::take_report() {
  const std::lock_guard lock(mutex_);
  return std::exchange(report_, nullptr);
}

void Link::run() {
  const SystemClock clock;
  std::optional<Line> line;
  std::optional<wire::ViewQuestion> under_way;
  TimeNs heard = clock.monotonic(), asked{}, questioned{};
  std::int64_t newest = 0;
  std::optional<std::pair<bool, std::string>> told;
  const auto tell = [&](bool there, const std::string& why) {
    if (told == std::pair(there, why)) return;
    // A daemon that has come back knows nothing of what the one before was asked.
    if (there) under_way.reset();
    told = {there, why};
    emit changed(there, QString::fromStdString(why));
  };
  const auto take = [&](wire::Report report) {
    if (report.version() > wire::kWireVersion) {
      tell(false, "the daemon speaks version " + std::to_string(report.version()) +
                      " of the wire, this viewer version " + std::to_string(wire::kWireVersion) +
                      ": update Margay here");
      return;
    }
    if (report.emitted_wall_ns() < newest) return;  // an answer may be older than what was published
    newest = report.emitted_wall_ns();
    bool had = false;
    {
      const std::lock_guard lock(mutex_);
      had = report_ != nullptr;
      report_ = std::make_shared<const wire::Report>(std::move(report));
    }
    if (!had) emit reported();
  };
  while (!stop_) {
    const TimeNs now = clock.monotonic();
    if (!line) {
      line.emplace(to_, clock);
      if (auto ok = line->open(); !ok) {
        tell(false, ok.error().message);
        line.reset();
        for (int i = 0; i < 10 && !stop_; ++i) ::usleep(100'000);
        continue;
      }
      heard = now;
    }
    line->look();
    bool any = false;
    if (auto* socket = line->reports())
      while (auto frame = socket->try_receive()) {
        wire::Report report;
        any = true;
        if (report.ParseFromString(frame->body)) take(std::move(report));
      }
    while (auto frame = line->control().try_receive()) {
      wire::ControlReply reply;
      any = true;
      if (!reply.ParseFromString(frame->body)) continue;
      if (!line->reports() && reply.reports_port() != 0)
        if (auto ok = line->receive_from(transport::with_port(to_.connect, reply.reports_port())); !ok)
          emit said(QString::fromStdString(ok.error().message));
      if (reply.has_report()) take(std::move(*reply.mutable_report()));
      if (!reply.said().empty()) emit said(QString::fromStdString(reply.said()));
      if (reply.has_view()) {
        const std::uint64_t token = reply.view().token();
        if (under_way && token == under_way->token()) under_way.reset();
        auto data = scene::view_data_untrusted(reply.view());
        if (data)
          emit answered(std::make_shared<const scene::ViewData>(std::move(*data)));
        else
          emit refused(token, QString::fromStdString(data.error().message));
      } else if (!reply.error().empty()) {
        // Of a daemon that knows no such question it is all that comes.
        if (under_way)
          emit refused(std::exchange(under_way, std::nullopt)->token(),
                       QString::fromStdString(reply.error()));
        else
          emit said(QString::fromStdString(reply.error()));
      }
    }
    if (any) heard = now;

    std::vector<wire::ControlRequest> requests;
    {
      const std::lock_guard lock(mutex_);
      requests.swap(requests_);
      if (wanted_ && (!under_way || now - questioned >= kPatience)) {
        under_way = std::exchange(wanted_, std::nullopt);
        questioned = TimeNs();
      }
    }
    if (under_way && (questioned == TimeNs() || now - questioned >= kPatience)) {
      wire::ControlRequest request;
      request.set_version(wire::kWireVersion);
      request.set_kind(wire::ControlRequest::VIEW);
      *request.mutable_view() = *under_way;
      questioned = now;
      // A daemon closes the connection of who asks at greater length, without a word.
      if (static_cast<std::int64_t>(request.ByteSizeLong()) > transport::kQuestions.largest) {
        emit refused(std::exchange(under_way, std::nullopt)->token(),
                     "the question is longer than a daemon listens to: choose fewer states");
      } else {
        requests.push_back(std::move(request));
      }
    }
    if (asked == TimeNs() || (now - heard >= kAskPeriod && now - asked >= kAskPeriod)) {
      wire::ControlRequest request;
      request.set_version(wire::kWireVersion);
      request.set_kind(wire::ControlRequest::STATUS);
      requests.push_back(std::move(request));
      asked = now;
    }
    for (const auto& r : requests) static_cast<void>(line->control().try_send(r));

    if (!line->refused().empty()) {
      tell(false, line->refused());
    } else if (now - heard >= kGoneAfter) {
      const bool gone = line->run_is_gone();
      tell(false, gone ? "the run has ended, and its daemon with it" : "the daemon does not answer");
      if (gone) newest = 0, line.reset();
    } else if (newest != 0) {
      tell(true, "");
    }
    if (line) line->wait(wake_);
  }
}

}  // namespace margay::viewer
