#include "what_if_dialog.h"

#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace margay::viewer {
namespace {

constexpr int kWidth = 34;  // characters

struct Row {
  const char *key, *label, *example;
};
constexpr Row kRows[] = {
    {"slice.duration", QT_TRANSLATE_NOOP("WhatIfDialog", "&Slice"), "50ms, 1s"},
    {"detect.p", "&p", "0.05, auto"},
    {"detect.false_alarms_per_day", QT_TRANSLATE_NOOP("WhatIfDialog", "&False alarms a day"), "0.1, 10"},
    {"detect.min_effect", QT_TRANSLATE_NOOP("WhatIfDialog", "&Least effect"), "0.05"},
};

}  // namespace

WhatIfDialog::WhatIfDialog(const QStringList& asked, QWidget* parent) : QDialog(parent) {
  setWindowTitle(tr("What if"));
  auto* column = new QVBoxLayout(this);
  auto* why = new QLabel(
      tr("The run is replayed with these settings in a window of its own. There the list of alerts says "
         "which were said live only, and which only now. What is empty stays as it was live."));
  why->setWordWrap(true);
  column->addWidget(why);
  auto* form = new QFormLayout;
  const auto add = [&](const QString& label, const QString& example) {
    fields_.push_back(new QLineEdit);
    fields_.back()->setPlaceholderText(example);
    fields_.back()->setMinimumWidth(fields_.back()->fontMetrics().averageCharWidth() * kWidth);
    form->addRow(label, fields_.back());
  };
  for (const Row& row : kRows) add(tr(row.label), tr("as it was (%1)").arg(row.example));
  add(tr("&Others"), tr("KEY=VALUE, blanks between"));
  fields_.back()->setToolTip(tr("keys of margay config below detect, such as detect.every_level=false"));
  column->addLayout(form);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
  QPushButton* replay = buttons->addButton(tr("&Replay"), QDialogButtonBox::AcceptRole);
  // While there is nothing to replay Qt would make the other one that of the Enter key.
  buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);
  replay->setDefault(true);
  column->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  const auto enable = [this, replay] { replay->setEnabled(!settings().isEmpty()); };
  for (QLineEdit* f : fields_) connect(f, &QLineEdit::textChanged, this, enable);
  for (const QString& setting : asked) {
    const QString key = setting.section('=', 0, 0);
    QLineEdit* const f = field(key);
    f->setText(f == fields_.back() ? (f->text() + " " + setting).trimmed() : setting.section('=', 1));
  }
  enable();
}

QLineEdit* WhatIfDialog::field(const QString& key) const {
  for (std::size_t i = 0; i < std::size(kRows); ++i)
    if (key == kRows[i].key) return fields_[i];
  return fields_.back();
}

QStringList WhatIfDialog::settings() const {
  QStringList out;
  for (std::size_t i = 0; i < std::size(kRows); ++i)
    if (const QString value = fields_[i]->text().trimmed(); !value.isEmpty())
      out << QString("%1=%2").arg(kRows[i].key, value);
  return out + fields_.back()->text().split(' ', Qt::SkipEmptyParts);
}

}  // namespace margay::viewer
