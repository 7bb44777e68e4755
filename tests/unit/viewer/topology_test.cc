// The page of the topology: what it asks for, what is selected, folded, moved and pinned in it, and its
// picture.
#include "topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QFile>
#include <QImage>
#include <QTemporaryDir>

#include "picture_kind.h"
#include "shown.h"

namespace margay::viewer {
namespace topology_page_test {

using testing::HasSubstr;

struct Graph : Shown {
  Graph() : view(window.views().findChild<TopologyView*>()) {
    window.views().setCurrentWidget(view);
    QCoreApplication::processEvents();
  }
  void answer(std::vector<std::array<std::uint32_t, 4>> pairs = {{0, 1, 10, 4096}, {1, 2, 1000, 64}}) {
    wire::EventsAnswer a;
    a.set_token(view->source().asked()->token());
    *a.mutable_question() = *view->source().asked();
    for (const char* path : {"/a/r0", "/a/r1", "/b/r2"}) a.add_resources(path);
    for (const auto& [from, to, count, bytes] : pairs) {
      wire::EventsSum& s = *a.add_sums();
      s.set_from(from), s.set_to(to), s.set_count(count), s.set_bytes(bytes), s.set_single(count);
    }
    auto sums = scene::event_sums_untrusted(a);
    ASSERT_TRUE(sums) << sums.error().message;
    session.take_sums(std::make_shared<const scene::EventSums>(std::move(*sums)));
    QCoreApplication::processEvents();
    graph().layout().settle(2000);
  }
  GraphWidget& graph() { return view->graph(); }
  QPoint middle(std::uint32_t row) { return graph().sheet().point(graph().layout().places()[row]).toPoint(); }
  TopologyView* view;
};

TEST(TopologyPage, AsksForMessagesAndAClickSelects) {
  Graph g;
  ASSERT_TRUE(g.view->source().asked());
  EXPECT_EQ(g.view->source().asked()->kind(), wire::EventsQuestion::PAIRS);
  g.answer();
  ASSERT_EQ(g.graph().topology().nodes.size(), 4u);
  EXPECT_EQ(g.graph().topology().links.size(), 2u);
  QTest::mouseClick(&g.graph(), Qt::LeftButton, {}, g.middle(2));
  ASSERT_TRUE(g.session.selection());
  EXPECT_EQ(g.session.data().nodes[g.session.selection()->node].path, "/b/r2");
  EXPECT_EQ(g.graph().topology().links.size(), 2u) << "it is the same graph";
  EXPECT_THAT(g.graph().accessibleDescription().toStdString(), HasSubstr("/a/r1"));
}

TEST(TopologyPage, ADoubleClickFoldsAndUnfolds) {
  Graph g;
  g.answer();
  QTest::mouseDClick(&g.graph(), Qt::LeftButton, {}, g.middle(0));
  EXPECT_EQ(g.graph().topology().nodes.size(), 3u) << "/a is one";
  EXPECT_EQ(g.graph().topology().links.size(), 1u);
  EXPECT_EQ(g.graph().topology().own[0], 4096u);
  EXPECT_THAT(g.graph().sheet().text(0).toStdString(), HasSubstr("2 resources: 64 B sent and received"));
  QTest::mouseDClick(&g.graph(), Qt::LeftButton, {}, g.middle(0));
  EXPECT_EQ(g.graph().topology().nodes.size(), 4u);
}

TEST(TopologyPage, WhatIsDraggedStaysAndIsLetGo) {
  Graph g;
  g.answer();
  const QPoint from = g.middle(3), to = from + QPoint(60, -40);
  QTest::mousePress(&g.graph(), Qt::LeftButton, {}, from);
  QTest::mouseMove(&g.graph(), from + QPoint(20, 0));
  QTest::mouseMove(&g.graph(), to);
  QTest::mouseRelease(&g.graph(), Qt::LeftButton, {}, to);
  EXPECT_TRUE(g.graph().layout().is_pinned(3));
  g.graph().layout().settle(1000);
  EXPECT_LT((g.middle(3) - to).manhattanLength(), 3);
  EXPECT_FALSE(g.session.selection()) << "a drag is no click";
  QTest::mouseClick(&g.graph(), Qt::LeftButton, Qt::ShiftModifier, g.middle(3));
  EXPECT_FALSE(g.graph().layout().is_pinned(3));
}

TEST(TopologyPage, TheWheelComesNearerWhereTheHandIs) {
  Graph g;
  g.answer();
  const QPoint at = g.middle(1);
  const double apart = QLineF(g.middle(0), g.middle(1)).length();
  QWheelEvent e(at, g.graph().mapToGlobal(at), {}, {0, 240}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                false);
  QCoreApplication::sendEvent(&g.graph(), &e);
  EXPECT_LT((g.middle(1) - at).manhattanLength(), 3);
  EXPECT_GT(QLineF(g.middle(0), g.middle(1)).length(), 1.3 * apart);
}

TEST(TopologyPage, ComesToRestWhenNobodyTouchesIt) {
  Graph g;
  g.answer();
  while (g.graph().step()) {
  }
  EXPECT_TRUE(g.graph().layout().at_rest());
  g.answer({{0, 1, 10, 4096}, {1, 2, 1000, 64}});
  EXPECT_TRUE(g.graph().layout().at_rest()) << "the same once more moves nothing";
}

TEST(TopologyPage, IsAPictureAndATable) {
  Graph g;
  g.answer();
  const PictureKind& kind = picture_kind("topology");
  EXPECT_EQ(kind.lacks(g.session), "");
  QImage image(800, 500, QImage::Format_RGB32);
  QPainter p(&image);
  kind.paint(p, image.size(), g.session, "r0");
  p.end();
  // The states' colours are in it.
  const scene::State& first = g.session.data().states[0];
  const QColor send = colour_of(g.session.palette().look(first.name, first.family).colour);
  int seen = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) seen += image.pixelColor(x, y) == send ? 1 : 0;
  EXPECT_GT(seen, 20);
  EXPECT_THAT(kind.csv(g.session), HasSubstr("/a/r0,/a/r1,10,4096,0,0\r\n"));
  QTemporaryDir dir;
  EXPECT_EQ(g.view->save(dir.filePath("a.png"), "r0"), "");
  EXPECT_TRUE(QFile::exists(dir.filePath("a.png")));
}

TEST(TopologyPage, WithoutMessagesThereIsASentence) {
  Graph g;
  g.answer({});
  EXPECT_EQ(picture_kind("topology").lacks(g.session), "--picture topology: no message was sent");
}

}  // namespace topology_page_test
}  // namespace margay::viewer
