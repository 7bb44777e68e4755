#include "phase_models.h"

#include <QPainter>
#include <QPixmap>
#include <cmath>

#include "margay/text/text.h"
#include "paint.h"
#include "patterns.h"

namespace margay::viewer {
namespace {

constexpr int kBoxSide = 12;  // pixels, of a colour's box

// As `margay status` tells it.
QString status_duration(DurationNs d) {
  return text_of(text::duration_text(d.value));
}

QPixmap empty_box() {
  QPixmap box(2 * kBoxSide, 2 * kBoxSide);
  box.setDevicePixelRatio(2);
  box.fill(Qt::transparent);
  return box;
}

QPixmap phase_box(const std::string& name, const scene::Palette& palette) {
  QPixmap box = empty_box();
  QPainter p(&box);
  p.fillRect(QRectF(0, 0, kBoxSide, kBoxSide), phase_colour(name, palette));
  p.setPen(colour_of(palette.faint()));
  p.drawRect(QRectF(0.5, 0.5, kBoxSide - 1, kBoxSide - 1));
  return box;
}

QVariant head(const char* const* texts, const char* const* hints, int columns, int section,
              Qt::Orientation orientation, int role) {
  if (orientation != Qt::Horizontal || section < 0 || section >= columns) return {};
  if (role == Qt::ToolTipRole) return QObject::tr(hints[section]);
  return role == Qt::DisplayRole ? QVariant(QObject::tr(texts[section])) : QVariant();
}

// "+12 %", "0 %".
QString against_text(double share) {
  const QString text = QString::number(std::abs(100 * share), 'f', 0);
  if (text == "0") return "0 %";
  return (share > 0 ? QString("+") : QString(QChar(0x2212))) + text + " %";
}

constexpr Qt::Alignment kRight = Qt::AlignRight | Qt::AlignVCenter;

}  // namespace

QPixmap state_box(const scene::State& state, const scene::Palette& palette) {
  QPixmap box = empty_box();
  QPainter p(&box);
  fill_box(p, QRectF(0, 0, kBoxSide, kBoxSide), palette.look(state.name, state.family));
  return box;
}

QString percent_text(double share) {
  const double x = std::abs(100 * share);
  if (x > 0 && x < 0.05) return "< 0.1 %";
  return (share < 0 ? QString(QChar(0x2212)) : QString()) +
         QString::number(x, 'f', x > 0 && x < 9.95 ? 1 : 0) + " %";
}

QString phase_name_of(const std::string& name, const std::string& label) {
  const QString shown = name.empty() ? QString("?") : text_of(name);
  return label.empty() ? shown : shown + " (" + text_of(label) + ")";
}

QString stretch_name_of(const scene::ListedStretch& s) {
  return phase_name_of(s.name, s.label) + ", " + text_of(text::ordinal(s.occurrence));
}

void StretchModel::set(std::vector<StretchRow> rows, const scene::Times& times) {
  const bool moved = std::exchange(times_, times) != times;
  set_rows(std::move(rows));
  if (moved && rowCount() > 0) emit dataChanged(index(0, kBegin), index(rowCount() - 1, kEnd));
}

// What it is sorted by.
QVariant StretchModel::number(const scene::ListedStretch& s, int column) const {
  switch (column) {
    case kTimes:
      return s.occurrence;
    case kBegin:
      return static_cast<qlonglong>(s.time.from.value);
    case kEnd:
      return static_cast<qlonglong>(s.time.to.value);
    case kLasted:
      return static_cast<qlonglong>(s.length().value);
    case kAgainst:
      return s.against_usual ? *s.against_usual : -2.0;  // what is not known is less than all
    default:
      return {};
  }
}

QString StretchModel::text(const StretchRow& row, int column) const {
  const scene::ListedStretch& s = row.stretch;
  switch (column) {
    case kPhase:
      return phase_name_of(s.name, s.label);
    case kTimes:
      return tr("%1 of %2").arg(text_of(text::ordinal(s.occurrence))).arg(s.of);
    case kBegin:
      return moment(s.time.from);
    case kEnd:
      return s.goes_on ? tr("goes on") : moment(s.time.to);
    case kLasted:
      return status_duration(s.length()) + (s.goes_on ? "+" : "");
    case kAgainst:
      return s.against_usual ? against_text(*s.against_usual) : QString();
    default:
      return row.mostly;
  }
}

QString StretchModel::moment(TimeNs time) const {
  return times_.clock() ? text_of(scene::short_time_text(time, times_))
                        : status_duration(DurationNs(text::minus(time.value, times_.zero.value)));
}

QVariant StretchModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const StretchRow& row = at(index.row());
  const int column = index.column();
  if (role == kNameRole) return text_of(row.stretch.name);
  if (role == Qt::DecorationRole && column == kPhase) return phase_box(row.stretch.name, session_.palette());
  if (role == Qt::TextAlignmentRole && column > kPhase && column < kMostly) return QVariant(kRight);
  if (role == Qt::ToolTipRole) return stretch_name_of(row.stretch);
  if (role == Qt::EditRole && column != kPhase && column != kMostly) return number(row.stretch, column);
  if (role == Qt::DisplayRole || role == Qt::EditRole) return text(row, column);
  return {};
}

