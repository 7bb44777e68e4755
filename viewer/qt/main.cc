// margay-viewer: the window, and with --render the same picture without a display.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QMessageBox>
#include <QProcess>
#include <QTimer>
#include <cstdio>
#include <limits>

#include "link.h"
#include "margay/scene/time_axis.h"
#include "margay/transport/rundir.h"
#include "paint.h"
#include "picture_file.h"
#include "session.h"
#include "window.h"

namespace margay::viewer {
namespace {

constexpr int kReplayPatience = 20'000;  // ms for a replay to be there
constexpr int kRenderPatience = 60'000;  // ms for a picture

struct Wanted {
  std::string what;  // a run's name, or an archive's path; "": the newest run
  std::string connect, key;
  std::string render;
  std::string size = "1280x720";
  std::string from, to, node, p, policy;
  std::uint32_t slices = 0;
  bool dark = false;
};

// A replay of an archive, that ends with the viewer.
class Replay {
 public:
  // "" and the run's name, or a sentence.
  QString start(const QString& archive, std::string& run) {
    run = "view-" + std::to_string(::getpid());
    process_.setProgram(QFileInfo(QCoreApplication::applicationDirPath(), "margay").filePath());
    process_.setArguments({"replay", archive, "--serve", "--name", QString::fromStdString(run), "-q"});
    process_.setProcessChannelMode(QProcess::MergedChannels);
    process_.start();
    if (!process_.waitForStarted())
      return QObject::tr("%1: %2").arg(process_.program(), process_.errorString());
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < kReplayPatience) {
      if (process_.waitForFinished(50)) return QString::fromUtf8(process_.readAll()).trimmed();
      const auto dir = transport::open_run_directory(run);
      if (dir && QFileInfo::exists(QString::fromStdString(dir->path + "/control.ipc"))) return {};
    }
    return QObject::tr("%1: the replay did not begin").arg(archive);
  }
  ~Replay() {
    if (process_.state() == QProcess::NotRunning) return;
    process_.terminate();
    if (!process_.waitForFinished(5000)) process_.kill();
    process_.waitForFinished(1000);
  }

 private:
  QProcess process_;
};

int complain(const QString& sentence) {
  std::fprintf(stderr, "margay-viewer: %s\n", sentence.toUtf8().constData());
  return 1;
}

// What was asked for on the command line; a sentence if it cannot be.
QString subject_of(const Wanted& w, TimeNs zero, std::optional<scene::TimeRange> bounds, scene::Subject& s) {
  s.node = w.node;
  s.slices = w.slices;
  s.policy = w.policy;
  if (!w.p.empty()) {
    const auto p = scene::parse_p(w.p);
    if (!p) return text_of("--p: " + p.error().message);
    s.p = *p;
  }
  if (w.from.empty() && w.to.empty()) return {};
  scene::TimeRange range = bounds.value_or(scene::TimeRange{zero, zero});
  for (const auto& [text, to, option] :
       {std::tuple(&w.from, &range.from, "--from"), std::tuple(&w.to, &range.to, "--to")}) {
    if (text->empty()) continue;
    const auto d = scene::parse_duration(*text);
    if (!d) return text_of(std::string(option) + ": " + d.error().message);
    *to = zero + *d;
  }
  if (range.to <= range.from) return QObject::tr("--from and --to: the range is empty");
  s.time = range;
  return {};
}

int run(const Wanted& w) {
  // What is wrong with the question is said before anybody is asked.
  scene::Subject any;
  constexpr scene::TimeRange kEver{TimeNs(0), TimeNs(std::numeric_limits<std::int64_t>::max())};
  if (const QString error = subject_of(w, TimeNs(), kEver, any); !error.isEmpty()) return complain(error);
  Replay replay;
  LinkTo to{w.what, w.connect, w.key};
  QString attached = text_of(w.connect);
  const bool archive = w.connect.empty() && !w.what.empty() && QFileInfo(text_of(w.what)).isDir();
  if (archive) {
    if (const QString error = replay.start(text_of(w.what), to.run); !error.isEmpty()) return complain(error);
    attached = QFileInfo(text_of(w.what)).fileName() + QObject::tr(" (archive)");
  } else if (w.connect.empty()) {
    const auto runs = transport::list_runs();
    if (to.run.empty() && runs.empty())
      return complain(
          QObject::tr("no run here to attach to\n"
                      "  margay run -- mpirun -np 4 ./app    watches a job; then start the viewer\n"
                      "  margay-viewer ARCHIVE               opens what a run has left behind\n"
                      "  margay-viewer --connect tcp://HOST:PORT --key FILE    a daemon on another machine"));
    if (to.run.empty()) to.run = runs.front();
    if (const auto dir = transport::open_run_directory(to.run); !dir)
      return complain(text_of(dir.error().message));
    attached = text_of(to.run);
  }
  Link link(to);
  Session session(&link, w.dark ? scene::Theme::kDark : scene::Theme::kLight);
  const auto size = text_of(w.size).split('x');
  const QSize pixels = size.size() == 2 ? QSize(size[0].toInt(), size[1].toInt()) : QSize();
  if (pixels.width() < 320 || pixels.height() < 240 || pixels.width() > 16384 || pixels.height() > 16384)
    return complain(QObject::tr("--size %1: expected WIDTHxHEIGHT, such as 1280x720").arg(text_of(w.size)));
  // Of an archive the whole is looked at, once it is known how long that is.
  bool asked = false;
  QString wrong;
  QObject::connect(&session, &Session::report_changed, &session, [&] {
    if (std::exchange(asked, true)) return;
    scene::Subject s;
    const auto bounds = session.bounds();
    wrong = subject_of(w, bounds ? bounds->from : TimeNs(), bounds, s);
    if (archive && !s.time && bounds && bounds->to > bounds->from) s.time = bounds;
    if (!wrong.isEmpty()) {
      if (!w.render.empty()) return QCoreApplication::exit(2);
      return static_cast<void>(complain(wrong));
    }
    session.go(s);
  });
  if (!w.render.empty()) {
    // All there is to a picture: the partition asked for, the temporal one of the same stretch, and of an
    // archive all phases.
    const auto look = [&] {
      const bool phases = !archive || (session.report() != nullptr && session.report()->replay().at_end());
      if (asked && phases && !session.data().empty() && !session.temporal().empty() &&
          session.temporal().range() == session.data().range())
        QCoreApplication::exit(0);
    };
    QObject::connect(&session, &Session::data_changed, &session, look);
    QObject::connect(&session, &Session::report_changed, &session, look);
    QObject::connect(&session, &Session::said, &session, [&](const QString& s) {
      wrong = s;
      QCoreApplication::exit(1);
    });
    QTimer::singleShot(kRenderPatience, &session, [&] {
      wrong =
          session.trouble().isEmpty() ? QObject::tr("no picture came within a minute") : session.trouble();
      QCoreApplication::exit(1);
    });
    if (const int code = QCoreApplication::exec(); code != 0) return complain(wrong), code;
    const QString error = save_picture(text_of(w.render), session, pixels, attached);
    return error.isEmpty() ? 0 : complain(error);
  }
  Window window(session, attached);
  window.resize(pixels);
  window.show();
  return QApplication::exec();
}

}  // namespace
}  // namespace margay::viewer

