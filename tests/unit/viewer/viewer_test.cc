// The overview without a daemon: what mouse and keys do, and the picture as a file. On Qt's offscreen
// platform; what is kept of a person is kept in a folder of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QImage>
#include <QTemporaryDir>

#include "picture_file.h"
#include "shown.h"

namespace margay::viewer {
namespace viewer_test {

TEST(Overview, DraggingAStretchOfTimeZoomsIntoItAndBackIsBack) {
  Shown s;
  const scene::TimeRange all = s.session.data().range();
  const auto length = static_cast<double>((all.to - all.from).value);
  s.drag(0.25, 0.75);
  ASSERT_TRUE(s.session.subject().time);
  const scene::TimeRange now = *s.session.subject().time;
  EXPECT_NEAR(static_cast<double>((now.from - all.from).value) / length, 0.25, 0.01);
  EXPECT_NEAR(static_cast<double>((now.to - all.from).value) / length, 0.75, 0.01);
  QTest::keyClick(&s.overview(), Qt::Key_Backspace);
  EXPECT_FALSE(s.session.subject().time);
}

TEST(Overview, AClickSelectsTheAggregateAndTheListSaysWhatItDid) {
  Shown s;
  QTest::mouseClick(&s.overview(), Qt::LeftButton, {}, s.at(0.75, 0.125));
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(s.session.data().nodes[s.session.selection()->node].path, "/a");
  EXPECT_EQ(s.session.selection()->first, 2u);
  EXPECT_EQ(s.session.selection()->last, 4u);
  EXPECT_EQ(s.window.statistics().statistics().leaves, 2u);
  const QString told = s.overview().details(s.overview().shown().rects[0]);
  EXPECT_THAT(told.toStdString(), testing::HasSubstr("bits"));
}

TEST(Overview, ADoubleClickGoesIntoTheAggregate) {
  Shown s;
  QTest::mouseDClick(&s.overview(), Qt::LeftButton, {}, s.at(0.75, 0.125));
  EXPECT_EQ(s.session.subject().node, "/a");
  ASSERT_TRUE(s.session.subject().time);
  EXPECT_EQ(s.session.subject().time->from, s.session.data().boundaries[2]);
}

TEST(Overview, FoldsANodeByItsTriangle) {
  Shown s;
  EXPECT_EQ(s.session.rows().rows.size(), 4u);
  const scene::Rows& rows = s.session.rows();
  const auto a = std::find_if(rows.spans.begin(), rows.spans.end(), [&](const scene::Row& r) {
    return s.session.data().nodes[r.node].path == "/a";
  });
  ASSERT_NE(a, rows.spans.end());
  s.session.toggle_fold(a->node);
  EXPECT_EQ(s.session.rows().rows.size(), 3u);
  QTest::keyClick(&s.overview(), Qt::Key_Down);  // the first row, which is folded
  QTest::keyClick(&s.overview(), Qt::Key_F);
  EXPECT_EQ(s.session.rows().rows.size(), 4u);
}

TEST(Overview, KeysReachEverything) {
  Shown s;
  const scene::TimeRange all = s.session.data().range();
  QTest::keyClick(&s.overview(), Qt::Key_Plus);
  ASSERT_TRUE(s.session.subject().time);
  EXPECT_LT((s.session.subject().time->to - s.session.subject().time->from).value, (all.to - all.from).value);
  QTest::keyClick(&s.overview(), Qt::Key_End);
  EXPECT_FALSE(s.session.subject().time);
  QTest::keyClick(&s.overview(), Qt::Key_Space);
  EXPECT_TRUE(s.session.held());
  QTest::keyClick(&s.overview(), Qt::Key_D);
  EXPECT_EQ(s.session.palette().theme(), scene::Theme::kDark);
}

TEST(Picture, IsWrittenAsPngSvgAndCsv) {
  Shown s;
  const QTemporaryDir folder;
  const QString png = folder.filePath("a.png"), svg = folder.filePath("a.svg"),
                csv = folder.filePath("a.csv");
  for (const QString& path : {png, svg, csv}) EXPECT_EQ(s.window.save(path), "");
  const QImage image(png);
  ASSERT_FALSE(image.isNull());
  EXPECT_EQ(image.size(), s.overview().size() * 2);
  // What is painted is the legend's colour: MPI_Wait has /a/r1 for the first half of the time.
  bool found = false;
  const scene::Rgb wait = s.session.palette().look("MPI_Wait", wire::FAMILY_WAIT).colour;
  for (int y = 0; y < image.height() && !found; y += 4)
    for (int x = 0; x < image.width() && !found; x += 4) {
      const QRgb p = image.pixel(x, y);
      found = qRed(p) == wait.r && qGreen(p) == wait.g && qBlue(p) == wait.b;
    }
  EXPECT_TRUE(found);
  QFile file(svg);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_THAT(file.readAll().toStdString(), testing::HasSubstr("<svg"));
  QFile table(csv);
  ASSERT_TRUE(table.open(QIODevice::ReadOnly));
  EXPECT_EQ(table.readAll().count('\n'), 1 + 4);
}

TEST(Picture, SaysWhyItIsNotWritten) {
  Shown s;
  EXPECT_THAT(s.window.save("picture.pdf").toStdString(), testing::HasSubstr(".png, .svg or .csv"));
  EXPECT_THAT(s.window.save("/nowhere/at/all.png").toStdString(), testing::HasSubstr("/nowhere/at/all.png"));
  const Session nothing(nullptr, scene::Theme::kLight);
  EXPECT_THAT(save_picture("a.png", nothing, {800, 600}, "r0").toStdString(),
              testing::HasSubstr("no picture yet"));
}

}  // namespace viewer_test
}  // namespace margay::viewer

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QTemporaryDir settings;
  if (!settings.isValid() || !QDir(settings.path()).mkpath("margay")) return 1;
  qputenv("XDG_CONFIG_HOME", settings.path().toUtf8());
  testing::InitGoogleTest(&argc, argv);
  const QApplication application(argc, argv);
  return RUN_ALL_TESTS();
}
