#include "look_history.h"

#include <utility>

namespace margay::viewer {

LookHistory::LookHistory(Session& session, QObject* parent) : QObject(parent), session_(session) {
  begin();
  connect(&session_, &Session::view_changed, this, &LookHistory::note);
  connect(&session_, &Session::status_changed, this, &LookHistory::note);
}

void LookHistory::begin() {
  looks_ = {now()};
  at_ = 0;
  emit changed();
}

LookHistory::Look LookHistory::now() const {
  const scene::Subject& s = session_.subject();
  return {s.p,
          s.time_p,
          s.policy,
          session_.folding().search,
          session_.folding().folded,
          session_.calls(),
          session_.shows_messages(),
          session_.shows_bands(),
          session_.times().by_clock,
          session_.threshold(),
          session_.times().unit,
          session_.palette().theme(),
          session_.palette().hues()};
}

void LookHistory::note() {
  if (applying_) return;
  Look look = now();
  if (look == looks_[at_]) return;
  looks_.resize(at_ + 1);
  Look searched = look;
  searched.search = looks_[at_].search;
  // The step before was a search as well, and this goes on with it.
  const bool typed =
      at_ > 0 && searched == looks_[at_] && difference(looks_[at_ - 1], looks_[at_]) == tr("search");
  if (typed) {
    looks_[at_] = std::move(look);
  } else {
    looks_.push_back(std::move(look));
    if (looks_.size() > kMost) looks_.erase(looks_.begin());
    at_ = looks_.size() - 1;
  }
  emit changed();
}

void LookHistory::apply(const Look& look) {
  applying_ = true;
  const Look was = now();
  if (look.p != was.p || look.policy != was.policy)
    look.p ? session_.set_p(*look.p) : session_.set_policy(look.policy);
  session_.set_time_p(look.time_p);
  if (look.search != was.search || look.folded != was.folded) {
    scene::Folding folding = session_.folding();
    folding.search = look.search;
    folding.folded = look.folded;
    session_.set_folding(std::move(folding));
  }
  session_.set_calls(look.calls);
  session_.set_messages(look.messages);
  session_.set_bands(look.bands);
  session_.set_by_clock(look.by_clock);
  session_.set_threshold(look.threshold);
  session_.set_unit(look.unit);
  if (look.theme != was.theme) session_.set_theme(look.theme);
  if (look.hues != was.hues) session_.set_hues(look.hues);
  applying_ = false;
  emit changed();
}

QString LookHistory::difference(const Look& a, const Look& b) {
  if (a.p != b.p || a.policy != b.policy) return tr("p");
  if (a.time_p != b.time_p) return tr("p of the time line");
  if (a.search != b.search) return tr("search");
  if (a.folded != b.folded) return tr("folded nodes");
  if (a.calls != b.calls) return tr("single calls");
  if (a.messages != b.messages) return tr("messages");
  if (a.bands != b.bands) return tr("collective calls as bands");
  if (a.by_clock != b.by_clock) return tr("times by the wall clock");
  if (a.threshold != b.threshold) return tr("small parts");
  if (a.unit != b.unit) return tr("unit of the time axis");
  return a.theme != b.theme ? tr("dark") : tr("palette");
}

QString LookHistory::undo() {
  if (!can_undo()) return {};
  const QString what = difference(looks_[at_], looks_[at_ - 1]);
  apply(looks_[--at_]);
  return what;
}

QString LookHistory::redo() {
  if (!can_redo()) return {};
  const QString what = difference(looks_[at_], looks_[at_ + 1]);
  apply(looks_[++at_]);
  return what;
}

}  // namespace margay::viewer
