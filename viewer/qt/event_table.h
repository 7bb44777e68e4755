// A list of single events as a table, wherever one is shown: a row for each, in the widths that they have
// everywhere. A click or Return selects a row's resource and time, in all views alike; a double click, or
// Return once more, goes there. Which keys are its own while it has the focus is for the page to say.
//
// Thread safety: none; belongs to the thread of the window. Cost: constant for a row; copied() linear in the
// chosen rows, kMostCopied at most.
#pragma once

#include <QTableView>

#include "event_model.h"

namespace margay::viewer {

class EventTable : public QTableView {
  Q_OBJECT

 public:
  static constexpr std::size_t kMostCopied = 100'000;  // rows

  // `name` is what assistive technology calls it.
  EventTable(EventModel& model, Session& session, const QString& name, QWidget* parent = nullptr);

  void select(int row);
  void go_into(int row);
  // Select the current row, or where it is selected, or not in the picture's time, go into it.
  void choose();
  // The row's resource and time are what the session's selection has, exactly.
  bool is_selection(int row) const;
  // The chosen rows, a line each, cells between tabs.
  QString copied() const;
  void copy() const;

 signals:
  // The session goes to a row's time.
  void went();

 private:
  // The picture shows nothing of its time.
  bool is_beyond(int row) const;
  EventModel& model_;
  Session& session_;
};

}  // namespace margay::viewer
