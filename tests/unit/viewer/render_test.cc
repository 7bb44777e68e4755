// `margay render` and `margay-viewer --render`, as they are called: what they write, and what they say where
// they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QGuiApplication>
#include <QImage>
#include <QProcess>
#include <QTemporaryDir>
#include <algorithm>
#include <map>

#include "../../support/runtime_place.h"
#include "damaged.h"
#include "golden.h"

namespace margay::viewer {
namespace render_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Said {
  int code = -1;
  std::string words;
};

class Render : public testing::Test {
 protected:
  Said run(const QString& program, const QStringList& arguments) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "XDG_RUNTIME_DIR"})
      environment.remove(name);
    environment.insert("XDG_CONFIG_HOME", folder_.path());  // nobody's own colours
    process.setProcessEnvironment(environment);
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start(QString(MARGAY_BIN) + "/" + program, arguments);
    if (!process.waitForFinished(90'000)) {
      process.kill();
      process.waitForFinished();
      return {-1, "it did not end"};
    }
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
            process.readAll().toStdString()};
  }
  Said render(const QString& what, const QStringList& more = {}) {
    return run("margay", QStringList{"render", what, "-o", file()} + more);
  }
  QString file() const { return folder_.filePath("a.png"); }

  const test::RuntimePlace place_;
  const QTemporaryDir folder_;
};

// The pictures of the README, too.
TEST_F(Render, TheExampleIsThePictureOfTheReadme) {
  for (const auto& [name, more] :
       {std::pair("light.png", QStringList()), std::pair("dark.png", QStringList{"--dark"})}) {
    const Said said = render("example", more);
    ASSERT_EQ(said.code, 0) << said.words;
    EXPECT_EQ(said.words, "");
    const QString golden = QString(MARGAY_EXAMPLE "/pictures/") + name;
    EXPECT_EQ(against_golden(QImage(file()), golden), "");
    EXPECT_LT(QFile(golden).size(), 200'000);
  }
  QFile readme(MARGAY_EXAMPLE "/../../README.md");
  ASSERT_TRUE(readme.open(QIODevice::ReadOnly));
  const std::string text = readme.readAll().toStdString();
  EXPECT_THAT(text, HasSubstr("viewer/example/pictures/light.png"));
}

TEST_F(Render, InAnotherPalette) {
  Said said = render("example", {"--colours", "okabe-ito"});
  ASSERT_EQ(said.code, 0) << said.words;
  EXPECT_EQ(against_golden(QImage(file()), MARGAY_EXAMPLE "/pictures/light.png"), "") << "the usual one";
  said = render("example", {"--colours", "tol"});
  ASSERT_EQ(said.code, 0) << said.words;
  EXPECT_NE(difference(QImage(file()), QImage(MARGAY_EXAMPLE "/pictures/light.png")), "");
  said = render("example", {"--colours", "pastel"});
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.words, HasSubstr("pastel"));
  EXPECT_THAT(said.words, HasSubstr("okabe-ito"));
}

TEST_F(Render, IsTheSameAsTheViewers) {
  ASSERT_EQ(render("example").code, 0);
  const QString other = folder_.filePath("b.png");
  const Said said = run("margay-viewer", {"example", "--render", other});
  ASSERT_EQ(said.code, 0) << said.words;
  EXPECT_EQ(difference(QImage(file()), QImage(other)), "");
}

TEST_F(Render, APartOfItIsAnotherPicture) {
  ASSERT_EQ(render("example").code, 0);
  const QImage all(file());
  for (const QStringList& part : {QStringList{"--from", "10", "--to", "20"}, QStringList{"--node", "/node1"},
                                  QStringList{"--p", "0.9"}}) {
    const Said said = render("example", part);
    ASSERT_EQ(said.code, 0) << said.words;
    EXPECT_NE(difference(all, QImage(file())), "") << part[0].toStdString();
  }
}

// The moment at which rank 6 is stopped, call by call.
TEST_F(Render, SingleCallsOfAShortStretch) {
  const QStringList stretch = {"--from", "14.9", "--to", "15.1", "--size", "960x540"};
  ASSERT_EQ(render("example", stretch).code, 0);
  const QImage overview(file());
  const Said said = render("example", stretch + QStringList{"--picture", "gantt"});
  ASSERT_EQ(said.code, 0) << said.words;
  EXPECT_NE(difference(overview, QImage(file())), "");
  EXPECT_EQ(against_golden(QImage(file()), MARGAY_EXAMPLE "/pictures/calls.png"), "");
  const Said all = render("example", {"--picture", "gantt"});
  EXPECT_EQ(all.code, 1);
  EXPECT_THAT(all.words,
              HasSubstr("--picture gantt: of this stretch there are no single calls, or more than 20000"));
}

TEST_F(Render, WritesATable) {
  const QString table = folder_.filePath("a.csv");
  ASSERT_EQ(run("margay", {"render", "example", "-o", table}).code, 0);
  QFile csv(table);
  ASSERT_TRUE(csv.open(QIODevice::ReadOnly));
  EXPECT_THAT(csv.readAll().toStdString(), HasSubstr("node2"));
}

