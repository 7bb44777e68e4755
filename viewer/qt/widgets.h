// Small things of the window that belong to no view.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QFrame>
#include <QLabel>
#include <QPalette>
#include <QPushButton>
#include <QTableView>
#include <QToolButton>
#include <optional>

#include "margay/scene/statistics.h"
#include "session.h"

namespace margay::viewer {

// A line that never needs more room than there is: what does not fit is an ellipsis, and in its tool tip.
// text() is all of it.
class ElidedLabel : public QLabel {
 public:
  using QLabel::QLabel;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

// "1 part", "12 parts".
inline QString counted(std::size_t n, const QString& one, const QString& many) {
  return n == 1 ? "1 " + one : QString::number(n) + " " + many;
}

// A list that is sorted by its heads, and left with the tabulator as everything else.
QTableView* make_table(QAbstractItemModel* model, QWidget* parent, const QString& name);
// Of a view of make_table(), in its model; -1: none.
int row_of(const QTableView& view, const QModelIndex& index);
// An empty line above a table, and the table below the line that is about it.
ElidedLabel* line_of(QWidget* parent);
QWidget* with_line(QWidget* parent, QWidget* line, QWidget* table);
// Makes this row of its model the current one, and scrolls to it.
void choose_row(QTableView& view, int row);

// Arrows, Page and Home keys choose in lists to choose from, sliders and numbers below `parent` that have the
// focus: else they would be the window's, and move the selection of the picture.
void keep_own_keys(QWidget& parent);

// The colours of everything that is no picture, fit for the pictures' theme.
QPalette widget_palette(const scene::Palette& palette);

// The states of the selection as a pie, largest part of a family first as everywhere; what is not known, not
// there or not shown is hatched. Small ones are one part, "others".
struct PiePart {
  scene::Look look;
  double share = 0;  // of the whole pie
};
// Sums up to 1; empty of a selection of nothing. Where something is measured it is of what was measured.
std::vector<PiePart> pie_of(const scene::Statistics& statistics, const scene::ViewData& data,
                            const scene::Palette& palette);
class PieView : public QWidget {
  Q_OBJECT

 public:
  explicit PieView(Session& session, QWidget* parent = nullptr);
  void set(std::vector<PiePart> parts);
  const std::vector<PiePart>& parts() const { return parts_; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Session& session_;
  std::vector<PiePart> parts_;
};

// What marks and strengths mean.
class MarkLegend : public QWidget {
  Q_OBJECT

 public:
  explicit MarkLegend(Session& session, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Shown {
    scene::Palette palette;
    bool left_out, measured;
    bool operator==(const Shown&) const = default;
  };
  Shown shown() const;

  Session& session_;
  std::optional<Shown> painted_;
};

// A sentence that nobody overlooks, for some seconds.
class Banner : public QFrame {
  Q_OBJECT

 public:
  explicit Banner(QWidget* parent = nullptr);
  void say(const QString& sentence);
  QString text() const { return text_->text(); }

 signals:
  void asked();  // "Go to"

 private:
  ElidedLabel* text_;
  QTimer timer_;
};

}  // namespace margay::viewer
