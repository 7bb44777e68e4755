#include "sums_source.h"

#include "margay/base/text.h"
#include "margay/scene/times.h"
#include "marked.h"
#include "paint.h"

namespace margay::viewer {

SumsSource::SumsSource(Session& session, SumsOf of, QObject* parent)
    : QObject(parent), session_(session), of_(of) {
  settle_.setSingleShot(true);
  settle_.setInterval(kSettle);
  rest_.setSingleShot(true);
  rest_.setInterval(kRest);
  connect(&settle_, &QTimer::timeout, this, [this] { ask(); });
  connect(&rest_, &QTimer::timeout, this, &SumsSource::looked_elsewhere);
  connect(&session_, &Session::data_changed, this, &SumsSource::looked_elsewhere);
  connect(&session_, &Session::status_changed, this, &SumsSource::looked_elsewhere);
  connect(&session_, &Session::view_changed, this, &SumsSource::looked_elsewhere);  // what is marked
  connect(&session_, &Session::summed, this, [this](const EventSumsPtr& sums) {
    if (sums->token != token_ || token_ == 0) return;
    token_ = 0;
    trouble_.clear();
    emit changed();
    looked_elsewhere();
  });
  connect(&session_, &Session::not_listed, this, [this](quint64 token, const QString& why) {
    if (token != token_ || token_ == 0) return;
    token_ = 0;
    trouble_ = why;
    emit changed();
    looked_elsewhere();
  });
}

SumsSource::What SumsSource::looked_at() const {
  if (session_.data().empty()) return {};
  const scene::Subject& s = session_.subject();
  const auto at = session_.marked().value_or(scene::MarkedArea{session_.time(), {s.node}});
  What now{at.time, s.view, at.nodes, s.states, s.filter, alike_};
  if (of_ == SumsOf::kMessages) now.states.clear(), now.filter.states.clear();  // they are in none
  now.filter.of_the_rest = false;
  return now;
}

void SumsSource::set_alike(wire::EventsQuestion::Alike alike) {
  alike_ = alike;
  if (seen_) ask();
}

void SumsSource::set_seen(bool seen) {
  seen_ = seen;
  if (!seen) return settle_.stop();
  // What is under way may have made way for another page's question.
  if (token_ != 0 || !trouble_.isEmpty()) of_what_ = {};
  ask();
}

void SumsSource::looked_elsewhere() {
  if (!seen_ || !is_old() || token_ != 0) return;
  if (session_.follows() && !session_.marked() && rest_.isActive()) return;
  settle_.start();
}

bool SumsSource::ask() {
  const What now = looked_at();
  if (now.time.to <= now.time.from) return false;
  if (now == of_what_) return true;
  of_what_ = now;
  rest_.start();
  wire::EventsQuestion q;
  q.set_token(token_ = session_.next_token());
  q.set_from_ns(now.time.from.value);
  q.set_to_ns(now.time.to.value);
  q.set_kind(of_ == SumsOf::kVisits ? wire::EventsQuestion::SUMS : wire::EventsQuestion::PAIRS);
  // Whoever looks waits for other answers meanwhile: a file has time.
  q.set_patience_ms(seen_ ? kPatience : 0);
  q.set_most(of_ == SumsOf::kVisits ? 2000 : scene::kMostSums);
  for (const std::string& node : now.nodes)
    if (!node.empty() && node != "/") q.add_nodes(node);
  for (const std::string& state : now.states) q.add_states(state);
  q.set_alike(now.alike);
  scene::put_filter(now.filter, q);
  scene::put_view(now.view, q);
  question_ = q;
  session_.ask(std::move(q));
  emit changed();
  return true;
}

QString SumsSource::told() const {
  if (!trouble_.isEmpty()) return trouble_;
  const EventSumsPtr known = sums();
  if (known == nullptr) return waits() ? tr("reading...") : tr("nothing has been seen of this run yet");
  return told_of(*known, session_) + (waits() ? "  |  " + tr("reading anew...") : QString());
}

QString told_of(const scene::EventSums& sums, const Session& session) {
  std::uint64_t count = 0, single = 0;
  for (const scene::EventSum& s : sums.sums) count += s.count, single += s.single;
  QStringList words;
  words << QObject::tr("%1 %2 in %3")
               .arg(text_of(grouped(count)), sums.messages ? QObject::tr("messages") : QObject::tr("visits"),
                    text_of(scene::range_text(sums.time, session.times())));
  const std::string& node = session.subject().node;
  if (session.marked())
    words.prepend(marked_text(*session.marked()));
  else if (!node.empty() && node != "/")
    words << QObject::tr("of %1").arg(text_of(node));
  if (!sums.messages && single < count)
    words
        << QObject::tr("of %1 that were summed only the sum is known").arg(text_of(grouped(count - single)));
  if (sums.left_out > 0)
    words << QObject::tr("%1 smaller sums are left out").arg(text_of(grouped(sums.left_out)));
  if (sums.holes > 0)
    words << QObject::tr("events are missing at %1 places").arg(text_of(grouped(sums.holes)));
  if (!sums.exact) words << QObject::tr("what was open at the begin is not known");
  for (const std::string& note : sums.notes) words << text_of(note);
  return words.join("  |  ");
}

}  // namespace margay::viewer
