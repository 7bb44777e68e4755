#include "models.h"

#include <QColor>
#include <QFont>
#include <QPainter>
#include <QPixmap>
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>
#include <utility>

#include "margay/base/text.h"
#include "margay/scene/time_axis.h"
#include "paint.h"
#include "patterns.h"

namespace margay::viewer {

void AlertModel::set(std::vector<terminal::AlertView> now, const scene::Times& times) {
  times_ = times;
  std::unordered_set<std::string> stay;
  for (const auto& a : now) stay.insert(a.id);
  for (int row = rowCount() - 1; row >= 0; --row) {
    if (stay.contains(at(row).id)) continue;
    beginRemoveRows({}, row, row);
    alerts_.erase(alerts_.begin() + row);
    endRemoveRows();
  }
  // What is left are alerts of the new list, maybe in another order.
  for (int row = 0; row < static_cast<int>(now.size()); ++row) {
    terminal::AlertView& next = now[static_cast<std::size_t>(row)];
    const auto was = std::find_if(alerts_.begin() + row, alerts_.end(),
                                  [&](const terminal::AlertView& a) { return a.id == next.id; });
    const auto from = static_cast<int>(was - alerts_.begin());
    if (was == alerts_.end()) {
      beginInsertRows({}, row, row);
      alerts_.insert(alerts_.begin() + row, std::move(next));
      endInsertRows();
      continue;
    }
    if (from != row) {
      beginMoveRows({}, from, from, {}, row);
      std::rotate(alerts_.begin() + row, alerts_.begin() + from, alerts_.begin() + from + 1);
      endMoveRows();
    }
    alerts_[static_cast<std::size_t>(row)] = std::move(next);
  }
  if (!alerts_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
}

std::string AlertModel::node_of(int row) const {
  return at(row).place();
}

int AlertModel::firing() const {
  int n = 0;
  for (const auto& a : alerts_) n += a.firing;
  return n;
}

int AlertModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(alerts_.size());
}
int AlertModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant AlertModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const terminal::AlertView& a = at(index.row());
  if (role == Qt::ToolTipRole)
    return text_of(a.sentence + (a.details.empty() ? "" : "\n" + a.details) + "\n" + a.id);
  if (role == Qt::FontRole && a.firing && !a.acknowledged) {
    QFont bold;
    bold.setBold(true);
    return bold;
  }
  if (role == Qt::TextAlignmentRole && (index.column() == kOnset || index.column() == kScore))
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  if (role != Qt::DisplayRole && role != Qt::EditRole) return {};
  switch (index.column()) {
    case kState:
      return text_of((a.beside.empty() ? "" : a.beside + ", ") +
                     (a.firing ? a.acknowledged ? "acknowledged" : "firing" : "resolved") +
                     (a.silenced_by.empty() ? "" : ", silenced"));
    case kOnset:
      if (role == Qt::EditRole) return static_cast<qlonglong>(a.onset_ns);
      return text_of(scene::short_time_text(TimeNs(a.onset_ns), times_));
    case kNode:
      return text_of(a.where);
    case kScore:
      return role == Qt::EditRole ? QVariant(a.score_bits) : QVariant(QString::number(a.score_bits, 'g', 3));
    case kSentence:
      return text_of(a.sentence);
    default:
      return {};
  }
}

QVariant AlertModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
    case kState:
      return tr("state");
    case kOnset:
      return tr("since");
    case kNode:
      return tr("where");
    case kScore:
      return tr("bits");
    case kSentence:
      return tr("what");
    default:
      return {};
  }
}

namespace {

constexpr int kBox = 14;  // pixels, of a colour's box

// As the picture has it: plain, or hatched where nobody was there or nothing is known.
QPixmap box_of(const scene::Look& look) {
  QPixmap box(2 * kBox, 2 * kBox);
  box.setDevicePixelRatio(2);
  box.fill(Qt::transparent);
  QPainter p(&box);
  fill_box(p, QRectF(0, 0, kBox, kBox), look);
  p.setPen(colour_of(look.colour));
  p.drawRect(QRectF(0.5, 0.5, kBox - 1, kBox - 1));
  return box;
}

// Room is short: a tenth of a percent is told where it counts.
QString percent(double share, const char* least = "< 0.1") {
  const double x = 100 * share;
  if (x <= 0) return "0";
  if (x < 0.05) return least;
  return QString::number(x, 'f', x < 9.95 ? 1 : 0);
}

}  // namespace

void StatisticsModel::set(scene::Statistics statistics, const scene::ViewData& data,
                          const scene::Palette& palette, const std::vector<scene::State>& known,
                          const std::vector<std::string>& chosen, const wire::StateTerms& terms) {
  std::map<std::string, int, std::less<>> of;
  for (std::size_t i = 0; i < statistics.rows.size(); ++i)
    of.emplace(data.states[statistics.rows[i].state].name, static_cast<int>(i));
  std::vector<Row> now;
  for (const scene::State& s : known) {
    const auto found = of.find(s.name);
    now.push_back({s, palette.look(s.name, s.family), found == of.end() ? -1 : found->second});
    if (found != of.end()) of.erase(found);
  }
  for (const std::uint32_t i : scene::states_in_order(data)) {
    const scene::State& s = data.states[i];
    if (const auto left = of.find(s.name); left != of.end())
      now.push_back({s, palette.look(s.name, s.family), left->second});
  }
  const bool same = std::equal(now.begin(), now.end(), rows_.begin(), rows_.end(),
                               [](const Row& a, const Row& b) { return a.state.name == b.state.name; });
  if (!same) beginResetModel();
  statistics_ = std::move(statistics);
  rows_ = std::move(now);
  chosen_ = {chosen.begin(), chosen.end()};
  terms_ = terms;
  unit_ = data.unit;
  const bool added_up = std::exchange(adds_up_, scene::measure_kind(data.question.measure()).adds_up);
  if (!same)
    endResetModel();
  else if (!rows_.empty())
    emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
  if (added_up != adds_up_) emit headerDataChanged(Qt::Horizontal, kTotal, kTotal);
}

