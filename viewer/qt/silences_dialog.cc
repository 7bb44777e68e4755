#include "silences_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QVBoxLayout>

#include "margay/text/text.h"
#include "paint.h"

namespace margay::viewer {

void SilenceModel::set(std::vector<scene::ListedSilence> silences) {
  beginResetModel();
  rows_ = std::move(silences);
  endResetModel();
}

int SilenceModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}
int SilenceModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant SilenceModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const scene::ListedSilence& s = at(index.row());
  const auto time = [&](TimeNs t) -> QVariant {
    if (role == Qt::EditRole) return static_cast<qlonglong>(t.value);
    return text_of(text::date_text(t));
  };
  if (role == Qt::ToolTipRole)
    return text_of(s.what + (s.comment.empty() ? "" : ": " + s.comment)).toHtmlEscaped();
  if (role != Qt::DisplayRole && role != Qt::EditRole) return {};
  switch (index.column()) {
    case kId:
      return text_of(s.id);
    case kWhat:
      return text_of(s.what);
    case kFrom:
      return s.active && role == Qt::DisplayRole ? QVariant(tr("holds now")) : time(s.from);
    case kUntil:
      return time(s.until);
    case kBy:
      return text_of(s.by);
    default:
      return text_of(s.comment);
  }
}

QVariant SilenceModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kHeads[kColumns] = {QT_TR_NOOP("silence"), QT_TR_NOOP("alerts of"),
                                                   QT_TR_NOOP("from"),    QT_TR_NOOP("until"),
                                                   QT_TR_NOOP("by"),      QT_TR_NOOP("reason")};
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= kColumns)
    return {};
  return tr(kHeads[section]);
}

SilencesDialog::SilencesDialog(Session& session, QWidget* parent) : QDialog(parent), session_(session) {
  setWindowTitle(tr("Silences"));
  setAttribute(Qt::WA_DeleteOnClose);
  auto* column = new QVBoxLayout(this);
  line_ = line_of(this);
  model_ = new SilenceModel(this);
  table_ = make_table(model_, this, tr("Silences"));
  table_->sortByColumn(SilenceModel::kUntil, Qt::AscendingOrder);
  const int letter = fontMetrics().averageCharWidth();
  const int widths[SilenceModel::kColumns] = {9, 32, 20, 20, 12, 20};
  for (int c = 0; c < SilenceModel::kColumns; ++c) table_->setColumnWidth(c, widths[c] * letter + 12);
  table_->horizontalHeader()->setStretchLastSection(true);
  column->addWidget(with_line(this, line_, table_), 1);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  end_ = buttons->addButton(tr("&End it now"), QDialogButtonBox::ActionRole);
  end_->setToolTip(tr("alerts that it held back and that still fire are sent then"));
  column->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(end_, &QPushButton::clicked, this, &SilencesDialog::end_chosen);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &SilencesDialog::show_buttons);
  connect(&session_, &Session::silences_known, this, [this](const SilencesPtr& silences) {
    model_->set(*silences);
    line_->setText(silences->empty() ? tr("nothing is silenced")
                                     : counted(silences->size(), tr("silence"), tr("silences")));
    if (!silences->empty()) table_->setCurrentIndex(table_->model()->index(0, 0));
    show_buttons();
  });
  // Why there is no list, or what was done.
  connect(&session_, &Session::said, line_, &QLabel::setText);
  line_->setText(tr("reading..."));
  show_buttons();
  resize(fontMetrics().averageCharWidth() * 120, fontMetrics().height() * 18);
  session_.ask_for_silences();
}

void SilencesDialog::show_buttons() {
  end_->setEnabled(row_of(*table_, table_->currentIndex()) >= 0);
}

// The list that comes next is without it.
void SilencesDialog::end_chosen() {
  const int row = row_of(*table_, table_->currentIndex());
  if (row < 0) return;
  session_.unsilence(model_->at(row).id);
  session_.ask_for_silences();
}

}  // namespace margay::viewer
