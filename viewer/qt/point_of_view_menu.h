// From which point of view resources are put in order: the usual hierarchy, those that the daemon says are
// worth trying, any other that is typed, and groups out of a file. The one that is looked from now is
// checked.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QActionGroup>
#include <QMenu>
#include <string>

#include "session.h"

namespace margay::viewer {

class PointOfViewMenu : public QMenu {
  Q_OBJECT

 public:
  PointOfViewMenu(Session& session, QWidget* parent);
  // The next one of the list, after the last the usual one.
  void next();

 signals:
  void said(QString sentence);

 private:
  void fill();
  void add_view(const QString& text, const scene::PointOfView& view);
  void ask_for_levels();
  void ask_for_groups();

  Session& session_;
  QActionGroup* group_ = nullptr;
};

}  // namespace margay::viewer
