// Pages that are made of widgets, of the example: what a real replay reports and answers, held against
// pictures that were looked at (golden.h).
#include <gtest/gtest.h>

#include <QApplication>
#include <QFontDatabase>
#include <QTemporaryDir>
#include <QTest>
#include <functional>
#include <optional>

#include "../../support/runtime_place.h"
#include "attach.h"
#include "evidence.h"
#include "golden.h"
#include "phases.h"
#include "widgets.h"

namespace margay::viewer {
namespace pages_test {

constexpr int kPatience = 60'000;  // ms; a replay takes one or two seconds
constexpr QSize kPage(1000, 640);

// The example, all of it, as it is looked at when it has been opened and replayed to its end.
class Example {
 public:
  Example() {
    set_programs(MARGAY_BIN);
    attachment_.emplace(Wish{"example", {}, {}});
    QObject::connect(&*attachment_, &Attachment::ready, &*attachment_, [this] {
      link_.emplace(attachment_->to());
      session_.emplace(&*link_, scene::Theme::kLight);
      session_->go({});
    });
    attachment_->start();
    there_ = QTest::qWaitFor(
        [this] {
          return session_ && session_->report() != nullptr && session_->report()->replay().at_end() &&
                 session_->bounds();
        },
        kPatience);
    if (!there_) return;
    scene::Subject all;
    all.time = session_->bounds();
    session_->go(all);
    // The report's own picture is of its newest slices only, and so is the time line that belongs to it.
    there_ = QTest::qWaitFor(
        [this] {
          return !session_->waiting() && !session_->of_report() && !session_->temporal().empty() &&
                 session_->temporal().range() == session_->data().range();
        },
        kPatience);
  }
  bool there() const { return there_; }
  Session& session() { return *session_; }

 private:
  const test::RuntimePlace place_;
  std::optional<Attachment> attachment_;
  std::optional<Link> link_;
  std::optional<Session> session_;
  bool there_ = false;
};

// One replay for all of them.
class Pages : public testing::Test {
 protected:
  static void SetUpTestSuite() { example_ = new Example; }
  static void TearDownTestSuite() {
    delete example_;
    example_ = nullptr;
  }
  void SetUp() override { ASSERT_TRUE(example_->there()) << "the example's replay did not come to its end"; }
  static Session& session() { return example_->session(); }

  // In both themes; `ready` when all of it is there. The page has no focus: no list has a row that is framed.
  template <class Page>
  static void expect_golden(Page& page, const std::string& name, const std::function<bool()>& ready) {
    for (const auto& [theme, ending] :
         {std::pair(scene::Theme::kLight, "-light.png"), std::pair(scene::Theme::kDark, "-dark.png")}) {
      session().set_theme(theme);
      QApplication::setPalette(widget_palette(session().palette()));
      ASSERT_TRUE(QTest::qWaitFor(ready, kPatience)) << name;
      if (QWidget* focus = QApplication::focusWidget()) focus->clearFocus();
      QCoreApplication::processEvents();
      EXPECT_EQ(against_golden(page.grab().toImage(),
                               QString(MARGAY_GOLDEN_DIR) + "/" + QString::fromStdString(name) + ending),
                "");
    }
  }

  static inline Example* example_ = nullptr;
};

// All phases, their stretches, and two stretches beside each other.
TEST_F(Pages, Phases) {
  PhasesView page(session());
  page.resize(kPage);
  page.show();
  QTableView& stretches = page.stretches();
  ASSERT_GE(stretches.model()->rowCount(), 2);
  for (const int row : {0, 1})
    stretches.selectionModel()->select(stretches.model()->index(row, 0),
                                       QItemSelectionModel::Select | QItemSelectionModel::Rows);
  expect_golden(page, "phases", [&] {
    return page.differences().model()->rowCount() > 0 && !page.contents().waits() && !session().waiting();
  });
}

// Of the alert about the rank that was stopped: facts, states, slices, calls, and whom the others waited for.
TEST_F(Pages, Evidence) {
  EvidenceView page(session());
  page.resize(kPage);
  page.show();
  expect_golden(page, "evidence", [&] {
    const EvidenceSource& source = page.source();
    return source.waits() != nullptr && source.cause() != nullptr && source.all() != nullptr &&
           page.call_model().pages().complete() && !source.waits_for_slices();
  });
}

// What a person takes a page by: one that lacks a table, or a row, is another picture.
TEST_F(Pages, OneThatLacksARowIsAnotherPicture) {
  PhasesView page(session());
  page.resize(kPage);
  page.show();
  const QImage whole = page.grab().toImage();
  EXPECT_EQ(difference(whole, page.grab().toImage()), "");
  page.stretches().setRowHidden(0, true);
  EXPECT_NE(difference(whole, page.grab().toImage()), "");
}

}  // namespace pages_test
}  // namespace margay::viewer

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  // Colours are kept: not in the file of whoever runs this. Times are told since the begin.
  const QTemporaryDir settings;
  qputenv("XDG_CONFIG_HOME", settings.path().toUtf8());
  testing::InitGoogleTest(&argc, argv);
  const QApplication application(argc, argv);
  QFont font("DejaVu Sans");
  font.setPixelSize(12);
  QApplication::setFont(font);
  if (!QFontDatabase::hasFamily("DejaVu Sans")) {
    std::fputs("DejaVu Sans is not installed: fonts-dejavu-core (config/packages.txt)\n", stderr);
    return 1;
  }
  return RUN_ALL_TESTS();
}
