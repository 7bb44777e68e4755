// How long what was done lasts: a histogram of the visits of the stretch that is looked at, by length, and a
// table of what they sum to, a state a row. A row leads to the longest visit of its state.
//
// Thread safety: none; belongs to the thread of the window. Cost of painting: linear in the bins.
#pragma once

#include <QTableWidget>

#include "paint_sums.h"
#include "sums_source.h"
#include "view.h"
#include "widgets.h"

namespace margay::viewer {

class HistogramView : public QWidget {
  Q_OBJECT

 public:
  HistogramView(const SumsSource& source, Session& session, QWidget* parent = nullptr);
  QSize sizeHint() const override { return {500, 260}; }
  QRectF plot() const { return sheet().plot; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  HistogramSheet sheet() const { return {QRectF(rect()), QFontMetricsF(font())}; }
  QString words_at(double x) const;

  const SumsSource& source_;
  Session& session_;
};

class DurationsView : public View {
  Q_OBJECT

 public:
  enum Column { kState, kCount, kTotal, kMean, kDeviation, kMedian, k99, kLongest, kWhen, kWho, kColumns };
  explicit DurationsView(Session& session, QWidget* parent = nullptr);
  QStringList mouse() const override;
  QStringList keys() const override;
  QString save(const QString& path, const QString& title) override;
  QTableWidget& table() { return *table_; }
  SumsSource& source() { return source_; }
  HistogramView& histogram() { return *histogram_; }

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void refresh();
  void fill();
  void colour();
  std::size_t index_of(int row) const;  // of shown_->sums
  void go_to_longest(int row);

  SumsSource source_;
  HistogramView* histogram_;
  QTableWidget* table_;
  ElidedLabel* status_;
  EventSumsPtr shown_;
};

}  // namespace margay::viewer
