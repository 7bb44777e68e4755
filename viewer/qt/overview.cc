#include "overview.h"

#include <QHelpEvent>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "accessible_overview.h"
#include "margay/scene/time_axis.h"
#include "marked.h"
#include "paint.h"
#include "picture_file.h"
#include "picture_table.h"

namespace margay::viewer {
namespace {

constexpr double kLeastDrag = 4;  // what is shorter is a click
constexpr double kWheel = 0.8;    // a notch
constexpr int kMostStatesTold = 12;
constexpr int kMostMessagesTold = 6, kMostAnnotationsTold = 8;
constexpr double kBookmarkFlag = 9;  // pixels, of a bookmark
constexpr double kNearMark = 4;      // pixels: a mark so near is under the mouse

// "1.25 s, 12.5 slices, 14.9 to 16.15 s": slices of the picture.
QString measured_between(const Session& session, TimeNs from, TimeNs to) {
  const scene::ViewData& d = session.data();
  const double slice = d.seconds(0, d.slices()) / static_cast<double>(d.slices());
  const double slices = static_cast<double>((to - from).value) * 1e-9 / slice;
  return QObject::tr("%1, %2 slices, %3")
      .arg(text_of(scene::duration_text(to - from)), QString::number(slices, 'f', slices < 100 ? 1 : 0),
           text_of(scene::range_text({from, to}, session.times())));
}

// Where a flag is: its pole stands on the axis.
QRectF flag_box(const Sheet& sheet, const scene::Viewport& view, const Session::Bookmark& b) {
  return {sheet.picture.left() + scene::x_of(view, b.time.from), sheet.axis.top() - kBookmarkFlag,
          kBookmarkFlag, kBookmarkFlag + 3};
}

}  // namespace

View* make_overview(Session& session, QWidget* parent) {
  return new Overview(session, parent);
}

Overview::Overview(Session& session, QWidget* parent) : View(session, parent) {
  levels_ = level_ribbons_of(session_);
  make_overviews_accessible();  // first: Qt asks what it is when it gets its name
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(480, 300);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName("Overview: resources over time");
  const auto anew = [this] {
    stale_ = true;
    update();
  };
  connect(&session_, &Session::data_changed, this, [this, anew] {
    stale_bars_ = true;
    anew();
  });
  connect(&session_, &Session::view_changed, this, anew);
  connect(&session_, &Session::report_changed, this, [this, anew] {
    stale_picture_ = true;
    update();
    // A ribbon more leaves less room for the picture.
    if (const std::size_t levels = level_ribbons_of(session_); std::exchange(levels_, levels) != levels)
      anew();
  });
  connect(&session_, &Session::status_changed, this, [this] { update(); });
}

Sheet Overview::sheet() const {
  return Sheet(rect(), 1, levels_);
}
QRectF Overview::picture_area() const {
  return sheet().picture;
}

TimeNs Overview::time_at(double x) const {
  const QRectF a = picture_area();
  return scene::time_at({a.width(), a.height(), session_.time(), session_.scroll()}, x - a.left());
}

void Overview::lay_out() {
  if (!stale_) return;
  stale_ = false;
  stale_picture_ = true;
  layout_ = scene::layout(session_.data(), session_.rows(),
                          sheet().viewport(session_.time(), session_.scroll()), {session_.threshold()});
  calls_ =
      scene::gantt(session_.data(), session_.rows(), sheet().viewport(session_.time(), session_.scroll()));
  hover_ = mouse_ ? rect_at(*mouse_) : -1;
}

// The single visit there; -1: none, or several too narrow to be told apart.
std::int64_t Overview::call_at(QPointF at) const {
  const QRectF a = picture_area();
  return a.contains(at) ? scene::visit_at(calls_, at.x() - a.left(), at.y() - a.top()) : scene::kNoPart;
}

// Of the layout there is; -1: none.
std::int64_t Overview::rect_at(QPointF at) const {
  const QRectF a = picture_area();
  return a.contains(at) ? scene::rect_at(layout_, at.x() - a.left(), at.y() - a.top()) : -1;
}

// Of the bars that are drawn.
std::optional<BelowPicture> Overview::below_at(QPointF at) const {
  return stale_bars_ ? std::nullopt : below_picture(session_, sheet(), bars_, at);
}

QString Overview::empty_text() const {
  if (!session_.trouble().isEmpty()) return session_.trouble();
  if (session_.waiting()) return tr("the first picture is being computed");
  return tr("nothing has been seen of this run yet");
}

void Overview::paintEvent(QPaintEvent* event) {
  lay_out();
  QPainter p(this);
  if (session_.data().empty()) {
    const scene::Palette& palette = session_.palette();
    p.fillRect(rect(), colour_of(palette.background()));
    p.setPen(colour_of(palette.ink()));
    p.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, empty_text());
    return;
  }
  const QSize pixels = (QSizeF(size()) * devicePixelRatioF()).toSize();
  const bool is_new = std::exchange(stale_picture_, false);
  if (is_new || picture_.size() != pixels) kept_ = false;
  if (is_new && event->region() == QRegion(rect())) {
    p.save();
    paint_picture(p);
    p.restore();
  } else {
    if (!std::exchange(kept_, true)) keep_picture(pixels);
    p.drawImage(0, 0, picture_);
  }
  paint_marks(p);
}

