#include "filter_menu.h"

#include <algorithm>

#include "commands.h"
#include "filter_dialog.h"
#include "paint.h"

namespace margay::viewer {
namespace {

bool take_away(std::vector<std::string>& terms, const std::string& term) {
  return std::erase(terms, term) > 0;
}

}  // namespace

FilterMenu::FilterMenu(Session& session, KeptNotes& notes, QWidget* parent)
    : QMenu(tr("&Filter"), parent), session_(session), notes_(notes) {
  QAction* dialog = addAction(tr("&States and resources..."), this, &FilterMenu::open_dialog);
  dialog->setShortcut(QKeySequence("Shift+F"));
  rest_ = addAction(tr("Shares are of the &rest"), this, [this] {
    scene::RunFilter filter = session_.subject().filter;
    filter.of_the_rest = rest_->isChecked();
    session_.set_filter(std::move(filter));
  });
  rest_->setCheckable(true);
  rest_->setShortcut(QKeySequence("R"));
  addSeparator();
  addAction(tr("Show the selected resource, &too"), this, [this] {
    add_selected(false);
  })->setShortcut(QKeySequence("Shift+N"));
  addAction(tr("&Leave out the selected resource"), this, [this] {
    add_selected(true);
  })->setShortcut(QKeySequence("Shift+X"));
  for (const char* out : {"", "!"}) {
    addSeparator();
    for (const wire::FamilyWord& f : wire::family_words()) {
      const std::string term = out + std::string(wire::kFamilyTerm) + std::string(f.word);
      const QString word = text_of(std::string(f.word));
      QAction* action = addAction(
          *out == '\0' ? tr("States of the family %1").arg(word) : tr("Without the family %1").arg(word),
          this, [this, term] { toggle_state_term(term); });
      action->setCheckable(true);
      action->setProperty(kGivesWay, true);
      families_.push_back({action, term});
    }
  }
  addSeparator();
  keep_ = addAction(tr("&Keep this filter with the run"), this, &FilterMenu::keep);
  keep_->setCheckable(true);
  connect(&notes_, &KeptNotes::changed, this, &FilterMenu::show_kept);
  show_kept();
  connect(&session_, &Session::status_changed, this, &FilterMenu::show_chosen);
  connect(&session_, &Session::view_changed, this, &FilterMenu::show_chosen);
  show_chosen();
}

void FilterMenu::show_chosen() {
  const scene::RunFilter& now = session_.subject().filter;
  rest_->setChecked(now.of_the_rest);
  const std::vector<command::PictureOptions>& kept = notes_.notes().filters;
  keep_->setChecked(std::find(kept.begin(), kept.end(), to_keep()) != kept.end());
  keep_->setEnabled(!now.empty() || !session_.subject().states.empty());
  for (const Choice& c : families_)
    c.action->setChecked(std::find(now.states.begin(), now.states.end(), c.term) != now.states.end());
}

// States by name and terms at once are two filters: the terms are kept.
command::PictureOptions FilterMenu::to_keep() const {
  const scene::Subject& s = session_.subject();
  command::PictureOptions out;
  out.states = s.filter.states.empty() ? s.states : s.filter.states;
  out.resources = s.filter.resources;
  out.of_the_rest = s.filter.of_the_rest;
  return out;
}

void FilterMenu::keep() {
  keep_->isChecked() ? notes_.add_filter(to_keep()) : notes_.remove_filter(to_keep());
  show_chosen();
}

void FilterMenu::show_kept() {
  for (QAction* a : kept_) removeAction(a), a->deleteLater();
  kept_.clear();
  for (const command::PictureOptions& kept : notes_.notes().filters) {
    scene::Subject of;
    (wire::are_plain_terms(kept.states) ? of.states : of.filter.states) = kept.states;
    of.filter.resources = kept.resources;
    of.filter.of_the_rest = kept.of_the_rest;
    const QString text = text_of(scene::left_out_text(scene::question_of(of, 0, false)));
    if (text.isEmpty()) continue;
    kept_ << addAction(tr("Kept: %1").arg(QString(text).replace('&', "&&")), this, [this, of] {
      if (session_.set_states(of.states)) session_.set_filter(of.filter);
    });
  }
  show_chosen();
}

void FilterMenu::open_dialog() {
  (new FilterDialog(session_, parentWidget()))->open();
}

void FilterMenu::toggle_state_term(const std::string& term) {
  scene::RunFilter filter = session_.subject().filter;
  take_away(filter.states, term.starts_with('!') ? term.substr(1) : "!" + term);
  if (!take_away(filter.states, term)) filter.states.push_back(term);
  session_.set_filter(std::move(filter));
  show_chosen();
}

void FilterMenu::add_selected(bool out) {
  const auto& s = session_.selection();
  if (!s || s->node == 0) {
    emit said(tr("select a resource first, by a click or the arrow keys"));
    return;
  }
  const std::string& path = session_.data().name_of(s->node);
  scene::RunFilter filter = session_.subject().filter;
  take_away(filter.resources, path), take_away(filter.resources, "!" + path);
  filter.resources.push_back(out ? "!" + path : path);
  session_.set_filter(std::move(filter));
}

}  // namespace margay::viewer
