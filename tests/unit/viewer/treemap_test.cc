// The page of the treemap: what is selected in it, how deep it is, which time it is of, and its picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QComboBox>
#include <QImage>
#include <QWheelEvent>

#include "picture_kind.h"
#include "shown.h"
#include "treemap.h"

namespace margay::viewer {
namespace treemap_test {

using testing::HasSubstr;

// The window on its page.
struct Map : Shown {
  explicit Map(ViewPtr data = small()) : Shown(std::move(data)), view(window.findChild<TreemapView*>()) {
    auto* pages = window.findChild<ViewStack*>();
    pages->setCurrentWidget(view);
    QCoreApplication::processEvents();
  }
  MapWidget& map() { return view->map(); }
  std::uint32_t at(const char* path) {
    return static_cast<std::uint32_t>(scene::node_at(session.data(), path));
  }
  QPoint middle(const char* path) {
    const scene::TreemapCell* c = map().sheet().of(at(path));
    return map().sheet().rect(*c).center().toPoint();
  }
  void wheel(int by) {
    const QPointF p = map().rect().center();
    QWheelEvent e(p, map().mapToGlobal(p), {}, {0, 120 * by}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                  false);
    QCoreApplication::sendEvent(&map(), &e);
  }
  // The share of a state in a cell, as its words say it.
  std::string words(const char* path) {
    return map().sheet().text(*map().sheet().of(at(path))).toStdString();
  }
  TreemapView* view;
};

TEST(Treemap, AClickSelectsADoubleClickGoesInto) {
  Map m;
  QTest::mouseClick(&m.map(), Qt::LeftButton, {}, m.middle("/a/r1"));
  ASSERT_TRUE(m.session.selection());
  EXPECT_EQ(m.session.selection()->node, m.at("/a/r1"));
  EXPECT_EQ(m.session.selection()->last, 4u);
  QTest::mouseDClick(&m.map(), Qt::LeftButton, {}, m.middle("/b/r2"));
  EXPECT_EQ(m.session.subject().node, "/b/r2");
}

TEST(Treemap, TheWheelShowsFewerLevelsOrMore) {
  Map m;
  EXPECT_EQ(m.map().depth(), 2u);
  EXPECT_EQ(m.map().sheet().cells().size(), 7u);
  m.wheel(-1);
  EXPECT_EQ(m.map().depth(), 1u);
  EXPECT_EQ(m.map().sheet().cells().size(), 3u);
  m.wheel(-1);
  EXPECT_EQ(m.map().depth(), 1u) << "one level at least";
  m.wheel(1), m.wheel(1);
  EXPECT_EQ(m.map().depth(), 2u);
}

// All pages look at the same time.
TEST(Treemap, AlongTheTimeLineItShowsTheSliceUnderTheHand) {
  Map m;
  m.session.select(Session::Selection{m.at("/a"), 0, 4});
  MapTimeLine& line = m.view->time_line();
  const auto x = [&](double share) {
    const QRectF a = line.area();
    return QPointF(a.left() + share * a.width(), a.center().y()).toPoint();
  };
  QTest::mousePress(&line, Qt::LeftButton, {}, x(0.1));
  EXPECT_EQ(*m.session.selection(), (Session::Selection{m.at("/a"), 0, 1}));
  EXPECT_THAT(m.words("/a/r0"), HasSubstr("MPI_Send 80"));
  QTest::mouseMove(&line, x(0.9));
  QTest::mouseRelease(&line, Qt::LeftButton, {}, x(0.9));
  EXPECT_EQ(*m.session.selection(), (Session::Selection{m.at("/a"), 3, 4}));
  EXPECT_THAT(m.words("/a/r0"), HasSubstr("MPI_Send 25"));
  EXPECT_THAT(m.view->told().toStdString(), HasSubstr("3 s to 4 s"));
}

TEST(Treemap, AreasAreResourcesOrWhatIsMeasured) {
  Map m;
  const auto area = [&](const char* path) {
    const auto* c = m.map().sheet().of(m.at(path));
    return c->width * c->height;
  };
  EXPECT_NEAR(area("/a") / area("/b"), 1, 0.05);
  m.view->findChild<QComboBox*>("treemap-size")->setCurrentIndex(1);
  // 0.875 of the time of /a is known by its states, 0.6 of /b's.
  EXPECT_GT(area("/a") / area("/b"), 1.2);
}

TEST(Treemap, WhatAnAlertBlamesIsFramed) {
  Map m;
  const auto image = [&] {
    QImage out(m.map().size(), QImage::Format_RGB32);
    m.map().render(&out);
    return out;
  };
  const QRectF blamed = m.map().sheet().rect(*m.map().sheet().of(m.at("/a/r1")));
  const QPoint corner(static_cast<int>(blamed.left()) + 1, static_cast<int>(blamed.center().y()));
  const QRgb red = alert_colour(m.session.palette()).rgb();
  EXPECT_NE(image().pixel(corner), red);
  m.take(report(2));  // of seconds 1 and 2
  m.map().forget();
  EXPECT_EQ(image().pixel(corner), red);
  m.session.select(Session::Selection{0, 0, 1});  // before the first of them
  EXPECT_NE(image().pixel(corner), red);
}

TEST(Treemap, WordsSayWhatACellIs) {
  Map m;
  const std::string words = m.words("/a");
  EXPECT_THAT(words, HasSubstr("/a, 2 resources: "));
  EXPECT_THAT(words, HasSubstr("MPI_Wait 50"));
}

TEST(Treemap, IsAPictureAndATable) {
  Shown s;
  const PictureKind& kind = picture_kind("treemap");
  QImage image(800, 600, QImage::Format_RGB32);
  QPainter p(&image);
  kind.paint(p, QSizeF(800, 600), s.session, "night");
  p.end();
  const scene::Look look = s.session.palette().look("Compute", wire::FAMILY_COMPUTE);
  int compute = 0;
  for (int y = 100; y < 500; y += 3)
    for (int x = 0; x < 800; x += 3) compute += image.pixel(x, y) == colour_of(look.colour).rgb() ? 1 : 0;
  EXPECT_GT(compute, 1000);
  const std::string csv = kind.csv(s.session);
  EXPECT_THAT(csv, HasSubstr("resource,leaves,size,known,Compute,MPI_Send,MPI_Wait,absent\r\n"));
  EXPECT_THAT(csv, HasSubstr("/a/r1,1,1,1,0,0.125,0.75,0\r\n"));
}

}  // namespace treemap_test
}  // namespace margay::viewer