TEST_F(Render, SaysWhatIsWrongWithTheCall) {
  const auto says = [&](const QString& what, const QStringList& more, const char* sentence) {
    const Said said = render(what, more);
    EXPECT_EQ(said.code, 2) << said.words;
    EXPECT_THAT(said.words, HasSubstr(sentence));
  };
  says("example", {"--size", "10x10"}, "--size 10x10: expected WIDTHxHEIGHT");
  says("example", {"--p", "2"}, "--p: ");
  says("example", {"--from", "7", "--to", "3"}, "the range is empty");
  says("example", {"--from", "100000"}, "the run does not reach so far");
  const Said said = run("margay", {"render", "example", "-o", "a.pdf"});
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.words, HasSubstr("a.pdf: the name has to end in .png, .svg or .csv"));
}

TEST_F(Render, SaysWhatIsNotThere) {
  Said said = render("/no/such.margay");
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(
      said.words,
      HasSubstr("/no/such.margay: there is no such archive, and '/no/such.margay' is not the name of a run"));
  said = render(folder_.path());
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.words,
              AllOf(HasSubstr(folder_.path().toStdString()), HasSubstr("no such archive, it is empty")));
  said = run("margay", {"render", "-o", file()});
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.words, HasSubstr("no run is going on here"));
  said = run("margay", {"render", "example", "-o", "/no/such/folder.png"});
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.words, HasSubstr("/no/such/folder.png: not written: "));
  EXPECT_FALSE(QFile::exists(file()));
}

TEST_F(Render, SaysThatAnArchiveIsDamaged) {
  const std::pair<const char*, void (*)(ArchiveCopy&)> damages[] = {
      {"no MARGAY", [](ArchiveCopy& a) { QFile::remove(a.path() + "/MARGAY"); }},
      {"no CURRENT", [](ArchiveCopy& a) { a.remove("CURRENT"); }},
      {"CURRENT of nothing", [](ArchiveCopy& a) { a.truncate("CURRENT", 0); }},
      {"no MANIFEST", [](ArchiveCopy& a) { a.remove("MANIFEST-*"); }},
      {"MANIFEST cut", [](ArchiveCopy& a) { a.truncate("MANIFEST-*", 100); }},
      {"MANIFEST spoilt", [](ArchiveCopy& a) { a.spoil("MANIFEST-*"); }},
      {"no tables", [](ArchiveCopy& a) { a.remove("*.sst"); }},
      {"tables cut", [](ArchiveCopy& a) { a.truncate("*.sst", 1000); }},
      {"tables spoilt", [](ArchiveCopy& a) { a.spoil("*.sst"); }},
      {"no database", [](ArchiveCopy& a) { QDir(a.path() + "/db").removeRecursively(); }},
  };
  for (const auto& [what, damage] : damages) {
    ArchiveCopy copy;
    damage(copy);
    const Said said = render(copy.path());
    EXPECT_EQ(said.code, 1) << what << ": " << said.words;
    EXPECT_THAT(said.words, AllOf(HasSubstr("copy.margay"), Not(HasSubstr("did not begin")))) << what;
    EXPECT_EQ(std::count(said.words.begin(), said.words.end(), '\n'), 1) << said.words;
    EXPECT_FALSE(QFile::exists(file())) << what;
  }
}

TEST_F(Render, WritesNothingIntoTheArchive) {
  const auto look = [](const QString& path) {
    std::map<std::string, std::pair<qint64, qint64>> found;
    for (QDirIterator it(path, QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot,
                         QDirIterator::Subdirectories);
         it.hasNext();) {
      it.next();
      const QFileInfo info = it.fileInfo();
      found[info.filePath().toStdString()] = {info.isFile() ? info.size() : 0,
                                              info.lastModified().toMSecsSinceEpoch()};
    }
    return found;
  };
  const ArchiveCopy copy;
  const auto before = look(copy.path());
  ASSERT_GT(before.size(), 3U);
  const Said said = render(copy.path());
  ASSERT_EQ(said.code, 0) << said.words;
  EXPECT_EQ(look(copy.path()), before);
}

TEST_F(Render, AWrongKeyFileIsASentence) {
  Said said = render("x", {"--connect", "tcp://127.0.0.1:9", "--key", "/no/such.key"});
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.words, HasSubstr("/no/such.key"));
  QFile key(folder_.filePath("bad.key"));
  ASSERT_TRUE(key.open(QIODevice::WriteOnly));
  key.write("no key\n");
  key.setPermissions(QFile::ReadOwner | QFile::WriteOwner);
  key.close();
  said = render("x", {"--connect", "tcp://127.0.0.1:9", "--key", key.fileName()});
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.words, HasSubstr("bad.key"));
}

TEST_F(Render, HelpHasExamples) {
  const Said said = run("margay", {"render", "--help"});
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.words, HasSubstr("margay render example -o example.png"));
}

TEST_F(Render, WithoutADisplayTheWindowSaysSo) {
  const Said said = run("margay-viewer", {"example"});
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.words, HasSubstr("there is no display here"));
}

}  // namespace render_test
}  // namespace margay::viewer

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  testing::InitGoogleTest(&argc, argv);
  const QGuiApplication application(argc, argv);
  return RUN_ALL_TESTS();
}
