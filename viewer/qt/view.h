// A way of looking at the run: a page of the window. The overview is one, the list of events another; a
// treemap, a topology and a comparison are to be others, and need no more than this and a row of views.def.
//
// All views show one session: its stretch of time, node, filter, selection, folds and colours (session.h).
// A view that changes one of them changes it there, and is told of every change by the session's signals as
// all others are; it keeps no copy. So whoever changes from one page to another looks at the same thing.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QString>
#include <QStringList>
#include <QTabWidget>
#include <QWidget>

#include "session.h"

namespace margay::viewer {

class View : public QWidget {
  Q_OBJECT

 public:
  explicit View(Session& session, QWidget* parent = nullptr) : QWidget(parent), session_(session) {}
  Session& session() const { return session_; }
  // What the mouse does in it, for the list of keys: "what is done|what comes of it".
  virtual QStringList mouse() const = 0;
  // What else keys do in it than the window's actions, likewise.
  virtual QStringList keys() const { return {}; }
  // Writes what it shows, in the kind of file that the path's ending says. A sentence that names the path, or
  // empty: saved.
  virtual QString save(const QString& path, const QString& title) = 0;

 signals:
  // What it has led to is to be seen there.
  void overview_wanted();

 protected:
  Session& session_;
};

// The pages, as views.def has them. With one of them there are no tabs.
class ViewStack : public QTabWidget {
  Q_OBJECT

 public:
  explicit ViewStack(Session& session, QWidget* parent = nullptr);
  // The page that is seen; null if there is none.
  View* current() const;
};

}  // namespace margay::viewer
