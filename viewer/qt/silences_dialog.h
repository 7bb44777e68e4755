// The silences of the run: of which alerts, until when, by whom and why; and the way to end one. Asks the
// daemon when it opens, and when one was ended here.
//
// Thread safety: none; belongs to the thread of the window. Cost of an answer: its silences, sorted.
#pragma once

#include <QAbstractTableModel>
#include <QDialog>
#include <QPushButton>
#include <QTableView>
#include <vector>

#include "session.h"
#include "widgets.h"

namespace margay::viewer {

class SilenceModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kId, kWhat, kFrom, kUntil, kBy, kComment, kColumns };
  using QAbstractTableModel::QAbstractTableModel;

  void set(std::vector<scene::ListedSilence> silences);
  const scene::ListedSilence& at(int row) const { return rows_[static_cast<std::size_t>(row)]; }
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  std::vector<scene::ListedSilence> rows_;
};

class SilencesDialog : public QDialog {
  Q_OBJECT

 public:
  SilencesDialog(Session& session, QWidget* parent);
  QTableView& table() { return *table_; }
  QPushButton& end_button() { return *end_; }
  // How many there are, or why they are not known.
  QString text() const { return line_->text(); }

 private:
  void end_chosen();
  void show_buttons();

  Session& session_;
  SilenceModel* model_;
  QTableView* table_;
  ElidedLabel* line_;
  QPushButton* end_;
};

}  // namespace margay::viewer