QVariant StretchModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTexts[kColumns] = {
      QT_TR_NOOP("phase"),  QT_TR_NOOP("time"),          QT_TR_NOOP("begin"), QT_TR_NOOP("end"),
      QT_TR_NOOP("lasted"), QT_TR_NOOP("against usual"), QT_TR_NOOP("mostly")};
  static constexpr const char* kHints[kColumns] = {
      QT_TR_NOOP("one letter for all that look alike; what the program calls it"),
      QT_TR_NOOP("the how manieth of how many times that the phase has come"),
      QT_TR_NOOP("since the run's begin, or by the wall clock (W)"),
      QT_TR_NOOP("since the run's begin, or by the wall clock (W)"),
      QT_TR_NOOP("+: it still goes on"),
      QT_TR_NOOP("how much longer or shorter than the phase usually lasts"),
      QT_TR_NOOP("what has most of it, where it is in the picture or was chosen; of a long phase the short "
                 "ones that it is made of")};
  return head(kTexts, kHints, kColumns, section, orientation, role);
}

void PhaseModel::set(std::vector<scene::ListedPhase> phases) {
  set_rows(std::move(phases));
}

QVariant PhaseModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const scene::ListedPhase& phase = at(index.row());
  const int column = index.column();
  if (role == Qt::DecorationRole && column == kPhase) return phase_box(phase.name, session_.palette());
  if (role == Qt::TextAlignmentRole && column > kPhase) return QVariant(kRight);
  if (role != Qt::DisplayRole && role != Qt::EditRole) return {};
  const auto duration = [&](const std::optional<DurationNs>& d) -> QVariant {
    if (role == Qt::EditRole) return static_cast<qlonglong>(d ? d->value : -1);
    return d ? status_duration(*d) : QString();
  };
  switch (column) {
    case kPhase:
      return phase_name_of(phase.name, phase.label);
    case kStretches:
      return phase.stretches;
    case kTotal:
      return duration(phase.total);
    case kShare:
      return role == Qt::EditRole ? QVariant(phase.share) : QVariant(percent_text(phase.share));
    case kUsual:
      return duration(phase.usual);
    case kShortest:
      return duration(phase.shortest);
    default:
      return duration(phase.longest);
  }
}

QVariant PhaseModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTexts[kColumns] = {
      QT_TR_NOOP("phase"), QT_TR_NOOP("stretches"), QT_TR_NOOP("time of all"), QT_TR_NOOP("share"),
      QT_TR_NOOP("usual"), QT_TR_NOOP("shortest"),  QT_TR_NOOP("longest")};
  static constexpr const char* kHints[kColumns] = {
      QT_TR_NOOP("a click lists only its stretches; Escape lists all again"),
      QT_TR_NOOP("that are listed, also the one that goes on"),
      QT_TR_NOOP("of its stretches that are listed"),
      QT_TR_NOOP("of the time of all stretches that are listed, of phases in slices as long"),
      QT_TR_NOOP("how long it lasts: the median of the newest, without what alerts explain; as margay status "
                 "has it"),
      QT_TR_NOOP("of the stretches that are over"),
      QT_TR_NOOP("of the stretches that are over")};
  return head(kTexts, kHints, kColumns, section, orientation, role);
}

void DifferenceModel::set(const std::vector<scene::StateDifference>& differences, const QString& first,
                          const QString& second) {
  const bool renamed = first_ != first || second_ != second;
  first_ = first, second_ = second;
  std::vector<DifferenceRow> rows;
  for (const scene::StateDifference& d : differences) rows.push_back({d});
  set_rows(std::move(rows));
  if (!renamed) return;
  emit headerDataChanged(Qt::Horizontal, 0, kColumns - 1);
  if (rowCount() > 0) emit dataChanged(index(0, kSecond), index(rowCount() - 1, kDifference));
}

QVariant DifferenceModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const scene::StateDifference& d = at(index.row()).of;
  const int column = index.column();
  if (role == Qt::DecorationRole && column == kState) return state_box(d.state, session_.palette());
  if (role == Qt::TextAlignmentRole && column > kState) return QVariant(kRight);
  if (role != Qt::DisplayRole && role != Qt::EditRole) return {};
  if (column == kState) return text_of(d.state.name);
  if (column > kFirst && second_.isEmpty()) return {};
  // Of the difference what is more, whichever way: it is the largest that one looks for.
  const double share = column == kFirst ? d.first : column == kSecond ? d.second : d.more();
  if (role == Qt::EditRole) return column == kDifference ? std::abs(share) : share;
  return (column == kDifference && share >= 0.0005 ? "+" : "") + percent_text(share);
}

QVariant DifferenceModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  if (role == Qt::ToolTipRole)
    return section == kState        ? QVariant()
           : section == kDifference ? QVariant(tr("in percent of the time of all resources"))
                                    : QVariant(tr("of the time of all resources"));
  if (role != Qt::DisplayRole) return {};
  return section == kState    ? tr("state")
         : section == kFirst  ? first_
         : section == kSecond ? second_
                              : tr("difference");
}

}  // namespace margay::viewer
