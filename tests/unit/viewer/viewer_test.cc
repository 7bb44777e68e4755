// The viewer without a daemon: its lists, what mouse and keys do, and the picture as a file. On Qt's
// offscreen platform.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QSortFilterProxyModel>
#include <QTemporaryDir>
#include <QTest>

#include "../scene/small_view.h"
#include "models.h"
#include "overview.h"
#include "picture_file.h"
#include "session.h"
#include "window.h"

namespace margay::viewer {
namespace {

using scene::SmallView;

std::shared_ptr<const scene::ViewData> small() {
  return std::make_shared<const scene::ViewData>(SmallView().data());
}

wire::Report report(int alerts) {
  wire::Report r;
  r.set_run("r0");
  r.set_run_begin_ns(0);
  for (int i = 0; i < alerts; ++i)
    r.add_alerts(R"({"id":"r0-)" + std::to_string(i) + R"(","kind":"perturbation","status":")" +
                 (i % 2 ? "resolved" : "firing") + R"(","onset_ns":)" +
                 std::to_string((i + 1) * 1'000'000'000LL) +
                 R"(,"node":"/a","resources":["/a/r1"],"likely_cause":["/a/r1"],"score_bits":)" +
                 std::to_string(i) + R"(,"message":"rank <1> computes 4.0 x longer"})");
  return r;
}

TEST(AlertModel, IsAModelThatQtBelieves) {
  AlertModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  for (const int n : {0, 3, 1, 7, 0}) {
    model.set(report(n));
    EXPECT_EQ(model.rowCount(), n);
    EXPECT_EQ(model.firing(), (n + 1) / 2);
  }
}

TEST(AlertModel, SaysWhatAnAlertSays) {
  AlertModel model;
  model.set(report(2));
  ASSERT_EQ(model.rowCount(), 2);
  // The newest first.
  EXPECT_EQ(model.index(0, AlertModel::kState).data().toString(), "resolved");
  EXPECT_EQ(model.index(1, AlertModel::kState).data().toString(), "firing");
  EXPECT_EQ(model.index(1, AlertModel::kSentence).data().toString(), "rank <1> computes 4.0 x longer");
  EXPECT_EQ(model.index(1, AlertModel::kOnset).data().toString(), "1 s");
  EXPECT_EQ(model.node_of(1), "/a/r1");
}

TEST(StatisticsModel, IsAModelThatQtBelievesAndSorts) {
  const auto data = small();
  StatisticsModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  const scene::Palette palette(scene::Theme::kLight);
  model.set(scene::statistics(*data, {0, 0, data->slices()}), *data, palette);
  ASSERT_EQ(model.rowCount(), static_cast<int>(model.statistics().rows.size()));
  QSortFilterProxyModel sorted;
  sorted.setSourceModel(&model);
  sorted.setSortRole(Qt::EditRole);
  sorted.sort(StatisticsModel::kShare, Qt::DescendingOrder);
  double before = 2;
  for (int r = 0; r < sorted.rowCount(); ++r) {
    const double share = sorted.index(r, StatisticsModel::kShare).data(Qt::EditRole).toDouble();
    EXPECT_LE(share, before);
    before = share;
  }
  model.set({}, *data, palette);
  EXPECT_EQ(model.rowCount(), 0);
}

// A window of a session that nobody answers: what is looked at is in its history.
struct Shown {
  Shown() : session(nullptr, scene::Theme::kLight), window(session, "r0") {
    window.resize(1280, 720);
    window.show();
    session.show(small());
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
  Session session;
  Window window;
};

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

// MARGAY_PICTURES=DIR keeps it, to be looked at.
TEST(Window, ShowsEverythingAtBothSizes) {
  for (const QSize size : {QSize(1280, 720), QSize(3840, 2160)}) {
    Shown s;
    s.window.alerts().set(report(3));
    s.window.resize(size);
    QTest::mouseClick(&s.overview(), Qt::LeftButton, {}, s.at(0.75, 0.125));
    QCoreApplication::processEvents();
    const QImage image = s.window.grab().toImage();
    EXPECT_EQ(image.size(), size);
    EXPECT_GT(s.overview().width(), size.width() / 2) << "the picture has most of the room";
    EXPECT_GT(s.overview().height(), size.height() / 2);
    if (const QString folder = qEnvironmentVariable("MARGAY_PICTURES"); !folder.isEmpty())
      image.save(QString("%1/window-%2.png").arg(folder).arg(size.width()));
  }
}

TEST(Picture, SaysWhyItIsNotWritten) {
  Shown s;
  EXPECT_THAT(s.window.save("picture.pdf").toStdString(), testing::HasSubstr(".png, .svg or .csv"));
  EXPECT_THAT(s.window.save("/nowhere/at/all.png").toStdString(), testing::HasSubstr("/nowhere/at/all.png"));
  const Session nothing(nullptr, scene::Theme::kLight);
  EXPECT_THAT(save_picture("a.png", nothing, {800, 600}, "r0").toStdString(),
              testing::HasSubstr("no picture yet"));
}

}  // namespace
}  // namespace margay::viewer

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  testing::InitGoogleTest(&argc, argv);
  const QApplication application(argc, argv);
  return RUN_ALL_TESTS();
}
