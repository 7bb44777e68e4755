// The lists of the page Evidence as Qt's tables want them: facts of an alert, the states that changed, and
// the slices around its onset. New values come in place, as in the page of phases (phase_models.h).
//
// Thread safety: none; belongs to the thread of the window. Cost of set(): as of RowsModel.
#pragma once

#include "margay/scene/evidence.h"
#include "margay/terminal/alert_facts.h"
#include "phase_models.h"

namespace margay::viewer {

struct FactRow {
  int place = 0;
  terminal::AlertFact fact;
  bool operator==(const FactRow&) const = default;
};
inline bool same_row(const FactRow& a, const FactRow& b) {
  return a.place == b.place;
}
class FactModel : public RowsModel<FactRow> {
  Q_OBJECT

 public:
  enum Column { kName, kValue, kColumns };
  using RowsModel::RowsModel;

  void set(const std::vector<terminal::AlertFact>& facts);
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : kColumns; }
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
};

// A state's share of the time of those who are affected: usually, and as observed. `length` is how long the
// alert has lasted.
struct ChangeRow {
  scene::State state;
  double expected = 0, observed = 0;
  DurationNs length{};
  double more() const { return observed - expected; }
  bool operator==(const ChangeRow& o) const {
    return state.family == o.state.family && expected == o.expected && observed == o.observed &&
           length == o.length;
  }
};
inline bool same_row(const ChangeRow& a, const ChangeRow& b) {
  return a.state.name == b.state.name;
}
class ChangeModel : public RowsModel<ChangeRow> {
  Q_OBJECT

 public:
  // kTime: the difference as a duration.
  enum Column { kState, kExpected, kObserved, kDifference, kTime, kColumns };
  using RowsModel::RowsModel;

  // One row of each name.
  void set(std::vector<ChangeRow> rows) { set_rows(std::move(rows)); }
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : kColumns; }
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
};

inline bool same_shares(const std::vector<std::pair<scene::State, double>>& a,
                        const std::vector<std::pair<scene::State, double>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first.name == y.first.name && x.second == y.second;
  });
}
struct SliceRow {
  scene::EvidenceSlice slice;
  bool operator==(const SliceRow& o) const {
    return slice.onset == o.slice.onset && same_shares(slice.cause, o.slice.cause) &&
           same_shares(slice.all, o.slice.all);
  }
};
inline bool same_row(const SliceRow& a, const SliceRow& b) {
  return a.slice.time == b.slice.time;
}
class SliceModel : public RowsModel<SliceRow> {
  Q_OBJECT

 public:
  enum Column { kFrom, kOnset, kCause, kAll, kColumns };
  using RowsModel::RowsModel;

  // `cause` is whose slices these are beside those of all.
  void set(const std::vector<scene::EvidenceSlice>& slices, const QString& cause, const scene::Times& times);
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : kColumns; }
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QString cause_;
  scene::Times times_;
};

// RFC 4180: heads, and the rows as they are shown.
std::string csv_of_model(const QAbstractItemModel& model);

}  // namespace margay::viewer
