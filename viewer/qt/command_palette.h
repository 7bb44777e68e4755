// A line and what it finds (commands.h): whoever knows the name of something need not know where it is. Up,
// Down, PgUp and PgDn choose in the list while one types, Return does it, Escape does nothing.
//
// Thread safety: none; belongs to the thread of the window. Cost: a Commands::find() for each change of the
// line.
#pragma once

#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QTreeWidget>

#include "commands.h"

namespace margay::viewer {

class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  // Is gone when it is closed.
  CommandPalette(Commands commands, QWidget* parent);

  QLineEdit& line() { return *line_; }
  QTreeWidget& list() { return *list_; }
  // "3,950 more, type on", or that there is nothing.
  QString note() const { return note_->text(); }

 protected:
  bool eventFilter(QObject* of, QEvent* event) override;

 private:
  void refresh();
  void tell();
  void choose(int row);
  void run();

  Commands commands_;
  Commands::Found found_;
  QLineEdit* line_;
  QTreeWidget* list_;
  QLabel* note_;
};

// Fields take these keys for themselves (Ctrl+K: delete to the end): in no field of the window any more, so
// that an action can have them everywhere.
void leave_to_actions(QWidget& window, const QKeySequence& keys);

}  // namespace margay::viewer
