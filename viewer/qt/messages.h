// Who sends how much to whom: the messages of the stretch that is looked at as a matrix, of which rows and
// columns are the rows of the overview: what is folded there is one here. Or what is alike together: the
// optimal blocks of it, at a p of their own.
//
// Thread safety: none; belongs to the thread of the window. Cost of painting: linear in the pairs.
#pragma once

#include <QComboBox>
#include <QSlider>
#include <QStackedWidget>

#include "blocks_view.h"
#include "paint_sums.h"
#include "sums_source.h"
#include "view.h"
#include "widgets.h"

namespace margay::viewer {

class MatrixView : public QWidget {
  Q_OBJECT

 public:
  MatrixView(const SumsSource& source, Session& session, QWidget* parent = nullptr);
  void set_measure(MatrixMeasure measure);
  MatrixMeasure measure() const { return measure_; }
  const scene::MessageMatrix& matrix() const { return matrix_; }
  MatrixSheet sheet() const;
  // Of the picture's rows and the newest sums.
  void refresh();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void describe();
  Picture picture() const { return {session_.data(), session_.rows(), session_.palette()}; }

  const SumsSource& source_;
  Session& session_;
  MatrixMeasure measure_ = MatrixMeasure::kBytes;
  scene::MessageMatrix matrix_;
};

class MessagesView : public View {
  Q_OBJECT

 public:
  explicit MessagesView(Session& session, QWidget* parent = nullptr);
  QStringList mouse() const override;
  QString save(const QString& path, const QString& title) override;
  MatrixView& matrix() { return *matrix_; }
  SumsSource& source() { return source_; }
  QComboBox& measure() { return *measure_; }
  BlocksView& blocks() { return *blocks_; }
  // Each pair, or what is alike together; and of these the p, from the finest to all as one.
  QComboBox& grouping() { return *grouping_; }
  QSlider& steps() { return *steps_; }

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void refresh();
  void choose();  // what is asked for
  bool in_blocks() const { return shown_->currentWidget() == blocks_; }

  SumsSource source_;
  QStackedWidget* shown_;
  MatrixView* matrix_;
  BlocksView* blocks_;
  QComboBox *measure_, *grouping_;
  QSlider* steps_;
  ElidedLabel* status_;
};

}  // namespace margay::viewer
