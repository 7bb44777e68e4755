// A window of a session that nobody answers, for the viewer's tests: what is looked at is in its history.
#pragma once

#include <QApplication>
#include <QTest>

#include "../scene/small_view.h"
#include "overview.h"
#include "session.h"
#include "window.h"

namespace margay::viewer {

inline ViewPtr small() {
  return std::make_shared<const scene::ViewData>(scene::SmallView().data());
}

// 1000 resources x 200 slices.
inline ViewPtr cluster() {
  std::mt19937_64 rng(7);
  return std::make_shared<const scene::ViewData>(
      *scene::view_data_untrusted(support::cluster_view(rng, 1000, 200, 3000)));
}

// Alerts are of seconds 1, 2, ...; every other one still fires.
inline wire::Report report(int alerts) {
  wire::Report r;
  r.set_run("r0");
  r.set_run_begin_ns(0);
  r.set_slice_ns(100'000'000);
  for (int i = 0; i < alerts; ++i) {
    auto& a = *r.add_alerts();
    a.set_id("r0-" + std::to_string(i));
    a.set_kind(wire::Alert::PERTURBATION);
    a.set_resolved(i % 2 != 0);
    a.set_onset_ns((i + 1) * 1'000'000'000LL);
    a.set_node("/a");
    a.add_resources("/a/r1");
    a.add_likely_cause("/a/r1");
    a.set_score_bits(i);
    a.set_message("rank <1> computes 4.0 x longer");
  }
  return r;
}

inline std::vector<terminal::AlertView> alerts_of(const wire::Report& r) {
  return terminal::read_alerts(r, 256);
}

struct Shown {
  explicit Shown(ViewPtr data = small()) : session(nullptr, scene::Theme::kLight), window(session, "r0") {
    window.resize(1280, 720);
    window.show();
    session.show(std::move(data));
    QCoreApplication::processEvents();
  }
  Overview& overview() { return window.overview(); }
  // In the picture, as shares of its width and height.
  QPoint at(double x, double y) {
    const QRectF a = overview().picture_area();
    return QPointF(a.left() + x * a.width(), a.top() + y * a.height()).toPoint();
  }
  void drag(double from, double to) {
    QTest::mousePress(&overview(), Qt::LeftButton, {}, at(from, 0.5));
    QTest::mouseMove(&overview(), at((from + to) / 2, 0.5));
    QTest::mouseMove(&overview(), at(to, 0.5));
    QTest::mouseRelease(&overview(), Qt::LeftButton, {}, at(to, 0.5));
  }
  // Of the list of states; -1: not in it.
  int row(const char* state) {
    for (int r = 0; r < window.statistics().rowCount(); ++r)
      if (window.statistics().state(r).name == state) return r;
    return -1;
  }
  void check(const char* state, bool shown) {
    StatisticsModel& model = window.statistics();
    model.setData(model.index(row(state), StatisticsModel::kName), shown ? Qt::Checked : Qt::Unchecked,
                  Qt::CheckStateRole);
  }
  // Chooses the state in the list, as arrows do.
  void choose(const char* state) {
    QTableView& table = window.states().table();
    for (int r = 0; r < table.model()->rowCount(); ++r) {
      const QModelIndex index = table.model()->index(r, StatisticsModel::kName);
      if (index.data().toString() == state) table.setCurrentIndex(index);
    }
  }
  void take(const wire::Report& r) { session.take(std::make_shared<const wire::Report>(r)); }

  Session session;
  Window window;
};

// Of a run of its own: what is kept beside runs is kept, and there is none of it here at first.
struct ShownOfRun : Shown {
  explicit ShownOfRun(const char* run) {
    wire::Report r = report(0);
    r.set_run(run);
    r.set_run_begin_ns(0);
    take(r);
    session.show(small());
    for (const auto& b : std::vector(window.notes().notes().bookmarks)) window.notes().remove(b);
    for (const auto& f : std::vector(window.notes().notes().filters)) window.notes().remove_filter(f);
    QCoreApplication::processEvents();
  }
};

}  // namespace margay::viewer
