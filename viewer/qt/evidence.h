// What the chosen alert rests on: what it says of itself (the lines of `margay alerts show`), the states that
// rose and fell, usual and observed, the longest calls of who is blamed while it lasted, and the slices
// around its onset, of who is blamed beside all.
//
// What is shown of the alert itself is the report's; the rest is asked of the daemon while the page is seen:
// calls, then whom the affected waited for (EvidenceSource), and slices beside the picture. Where nobody has
// chosen an alert it is the newest.
//
// Thread safety: none; belongs to the thread of the window. Cost of a report while it is seen: linear in the
// alert's lists.
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QTableView>

#include "event_table.h"
#include "evidence_models.h"
#include "evidence_source.h"
#include "view.h"
#include "widgets.h"

namespace margay::viewer {

class EvidenceView : public View {
  Q_OBJECT

 public:
  explicit EvidenceView(Session& session, QWidget* parent = nullptr);
  QStringList mouse() const override;
  QStringList keys() const override;
  QString save(const QString& path, const QString& title) override;

  // What the alert says in one sentence, or why there is nothing to show.
  QString sentence() const { return sentence_->text(); }
  QTableView& facts() { return *facts_; }
  QTableView& changes() { return *changes_; }
  QTableView& slices() { return *slices_; }
  EventTable& calls() { return *calls_; }
  EventModel& call_model() { return *call_model_; }
  EvidenceSource& source() { return source_; }
  // The calls of what goes on are not read anew yet.
  bool rests() const { return rest_.isActive(); }
  // What is said above the calls, and above the slices.
  QString calls_text() const { return calls_line_->text(); }
  QString slices_text() const { return slices_line_->text(); }
  // The facts as CSV.
  std::string csv() const { return csv_of_model(*facts_->model()); }

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void make_tables();
  void make_layout();
  void refresh(bool anew = false);
  void show_nothing(const QString& why);
  void show_alert(const wire::Alert& alert);
  void show_facts(const wire::Alert& alert);
  void show_changes(const wire::Alert& alert);
  void show_calls();
  void show_slices();
  void list_calls(bool anew);
  void go_on();
  void go_to_alert();
  scene::State state_of(const std::string& name) const;
  QString named() const;

  EvidenceSource source_;
  std::optional<scene::EvidenceSubject> subject_;
  EventModel* call_model_;
  FactModel* fact_model_;
  ChangeModel* change_model_;
  SliceModel* slice_model_;
  EventTable* calls_;
  QTableView *facts_, *changes_, *slices_;
  QLabel* sentence_;
  QPushButton* go_;
  ElidedLabel *changes_line_, *calls_line_, *slices_line_;
  QWidget* body_;
  QTimer rest_;  // until the calls of what goes on are read anew
};

}  // namespace margay::viewer
