#include "models.h"

#include <QColor>
#include <QFont>

#include "margay/scene/time_axis.h"
#include "paint.h"

namespace margay::viewer {
namespace {
constexpr int kMostAlerts = 256;
}

void AlertModel::set(const wire::Report& report) {
  std::vector<terminal::AlertView> now = terminal::read_alerts(report, kMostAlerts);
  beginResetModel();
  alerts_ = std::move(now);
  zero_ = report.run_begin_ns();
  endResetModel();
}

std::string AlertModel::node_of(int row) const {
  const auto& paths = at(row).paths;
  // The node comes first, then who is blamed: one alone is more telling.
  return paths.empty() ? "/" : paths.size() == 2 ? paths[1] : paths[0];
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
  if (role == Qt::ToolTipRole) return text_of(a.sentence + "\n" + a.id);
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
      return text_of((a.firing ? a.acknowledged ? "acknowledged" : "firing" : "resolved") +
                     std::string(a.silenced_by.empty() ? "" : ", silenced"));
    case kOnset:
      if (role == Qt::EditRole) return static_cast<qlonglong>(a.onset_ns);
      return text_of(scene::duration_text(DurationNs(a.onset_ns - zero_)));
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

void StatisticsModel::set(scene::Statistics statistics, const scene::ViewData& data,
                          const scene::Palette& palette) {
  beginResetModel();
  statistics_ = std::move(statistics);
  names_.clear();
  for (const scene::StateRow& r : statistics_.rows) {
    const scene::State& s = data.states[r.state];
    names_.push_back({text_of(s.name), colour_of(palette.look(s.name, s.family).colour)});
  }
  unit_ = text_of(data.unit);
  endResetModel();
}

int StatisticsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(names_.size());
}
int StatisticsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant StatisticsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const auto row = static_cast<std::size_t>(index.row());
  const scene::StateRow& r = statistics_.rows[row];
  if (role == Qt::DecorationRole && index.column() == kName) return names_[row].colour;
  if (role == Qt::TextAlignmentRole && index.column() != kName)
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  if (role != Qt::DisplayRole && role != Qt::EditRole) return {};
  const auto share = [&](double x) -> QVariant {
    return role == Qt::EditRole ? QVariant(x) : QVariant(QString::number(100 * x, 'f', 1) + " %");
  };
  switch (index.column()) {
    case kName:
      return names_[row].name;
    case kShare:
      return share(r.share);
    case kTotal:
      if (role == Qt::EditRole) return r.total;
      return unit_.isEmpty()
                 ? text_of(scene::duration_text(DurationNs(static_cast<std::int64_t>(r.total * 1e9))))
                 : QString::number(r.total, 'g', 4) + " " + unit_;
    case kLeaves:
      return static_cast<qulonglong>(r.mode_leaves);
    case kLeast:
      return share(r.least);
    case kMost:
      return share(r.most);
    default:
      return {};
  }
}

QVariant StatisticsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case kTotal:
        return tr("of all resources together");
      case kLeaves:
        return tr("resources that do mostly this");
      case kLeast:
        return tr("in the part that has least of it");
      case kMost:
        return tr("in the part that has most of it");
      default:
        return {};
    }
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kName:
      return tr("state");
    case kShare:
      return tr("share");
    case kTotal:
      return tr("total");
    case kLeaves:
      return tr("mostly");
    case kLeast:
      return tr("least");
    case kMost:
      return tr("most");
    default:
      return {};
  }
}

}  // namespace margay::viewer
