// The window: the views in the middle, one at a time; how much is aggregated, the states and the alerts
// beside them; a bar that says what it is attached to, how far behind that is and what was lost.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMainWindow>
#include <QSpinBox>
#include <QSystemTrayIcon>
#include <QTableView>
#include <QToolBar>
#include <functional>
#include <optional>
#include <vector>

#include "bookmark_menu.h"
#include "filter_bar.h"
#include "kept_notes.h"
#include "look_history.h"
#include "margay/command/picture_options.h"
#include "models.h"
#include "notifier.h"
#include "overview.h"
#include "quality_view.h"
#include "replay_bar.h"
#include "run_strip.h"
#include "session.h"
#include "states_panel.h"
#include "time_field.h"
#include "view.h"
#include "widgets.h"

namespace margay::viewer {

class Window : public QMainWindow {
  Q_OBJECT

 public:
  Window(Session& session, const QString& attached_to, QWidget* parent = nullptr);

  Overview& overview() { return *overview_; }
  ViewStack& views() { return *views_; }
  AlertModel& alerts() { return *alerts_; }
  StatesPanel& states() { return *states_; }
  StatisticsModel& statistics() { return states_->model(); }
  QTableView& alert_list() { return *alert_list_; }
  QualityView& quality() { return *quality_; }
  FilterBar& filters() { return *filters_; }
  TimeField& time_field() { return *time_; }
  RunStrip& strip() { return *strip_; }
  Banner& banner() { return *banner_; }
  ReplayBar& replay_bar() { return *replay_; }
  Notifier& notifier() { return notifier_; }
  KeptNotes& notes() { return kept_; }
  LookHistory& looks() { return looks_; }
  // What the bar below says: attached to what, how far behind, what was lost.
  QString status() const { return status_->text(); }
  // Whether the picture goes on with the run, as its button says it: "Live", "Held at 12.3 s", "Ended".
  QString live_text() const;
  // By the ending of the path: .png, .svg, .csv. The error is a sentence, or empty.
  QString save(const QString& path);
  // What it is attached to, as a command line has it: only then there are links to what is looked at.
  void set_place(const std::string& what, const std::string& connect);
  // To what is looked at (margay/command/link.h); empty without a place.
  std::string link() const;
  // What Save proposes: "margay-bytes.png".
  QString file_name() const;
  // All keys and what they do, as a document.
  QString keys() const;

 private:
  void make_middle();
  QWidget* make_quality();
  void make_alerts();
  void make_actions();
  void make_picture_menu();
  void make_go_menu();
  void make_look_menu();
  void make_points_of_view();
  void make_unit_menu();
  void set_unit(scene::TimeUnit unit);
  void make_filter_menu();
  void make_bookmark_menu();
  void show_pins();
  void undo_look(bool redo);
  void make_states_menu();
  void make_alerts_menu();
  void make_replay_menu();
  void make_help_menu();
  void make_tool_bar();
  void make_order();
  // In a menu. With `in_view` its keys are those of the views: elsewhere they do what they do there.
  QAction* action(QMenu* menu, const QString& text, const QList<QKeySequence>& keys,
                  std::function<void()> what, bool in_view = false);
  void move_row(int by);
  void move_part(int by);
  void scroll_rows(double share);
  void taller_rows(double factor);
  void step_threshold(int by);
  void tell_by_clock(bool by_clock);
  void search_next();
  void find_anything();
  void to_the_page();
  void show_status();
  void show_alerts();
  void show_live();
  void show_levels();
  void show_theme();
  void tell(const QString& sentence, const QString& id);
  void save_as();
  void go_to_alert(const QModelIndex& index);
  void go_to_alert(const QString& id);
  void go_to_alert(int row);
  void alert_row_chosen(int row);
  void show_chosen_alert();
  void show_evidence();
  void jump();
  void acknowledge();
  void unacknowledge();
  void silence();
  int alert_row() const;

  Session& session_;
  KeptNotes kept_;
  LookHistory looks_;
  QString attached_to_;
  command::PictureOptions place_;
  Banner* banner_;
  FilterBar* filters_;
  ViewStack* views_;
  Overview* overview_;
  RunStrip* strip_;
  ReplayBar* replay_;
  QualityView* quality_;
  AlertModel* alerts_;
  StatesPanel* states_;
  QTableView* alert_list_;
  QLineEdit* p_;
  QLineEdit* search_;
  TimeField* time_;
  QSpinBox* slices_;
  QComboBox* level_;
  QAction* level_shown_;
  ElidedLabel *status_, *notes_;
  QAction* link_;
  QAction *back_, *forward_, *whole_, *live_, *dark_, *hues_, *calls_, *messages_, *clock_, *notify_,
      *anything_;
  QMenu* look_;
  QAction *undo_, *redo_;
  Notifier notifier_;
  QSystemTrayIcon* tray_ = nullptr;
  struct Alerting {
    bool taking = false;  // the list changes by itself
    QString told;         // the alert that was told of last
  } alerting_;
  std::vector<QWidget*> policies_;
  std::optional<scene::Theme> theme_;  // that everything has
};

}  // namespace margay::viewer
