// What is found by a few letters of its name, and what comes of it; driven by keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QMenuBar>
#include <QPointer>

#include "command_palette.h"
#include "keys_dialog.h"
#include "shown.h"

namespace margay::viewer {
namespace commands_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Fits, CharactersInTheirOrder) {
  EXPECT_TRUE(fits("/node1/rank6", "n1r6"));
  EXPECT_TRUE(fits("/node1/rank6", "NODE1 rank6")) << "blanks do not count, nor do capitals";
  EXPECT_FALSE(fits("/node1/rank6", "r6n1"));
  EXPECT_FALSE(fits("/node1/rank6", "rank66"));
  EXPECT_TRUE(fits("", ""));
  EXPECT_FALSE(fits("", "a"));
  EXPECT_TRUE(fits("Größe", "GRößE")) << "only ASCII letters have two cases";
  EXPECT_TRUE(fits("anything", "  "));
}

TEST(Fits, TheBetterTheEarlier) {
  const char* const from_best[] = {"rank1",   "/a/rank1", "rank10",  "/a/rank10",
                                   "prank10", "ra/nk1",   "r/an/k1", "r-a-n-k-1"};
  int before = -1;
  for (const char* text : from_best) {
    const auto score = fits(text, "rank1");
    ASSERT_TRUE(score) << text;
    EXPECT_GT(*score, before) << text;
    before = *score;
  }
  // The best of several places.
  EXPECT_EQ(fits("prank1 rank1", "rank1"), fits("/a/rank1", "rank1"));
}

// The palette of a window, opened by its keys.
struct Asked : Shown {
  explicit Asked(ViewPtr data = small()) : Shown(std::move(data)) { open(); }
  void open() {
    window.activateWindow();
    overview().setFocus();
    EXPECT_TRUE(QTest::qWaitFor([this] { return overview().hasFocus(); }));
    QTest::keyClick(&overview(), Qt::Key_K, Qt::ControlModifier);
    for (CommandPalette* p : window.findChildren<CommandPalette*>())
      if (p->isVisible()) palette = p;
    // Its keys are the window's until it is the active one.
    EXPECT_TRUE(palette && QTest::qWaitFor([this] { return palette->line().hasFocus(); }));
  }
  void type(const char* text) {
    palette->line().clear();
    QTest::keyClicks(&palette->line(), text);
  }
  void press(Qt::Key key) { QTest::keyClick(&palette->line(), key); }
  std::vector<std::string> shown(int column = 0) {
    std::vector<std::string> out;
    for (int i = 0; i < palette->list().topLevelItemCount(); ++i)
      out.push_back(palette->list().topLevelItem(i)->text(column).toStdString());
    return out;
  }
  std::string current() { return palette->list().currentItem()->text(0).toStdString(); }
  bool closed() { return !palette || !palette->isVisible(); }
  QPointer<CommandPalette> palette;
};

TEST(CommandPalette, HasEveryActionWithItsKeys) {
  Asked s;
  ASSERT_TRUE(s.palette && s.palette->isVisible());
  int tried = 0;
  for (const QAction* entry : s.window.menuBar()->actions())
    for (const QAction* a : entry->menu()->actions()) {
      if (a->isSeparator() || !a->isEnabled()) continue;
      const QString name = a->text().remove('&').remove("...");
      s.type((entry->text().remove('&') + ": " + name).toUtf8());
      if (name.startsWith("Find anything")) {
        EXPECT_THAT(s.shown(), testing::Not(Contains(HasSubstr("Find anything")))) << "not itself";
        continue;
      }
      EXPECT_EQ(s.current(), (entry->text().remove('&') + ": " + name).toStdString());
      if (!a->shortcuts().isEmpty()) {
        EXPECT_THAT(s.shown(1)[0],
                    HasSubstr(a->shortcuts()[0].toString(QKeySequence::NativeText).toStdString()));
      }
      ++tried;
    }
  EXPECT_GT(tried, 40);
  EXPECT_TRUE(s.window.keys().contains("Ctrl+K"));
}

