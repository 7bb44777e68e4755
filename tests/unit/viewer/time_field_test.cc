// The field that says what time is seen, and takes another.
#include "time_field.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QStatusBar>

#include "shown.h"

namespace margay::viewer {
namespace time_field_test {

using testing::HasSubstr;

// By keys: T goes there, Return takes what was typed.
struct Field : Shown {
  explicit Field(ViewPtr data = small()) : Shown(std::move(data)) {
    window.activateWindow();
    overview().setFocus();
    EXPECT_TRUE(QTest::qWaitFor([this] { return overview().hasFocus(); }));
  }
  TimeField& field() { return window.time_field(); }
  void type(const char* text, Qt::Key end = Qt::Key_Return) {
    QTest::keyClick(&overview(), Qt::Key_T);
    EXPECT_TRUE(field().hasFocus());
    QTest::keyClicks(&field(), text);
    QTest::keyClick(&field(), end);
  }
  std::string seen() { return scene::typed_text(session.time(), scene::Times{session.data().zero}); }
  std::string said() { return window.statusBar()->currentMessage().toStdString(); }
};

TEST(TimeField, ShowsWhatIsSeenAndTakesAnotherStretch) {
  Field s;
  EXPECT_EQ(s.field().text(), "0 s..4 s");
  s.type("1..2.5");
  EXPECT_EQ(s.seen(), "1 s..2.5 s");
  EXPECT_EQ(s.field().text(), "1 s..2.5 s");
  EXPECT_TRUE(s.overview().hasFocus()) << "its keys are the picture's again";
  s.type("+1 s");
  EXPECT_EQ(s.seen(), "1 s..2 s");
  wire::Report r = report(0);
  r.set_watermark_ns(10'000'000'000);
  s.take(r);
  s.type("3");
  EXPECT_EQ(s.seen(), "2.5 s..3.5 s") << "as much as is seen";
  QTest::keyClick(&s.overview(), Qt::Key_Backspace);
  EXPECT_EQ(s.seen(), "1 s..2 s") << "it is a step to go back";
  EXPECT_EQ(s.field().text(), "1 s..2 s");
}

TEST(TimeField, WhatIsWrongIsSaidAndStaysToBeMended) {
  Field s;
  s.type("1..x");
  EXPECT_THAT(s.said(), HasSubstr("\"x\" is not a time"));
  EXPECT_TRUE(s.field().hasFocus());
  EXPECT_EQ(s.field().text(), "1..x");
  EXPECT_FALSE(s.session.subject().time);
  QTest::keyClick(&s.field(), Qt::Key_Escape);
  EXPECT_TRUE(s.overview().hasFocus());
  EXPECT_EQ(s.field().text(), "0 s..4 s");
}

TEST(TimeField, WhatIsTypedIsNotWrittenOver) {
  Field s;
  QTest::keyClick(&s.overview(), Qt::Key_T, Qt::ControlModifier);
  QTest::keyClicks(&s.field(), "2..");
  s.session.zoom_to({TimeNs(0), TimeNs(1'000'000'000)});
  EXPECT_EQ(s.field().text(), "2..");
  QTest::keyClicks(&s.field(), "3");
  QTest::keyClick(&s.field(), Qt::Key_Return);
  EXPECT_EQ(s.seen(), "2 s..3 s");
}

TEST(TimeField, KnowsTheRun) {
  Field s;
  s.type("all");
  EXPECT_THAT(s.said(), HasSubstr("how long the run is"));
  QTest::keyClick(&s.field(), Qt::Key_Escape);
  wire::Report r = report(0);
  r.set_watermark_ns(10'000'000'000);
  s.take(r);
  s.type("20..30");
  EXPECT_THAT(s.said(), HasSubstr("outside of the run, which has 0 s to 10 s"));
  QTest::keyClick(&s.field(), Qt::Key_Escape);
  s.type("all");
  EXPECT_EQ(s.seen(), "0 s..10 s");
}

TEST(TimeField, LeadsBackToThePageThatIsSeen) {
  Field s;
  s.window.views().setCurrentIndex(1);
  QTest::keyClick(&s.window, Qt::Key_T, Qt::ControlModifier);
  ASSERT_TRUE(s.field().hasFocus());
  QTest::keyClicks(&s.field(), "1..2");
  QTest::keyClick(&s.field(), Qt::Key_Return);
  EXPECT_FALSE(s.field().hasFocus());
  EXPECT_TRUE(s.window.views().currentWidget()->isAncestorOf(QApplication::focusWidget()));
}

}  // namespace time_field_test
}  // namespace margay::viewer
