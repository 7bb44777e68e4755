#include "event_model.h"

#include <QPixmap>
#include <algorithm>

#include "margay/scene/time_axis.h"
#include "paint.h"
#include "patterns.h"

namespace margay::viewer {
namespace {

constexpr int kEventBox = 10;  // pixels, of a state's colour

using scene::EventColumn;

}  // namespace

EventModel::EventModel(Session& session, QObject* parent) : QAbstractTableModel(parent), session_(session) {
  connect(&session, &Session::listed, this, [this](const EventPagePtr& page) {
    if (!pages_.take(page)) return;
    update_rows();
    emit changed();
  });
  connect(&session, &Session::not_listed, this, [this](quint64 token, const QString& why) {
    if (pages_.refuse(token, why.toStdString())) emit changed();
  });
  // Colours, and the rows of what is selected.
  connect(&session, &Session::view_changed, this, [this] {
    if (rows_ > 0) emit dataChanged(index(0, 0), index(rows_ - 1, scene::kEventColumns - 1));
  });
}

void EventModel::set(scene::EventSubject subject) {
  beginResetModel();
  pages_.set(std::move(subject));
  rows_ = 0;
  endResetModel();
  emit changed();
}

void EventModel::ask() {
  if (pages_.reading()) return;
  auto question = pages_.next(session_.next_token());
  if (!question) return;
  asked_ = *question;
  session_.ask(std::move(*question));
}

void EventModel::update_rows() {
  const auto now = static_cast<int>(pages_.rows());
  if (now > rows_) {
    beginInsertRows({}, rows_, now - 1);
    rows_ = now;
    endInsertRows();
  } else if (now < rows_) {
    beginRemoveRows({}, now, rows_ - 1);
    rows_ = now;
    endRemoveRows();
  }
  // Of a page that was fetched again, and of the longest, which are others now.
  if (rows_ > 0) emit dataChanged(index(0, 0), index(rows_ - 1, scene::kEventColumns - 1));
}

scene::EventPages::Listed EventModel::at(int row) const {
  return row < 0 || row >= rows_ ? scene::EventPages::Listed{} : pages_.at(static_cast<std::uint64_t>(row));
}

bool EventModel::is_selected(const scene::EventPages::Listed& listed) const {
  const auto& s = session_.selection();
  const scene::ViewData& d = session_.data();
  if (!s || listed.row == nullptr || s->node >= d.nodes.size()) return false;
  if (listed.row->end < d.boundaries[s->first] || listed.row->begin >= d.boundaries[s->last]) return false;
  const std::vector<std::uint32_t> at = scene::nodes_named(d, listed.page->resources[listed.row->resource]);
  return !at.empty() && at[0] >= s->node && at[0] < d.nodes[s->node].end;
}

QString EventModel::line(int row) const {
  const auto listed = at(row);
  QStringList cells;
  for (int c = 0; c < scene::kEventColumns && listed.row != nullptr; ++c)
    cells << text_of(scene::event_cell(*listed.page, *listed.row, static_cast<EventColumn>(c))).trimmed();
  return cells.join('\t');
}

int EventModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : rows_;
}
int EventModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : scene::kEventColumns;
}

QVariant EventModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rows_) return {};
  const auto column = static_cast<EventColumn>(index.column());
  if (role == Qt::TextAlignmentRole) {
    const bool number = column == EventColumn::kBegin || column == EventColumn::kDuration ||
                        column == EventColumn::kBytes || column == EventColumn::kCalls;
    return QVariant((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  const auto listed = at(index.row());
  if (listed.row == nullptr) return role == Qt::DisplayRole ? QVariant("…") : QVariant();
  switch (role) {
    case Qt::DisplayRole:
      return text_of(scene::event_cell(*listed.page, *listed.row, column));
    case Qt::ToolTipRole:
      if (column == EventColumn::kDuration && listed.row->lasts())
        return text_of(scene::exact_text(listed.row->end - listed.row->begin)) +
               (listed.row->goes_on ? tr(" or longer: it goes on where the reading ended") : QString());
      if (column == EventColumn::kBegin && session_.times().clock())
        return text_of(scene::time_text(listed.row->begin, session_.times()));
      return text_of(scene::event_cell(*listed.page, *listed.row, column)).trimmed();
    case Qt::DecorationRole: {
      if (column != EventColumn::kName) return {};
      const scene::State& state = listed.page->names[listed.row->name];
      QPixmap box(kEventBox, kEventBox);
      box.fill(Qt::transparent);
      QPainter p(&box);
      fill_box(p, box.rect(), session_.palette().look(state.name, state.family));
      return box;
    }
    case Qt::BackgroundRole: {
      if (!is_selected(listed)) return {};
      QColor shade = colour_of(session_.palette().ink());
      shade.setAlpha(26);
      return shade;
    }
    default:
      return {};
  }
}

QVariant EventModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  static const std::pair<const char*, const char*> kHeads[scene::kEventColumns] = {
      {"begin (s)", "when it began, seconds since the run's begin; click: in order of time"},
      {"duration", "how long it lasted; click: the longest first"},
      {"resource", "the rank or thread"},
      {"state",
       "what it did: an MPI function, a state of the program, Compute between them; set in: inside the "
       "state above"},
      {"partner", "the other rank of a message"},
      {"bytes", "of the message, or of the call"},
      {"calls", "how many, where the probe summed them"},
      {"details", "tag, communicator, value of a variable"}};
  const auto& head = kHeads[static_cast<std::size_t>(section) % scene::kEventColumns];
  if (role == Qt::DisplayRole) return tr(head.first);
  if (role == Qt::ToolTipRole) return tr(head.second);
  return {};
}

}  // namespace margay::viewer
