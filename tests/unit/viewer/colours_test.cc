// Colours that a person gives to states: one map for all views, kept for later sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QColorDialog>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>

#include "paint.h"
#include "patterns.h"
#include "settings.h"
#include "shown.h"

namespace margay::viewer {
namespace colours_test {

using testing::HasSubstr;

constexpr scene::Rgb kPink{255, 0, 200};

void write(const QString& path, const QByteArray& text) {
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  ASSERT_EQ(file.write(text), text.size());
}

// The file that sessions use, empty before and after.
struct Colours : testing::Test {
  Colours() { QFile::remove(ColourFile::usual_path()); }
  ~Colours() override { QFile::remove(ColourFile::usual_path()); }
};

TEST_F(Colours, SurviveANewSession) {
  {
    Session session(nullptr, scene::Theme::kLight);
    session.set_colour("MPI_Wait", kPink);
    EXPECT_EQ(session.colours_trouble(), "");
  }
  Shown s;
  EXPECT_EQ(s.session.palette().look("MPI_Wait", wire::FAMILY_WAIT).colour, kPink);
  // In the picture, and in the list.
  const QImage picture = s.overview().grab().toImage();
  bool found = false;
  for (int y = 0; y < picture.height() && !found; y += 2)
    for (int x = 0; x < picture.width() && !found; x += 2)
      found = picture.pixelColor(x, y) == colour_of(kPink);
  EXPECT_TRUE(found);
  const StatisticsModel& list = s.window.statistics();
  const auto box = list.index(s.row("MPI_Wait"), StatisticsModel::kColour).data(Qt::DecorationRole);
  EXPECT_EQ(box.value<QPixmap>().toImage().pixelColor(14, 14), colour_of(kPink));
  s.session.set_colour("MPI_Wait", std::nullopt);
  const Session later(nullptr, scene::Theme::kLight);
  EXPECT_NE(later.palette().look("MPI_Wait", wire::FAMILY_WAIT).colour, kPink);
}

// In the list of states as in the picture: boxes of states that look alike have patterns, each its own.
TEST_F(Colours, BoxesOfStatesThatLookAlikeDiffer) {
  const auto box_of = [](const scene::Look& look) {
    QImage box(14, 14, QImage::Format_RGB32);
    box.fill(Qt::white);
    QPainter p(&box);
    fill_box(p, QRectF(0, 0, 14, 14), look);
    return box;
  };
  Session session(nullptr, scene::Theme::kLight);
  support::ViewBuilder build(1);
  const auto node = build.node("r", 0);
  const std::vector<std::string> names = {"MPI_Barrier", "MPI_Comm_create", "MPI_Gatherv"};
  std::vector<support::ViewShare> shares;
  for (const std::string& name : names) shares.push_back({build.state(name, wire::FAMILY_COLLECTIVE), 0.3F});
  build.part(node, 0, 1, shares);
  const auto data = scene::view_data_untrusted(build.answer());
  ASSERT_TRUE(data) << data.error().message;
  session.show(std::make_shared<const scene::ViewData>(*data));
  std::vector<QImage> boxes;
  for (const std::string& name : names)
    boxes.push_back(box_of(session.palette().look(name, wire::FAMILY_COLLECTIVE)));
  EXPECT_NE(boxes[0], boxes[1]);
  EXPECT_NE(boxes[0], boxes[2]);
  EXPECT_NE(boxes[1], boxes[2]);
  // And after the theme, and the colours, are others.
  session.set_theme(scene::Theme::kDark);
  session.set_hues(scene::Hues::kTol);
  EXPECT_NE(session.palette().look(names[1], wire::FAMILY_COLLECTIVE).pattern, scene::Pattern::kNone);
  session.set_colour(names[1], kPink);
  EXPECT_EQ(session.palette().look(names[1], wire::FAMILY_COLLECTIVE).pattern, scene::Pattern::kNone);
  EXPECT_NE(session.palette().look(names[2], wire::FAMILY_COLLECTIVE).pattern, scene::Pattern::kNone);
}

// A run goes on, and does what it has not done before.
TEST_F(Colours, AStateThatComesLaterChangesNoColour) {
  Shown s;
  const auto look = [&](const char* name) { return s.session.palette().look(name, wire::FAMILY_COLLECTIVE); };
  wire::Report r = report(0);
  const auto does = [&](const char* name) {
    r.add_states()->set_name(name);
    r.mutable_states()->rbegin()->set_family(wire::FAMILY_COLLECTIVE);
    r.add_nodes()->add_shares()->set_state(static_cast<std::uint32_t>(r.states_size() - 1));
    s.take(r);
  };
  does("MPI_Scatterv");
  EXPECT_EQ(look("MPI_Scatterv").pattern, scene::Pattern::kNone);
  int painted = 0;
  QObject::connect(&s.session, &Session::view_changed, [&] { ++painted; });
  const scene::Rgb colour = look("MPI_Scatterv").colour;
  does("MPI_Barrier");  // which looks like it and is listed before it
  EXPECT_EQ(look("MPI_Barrier").pattern, scene::Pattern::kNone);
  EXPECT_NE(look("MPI_Scatterv").pattern, scene::Pattern::kNone);
  EXPECT_EQ(look("MPI_Scatterv").colour, colour);
  EXPECT_GE(painted, 1);
}

TEST_F(Colours, AnotherPaletteIsChosenAndKept) {
  keep_switch(kTolSwitch, false);
  {
    Shown s;
    const scene::Rgb wait = s.session.palette().look("MPI_Wait", wire::FAMILY_WAIT).colour;
    QTest::keyClick(&s.overview(), Qt::Key_D, Qt::ShiftModifier);
    EXPECT_EQ(s.session.palette().hues(), scene::Hues::kTol);
    EXPECT_NE(s.session.palette().look("MPI_Wait", wire::FAMILY_WAIT).colour, wait);
    EXPECT_TRUE(kept_switch(kTolSwitch, false));
    s.session.set_theme(scene::Theme::kDark);
    EXPECT_EQ(s.session.palette().hues(), scene::Hues::kTol) << "in both themes";
    QTest::keyClick(&s.overview(), Qt::Key_D, Qt::ShiftModifier);
    EXPECT_EQ(s.session.palette().hues(), scene::Hues::kOkabeIto);
  }
  EXPECT_FALSE(kept_switch(kTolSwitch, true));
}

// What is framed in red is an alert.
TEST(StateColours, AreNotTheRedOfAlerts) {
  for (const auto hues : {scene::Hues::kOkabeIto, scene::Hues::kTol})
    for (const auto theme : {scene::Theme::kLight, scene::Theme::kDark}) {
      const scene::Palette palette(theme, {}, hues);
      const QColor red = alert_colour(palette);
      const scene::Rgb alert{static_cast<std::uint8_t>(red.red()), static_cast<std::uint8_t>(red.green()),
                             static_cast<std::uint8_t>(red.blue())};
      for (int family = 0; family <= wire::FAMILY_START_END; ++family)
        for (int i = 0; i < 100; ++i) {
          const scene::Rgb state =
              palette.look("s" + std::to_string(i), static_cast<wire::StateFamily>(family)).colour;
          ASSERT_GE(scene::ciede2000(state, alert), scene::kToldApart) << scene::text_of(state);
        }
    }
}

TEST_F(Colours, StayInBothThemes) {
  Session session(nullptr, scene::Theme::kLight);
  session.set_colour("MPI_Wait", kPink);
  session.set_theme(scene::Theme::kDark);
  EXPECT_EQ(session.palette().look("MPI_Wait", wire::FAMILY_WAIT).colour, kPink);
}

TEST_F(Colours, TwoWindowsDoNotTakeThemFromEachOther) {
  Session one(nullptr, scene::Theme::kLight), two(nullptr, scene::Theme::kLight);
  one.set_colour("a", kPink);
  two.set_colour("b", scene::Rgb{1, 2, 3});
  EXPECT_EQ(two.palette().overrides().size(), 2u);
  EXPECT_EQ(Session(nullptr, scene::Theme::kLight).palette().overrides().size(), 2u);
}

TEST_F(Colours, AClickOnTheBoxAsksForAnother) {
  Shown s;
  QTableView& table = s.window.states().table();
  s.choose("MPI_Send");
  const QModelIndex box = table.currentIndex().siblingAtColumn(StatisticsModel::kColour);
  QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualRect(box).center());
  auto* dialog = s.window.findChild<QColorDialog*>();
  ASSERT_NE(dialog, nullptr);
  EXPECT_THAT(dialog->windowTitle().toStdString(), HasSubstr("MPI_Send"));
  dialog->setCurrentColor(colour_of(kPink));
  dialog->accept();
  EXPECT_EQ(s.session.palette().look("MPI_Send", wire::FAMILY_POINT_TO_POINT).colour, kPink);
  s.choose("MPI_Send");
  QTest::keyClick(&s.overview(), Qt::Key_C, Qt::ShiftModifier);
  EXPECT_TRUE(s.session.palette().overrides().empty());
}

// What somebody has written by hand and cannot be read is said, and not written over.
TEST_F(Colours, AFileThatCannotBeReadIsNotWrittenOver) {
  write(ColourFile::usual_path(), "MPI_Send=#ff0000\nMPI_Wait=pink\n");
  Session session(nullptr, scene::Theme::kLight);
  EXPECT_THAT(session.colours_trouble().toStdString(), HasSubstr("line 2"));
  EXPECT_THAT(session.colours_trouble().toStdString(), HasSubstr("colours"));
  QStringList said;
  QObject::connect(&session, &Session::said, [&](const QString& s) { said << s; });
  session.set_colour("MPI_Send", kPink);
  EXPECT_EQ(session.palette().look("MPI_Send", wire::FAMILY_POINT_TO_POINT).colour, kPink) << "for now";
  ASSERT_EQ(said.size(), 1);
  EXPECT_THAT(said[0].toStdString(), HasSubstr("not kept"));
  QFile file(ColourFile::usual_path());
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(file.readAll(), "MPI_Send=#ff0000\nMPI_Wait=pink\n");
}

TEST(ColourFile, IsBounded) {
  const QTemporaryDir folder;
  const QString path = folder.filePath("colours");
  const ColourFile file(path);
  EXPECT_TRUE(file.read()->empty()) << "there is none yet";
  write(path, QByteArray(ColourFile::kLargest + 1, '\n'));
  ASSERT_FALSE(file.read());
  EXPECT_EQ(file.read().error().code, ErrorCode::kLimit);
  QByteArray full;
  for (std::size_t i = 0; i < ColourFile::kMostColours; ++i)
    full += "s" + QByteArray::number(static_cast<qulonglong>(i)) + "=#010203\n";
  write(path, full);
  EXPECT_EQ(file.read()->size(), ColourFile::kMostColours);
  ASSERT_FALSE(file.change("one more", kPink));
  EXPECT_EQ(file.change("one more", kPink).error().code, ErrorCode::kLimit);
  EXPECT_TRUE(file.change("s1", kPink)) << "another colour of one that has one";
  EXPECT_EQ(file.read()->at("s1"), kPink);
}

TEST(ColourFile, SaysWhereItCannotWrite) {
  const QTemporaryDir folder;
  write(folder.filePath("file"), "x");
  const QString path = folder.filePath("file/colours");
  const auto changed = ColourFile(path).change("a", kPink);
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().message, HasSubstr(path.toStdString()));
}