void Overview::keep_picture(QSize pixels) {
  if (picture_.size() != pixels) picture_ = QImage(pixels, QImage::Format_RGB32);
  picture_.setDevicePixelRatio(devicePixelRatioF());
  QPainter painter(&picture_);
  painter.setFont(font());
  paint_picture(painter);
}

// What changes with the answers and with where one looks.
void Overview::paint_picture(QPainter& p) {
  // Names and the picture have their own.
  const int below = static_cast<int>(sheet().picture.bottom());
  p.fillRect(rect().adjusted(0, below, 0, 0), colour_of(session_.palette().background()));
  if (std::exchange(stale_bars_, false)) bars_ = temporal_bars_of(session_);
  paint_sheet(p, sheet(), {session_, session_.time(), layout_, bars_, calls_, &names_});
}

// What changes with the mouse: the rectangle under it, the selection, what is dragged, what is waited for.
void Overview::paint_marks(QPainter& p) {
  const scene::Palette& palette = session_.palette();
  const QRectF area = picture_area();
  const scene::ViewData& seen = session_.data();
  if (hover_ >= 0 && static_cast<std::size_t>(hover_) < layout_.rects.size()) {
    const scene::Rect& r = layout_.rects[static_cast<std::size_t>(hover_)];
    p.setPen(QPen(colour_of(palette.ink()), 1.5));
    p.drawRect(QRectF(QPointF(area.left() + r.x0, area.top() + r.y0),
                      QPointF(area.left() + r.x1, area.top() + r.y1)));
  }
  if (const auto& s = session_.selection()) {
    const scene::Rows& rows = session_.rows();
    if (rows.shows(s->node)) {
      const scene::Viewport view{area.width(), area.height(), session_.time(), session_.scroll()};
      const scene::Row &first = rows.rows[rows.first_row[s->node]],
                       &last = rows.rows[rows.last_row[s->node] - 1];
      const QRectF box(
          QPointF(area.left() + scene::x_of(view, seen.boundaries[s->first]), scene::y_of(view, first.y)),
          QPointF(area.left() + scene::x_of(view, seen.boundaries[s->last]),
                  scene::y_of(view, last.y + last.height)));
      p.setClipRect(area.adjusted(0, 0, 0, 0));
      p.setPen(QPen(colour_of(palette.ink()), 2.5));
      p.drawRect(box);
      p.setClipping(false);
    }
  }
  paint_marked(p, session_, sheet());
  if (drag_from_ && drag_to_) paint_drag(p);
  paint_flags(p);
  paint_badge(p);
  if (hasFocus()) {
    p.setPen(QPen(colour_of(palette.faint()), 1));
    p.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  }
}

// As high as the picture, but for a rectangle that is to be marked.
QRectF Overview::dragged() const {
  const bool all_rows = drag_ != Drag::kMark;
  return QRectF(QPointF(drag_from_->x(), all_rows ? 0 : drag_from_->y()),
                QPointF(drag_to_->x(), all_rows ? sheet().axis.top() : drag_to_->y()))
      .normalized();
}

void Overview::paint_drag(QPainter& p) {
  QColor shade = colour_of(session_.palette().ink());
  shade.setAlpha(50);
  p.fillRect(dragged(), shade);
  if (drag_ != Drag::kZoom) paint_measure(p);
}

void Overview::mark(QPointF from, QPointF to) {
  auto area = marked_between(session_, sheet(), from, to);
  if (!area) return emit session_.said(text_of(area.error().message));
  const QString text = marked_text(*area) + ", " + text_of(scene::range_text(area->time, session_.times()));
  session_.mark(std::move(*area));
  emit session_.said(text);
}

