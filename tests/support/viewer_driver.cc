// A viewer's window, driven from outside: commands come as lines on stdin, each is answered by one line of
// JSON on stdout. Mouse and keys go through the window system, as a person's do.
//
//   viewer_driver RUN [SIZE] | --connect ENDPOINT KEY [SIZE]
//
//   state                     what the window shows
//   drag FROM TO              over the picture, shares of its width
//   click X Y | dclick X Y    in the picture, shares
//   curve SHARE               a click in the quality view, share of its width
//   key KEYS                  such as Alt+Left, to the page that is seen
//   fold PATH                 a click on the triangle of a node
//   alert ROW                 a click in the list of alerts
//   event ROW                 a click in the list of events
//   only TEXT                 typed into the field for states above that list; nothing: all
//   save FILE                 what the menu's entry does
//   grab FILE                 the window, as it is, as a PNG
//   quit
//
// Ends as well when stdin does. Exit code: 0; 2 for a wrong call.
#include <poll.h>
#include <unistd.h>

#include <QApplication>
#include <QSocketNotifier>
#include <QStatusBar>
#include <QTest>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "events.h"
#include "link.h"
#include "margay/scene/time_axis.h"
#include "paint.h"
#include "session.h"
#include "window.h"

namespace margay::viewer {
namespace {

using Json = nlohmann::json;

double seconds_of(DurationNs d) {
  return static_cast<double>(d.value) / 1e9;
}

class Driver {
 public:
  Driver(Session& session, Window& window) : session_(session), window_(window) {
    QObject::connect(&session, &Session::said, &window,
                     [this](const QString& s) { said_ = s.toStdString(); });
  }

  Json obey(const std::string& line) {
    std::istringstream in(line);
    std::string what;
    in >> what;
    if (what == "state") return state();
    if (what == "drag") return drag(in);
    if (what == "click" || what == "dclick") return click(in, what == "dclick");
    if (what == "curve") return curve(in);
    if (what == "key") return key(in);
    if (what == "fold") return fold(in);
    if (what == "alert") return alert(in);
    if (what == "event") return event(in);
    if (what == "only") return only(in);
    std::string path;
    if (what == "save" && in >> path) return {{"error", window_.save(text_of(path)).toStdString()}};
    if (what == "grab" && in >> path) return {{"saved", window_.grab().save(text_of(path), "PNG")}};
    return {{"error", "unknown: " + line}};
  }

 private:
  Json state() {
    const scene::ViewData& d = session_.data();
    Json s{{"title", window_.windowTitle().toStdString()},
           {"there", session_.there()},
           {"trouble", session_.trouble().toStdString()},
           {"status", window_.status().toStdString()},
           {"said", said_},
           {"waiting", session_.waiting()},
           {"held", session_.held()},
           {"parts", d.parts.size()},
           {"slices", d.slices()},
           {"rows", session_.rows().rows.size()},
           {"steps", session_.steps().steps.size()},
           {"step", session_.steps().current},
           {"step_parts", step_parts()},
           {"drawn", window_.overview().shown().rects.size()},
           {"calls", d.visits.size()},
           {"alerts", Json::array()}};
    if (!d.empty()) {
      s["p"] = d.p;
      s["zero_ns"] = d.zero.value;
      s["from"] = seconds_of(d.range().from - d.zero);
      s["to"] = seconds_of(d.range().to - d.zero);
      s["node"] = d.nodes[0].path;
      s["nodes"] = Json::array();
      for (const scene::Node& n : d.nodes) s["nodes"].push_back(n.path);
    }
    if (const auto& chosen = session_.selection(); chosen && chosen->node < d.nodes.size()) {
      s["selected"] = d.nodes[chosen->node].path;
      s["selected_from"] = seconds_of(d.boundaries[chosen->first] - d.zero);
      s["selected_to"] = seconds_of(d.boundaries[chosen->last] - d.zero);
    }
    if (const wire::Report* r = session_.report()) {
      s["run"] = r->run();
      s["phases"] = r->phases_size();
      s["closed"] = seconds_of(TimeNs(r->watermark_ns()) - TimeNs(r->run_begin_ns()));
    }
    s["page"] = window_.views().tabText(window_.views().currentIndex()).toStdString();
    s["events"] = events();
    const QAbstractItemModel* model = window_.alert_list().model();
    for (int row = 0; row < model->rowCount(); ++row) {
      Json cells = Json::array();
      for (int column = 0; column < model->columnCount(); ++column)
        cells.push_back(model->index(row, column).data().toString().toStdString());
      s["alerts"].push_back(cells);
    }
    return s;
  }

