// Pins: bookmarks that are shown with their numbers, one below the other, so that they can be held against
// each other: whose it is, when, and the three states that have most of that time. At most
// RunNotes::kMostPins.
//
// A click on a pin marks its rectangle (Session::mark()), so that all else there is to know of it is seen; a
// double click or Return goes there, a click on its cross or Delete removes it. Numbers are asked of the
// daemon as a view of one slice, beside the picture, and so are exact whatever the picture aggregates; where
// it has none the row says why, and they are asked for again.
//
// Thread safety: none; belongs to the thread of the window. Cost: one question a pin.
#pragma once

#include <QTableView>
#include <QTimer>
#include <QWidget>

#include "contents_source.h"
#include "kept_notes.h"
#include "phase_models.h"
#include "session.h"

namespace margay::viewer {

struct PinRow {
  command::RunNotes::Bookmark of;
  QString who, when;
  TimeNs begin{};
  std::vector<std::pair<scene::State, double>> largest;  // three at most
  QString trouble;                                       // why they are not known
  bool operator==(const PinRow& o) const;
};
inline bool same_row(const PinRow& a, const PinRow& b) {
  return a.of == b.of;
}

class PinModel : public RowsModel<PinRow> {
  Q_OBJECT

 public:
  enum Column { kWho, kWhen, kFirst, kSecond, kThird, kRemove, kColumns };
  using RowsModel::RowsModel;

  void set(std::vector<PinRow> rows) { set_rows(std::move(rows)); }
  void recolour();
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : kColumns; }
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
};

class PinsPanel : public QWidget {
  Q_OBJECT

 public:
  PinsPanel(Session& session, KeptNotes& notes, QWidget* parent = nullptr);
  PinModel& model() { return *model_; }
  QTableView& table() { return *table_; }
  ContentsSource& contents() { return contents_; }
  // Without the column of crosses.
  std::string csv() const;
  QSize sizeHint() const override;

 private:
  void make_keys();
  void refresh();
  void mark(int row);
  void go_to(int row);
  void remove(int row);

  Session& session_;
  KeptNotes& notes_;
  ContentsSource contents_;
  PinModel* model_;
  QTableView* table_;
  scene::Times times_;  // as they are listed
  std::optional<scene::Palette> palette_;
  QTimer again_;  // until what is not known is asked for again
};

// Of this bookmark, in the session's times; nothing: it has none that make sense.
std::optional<scene::MarkedArea> area_of(const command::RunNotes::Bookmark& bookmark, const Session& session);

}  // namespace margay::viewer
