#include "link.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <zmq.hpp>

#include "margay/base/time.h"
#include "margay/transport/rundir.h"
#include "margay/wire/columns.h"

namespace margay::viewer {
namespace {

constexpr DurationNs kPatience = seconds(20);  // of a question
constexpr int kPass = 200;                     // ms, at most, between two looks at everything
constexpr std::size_t kMostRequests = 64;

Result<feed::Source> source_of(const LinkTo& to) {
  feed::Source source{{}, to.connect, to.key};
  if (!to.connect.empty()) return source;
  const auto runs = to.run.empty() ? transport::list_runs() : std::vector<std::string>();
  if (to.run.empty() && runs.empty()) return fail(ErrorCode::kNotFound, "no run here to attach to");
  auto dir = transport::open_run_directory(to.run.empty() ? runs.front() : to.run);
  if (!dir) return tl::unexpected(dir.error());
  source.dir = *dir;
  return source;
}

wire::ControlRequest request_of(const wire::ViewQuestion& question) {
  wire::ControlRequest request;
  request.set_version(wire::kWireVersion);
  request.set_kind(wire::ControlRequest::VIEW);
  *request.mutable_view() = question;
  return request;
}
wire::ControlRequest request_of(const wire::EventsQuestion& question) {
  wire::ControlRequest request;
  request.set_version(wire::kWireVersion);
  request.set_kind(wire::ControlRequest::EVENTS);
  *request.mutable_events() = question;
  return request;
}

// A daemon closes the connection of who asks at greater length, without a word.
bool too_long(const wire::ControlRequest& request) {
  return static_cast<std::int64_t>(request.ByteSizeLong()) > transport::kQuestions.largest;
}

}  // namespace

Link::Link(LinkTo to, QObject* parent) : QObject(parent), to_(std::move(to)) {
  qRegisterMetaType<margay::viewer::ViewPtr>();
  qRegisterMetaType<margay::viewer::EventPagePtr>();
  qRegisterMetaType<margay::viewer::EventSumsPtr>();
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

void Link::ask(wire::EventsQuestion question) {
  std::optional<wire::EventsQuestion> older;
  {
    const std::lock_guard lock(mutex_);
    older = std::exchange(wanted_events_, std::move(question));
  }
  wake();
  if (older) emit not_listed(older->token(), "another page asked meanwhile");
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

void Link::tell(bool there, const std::string& why) {
  if (told_ == std::pair(there, why)) return;
  // A daemon that has come back knows nothing of what the one before was asked.
  if (there) view_.question.reset(), events_.question.reset();
  told_ = {there, why};
  emit changed(there, QString::fromStdString(why));
}

void Link::take_view(const wire::ViewAnswer& answer) {
  const std::uint64_t token = answer.token();
  if (view_.question && token == view_.question->token()) view_.question.reset();
  auto data = scene::view_data_untrusted(answer);
  if (data)
    emit answered(std::make_shared<const scene::ViewData>(std::move(*data)));
  else
    emit refused(token, QString::fromStdString(data.error().message));
}

void Link::take_events(const wire::EventsAnswer& answer) {
  const std::uint64_t token = answer.token();
  if (events_.question && token == events_.question->token()) events_.question.reset();
  const auto tell = [&](auto checked, auto signal) {
    using Value = std::remove_cvref_t<decltype(*checked)>;
    if (checked)
      emit(this->*signal)(std::make_shared<const Value>(std::move(*checked)));
    else
      emit not_listed(token, QString::fromStdString(checked.error().message));
  };
  const auto kind = answer.question().kind();
  if (kind == wire::EventsQuestion::SUMS || kind == wire::EventsQuestion::PAIRS)
    tell(scene::event_sums_untrusted(answer), &Link::summed);
  else if (kind == wire::EventsQuestion::WAITS)
    tell(scene::event_waits_untrusted(answer), &Link::waits_known);
  else
    tell(scene::event_page_untrusted(answer), &Link::listed);
}

void Link::take_reply(const wire::ControlReply& reply) {
  if (!reply.said().empty()) emit said(QString::fromStdString(reply.said()));
  if (reply.has_view()) return take_view(reply.view());
  if (reply.has_events()) return take_events(reply.events());
  if (reply.has_silences()) {
    auto silences = scene::silences_untrusted(reply.silences());
    if (!silences)
      emit said(QString::fromStdString(silences.error().message));
    else
      emit silences_known(std::make_shared<const std::vector<scene::ListedSilence>>(std::move(*silences)));
  }
  if (reply.error().empty()) return;
  // Of a daemon that knows no such question it is all that comes. The newer kind is the one that it may not
  // know.
  if (events_.question)
    emit not_listed(events_.give_up(), QString::fromStdString(reply.error()));
  else if (view_.question)
    emit refused(view_.give_up(), QString::fromStdString(reply.error()));
  else
    emit said(QString::fromStdString(reply.error()));
}

template <class Question>
std::optional<wire::ControlRequest> Link::UnderWay<Question>::due(std::optional<Question>& wanted,
                                                                  TimeNs now) {
  if (wanted && (!question || now - asked >= kPatience)) {
    question = std::exchange(wanted, std::nullopt);
    asked = TimeNs();
  }
  if (!question || (asked != TimeNs() && now - asked < kPatience)) return {};
  asked = now;
  return request_of(*question);
}

template <class Question>
std::uint64_t Link::UnderWay<Question>::give_up() {
  return std::exchange(question, std::nullopt)->token();
}

void Link::send_what_is_due(feed::Feed& feed, TimeNs now) {
  std::vector<wire::ControlRequest> requests;
  std::optional<wire::ControlRequest> view, events;
  {
    const std::lock_guard lock(mutex_);
    requests.swap(requests_);
    view = view_.due(wanted_, now);
    events = events_.due(wanted_events_, now);
  }
  if (view && too_long(*view))
    emit refused(view_.give_up(), "the request is too long for the daemon: choose fewer states");
  else if (view)
    requests.push_back(std::move(*view));
  if (events && too_long(*events))
    emit not_listed(events_.give_up(), "the request is too long for the daemon: choose fewer states");
  else if (events)
    requests.push_back(std::move(*events));
  for (const auto& r : requests) static_cast<void>(feed.send(r));
}

void Link::run() {
  const SystemClock clock;
  std::optional<feed::Feed> feed;
  bool ended = false;
  const auto open = [&]() -> Status {
    auto source = source_of(to_);
    if (!source) return tl::unexpected(source.error());
    feed.emplace(clock, std::move(*source));
    return feed->open();
  };
  while (!stop_) {
    if (!feed) {
      if (auto ok = open(); !ok) {
        // That it has ended says more than that it is not there.
        if (!ended) tell(false, ok.error().message);
        feed.reset();
        for (int i = 0; i < 10 && !stop_; ++i) ::usleep(100'000);
        continue;
      }
    }
    static_cast<void>(feed->take(
        [this](const ReportPtr& report) {
          const std::lock_guard lock(mutex_);
          if (std::exchange(report_, report) == nullptr) emit reported();
        },
        [this](const wire::ControlReply& reply) { take_reply(reply); }));
    send_what_is_due(*feed, clock.monotonic());

    const bool silent = feed->silence() >= feed::kGoneAfter;
    if (!feed->refused().empty()) {
      tell(false, feed->refused());
    } else if (silent && feed->run_is_gone()) {
      tell(false, "the run has ended, and its daemon, too");
      ended = true;
      feed.reset();
      continue;
    } else if (silent) {
      tell(false, "the daemon does not answer");
    } else if (!feed->newest() && !feed->notice().empty()) {
      tell(false, feed->notice());
    } else if (feed->newest()) {
      ended = false;
      tell(true, "");
    }
    std::vector<zmq::pollitem_t> items = feed->poll_items();
    items.push_back({nullptr, wake_, ZMQ_POLLIN, 0});
    try {
      zmq::poll(items, std::chrono::milliseconds(kPass));
    } catch (const zmq::error_t&) {
      continue;  // interrupted
    }
    std::uint64_t count = 0;
    if (items.back().revents != 0) static_cast<void>(!::read(wake_, &count, sizeof count));
  }
}

}  // namespace margay::viewer
