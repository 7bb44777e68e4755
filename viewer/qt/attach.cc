#include "attach.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <algorithm>

#include "margay/text/text.h"
#include "margay/transport/rundir.h"

namespace margay::viewer {
namespace {

constexpr const char* kOwn = ".view-";  // what our replays are called: nobody else is shown them
constexpr int kReplayLook = 50;         // ms between two looks for what a replay makes
constexpr int kDepth = 2;
constexpr int kMostEntries = 5000;
constexpr qsizetype kMostWords = 4000;

QString& programs() {
  static QString folder;
  if (folder.isEmpty()) folder = QCoreApplication::applicationDirPath();
  return folder;
}

bool is_archive_at(const QString& path) {
  return QFileInfo(path + "/MARGAY").isFile();
}

void collect(const QDir& folder, const QString& prefix, int depth, int& entries,
             std::vector<std::pair<QDateTime, QString>>& found) {
  for (const QFileInfo& e : folder.entryInfoList(QDir::Dirs | QDir::NoDotAndDotDot | QDir::NoSymLinks)) {
    if (++entries > kMostEntries) return;
    const QString name = prefix + e.fileName();
    if (is_archive_at(e.filePath()))
      found.emplace_back(QFileInfo(e.filePath() + "/db").lastModified(), name);
    else if (depth > 0)
      collect(QDir(e.filePath()), name + "/", depth - 1, entries, found);
  }
}

// A program's complaint as a sentence: without its name before each line.
QString sentence_of(const QByteArray& words) {
  QStringList lines;
  for (QString line : QString::fromUtf8(words).split('\n', Qt::SkipEmptyParts)) {
    if (line.startsWith("margay: ")) line.remove(0, 8);
    lines << line.trimmed();
  }
  return QString::fromStdString(text::printable(lines.join(' ').toStdString(), true, kMostWords));
}

}  // namespace

void set_programs(const QString& folder) {
  programs() = folder;
}

QStringList runs_here() {
  QStringList names;
  for (const std::string& run : transport::list_runs()) names << QString::fromStdString(run);
  return names;
}

QStringList archives_below(const QString& folder) {
  std::vector<std::pair<QDateTime, QString>> found;
  int entries = 0;
  collect(QDir(folder), "", kDepth, entries, found);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  QStringList names;
  for (auto& [when, name] : found) names << name;
  return names;
}

QString example_path() {
  const QString path = QDir::cleanPath(programs() + "/../" MARGAY_DATADIR "/margay/example/sixteen.margay");
  return is_archive_at(path) ? path : QString();
}

Attachment::Attachment(Wish wish, QObject* parent) : QObject(parent), wish_(std::move(wish)) {
  poll_.setInterval(kReplayLook);
  connect(&poll_, &QTimer::timeout, this, &Attachment::look);
  replay_.setProcessChannelMode(QProcess::MergedChannels);
  connect(&replay_, &QProcess::readyRead, this,
          [this] { words_ = (words_ + replay_.readAll()).right(kMostWords); });
  connect(&replay_, &QProcess::finished, this, &Attachment::ended);
  connect(&replay_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    poll_.stop();
    emit failed(tr("%1: %2").arg(replay_.program(), replay_.errorString()));
  });
}

Attachment::~Attachment() {
  replay_.disconnect(this);
  if (replay_.state() == QProcess::NotRunning) return;
  replay_.terminate();
  if (!replay_.waitForFinished(5000)) replay_.kill();
  replay_.waitForFinished(1000);
}

void Attachment::start() {
  if (!wish_.connect.empty()) {
    to_ = {"", wish_.connect, wish_.key};
    emit ready();
    return;
  }
  const QString what = QString::fromStdString(wish_.what);
  if (what == kExample && !wish_.is_run) {
    const QString path = example_path();
    if (path.isEmpty()) {
      emit failed(tr("the example archive was not installed beside this program"));
      return;
    }
    serve(path);
    return;
  }
  if (!what.isEmpty() && !wish_.is_run && QFileInfo::exists(what)) {
    serve(what);
    return;
  }
  to_.run = wish_.what;
  if (what.isEmpty()) {
    const QStringList runs = runs_here();
    if (runs.isEmpty()) {
      emit failed(tr("no run is going on here"));
      return;
    }
    to_.run = runs.front().toStdString();
  }
  if (const auto dir = transport::open_run_directory(to_.run); !dir) {
    emit failed(
        tr("%1: there is no such archive, and %2").arg(what, QString::fromStdString(dir.error().message)));
    return;
  }
  emit ready();
}

void Attachment::serve(const QString& path) {
  static int count = 0;
  archive_ = true;
  folder_ = path;
  to_.run = kOwn + std::to_string(::getpid()) + "-" + std::to_string(++count);
  replay_.setProgram(QFileInfo(programs(), "margay").filePath());
  QStringList arguments{"replay", "--serve", "--name", QString::fromStdString(to_.run), "-q"};
  for (const QString& setting : wish_.settings) arguments << "--set" << setting;
  replay_.setArguments(arguments << "--" << path);
  // However the viewer ends: nobody else looks at this replay.
  replay_.setChildProcessModifier([parent = ::getpid()] {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
  });
  replay_.start();
  poll_.start();
}

void Attachment::look() {
  const auto dir = transport::open_run_directory(to_.run);
  if (!dir || !QFileInfo::exists(QString::fromStdString(dir->path + "/control.ipc"))) return;
  poll_.stop();
  ready_ = true;
  emit ready();
}

void Attachment::ended() {
  poll_.stop();
  words_ = (words_ + replay_.readAll()).right(kMostWords);
  QString why = sentence_of(words_);
  if (why.isEmpty())
    why = replay_.exitStatus() == QProcess::CrashExit
              ? tr("%1: its replay was ended by signal %2").arg(folder_).arg(replay_.exitCode())
              : tr("%1: its replay ended with code %2").arg(folder_).arg(replay_.exitCode());
  emit failed(why);
}

QString Attachment::name() const {
  if (!to_.connect.empty()) return QString::fromStdString(to_.connect);
  if (!archive_) return QString::fromStdString(to_.run.empty() ? wish_.what : to_.run);
  if (wish_.what == kExample) return tr("the example");
  // Archives are often called "archive", in a folder that says more.
  const QFileInfo info(QDir::cleanPath(QFileInfo(folder_).absoluteFilePath()));
  return info.fileName() == "archive" ? info.dir().dirName() + "/archive" : info.fileName();
}

QString Attachment::title(const wire::Report* report) const {
  if (!archive_ || report == nullptr || report->run().empty()) return name();
  const QString run = QString::fromStdString(report->run());
  const QString title = run == name() ? run : tr("%1 (%2)").arg(run, name());
  return wish_.settings.isEmpty() ? title : tr("%1, what if %2").arg(title, wish_.settings.join(", "));
}

QString Attachment::place(const wire::Report* report) const {
  if (!to_.connect.empty()) return {};
  if (archive_)
    return wish_.what == kExample ? kExample : QDir::cleanPath(QFileInfo(folder_).absoluteFilePath());
  return QString::fromStdString(report != nullptr && !report->run().empty() ? report->run() : to_.run);
}

}  // namespace margay::viewer