void Overview::paint_measure(QPainter& p) {
  const scene::Palette& palette = session_.palette();
  const QString text = measured_text(drag_from_->x(), drag_to_->x());
  const QFontMetricsF metrics(font());
  QRectF box(0, 0, metrics.horizontalAdvance(text) + 12, metrics.height() + 6);
  box.moveCenter({(drag_from_->x() + drag_to_->x()) / 2, picture_area().top() + metrics.height() * 2});
  box.moveLeft(std::clamp(box.left(), 0.0, std::max(0.0, width() - box.width())));
  p.fillRect(box, colour_of(palette.background()));
  p.setPen(QPen(colour_of(palette.ink()), 1));
  p.drawRect(box);
  p.drawText(box, Qt::AlignCenter, text);
}

void Overview::paint_flags(QPainter& p) {
  const Sheet all = sheet();
  const scene::Viewport view = all.viewport(session_.time(), session_.scroll());
  const QColor ink = colour_of(session_.palette().ink()), cloth(240, 170, 30);
  p.setRenderHint(QPainter::Antialiasing, true);
  for (const Session::Bookmark& b : session_.bookmarks()) {
    const QRectF box = flag_box(all, view, b);
    if (box.left() < all.picture.left() - 1 || box.left() > all.picture.right()) continue;
    p.setPen(QPen(ink, 1.2));
    p.setBrush(cloth);
    p.drawPolygon(
        QPolygonF({QPointF(box.left(), box.top()), QPointF(box.right(), box.top() + kBookmarkFlag / 3),
                   QPointF(box.left(), box.top() + 2 * kBookmarkFlag / 3)}));
    p.drawLine(QPointF(box.left(), box.top()), QPointF(box.left(), box.bottom()));
  }
  p.setBrush(Qt::NoBrush);
  p.setRenderHint(QPainter::Antialiasing, false);
}

// The one that was painted last is on top.
const Session::Bookmark* Overview::flag_at(QPointF at) const {
  const Sheet all = sheet();
  const scene::Viewport view = all.viewport(session_.time(), session_.scroll());
  const auto& flags = session_.bookmarks();
  const auto found = std::find_if(flags.rbegin(), flags.rend(), [&](const Session::Bookmark& b) {
    return flag_box(all, view, b).adjusted(-2, -2, 2, 2).contains(at);
  });
  return found == flags.rend() ? nullptr : &*found;
}

QString Overview::measured_text(double from, double to) const {
  return measured_between(session_, time_at(std::min(from, to)), time_at(std::max(from, to)));
}

void Overview::measure_from_selection() {
  const auto& s = session_.selection();
  if (!s || session_.data().empty())
    return emit session_.said(tr("select a part first: it is measured from its begin"));
  const TimeNs here = session_.data().boundaries[s->first];
  if (!measured_from_) {
    measured_from_ = here;
    return emit session_.said(tr("measured from %1 on: select another part, and press the key again")
                                  .arg(text_of(scene::short_time_text(here, session_.times()))));
  }
  const TimeNs from = *std::exchange(measured_from_, std::nullopt);
  emit session_.said(measured_between(session_, std::min(from, here), std::max(from, here)));
}

// What of the picture is not as one would think: old, held, or of a daemon that is gone.
void Overview::paint_badge(QPainter& p) {
  const scene::Palette& palette = session_.palette();
  const scene::ViewData& seen = session_.data();
  QStringList words;
  if (!session_.there() && !session_.trouble().isEmpty()) words << session_.trouble();
  if (session_.held())
    words << tr("held at %1").arg(text_of(scene::short_time_text(seen.range().to, session_.times())));
  if (session_.waiting() && words.isEmpty() && session_.subject().time) words << tr("computing...");
  if (words.isEmpty()) return;
  const QString text = words.join(", ");
  const QRectF area = picture_area();
  const double width = std::min<double>(fontMetrics().horizontalAdvance(text) + 14, area.width() - 8);
  const QRectF box(area.right() - width - 6, 4, width, fontMetrics().height() + 6);
  p.fillRect(box, colour_of(palette.background()));
  p.setPen(colour_of(palette.ink()));
  p.drawRect(box);
  p.drawText(box, Qt::AlignCenter,
             fontMetrics().elidedText(text, Qt::ElideRight, static_cast<int>(width) - 8));
}

