#include "evidence_models.h"

#include <QFont>
#include <cmath>

#include "margay/text/csv.h"
#include "margay/text/text.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr Qt::Alignment kNumber = Qt::AlignRight | Qt::AlignVCenter;

QString signed_text(double sign, const QString& text) {
  return (sign > 0 ? "+" : "") + text;
}

// Of rows whose shares come from other people's programs: names are made valid where they are read.
QString shares_words(const std::vector<std::pair<scene::State, double>>& shares) {
  return shares.empty() ? QString() : text_of(scene::largest_shares(shares));
}

}  // namespace

void FactModel::set(const std::vector<terminal::AlertFact>& facts) {
  std::vector<FactRow> rows;
  for (const terminal::AlertFact& f : facts) rows.push_back({static_cast<int>(rows.size()), f});
  set_rows(std::move(rows));
}

QVariant FactModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const terminal::AlertFact& f = at(index.row()).fact;
  if (role == Qt::TextAlignmentRole)
    return QVariant((index.column() == kName ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignTop);
  if (role == Qt::FontRole && index.column() == kName) {
    QFont font;
    font.setItalic(true);
    return font;
  }
  if (role != Qt::DisplayRole && role != Qt::EditRole) return {};
  return text_of(index.column() == kName ? f.name : f.value);
}

QVariant FactModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == kName ? tr("what") : tr("is");
}

QVariant ChangeModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const ChangeRow& row = at(index.row());
  const int column = index.column();
  if (role == Qt::DecorationRole && column == kState) return state_box(row.state, session_.palette());
  if (role == Qt::TextAlignmentRole && column > kState) return QVariant(kNumber);
  if (role == Qt::EditRole)
    return column == kState      ? QVariant(text_of(row.state.name))
           : column == kExpected ? QVariant(row.expected)
           : column == kObserved ? QVariant(row.observed)
                                 : QVariant(std::abs(row.more()));
  if (role != Qt::DisplayRole) return {};
  switch (column) {
    case kState:
      return text_of(row.state.name);
    case kExpected:
      return percent_text(row.expected);
    case kObserved:
      return percent_text(row.observed);
    case kDifference:
      return signed_text(row.more(), percent_text(row.more()));
    default: {
      const double ns = std::abs(row.more()) * static_cast<double>(row.length.value);
      const QString by = text_of(text::short_duration_text(static_cast<std::int64_t>(std::min(ns, 9e18))));
      return (row.more() < 0 ? QString(QChar(0x2212)) : QString("+")) + by;
    }
  }
}

QVariant ChangeModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTexts[kColumns] = {QT_TR_NOOP("state"), QT_TR_NOOP("usual"),
                                                   QT_TR_NOOP("observed"), QT_TR_NOOP("difference"),
                                                   QT_TR_NOOP("in time")};
  static constexpr const char* kHints[kColumns] = {
      QT_TR_NOOP("that rose or fell"),
      QT_TR_NOOP("its share of the time of those who are affected, in this phase"),
      QT_TR_NOOP("its share of their time when the alert was raised, or reported last"),
      QT_TR_NOOP("in percent of their time"),
      QT_TR_NOOP("the difference for as long as the alert lasts, of each of them on average")};
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  if (role == Qt::ToolTipRole) return tr(kHints[section]);
  return role == Qt::DisplayRole ? QVariant(tr(kTexts[section])) : QVariant();
}

void SliceModel::set(const std::vector<scene::EvidenceSlice>& slices, const QString& cause,
                     const scene::Times& times) {
  const bool moved = std::exchange(times_, times) != times;
  const bool renamed = std::exchange(cause_, cause) != cause;
  std::vector<SliceRow> rows;
  for (const scene::EvidenceSlice& s : slices) rows.push_back({s});
  set_rows(std::move(rows));
  if (renamed) emit headerDataChanged(Qt::Horizontal, kCause, kCause);
  if (moved && rowCount() > 0) emit dataChanged(index(0, kFrom), index(rowCount() - 1, kFrom));
}

QVariant SliceModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const scene::EvidenceSlice& slice = at(index.row()).slice;
  const int column = index.column();
  const auto& shares = column == kCause ? slice.cause : slice.all;
  if (role == Qt::DecorationRole && column >= kCause && !shares.empty())
    return state_box(shares[0].first, session_.palette());
  if (role == Qt::TextAlignmentRole && column == kFrom) return QVariant(kNumber);
  if (role == Qt::FontRole && slice.onset) {
    QFont font;
    font.setBold(true);
    return font;
  }
  if (role == Qt::EditRole && column == kFrom) return static_cast<qlonglong>(slice.time.from.value);
  if (role == Qt::ToolTipRole && column >= kCause) return shares_words(shares).toHtmlEscaped();
  if (role != Qt::DisplayRole && role != Qt::EditRole) return {};
  switch (column) {
    case kFrom:
      return times_.clock() ? text_of(scene::time_text(slice.time.from, times_))
                            : text_of(scene::short_time_text(slice.time.from, times_));
    case kOnset:
      return slice.onset ? tr("onset") : QString();
    default:
      return shares_words(shares);
  }
}

QVariant SliceModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  if (role == Qt::ToolTipRole)
    return section == kFrom    ? tr("when the slice begins")
           : section == kCause ? tr("shares of the time of who is blamed, or of the node that covers them")
           : section == kAll   ? tr("shares of the time of all resources, also of these")
                               : QVariant();
  if (role != Qt::DisplayRole) return {};
  return section == kFrom    ? tr("slice from")
         : section == kOnset ? QString()
         : section == kCause ? cause_
                             : tr("all");
}

std::string csv_of_model(const QAbstractItemModel& model) {
  std::string out;
  const auto line = [&](const auto& cell) {
    for (int c = 0; c < model.columnCount(); ++c)
      out += (c > 0 ? "," : "") + text::csv_field(cell(c).toString().toStdString());
    out += "\r\n";
  };
  line([&](int c) { return model.headerData(c, Qt::Horizontal); });
  for (int row = 0; row < model.rowCount(); ++row) line([&](int c) { return model.index(row, c).data(); });
  return out;
}

}  // namespace margay::viewer
