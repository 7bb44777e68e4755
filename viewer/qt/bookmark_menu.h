// Bookmarks: stretches of time of a node, with a note, to be come back to; pinned ones are also shown with
// their numbers (pins.h). As a menu, and so in the line that finds anything; the session has them as flags.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QMenu>

#include "kept_notes.h"
#include "session.h"

namespace margay::viewer {

class BookmarkMenu : public QMenu {
  Q_OBJECT

 public:
  BookmarkMenu(Session& session, KeptNotes& notes, QWidget* parent);
  // Of what is marked, or selected, or else of what is seen.
  bool add(const QString& note);
  bool pin();
  // What links are to.
  void set_place(const command::PictureOptions& place) { place_ = place; }

 signals:
  void said(QString sentence);

 private:
  command::RunNotes::Bookmark here() const;
  QString text_of_bookmark(const command::RunNotes::Bookmark& bookmark) const;
  void ask();
  void ask_which_to_remove();
  void unpin();
  void copy_links();
  void refresh();

  Session& session_;
  KeptNotes& notes_;
  command::PictureOptions place_;
  QAction *remove_, *copy_, *unpin_;
  QList<QAction*> listed_;
  scene::Times times_;  // as they are listed
};

// Where it is in the session's times; nothing: what it says is none, or too far away.
std::optional<Session::Bookmark> shown_bookmark(const command::RunNotes::Bookmark& bookmark,
                                                const Session& session);

}  // namespace margay::viewer
