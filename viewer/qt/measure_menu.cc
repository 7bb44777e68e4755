#include "measure_menu.h"

#include <QActionGroup>
#include <QInputDialog>

#include "margay/scene/statistics.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr const char* kMeasures[] = {"", "occurrences", "bytes", "messages"};

}  // namespace

MeasureMenu::MeasureMenu(Session& session, QWidget* parent)
    : QMenu(tr("&Measure"), parent), session_(session) {
  auto* group = new QActionGroup(this);
  const auto add = [&](const QString& text) {
    QAction* action = addAction(text);
    action->setCheckable(true);
    group->addAction(action);
    return action;
  };
  for (const char* measure : kMeasures) {
    const QString name = text_of(scene::measure_name(measure));
    QAction* action = add(name.left(1).toUpper() + name.mid(1));
    choices_.push_back({action, measure});
    connect(action, &QAction::triggered, this, [this, measure] { session_.set_measure(measure); });
  }
  variable_ = add(tr("Mean of a variable..."));
  connect(variable_, &QAction::triggered, this, &MeasureMenu::ask_for_variable);
  connect(&session_, &Session::status_changed, this, &MeasureMenu::show_chosen);
  show_chosen();
}

void MeasureMenu::show_chosen() {
  const std::string& measure = session_.subject().measure;
  variable_->setChecked(measure.starts_with(scene::kMeanOf));
  for (const Choice& c : choices_)
    if (c.measure == measure) c.action->setChecked(true);
}

// Any name may be typed: the daemon says which there are where it knows none of this name.
void MeasureMenu::ask_for_variable() {
  show_chosen();  // nothing has been chosen yet
  QStringList names;
  for (const std::string& v : session_.variables()) names << text_of(v);
  auto* dialog = new QInputDialog(parentWidget());
  dialog->setObjectName("variable");
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Mean of a variable"));
  dialog->setLabelText(names.isEmpty() ? tr("name of the variable (margay events --node ... lists them)")
                                       : tr("name of the variable; listed are those of the calls in sight"));
  dialog->setComboBoxItems(names);
  dialog->setComboBoxEditable(true);
  connect(dialog, &QInputDialog::textValueSelected, this, [this](const QString& name) {
    if (!name.isEmpty()) session_.set_measure(std::string(scene::kMeanOf) + name.toStdString());
  });
  dialog->open();
}

}  // namespace margay::viewer
