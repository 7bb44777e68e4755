#include "command_palette.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLocale>
#include <QPointer>
#include <QScreen>
#include <QVBoxLayout>
#include <algorithm>

namespace margay::viewer {
namespace {

constexpr int kWide = 640, kHigh = 420;  // pixels, where there is room

class LeavesKeys : public QObject {
 public:
  LeavesKeys(QObject* parent, const QKeySequence& keys) : QObject(parent), keys_(keys) {}

 protected:
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() != QEvent::ShortcutOverride) return false;
    if (QKeySequence(static_cast<QKeyEvent*>(event)->keyCombination()) != keys_) return false;
    event->ignore();
    return true;
  }

 private:
  QKeySequence keys_;
};

}  // namespace

void leave_to_actions(QWidget& window, const QKeySequence& keys) {
  auto* leaves = new LeavesKeys(&window, keys);
  for (QLineEdit* field : window.findChildren<QLineEdit*>()) field->installEventFilter(leaves);
}

CommandPalette::CommandPalette(Commands commands, QWidget* parent)
    : QDialog(parent), commands_(std::move(commands)) {
  setWindowTitle(tr("Find anything"));
  setAttribute(Qt::WA_DeleteOnClose);
  auto* column = new QVBoxLayout(this);
  line_ = new QLineEdit(this);
  line_->setPlaceholderText(tr("an action, state, phase, alert or resource; a time: 12.5, 12.5..14, +10 s"));
  line_->setAccessibleName(tr("an action, state, phase, alert, resource or time"));
  line_->setMaxLength(240);
  line_->installEventFilter(this);
  list_ = new QTreeWidget(this);
  list_->setColumnCount(2);
  list_->setHeaderHidden(true);
  list_->setRootIsDecorated(false);
  list_->setUniformRowHeights(true);
  list_->setAllColumnsShowFocus(true);
  list_->setTextElideMode(Qt::ElideMiddle);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setFocusPolicy(Qt::NoFocus);  // the line keeps it, and moves the choice
  list_->setAccessibleName(tr("What was found"));
  list_->header()->setStretchLastSection(false);
  list_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  list_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  note_ = new QLabel(this);
  column->addWidget(line_);
  column->addWidget(list_, 1);
  column->addWidget(note_);
  connect(line_, &QLineEdit::textChanged, this, &CommandPalette::refresh);
  connect(list_, &QTreeWidget::currentItemChanged, this, &CommandPalette::tell);
  connect(list_, &QTreeWidget::itemClicked, this, &CommandPalette::run);
  const QSize screen = parent->screen()->availableSize();
  resize(std::min(kWide, screen.width() - 40), std::min(kHigh, screen.height() - 60));
  refresh();
  line_->setFocus();
}

void CommandPalette::refresh() {
  found_ = commands_.find(line_->text());
  list_->clear();
  for (const Command& c : found_.shown) new QTreeWidgetItem(list_, {c.text, c.beside});
  choose(0);
  note_->setText(found_.shown.empty() ? tr("nothing has that in its name")
                 : found_.more > 0
                     ? tr("%1 more, type on").arg(QLocale::c().toString(static_cast<qulonglong>(found_.more)))
                     : QString());
}

// To somebody who does not see the list: the line has the focus.
void CommandPalette::tell() {
  const QTreeWidgetItem* at = list_->currentItem();
  line_->setAccessibleDescription(at == nullptr ? QString() : at->text(0) + ", " + at->text(1));
}

void CommandPalette::choose(int row) {
  const int count = list_->topLevelItemCount();
  if (count > 0) list_->setCurrentItem(list_->topLevelItem(std::clamp(row, 0, count - 1)));
}

void CommandPalette::run() {
  const int row = list_->indexOfTopLevelItem(list_->currentItem());
  if (row < 0) return;
  // Hidden first: what is done may open a window or move the focus; it may also close the window this is of.
  const std::function<void()> what = found_.shown[static_cast<std::size_t>(row)].run;
  const QPointer<CommandPalette> still_there(this);
  hide();
  what();
  if (still_there) close();
}

bool CommandPalette::eventFilter(QObject* of, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return QDialog::eventFilter(of, event);
  const int row = list_->indexOfTopLevelItem(list_->currentItem());
  const int page = std::max(1, list_->viewport()->height() / std::max(1, list_->sizeHintForRow(0)) - 1);
  switch (static_cast<QKeyEvent*>(event)->key()) {
    case Qt::Key_Up:
      return choose(row - 1), true;
    case Qt::Key_Down:
      return choose(row + 1), true;
    case Qt::Key_PageUp:
      return choose(row - page), true;
    case Qt::Key_PageDown:
      return choose(row + page), true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return run(), true;
    default:
      return QDialog::eventFilter(of, event);
  }
}

}  // namespace margay::viewer
