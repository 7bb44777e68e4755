// What of the run is looked at, as a menu: states by family, the selected resource, what shares are of, the
// filters that are kept with the run, and the dialog for everything else.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QMenu>
#include <string>
#include <vector>

#include "kept_notes.h"
#include "session.h"

namespace margay::viewer {

class FilterMenu : public QMenu {
  Q_OBJECT

 public:
  FilterMenu(Session& session, KeptNotes& notes, QWidget* parent);
  void open_dialog();

 signals:
  void said(QString sentence);

 private:
  void show_chosen();
  // Adds the term where it is not there, and takes it away where it is; its opposite goes in any case.
  void toggle_state_term(const std::string& term);
  void add_selected(bool out);
  command::PictureOptions to_keep() const;
  void keep();
  void show_kept();

  Session& session_;
  KeptNotes& notes_;
  QAction *rest_, *keep_;
  QList<QAction*> kept_;
  struct Choice {
    QAction* action;
    std::string term;
  };
  std::vector<Choice> families_;
};

}  // namespace margay::viewer
