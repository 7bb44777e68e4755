// The states: what colour each is, which are shown, and what the selection has of each, as a table and a pie.
//
// A check box shows a state or leaves it out; a double click shows it alone, again all. A click on its colour
// asks for another one. With the keyboard the window's actions do the same to the chosen row.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QLabel>
#include <QTableView>
#include <QWidget>

#include "models.h"
#include "session.h"
#include "widgets.h"

namespace margay::viewer {

class StatesPanel : public QWidget {
  Q_OBJECT

 public:
  explicit StatesPanel(Session& session, QWidget* parent = nullptr);

  StatisticsModel& model() { return *model_; }
  QTableView& table() { return *table_; }
  PieView& pie() { return *pie_; }

  // Makes it the chosen row, and goes to the list; one that there is not is none.
  void choose(const std::string& state);
  // To the chosen row; a sentence is said where there is none.
  void toggle();
  void only();
  void choose_colour();
  void usual_colour();
  // The list as CSV, of whatever it is of.
  void copy() const;

 signals:
  void said(QString sentence);

 private:
  void refresh();
  void refresh_if_other();
  int chosen();  // row of the model, or -1
  void only(int row);
  void show(int row, bool shown);
  void choose_colour(int row);
  QStringList heading() const;
  void show_heading();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  Session& session_;
  StatisticsModel* model_;
  PieView* pie_;
  QLabel* heading_;
  QTableView* table_;
  // What was last shown, beside the data: who scrolls needs no statistics anew.
  std::optional<Session::Selection> of_;
  std::optional<scene::MarkedArea> marked_;
  std::vector<std::string> states_;
  scene::RunFilter filter_;
  std::optional<scene::Palette> palette_;
  scene::Times times_;
};

}  // namespace margay::viewer
