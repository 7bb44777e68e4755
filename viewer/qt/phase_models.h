// The lists of the page of phases as Qt's tables want them: phases, their stretches, and what two of these
// differ in. New values come in place: rows that stay keep who has chosen them, however often a run reports.
//
// Thread safety: none; belongs to the thread of the window. Cost of set(): the rows squared at most, linear
// where they stay in their order.
#pragma once

#include <QAbstractTableModel>
#include <QPixmap>
#include <QString>
#include <algorithm>
#include <string>
#include <vector>

#include "margay/scene/phase_list.h"
#include "margay/scene/times.h"
#include "session.h"

namespace margay::viewer {

inline bool same_row(const scene::ListedPhase& a, const scene::ListedPhase& b) {
  return a.level == b.level && a.name == b.name;
}

// Rows that are told apart by same_row(); what they show is compared by ==.
template <class Row>
class RowsModel : public QAbstractTableModel {
 public:
  // Its colours are the session's.
  explicit RowsModel(const Session& session, QObject* parent = nullptr)
      : QAbstractTableModel(parent), session_(session) {}
  const Row& at(int row) const { return rows_[static_cast<std::size_t>(row)]; }
  int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
  }

  // After others were chosen.
  void recolour() {
    if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, 0), {Qt::DecorationRole});
  }

 protected:
  const Session& session_;
  void set_rows(std::vector<Row> next) {
    const auto has = [](const std::vector<Row>& rows, std::size_t from, const Row& row) {
      return std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(std::min(from, rows.size())), rows.end(),
                          [&](const Row& other) { return same_row(other, row); });
    };
    for (int i = rowCount() - 1; i >= 0; --i) {
      if (has(next, 0, at(i)) != next.end()) continue;
      beginRemoveRows({}, i, i);
      rows_.erase(rows_.begin() + i);
      endRemoveRows();
    }
    // What is left are rows of the new list, maybe in another order.
    for (int i = 0; i < static_cast<int>(next.size()); ++i) {
      Row& row = next[static_cast<std::size_t>(i)];
      const auto was = static_cast<int>(has(rows_, static_cast<std::size_t>(i), row) - rows_.begin());
      if (was >= rowCount()) {
        beginInsertRows({}, i, i);
        rows_.insert(rows_.begin() + i, std::move(row));
        endInsertRows();
        continue;
      }
      if (was != i) {
        beginMoveRows({}, was, was, {}, i);
        std::rotate(rows_.begin() + i, rows_.begin() + was, rows_.begin() + was + 1);
        endMoveRows();
      }
      if (at(i) == row) continue;
      rows_[static_cast<std::size_t>(i)] = std::move(row);
      emit dataChanged(index(i, 0), index(i, columnCount() - 1));
    }
  }

 private:
  std::vector<Row> rows_;
};

// A box of the state's colour, before its name.
QPixmap state_box(const scene::State& state, const scene::Palette& palette);
// "31 %", "8.2 %": a tenth of a percent where it counts.
QString percent_text(double share);
// "A (exchange)", and "A (exchange), 3rd".
QString phase_name_of(const std::string& name, const std::string& label);
QString stretch_name_of(const scene::ListedStretch& stretch);

struct StretchRow {
  scene::ListedStretch stretch;
  QString mostly;  // what it consists of, as far as is known
  bool operator==(const StretchRow&) const = default;
};
inline bool same_row(const StretchRow& a, const StretchRow& b) {
  return a.stretch.level == b.stretch.level && a.stretch.time.from == b.stretch.time.from;
}
class StretchModel : public RowsModel<StretchRow> {
  Q_OBJECT

 public:
  enum Column { kPhase, kTimes, kBegin, kEnd, kLasted, kAgainst, kMostly, kColumns };
  static constexpr int kNameRole = Qt::UserRole;  // of the phase
  using RowsModel::RowsModel;

  void set(std::vector<StretchRow> rows, const scene::Times& times);
  const scene::Times& times() const { return times_; }
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : kColumns; }
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QVariant number(const scene::ListedStretch& stretch, int column) const;
  QString text(const StretchRow& row, int column) const;
  QString moment(TimeNs time) const;
  scene::Times times_;
};

class PhaseModel : public RowsModel<scene::ListedPhase> {
  Q_OBJECT

 public:
  enum Column { kPhase, kStretches, kTotal, kShare, kUsual, kShortest, kLongest, kColumns };
  using RowsModel::RowsModel;

  void set(std::vector<scene::ListedPhase> phases);
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : kColumns; }
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
};

struct DifferenceRow {
  scene::StateDifference of;
  bool operator==(const DifferenceRow& o) const {
    return of.state.family == o.of.state.family && of.first == o.of.first && of.second == o.of.second;
  }
};
inline bool same_row(const DifferenceRow& a, const DifferenceRow& b) {
  return a.of.state.name == b.of.state.name;
}
class DifferenceModel : public RowsModel<DifferenceRow> {
  Q_OBJECT

 public:
  enum Column { kState, kFirst, kSecond, kDifference, kColumns };
  using RowsModel::RowsModel;

  // Heads are the names of the two; "": there is no second one, nor a difference.
  void set(const std::vector<scene::StateDifference>& rows, const QString& first, const QString& second);
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : kColumns; }
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QString first_, second_;
};

}  // namespace margay::viewer