QStringList Overview::mouse() const {
  return {tr("drag over a time range|zoom into it"),
          tr("Ctrl and drag|measure: the time between, and how many slices"),
          tr("Shift and drag|mark a rectangle: states, events and sums are of it, until Escape"),
          tr("click on a flag|go to that bookmark"),
          tr("wheel|zoom in or out in time"),
          tr("Ctrl and wheel|change the height of rows"),
          tr("Shift and wheel, or over the names|scroll the rows"),
          tr("click|select a part, or a name; below, all resources for a bar, a phase or a slice"),
          tr("double click|zoom into the part; on a name: only that node"),
          tr("click on a triangle|fold or unfold"),
          tr("right button|back")};
}

QString Overview::save(const QString& path, const QString& title) {
  return save_picture(path, session_, size(), title);
}

void Overview::resizeEvent(QResizeEvent*) {
  stale_ = true;
}

// What the program tells of a resource at that moment: "in region step", "load = 3", "mark: checkpoint".
QString Overview::annotations(std::uint32_t node, TimeNs time) const {
  const scene::ViewData& seen = session_.data();
  const double pixel = static_cast<double>((session_.time().to - session_.time().from).value) /
                       std::max(1.0, picture_area().width());
  const DurationNs near(static_cast<std::int64_t>(kNearMark * pixel));
  QString out;
  int told = 0;
  for (const std::uint32_t i : scene::annotations_at(seen, node, time, near)) {
    if (told++ == kMostAnnotationsTold) return out + "<br>…";
    const scene::Annotation& a = seen.annotations[i];
    const QString name = text_of(seen.annotation_names[a.name]).toHtmlEscaped();
    using Kind = scene::Annotation::Kind;
    out += "<br>" + (a.kind == Kind::kRegion     ? tr("in region %1").arg(name)
                     : a.kind == Kind::kVariable ? QString("%1 = %2").arg(name).arg(a.value, 0, 'g', 6)
                                                 : tr("mark: %1").arg(name));
  }
  return out;
}

// Who it was waited for, and how long this one did.
QString Overview::collective_text(std::size_t visit) const {
  const scene::ViewData& seen = session_.data();
  const auto index = static_cast<std::uint32_t>(visit);
  const scene::Collective* c = scene::collective_of(session_.collectives(), index);
  if (c == nullptr) return {};
  const QString last = text_of(seen.nodes[seen.visits[c->last].node].path).toHtmlEscaped();
  return "<br>" +
         tr("%1 are in it at once; the last came %2 after the first: %3")
             .arg(c->visits.size())
             .arg(text_of(scene::duration_text(c->last_in - c->first_in)), last) +
         (index == c->last
              ? QString()
              : "<br>" + tr("in it %1 before the last came")
                             .arg(text_of(scene::duration_text(c->last_in - seen.visits[index].begin))));
}

// "/node1/rank6  MPI_Recv  1.23 ms from 12.34 s on", and what was told at `time`.
QString Overview::details(std::size_t visit, TimeNs time) const {
  const scene::ViewData& seen = session_.data();
  const scene::Visit& v = seen.visits[visit];
  const scene::State& state = seen.states[v.state];
  const scene::Look look = session_.palette().look(state.name, state.family);
  QString out = QString("<b>%1</b><br><font color='%2'>&#9632;</font> %3<br>")
                    .arg(text_of(seen.nodes[v.node].path).toHtmlEscaped(), colour_of(look.colour).name(),
                         text_of(state.name).toHtmlEscaped());
  const scene::Times times = session_.times();
  out +=
      tr("%1, from %2 on")
          .arg(text_of(scene::duration_text(v.end - v.begin)),
               times.clock()
                   ? text_of(scene::time_text(v.begin, times))
                   : QString::number(static_cast<double>((v.begin - seen.zero).value) * 1e-9, 'f', 6) + " s");
  if (v.depth > 0) out += "<br>" + tr("inside %n other state(s)", nullptr, static_cast<int>(v.depth));
  if (v.several_calls) out += "<br>" + tr("several calls, one behind the other");
  if (v.begun_before) out += "<br>" + tr("it may have begun before");
  if (v.goes_on) out += "<br>" + tr("it goes on");
  out += collective_text(visit);
  int told = 0;
  for (const std::uint32_t i : scene::messages_of(seen, v)) {
    const scene::Message& m = seen.messages[i];
    if (told++ == kMostMessagesTold) {
      out += "<br>…";
      break;
    }
    const bool sent = m.from == v.node && m.sent == v.begin;
    out += "<br>" + (sent ? tr("sent to %1: %2, tag %3") : tr("got from %1: %2, tag %3"))
                        .arg(text_of(seen.nodes[sent ? m.to : m.from].path).toHtmlEscaped(),
                             QLocale::c().formattedDataSize(
                                 static_cast<qint64>(std::min<std::uint64_t>(m.bytes, INT64_MAX)), 1))
                        .arg(m.tag);
    if (m.arrival_known)
      out += (sent ? tr(", there after %1") : tr(", sent %1 before"))
                 .arg(text_of(scene::duration_text(m.received - m.sent)));
  }
  return out + annotations(v.node, time);
}

