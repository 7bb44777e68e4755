// All that a filter has, to be typed: terms of states and of resources, and what shares are of. Says while
// somebody types how much of what is known of the run is left.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QCheckBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include "session.h"

namespace margay::viewer {

class FilterDialog : public QDialog {
  Q_OBJECT

 public:
  explicit FilterDialog(Session& session, QWidget* parent = nullptr);
  // "3 of 12 states, 8 of 16 resources", or what is wrong.
  QString told() const { return told_->text(); }

 private:
  scene::RunFilter typed() const;
  void look();
  void apply();

  Session& session_;
  QLineEdit *states_, *resources_;
  QCheckBox* rest_;
  QLabel* told_;
  QPushButton* ok_;
};

// How many of the run's states that are known these terms leave, and of how many; of the resources of the
// picture the same.
struct LeftOfRun {
  std::size_t states = 0, all_states = 0, resources = 0, all_resources = 0;
};
LeftOfRun left_of_run(const Session& session, const wire::RunFilter& filter);

}  // namespace margay::viewer
