#include "event_filter_line.h"

#include <QHBoxLayout>
#include <QRegularExpression>

#include "paint.h"

namespace margay::viewer {
namespace {

constexpr int kTyping = 400;       // ms without a key until it is read
constexpr int kLongestName = 100;  // characters; a question has room for so much of a pattern

}  // namespace

QLineEdit* EventFilterLine::field(const QString& head, const QString& tip, int stretch) {
  auto* edit = new QLineEdit(this);
  edit->setPlaceholderText(head);
  edit->setAccessibleName(tr("only events whose %1 is").arg(head));
  edit->setToolTip(tip);
  edit->setClearButtonEnabled(true);
  edit->setMaxLength(kLongestName);
  connect(edit, &QLineEdit::textChanged, &typed_, qOverload<>(&QTimer::start));
  connect(edit, &QLineEdit::returnPressed, this, &EventFilterLine::apply);
  qobject_cast<QHBoxLayout*>(layout())->addWidget(edit, stretch);
  return edit;
}

EventFilterLine::EventFilterLine(QWidget* parent) : QWidget(parent) {
  auto* line = new QHBoxLayout(this);
  line->setContentsMargins(4, 4, 4, 2);
  line->setSpacing(4);
  typed_.setSingleShot(true);
  typed_.setInterval(kTyping);
  connect(&typed_, &QTimer::timeout, this, &EventFilterLine::apply);
  resource_ =
      field(tr("resource"), tr("text in the path of the resource, or a pattern: /host1/*, *rank?"), 3);
  name_ = field(tr("state"), tr("text in the name, or a pattern: MPI_*, MPI_?send"), 3);
  duration_ = field(tr("duration"), tr("10 ms: that or longer; ..1 s: at most; 10 ms..1 s: between"), 2);
  partner_ = field(tr("partner"), tr("rank of the other side of a message: 3"), 2);
  bytes_ = field(tr("bytes"), tr("4 KiB: that or more; ..1 MiB: at most; 4 KiB..1 MiB: between"), 2);
  match_ = field(tr("regular expression"),
                 tr("found in the resource's path, a space and the name: rank(3|11) MPI_(Send|Recv)$"), 4);
  order_ = new QComboBox(this);
  order_->addItems({tr("by time"), tr("longest first")});
  order_->setAccessibleName(tr("order of the events"));
  order_->setToolTip(tr("in order of time, or the longest %1 first").arg(scene::EventPages::kMostLongest));
  line->addWidget(order_);
  connect(order_, &QComboBox::currentIndexChanged, this, &EventFilterLine::changed);
}

void EventFilterLine::apply() {
  typed_.stop();
  scene::EventFilter now;
  trouble_.clear();
  const auto text = [](const QLineEdit* edit) { return edit->text().trimmed().toStdString(); };
  const auto mark = [this](QLineEdit* edit, const std::string& why) {
    edit->setStyleSheet(why.empty() ? QString() : QString("QLineEdit { border: 1px solid #d03030; }"));
    if (!why.empty() && trouble_.isEmpty()) trouble_ = edit->placeholderText() + ": " + text_of(why);
  };
  now.resource = text(resource_), now.name = text(name_), now.match = text(match_);
  const auto durations = scene::parse_durations(text(duration_));
  mark(duration_, durations ? "" : durations.error().message);
  if (durations) now.least = durations->least, now.most = durations->most;
  const auto bytes = scene::parse_bytes(text(bytes_));
  mark(bytes_, bytes ? "" : bytes.error().message);
  if (bytes) now.least_bytes = bytes->least, now.most_bytes = bytes->most;
  const auto partner = scene::parse_partner(text(partner_));
  mark(partner_, partner ? "" : partner.error().message);
  if (partner) now.peer = *partner;
  // The daemon has the last word; what is open while somebody types need not go there.
  const QRegularExpression expression(match_->text());
  mark(match_, expression.isValid() ? "" : expression.errorString().toStdString());
  if (trouble_.isEmpty()) filter_ = std::move(now);
  emit changed();
}

}  // namespace margay::viewer
