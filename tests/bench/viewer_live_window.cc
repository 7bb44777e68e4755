// The viewer's real window and connection on Qt's offscreen platform, saying what it shows and when; for
// tests/bench/viewer_live.
//
//   viewer_live_window make DIR RANKS         an archive of an hour: states of 20 s, of each rank its own;
//   seed 1 viewer_live_window show RUN [--whole] [--clicks N] [--turns N] [--pause MS] [--seconds S]
//
// Times are nanoseconds since the Unix epoch. Lines of `show`:
//   asked T                        what was to be looked at was known (--whole: all of the run)
//   answered T TOKEN               the answer was there, checked
//   painted T TOKEN FROM TO SLICES PARTS     a picture of another answer was on the screen
//   click MS                       from a step of p (upwards, each for the first time) to its picture
//   turned MS                      from another point of view (--turns: one and the usual one in turn) to its
//                                  picture
//   clicked N STEPS                how many clicks there were, and steps of p
// It ends after the last click, after S seconds, or with the first picture where neither is given. Exit code
// 3: nothing for three minutes. With clicks nothing is asked before a replay is at its end.
#include <CLI/CLI.hpp>
#include <QApplication>
#include <QTimer>
#include <chrono>
#include <cstdio>

#include "link.h"
#include "session.h"
#include "support/synthetic_archive.h"
#include "window.h"

namespace margay::viewer {
namespace {

constexpr int kPatience = 180'000;  // ms

std::int64_t now() {
  return SystemClock().realtime().value;
}

struct Wanted {
  std::string run;
  bool whole = false;
  int clicks = 0, turns = 0, pause = 500, seconds = 0;
};

class Teller : public QObject {
 public:
  explicit Teller(const Wanted& w)
      : w_(w), link_({w.run, "", ""}), session_(&link_, scene::Theme::kLight), window_(session_, "bench") {
    setbuf(stdout, nullptr);
    window_.resize(1920, 1080);
    window_.show();
    window_.overview().installEventFilter(this);
    connect(
        &link_, &Link::answered, this,
        [](const ViewPtr& d) {
          std::printf("answered %lld %llu\n", static_cast<long long>(now()),
                      static_cast<unsigned long long>(d->token));
        },
        Qt::DirectConnection);
    connect(&session_, &Session::report_changed, this, [this] { reported(); });
    connect(&session_, &Session::said, this,
            [](const QString& s) { std::printf("said %s\n", qPrintable(s)); });
    patience_.setSingleShot(true);
    connect(&patience_, &QTimer::timeout, this, [] { QCoreApplication::exit(3); });
    patience_.start(kPatience);
    if (w_.seconds > 0) QTimer::singleShot(w_.seconds * 1000, this, [] { QCoreApplication::exit(0); });
  }

  bool eventFilter(QObject*, QEvent* event) override {
    // Posted: it comes when the paint event and what Qt does with the picture are over.
    if (event->type() == QEvent::Paint && !session_.data().empty() && session_.data().token != painted_) {
      painted_ = session_.data().token;
      QMetaObject::invokeMethod(
          this, [this] { painted(); }, Qt::QueuedConnection);
    }
    return false;
  }

 private:
  void reported() {
    // Until a replay is at its end it takes the cores, and fewer p are found in the time that they get.
    if (w_.clicks > 0 && session_.report()->has_replay() && !session_.report()->replay().at_end()) return;
    if (std::exchange(asked_, true)) return;
    std::printf("asked %lld\n", static_cast<long long>(now()));
    if (!w_.whole) return;
    scene::Subject s;
    s.time = session_.bounds();
    session_.go(s);
  }

