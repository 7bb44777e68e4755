// What of the list of events is shown: a field for each column that can be filtered, a regular expression,
// and in which order. A field that cannot be understood is marked, and says why; the filter stays as it was.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QComboBox>
#include <QLineEdit>
#include <QTimer>
#include <QWidget>

#include "margay/scene/event_pages.h"

namespace margay::viewer {

class EventFilterLine : public QWidget {
  Q_OBJECT

 public:
  explicit EventFilterLine(QWidget* parent = nullptr);

  const scene::EventFilter& filter() const { return filter_; }
  bool longest() const { return order_->currentIndex() == 1; }
  void set_longest(bool longest) { order_->setCurrentIndex(longest ? 1 : 0); }
  // Of the field that is not understood; "": all are.
  const QString& trouble() const { return trouble_; }
  // Takes what is typed now, and not in a moment.
  void apply();
  QLineEdit& name() { return *name_; }
  QLineEdit& match() { return *match_; }
  QLineEdit& duration() { return *duration_; }
  // In the order of the tabulator.
  std::vector<QWidget*> fields() const {
    return {resource_, name_, duration_, partner_, bytes_, match_, order_};
  }

 signals:
  void changed();  // filter, order, or what is wrong

 private:
  QLineEdit* field(const QString& head, const QString& tip, int stretch);

  QLineEdit *resource_, *name_, *duration_, *partner_, *bytes_, *match_;
  QComboBox* order_;
  QTimer typed_;
  scene::EventFilter filter_;
  QString trouble_;
};

}  // namespace margay::viewer
