// What the picture measures, to choose from: how long states last, how often they are visited, bytes,
// messages, the mean of a variable. What is measured now is checked.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QAction>
#include <QMenu>
#include <string>
#include <vector>

#include "session.h"

namespace margay::viewer {

class MeasureMenu : public QMenu {
  Q_OBJECT

 public:
  MeasureMenu(Session& session, QWidget* parent);

 private:
  void show_chosen();
  void ask_for_variable();

  Session& session_;
  struct Choice {
    QAction* action;
    std::string measure;  // of scene::Subject
  };
  std::vector<Choice> choices_;
  QAction* variable_;
};

}  // namespace margay::viewer
