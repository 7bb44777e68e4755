// The phases of the run: what comes next, a table of phases, a table of their stretches, and what the one or
// two chosen stretches consist of, side by side. What is told are the numbers of `margay status`.
//
// Thread safety: none; belongs to the thread of the window. Cost of a report while it is seen: linear in its
// stretches, times the parts of the temporal partition for those in the picture.
#pragma once

#include <QTableView>

#include "contents_source.h"
#include "phase_models.h"
#include "view.h"
#include "widgets.h"

namespace margay::viewer {

class PhasesView : public View {
  Q_OBJECT

 public:
  explicit PhasesView(Session& session, QWidget* parent = nullptr);
  QStringList mouse() const override;
  QStringList keys() const override;
  QString save(const QString& path, const QString& title) override;
  QTableView& stretches() { return *stretches_; }
  QTableView& phases() { return *phases_; }
  QTableView& differences() { return *differences_; }
  ContentsSource& contents() { return contents_; }
  // What goes on, and what is foretold; and what is chosen.
  QString now_text() const { return now_->text(); }
  QString chosen_text() const { return chosen_->text(); }
  // The table as CSV.
  std::string csv_of(const QTableView& table) const;

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void make_tables();
  void refresh();
  void show_stretches();
  void show_now();
  void look_at_chosen(bool anew = false);
  void show_chosen();
  void list_only(const QString& phase);
  QString mostly(const scene::ListedStretch& stretch) const;
  // One or two, in order of time; of more the first two.
  std::vector<scene::ListedStretch> chosen() const;
  void select(int row);
  void go_to(int row);

  ContentsSource contents_;
  scene::PhaseList list_;
  std::vector<scene::StateDifference> differ_;
  QString only_;  // the phase whose stretches are listed; "": all
  PhaseModel* phase_model_;
  StretchModel* stretch_model_;
  DifferenceModel* difference_model_;
  QTableView *phases_, *stretches_, *differences_;
  ElidedLabel *now_, *listed_, *chosen_;
};

}  // namespace margay::viewer
