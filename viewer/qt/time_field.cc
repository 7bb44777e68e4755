#include "time_field.h"

#include <QKeyEvent>

#include "margay/scene/times.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr int kLongestTyped = 200;
constexpr int kFieldWidth = 210;  // "10 min 12.5 s..12 min 30 s" has room

}  // namespace

TimeField::TimeField(Session& session, QWidget* parent) : QLineEdit(parent), session_(session) {
  setMaxLength(kLongestTyped);
  setFixedWidth(kFieldWidth);
  setAccessibleName(tr("time that is seen"));
  setPlaceholderText(tr("time"));
  const auto shown = [this] { show_seen(); };
  connect(&session_, &Session::data_changed, this, shown);
  connect(&session_, &Session::view_changed, this, shown);
  connect(&session_, &Session::report_changed, this, shown);
  connect(this, &QLineEdit::returnPressed, this, &TimeField::go);
  show_seen();
}

// What somebody types is not written over.
void TimeField::show_seen() {
  const scene::Times times = session_.times();
  if (!hasFocus()) {
    const QString seen =
        session_.data().empty() ? QString() : text_of(scene::typed_text(session_.time(), times));
    if (seen != text()) {
      setText(seen);
      setCursorPosition(0);
    }
  }
  const QString tip = tr("the time that is seen. Type another: 34.5..36, 34.5+10 s, +10 s (the first), -10 s "
                         "(the last), 34.5 (as much as is seen around it), all") +
                      (times.utc_offset_s ? tr(", 12:38:05..12:39") : QString());
  if (tip != toolTip()) setToolTip(tip);
}

void TimeField::go() {
  if (session_.data().empty()) return emit said(tr("nothing has been seen of this run yet"));
  const auto range =
      scene::parse_time_range(text().toStdString(), session_.time(), session_.bounds(), session_.times());
  if (!range) {
    selectAll();
    return emit said(text_of(range.error().message));
  }
  session_.zoom_to(*range);
  emit left();
}

void TimeField::keyPressEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Escape) return QLineEdit::keyPressEvent(event);
  emit left();
}

void TimeField::focusOutEvent(QFocusEvent* event) {
  QLineEdit::focusOutEvent(event);
  // A menu, or another window: whoever comes back goes on.
  if (event->reason() != Qt::PopupFocusReason && event->reason() != Qt::ActiveWindowFocusReason) show_seen();
}

}  // namespace margay::viewer
