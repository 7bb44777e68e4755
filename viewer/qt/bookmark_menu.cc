#include "bookmark_menu.h"

#include <QApplication>
#include <QClipboard>
#include <QInputDialog>
#include <algorithm>

#include "margay/command/link.h"
#include "margay/scene/time_axis.h"
#include "margay/scene/times.h"
#include "margay/text/text.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr int kLongestInMenu = 60;                        // characters of a note
constexpr DurationNs kFarthest = seconds(1'000'000'000);  // from the zero: what a file says may be anything

}  // namespace

BookmarkMenu::BookmarkMenu(Session& session, KeptNotes& notes, QWidget* parent)
    : QMenu(tr("&Bookmarks"), parent), session_(session), notes_(notes) {
  addAction(tr("&Bookmark this..."), this, &BookmarkMenu::ask)->setShortcut(QKeySequence("B"));
  remove_ = addAction(tr("&Remove a bookmark..."), this, &BookmarkMenu::ask_which_to_remove);
  remove_->setShortcut(QKeySequence("Shift+B"));
  addAction(tr("&Pin this, to be compared"), this, &BookmarkMenu::pin)->setShortcut(QKeySequence("I"));
  unpin_ = addAction(tr("&Take the newest pin away"), this, &BookmarkMenu::unpin);
  unpin_->setShortcut(QKeySequence("Shift+I"));
  copy_ = addAction(tr("&Copy all as links"), this, &BookmarkMenu::copy_links);
  addSeparator();
  connect(&notes_, &KeptNotes::changed, this, &BookmarkMenu::refresh);
  connect(&notes_, &KeptNotes::said, this, &BookmarkMenu::said);
  // Times are counted from what the first picture says.
  const auto if_other = [this] {
    if (times_ != session_.times()) refresh();
  };
  connect(&session_, &Session::data_changed, this, if_other);
  connect(&session_, &Session::view_changed, this, if_other);
  refresh();
}

command::RunNotes::Bookmark BookmarkMenu::here() const {
  command::RunNotes::Bookmark out;
  scene::TimeRange range = session_.time();
  out.of.node = session_.subject().node;
  const scene::ViewData& d = session_.data();
  if (const auto& marked = session_.marked()) {
    range = marked->time;
    const std::string above = scene::above_all(marked->nodes);
    out.of.node = above == "/" ? "" : above;
    if (marked->nodes.size() > 1) out.of.resources = marked->nodes;
  } else if (const auto& s = session_.selection(); s && !d.empty()) {
    range = {d.boundaries[s->first], d.boundaries[s->last]};
    if (s->node != 0) out.of.node = d.nodes[s->node].path;
  }
  const std::int64_t zero = session_.times().zero.value;
  out.of.from = command::seconds_text(DurationNs(text::minus(range.from.value, zero)));
  out.of.to = command::seconds_text(DurationNs(text::minus(range.to.value, zero)));
  return out;
}

std::optional<Session::Bookmark> shown_bookmark(const command::RunNotes::Bookmark& b,
                                                const Session& session) {
  const auto from = scene::parse_duration(b.of.from), to = scene::parse_duration(b.of.to);
  if (!from || !to || *to < *from || *from < DurationNs(-kFarthest.value) || *to > kFarthest)
    return std::nullopt;
  const TimeNs zero = session.times().zero;
  return Session::Bookmark{{zero + *from, zero + *to}, b.of.node, b.note};
}

QString BookmarkMenu::text_of_bookmark(const command::RunNotes::Bookmark& b) const {
  QString note = text_of(b.note);
  if (note.size() > kLongestInMenu) note = note.left(kLongestInMenu) + "…";
  const auto at = shown_bookmark(b, session_);
  QStringList words;
  if (!note.isEmpty()) words << note;
  if (!b.of.resources.empty())
    words << text_of(scene::who_text({{}, b.of.resources}));
  else if (!b.of.node.empty())
    words << text_of(b.of.node);
  words << (at ? text_of(scene::range_text(at->time, session_.times())) : text_of(b.of.from + "-" + b.of.to));
  return words.join(", ");
}

bool BookmarkMenu::add(const QString& note) {
  command::RunNotes::Bookmark bookmark = here();
  bookmark.note = note.trimmed().toStdString();
  return notes_.add(std::move(bookmark));
}

bool BookmarkMenu::pin() {
  if (session_.data().empty()) return emit said(tr("there is nothing to be pinned yet")), false;
  command::RunNotes::Bookmark bookmark = here();
  bookmark.pinned = true;
  return notes_.add(std::move(bookmark));
}

void BookmarkMenu::unpin() {
  const auto& all = notes_.notes().bookmarks;
  const auto newest = std::find_if(all.rbegin(), all.rend(), [](const auto& b) { return b.pinned; });
  if (newest != all.rend()) notes_.remove(command::RunNotes::Bookmark(*newest));
}

void BookmarkMenu::ask() {
  if (session_.data().empty()) return emit said(tr("there is nothing to be noted yet"));
  auto* dialog = new QInputDialog(parentWidget());
  dialog->setObjectName("bookmark");
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Bookmark"));
  dialog->setLabelText(tr("A note on %1:").arg(text_of_bookmark(here())));
  connect(dialog, &QInputDialog::textValueSelected, this, &BookmarkMenu::add);
  dialog->open();
}

void BookmarkMenu::ask_which_to_remove() {
  const std::vector<command::RunNotes::Bookmark> all = notes_.notes().bookmarks;
  if (all.empty()) return emit said(tr("there is no bookmark"));
  QStringList texts;
  for (std::size_t i = 0; i < all.size(); ++i)
    texts << QString("%1  %2").arg(i + 1).arg(text_of_bookmark(all[i]));
  auto* dialog = new QInputDialog(parentWidget());
  dialog->setObjectName("remove-bookmark");
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Remove a bookmark"));
  dialog->setLabelText(tr("Which?"));
  dialog->setComboBoxItems(texts);
  dialog->setOption(QInputDialog::UseListViewForComboBoxItems);
  connect(dialog, &QInputDialog::textValueSelected, this, [this, all, texts](const QString& text) {
    if (const auto at = texts.indexOf(text); at >= 0) notes_.remove(all[static_cast<std::size_t>(at)]);
  });
  dialog->open();
}

void BookmarkMenu::copy_links() {
  const std::string links = command::bookmark_links(notes_.notes(), place_);
  QApplication::clipboard()->setText(text_of(links));
  const std::size_t count = notes_.notes().bookmarks.size();
  emit said(count == 1 ? tr("copied: 1 link") : tr("copied: %1 links").arg(count));
}

void BookmarkMenu::refresh() {
  times_ = session_.times();
  for (QAction* a : listed_) removeAction(a), a->deleteLater();
  listed_.clear();
  std::vector<Session::Bookmark> flags;
  for (const command::RunNotes::Bookmark& b : notes_.notes().bookmarks) {
    const auto at = shown_bookmark(b, session_);
    if (!at) continue;
    flags.push_back(*at);
    listed_ << addAction(text_of_bookmark(b).replace('&', "&&"), this,
                         [this, to = *at] { session_.go_to(to.time.from, to.time.to, to.node); });
  }
  std::stable_sort(flags.begin(), flags.end(),
                   [](const auto& a, const auto& b) { return a.time.from < b.time.from; });
  remove_->setEnabled(!listed_.isEmpty());
  copy_->setEnabled(!listed_.isEmpty());
  unpin_->setEnabled(command::pins_of(notes_.notes()) > 0);
  if (flags != session_.bookmarks()) session_.set_bookmarks(std::move(flags));
}

}  // namespace margay::viewer
