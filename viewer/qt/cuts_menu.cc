#include "cuts_menu.h"

#include <QActionGroup>

#include "paint.h"

namespace margay::viewer {
namespace {

constexpr scene::Cuts kCuts[] = {wire::ViewQuestion::SPATIOTEMPORAL, wire::ViewQuestion::SPATIAL,
                                 wire::ViewQuestion::PRODUCT};

}  // namespace

CutsMenu::CutsMenu(Session& session, QWidget* parent) : QMenu(tr("&Partition"), parent), session_(session) {
  auto* group = new QActionGroup(this);
  for (const scene::Cuts cuts : kCuts) {
    QAction* action = addAction(tr("Cut %1").arg(text_of(scene::cuts_text(cuts))));
    action->setCheckable(true);
    group->addAction(action);
    choices_.push_back({action, cuts});
    connect(action, &QAction::triggered, this, [this, cuts] { session_.set_cuts(cuts); });
  }
  addSeparator();
  steps_of_time_ = addAction(tr("Choose p of the &time line"));
  steps_of_time_->setCheckable(true);
  steps_of_time_->setShortcut(QKeySequence("Shift+P"));
  steps_of_time_->setToolTip(
      tr("gain and loss, their steps, < and > are those of the bars below the picture"));
  connect(steps_of_time_, &QAction::triggered, this, [this](bool on) { session_.set_steps_of_time(on); });
  one_p_ = addAction(tr("&One p for picture and time line"));
  connect(one_p_, &QAction::triggered, this, [this] {
    session_.set_steps_of_time(false);
    session_.set_time_p(std::nullopt);
  });
  setToolTipsVisible(true);
  connect(&session_, &Session::status_changed, this, &CutsMenu::show_chosen);
  show_chosen();
}

void CutsMenu::show_chosen() {
  for (const Choice& c : choices_)
    if (c.cuts == session_.subject().cuts) c.action->setChecked(true);
  steps_of_time_->setChecked(session_.steps_of_time());
  one_p_->setEnabled(session_.steps_of_time() || session_.subject().time_p.has_value());
}

}  // namespace margay::viewer
