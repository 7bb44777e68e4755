// What a frame of the viewer's window costs, from the event to the painted picture, without a display:
//
//   build/release/tests/bench/viewer_bench [FRAMES [PICTURE]]
//
// PICTURE, from 1 on: only that one of those below, as for a profile.
//
// A frame is a wheel notch, a key or a move of the mouse, what it makes the window compute, and the painting
// of all that has changed, in a window of 1920 x 1080 on Qt's offscreen platform. Of each kind of step at
// least FRAMES (300) are made over answers of 1000 resources x 1000 slices (bound: 95 of 100 within 8 ms of
// CPU time, as 120 frames a second want) and of 100,000 x 1000 (25 ms), of many parts and of few, and with as
// many single calls as a window asks for and the messages between them (16 ms). `fill` is the cost of the
// least there is to do: filling the same rectangles with plain colours; the last column is the median frame
// over it. `p` is an answer at another p that has come, until it is painted (bound: 100 ms, of which this is
// the viewer's part). `map time` and `map depth` are of the treemap's page (bound: 60 frames a second), as is
// `graph moves` of the topology's. What others take of the cores is in the other figures. At the end 1000
// answers follow each other: what the process has of memory before and after. The exit code is 1 where a
// bound was missed. MARGAY_PICTURES=DIR keeps what each kind of step showed last.
#include <QApplication>
#include <QKeyEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "overview.h"
#include "session.h"
#include "synthetic_view.h"
#include "topology.h"
#include "treemap.h"
#include "window.h"

