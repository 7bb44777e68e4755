// What people say of alerts in the window, and take back: acknowledgements and silences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shown.h"
#include "silences_dialog.h"

namespace margay::viewer {
namespace silences_test {

using Kind = wire::ControlRequest;

SilencesPtr two() {
  const TimeNs now(1'790'000'000'000'000'000);
  return std::make_shared<const std::vector<scene::ListedSilence>>(std::vector<scene::ListedSilence>{
      {"s2", "node /h2", "ann", "<b>moved</b>", now, now + seconds(7200), true},
      {"s7", "everything", "bob", "", now + seconds(60), now + seconds(3600), false}});
}

struct Silenced : testing::Test {
  QString cell(int row, int column) { return dialog().table().model()->index(row, column).data().toString(); }
  SilencesDialog& dialog() { return *shown.window.findChild<SilencesDialog*>(); }
  Kind::Kind asked() { return shown.session.requested() ? shown.session.requested()->kind() : Kind::NONE; }
  Shown shown;
};

TEST_F(Silenced, AnAcknowledgementIsTakenBackOfAnAlertThatHasOne) {
  wire::Report r = report(2);
  r.mutable_alerts(0)->mutable_handled()->set_acknowledged(true);
  shown.take(r);
  QTest::keyClick(&shown.window, Qt::Key_A, Qt::ShiftModifier);
  EXPECT_EQ(asked(), Kind::NONE) << "none is chosen";
  shown.session.choose_alert("r0-1");
  QTest::keyClick(&shown.window, Qt::Key_A, Qt::ShiftModifier);
  EXPECT_EQ(asked(), Kind::NONE) << "it has none";
  shown.session.choose_alert("r0-0");
  QTest::keyClick(&shown.window, Qt::Key_A, Qt::ShiftModifier);
  ASSERT_EQ(asked(), Kind::UNACKNOWLEDGE);
  EXPECT_EQ(shown.session.requested()->handle().id(), "r0-0");
  EXPECT_NE(shown.session.requested()->handle().token(), 0u);
}

TEST_F(Silenced, TheListSaysOfWhatUntilWhenByWhomAndWhy) {
  QTest::keyClick(&shown.window, Qt::Key_S, Qt::ShiftModifier);
  ASSERT_EQ(asked(), Kind::HANDLING);
  EXPECT_EQ(dialog().text(), "reading...");
  EXPECT_FALSE(dialog().end_button().isEnabled());
  emit shown.session.silences_known(two());
  EXPECT_EQ(dialog().text(), "2 silences");
  ASSERT_EQ(dialog().table().model()->rowCount(), 2);
  EXPECT_EQ(cell(0, SilenceModel::kId), "s7") << "which ends first";
  EXPECT_EQ(cell(1, SilenceModel::kWhat), "node /h2");
  EXPECT_EQ(cell(1, SilenceModel::kFrom), "holds now");
  EXPECT_EQ(cell(1, SilenceModel::kBy), "ann");
  EXPECT_EQ(cell(1, SilenceModel::kComment), "<b>moved</b>");
  emit shown.session.silences_known(std::make_shared<const std::vector<scene::ListedSilence>>());
  EXPECT_EQ(dialog().text(), "nothing is silenced");
  EXPECT_FALSE(dialog().end_button().isEnabled());
}

TEST_F(Silenced, OneIsEndedAndTheListIsAskedForAgain) {
  QTest::keyClick(&shown.window, Qt::Key_S, Qt::ShiftModifier);
  emit shown.session.silences_known(two());
  dialog().table().setCurrentIndex(dialog().table().model()->index(1, 0));
  std::vector<std::pair<Kind::Kind, std::string>> sent;
  QObject::connect(&shown.session, &Session::requested_something, &dialog(),
                   [&] { sent.emplace_back(asked(), shown.session.requested()->handle().id()); });
  QTest::mouseClick(&dialog().end_button(), Qt::LeftButton);
  EXPECT_THAT(sent,
              testing::ElementsAre(testing::Pair(Kind::UNSILENCE, "s2"), testing::Pair(Kind::HANDLING, "")));
}

TEST_F(Silenced, WhyThereIsNoListIsSaid) {
  QTest::keyClick(&shown.window, Qt::Key_S, Qt::ShiftModifier);
  emit shown.session.said("this is a replay");
  EXPECT_EQ(dialog().text(), "this is a replay");
}

}  // namespace silences_test
}  // namespace margay::viewer
