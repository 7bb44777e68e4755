// Asks with which other settings a run is to be replayed: keys of the configuration, each with a value or
// left as it was live. What is wrong with a value is for the replay to say.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QStringList>
#include <vector>

namespace margay::viewer {

class WhatIfDialog : public QDialog {
  Q_OBJECT

 public:
  // `asked`: settings that are there already, as settings() has them.
  explicit WhatIfDialog(const QStringList& asked, QWidget* parent = nullptr);
  // "detect.p=0.05", of each field that is not empty.
  QStringList settings() const;
  // The field of a key ("detect.p"); of any other one the last. Never null.
  QLineEdit* field(const QString& key) const;

 private:
  std::vector<QLineEdit*> fields_;  // a row each, and the last for other keys
};

}  // namespace margay::viewer
