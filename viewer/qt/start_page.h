// What is seen where there is nothing to look at yet: what to type, which runs are going on here, which
// archives are kept, the example. Runs that begin while it is seen appear by themselves; the first of them
// offers itself.
//
// Thread safety: none; belongs to the thread of the window. Cost: reads the directory of runs every second,
// the folder's archives every ten, while it is seen.
#pragma once

#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QStringList>
#include <QTimer>
#include <QWidget>

#include "attach.h"

namespace margay::viewer {

class StartPage : public QWidget {
  Q_OBJECT

 public:
  // Archives are looked for in `folder`.
  explicit StartPage(const QString& folder, QWidget* parent = nullptr);
  const QString& folder() const { return folder_; }

  // Why what was asked for is not to be seen; "" takes that away.
  void say(const QString& sentence);
  // While something is being opened; "": nothing is.
  void set_opening(const QString& name);
  QString sentence() const;
  QListWidget& runs() { return *runs_; }
  QListWidget& archives() { return *archives_; }
  QPushButton& example() { return *example_; }
  QPushButton& offer() { return *offer_; }
  // Looks again now.
  void refresh();

 signals:
  void chosen(margay::viewer::Wish wish);

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  QWidget* make_lists();
  QWidget* make_commands();
  void choose_archive();
  void offer_run(const QString& name);

  QString folder_;
  QLabel *sentence_, *opening_;
  QPushButton *offer_, *example_;
  QListWidget *runs_, *archives_;
  QStringList known_runs_, known_archives_;
  QString offered_;
  bool looked_ = false;
  int until_archives_ = 0;  // looks
  QTimer timer_;
};

}  // namespace margay::viewer
