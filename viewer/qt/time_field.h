// The stretch of time that is seen, as text, and where another one is typed: margay/scene/times.h has what
// can be. Return goes there and emits left(); Escape gives up what was typed, and emits it as well. What is
// wrong is said, and what was typed stays to be mended.
//
// Thread safety: none; belongs to the thread of the window. Cost: a line of text for each change of the
// session, and nothing where the text is the same.
#pragma once

#include <QLineEdit>

#include "session.h"

namespace margay::viewer {

class TimeField : public QLineEdit {
  Q_OBJECT

 public:
  explicit TimeField(Session& session, QWidget* parent = nullptr);

 signals:
  void said(QString sentence);
  void left();  // the picture is to have the focus again

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  void show_seen();
  void go();

  Session& session_;
};

}  // namespace margay::viewer
