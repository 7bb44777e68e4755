#include "margay/serve/view_service.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace margay::daemon {
namespace {

constexpr std::chrono::milliseconds kPoll(100);

}  // namespace

ViewService::ViewService(const store::Archive& archive, const Clock& clock, Options options)
    : clock_(clock), options_(std::move(options)), maker_(archive, clock, options_.maker) {}

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
  std::vector<ViewReply> out;
  auto request = decode_view_untrusted(question);
  wire::ViewQuestion plain = question;
  plain.clear_token();
  std::string bytes = request ? plain.SerializeAsString() : "";
  {
    const std::lock_guard lock(mutex_);
    const auto older =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const Question& q) { return q.asker == asker; });
    if (!request) {
      ++status_.refused;
      out.push_back({asker, view_error(question.token(), request.error().message)});
    } else if (older != waiting_.end() && older->bytes == bytes && older->request.token == request->token) {
      // The very same once more: some ask until they are answered.
    } else if (older != waiting_.end()) {
      // In its place: who asks often waits no longer, and no shorter.
      ++status_.superseded;
      out.push_back({asker, view_error(older->request.token, "superseded by a newer question")});
      older->request = std::move(*request);
      older->bytes = std::move(bytes);
    } else if (waiting_.size() >= kMostWaiting) {
      ++status_.refused;
      out.push_back({asker, view_error(question.token(), "too many viewers ask at once (" +
                                                             std::to_string(kMostWaiting) +
                                                             " wait): ask again later")});
    } else {
      waiting_.push_back({asker, std::move(*request), std::move(bytes)});
      asked_ = true;
    }
  }
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

void ViewService::reply(const Question& question, const std::shared_ptr<const wire::ViewAnswer>& answer) {
  ViewReply out{question.asker, *answer};
  out.answer.set_token(question.request.token);
  out.answer.mutable_question()->set_token(question.request.token);
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

void ViewService::run() {
  while (const auto question = next()) {
    if (options_.before) options_.before();
    const TimeNs begin = clock_.monotonic();
    const auto answer = maker_.answer(question->request, [this] { return !stop_; });
    note(begin);
    if (!answer) return;
    reply(*question, answer);
    // Who has been waiting for the same.
    std::vector<Question> same;
    {
      const std::lock_guard lock(mutex_);
      for (auto q = waiting_.begin(); q != waiting_.end();) {
        if (q->bytes == question->bytes) {
          same.push_back(std::move(*q));
          q = waiting_.erase(q);
        } else {
          ++q;
        }
      }
      asked_ = !waiting_.empty();
    }
    for (const Question& q : same)
      if (q.asker != question->asker || q.request.token != question->request.token) reply(q, answer);
  }
}

}  // namespace margay::daemon
