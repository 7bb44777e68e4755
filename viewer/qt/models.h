// What the lists of the window show: alerts, and the statistics of what is selected. No widgets.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QAbstractTableModel>
#include <QColor>
#include <vector>

#include "alerts.h"
#include "margay/scene/palette.h"
#include "margay/scene/statistics.h"
#include "margay/scene/view_data.h"
#include "margay/wire/margay.pb.h"

namespace margay::viewer {

// The alerts of a report, newest first.
class AlertModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kState, kOnset, kNode, kScore, kSentence, kColumns };
  using QAbstractTableModel::QAbstractTableModel;

  void set(const wire::Report& report);
  const terminal::AlertView& at(int row) const { return alerts_[static_cast<std::size_t>(row)]; }
  // Where it is: the node of it, and the resources that are blamed.
  std::string node_of(int row) const;
  int firing() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  std::vector<terminal::AlertView> alerts_;
  std::int64_t zero_ = 0;
};

// A line for each state of the selection.
class StatisticsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kShare, kTotal, kLeaves, kLeast, kMost, kColumns };
  using QAbstractTableModel::QAbstractTableModel;

  void set(scene::Statistics statistics, const scene::ViewData& data, const scene::Palette& palette);
  const scene::Statistics& statistics() const { return statistics_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  struct Row {
    QString name;
    QColor colour;
  };
  scene::Statistics statistics_;
  std::vector<Row> names_;  // as the statistics' rows
  QString unit_;
};

}  // namespace margay::viewer
