#include "evidence_source.h"

#include <algorithm>

namespace margay::viewer {
namespace {

constexpr DurationNs kLongestWaits = seconds(60);  // as the daemon reads them

// The same alert, maybe as far as it is known now.
bool same_alert(const scene::EvidenceSubject& a, const scene::EvidenceSubject& b) {
  return a.stretch.from == b.stretch.from && a.cause == b.cause && a.waiting == b.waiting &&
         a.except == b.except && a.slices.from == b.slices.from;
}

}  // namespace

EvidenceSource::EvidenceSource(Session& session, QObject* parent) : QObject(parent), session_(session) {
  rest_.setSingleShot(true);
  rest_.setInterval(kRest);
  connect(&rest_, &QTimer::timeout, this, [this] {
    ask_for_slices();
    emit changed();  // whoever lists events goes first
  });
  // Another page that is left with this one's coming asks no more by then.
  start_.setSingleShot(true);
  connect(&start_, &QTimer::timeout, this, &EvidenceSource::ask_for_slices);
  connect(&session_, &Session::beside, this, [this](quint64 token, const ViewPtr& data) {
    for (Slices& s : slices_)
      if (token != 0 && s.token == token) return take_slices(s, data, {});
  });
  connect(&session_, &Session::not_beside, this, [this](quint64 token, const QString& why) {
    for (Slices& s : slices_)
      if (token != 0 && s.token == token) return take_slices(s, nullptr, why);
  });
  connect(&session_, &Session::waits_known, this, [this](const EventWaitsPtr& waits) {
    if (waits_token_ == 0 || waits->token != waits_token_) return;
    waits_token_ = 0;
    waits_ = waits;
    waits_trouble_.clear();
    rest_.start();
    emit changed();
  });
  connect(&session_, &Session::not_listed, this, [this](quint64 token, const QString& why) {
    if (waits_token_ == 0 || token != waits_token_) return;
    waits_token_ = 0;
    waits_trouble_ = why;
    emit changed();
  });
}

void EvidenceSource::forget() {
  waits_ = nullptr, waits_of_ = {}, waits_token_ = 0, waits_trouble_.clear();
  for (Slices& s : slices_) s = {};
  rest_.stop();
}

void EvidenceSource::look_at(const std::optional<scene::EvidenceSubject>& subject, bool anew) {
  if (!subject) {
    subject_.reset();
    return start_.stop();
  }
  if (!subject_ || !same_alert(*subject, *subject_)) forget();
  subject_ = subject;
  if (anew) {
    if (waits_token_ != 0 || !waits_trouble_.isEmpty())
      waits_of_ = {}, waits_token_ = 0, waits_trouble_.clear();
    for (Slices& s : slices_)
      if (s.token != 0 || !s.trouble.isEmpty()) s.of = {}, s.token = 0, s.trouble.clear();
  }
  start_.start(0);
}

void EvidenceSource::ask_about_waits() {
  if (!subject_ || subject_->waiting.empty() || waits_token_ != 0) return;
  // What is behind it is not read.
  const scene::TimeRange of{subject_->stretch.from,
                            std::min(subject_->stretch.to, subject_->stretch.from + kLongestWaits)};
  if (waits_of_ == of) return;
  if (waits_of_ != scene::TimeRange{} && rest_.isActive()) return;
  waits_of_ = of;
  wire::EventsQuestion q;
  q.set_token(waits_token_ = session_.next_token());
  q.set_kind(wire::EventsQuestion::WAITS);
  q.set_from_ns(of.from.value);
  q.set_to_ns(of.to.value);
  q.set_most(1);
  q.set_patience_ms(kPatience);
  for (const std::string& node : subject_->waiting) q.add_nodes(node);
  for (const std::string& node : subject_->except) q.add_except(node);
  waits_question_ = q;
  session_.ask(std::move(q));
}

// Of the cause, then of all; where that is the same one answer is enough.
void EvidenceSource::ask_for_slices() {
  if (!subject_ || subject_->slice_count == 0 || waits_for_slices()) return;
  for (Slices& s : slices_) {
    const bool of_cause = &s == &slices_[0];
    if (s.of == subject_->slices || (s.of != scene::TimeRange{} && rest_.isActive())) continue;
    if (of_cause && (subject_->cause.empty() || subject_->cause == "/")) continue;
    s.of = subject_->slices;
    wire::ViewQuestion q;
    q.set_from_ns(s.of.from.value);
    q.set_to_ns(s.of.to.value);
    q.set_slices(subject_->slice_count);
    if (of_cause) q.set_node(subject_->cause);
    // Each slice as it is.
    q.set_partition(wire::ViewQuestion::TEMPORAL);
    q.set_p(0);
    s.token = session_.ask_beside(q);
    q.set_token(s.token);
    slices_question_ = std::move(q);
    return;
  }
}

void EvidenceSource::take_slices(Slices& of, ViewPtr data, const QString& why) {
  of.token = 0;
  of.trouble = why;
  if (data != nullptr) of.data = std::move(data);
  rest_.start();
  emit changed();
  ask_for_slices();
}

QString EvidenceSource::slices_trouble() const {
  return slices_[0].trouble.isEmpty() ? slices_[1].trouble : slices_[0].trouble;
}

}  // namespace margay::viewer