  void painted() {
    const std::int64_t at = now();
    const scene::ViewData& d = session_.data();
    patience_.start(kPatience);
    if (!asked_) return;
    std::printf("painted %lld %llu %lld %lld %zu %zu\n", static_cast<long long>(at),
                static_cast<unsigned long long>(d.token), static_cast<long long>(d.range().from.value),
                static_cast<long long>(d.range().to.value), d.slices(), d.parts.size());
    // The newest slices may come first.
    if (w_.whole && session_.subject().time &&
        d.range().from > session_.subject().time->from + margay::seconds(60))
      return;
    if (w_.turns > 0) return turn(at);
    if (w_.clicks == 0) {
      if (w_.seconds == 0) QCoreApplication::exit(0);
      return;
    }
    const scene::Steps& steps = session_.steps();
    if (steps.steps.empty()) return;  // the curve comes after the picture
    if (clicked_at_ != 0) {
      if (d.p != p_) return;
      // The first click goes to the lowest step, from which the others go up.
      if (clicks_ > 0) std::printf("click %.1f\n", static_cast<double>(at - clicked_at_) * 1e-6);
      ++clicks_;
    }
    if (clicks_ > w_.clicks ||
        (clicks_ > 0 && steps.current + 1 >= static_cast<std::int64_t>(steps.steps.size()))) {
      std::printf("clicked %d %zu\n", clicks_ - 1, steps.steps.size());
      return QCoreApplication::exit(0);
    }
    QTimer::singleShot(w_.pause, this, [this] { click(); });
  }

  void turn(std::int64_t at) {
    if (turned_at_ != 0) {
      if (scene::view_of(session_.data().question.view()) != view_) return;
      std::printf("turned %.1f\n", static_cast<double>(at - turned_at_) * 1e-6);
      turned_at_ = 0;
      if (++turns_ >= w_.turns) return QCoreApplication::exit(0);
    }
    if (std::exchange(waits_, true)) return;
    QTimer::singleShot(w_.pause, this, [this] {
      waits_ = false;
      view_ = view_.is_usual() ? scene::PointOfView{"rank mod 2", ""} : scene::PointOfView();
      turned_at_ = now();
      session_.set_view(view_);
    });
  }

  void click() {
    const scene::Steps& steps = session_.steps();
    const bool first = clicked_at_ == 0;
    const auto to = static_cast<std::size_t>(first ? 0 : steps.current + 1);
    p_ = steps.steps[to].ask;
    clicked_at_ = now();
    if (first)
      session_.set_p(p_);
    else
      session_.step_p(1);
  }

  const Wanted w_;
  Link link_;
  Session session_;
  Window window_;
  QTimer patience_;
  std::uint64_t painted_ = 0;
  bool asked_ = false;
  int clicks_ = 0;
  std::int64_t clicked_at_ = 0;
  double p_ = -1;
  int turns_ = 0;
  std::int64_t turned_at_ = 0;  // 0: nothing is on its way
  bool waits_ = false;
  scene::PointOfView view_;
};

// An hour of states that last 20 s, each rank on its own: there are many p.
Status make(const std::string& path, std::uint32_t ranks) {
  test::SyntheticArchive archive;
  archive.leaves = ranks;
  archive.lasts = margay::seconds(3600);
  archive.visit = margay::seconds(20);
  archive.events = false;
  if (ranks > 100) archive.levels.erase(archive.levels.begin());  // slices of a second
  return archive.write(path);
}

}  // namespace
}  // namespace margay::viewer

int main(int argc, char** argv) {
  using namespace margay::viewer;
  CLI::App app("The viewer's window without a display, which says what it shows and when.");
  std::string path;
  std::uint32_t ranks = 0;
  auto* make_it = app.add_subcommand("make", "an archive of an hour");
  make_it->add_option("path", path)->required();
  make_it->add_option("ranks", ranks)->required()->check(CLI::Range(4, 4000));
  Wanted w;
  auto* show = app.add_subcommand("show", "a run");
  show->add_option("run", w.run)->required();
  show->add_flag("--whole", w.whole);
  show->add_option("--clicks", w.clicks);
  show->add_option("--turns", w.turns);
  show->add_option("--pause", w.pause);
  show->add_option("--seconds", w.seconds);
  app.require_subcommand(1);
  CLI11_PARSE(app, argc, argv);
  if (make_it->parsed()) {
    if (const auto ok = make(path, ranks); !ok)
      return std::fprintf(stderr, "viewer_live_window: %s\n", ok.error().message.c_str()), 1;
    return 0;
  }
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  const Teller teller(w);
  return QApplication::exec();
}
