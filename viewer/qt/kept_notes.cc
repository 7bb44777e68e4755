#include "kept_notes.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QStandardPaths>
#include <algorithm>

namespace margay::viewer {
namespace {

constexpr std::size_t kLongestRunInName = 80;

// Of letters, digits and _.- alone.
QString file_of_run(const std::string& run, std::int64_t begin_ns) {
  QString out;
  for (const char c : run.substr(0, kLongestRunInName)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    out += plain ? QChar(c) : QChar('_');
  }
  return out + "-" + QString::number(begin_ns);
}

}  // namespace

KeptNotes::KeptNotes(QString folder, QObject* parent) : QObject(parent), folder_(std::move(folder)) {
  if (folder_.isEmpty())
    folder_ = QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation) + "/margay/runs";
}

void KeptNotes::set_run(const std::string& run, std::int64_t begin_ns) {
  const QString path = folder_ + "/" + file_of_run(run, begin_ns);
  if (path == path_) return;
  path_ = path;
  notes_ = {};
  if (auto there = read())
    notes_ = std::move(*there);
  else
    emit said(QString::fromStdString(there.error().message));
  emit changed();
}

Result<command::RunNotes> KeptNotes::read() const {
  const std::string name = path_.toStdString();
  if (!QFileInfo::exists(path_)) return command::RunNotes();
  QFile file(path_);
  if (!file.open(QIODevice::ReadOnly))
    return fail(ErrorCode::kIo, name + ": cannot be read: " + file.errorString().toStdString());
  const QByteArray text = file.read(static_cast<qint64>(command::RunNotes::kLongestText) + 1);
  auto notes = command::parse_run_notes({text.constData(), static_cast<std::size_t>(text.size())});
  return notes ? notes : fail(notes.error(), name);
}

// `how` returns what is wrong with it, or nothing.
template <class Change>
bool KeptNotes::change(const Change& how) {
  const auto refuse = [this](const QString& why) {
    emit said(tr("not kept: %1").arg(why));
    return false;
  };
  if (path_.isEmpty()) return refuse(tr("nothing is known of the run yet"));
  auto now = read();
  if (!now) return refuse(QString::fromStdString(now.error().message));
  if (const QString why = how(*now); !why.isEmpty()) return refuse(why);
  const std::string text = command::text_of(*now);
  QSaveFile file(path_);
  if (!QDir().mkpath(folder_) || !file.open(QIODevice::WriteOnly) ||
      file.write(text.data(), static_cast<qint64>(text.size())) < 0 || !file.commit())
    return refuse(tr("%1: cannot be written: %2").arg(path_, file.errorString()));
  notes_ = std::move(*now);
  emit changed();
  return true;
}

bool KeptNotes::add(command::RunNotes::Bookmark bookmark) {
  return change([&](command::RunNotes& notes) {
    if (notes.bookmarks.size() >= command::RunNotes::kMostBookmarks)
      return tr("there are %1 bookmarks already: remove one").arg(command::RunNotes::kMostBookmarks);
    if (bookmark.pinned && command::pins_of(notes) >= command::RunNotes::kMostPins)
      return tr("there are %1 pins already: remove one").arg(command::RunNotes::kMostPins);
    if (bookmark.pinned && std::count(notes.bookmarks.begin(), notes.bookmarks.end(), bookmark) > 0)
      return tr("it is pinned already");
    notes.bookmarks.push_back(std::move(bookmark));
    return QString();
  });
}
bool KeptNotes::remove(const command::RunNotes::Bookmark& bookmark) {
  return change([&](command::RunNotes& notes) { return std::erase(notes.bookmarks, bookmark), QString(); });
}
bool KeptNotes::add_filter(command::PictureOptions filter) {
  return change([&](command::RunNotes& notes) {
    if (notes.filters.size() >= command::RunNotes::kMostFilters)
      return tr("there are %1 filters already: forget one").arg(command::RunNotes::kMostFilters);
    std::erase(notes.filters, filter);
    notes.filters.push_back(std::move(filter));
    return QString();
  });
}
bool KeptNotes::remove_filter(const command::PictureOptions& filter) {
  return change([&](command::RunNotes& notes) { return std::erase(notes.filters, filter), QString(); });
}

}  // namespace margay::viewer