  Json events() {
    const EventModel& model = list().model();
    const scene::EventPages& pages = model.pages();
    Json out{{"rows", model.rowCount()},
             {"reading", pages.reading()},
             {"complete", pages.complete()},
             {"status", list().status().toStdString()},
             {"from_ns", pages.subject().time.from.value},
             {"to_ns", pages.subject().time.to.value},
             {"first", Json::array()}};
    for (int row = 0; row < std::min(model.rowCount(), 50); ++row) {
      Json cells = Json::array();
      for (int column = 0; column < model.columnCount(); ++column)
        cells.push_back(model.index(row, column).data().toString().trimmed().toStdString());
      out["first"].push_back(cells);
    }
    return out;
  }
  EventsView& list() { return *window_.views().findChild<EventsView*>(); }

  // Of the step of the curve that is marked.
  std::int64_t step_parts() const {
    const scene::Steps& steps = session_.steps();
    return steps.current < 0
               ? -1
               : static_cast<std::int64_t>(steps.steps[static_cast<std::size_t>(steps.current)].parts);
  }
  QPoint at(double x, double y) const {
    const QRectF a = window_.overview().picture_area();
    return QPointF(a.left() + x * a.width(), a.top() + y * a.height()).toPoint();
  }

  Json drag(std::istringstream& in) {
    double from = 0, to = 0;
    if (!(in >> from >> to)) return {{"error", "drag FROM TO"}};
    Overview& o = window_.overview();
    QTest::mousePress(&o, Qt::LeftButton, {}, at(from, 0.5));
    QTest::mouseMove(&o, at((from + to) / 2, 0.5));
    QTest::mouseMove(&o, at(to, 0.5));
    QTest::mouseRelease(&o, Qt::LeftButton, {}, at(to, 0.5));
    return {{"done", true}};
  }
  Json click(std::istringstream& in, bool twice) {
    double x = 0, y = 0;
    if (!(in >> x >> y)) return {{"error", "click X Y"}};
    if (twice)
      QTest::mouseDClick(&window_.overview(), Qt::LeftButton, {}, at(x, y));
    else
      QTest::mouseClick(&window_.overview(), Qt::LeftButton, {}, at(x, y));
    return {{"done", true}};
  }
  Json curve(std::istringstream& in) {
    double share = 0;
    if (!(in >> share)) return {{"error", "curve SHARE"}};
    QualityView& q = window_.quality();
    QTest::mouseClick(&q, Qt::LeftButton, {}, QPointF(share * q.width(), 0.5 * q.height()).toPoint());
    return {{"done", true}};
  }
  Json key(std::istringstream& in) {
    std::string keys;
    std::getline(in >> std::ws, keys);
    const QKeySequence sequence(text_of(keys));
    if (sequence.isEmpty()) return {{"error", "no such keys: " + keys}};
    QWidget* page = window_.views().current();
    page->setFocus();
    QTest::keySequence(page->focusProxy() != nullptr ? page->focusProxy() : page, sequence);
    return {{"done", true}};
  }
  Json event(std::istringstream& in) {
    int row = -1;
    in >> row;
    QTableView& table = list().table();
    if (row < 0 || row >= table.model()->rowCount()) return {{"error", "no such event"}};
    const QModelIndex index = table.model()->index(row, 2);
    table.scrollTo(index);
    QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualRect(index).center());
    return {{"done", true}};
  }
  Json only(std::istringstream& in) {
    std::string text;
    std::getline(in >> std::ws, text);
    QLineEdit& field = list().filter().name();
    field.setFocus();
    field.selectAll();
    QTest::keyClick(&field, Qt::Key_Delete);
    QTest::keyClicks(&field, text_of(text));
    QTest::keyClick(&field, Qt::Key_Return);
    return {{"done", true}};
  }
  Json fold(std::istringstream& in) {
    std::string path;
    std::getline(in >> std::ws, path);
    const Overview& o = window_.overview();
    const QRectF labels(0, 0, o.picture_area().left(), o.picture_area().height());
    for (const scene::Row& r : session_.rows().spans)
      if (session_.data().nodes[r.node].path == path) {
        QTest::mouseClick(&window_.overview(), Qt::LeftButton, {},
                          fold_mark(labels, r, session_.scroll()).center().toPoint());
        return {{"done", true}};
      }
    return {{"error", "no triangle of " + path}};
  }
  Json alert(std::istringstream& in) {
    int row = -1;
    in >> row;
    QTableView& list = window_.alert_list();
    if (row < 0 || row >= list.model()->rowCount()) return {{"error", "no such alert"}};
    const QModelIndex index = list.model()->index(row, AlertModel::kNode);
    list.scrollTo(index);
    QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, list.visualRect(index).center());
    return {{"done", true}};
  }