namespace margay::viewer {
namespace {

constexpr int kPictures = 1000;     // for the memory
constexpr double kMostGrowth = 32;  // MiB, of that many

double milliseconds_of(const std::function<void()>& what) {
  const auto begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// Of this thread, ms: what others take of the cores is not in it.
double cpu() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

double at(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto i = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(i, values.size() - 1)];
}

// MiB.
double resident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return 0;
}

// So many visits, as many of each leaf, one after the other, of any length; and for every fourth a message.
void add_calls(std::mt19937_64& rng, std::size_t calls, wire::ViewAnswer& answer) {
  std::vector<std::uint32_t> leaves;
  for (int i = 0; i < answer.nodes_size(); ++i)
    if (i + 1 == answer.nodes_size() || answer.nodes(i + 1).parent() != static_cast<std::uint32_t>(i))
      leaves.push_back(static_cast<std::uint32_t>(i));
  // Of what is absent or not known there are no visits.
  std::vector<std::uint32_t> states;
  for (int i = 0; i < answer.states_size(); ++i)
    if (const auto f = static_cast<wire::StateFamily>(answer.states(i).family());
        f != wire::FAMILY_ABSENT && f != wire::FAMILY_UNKNOWN)
      states.push_back(static_cast<std::uint32_t>(i));
  const auto length =
      static_cast<double>(answer.boundaries(answer.boundaries_size() - 1) - answer.boundaries(0));
  const std::size_t each = calls / leaves.size();
  std::vector<double> ends(each + 1);
  std::uniform_real_distribution<double> part(0, 1);
  for (const std::uint32_t leaf : leaves) {
    for (double& e : ends) e = part(rng);
    ends.front() = 0, ends.back() = 1;
    std::sort(ends.begin(), ends.end());
    for (std::size_t i = 0; i < each; ++i) {
      wire::ViewVisits& v = *answer.mutable_visits();
      v.add_node(leaf), v.add_state(states[rng() % states.size()]);
      v.add_begin_ns(static_cast<std::int64_t>(ends[i] * length));
      v.add_length_ns(static_cast<std::uint64_t>((ends[i + 1] - ends[i]) * length));
      v.add_depth(0), v.add_flags(0);
    }
  }
  for (std::size_t i = 0; i < calls / 4; ++i) {
    wire::ViewMessages& m = *answer.mutable_messages();
    m.add_from(leaves[rng() % leaves.size()]), m.add_to(leaves[rng() % leaves.size()]);
    m.add_sent_ns(static_cast<std::int64_t>(part(rng) * length));
    m.add_took_ns(static_cast<std::int64_t>(part(rng) * length / 100));
    m.add_bytes(1), m.add_tag(1), m.add_flags(0);
  }
}

ViewPtr view(std::uint64_t seed, std::size_t leaves, std::size_t slices, std::size_t parts,
             std::size_t calls = 0) {
  std::mt19937_64 rng(seed);
  wire::ViewAnswer answer = support::cluster_view(rng, leaves, slices, parts);
  if (calls > 0) add_calls(rng, calls, answer);
  auto data = scene::view_data_untrusted(answer);
  if (!data) {
    std::fprintf(stderr, "viewer_bench: %s\n", data.error().message.c_str());
    std::exit(2);
  }
  // A curve as long as they are: the quality view draws it.
  for (int i = 0; i < 200; ++i)
    data->curve.push_back(
        {i / 200.0, 1000.0 * i, 10.0 * i * i, static_cast<std::uint32_t>(60'000 - 300 * i)});
  data->p = static_cast<double>(seed % 10) / 10;
  return std::make_shared<const scene::ViewData>(std::move(*data));
}

// Counts the pictures.
class Paints : public QObject {
 public:
  int count = 0;
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() == QEvent::Paint) ++count;
    return false;
  }
};

class Bench {
 public:
  Bench(ViewPtr a, ViewPtr b, double bound, int frames)
      : a_(std::move(a)), b_(std::move(b)), bound_(bound), frames_(frames) {
    window_.resize(1920, 1080);
    window_.show();
    window_.overview().installEventFilter(&paints_);
    session_.show(a_);
    QCoreApplication::processEvents();
    paint();
  }

  void all() {
    std::printf(
        "%u resources x %zu slices, %zu parts, %zu calls: ms, median, 95 of 100, most; 95 of 100 in CPU "
        "time\n",
        a_->leaves(), a_->slices(), a_->parts.size(), a_->visits.size());
    const scene::TimeRange all = a_->range();
    const DurationNs length = all.to - all.from;
    // The middle quarter: from there one can go both ways.
    const scene::TimeRange near{all.from + DurationNs(length.value * 3 / 8),
                                all.from + DurationNs(length.value * 5 / 8)};
    run("scroll time", near, bound_, [&](int i) { key(i % 12 < 6 ? Qt::Key_Right : Qt::Key_Left); });
    run("zoom time", all, bound_, [&](int i) { wheel(i % 20 < 10 ? 120 : -120, Qt::NoModifier); });
    for (int i = 0; i < 8; ++i) wheel(120, Qt::ControlModifier);
    run("scroll rows", all, bound_, [&](int i) { wheel(i % 20 < 10 ? 120 : -120, Qt::ShiftModifier); });
    session_.set_scroll({});
    run("zoom rows", all, bound_, [&](int i) { wheel(i % 20 < 10 ? 120 : -120, Qt::ControlModifier); });
    session_.set_scroll({});
    run("hover", all, bound_, [&](int i) { move(i); });
    run("p", all, 100, [&](int i) { session_.show(i % 2 ? a_ : b_); });
    auto* page = window_.views().findChild<TreemapView*>();
    window_.views().setCurrentWidget(page);
    page->map().installEventFilter(&paints_);
    const auto slice = [&](int i) {
      return static_cast<std::uint32_t>(i * 7 % static_cast<int>(a_->slices()));
    };
    run_map(*page, "map time", [&](int i) {
      session_.select(Session::Selection{0, slice(i), slice(i) + 1});
    });
    run_map(*page, "map depth", [&](int i) { page->map().set_depth(i % 2 ? 2 : 99); });
  }
  // The page of the topology alone.
  void graph() {
    auto* page = window_.views().findChild<TopologyView*>();
    window_.views().setCurrentWidget(page);
    page->graph().installEventFilter(&paints_);
    run_graph(*page, "graph moves");
  }
  bool missed() const { return missed_; }

 private:
  // What Qt does when a screen is to be drawn anew: paints what has changed, and nothing else.
  void paint() {
    QCoreApplication::sendPostedEvents();
    QEvent update(QEvent::UpdateRequest);
    QApplication::sendEvent(&window_, &update);
  }

  struct Times {
    std::vector<double> frames, cpus;
  };
  // Each step, and the painting of what it changed; `after` them, by their number.
  Times timed(const char* what, const std::function<void(int)>& step,
              const std::function<void(int)>& after = {}) {
    Times out;
    const int painted = paints_.count;
    for (int i = 0; i < frames_; ++i) {
      const double before = cpu();
      out.frames.push_back(milliseconds_of([&] {
        step(i);
        paint();
      }));
      out.cpus.push_back(cpu() - before);
      if (after) after(i);
    }
    // A step of a mouse may stay within its rectangle; all others show something else.
    if (paints_.count - painted < frames_ / 2) {
      std::fprintf(stderr, "viewer_bench: %s: %d pictures of %d steps\n", what, paints_.count - painted,
                   frames_);
      std::exit(2);
    }
    return out;
  }

  // The begin of a line, and the picture.
  void tell(const char* what, const Times& t, double bound, std::size_t rectangles) {
    const double in_cpu = at(t.cpus, 0.95);
    missed_ = missed_ || in_cpu > bound;
    std::printf("  %-12s %7.1f %7.1f %7.1f %7.1f   bound %3.0f %-6s  %6zu rectangles", what,
                at(t.frames, 0.5), at(t.frames, 0.95), at(t.frames, 1), in_cpu, bound,
                in_cpu <= bound ? "met" : "MISSED", rectangles);
    if (const QString folder = qEnvironmentVariable("MARGAY_PICTURES"); !folder.isEmpty())
      window_.grab().save(QString("%1/frame-%2-%3-%4.png")
                              .arg(folder)
                              .arg(a_->leaves())
                              .arg(a_->parts.size())
                              .arg(QString(what).replace(' ', '-')));
  }

  void run(const char* what, scene::TimeRange from, double bound, const std::function<void(int)>& step) {
    session_.show(a_);
    session_.zoom_to(from);
    paint();
    std::vector<double> fills;
    const Times t = timed(what, step, [&](int i) {
      if (i % 30 == 0) fills.push_back(fill());
    });
    const double filling = at(fills, 0.5);
    tell(what, t, bound, window_.overview().shown().rects.size());
    std::printf(", fill %5.1f ms, %5.1f x\n", filling, at(t.frames, 0.5) / filling);
    std::fflush(stdout);
  }

  // The page of the treemap, as 60 frames a second want.
  void run_map(TreemapView& page, const char* what, const std::function<void(int)>& step) {
    session_.show(a_);
    paint();
    const Times t = timed(what, step);
    tell(what, t, 1000.0 / 60, page.map().sheet().cells().size());
    std::puts("");
    std::fflush(stdout);
  }

  // The page of the topology while it moves: links between neighbours in two directions, and some across.
  void run_graph(TopologyView& page, const char* what) {
    session_.show(a_);
    if (!page.source().ask() || !page.source().asked()) return;
    wire::EventsAnswer answer;
    *answer.mutable_question() = *page.source().asked();
    answer.set_token(page.source().asked()->token());
    std::vector<int> leaves;
    for (const scene::Node& n : a_->nodes)
      if (n.leaf_count == 1 && n.depth > 0) answer.add_resources(n.path);
    const int count = answer.resources_size();
    const auto link = [&](int from, int to, std::uint64_t bytes) {
      wire::EventsSum& s = *answer.add_sums();
      s.set_from(static_cast<std::uint32_t>(from)), s.set_to(static_cast<std::uint32_t>(to % count));
      s.set_count(1), s.set_single(1), s.set_bytes(bytes);
    };
    for (int i = 0; i < count; ++i)
      link(i, i + 1, 1 << 20), link(i, i + 70, 1 << 18), link(i, i * 7 + 13, 64);
    auto sums = scene::event_sums_untrusted(answer);
    if (!sums) return std::puts(sums.error().message.c_str()), static_cast<void>(0);
    session_.take_sums(std::make_shared<const scene::EventSums>(std::move(*sums)));
    paint();
    const Times t = timed(what, [&](int) {
      if (!page.graph().step()) page.graph().layout().warm_up();
    });
    tell(what, t, 1000.0 / 60, page.graph().topology().nodes.size());
    std::printf(", %zu links\n", page.graph().topology().links.size());
    std::fflush(stdout);
  }

  double fill() {
    const QRectF area = window_.overview().picture_area();
    QImage image(area.size().toSize(), QImage::Format_RGB32);
    QPainter p(&image);
    return milliseconds_of([&] {
      p.fillRect(image.rect(), Qt::white);
      QRgb colour = 0xff204060;
      for (const scene::Rect& r : window_.overview().shown().rects)
        p.fillRect(QRectF(QPointF(r.x0, r.y0), QPointF(r.x1, r.y1)), QColor(colour += 77));
    });
  }

  QPointF middle() {
    const QRectF a = window_.overview().picture_area();
    return {a.left() + 0.4 * a.width(), a.top() + 0.4 * a.height()};
  }
  void wheel(int by, Qt::KeyboardModifiers with) {
    const QPointF at = middle();
    QWheelEvent event(at, window_.overview().mapToGlobal(at), {}, {0, by}, Qt::NoButton, with,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&window_.overview(), &event);
  }
  // As the menu's action of that key does.
  void key(Qt::Key key) { session_.pan_by(key == Qt::Key_Left ? -0.25 : 0.25); }
  void move(int i) {
    const QRectF a = window_.overview().picture_area();
    const QPointF at(a.left() + a.width() * (i * 37 % 100) / 100,
                     a.top() + a.height() * (i * 53 % 100) / 100);
    QMouseEvent event(QEvent::MouseMove, at, window_.overview().mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                      Qt::NoModifier);
    QApplication::sendEvent(&window_.overview(), &event);
  }

  ViewPtr a_, b_;
  const double bound_;
  const int frames_;
  bool missed_ = false;
  Paints paints_;
  Session session_{nullptr, scene::Theme::kLight};
  Window window_{session_, "bench"};
};

// Answers that come one after the other, each made anew, as those of a run that goes on.
bool memory() {
  Session session(nullptr, scene::Theme::kLight);
  Window window(session, "bench");
  window.resize(1920, 1080);
  window.show();
  double before = 0;
  for (int i = 0; i < kPictures + 100; ++i) {
    if (i == 100) before = resident();
    session.show(view(static_cast<std::uint64_t>(i % 16), 256, 256, 5000));
    QCoreApplication::sendPostedEvents();
    QEvent update(QEvent::UpdateRequest);
    QApplication::sendEvent(&window, &update);
  }
  const double after = resident();
  const bool met = after - before <= kMostGrowth;
  std::printf("memory: %.1f MiB before %d pictures, %.1f MiB after, bound %.0f more: %s\n", before, kPictures,
              after, kMostGrowth, met ? "met" : "MISSED");
  return met;
}

int run(int frames, int only) {
  bool missed = false;
  int picture = 0;
  const auto bench = [&](std::size_t leaves, std::size_t parts, double bound, std::size_t calls = 0) {
    if (++picture != only && only != 0) return;
    Bench one(view(1, leaves, 1000, parts, calls), view(2, leaves, 1000, parts, calls), bound, frames);
    one.all();
    missed = missed || one.missed();
  };
  bench(1000, 65'000, 8);
  bench(1000, 2'000, 8);
  bench(16, 2000, 8);
  for (const std::size_t leaves : {16, 1000}) bench(leaves, 2000, 16, Session::kMostCalls);
  bench(100'000, 65'000, 25);
  bench(100'000, 6'250, 25);
  if (++picture == only || only == 0) {
    Bench graph(view(1, 5000, 1000, 2000), view(2, 5000, 1000, 2000), 8, frames);
    graph.graph();
    missed = missed || graph.missed();
  }
  if (only < 0 || only > picture) {
    std::fprintf(stderr, "viewer_bench: there is no picture %d; they are 1 to %d\n", only, picture);
    return 2;
  }
  return (only != 0 || memory()) && !missed ? 0 : 1;
}

}  // namespace
}  // namespace margay::viewer

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const int frames = argc > 1 ? std::max(60, std::atoi(argv[1])) : 300;
  const QApplication application(argc, argv);
  return margay::viewer::run(frames, argc > 2 ? std::atoi(argv[2]) : 0);
}
