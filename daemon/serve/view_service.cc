#include "margay/serve/view_service.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "margay/wire/columns.h"

namespace margay::daemon {
namespace {

constexpr std::chrono::milliseconds kPoll(100);
constexpr std::size_t kEvents = 1;  // among the kinds of requests

ViewReply error_reply(const ViewAsker& to, bool events, std::uint64_t token, const std::string& why) {
  ViewReply out{to, {}};
  if (events)
    out.events = events_error(token, why);
  else
    out.answer = view_error(token, why);
  return out;
}

}  // namespace

wire::ControlReply control_reply(ViewReply&& reply) {
  wire::ControlReply out;
  out.set_version(wire::kWireVersion);
  if (reply.events)
    *out.mutable_events() = std::move(*reply.events);
  else
    *out.mutable_view() = std::move(reply.answer);
  return out;
}

ViewService::ViewService(const store::Archive& archive, const Clock& clock, Options options)
    : ViewService(view_source(archive), clock, std::move(options)) {}

ViewService::ViewService(std::unique_ptr<const ViewSource> source, const Clock& clock, Options options)
    : clock_(clock), options_(std::move(options)), maker_(std::move(source), clock, options_.maker) {}

ViewService::~ViewService() {
  stop();
}

void ViewService::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "margay-view");
    // Of this thread alone: Linux has a priority for each. It may always be lowered.
    if (options_.nice > 0)
      static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), options_.nice));
    run();
  });
}

void ViewService::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::vector<ViewReply> ViewService::ask(const ViewAsker& asker, const wire::ViewQuestion& question) {
  Question q{asker, question.token(), ViewRequest(), ""};
  auto request = decode_view_untrusted(question);
  if (!request) return refuse(q, request.error().message);
  q.request = std::move(*request);
  wire::ViewQuestion plain = question;
  plain.clear_token();
  q.bytes = plain.SerializeAsString();
  return put(std::move(q));
}

std::vector<ViewReply> ViewService::ask(const ViewAsker& asker, const wire::EventsQuestion& question) {
  Question q{asker, question.token(), EventPageRequest(), ""};
  auto request = decode_events_untrusted(question);
  if (!request) return refuse(q, request.error().message);
  q.request = std::move(*request);
  wire::EventsQuestion plain = question;
  plain.clear_token();
  q.bytes = plain.SerializeAsString();
  return put(std::move(q));
}

std::vector<ViewReply> ViewService::refuse(const Question& q, const std::string& why) {
  const std::lock_guard lock(mutex_);
  ++status_.refused;
  return {error_reply(q.asker, q.request.index() == kEvents, q.token, why)};
}

std::vector<ViewReply> ViewService::put(Question q) {
  std::vector<ViewReply> out;
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    const auto older = std::find_if(waiting_.begin(), waiting_.end(), [&](const Question& other) {
      return other.asker == q.asker && other.of_a_kind(q);
    });
    full = older == waiting_.end() && waiting_.size() >= kMostWaiting;
    if (full) {
      // Said below.
    } else if (older == waiting_.end()) {
      waiting_.push_back(std::move(q));
      asked_ = true;
    } else if (older->bytes != q.bytes || older->token != q.token) {  // some ask until they are answered
      // In its place: who asks often waits no longer, and no shorter.
      ++status_.superseded;
      out.push_back(
          error_reply(q.asker, q.request.index() == kEvents, older->token, "superseded by a newer question"));
      *older = std::move(q);
    }
  }
  if (full)
    return refuse(
        q, "too many viewers ask at once (" + std::to_string(kMostWaiting) + " wait): ask again later");
  changed_.notify_all();
  return out;
}

ViewServiceStatus ViewService::status() const {
  const std::lock_guard lock(mutex_);
  ViewServiceStatus out = status_;
  out.waiting = waiting_.size();
  out.busy_ms = static_cast<std::uint64_t>(busy_.value / 1'000'000);
  return out;
}

// The next question; nothing at the end. Meanwhile what is likely to be asked for.
std::optional<ViewService::Question> ViewService::next() {
  bool more = true;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (!more) changed_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
      if (stop_) return std::nullopt;
      if (!waiting_.empty()) {
        Question q = std::move(waiting_.front());
        waiting_.pop_front();
        asked_ = !waiting_.empty();
        return q;
      }
    }
    const TimeNs begin = clock_.monotonic();
    more = maker_.look_ahead([this] { return !stop_ && !asked_; });
    note(begin);
  }
}

// What was computed, in how long.
void ViewService::note(TimeNs since) {
  const std::lock_guard lock(mutex_);
  busy_ += clock_.monotonic() - since;
  status_.models = maker_.models();
  status_.solutions = maker_.solutions();
  status_.held_bytes = maker_.held_bytes();
}

void ViewService::reply(const Question& question, const Answer& answer) {
  ViewReply out{question.asker, {}};
  if (answer.events) {
    out.events = *answer.events;
    out.events->set_token(question.token);
    out.events->mutable_question()->set_token(question.token);
  } else {
    out.answer = *answer.view;
    out.answer.set_token(question.token);
    out.answer.mutable_question()->set_token(question.token);
  }
  {
    // Before it can be taken: who has an answer finds it counted.
    const std::lock_guard lock(mutex_);
    ++status_.answered;
  }
  bool taken = false;
  while (!taken && !stop_) {
    // NOLINTNEXTLINE(bugprone-use-after-move): untouched where it was full
    taken = answers_.push(std::move(out), kPoll);
  }
  if (taken && options_.answered) options_.answered();
}

// Nothing: the thread is to end.
std::optional<ViewService::Answer> ViewService::answer(const Question& question) {
  const auto go_on = [this] { return !stop_; };
  Answer out;
  if (const auto* events = std::get_if<EventPageRequest>(&question.request))
    out.events = maker_.events(*events, go_on);
  else
    out.view = maker_.answer(std::get<ViewRequest>(question.request), go_on);
  const bool whole = out.events ? !stop_ : out.view != nullptr;
  return whole ? std::optional(std::move(out)) : std::nullopt;
}

void ViewService::run() {
  while (const auto question = next()) {
    if (options_.before) options_.before();
    const TimeNs begin = clock_.monotonic();
    const auto answer = this->answer(*question);
    note(begin);
    if (!answer) return;
    reply(*question, *answer);
    // Who has been waiting for the same.
    std::vector<Question> same;
    {
      const std::lock_guard lock(mutex_);
      for (auto q = waiting_.begin(); q != waiting_.end();) {
        if (q->of_a_kind(*question) && q->bytes == question->bytes) {
          same.push_back(std::move(*q));
          q = waiting_.erase(q);
        } else {
          ++q;
        }
      }
      asked_ = !waiting_.empty();
    }
    for (const Question& q : same)
      if (q.asker != question->asker || q.token != question->token) reply(q, *answer);
  }
}

}  // namespace margay::daemon
