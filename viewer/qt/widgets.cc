#include "widgets.h"

#include <QAbstractSpinBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QSlider>
#include <QSortFilterProxyModel>
#include <QStyle>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>

#include "margay/scene/statistics.h"
#include "paint.h"
#include "patterns.h"

namespace margay::viewer {
namespace {

class OwnKeys final : public QObject {
 public:
  using QObject::QObject;
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() != QEvent::ShortcutOverride) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    if ((key->modifiers() & ~Qt::KeypadModifier) != Qt::NoModifier) return false;
    switch (key->key()) {
      case Qt::Key_Up:
      case Qt::Key_Down:
      case Qt::Key_Left:
      case Qt::Key_Right:
      case Qt::Key_PageUp:
      case Qt::Key_PageDown:
      case Qt::Key_Home:
      case Qt::Key_End:
        event->accept();
        return true;
      default:
        return false;
    }
  }
};

constexpr double kLeastPie = 0.02;   // smaller ones are pooled
constexpr int kBannerTime = 12'000;  // ms

// Fusion's empty check box is not to be seen on a dark list.
class Boxes : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* p, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyledItemDelegate::paint(p, option, index);
    if (!(index.flags() & Qt::ItemIsUserCheckable)) return;
    QStyleOptionViewItem all = option;
    initStyleOption(&all, index);
    const QStyle* style = all.widget->style();
    const QRect box = style->subElementRect(QStyle::SE_ItemViewItemCheckIndicator, &all, all.widget);
    QColor line = all.palette.color(QPalette::Text);
    line.setAlpha(120);
    p->save();
    p->setPen(line);
    p->drawRect(box.adjusted(0, 0, -1, -1));
    p->restore();
  }
};

// Reserves room for the arrow of sorting only where it is.
class Heads : public QHeaderView {
 public:
  explicit Heads(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
    setSectionsClickable(true);
    setHighlightSections(false);
    connect(this, &QHeaderView::sortIndicatorChanged, this, [this] { resizeSections(); });
  }

 protected:
  QSize sectionSizeFromContents(int section) const override {
    QSize size = QHeaderView::sectionSizeFromContents(section);
    if (section != sortIndicatorSection() && isSortIndicatorShown())
      size.rwidth() -= style()->pixelMetric(QStyle::PM_HeaderMarkSize, nullptr, this) +
                       style()->pixelMetric(QStyle::PM_HeaderMargin, nullptr, this);
    return size;
  }
};

}  // namespace

void keep_own_keys(QWidget& parent) {
  auto* keys = new OwnKeys(&parent);
  const auto keep = [keys](const auto& widgets) {
    for (auto* widget : widgets) widget->installEventFilter(keys);
  };
  keep(parent.findChildren<QComboBox*>());
  keep(parent.findChildren<QSlider*>());
  keep(parent.findChildren<QAbstractSpinBox*>());
}

QSize ElidedLabel::minimumSizeHint() const {
  return {fontMetrics().averageCharWidth() * 8, QLabel::minimumSizeHint().height()};
}

void ElidedLabel::paintEvent(QPaintEvent*) {
  QPainter p(this);
  const QString shown = fontMetrics().elidedText(text(), Qt::ElideRight, contentsRect().width());
  p.setPen(palette().color(foregroundRole()));
  p.drawText(contentsRect(), static_cast<int>(alignment()), shown);
  const QString tip = shown == text() ? QString() : QString(text()).replace("  |  ", "\n");
  if (tip != toolTip()) setToolTip(tip);
}

ElidedLabel* line_of(QWidget* parent) {
  auto* label = new ElidedLabel(parent);
  label->setContentsMargins(4, 2, 4, 2);
  return label;
}

QWidget* with_line(QWidget* parent, QWidget* line, QWidget* table) {
  auto* box = new QWidget(parent);
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(line);
  column->addWidget(table, 1);
  return box;
}

QTableView* make_table(QAbstractItemModel* model, QWidget* parent, const QString& name) {
  auto* view = new QTableView(parent);
  auto* sorted = new QSortFilterProxyModel(view);
  sorted->setSourceModel(model);
  sorted->setSortRole(Qt::EditRole);
  view->setHorizontalHeader(new Heads(view));
  view->setModel(sorted);
  view->setItemDelegate(new Boxes(view));
  view->setSortingEnabled(true);
  view->setSelectionBehavior(QAbstractItemView::SelectRows);
  view->setSelectionMode(QAbstractItemView::SingleSelection);
  view->setTabKeyNavigation(false);
  view->setShowGrid(false);
  view->setWordWrap(false);
  view->verticalHeader()->hide();
  view->verticalHeader()->setDefaultSectionSize(view->fontMetrics().height() + 6);
  view->setAccessibleName(name);
  return view;
}

