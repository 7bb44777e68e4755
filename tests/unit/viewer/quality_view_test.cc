// The curve of gain and loss over p: what is hit is what is drawn, and what is said of it.
#include "quality_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QToolTip>
#include <cmath>
#include <map>
#include <utility>

#include "name_cache.h"
#include "paint.h"
#include "shown.h"
#include "widgets.h"

namespace margay::viewer {
namespace quality_view_test {

using testing::HasSubstr;

// Steps as runs have them: of n most lie near 0.
ViewPtr with_curve(int n, double p = 1) {
  auto data = std::make_shared<scene::ViewData>(scene::SmallView().data());
  for (int i = 0; i < n; ++i)
    data->curve.push_back({i == 0 ? 0 : std::pow(10, -6 + 6.0 * i / n), 1000.0 * i / n, 500.0 * i * i / n / n,
                           static_cast<std::uint32_t>(n - i)});
  data->curve_complete = true;
  data->p = p;
  return data;
}

struct Curve {
  explicit Curve(ViewPtr data, QSize size = {260, 170})
      : session(nullptr, scene::Theme::kLight), view(session) {
    view.resize(size);
    view.show();
    session.show(std::move(data));
    QCoreApplication::processEvents();
  }
  QImage picture() { return view.grab().toImage(); }
  // What is seen of each column between the curves: kCovered where one of them hides it all.
  enum Ground { kCovered, kPlain, kShaded };
  std::vector<Ground> grounds() {
    const QImage image = picture();
    const QRect box = view.plot().box().toRect();
    QImage patch(1, 1, image.format());
    patch.fill(colour_of(session.palette().background()));
    const QRgb plain = patch.pixel(0, 0);
    QPainter(&patch).fillRect(0, 0, 1, 1, current_shade(session.palette()));
    const QRgb shaded = patch.pixel(0, 0);
    std::vector<Ground> out(static_cast<std::size_t>(image.width()), kCovered);
    for (int x = 0; x < image.width(); ++x)
      for (int y = box.top() + 2; y < box.bottom() - 2; ++y) {
        const QRgb pixel = image.pixel(x, y);
        if (pixel == plain || pixel == shaded)
          out[static_cast<std::size_t>(x)] = pixel == plain ? kPlain : kShaded;
      }
    return out;
  }
  void click(int x, Qt::MouseButton button = Qt::LeftButton) {
    QTest::mouseClick(&view, button, {}, {x, view.height() / 2});
  }
  void wheel(int notches) {
    const QPointF at(view.width() / 2.0, view.height() / 2.0);
    QWheelEvent event(at, view.mapToGlobal(at), {}, {0, 120 * notches}, {}, {}, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&view, &event);
  }
  std::int64_t current() const { return session.steps().current; }

