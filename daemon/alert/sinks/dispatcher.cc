#include "margay/sinks/dispatcher.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "channel.h"
#include "delivery_log.h"

namespace margay::sinks {
namespace {

constexpr std::chrono::milliseconds kTick(10);       // while something is under way
constexpr std::chrono::milliseconds kLongest(1000);  // else
constexpr std::size_t kLongestLink = 2000;           // bytes: it is sent whole or not at all

bool fires(const Notice& n) {
  return n.alert.status == alert::Status::kFiring;
}

std::function<double()> machine_random() {
  return [engine = std::mt19937_64(std::random_device{}())]() mutable {
    return std::uniform_real_distribution<double>(0, 1)(engine);
  };
}

template <class Map>
void keep_within(Map& map, std::size_t most) {
  if (map.size() > most) map.erase(map.begin());
}

}  // namespace

struct Dispatcher::Way {
  Channel channel;
  std::string name, title;
  TimeNs since;                        // wall clock
  std::map<std::string, Shared> held;  // before start(): fire, but may have been resolved long ago; by id
  bool troubled = false;
};

Dispatcher::Dispatcher(std::vector<std::unique_ptr<Sink>> sinks, Options options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), log_(std::make_unique<DeliveryLog>(options_.log_path)) {
  if (!options_.random) options_.random = machine_random();
  for (auto& sink : sinks) {
    const std::string name = sink->name(), title = name + " (" + sink->where() + ")";
    ways_.push_back(std::make_unique<Way>(
        Way{Channel(std::move(sink), options_.time_limit, options_.retry_for, options_.random),
            name,
            "alerts: " + title,
            log_->since(name, clock_.realtime()),
            {}}));
  }
  if (!log_->trouble().empty())
    options_.say(Weight::kWarning, "alerts: after a restart some may be sent twice: " + log_->trouble());
}

Dispatcher::~Dispatcher() {
  stop();
}

Dispatcher::Shared Dispatcher::notice_of(const alert::Alert& a) {
  const TimeNs trace_now = clock_.monotonic() + options_.wall_offset;
  const auto [at, fresh] = first_.try_emplace(a.id, First{a.node, clock_.realtime() - trace_now});
  auto n = std::make_shared<Notice>();
  n->alert = a;
  n->node = at->second.node;
  n->link = alert::picture_link(a, options_.place);
  if (n->link.size() > kLongestLink) n->link.clear();  // half of one leads nowhere
  n->began = a.onset + at->second.drift;
  if (a.end) n->end = *a.end + at->second.drift;
  if (fires(*n))
    keep_within(first_, kMostOpen);
  else
    first_.erase(at);
  return n;
}

void Dispatcher::push(const alert::Alert& alert) {
  const Shared notice = notice_of(alert);
  if (!started_) {
    for (const auto& way : ways_) take_past(*way, notice);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (incoming_.size() >= kMostIncoming)
      ++refused_;
    else
      incoming_.push_back(notice);
  }
  changed_.notify_one();
}

void Dispatcher::take_past(Way& way, const Shared& n) {
  const std::string& id = n->alert.id;
  const std::string step = alert::step(n->alert);
  // An update of the past is not sent any more. It is how the alert is, for a sink that was told of it.
  if (fires(*n) && n->alert.updates > 0) {
    if (const auto held = way.held.find(id); held != way.held.end()) held->second = n;
    return;
  }
  const bool had = log_->had(way.name, id, step) || way.channel.holds(id, step);
  // From before this sink was used: n->began is later than the onset by what the clocks differ.
  const bool before = n->alert.detected + (n->began - n->alert.onset) < way.since;
  if (fires(*n)) {
    if (!had && !before) return way.channel.add(n, clock_.monotonic());
    way.held[id] = n;
    keep_within(way.held, kMostOpen);
    return;
  }
  way.held.erase(id);
  if (!had && !before) way.channel.add(n, clock_.monotonic());
}

void Dispatcher::take(Way& way, const Shared& n) {
  const std::string& id = n->alert.id;
  const std::string step = alert::step(n->alert);
  if (way.channel.holds(id, step)) return;
  if (!log_->had(way.name, id, step))
    way.channel.add(n, clock_.monotonic());
  else if (fires(*n))
    way.channel.sink().adopt(*n);
  else
    way.channel.sink().forget(id);
}

void Dispatcher::start() {
  if (started_) return;
  started_ = true;
  for (const auto& way : ways_)
    for (const auto& [id, n] : std::exchange(way->held, {})) {
      if (log_->had(way->name, id, alert::to_string(alert::Status::kFiring)))
        way->channel.sink().adopt(*n);
      else
        take(*way, n);
    }
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "margay-alerts");
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    run();
  });
}

void Dispatcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Dispatcher::run() {
  try {
    loop();
  } catch (const std::exception& e) {
    options_.say(Weight::kError, std::string("alerts: none are sent any more: ") + e.what());
  }
}

void Dispatcher::loop() {
  TimeNs deadline = Sink::kNever;
  for (;;) {
    const TimeNs now = clock_.monotonic();
    TimeNs next = Sink::kNever;
    for (const auto& way : ways_) next = std::min(next, way->channel.next(now));
    std::vector<Shared> incoming;
    bool stopping = false;
    {
      std::unique_lock lock(mutex_);
      const auto due = std::chrono::milliseconds(std::max<std::int64_t>(0, (next - now).value / 1'000'000));
      const auto wait = std::clamp(due, kTick, kLongest);
      changed_.wait_for(lock, wait,
                        [&] { return !incoming_.empty() || (stopping_ && deadline == Sink::kNever); });
      incoming.swap(incoming_);
      stopping = stopping_;
    }
    for (const Shared& n : incoming)
      for (const auto& way : ways_) take(*way, n);
    const TimeNs then = clock_.monotonic();
    if (stopping && deadline == Sink::kNever) {
      deadline = then + kPatienceAtEnd;
      for (const auto& way : ways_) way->channel.hurry();
    }
    for (const auto& way : ways_) step(*way, then, false);
    publish();
    if (!stopping) continue;
    const bool over = std::all_of(ways_.begin(), ways_.end(), [](const auto& way) {
      return way->channel.idle() || way->channel.hopeless();
    });
    if (!over && then < deadline) continue;
    for (const auto& way : ways_) step(*way, then, true);
    publish();
    return;
  }
}

// The last step gives up what is left. That is not written down: if the run goes on, the next daemon tries.
void Dispatcher::step(Way& way, TimeNs now, bool last) {
  std::size_t lost = 0;
  std::string newest;
  const auto fate = [&](const Channel::Fate& f) {
    const alert::Alert& a = f.notice->alert;
    const std::string status = alert::step(a);
    if (f.sent || !last) log_->note(way.name, a.id, status, f.sent);
    // Who was told of it later than it began knows that it fires.
    if (f.sent && fires(*f.notice)) log_->note(way.name, a.id, alert::to_string(a.status), true);
    if (f.sent) return;
    ++lost;
    newest = a.id + " (" + status + "): " + f.why;
  };
  if (last)
    way.channel.end(now, fate);
  else
    way.channel.step(now, fate);
  if (lost > 0) {
    const std::string sentence = way.title + ": given up on " +
                                 (lost > 1 ? std::to_string(lost) + " alerts, the newest " : "") + newest;
    options_.say(Weight::kError, sentence + "; the archive has " + (lost > 1 ? "them" : "it"));
    const std::lock_guard lock(mutex_);
    delivery_.lost = sentence;
  }
  const std::string& trouble = way.channel.trouble();
  if (!trouble.empty() && !way.troubled)
    options_.say(Weight::kWarning, way.title + ": " + trouble + "; it is tried again");
  if (trouble.empty() && way.troubled) options_.say(Weight::kInfo, way.title + " takes alerts again");
  way.troubled = !trouble.empty();
}

void Dispatcher::publish() {
  DeliveryStatus s;
  for (const auto& way : ways_) {
    const Channel& c = way->channel;
    s.sent += c.sent();
    s.failed += c.failed();
    s.given_up += c.given_up();
    s.waiting += c.waiting();
    if (!c.trouble().empty()) s.trouble += (s.trouble.empty() ? "" : "; ") + way->title + ": " + c.trouble();
  }
  std::uint64_t refused = 0;
  {
    const std::lock_guard lock(mutex_);
    s.lost = delivery_.lost;
    s.given_up += refused_ * ways_.size();
    delivery_ = std::move(s);
    refused = refused_;
  }
  if (refused != said_refused_)
    options_.say(Weight::kError, "alerts: " + std::to_string(refused - said_refused_) +
                                     " came too fast to be sent; the archive has them");
  said_refused_ = refused;
}

Dispatcher::DeliveryStatus Dispatcher::delivery() const {
  const std::lock_guard lock(mutex_);
  return delivery_;
}

}  // namespace margay::sinks
