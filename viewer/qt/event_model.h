// The list of single events as Qt's tables want it: a row for each that is known so far, at most
// scene::EventPages' bounds of them in memory. Rows that are not there are asked for when they come into
// sight.
//
// Thread safety: none; belongs to the thread of the window. Cost: constant for a cell.
#pragma once

#include <QAbstractTableModel>
#include <QColor>
#include <optional>

#include "margay/scene/event_pages.h"
#include "session.h"

namespace margay::viewer {

class EventModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  // It marks what the session's selection has.
  explicit EventModel(Session& session, QObject* parent = nullptr);

  const scene::EventPages& pages() const { return pages_; }
  // Begins anew.
  void set(scene::EventSubject subject);
  void see(int first, int last) {
    pages_.see(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last));
  }
  // The next question goes to the session, where there is one.
  void ask();
  // That was asked last.
  const std::optional<wire::EventsQuestion>& asked() const { return asked_; }
  void stop() { pages_.stop(); }
  void go_on() { pages_.go_on(); }

  // The row; null: it is not there yet.
  scene::EventPages::Listed at(int row) const;
  bool is_selected(const scene::EventPages::Listed& listed) const;
  // Tab between cells.
  QString line(int row) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 signals:
  void changed();  // rows, density, how far it was read

 private:
  void update_rows();

  Session& session_;
  scene::EventPages pages_;
  std::optional<wire::EventsQuestion> asked_;
  int rows_ = 0;  // that Qt knows of
};

}  // namespace margay::viewer