  Session session;
  QualityView view;
};

// Every column: a click there shades it, and whatever is shaded then leads to the same step.
TEST(QualityView, WhatIsHitIsWhatIsDrawn) {
  for (const int n : {1, 2, 30, 55}) {
    Curve c(with_curve(n));
    const QRectF box = c.view.plot().box();
    std::map<std::int64_t, int> columns;
    std::map<std::int64_t, std::vector<Curve::Ground>> drawn;
    for (int x = static_cast<int>(box.left()) + 1; x < box.right() - 1; ++x) {
      c.click(x);
      ++columns[c.current()];
      const auto& grounds = drawn.try_emplace(c.current(), c.grounds()).first->second;
      EXPECT_NE(grounds[static_cast<std::size_t>(x)], Curve::kPlain) << n << " steps, at " << x;
    }
    int shaded = 0;
    for (const auto& [step, grounds] : drawn)
      for (int x = static_cast<int>(box.left()) + 1; x < box.right() - 1; ++x) {
        if (grounds[static_cast<std::size_t>(x)] != Curve::kShaded) continue;
        EXPECT_EQ(c.view.step_at({static_cast<double>(x), box.center().y()}), step) << n << " at " << x;
        ++shaded;
      }
    EXPECT_GT(shaded, box.width() - 2 * n - 10) << "all but what the curves cover";
    // None is without some pixels of its own.
    ASSERT_EQ(columns.size(), static_cast<std::size_t>(n));
    for (const auto& [step, count] : columns) EXPECT_GE(count, 3) << "step " << step << " of " << n;
  }
}

TEST(QualityView, XIsP) {
  Curve c(with_curve(30));
  const QualityPlot plot = c.view.plot();
  for (const double p : {0.0, 0.01, 0.3, 0.7, 1.0}) {
    const double x = plot.box().left() + plot.box().width() * plot.scale().x_of(p);
    EXPECT_EQ(plot.step_at(x), scene::step_at(c.session.steps(), p)) << p;
  }
  // The last step is long in p: it has more of the axis than the first.
  EXPECT_GT(plot.room(29).width(), 1.5 * plot.room(0).width());
}

TEST(QualityView, AClickAsksForTheMiddleOfItsStep) {
  Curve c(with_curve(12));
  const scene::Steps steps = c.session.steps();
  for (std::size_t k = 0; k < 12; ++k) {
    c.click(static_cast<int>(c.view.plot().room(k).center().x()));
    ASSERT_TRUE(c.session.subject().p);
    EXPECT_EQ(*c.session.subject().p, steps.steps[k].ask);
  }
  // Beside the curves: the first and the last.
  c.click(0);
  EXPECT_EQ(c.current(), 0);
  c.click(c.view.width() - 1);
  EXPECT_EQ(c.current(), 11);
  c.click(0, Qt::RightButton);
  EXPECT_EQ(c.current(), 11);
}

TEST(QualityView, WheelAndKeysGoOnFromTheStepThatWasHit) {
  Curve c(with_curve(12));
  c.click(static_cast<int>(c.view.plot().room(5).center().x()));
  c.wheel(1);
  EXPECT_EQ(c.current(), 6);
  c.wheel(-1);
  c.wheel(-1);
  EXPECT_EQ(c.current(), 4);
  EXPECT_EQ(*c.session.subject().p, c.session.steps().steps[4].ask);
  QTest::keyClick(&c.view, Qt::Key_Left);
  EXPECT_EQ(c.current(), 3);
  QTest::keyClick(&c.view, Qt::Key_End);
  EXPECT_EQ(c.current(), 11);
}

TEST(QualityView, UnderTheMouseAStepSaysAllOfItself) {
  Curve c(with_curve(10, 0.5));
  const QImage before = c.picture();
  const QRectF room = c.view.plot().room(4);
  QTest::mouseMove(&c.view, room.center().toPoint());
  EXPECT_NE(c.picture(), before) << "it is framed, and the line below is of it";
  const std::string told = c.view.details(4).toStdString();
  EXPECT_THAT(told, HasSubstr("p 0.0002512 to 0.001: 6 parts"));
  EXPECT_THAT(told, HasSubstr("gain 400 bits, 44 % of the whole's"));
  EXPECT_THAT(told, HasSubstr("loss 80 bits, 20 % of the whole's"));
  QHelpEvent help(QEvent::ToolTip, room.center().toPoint(), c.view.mapToGlobal(room.center().toPoint()));
  QApplication::sendEvent(&c.view, &help);
  EXPECT_EQ(QToolTip::text().toStdString(), told);
  EXPECT_THAT(c.view.details(c.current()).toStdString(), HasSubstr("the picture shows this one"));
  EXPECT_THAT(c.view.details(c.session.steps().jump).toStdString(), HasSubstr("policy jump"));
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(&c.view, &leave);
  EXPECT_EQ(c.picture(), before);
}

TEST(QualityView, WithoutStepsNothingIsHit) {
  Curve c(small());
  c.click(100);
  c.wheel(1);
  QTest::mouseMove(&c.view, {100, 80});
  QHelpEvent help(QEvent::ToolTip, {100, 80}, {100, 80});
  QApplication::sendEvent(&c.view, &help);
  EXPECT_FALSE(c.session.subject().p);
  EXPECT_EQ(c.view.step_at({100, 80}), -1);
  EXPECT_FALSE(c.picture().isNull());
}

TEST(QualityView, MoreStepsThanPixelsAreHitAllTheSame) {
  Curve c(with_curve(5000));
  const QRectF box = c.view.plot().box();
  std::int64_t before = -1;
  for (int x = static_cast<int>(box.left()) + 1; x < box.right(); ++x) {
    c.click(x);
    EXPECT_GT(c.current(), before) << x;
    before = c.current();
  }
}

// How often something is painted.
struct Paints : QObject {
  explicit Paints(QWidget& widget) { widget.installEventFilter(this); }
  int since() {
    QCoreApplication::processEvents();
    return std::exchange(count, 0);
  }
  bool eventFilter(QObject*, QEvent* event) override {
    count += event->type() == QEvent::Paint;
    return false;
  }
  int count = 0;
};

// Where one looks is nothing to them.
TEST(QualityView, IsPaintedAnewWithItsStepsAndColoursNotWithEachZoom) {
  Shown s(with_curve(20));
  auto* view = s.window.findChild<QualityView*>();
  auto* legend = s.window.findChild<MarkLegend*>();
  ASSERT_TRUE(view != nullptr && legend != nullptr);
  Paints curve(*view), marks(*legend), picture(s.overview());
  curve.since(), marks.since(), picture.since();
  s.session.zoom_by(2, s.session.time().from);
  EXPECT_GT(picture.since(), 0);
  EXPECT_EQ(curve.since(), 0);
  EXPECT_EQ(marks.since(), 0);
  s.session.set_theme(scene::Theme::kDark);
  EXPECT_GT(curve.since(), 0);
  EXPECT_GT(marks.since(), 0);
  s.session.set_hues(scene::Hues::kTol);
  EXPECT_GT(curve.since(), 0) << "of a window's colours, which Qt paints anew by itself, nothing has changed";
  EXPECT_GT(marks.since(), 0);
  s.session.show(with_curve(20, 1e-5));
  EXPECT_GT(curve.since(), 0) << "another step is shown";
  s.session.show(with_curve(12, 1e-5));
  EXPECT_GT(curve.since(), 0) << "there are others";
  s.session.set_states({"Compute"});
  EXPECT_GT(marks.since(), 0) << "what is hatched may be left out";
}

// Laid out once, as long as the font is the same.
TEST(NameCache, KeepsNamesOfOneFontAndWidth) {
  NameCache names;
  const QFont font = QApplication::font();
  const QStaticText* first = &names.name(font, "MPI_Allreduce", 500.7);
  EXPECT_EQ(first->text(), "MPI_Allreduce");
  EXPECT_EQ(&names.name(font, "MPI_Allreduce", 500.1), first);
  const QString elided = names.name(font, "MPI_Allreduce", 50).text();
  EXPECT_LT(elided.size(), 13);
  EXPECT_THAT(elided.toStdString(), HasSubstr("\xe2\x80\xa6")) << "three dots";
  EXPECT_EQ(names.name(font, "MPI_Allreduce", 50, elided.size()).text(), " ");
  EXPECT_EQ(names.name(font, "MPI_Allreduce", 50, 0, Qt::ElideRight).text().back(), QChar(0x2026));
  EXPECT_EQ(names.name(font, "MPI_Allreduce", -3).text(), " ");
  QFont larger = font;
  larger.setPixelSize(40);
  EXPECT_LT(names.name(larger, "MPI_Allreduce", 50).text().size(), elided.size());
  for (std::size_t i = 0; i < 2 * NameCache::kMost; ++i) names.name(font, std::to_string(i), 100);
  EXPECT_EQ(names.name(font, "MPI_Allreduce", 50).text(), elided);
}

}  // namespace quality_view_test
}  // namespace margay::viewer
