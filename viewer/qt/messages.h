// Who sends how much to whom: the messages of the stretch that is looked at as a matrix, of which rows and
// columns are the rows of the overview: what is folded there is one here.
//
// Thread safety: none; belongs to the thread of the window. Cost of painting: linear in the pairs.
#pragma once

#include <QComboBox>

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

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void refresh();

  SumsSource source_;
  MatrixView* matrix_;
  QComboBox* measure_;
  ElidedLabel* status_;
};

}  // namespace margay::viewer