// What is faster is not another picture.
TEST(Patterns, AreTheSamePixelsForLargeAreas) {
  for (const Qt::BrushStyle style :
       {Qt::HorPattern, Qt::Dense6Pattern, Qt::VerPattern, Qt::CrossPattern, Qt::BDiagPattern}) {
    const QBrush pattern(QColor(20, 90, 160, 90), style);
    const auto drawn = [&](bool large, double scale) {
      QImage image(1300, 70, QImage::Format_RGB32);
      image.fill(Qt::white);
      QPainter p(&image);
      p.scale(scale, scale);
      p.setPen(Qt::NoPen);
      p.setBrush(large ? for_large(p, pattern) : pattern);
      p.drawRects(QList<QRectF>{{3, 5, 1250, 11}, {0.4, 20.6, 6.3, 9.7}, {77, 31, 530, 37}});
      return image;
    };
    EXPECT_EQ(drawn(true, 1), drawn(false, 1)) << style;
    EXPECT_EQ(drawn(true, 2), drawn(false, 2)) << style;
    QImage image(8, 8, QImage::Format_RGB32);
    QPainter p(&image);
    EXPECT_EQ(for_large(p, pattern).style(), Qt::TexturePattern);
    p.scale(2, 2);
    EXPECT_EQ(for_large(p, pattern).style(), style) << "a texture would be drawn twice as large";
  }
}

}  // namespace colours_test
}  // namespace margay::viewer
