// The menu of what is cut: the picture in space and time at once, in space only, or in each only; and
// whether the time line has a p of its own.
//
// Thread safety: none; belongs to the window's thread.
#pragma once

#include <QMenu>
#include <vector>

#include "session.h"

namespace margay::viewer {

class CutsMenu : public QMenu {
  Q_OBJECT

 public:
  explicit CutsMenu(Session& session, QWidget* parent = nullptr);

 private:
  void show_chosen();

  Session& session_;
  struct Choice {
    QAction* action;
    scene::Cuts cuts;
  };
  std::vector<Choice> choices_;
  QAction *steps_of_time_, *one_p_;
};

}  // namespace margay::viewer
