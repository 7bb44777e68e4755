#include "measure_menu.h"

#include <QActionGroup>
#include <QInputDialog>

#include "margay/scene/statistics.h"
#include "paint.h"

namespace margay::viewer {

MeasureMenu::MeasureMenu(Session& session, QWidget* parent)
    : QMenu(tr("&Measure"), parent), session_(session) {
  auto* group = new QActionGroup(this);
  for (const scene::MeasureKind& kind : scene::kMeasures) {
    QString name = text_of(std::string(kind.name));
    name[0] = name[0].toUpper();
    const QString what = kind.of_variable ? tr("%1 a variable").arg(name) : name;
    QAction* action = addAction(kind.of_variable ? what + "..." : what);
    action->setCheckable(true);
    group->addAction(action);
    choices_.push_back({action, kind.word});
    connect(action, &QAction::triggered, this, [this, kind, what] {
      if (kind.of_variable)
        ask_for_variable(what, kind.word);
      else
        session_.set_measure(std::string(kind.word));
    });
  }
  connect(&session_, &Session::status_changed, this, &MeasureMenu::show_chosen);
  show_chosen();
}

void MeasureMenu::show_chosen() {
  const std::string_view chosen = scene::measure_kind(session_.subject().measure).word;
  for (const Choice& c : choices_)
    if (c.word == chosen) c.action->setChecked(true);
}

// Any name may be typed: the daemon says which there are where it knows none of this name.
void MeasureMenu::ask_for_variable(const QString& what, std::string_view word) {
  show_chosen();  // nothing has been chosen yet
  QStringList names;
  for (const std::string& v : session_.variables()) names << text_of(v);
  auto* dialog = new QInputDialog(parentWidget());
  dialog->setObjectName("variable");
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(what);
  dialog->setLabelText(names.isEmpty() ? tr("name of the variable (margay events --node ... lists them)")
                                       : tr("name of the variable; listed are those of the calls in sight"));
  dialog->setComboBoxItems(names);
  dialog->setComboBoxEditable(true);
  connect(dialog, &QInputDialog::textValueSelected, this, [this, word](const QString& name) {
    if (!name.isEmpty()) session_.set_measure(std::string(word) + name.toStdString());
  });
  dialog->open();
}

}  // namespace margay::viewer