bool StatisticsModel::shown(int row) const {
  return (chosen_.empty() || chosen_.contains(state(row).name)) && !left_out_by_term(row);
}

bool StatisticsModel::left_out_by_term(int row) const {
  return !terms_.shows(state(row).name, state(row).family);
}

std::optional<std::vector<std::string>> StatisticsModel::with(int row, bool shown) const {
  std::vector<std::string> out;
  bool all = true;
  for (int r = 0; r < rowCount(); ++r) {
    if (!state(r).known() || left_out_by_term(r)) continue;
    const bool in = r == row ? shown : this->shown(r);
    if (in) out.push_back(state(r).name);
    all = all && in;
  }
  if (out.empty()) return std::nullopt;
  if (all) out.clear();
  return out;
}

int StatisticsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}
int StatisticsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

Qt::ItemFlags StatisticsModel::flags(const QModelIndex& index) const {
  const Qt::ItemFlags usual = QAbstractTableModel::flags(index);
  const bool box =
      index.isValid() && index.column() == kName && index.row() < rowCount() && state(index.row()).known();
  return box ? usual | Qt::ItemIsUserCheckable : usual;
}

QVariant StatisticsModel::number(const Row& row, int column, bool exactly) const {
  if (row.of < 0) return exactly ? QVariant(column == kLeaves ? QVariant(0ULL) : QVariant(0.0)) : QVariant();
  const scene::StateRow& r = statistics_.rows[static_cast<std::size_t>(row.of)];
  switch (column) {
    case kShare:
      return exactly ? QVariant(r.share) : QVariant(percent(r.share) + " %");
    case kTotal:
      if (exactly) return r.total;
      if (unit_.empty())
        return text_of(scene::duration_text(DurationNs(static_cast<std::int64_t>(r.total * 1e9))));
      return text_of(scene::amount_text(unit_, r.total));
    case kLeaves:
      return static_cast<qulonglong>(r.mode_leaves);
    case kRange:
      if (exactly) return r.most;
      if (r.least == r.most) return percent(r.most) + " %";
      return percent(r.least, "0") + "–" + percent(r.most, "0.1") + " %";
    default:
      return {};
  }
}

QVariant StatisticsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  const int column = index.column();
  if (role == Qt::DecorationRole && column == kColour) return box_of(row.look);
  if (role == Qt::CheckStateRole && column == kName && row.state.known())
    return shown(index.row()) ? Qt::Checked : Qt::Unchecked;
  if (role == Qt::TextAlignmentRole && column > kName) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  if (role == Qt::ToolTipRole) {
    if (column == kColour) return tr("a click changes the colour of %1").arg(text_of(row.state.name));
    if (!shown(index.row()) && row.state.known())
      return tr("%1 is not shown (its box is not checked)").arg(text_of(row.state.name));
    return text_of(row.state.name + " (" + std::string(scene::family_name(row.state.family)) + ")");
  }
  if (role == Qt::AccessibleTextRole && column == kColour)
    return tr("colour of %1").arg(text_of(row.state.name));
  if (role != Qt::DisplayRole && role != Qt::EditRole) return {};
  if (column == kName) return text_of(row.state.name);
  if (column == kColour) return role == Qt::EditRole ? QVariant(index.row()) : QVariant();
  return number(row, column, role == Qt::EditRole);
}

bool StatisticsModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::CheckStateRole || !(flags(index) & Qt::ItemIsUserCheckable)) return false;
  emit wished(index.row(), value.toInt() == Qt::Checked);
  return true;
}

QVariant StatisticsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  struct Head {
    const char* text;
    const char* hint;
  };
  static constexpr Head kHeads[kColumns] = {
      {"", QT_TR_NOOP("sorts by kind of state")},
      {QT_TR_NOOP("state"),
       QT_TR_NOOP("states that are checked are shown; double click: only this one, or all again")},
      {QT_TR_NOOP("share"), QT_TR_NOOP("of the selection's resources and time")},
      {QT_TR_NOOP("total"), QT_TR_NOOP("of all its resources together")},
      {QT_TR_NOOP("mostly"), QT_TR_NOOP("its resources that do mostly this")},
      {QT_TR_NOOP("in parts"), QT_TR_NOOP("from its part that has least of it to the one that has most")}};
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  static constexpr Head kMean{QT_TR_NOOP("mean"), QT_TR_NOOP("over all its resources and time")};
  const Head& head = section == kTotal && !adds_up_ ? kMean : kHeads[section];
  if (role == Qt::ToolTipRole) return tr(head.hint);
  if (role != Qt::DisplayRole || section == kColour) return {};
  return tr(head.text);
}

}  // namespace margay::viewer
