// The strip of the whole run: what is asked for it, when it is painted, and what the mouse does in it.
#include "run_strip.h"

#include <gtest/gtest.h>

#include <QSignalSpy>

#include "shown.h"

namespace margay::viewer {
namespace run_strip_test {

constexpr std::int64_t kSlice = 100'000'000;

// 40 slices of a run that has come to this one.
wire::Report at(std::int64_t slice) {
  std::mt19937_64 rng(5);
  wire::ViewAnswer answer = support::random_view(rng, {12, 40, 5, 5, 0.7});
  answer.set_p(0.125);
  wire::Report out = support::report_of(answer, slice - 39, kSlice);
  out.set_run_begin_ns(0);
  out.set_watermark_ns((slice + 1) * kSlice);
  return out;
}

// The answer to a question for the whole run: `slices` of it, with a cut in the middle.
ViewPtr whole(std::uint64_t token, std::int64_t slices) {
  support::ViewBuilder build(4);
  const auto compute = build.state("Compute", wire::FAMILY_COMPUTE);
  const auto wait = build.state("MPI_Wait", wire::FAMILY_WAIT);
  build.part(0, 0, 2, {{compute, 1}});
  build.part(0, 2, 4, {{wait, 1}});
  wire::ViewAnswer answer = build.answer();
  answer.set_token(token);
  answer.mutable_question()->set_partition(wire::ViewQuestion::TEMPORAL);
  for (int i = 0; i < answer.boundaries_size(); ++i) answer.set_boundaries(i, i * slices * kSlice / 4);
  return std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(answer));
}

// A session with a link that finds no run: what it would say is said here.
struct Asked {
  Asked() : link({"no-such-run", "", ""}), session(&link, scene::Theme::kLight) {}
  void take(const wire::Report& r) { session.take(std::make_shared<const wire::Report>(r)); }
  // The token of a question that was asked meanwhile; 0: none was. (A curve is asked for beside it.)
  std::uint64_t token_of_whole(const wire::Report& r) {
    take(r);
    return session.whole_run_token();
  }
  Link link;
  Session session;
};

// The curve of what follows a run is asked for first; here its answer never comes in the way.
void answer_curve(Asked& a) {
  emit a.link.refused(a.link.next_token() - 1, "no curve");
}

TEST(WholeRunOfASession, IsAskedForOnceSomebodyLooksAndSeldomAgain) {
  Asked a;
  a.take(at(100));
  answer_curve(a);
  EXPECT_EQ(a.token_of_whole(at(101)), 0u) << "nobody looks";
  a.session.look_at_whole_run(true);
  const std::uint64_t token = a.session.whole_run_token();
  ASSERT_NE(token, 0u);
  EXPECT_EQ(a.token_of_whole(at(102)), token) << "one at a time";
  const QSignalSpy changed(&a.session, &Session::whole_run_changed);
  emit a.link.answered(whole(token, 102));
  EXPECT_EQ(changed.count(), 1);
  ASSERT_TRUE(a.session.whole_run());
  EXPECT_EQ(a.session.whole_run()->range().to, TimeNs(102 * kSlice));
  EXPECT_TRUE(a.session.of_report()) << "it is no picture to look at";
  EXPECT_EQ(a.token_of_whole(at(103)), 0u);
  EXPECT_EQ(a.token_of_whole(at(110)), 0u);
  EXPECT_NE(a.token_of_whole(at(112)), 0u) << "a tenth more";
}

TEST(WholeRunOfASession, WaitsUntilPicturesAreAnswered) {
  Asked a;
  a.take(at(100));
  answer_curve(a);
  a.session.set_p(0.5);
  ASSERT_TRUE(a.session.waiting());
  a.session.look_at_whole_run(true);
  EXPECT_EQ(a.session.whole_run_token(), 0u);
  emit a.link.refused(a.link.next_token() - 1, "no picture");
  EXPECT_NE(a.session.whole_run_token(), 0u);
}

// A newer question takes its place in the link before it was sent.
TEST(WholeRunOfASession, ThatWasLostIsAskedForAgain) {
  Asked a;
  a.take(at(100));
  answer_curve(a);
  a.session.look_at_whole_run(true);
  const std::uint64_t token = a.session.whole_run_token();
  a.session.zoom_to({TimeNs(80 * kSlice), TimeNs(90 * kSlice)});
  EXPECT_EQ(a.session.whole_run_token(), token) << "it may be under way";
  emit a.link.refused(a.link.next_token() - 1, "no picture");
  EXPECT_GT(a.session.whole_run_token(), token);
}

TEST(WholeRunOfASession, ThatIsRefusedIsNotAskedForWithoutEnd) {
  Asked a;
  a.take(at(100));
  answer_curve(a);
  const QSignalSpy said(&a.session, &Session::said);
  a.session.look_at_whole_run(true);
  int asked = 0;
  while (a.session.whole_run_token() != 0 && asked < 20) {
    ++asked;
    emit a.link.refused(a.session.whole_run_token(), "superseded by a newer question");
  }
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(said.count(), 0) << "nobody asked for it";
  EXPECT_NE(a.token_of_whole(at(120)), 0u) << "there is more of it now";
}

// A daemon keeps one waiting question about stretches: one would take the other's place.
TEST(WholeRunOfASession, AndAStretchBesideThePictureWaitForEachOther) {
  Asked a;
  a.take(at(100));
  answer_curve(a);
  a.session.look_at_whole_run(true);
  const std::uint64_t whole_run = a.session.whole_run_token();
  const std::uint64_t stretch = a.session.ask_beside({});
  ASSERT_EQ(a.link.next_token(), stretch + 1) << "nothing was sent: the whole run is under way";
  emit a.link.answered(whole(whole_run, 101));
  std::uint64_t told = 0;
  QObject::connect(&a.session, &Session::beside, [&](quint64 token, const ViewPtr&) { told = token; });
  EXPECT_EQ(a.token_of_whole(at(120)), 0u) << "the stretch is under way";
  emit a.link.answered(whole(stretch + 2, 101));
  EXPECT_EQ(told, stretch);
  EXPECT_NE(a.session.whole_run_token(), 0u) << "now it is its turn";
}

TEST(WholeRunOfASession, OfAnotherRunIsAnother) {
  Asked a;
  a.take(at(100));
  answer_curve(a);
  a.session.look_at_whole_run(true);
  emit a.link.answered(whole(a.session.whole_run_token(), 101));
  ASSERT_TRUE(a.session.whole_run());
  wire::Report other = at(100);
  other.set_run("another");
  a.take(other);
  EXPECT_FALSE(a.session.whole_run());
}

// Shown, of a run of 20 s, of which 4 s are seen.
struct Strip : Shown {
  Strip() {
    wire::Report r = report(3);
    r.set_watermark_ns(20'000'000'000);
    take(r);
    session.zoom_to(seconds_of(8, 12));
    QCoreApplication::processEvents();
  }
  static scene::TimeRange seconds_of(double from, double to) {
    return {TimeNs(std::llround(from * 1e9)), TimeNs(std::llround(to * 1e9))};
  }
  RunStrip& strip() { return window.strip(); }
  QPoint at(double s) {
    const QRectF a = strip().area();
    return QPointF(a.left() + a.width() * s / 20, a.center().y()).toPoint();
  }
  void drag(double from, double to) {
    QTest::mousePress(&strip(), Qt::LeftButton, {}, at(from));
    for (const double share : {0.25, 0.5, 1.0}) QTest::mouseMove(&strip(), at(from + (to - from) * share));
    QTest::mouseRelease(&strip(), Qt::LeftButton, {}, at(to));
  }
  // To a pixel.
  testing::AssertionResult sees(double from, double to) {
    const scene::TimeRange now = session.time();
    const double pixel = 20 / strip().area().width();
    const double f = static_cast<double>(now.from.value) * 1e-9, t = static_cast<double>(now.to.value) * 1e-9;
    if (std::abs(f - from) <= pixel && std::abs(t - to) <= pixel) return testing::AssertionSuccess();
    return testing::AssertionFailure() << f << " to " << t;
  }
};

TEST(RunStrip, FramesWhatIsSeenBelowThePictureOfIt) {
  Strip s;
  const QRectF a = s.strip().area(), f = s.strip().frame();
  EXPECT_NEAR(f.left(), a.left() + a.width() * 8 / 20, 1);
  EXPECT_NEAR(f.right(), a.left() + a.width() * 12 / 20, 1);
  EXPECT_EQ(a.left(), s.overview().picture_area().left()) << "in one line with the picture";
  EXPECT_GT(s.strip().mapTo(&s.window, QPoint()).y(), s.overview().mapTo(&s.window, QPoint()).y());
}

TEST(RunStrip, TheFrameIsDraggedAndSoAreItsEdges) {
  Strip s;
  s.drag(10, 15);
  EXPECT_TRUE(s.sees(13, 17));
  s.drag(15, 40);
  EXPECT_TRUE(s.sees(16, 20)) << "no further than the run";
  s.drag(16, 2);
  EXPECT_TRUE(s.sees(2, 20)) << "its begin";
  s.drag(20, 6);
  EXPECT_TRUE(s.sees(2, 6)) << "its end";
  s.drag(10, 14);
  EXPECT_TRUE(s.sees(10, 14)) << "beside it";
  // However many moves, each drag is one step.
  QTest::keyClick(&s.overview(), Qt::Key_Backspace);
  EXPECT_TRUE(s.sees(2, 6));
  QTest::keyClick(&s.overview(), Qt::Key_Backspace);
  EXPECT_TRUE(s.sees(2, 20));
}

TEST(RunStrip, AClickBringsWhatIsThereIntoTheMiddle) {
  Strip s;
  QTest::mouseClick(&s.strip(), Qt::LeftButton, {}, s.at(15));
  EXPECT_TRUE(s.sees(13, 17));
  QTest::mouseClick(&s.strip(), Qt::LeftButton, {}, s.at(1));
  EXPECT_TRUE(s.sees(0, 4));
  QTest::mouseClick(&s.strip(), Qt::RightButton, {}, s.at(1));
  EXPECT_TRUE(s.sees(13, 17)) << "back";
}

TEST(RunStrip, OfAllOfTheRunADragIsAStretch) {
  Strip s;
  s.session.whole();
  ASSERT_TRUE(s.sees(0, 20));
  s.drag(5, 9);
  EXPECT_TRUE(s.sees(5, 9));
}

TEST(RunStrip, IsPaintedWhenSomethingHasMovedByAPixel) {
  Strip s;
  // Of an hour and a half, of which a tenth of a second is a fiftieth of a pixel.
  wire::Report r = report(3);
  const auto come_to = [&](std::int64_t ns) {
    r.set_watermark_ns(ns);
    s.take(r);
    QCoreApplication::processEvents();
    return s.strip().painted();
  };
  const std::int64_t hours = 5400 * std::int64_t{1'000'000'000};
  s.session.zoom_to(Strip::seconds_of(2000, 4000));
  const int before = come_to(hours);
  for (int i = 1; i <= 20; ++i) EXPECT_EQ(come_to(hours + i * kSlice), before) << "nothing to be seen";
  EXPECT_GT(come_to(hours * 2), before) << "it has grown";
  const int grown = s.strip().painted();
  s.session.zoom_to(Strip::seconds_of(3000, 4000));
  QCoreApplication::processEvents();
  EXPECT_GT(s.strip().painted(), grown) << "another time is seen";
  const int framed = s.strip().painted();
  s.session.set_theme(scene::Theme::kDark);
  QCoreApplication::processEvents();
  EXPECT_GT(s.strip().painted(), framed);
  const int dark = s.strip().painted();
  r.mutable_alerts(0)->set_resolved(true);
  EXPECT_GT(come_to(hours * 2), dark) << "an alert is over";
}

TEST(RunStrip, IsOfTheColoursOfWhatWasDone) {
  Strip s;
  emit s.session.whole_run_changed();
  QImage image = s.strip().grab().toImage();
  const auto at = [&](double seconds) {
    const QPoint p = s.at(seconds);
    const double scale = image.devicePixelRatio();
    return QColor(image.pixel(static_cast<int>(p.x() * scale), static_cast<int>(p.y() * scale)));
  };
  const QColor ground = at(9);
  s.session.show_whole_run(whole(0, 200));
  image = s.strip().grab().toImage();
  const auto ink = [&](const char* state, wire::StateFamily family) {
    const scene::Rgb c = s.session.palette().look(state, family).colour;
    return QColor(c.r, c.g, c.b);
  };
  EXPECT_EQ(at(9), ink("Compute", wire::FAMILY_COMPUTE)) << "within the frame as it is";
  EXPECT_EQ(at(11), ink("MPI_Wait", wire::FAMILY_WAIT));
  EXPECT_NE(at(9), ground);
  EXPECT_NE(at(5), at(9)) << "paler, what is not seen";
}

}  // namespace run_strip_test
}  // namespace margay::viewer
