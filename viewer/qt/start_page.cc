#include "start_page.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QFontDatabase>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QVBoxLayout>

namespace margay::viewer {
namespace {

constexpr int kLook = 1000;         // ms
constexpr int kArchivesEvery = 10;  // looks
constexpr int kWidest = 900;        // pixels of what is read
constexpr int kHighest = 420;       // of a list

QLabel* words(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

QLabel* heading(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  QFont font = label->font();
  font.setBold(true);
  label->setFont(font);
  return label;
}

Wish run_named(const QString& name) {
  return {name.toStdString(), {}, {}, true};
}

// Keeps the rows that stay, and with them what is selected.
void set_items(QListWidget& list, const QStringList& names) {
  const QListWidgetItem* current = list.currentItem();
  const QString selected = current != nullptr ? current->text() : QString();
  list.clear();
  list.addItems(names);
  const auto at = names.indexOf(selected);
  if (at >= 0) list.setCurrentRow(static_cast<int>(at));
}

}  // namespace

StartPage::StartPage(const QString& folder, QWidget* parent) : QWidget(parent), folder_(folder) {
  setWindowTitle(tr("Margay"));
  auto* outer = new QHBoxLayout(this);
  auto* middle = new QWidget(this);
  middle->setMaximumWidth(kWidest);
  outer->addStretch(1);
  outer->addWidget(middle, 1000);
  outer->addStretch(1);
  auto* column = new QVBoxLayout(middle);
  column->setSpacing(8);

  auto* title =
      heading(tr("Margay shows what a parallel job does, which ranks do it, and since when"), middle);
  QFont large = title->font();
  large.setPointSizeF(large.pointSizeF() * 1.4);
  title->setFont(large);
  title->setWordWrap(true);
  column->addWidget(title);
  sentence_ = words("", middle);
  sentence_->setObjectName("sentence");
  sentence_->setFrameShape(QFrame::Box);
  sentence_->setMargin(8);
  column->addWidget(sentence_);
  opening_ = words("", middle);
  column->addWidget(opening_);
  offer_ = new QPushButton(middle);
  offer_->setObjectName("offer");
  offer_->setMinimumHeight(40);
  connect(offer_, &QPushButton::clicked, this, [this] { emit chosen(run_named(offered_)); });
  column->addWidget(offer_);
  column->addWidget(make_lists(), 1000);

  auto* buttons = new QHBoxLayout;
  example_ = new QPushButton(tr("Open the &example"), middle);
  example_->setObjectName("example");
  const bool there = !example_path().isEmpty();
  example_->setEnabled(there);
  example_->setToolTip(there ? tr("a recorded run of 16 ranks, one of which is stopped for a second")
                             : tr("it was not installed beside this program"));
  connect(example_, &QPushButton::clicked, this, [this] { emit chosen({kExample, {}, {}}); });
  auto* other = new QPushButton(tr("Open an &archive..."), middle);
  connect(other, &QPushButton::clicked, this, &StartPage::choose_archive);
  buttons->addWidget(example_);
  buttons->addWidget(other);
  buttons->addStretch(1);
  column->addLayout(buttons);
  column->addWidget(make_commands());
  column->addStretch(1);

  sentence_->hide();
  opening_->hide();
  offer_->hide();
  timer_.setInterval(kLook);
  connect(&timer_, &QTimer::timeout, this, &StartPage::refresh);
}

QWidget* StartPage::make_lists() {
  auto* box = new QWidget(this);
  auto* grid = new QGridLayout(box);
  grid->setContentsMargins(0, 0, 0, 0);
  const auto list = [&](const QString& title, const QString& name, int at) {
    grid->addWidget(heading(title, box), 0, at);
    auto* l = new QListWidget(box);
    l->setObjectName(name);
    l->setAccessibleName(title);
    l->setMinimumHeight(80);
    l->setMaximumHeight(kHighest);
    // Enter, or a click, as the style has it.
    l->setToolTip(tr("double click, or Enter, opens it"));
    connect(l, &QListWidget::itemActivated, this, [this](const QListWidgetItem* item) {
      if (!item->flags().testFlag(Qt::ItemIsEnabled)) return;
      const QString what = item->data(Qt::UserRole).toString();
      emit chosen(item->listWidget() == runs_ ? run_named(what) : Wish{what.toStdString(), {}, {}});
    });
    grid->addWidget(l, 1, at);
    grid->setColumnStretch(at, 1);
    return l;
  };
  runs_ = list(tr("Runs that are going on here"), "runs", 0);
  const QString folder = QDir(folder_).absolutePath();
  archives_ =
      list(tr("Archives kept in %1").arg(QDir(folder).dirName().isEmpty() ? folder : QDir(folder).dirName()),
           "archives", 1);
  archives_->setToolTip(folder);
  return box;
}

QWidget* StartPage::make_commands() {
  auto* box = new QWidget(this);
  auto* grid = new QGridLayout(box);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->addWidget(heading(tr("What to type"), box), 0, 0, 1, 3);
  const std::pair<const char*, QString> commands[] = {
      {"margay run -- mpirun -np 4 ./app", tr("watches a job; it appears here")},
      {"margay-viewer ARCHIVE", tr("an archive: the record of a run")},
      {"margay-viewer --connect tcp://HOST:PORT --key FILE", tr("a daemon on another machine")},
  };
  const QFont fixed = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  int row = 1;
  for (const auto& [command, what] : commands) {
    auto* text = words(command, box);
    text->setFont(fixed);
    text->setWordWrap(false);
    grid->addWidget(text, row, 0);
    auto* copy = new QPushButton(tr("Copy"), box);
    copy->setToolTip(tr("copy to the clipboard: %1").arg(command));
    copy->setObjectName(QString("copy%1").arg(row));
    connect(copy, &QPushButton::clicked, this,
            [c = QString(command)] { QApplication::clipboard()->setText(c); });
    grid->addWidget(copy, row, 1);
    grid->addWidget(words(what, box), row, 2);
    ++row;
  }
  grid->setColumnStretch(2, 1);
  grid->setHorizontalSpacing(12);
  return box;
}

void StartPage::say(const QString& sentence) {
  sentence_->setText(sentence);
  sentence_->setVisible(!sentence.isEmpty());
}

void StartPage::set_opening(const QString& name) {
  opening_->setText(name.isEmpty() ? QString() : tr("opening %1").arg(name));
  opening_->setVisible(!name.isEmpty());
}

QString StartPage::sentence() const {
  return sentence_->text();
}

void StartPage::offer_run(const QString& name) {
  offered_ = name;
  offer_->setVisible(!name.isEmpty());
  if (name.isEmpty()) return;
  offer_->setText(tr("%1 has started: watch it").arg(name));
  offer_->setDefault(true);
  offer_->setFocus();
}

void StartPage::refresh() {
  const auto set = [](QListWidget& list, QStringList& known, const QStringList& now, const QString& none,
                      const auto& value) {
    if (now == known && list.count() > 0) return;
    known = now;
    set_items(list, now.isEmpty() ? QStringList(none) : now);
    for (int i = 0; i < list.count(); ++i) {
      list.item(i)->setData(Qt::UserRole, value(list.item(i)->text()));
      if (now.isEmpty()) list.item(i)->setFlags(Qt::NoItemFlags);
    }
  };
  const QStringList before = known_runs_, now = runs_here();
  set(*runs_, known_runs_, now, tr("none yet"), [](const QString& name) { return name; });
  if (!offered_.isEmpty() && !now.contains(offered_)) offer_run({});
  for (const QString& name : now)
    if (looked_ && offered_.isEmpty() && !before.contains(name)) offer_run(name);
  looked_ = true;
  if (until_archives_-- > 0) return;
  until_archives_ = kArchivesEvery;
  set(*archives_, known_archives_, archives_below(folder_), tr("none"),
      [this](const QString& name) { return QDir(folder_).filePath(name); });
}

void StartPage::choose_archive() {
  const QString path = QFileDialog::getExistingDirectory(this, tr("The directory of an archive"), folder_);
  if (!path.isEmpty()) emit chosen({path.toStdString(), {}, {}});
}

void StartPage::showEvent(QShowEvent* event) {
  until_archives_ = 0;
  refresh();
  timer_.start();
  QWidget::showEvent(event);
}

void StartPage::hideEvent(QHideEvent* event) {
  timer_.stop();
  looked_ = false;
  offer_run({});
  QWidget::hideEvent(event);
}

}  // namespace margay::viewer