QString Overview::details(const scene::Rect& r) const {
  const scene::ViewData& seen = session_.data();
  const scene::LeafRange leaves = scene::leaves_of(seen, session_.rows(), r);
  const scene::Proportions of = scene::proportions(seen, leaves.first, leaves.count, r.first, r.last);
  const scene::Node& n = seen.nodes[r.node];
  QString out = QString("<b>%1</b>").arg(text_of(n.path.empty() ? "/" : n.path).toHtmlEscaped());
  if (leaves.count > 1) out += tr(" (%1 resources)").arg(leaves.count);
  out += "<br>" +
         text_of(scene::range_text({seen.boundaries[r.first], seen.boundaries[r.last]}, session_.times()))
             .toHtmlEscaped();
  if (r.mark != scene::Mark::kNone)
    out += "<br>" + (r.mark == scene::Mark::kDiagonal ? tr("%1 parts, cut at the same times")
                                                      : tr("%1 parts, cut at different times"))
                        .arg(r.parts);
  out += shares_table(session_, seen, of, kMostStatesTold);
  out += tr("gain %1 bits, loss %2 bits").arg(of.gain, 0, 'g', 4).arg(of.loss, 0, 'g', 4);
  if (of.pro_rata) out += "<br><i>" + tr("in proportion: a part reaches beyond this") + "</i>";
  return out;
}

bool Overview::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    lay_out();
    const std::int64_t at = rect_at(help->pos()), call = call_at(help->pos());
    if (const Session::Bookmark* flag = flag_at(help->pos()))
      QToolTip::showText(help->globalPos(),
                         text_of(flag->note.empty() ? "bookmark" : flag->note).toHtmlEscaped() + "<br>" +
                             text_of(flag->node).toHtmlEscaped() + " " +
                             text_of(scene::range_text(flag->time, session_.times())),
                         this);
    else if (call >= 0)
      QToolTip::showText(help->globalPos(), details(static_cast<std::size_t>(call), time_at(help->pos().x())),
                         this);
    else if (at >= 0)
      QToolTip::showText(help->globalPos(), details(layout_.rects[static_cast<std::size_t>(at)]), this);
    else if (const auto below = below_at(help->pos()))
      QToolTip::showText(help->globalPos(), below_text(session_, bars_, *below), this);
    else
      QToolTip::hideText();
    return true;
  }
  return QWidget::event(event);
}

void Overview::mousePressEvent(QMouseEvent* event) {
  setFocus();
  const QPointF at = event->position();
  if (event->button() == Qt::BackButton || event->button() == Qt::RightButton) return session_.back();
  if (event->button() == Qt::ForwardButton) return session_.forward();
  if (event->button() != Qt::LeftButton || session_.data().empty()) return;
  if (sheet().labels.contains(at)) {
    const scene::Scroll& scroll = session_.scroll();
    const QRectF area = sheet().labels;
    // The bracket of a node above, or the row.
    const scene::Rows& rows = session_.rows();
    for (auto r = rows.spans.rbegin(); r != rows.spans.rend(); ++r)
      if (fold_mark(area, *r, scroll).contains(at)) return session_.toggle_fold(r->node);
    const double y = scene::row_units_at({area.width(), area.height(), session_.time(), scroll}, at.y());
    const std::int64_t row = scene::row_at(rows, y);
    if (row < 0) return;
    const scene::Row& r = rows.rows[static_cast<std::size_t>(row)];
    if (r.folded) return session_.toggle_fold(r.node);
    session_.select(Session::Selection{r.node, 0, static_cast<std::uint32_t>(session_.data().slices())});
    return;
  }
  if (const Session::Bookmark* flag = flag_at(at)) {
    const Session::Bookmark to = *flag;
    return session_.go_to(to.time.from, to.time.to, to.node);
  }
  drag_ = event->modifiers() & Qt::ControlModifier ? Drag::kMeasure
          : event->modifiers() & Qt::ShiftModifier ? Drag::kMark
                                                   : Drag::kZoom;
  if (at.x() >= picture_area().left()) drag_from_ = at;
}