int main(int argc, char** argv) {
  CLI::App app(
      "The viewer: what a job does, who does it and since when, live and afterwards.\n\n"
      "  margay-viewer                    the newest run here\n"
      "  margay-viewer RUN                a run by its name (margay status tells names)\n"
      "  margay-viewer ARCHIVE            what a run has left behind\n"
      "  margay-viewer ARCHIVE --render picture.png --from 12 --to 30    the picture alone, without a "
      "display");
  margay::viewer::Wanted w;
  app.add_option("run", w.what, "a run's name, or the directory of an archive");
  auto* connect =
      app.add_option("--connect", w.connect, "the control endpoint of a daemon elsewhere: tcp://HOST:PORT");
  app.add_option("--key", w.key, "the key file for it (margay keys)")->needs(connect);
  app.add_option("--render", w.render, "write the picture to this file (.png, .svg, .csv) and end");
  app.add_option("--size", w.size, "of the window or the picture, pixels: WIDTHxHEIGHT")
      ->capture_default_str();
  app.add_option("--from", w.from, "begin of what is looked at, since the run's: 12, 1min");
  app.add_option("--to", w.to, "and its end");
  app.add_option("--node", w.node, "of the hierarchy: /node7");
  app.add_option("--slices", w.slices, "into how many slices it is cut (default: as many as are useful)")
      ->check(CLI::Range(0, 256));
  app.add_option("--p", w.p, "gain/loss ratio, 0 to 1");
  app.add_option("--policy", w.policy, "that chooses p: noise, jump")
      ->check(CLI::IsMember({"noise", "jump"}));
  app.add_flag("--dark", w.dark, "light on dark");
  CLI11_PARSE(app, argc, argv);
  // Qt would end a program that has no display with an abort, and a sentence about plugins.
  const auto set = [](const char* name) {
    return qEnvironmentVariableIsSet(name) && !qEnvironmentVariableIsEmpty(name);
  };
  const bool display = set("DISPLAY") || set("WAYLAND_DISPLAY") || set("QT_QPA_PLATFORM");
  if (w.render.empty() && !display)
    return margay::viewer::complain(
        "there is no display here (ssh -X, or --render FILE writes the picture without one)");
  if (!w.render.empty()) ::setenv("QT_QPA_PLATFORM", "offscreen", 1);
  QApplication application(argc, argv);
  QApplication::setApplicationName("Margay");
  return margay::viewer::run(w);
}
