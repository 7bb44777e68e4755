// The window: the overview in the middle; quality curves, statistics and alerts beside it; a bar that says
// what it is attached to, how far behind that is and what was lost.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QMainWindow>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <optional>

#include "models.h"
#include "overview.h"
#include "session.h"

namespace margay::viewer {

class Window : public QMainWindow {
  Q_OBJECT

 public:
  Window(Session& session, const QString& attached_to, QWidget* parent = nullptr);

  Overview& overview() { return *overview_; }
  AlertModel& alerts() { return *alerts_; }
  StatisticsModel& statistics() { return *statistics_; }
  QTableView& alert_list() { return *alert_list_; }
  QualityView& quality() { return *quality_; }
  // What the bar below says: attached to what, how far behind, what was lost.
  QString standing() const { return standing_->text(); }
  // By the ending of the path: .png, .svg, .csv. The error is a sentence, or empty.
  QString save(const QString& path);

 private:
  void make_actions();
  void show_standing();
  void show_statistics();
  void save_as();
  void go_to_alert(const QModelIndex& index);
  void acknowledge();
  void silence();
  int alert_row() const;

  Session& session_;
  QString attached_to_;
  Overview* overview_;
  QualityView* quality_;
  AlertModel* alerts_;
  StatisticsModel* statistics_;
  QTableView* alert_list_;
  QLineEdit* p_;
  QLineEdit* search_;
  QLabel *standing_, *notes_, *selected_;
  // What the statistics are of.
  std::optional<Session::Selection> told_of_;
  scene::Palette told_in_{scene::Theme::kLight};
  QAction *back_, *forward_, *hold_, *dark_;
};

}  // namespace margay::viewer
