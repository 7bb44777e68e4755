// What the picture measures, to choose from (scene::kMeasures): time in states, visits, bytes, ...; of a
// variable, whose name is asked for, its mean, its greatest value, ... What is measured now is checked.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QAction>
#include <QMenu>
#include <string_view>
#include <vector>

#include "session.h"

namespace margay::viewer {

class MeasureMenu : public QMenu {
  Q_OBJECT

 public:
  MeasureMenu(Session& session, QWidget* parent);

 private:
  void show_chosen();
  void ask_for_variable(const QString& what, std::string_view word);

  Session& session_;
  struct Choice {
    QAction* action;
    std::string_view word;  // of scene::MeasureKind
  };
  std::vector<Choice> choices_;
};

}  // namespace margay::viewer