int row_of(const QTableView& view, const QModelIndex& index) {
  if (!index.isValid()) return -1;
  return static_cast<const QSortFilterProxyModel*>(view.model())->mapToSource(index).row();
}

void choose_row(QTableView& view, int row) {
  const auto* sorted = static_cast<const QSortFilterProxyModel*>(view.model());
  view.setCurrentIndex(sorted->mapFromSource(sorted->sourceModel()->index(row, 0)));
}

QPalette widget_palette(const scene::Palette& pictures) {
  const bool dark = pictures.theme() == scene::Theme::kDark;
  const QColor base = colour_of(pictures.background()), ink = colour_of(pictures.ink());
  const QColor window = dark ? QColor(45, 45, 48) : QColor(240, 240, 241);
  const QColor button = dark ? QColor(62, 62, 66) : QColor(233, 233, 235);
  const QColor off = dark ? QColor(128, 128, 134) : QColor(140, 140, 146);
  QPalette out(ink, button, button.lighter(150), button.darker(160), button.darker(120), ink, ink, base,
               window);
  out.setColor(QPalette::AlternateBase, dark ? QColor(38, 38, 41) : QColor(246, 246, 247));
  out.setColor(QPalette::Highlight, dark ? QColor(58, 96, 150) : QColor(48, 110, 190));
  out.setColor(QPalette::HighlightedText, Qt::white);
  out.setColor(QPalette::ToolTipBase, dark ? QColor(74, 62, 24) : QColor(255, 244, 206));
  out.setColor(QPalette::ToolTipText, ink);
  out.setColor(QPalette::Link, dark ? QColor(130, 170, 255) : QColor(0, 80, 180));
  out.setColor(QPalette::PlaceholderText, off);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    out.setColor(QPalette::Disabled, role, off);
  return out;
}

std::vector<PiePart> pie_of(const scene::Statistics& of, const scene::ViewData& data,
                            const scene::Palette& palette) {
  std::vector<PiePart> out;
  if (of.leaves == 0) return out;
  std::vector<double> shares(data.states.size());
  double sum = 0, others = 0;
  for (const scene::StateRow& r : of.rows) {
    if (!data.states[r.state].known()) continue;
    shares[r.state] = std::max(0.0, r.share);
    sum += shares[r.state];
  }
  // Of durations the pie is all there is of resources x time, and what is left is hatched.
  const double whole = data.unit.empty() ? std::max(1.0, sum) : sum;
  if (whole <= 0) return out;
  for (const std::uint32_t s : scene::states_in_order(data)) {
    const double share = shares[s] / whole;
    if (share <= 0) continue;
    if (share < kLeastPie)
      others += share;
    else
      out.push_back({palette.look(data.states[s].name, data.states[s].family), share});
  }
  if (others > 0) out.push_back({palette.others(), others});
  if (const double rest = 1 - sum / whole; rest > 1e-6) out.push_back({palette.unknown(), rest});
  return out;
}

PieView::PieView(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setFixedSize(76, 76);
  setAccessibleName(tr("States of the selection as a pie"));
}

void PieView::set(std::vector<PiePart> parts) {
  parts_ = std::move(parts);
  const scene::ViewData& d = session_.data();
  setToolTip(
      tr("%1, of the selected resources in the selected time range").arg(text_of(scene::measure_text(d))) +
      (d.unit.empty() ? tr("; hatched: absent, unknown, or left out") : QString()));
  update();
}

void PieView::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.setRenderHint(QPainter::Antialiasing, true);
  const QRectF box = QRectF(rect()).adjusted(2, 2, -2, -2);
  const scene::Palette& palette = session_.palette();
  // From the top on, with the clock; Qt counts the other way, in sixteenths of a degree.
  constexpr double kCircle = 360 * 16;
  double at = 0;
  for (const PiePart& part : parts_) {
    const auto from = static_cast<int>(std::lround(90 * 16 - at * kCircle));
    at += part.share;
    const auto to = static_cast<int>(std::lround(90 * 16 - at * kCircle));
    p.setPen(QPen(colour_of(palette.background()), parts_.size() > 1 ? 1 : 0));
    p.setBrush(colour_of(palette.background()));
    const auto draw = [&] { parts_.size() == 1 ? p.drawEllipse(box) : p.drawPie(box, from, to - from); };
    if (part.look.hatch) draw();
    p.setBrush(part.look.hatch ? QBrush(colour_of(part.look.colour), Qt::BDiagPattern)
                               : QBrush(colour_of(part.look.colour)));
    draw();
    if (part.look.pattern == scene::Pattern::kNone) continue;
    p.setBrush(pattern_brush(part.look.pattern, colour_of(scene::text_on(part.look.colour))));
    draw();
  }
  p.setBrush(Qt::NoBrush);
  p.setPen(QPen(colour_of(palette.faint()), 1));
  p.drawEllipse(box);
}

