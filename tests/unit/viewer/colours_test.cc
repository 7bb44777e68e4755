// Colours that a person gives to states: one map for all views, kept for later sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QColorDialog>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>

#include "paint.h"
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

}  // namespace colours_test
}  // namespace margay::viewer