TEST(CommandPalette, DoesAnAction) {
  Asked s;
  s.type("dark");
  EXPECT_EQ(s.current(), "Look: Dark");
  s.press(Qt::Key_Return);
  EXPECT_TRUE(s.closed());
  EXPECT_EQ(s.session.palette().theme(), scene::Theme::kDark);
  // What takes the focus has it.
  s.open();
  s.type("search a resource");
  s.press(Qt::Key_Return);
  ASSERT_NE(s.window.focusWidget(), nullptr);
  EXPECT_EQ(s.window.focusWidget()->accessibleName(), "search a resource");
  // What opens something does.
  s.open();
  s.type("help keys");
  s.press(Qt::Key_Return);
  EXPECT_NE(s.window.findChild<KeysDialog*>(), nullptr);
}

TEST(CommandPalette, ChoosesAState) {
  Asked s;
  s.type("wait");
  EXPECT_EQ(s.current(), "MPI_Wait");
  EXPECT_EQ(s.shown(1)[0], "state");
  s.press(Qt::Key_Return);
  EXPECT_EQ(s.window.focusWidget(), &s.window.states().table());
  s.window.activateWindow();
  EXPECT_TRUE(QTest::qWaitFor([&] { return s.window.states().table().hasFocus(); }));
  QTest::keyClick(&s.window.states().table(), Qt::Key_O);
  EXPECT_THAT(s.session.subject().states, ElementsAre("MPI_Wait"));
}

TEST(CommandPalette, GoesToAResource) {
  Asked s;
  s.type("r3");
  EXPECT_EQ(s.current(), "/b/r3");
  s.press(Qt::Key_Return);
  EXPECT_EQ(s.session.selection(), (Session::Selection{6, 0, 4}));
  // Also where it is folded away, or left out by a search.
  s.session.toggle_fold(4);
  s.session.search("r0");
  s.open();
  s.type("r2");
  s.press(Qt::Key_Return);
  EXPECT_EQ(s.session.selection(), (Session::Selection{5, 0, 4}));
  EXPECT_EQ(s.session.folding().search, "");
  const std::int64_t row = scene::row_of(s.session.rows(), 5);
  ASSERT_GE(row, 0);
  EXPECT_EQ(s.session.rows().rows[static_cast<std::size_t>(row)].node, 5u) << "unfolded";
}

