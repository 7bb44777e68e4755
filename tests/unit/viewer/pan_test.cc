// Panning and zooming while the answer is not there yet: the old picture moves at once, what it knows nothing
// of is hatched, and the answer takes its place.
#include <gtest/gtest.h>

#include <QApplication>
#include <QImage>
#include <QTest>
#include <QWheelEvent>

#include "../scene/small_view.h"
#include "overview.h"
#include "paint.h"
#include "session.h"
#include "window.h"

namespace margay::viewer {
namespace pan_test {

std::shared_ptr<const scene::ViewData> small(std::int64_t later_ns = 0, std::uint64_t token = 0) {
  scene::ViewData data = scene::SmallView().data();
  for (TimeNs& t : data.boundaries) t = t + DurationNs(later_ns);
  data.token = token;
  return std::make_shared<const scene::ViewData>(std::move(data));
}

// Four slices of a second; nobody answers.
struct Shown {
  explicit Shown(Link* link = nullptr) : session(link, scene::Theme::kLight), window(session, "r0") {
    window.resize(1280, 720);
    window.show();
    session.show(small());
    QCoreApplication::processEvents();
  }
  Overview& overview() { return window.overview(); }
  QPoint at(double x, double y) {
    const QRectF a = overview().picture_area();
    return QPointF(a.left() + x * a.width(), a.top() + y * a.height()).toPoint();
  }
  // Colours round a point of the picture: one where a state fills it, two where it is hatched.
  std::set<QRgb> colours(const QImage& image, double x, double y) {
    std::set<QRgb> out;
    const QPoint middle = at(x, y);
    for (int dy = -8; dy <= 8; ++dy)
      for (int dx = -8; dx <= 8; ++dx) out.insert(image.pixel(middle + QPoint(dx, dy)));
    return out;
  }
  QImage image() { return overview().grab().toImage(); }
  Session session;
  Window window;
};

constexpr std::int64_t kSecond = 1'000'000'000;

// Within a nanosecond or two: shares of a range are rounded.
void expect_range(scene::TimeRange range, double from_s, double to_s) {
  EXPECT_NEAR(static_cast<double>(range.from.value), from_s * 1e9, 2);
  EXPECT_NEAR(static_cast<double>(range.to.value), to_s * 1e9, 2);
}

TEST(Pan, TheOldPictureMovesAtOnceAndWhatItDoesNotKnowIsHatched) {
  Shown s;
  const QImage before = s.image();
  const auto wait = s.colours(before, 0.4, 0.375);  // /a/r1, of slices 0 and 1
  ASSERT_EQ(wait.size(), 1u);
  QTest::keyClick(&s.overview(), Qt::Key_Right);  // a quarter on: to 1 s to 5 s
  expect_range(s.session.time(), 1, 5);
  expect_range(s.session.data().range(), 0, 4);
  const QImage after = s.image();
  EXPECT_EQ(s.colours(after, 0.15, 0.375), wait) << "what was at 0.4 is a quarter further left";
  EXPECT_NE(s.colours(after, 0.4, 0.375), wait);
  const QRgb background = colour_of(s.session.palette().background()).rgb();
  const QRgb unknown = colour_of(s.session.palette().unknown().colour).rgb();
  EXPECT_EQ(s.colours(after, 0.9, 0.375), (std::set<QRgb>{background, unknown}));
  EXPECT_EQ(s.colours(after, 0.9, 0.875), (std::set<QRgb>{background, unknown}));
}

// MARGAY_PICTURES=DIR keeps it, to be looked at.
TEST(Pan, WhatIsNotThereYetIsHatchedAtBothSizesAndInBothThemes) {
  for (const QSize size : {QSize(1280, 720), QSize(3840, 2160)})
    for (const scene::Theme theme : {scene::Theme::kLight, scene::Theme::kDark}) {
      Shown s;
      s.session.set_theme(theme);
      s.window.resize(size);
      QCoreApplication::processEvents();
      s.session.pan_by(-0.25);
      const QImage image = s.image();
      const QRgb unknown = colour_of(s.session.palette().unknown().colour).rgb();
      EXPECT_TRUE(s.colours(image, 0.1, 0.5).contains(unknown));
      EXPECT_FALSE(s.colours(image, 0.4, 0.125).contains(unknown));
      if (const QString folder = qEnvironmentVariable("MARGAY_PICTURES"); !folder.isEmpty())
        s.window.grab().save(QString("%1/pan-%2-%3.png")
                                 .arg(folder)
                                 .arg(size.width())
                                 .arg(theme == scene::Theme::kDark ? "dark" : "light"));
    }
}

// The first picture is painted into the window itself, the next is the one that is kept for the mouse.
TEST(Pan, TheMouseChangesNothingOfANewPictureButWhatIsUnderIt) {
  Shown s;
  for (const double by : {0.0, 0.25}) {
    s.session.pan_by(by);
    const QImage painted = s.image();
    EXPECT_EQ(s.image(), painted);
    QTest::mouseMove(&s.overview(), s.at(0.2, 0.375));
    EXPECT_NE(s.image(), painted);
    QTest::mouseMove(&s.overview(), s.at(0.2, -0.5));
    EXPECT_EQ(s.image(), painted);
  }
}

TEST(Pan, StepsAddUpBeforeAnyAnswer) {
  Shown s;
  for (int i = 0; i < 3; ++i) QTest::keyClick(&s.overview(), Qt::Key_Right);
  expect_range(s.session.time(), 3, 7);
  QTest::keyClick(&s.overview(), Qt::Key_Left);
  expect_range(s.session.time(), 2, 6);
  ASSERT_TRUE(s.session.subject().time);
  EXPECT_EQ(*s.session.subject().time, s.session.time());
}

TEST(Pan, FarFromWhatIsKnownEverythingIsHatched) {
  Shown s;
  s.session.pan_by(50);
  const QRgb unknown = colour_of(s.session.palette().unknown().colour).rgb();
  const QImage image = s.image();
  for (const double x : {0.1, 0.5, 0.8}) EXPECT_TRUE(s.colours(image, x, 0.5).contains(unknown)) << x;
  EXPECT_TRUE(s.overview().shown().rects.empty());
}

TEST(Pan, TheWheelZoomsRoundTheTimeUnderIt) {
  Shown s;
  const QPointF at = s.at(0.25, 0.5);
  for (int i = 0; i < 5; ++i) {
    QWheelEvent event(at, s.overview().mapToGlobal(at), {}, {0, 120}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&s.overview(), &event);
  }
  const scene::TimeRange now = s.session.time();
  const auto length = static_cast<double>((now.to - now.from).value);
  EXPECT_NEAR(length / 4e9, std::pow(0.8, 5), 1e-3);
  const QRectF a = s.overview().picture_area();
  const double share = (at.x() - a.left()) / a.width();
  EXPECT_NEAR(static_cast<double>(now.from.value) + share * length, share * 4e9, 1e5);
}

TEST(Pan, TheAnswerTakesThePlaceOfTheOldPicture) {
  Shown s;
  s.session.pan_by(0.25);
  s.session.show(small(kSecond));
  expect_range(s.session.time(), 1, 5);
  EXPECT_EQ(s.session.time(), s.session.data().range());
  const QRgb unknown = colour_of(s.session.palette().unknown().colour).rgb();
  EXPECT_FALSE(s.colours(s.image(), 0.75, 0.1).contains(unknown));
}

// The picture is kept between moves of the mouse: it must be neither stale nor full of what was drawn on it.
TEST(Pan, WhatIsKeptOfThePictureFollowsWhatIsShown) {
  Shown s;
  const QImage before = s.image();
  QTest::mouseMove(&s.overview(), s.at(0.25, 0.125));
  EXPECT_NE(s.image(), before) << "the rectangle under the mouse is framed";
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(&s.overview(), &leave);
  EXPECT_EQ(s.image(), before);
  s.session.set_theme(scene::Theme::kDark);
  EXPECT_EQ(s.image().pixel(s.overview().rect().bottomLeft() + QPoint(3, -3)),
            colour_of(s.session.palette().background()).rgb());
  s.session.set_theme(scene::Theme::kLight);
  EXPECT_EQ(s.image(), before);
  s.session.set_scroll({0, 2});
  const QImage closer = s.image();
  EXPECT_NE(closer, before);
  s.window.resize(1000, 700);
  QCoreApplication::processEvents();
  EXPECT_EQ(s.image().size(), s.overview().size());
}

TEST(Pan, ManyStepsAreOneToGoBackAndWhatComesBetweenEndsThem) {
  Shown s;
  for (int i = 0; i < 3; ++i) s.session.pan_by(0.25);
  s.session.zoom_by(0.5, TimeNs(5 * kSecond));
  s.session.back();
  expect_range(s.session.time(), 0, 4);
  s.session.forward();
  s.session.pan_by(0.25);
  s.session.back();
  expect_range(s.session.time(), 4, 6);
}

TEST(Pan, BackAndFollowingShowWhatIsThere) {
  Shown s;
  s.session.pan_by(0.25);
  s.session.back();
  expect_range(s.session.time(), 0, 4);
  s.session.forward();
  expect_range(s.session.time(), 1, 5);
  s.session.follow();
  expect_range(s.session.time(), 0, 4);
}

TEST(Pan, AnotherPDoesNotMoveThePicture) {
  Shown s;
  s.session.pan_by(0.25);
  s.session.show(small(kSecond + 5));  // a daemon chooses boundaries near by
  const scene::TimeRange there = s.session.time();
  s.session.set_p(0.25);
  EXPECT_EQ(s.session.time(), there);
}

TEST(Pan, AnotherPWhileItIsHeldIsOfTheSameStretch) {
  Shown s;
  s.session.set_p(0.5);
  EXPECT_FALSE(s.session.asked_for().time) << "it follows the run";
  s.session.hold(true);
  s.session.set_p(0.25);
  const scene::Subject asked = s.session.asked_for();
  ASSERT_TRUE(asked.time);
  EXPECT_EQ(*asked.time, s.session.data().range());
  EXPECT_EQ(asked.slices, 4u);
  EXPECT_EQ(asked.p, 0.25);
  EXPECT_FALSE(s.session.subject().time) << "it follows again when it is let go";
  s.session.hold(false);
  EXPECT_FALSE(s.session.asked_for().time);
}

// A link that finds no run: what it would say is said here.
TEST(Pan, ARefusedQuestionLeadsBackToThePictureThatIsThere) {
  Link link({"no-such-run", "", ""});
  Shown s(&link);
  s.session.pan_by(0.25);
  expect_range(s.session.time(), 1, 5);
  const std::uint64_t token = link.next_token() - 1;
  emit link.refused(token - 1, "superseded by a newer question");
  expect_range(s.session.time(), 1, 5);
  emit link.refused(token, "from_ns: is after what there is");
  expect_range(s.session.time(), 0, 4);
  EXPECT_FALSE(s.session.waiting());
}

TEST(Pan, AnswersOfTheWayAreShownFromWhereOneIs) {
  Link link({"no-such-run", "", ""});
  Shown s(&link);
  s.session.pan_by(0.25);
  const std::uint64_t first = link.next_token() - 1;
  s.session.pan_by(0.25);
  const std::uint64_t second = link.next_token() - 1;
  ASSERT_GT(second, first);
  emit link.answered(small(kSecond, first));
  expect_range(s.session.time(), 2, 6);
  expect_range(s.session.data().range(), 1, 5);
  EXPECT_TRUE(s.session.waiting());
  emit link.answered(small(2 * kSecond, second));
  expect_range(s.session.data().range(), 2, 6);
  EXPECT_EQ(s.session.time(), s.session.data().range());
  // What is older than the picture comes too late.
  s.session.pan_by(0.25);
  emit link.answered(small(kSecond, first));
  expect_range(s.session.data().range(), 2, 6);
}

// The time line of the picture before is neither waited for nor followed by that picture's curve.
TEST(Pan, ATimeLineThatComesWhenOneHasGoneOnLeavesWhatIsAskedForAlone) {
  for (const bool refused : {true, false}) {
    Link link({"no-such-run", "", ""});
    Shown s(&link);
    s.session.pan_by(0.25);
    emit link.answered(small(kSecond, link.next_token() - 1));
    const std::uint64_t time_line = link.next_token() - 1;
    s.session.pan_by(0.25);
    const std::uint64_t asked = link.next_token() - 1;
    ASSERT_GT(asked, time_line);
    if (refused) {
      emit link.refused(time_line, "superseded by a newer question");
    } else {
      scene::ViewData line = *small(kSecond, time_line);
      line.temporal = true;
      emit link.answered(std::make_shared<const scene::ViewData>(std::move(line)));
    }
    EXPECT_TRUE(s.session.waiting()) << (refused ? "refused" : "answered");
    EXPECT_EQ(link.next_token() - 1, asked + 1) << "nothing else is asked for meanwhile";
    emit link.answered(small(2 * kSecond, asked));
    expect_range(s.session.data().range(), 2, 6);
  }
}

TEST(Pan, AnAlertWithinThePictureButNotYetKnownIsGoneTo) {
  Shown s;
  s.session.pan_by(0.5);  // 2 s to 6 s, of which 2 s to 4 s is known
  s.session.go_to(TimeNs(5 * kSecond), TimeNs(6 * kSecond), "/a");
  EXPECT_FALSE(s.session.selection()) << "there is nothing to select yet";
  ASSERT_TRUE(s.session.subject().time);
  s.session.show(small(4 * kSecond));
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(s.session.selection()->first, 1u);
}

}  // namespace pan_test
}  // namespace margay::viewer
