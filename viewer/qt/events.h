// The events of the stretch and node that are looked at, one by one: a list that is fetched as one scrolls,
// what of it is shown, and above it how many begin when.
//
// A click on a row or Return selects its resource and its time, in all views alike; a double click, or Return
// once more, goes there. While a run is followed the list is that of a moment, and read anew every 2 s as
// long as nobody is in it.
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QTimer>

#include "density.h"
#include "event_filter_line.h"
#include "event_model.h"
#include "event_table.h"
#include "view.h"
#include "widgets.h"

namespace margay::viewer {

class EventsView : public View {
  Q_OBJECT

 public:
  explicit EventsView(Session& session, QWidget* parent = nullptr);
  QStringList mouse() const override;
  QStringList keys() const override;
  QString save(const QString& path, const QString& title) override;

  EventModel& model() { return *model_; }
  EventTable& table() { return *table_; }
  EventFilterLine& filter() { return *filter_; }
  DensityView& density() { return *density_; }
  QPushButton& stop_button() { return *stop_; }
  // What is said of the list: how far it was read, and of which time it is.
  QString status() const { return status_->text(); }
  QString copied() const { return table_->copied(); }

 protected:
  void showEvent(QShowEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void make_table();
  scene::EventSubject subject() const;
  void session_changed();
  void read_anew();
  void go_on();
  void look();
  void stop_or_go_on();
  bool table_key(int key, Qt::KeyboardModifiers modifiers);
  void show_status();

  EventModel* model_;
  EventFilterLine* filter_;
  DensityView* density_;
  ElidedLabel* status_;
  QPushButton* stop_;
  EventTable* table_;
  QTimer settle_, rest_;  // until a change is final; until what follows a run is read anew
  bool there_ = false;    // the daemon, when it was last heard of
};

}  // namespace margay::viewer