TEST(CommandPalette, GoesToPhasesAndAlerts) {
  Asked s;
  wire::Report r = report(3);
  r.set_watermark_ns(9'000'000'000);
  auto& phase = *r.add_phases();
  phase.set_name("B");
  phase.set_label("exchange");
  phase.set_begin_ns(1'000'000'000);
  phase.set_end_ns(3'000'000'000);
  phase.set_occurrence(2);
  s.take(r);
  s.type("exchange");
  EXPECT_EQ(s.current(), "B (exchange), 2nd, 1 s to 3 s (2 s)");
  EXPECT_EQ(s.shown(1)[0], "phase");
  s.press(Qt::Key_Return);
  ASSERT_TRUE(s.session.subject().time);
  EXPECT_EQ(s.session.subject().time->from, TimeNs(1'000'000'000));
  EXPECT_EQ(s.session.subject().time->to, TimeNs(3'000'000'000));

  s.open();
  s.type("computes 4.0 x longer, 2 s");
  EXPECT_EQ(s.shown(1)[0], "alert");
  EXPECT_EQ(s.current(), "r1 on a: rank <1> computes 4.0 x longer, 2 s");
  s.press(Qt::Key_Return);
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(row_of(s.window.alert_list(), s.window.alert_list().currentIndex()), 1) << "shown in the list";
}

TEST(CommandPalette, GoesToATime) {
  Asked s;
  s.type("1..2.5");
  EXPECT_EQ(s.current(), "1 s to 2.5 s (1.5 s)");
  EXPECT_EQ(s.shown(1)[0], "time");
  s.press(Qt::Key_Return);
  ASSERT_TRUE(s.session.subject().time);
  EXPECT_EQ(s.session.subject().time->from.value, 1'000'000'000);
  EXPECT_EQ(s.session.subject().time->to.value, 2'500'000'000);
}

TEST(CommandPalette, IsDrivenByKeysAlone) {
  Asked s;
  EXPECT_TRUE(s.palette->line().hasFocus());
  s.type("r");
  const std::vector<std::string> all = s.shown();
  ASSERT_GT(all.size(), 12u);
  EXPECT_EQ(s.current(), all[0]);
  s.press(Qt::Key_Down);
  s.press(Qt::Key_Down);
  EXPECT_EQ(s.current(), all[2]);
  EXPECT_TRUE(s.palette->line().accessibleDescription().startsWith(QString::fromStdString(all[2])));
  s.press(Qt::Key_Up);
  EXPECT_EQ(s.current(), all[1]);
  s.press(Qt::Key_PageUp);
  s.press(Qt::Key_Up);
  EXPECT_EQ(s.current(), all[0]) << "no further than the first";
  for (int i = 0; i < 60; ++i) s.press(Qt::Key_PageDown);
  EXPECT_EQ(s.current(), all.back());
  // Typing begins at the first again.
  s.press(Qt::Key_Left);
  QTest::keyClicks(&s.palette->line(), "r");
  EXPECT_EQ(s.current(), s.shown()[0]);
  s.type("no such thing at all");
  EXPECT_EQ(s.palette->note(), "nothing has that in its name");
  s.press(Qt::Key_Return);
  EXPECT_TRUE(s.palette && s.palette->isVisible()) << "there is nothing to be done";
  const auto theme = s.session.palette().theme();
  s.type("dark");
  s.press(Qt::Key_Escape);
  EXPECT_TRUE(s.closed());
  EXPECT_EQ(s.session.palette().theme(), theme);
}

// Qt's fields delete to their end with Ctrl+K.
TEST(CommandPalette, OpensFromAFieldAsWell) {
  Shown s;
  QLineEdit* search = nullptr;
  for (QLineEdit* field : s.window.findChild<QToolBar*>()->findChildren<QLineEdit*>())
    if (field->accessibleName() == "search a resource") search = field;
  ASSERT_NE(search, nullptr);
  search->setFocus();
  QTest::keyClicks(search, "r1");
  QTest::keyClick(search, Qt::Key_Home);
  QTest::keyClick(search, Qt::Key_K, Qt::ControlModifier);
  const auto* palette = s.window.findChild<CommandPalette*>();
  ASSERT_NE(palette, nullptr);
  EXPECT_TRUE(palette->isVisible());
  EXPECT_EQ(search->text(), "r1");
}

TEST(CommandPalette, OfManyTheBestInAnOrderThatStays) {
  std::mt19937_64 rng(7);
  const ViewPtr big = std::make_shared<const scene::ViewData>(
      *scene::view_data_untrusted(support::cluster_view(rng, 100'000, 20, 3000)));
  Asked s(big);
  const scene::ViewData& data = s.session.data();
  s.type("");
  EXPECT_EQ(s.shown().size(), Commands::kMostFound);
  EXPECT_TRUE(s.palette->note().endsWith(" more, type on"));
  EXPECT_GT(s.palette->note().remove(',').section(' ', 0, 0).toInt(), 100'000);
  // A time has a line of the fifty.
  const auto more = [&] { return s.palette->note().remove(',').section(' ', 0, 0).toInt(); };
  s.type("1");
  const int beside_a_time = more();
  EXPECT_EQ(s.shown(1)[0], "time");
  EXPECT_EQ(s.shown().size(), Commands::kMostFound);
  s.session.show(std::make_shared<const scene::ViewData>());
  s.type("1");
  const auto without = s.shown().size();
  EXPECT_LT(without, Commands::kMostFound) << "no resources, no times";
  s.session.show(big);
  int all = static_cast<int>(without);
  for (const scene::Node& n : big->nodes)
    if (fits(n.path, "1")) ++all;
  EXPECT_EQ(beside_a_time + static_cast<int>(Commands::kMostFound) - 1, all);
  // A whole name, though thousands have the same characters.
  const std::string path = data.nodes[data.nodes.size() - 1].path;
  s.type(path.c_str());
  EXPECT_EQ(s.current(), path);
  const std::vector<std::string> found = s.shown();
  s.type("x");
  s.type(path.c_str());
  EXPECT_EQ(s.shown(), found);
  s.press(Qt::Key_Return);
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(data.nodes[s.session.selection()->node].path, path);
}

}  // namespace commands_test
}  // namespace margay::viewer
