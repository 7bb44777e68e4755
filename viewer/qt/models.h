// What the lists of the window show: alerts, and the states with the statistics of what is selected. No
// widgets. New values come in place: rows that stay keep who has chosen them, however often a run reports.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QAbstractTableModel>
#include <QColor>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "alerts.h"
#include "margay/scene/palette.h"
#include "margay/scene/statistics.h"
#include "margay/scene/times.h"
#include "margay/scene/view_data.h"
#include "margay/wire/filter.h"

namespace margay::viewer {

// Alerts, newest first. Cost of set(): at most 256 rows, squared.
class AlertModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kState, kOnset, kNode, kScore, kSentence, kColumns };
  using QAbstractTableModel::QAbstractTableModel;

  // As terminal::read_alerts() has them.
  void set(std::vector<terminal::AlertView> alerts, const scene::Times& times);
  const terminal::AlertView& at(int row) const { return alerts_[static_cast<std::size_t>(row)]; }
  const scene::Times& times() const { return times_; }
  // Where it is: who is blamed if that is one, else the node that covers all of it.
  std::string node_of(int row) const;
  int firing() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  std::vector<terminal::AlertView> alerts_;
  scene::Times times_;
};

// A line for each state of the run: its colour, whether it is shown, and what the selection has of it.
// Absent and unknown are no states to choose: they have no check box.
class StatisticsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  // kRange: its least and its most share, over the parts of the selection.
  enum Column { kColour, kName, kShare, kTotal, kLeaves, kRange, kColumns };
  using QAbstractTableModel::QAbstractTableModel;

  // `known`: all states to choose from, in their order; those of the data that are not among them come after
  // them. `chosen`: the filter by name; empty: all are shown, but for those that the `terms` leave out. Cost:
  // linear, and a sort.
  void set(scene::Statistics statistics, const scene::ViewData& data, const scene::Palette& palette,
           const std::vector<scene::State>& known = {}, const std::vector<std::string>& chosen = {},
           const wire::StateTerms& terms = {});
  const scene::Statistics& statistics() const { return statistics_; }
  const scene::State& state(int row) const { return rows_[static_cast<std::size_t>(row)].state; }
  bool shown(int row) const;
  // Whatever the boxes say: a term of the filter leaves it out.
  bool left_out_by_term(int row) const;
  // The filter there is when this one is shown or left out: empty if it is all states. Nothing: it would be
  // none, and there is nothing to see then.
  std::optional<std::vector<std::string>> with(int row, bool shown) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  // A check box changes nothing here: it is wished for, and comes true with the next set().
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 signals:
  void wished(int row, bool shown);

 private:
  struct Row {
    scene::State state;
    scene::Look look;
    int of = -1;  // in the statistics; -1: the selection has nothing of it
  };
  QVariant number(const Row& row, int column, bool exactly) const;

  scene::Statistics statistics_;
  std::vector<Row> rows_;
  std::set<std::string, std::less<>> chosen_;
  wire::StateTerms terms_;
  std::string unit_;
  bool adds_up_ = true;  // what is measured
};

}  // namespace margay::viewer