void Overview::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (drag_from_) {
    const QRectF a = picture_area();
    const bool far = drag_ == Drag::kMark && std::abs(at.y() - drag_from_->y()) >= kLeastDrag;
    if (far || std::abs(at.x() - drag_from_->x()) >= kLeastDrag)
      drag_to_ = QPointF(std::clamp(at.x(), a.left(), a.right()), std::clamp(at.y(), a.top(), a.bottom()));
    return update();
  }
  mouse_ = at;
  lay_out();
  const std::int64_t hover = rect_at(at);
  if (hover != hover_) {
    hover_ = hover;
    update();
  }
}

void Overview::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !drag_from_) return;
  const auto from = std::exchange(drag_from_, std::nullopt), to = std::exchange(drag_to_, std::nullopt);
  update();
  if (to && drag_ == Drag::kMark) return mark(*from, *to);
  if (to && drag_ == Drag::kMeasure) return emit session_.said(measured_text(from->x(), to->x()));
  if (to)
    return session_.zoom_to({time_at(std::min(from->x(), to->x())), time_at(std::max(from->x(), to->x()))});
  lay_out();
  const std::int64_t at = rect_at(*from);
  if (at < 0) return select_below(*from);
  const scene::Rect& r = layout_.rects[static_cast<std::size_t>(at)];
  session_.select(Session::Selection{r.node, r.first, r.last});
}

// A bar or a phase: all resources, for as long as it lasts; the axis: the slice there.
void Overview::select_below(QPointF at) {
  const auto below = below_at(at);
  const scene::ViewData& seen = session_.data();
  if (!below || below->time.to < seen.range().from || below->time.from >= seen.range().to)
    return session_.select(std::nullopt);
  const TimeNs last = std::max(below->time.from, TimeNs(below->time.to.value - 1));
  session_.select(Session::Selection{0, static_cast<std::uint32_t>(seen.slice_at(below->time.from)),
                                     static_cast<std::uint32_t>(seen.slice_at(last)) + 1});
}

void Overview::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || session_.data().empty()) return;
  drag_from_.reset();
  lay_out();
  const QPointF at = event->position();
  if (sheet().labels.contains(at)) {
    const double y = scene::row_units_at(sheet().viewport(session_.time(), session_.scroll()), at.y());
    const std::int64_t row = scene::row_at(session_.rows(), y);
    if (row >= 0) session_.into(session_.rows().rows[static_cast<std::size_t>(row)].node);
    return;
  }
  const std::int64_t hit = rect_at(at);
  const auto below = below_at(at);
  if (hit < 0 && below && below->time.from < below->time.to) return session_.zoom_to(below->time);
  if (hit < 0) return;
  const scene::Rect& r = layout_.rects[static_cast<std::size_t>(hit)];
  session_.into({r.node, r.first, r.last});
}

void Overview::wheelEvent(QWheelEvent* event) {
  if (session_.data().empty()) return;
  const double notches = event->angleDelta().y() / 120.0 + event->angleDelta().x() / 120.0;
  const QRectF a = picture_area();
  const QPointF at = event->position();
  const scene::Scroll scroll = session_.scroll();
  const double height = scroll.bottom - scroll.top;
  if (event->modifiers() & Qt::ControlModifier) {
    const double y = scene::row_units_at({a.width(), a.height(), session_.time(), scroll}, at.y());
    session_.set_scroll(scene::zoomed(session_.rows(), scroll, std::pow(kWheel, notches), y));
  } else if ((event->modifiers() & Qt::ShiftModifier) || at.x() < a.left()) {
    const double by = -notches * height / 8;
    session_.set_scroll({scroll.top + by, scroll.bottom + by});
  } else {
    session_.zoom_by(std::pow(kWheel, notches), time_at(at.x()));
  }
  event->accept();
}

void Overview::leaveEvent(QEvent*) {
  mouse_.reset();
  hover_ = -1;
  update();
}

}  // namespace margay::viewer
