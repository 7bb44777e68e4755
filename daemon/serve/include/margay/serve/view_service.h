// Viewers' questions (VIEW, EVENTS), answered beside everything else: a thread of its own ("margay-view",
// nice 19 beside a job), a bounded queue of questions before it and one of answers behind it.
//
// The thread that owns the control socket calls ask() and try_take(), neither of which waits; it sends what
// they return. A newer question of the same kind and asker takes the place of the one of theirs that
// waits; one that is being computed is computed to the end. One with the token of a question that is not
// answered yet is that question. Whoever waits for the same question is answered by one computation. While
// nobody asks, what is likely to be asked next is computed, and left as soon as somebody does.
//
// Thread safety: ask(), try_take() and status() from one thread or several. Memory: view_maker.h, and up to
// kMostAnswers answers that nobody has taken. Errors are answers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "margay/analysis/bounded_queue.h"
#include "margay/query/view_maker.h"
#include "margay/wire/control.pb.h"

namespace margay::daemon {

// Who is answered: a routing id, and through which door it came.
struct ViewAsker {
  std::string from;
  bool remote = false;
  bool operator==(const ViewAsker&) const = default;
};
// One of the two.
struct ViewReply {
  ViewAsker to;
  wire::ViewAnswer answer;
  std::optional<wire::EventsAnswer> events = {};
};
// As it is sent.
wire::ControlReply control_reply(ViewReply&& reply);

// So far.
struct ViewServiceStatus {
  std::uint64_t answered = 0;    // with what was asked for, or why that cannot be
  std::uint64_t refused = 0;     // questions that make no sense, or found the queue full
  std::uint64_t superseded = 0;  // by a newer one of the same asker
  std::uint64_t models = 0;      // stretches that were read and measured
  std::uint64_t solutions = 0;
  std::uint64_t busy_ms = 0;     // of the thread, wall time
  std::uint64_t waiting = 0;     // now
  std::uint64_t held_bytes = 0;  // now
};

class ViewService {
 public:
  static constexpr std::size_t kMostWaiting = 32;
  static constexpr std::size_t kMostAnswers = 4;
  struct Options {
    ViewMaker::Options maker;
    // Of the thread; 0: as the process. Whoever watches a job must not take its cores; beside a replay there
    // is no job.
    int nice = 19;
    std::function<void()> before;    // each question is computed; for tests
    std::function<void()> answered;  // an answer can be taken; called by the thread, must not block
  };

  // `archive` and `clock` must outlive it. No thread yet.
  ViewService(const store::Archive& archive, const Clock& clock, Options options);
  // Of what is no archive; of the thread from here on.
  ViewService(std::unique_ptr<const ViewSource> source, const Clock& clock, Options options);
  ~ViewService();
  ViewService(const ViewService&) = delete;
  ViewService& operator=(const ViewService&) = delete;

  void start();
  // Ends what is being computed and the thread; what waits is not answered. What cannot be ended (the tables
  // of a stretch being filled) is waited for, about a second at most where there is a free core.
  void stop();

  // What is to be said at once: that this question is refused, or an older one superseded.
  std::vector<ViewReply> ask(const ViewAsker& asker, const wire::ViewQuestion& question);
  std::vector<ViewReply> ask(const ViewAsker& asker, const wire::EventsQuestion& question);
  std::optional<ViewReply> try_take() { return answers_.try_pop(); }
  ViewServiceStatus status() const;

 private:
  struct Question {
    ViewAsker asker;
    std::uint64_t token = 0;
    std::variant<ViewRequest, EventPageRequest> request;
    std::string bytes;  // without the token: what makes two questions of a kind the same
    bool of_a_kind(const Question& other) const { return request.index() == other.request.index(); }
  };
  struct Answer {  // one of the two
    std::shared_ptr<const wire::ViewAnswer> view;
    std::optional<wire::EventsAnswer> events;
  };
  std::vector<ViewReply> put(Question question);
  std::vector<ViewReply> refuse(const Question& question, const std::string& why);
  void run();
  std::optional<Question> next();
  std::optional<Answer> answer(const Question& question);
  void reply(const Question& question, const Answer& answer);
  void note(TimeNs since);

  const Clock& clock_;
  const Options options_;
  ViewMaker maker_;  // of the thread
  BoundedQueue<ViewReply> answers_{kMostAnswers};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Question> waiting_;  // guarded by mutex_; oldest first, one of each kind of each asker
  ViewServiceStatus status_;      // guarded by mutex_
  DurationNs busy_{};             // guarded by mutex_
  std::atomic<bool> stop_{false};
  std::atomic<bool> asked_{false};  // somebody waits
  std::thread thread_;
};

}  // namespace margay::daemon