MarkLegend::MarkLegend(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setAccessibleName(
      tr("Legend: hatched is not there, or not known; pale to full is how much of the time the state has; a "
         "diagonal stands for many parts that are cut alike, a cross for many that are not; a red frame is "
         "an alert"));
  const auto update_if_other = [this] {
    if (painted_ != shown()) update();
  };
  connect(&session_, &Session::view_changed, this, update_if_other);
  connect(&session_, &Session::status_changed, this, update_if_other);
}

MarkLegend::Shown MarkLegend::shown() const {
  const scene::Subject& subject = session_.subject();
  return {session_.palette(), !subject.states.empty() || !subject.filter.empty(),
          !session_.data().unit.empty()};
}

QSize MarkLegend::sizeHint() const {
  return {240, 3 * (fontMetrics().height() + 3)};
}

void MarkLegend::paintEvent(QPaintEvent*) {
  QPainter p(this);
  painted_ = shown();
  const scene::Palette& palette = painted_->palette;
  const int line = fontMetrics().height() + 3, box = 14;
  const QColor ink = colour_of(palette.ink()), full = colour_of(palette.family(wire::FAMILY_COMPUTE));
  const std::array<QString, 5> words = {
      painted_->left_out ? tr("not known, or left out") : tr("not there or not known"),
      tr("many parts, cut alike"),
      painted_->measured ? tr("pale: little of what is measured") : tr("pale: little of the time"),
      tr("cut differently"), tr("an alert")};
  for (int i = 0; i < 5; ++i) {
    const int x = i % 2 == 0 ? 0 : width() * 53 / 100, y = i / 2 * line;
    const QRectF at(x + 0.5, y + (line - box) / 2 + 0.5, box, box - 1);
    p.fillRect(at, colour_of(palette.background()));
    p.setPen(QPen(ink, 1));
    if (i == 0) p.fillRect(at, QBrush(colour_of(palette.unknown().colour), Qt::BDiagPattern));
    if (i == 2)
      for (int k = 0; k < box; ++k)
        p.fillRect(QRectF(at.left() + k, at.top(), 1, at.height()),
                   colour_of(palette.at(palette.family(wire::FAMILY_COMPUTE), (k + 1.0) / box)));
    if (i % 2 == 1) {
      p.fillRect(at, full);
      p.setRenderHint(QPainter::Antialiasing, true);
      p.drawLine(at.bottomLeft(), at.topRight());
      if (i == 3) p.drawLine(at.topLeft(), at.bottomRight());
      p.setRenderHint(QPainter::Antialiasing, false);
    }
    p.setPen(i == 4 ? QPen(alert_colour(palette), 2) : QPen(colour_of(palette.faint()), 1));
    p.drawRect(at);
    p.setPen(this->palette().color(QPalette::WindowText));
    const int left = x + box + 6, room = (i % 2 == 0 ? width() * 53 / 100 : width()) - left - 4;
    p.drawText(QRect(left, y, room, line), Qt::AlignLeft | Qt::AlignVCenter,
               fontMetrics().elidedText(words[static_cast<std::size_t>(i)], Qt::ElideRight, room));
  }
}

Banner::Banner(QWidget* parent) : QFrame(parent) {
  setObjectName("banner");
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Highlight);
  auto* line = new QHBoxLayout(this);
  line->setContentsMargins(8, 3, 8, 3);
  text_ = new ElidedLabel(this);
  text_->setForegroundRole(QPalette::HighlightedText);
  auto* go = new QPushButton(tr("Go to"), this);
  auto* close = new QPushButton(tr("Close"), this);
  line->addWidget(text_, 1);
  line->addWidget(go);
  line->addWidget(close);
  timer_.setSingleShot(true);
  connect(&timer_, &QTimer::timeout, this, &QWidget::hide);
  connect(close, &QPushButton::clicked, this, &QWidget::hide);
  connect(go, &QPushButton::clicked, this, [this] {
    hide();
    emit asked();
  });
  hide();
}

void Banner::say(const QString& sentence) {
  text_->setText(sentence);
  show();
  timer_.start(kBannerTime);
}

}  // namespace margay::viewer
