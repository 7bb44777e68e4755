#include "margay/live/alert_notifier.h"

#include "margay/log/log.h"

namespace margay::daemon {
namespace {

sinks::Dispatcher::Options dispatcher_options(const Options& options, const store::RunMeta& run) {
  sinks::Dispatcher::Options o;
  o.log_path = options.archive + "/" + kSentFile;
  o.time_limit = options.sinks.time_limit;
  o.retry_for = options.sinks.retry_for;
  o.wall_offset = run.wall_offset;
  o.place = alert::picture_place(options.archive, run.begin);
  // On lines of their own: each has its share of the log.
  using Weight = sinks::Dispatcher::Weight;
  o.say = [](Weight weight, const std::string& sentence) {
    if (weight == Weight::kError) log::error(sentence);
    if (weight == Weight::kWarning) log::warning(sentence);
    if (weight == Weight::kInfo) log::info(sentence);
  };
  return o;
}

}  // namespace

Result<std::unique_ptr<AlertNotifier>> AlertNotifier::make(const Options& options,
                                                           const store::Resume& resume, const Clock& clock) {
  std::unique_ptr<AlertNotifier> notifier(new AlertNotifier(resume, clock));
  if (!options.alerts_file.empty()) {
    auto file = alert::JsonlSink::open(options.alerts_file);
    if (!file) return tl::unexpected(file.error());
    notifier->file_.emplace(std::move(*file));
  }
  if (options.sinks.any()) {
    auto sinks = sinks::make_sinks(options.sinks, clock);
    if (!sinks) return tl::unexpected(sinks.error());
    notifier->dispatcher_ = std::make_unique<sinks::Dispatcher>(
        std::move(*sinks), dispatcher_options(options, resume.run), clock);
  }
  return notifier;
}

AlertNotifier::AlertNotifier(const store::Resume& resume, const Clock& clock)
    : clock_(clock), before_(resume.alerts_left) {
  take_handling(resume);
}

void AlertNotifier::start() {
  if (dispatcher_) dispatcher_->start();
}

void AlertNotifier::stop() {
  if (dispatcher_) dispatcher_->stop();
}

void AlertNotifier::take_handling(const store::Resume& resume) {
  for (const store::Blob& b : resume.state) {
    if (b.name != alert::kHandlingBlob) continue;
    auto handling = alert::Handling::decode_untrusted(b.bytes);
    if (handling) {
      policy_ = alert::NotificationPolicy(std::move(*handling));
      continue;
    }
    log::warning("alerts: " + handling.error().message);
    if (handling.error().code == ErrorCode::kVersion) handling_trouble_ = handling.error().message;
  }
}

AlertNotifier::Said AlertNotifier::recall(const store::Resume& resume) {
  Said said;
  for (const auto& a : resume.alerts) {
    // One record per alert: its last word.
    const auto last = alert::parse_untrusted(a.json);
    known_.insert(a.id + '/' + (last ? alert::step(*last) : a.status));
    known_.insert(a.id + "/firing");
    ids_.insert(a.id);
    if (!last) continue;
    if (last->updates > 0) known_updates_[a.id] = last->updates;
    said[a.id + '/' + alert::step(*last)] = *last;
  }
  return said;
}

bool AlertNotifier::take(std::vector<alert::Alert>& alerts, const How& how, Findings& findings) {
  bool raised = false;
  for (alert::Alert& a : alerts) {
    const std::string key = a.id + '/' + alert::step(a), update_of = alert::update_of(a);
    bool known = !known_.insert(key);
    if (!update_of.empty())
      if (const auto n = known_updates_.find(a.id); n != known_updates_.end())
        known = known || a.updates <= n->second;
    if (!known) {
      ids_.insert(a.id);
      updates_said_ += update_of.empty() ? 0 : 1;
      a.emitted_wall = clock_.realtime();
      findings.alerts.push_back({a.id, alert::to_json(a), alert::to_string(a.status)});
      raised = true;
    } else if (how.said != nullptr) {
      // Said by a daemon before. Whether every sink has had it is not known here.
      if (const auto then = how.said->find(key); then != how.said->end()) a = then->second;
    }
    if (!(how.anew && known) && policy_.take(a, known, clock_.realtime())) deliver(a, known, how.past);
  }
  note_handling(findings);
  return raised;
}

// To all sinks. `known`: it was said by a daemon before this one.
void AlertNotifier::deliver(const alert::Alert& a, bool known, bool past) {
  if (file_ && !known) file_->write(a);
  // An update of the past is for sinks that go on with it.
  if (dispatcher_ && (past || !known || alert::update_of(a).empty())) dispatcher_->push(a);
}

void AlertNotifier::settle(Findings& findings) {
  for (const alert::Alert& a : policy_.due(clock_.realtime())) deliver(a, false, false);
  note_handling(findings);
}

// It goes into the cut that has the alerts which it is about.
void AlertNotifier::note_handling(Findings& findings) {
  if (handling_noted_ == policy_.version() || !handling_trouble_.empty()) return;
  handling_noted_ = policy_.version();
  findings.handling = Findings::Handling{handling_noted_, policy_.handling().encode()};
}

void AlertNotifier::set(observe::Values& v) const {
  using observe::Id;
  v.set(Id::alerts_raised, raised());
  v.set(Id::alerts_updated, updates_said_);
  v.set(Id::alerts_held_by_silence, policy_.held_by_silence());
  v.set(Id::alerts_held_by_ack, policy_.held_by_ack());
  v.set(Id::silences_active, policy_.active_silences(clock_.realtime()));
  v.set(Id::alerts_not_written, file_ ? file_->failed() : 0);
  const sinks::Dispatcher::DeliveryStatus sent =
      dispatcher_ ? dispatcher_->delivery() : sinks::Dispatcher::DeliveryStatus();
  v.set(Id::alerts_sent, sent.sent);
  v.set(Id::alerts_waiting, sent.waiting);
  v.set(Id::alerts_send_errors, sent.failed);
  v.explain(Id::alerts_send_errors, sent.trouble);
  v.set(Id::alerts_not_sent, sent.given_up);
  v.explain(Id::alerts_not_sent, sent.lost);
}

}  // namespace margay::daemon