  Session& session_;
  Window& window_;
  std::string said_;
};

int drive(const LinkTo& to, const QSize& size) {
  Link link(to);
  Session session(&link, scene::Theme::kLight);
  session.set_calls(Session::Calls::kCloser);  // as the program does
  Window window(session, text_of(to.run.empty() ? to.connect : to.run));
  window.resize(size);
  window.show();
  // Keys reach the menus of an active window only.
  window.activateWindow();
  if (!QTest::qWaitForWindowActive(&window))
    return std::fputs("viewer_driver: the window is not shown\n", stderr), 1;
  Driver driver(session, window);
  QSocketNotifier input(STDIN_FILENO, QSocketNotifier::Read);
  std::string pending;
  bool more = true;
  while (more) {
    QApplication::processEvents(QEventLoop::WaitForMoreEvents);
    if (pollfd ready{STDIN_FILENO, POLLIN, 0}; ::poll(&ready, 1, 0) <= 0) continue;
    std::array<char, 4096> some{};
    const ssize_t n = ::read(STDIN_FILENO, some.data(), some.size());
    if (n <= 0) break;
    pending.append(some.data(), static_cast<std::size_t>(n));
    for (auto end = pending.find('\n'); end != std::string::npos && more; end = pending.find('\n')) {
      const std::string line = pending.substr(0, end);
      pending.erase(0, end + 1);
      more = line != "quit";
      const Json reply = more ? driver.obey(line) : Json{{"done", true}};
      std::printf("%s\n", reply.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace margay::viewer

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  std::vector<std::string> words(argv + 1, argv + argc);
  margay::viewer::LinkTo to;
  QSize size(1280, 720);
  if (!words.empty() && words.back().find('x') != std::string::npos && std::isdigit(words.back()[0]) != 0) {
    const QStringList sides = QString::fromStdString(words.back()).split('x');
    size = QSize(sides[0].toInt(), sides[1].toInt());
    words.pop_back();
  }
  if (words.size() == 3 && words[0] == "--connect")
    to.connect = words[1], to.key = words[2];
  else if (words.size() == 1)
    to.run = words[0];
  else
    return std::fputs("usage: viewer_driver RUN [SIZE] | --connect ENDPOINT KEY [SIZE]\n", stderr), 2;
  return margay::viewer::drive(to, size);
}
