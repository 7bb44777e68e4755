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
#include <set>

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
  QImage render_again(const QStringList& more) {
    EXPECT_EQ(render("example", more).code, 0);
    return QImage(file());
  }
  std::string written(const char* name, const QStringList& more) {
    const QString path = folder_.filePath(name);
    const Said said = run("margay", QStringList{"render", "example", "-o", path} + more);
    EXPECT_EQ(said.code, 0) << said.words;
    QFile written(path);
    return written.open(QIODevice::ReadOnly) ? written.readAll().toStdString() : "";
  }
  std::string svg_of(const QStringList& more) { return written("a.svg", more); }
  // Rows of fields, none of which is quoted.
  std::vector<QStringList> table_of(const QStringList& more) {
    std::vector<QStringList> rows;
    for (const QString& line : QString::fromStdString(written("a.csv", more)).split("\r\n"))
      if (!line.isEmpty()) rows.push_back(line.split(','));
    return rows;
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

TEST_F(Render, InAsManySlicesAsWereAskedFor) {
  const auto rows = table_of({"--slices", "1000", "--node", "/node1"});
  ASSERT_GT(rows.size(), 1u);
  const auto column = rows[0].indexOf("last slice");
  ASSERT_GE(column, 0);
  int last = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) last = std::max(last, rows[i][column].toInt());
  EXPECT_EQ(last, 999);
  const Said said = render("example", {"--slices", "1001"});
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.words, HasSubstr("1001"));
}

// A trace of Paje counts from a zero of its own.
constexpr const char* kPaje = R"(%EventDef PajeDefineContainerType 0
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineStateType 1
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeCreateContainer 2
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeSetState 3
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajeDestroyContainer 4
% Time date
% Type string
% Name string
%EndEventDef
0 P 0 P
1 S P S
2 0 a P 0 a
3 0 S a Compute
4 2 P a
)";

TEST_F(Render, ByTheWallClockWhereThereIsOne) {
  using testing::ContainsRegex;
  EXPECT_THAT(svg_of({}), AllOf(HasSubstr(">30 s<"), Not(ContainsRegex(">[0-9]+:[0-9]+:[0-9]+<"))));
  EXPECT_THAT(svg_of({"--clock"}), AllOf(Not(HasSubstr(">30 s<")), ContainsRegex(">[0-9]+:[0-9]+:[0-9]+<")));
  const QString trace = folder_.filePath("a.trace"), archive = folder_.filePath("a.margay");
  QFile paje(trace);
  ASSERT_TRUE(paje.open(QIODevice::WriteOnly));
  paje.write(kPaje);
  paje.close();
  ASSERT_EQ(run("margay", {"import", trace, "--archive", archive}).code, 0);
  EXPECT_EQ(render(archive).code, 0);
  const Said said = render(archive, {"--clock"});
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.words, HasSubstr("--clock: the times of this run are not those of the wall clock"));
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
                                  QStringList{"--p", "0.9"}, QStringList{"--threshold", "60"}}) {
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

// PNG, SVG and CSV of one run: the numbers of the table are those of the picture's head.
TEST_F(Render, BarsOverTime) {
  const QStringList bars{"--picture", "bars"};
  ASSERT_EQ(render("example").code, 0);
  const QImage overview(file());
  const Said said = render("example", bars);
  ASSERT_EQ(said.code, 0) << said.words;
  EXPECT_EQ(said.words, "");
  const QImage image(file());
  EXPECT_EQ(image.size(), overview.size());
  EXPECT_NE(difference(overview, image), "");
  EXPECT_THAT(svg_of(bars), AllOf(HasSubstr("temporal partition"), HasSubstr("operator duration"),
                                  HasSubstr("of 16 resource"), HasSubstr("phases"), HasSubstr("100 %")));
  const std::vector<QStringList> rows = table_of(bars);
  ASSERT_GT(rows.size(), 3U);
  EXPECT_EQ(rows[0].join(','), "begin (s),end (s),state,family,share,leaf-seconds,known");
  // Bars follow each other without gaps, and the shares of one are what is known of it.
  double sum = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const QStringList &row = rows[i], &next = rows[std::min(i + 1, rows.size() - 1)];
    ASSERT_EQ(row.size(), 7);
    sum += row[4].toDouble();
    if (next[0] == row[0] && i + 1 < rows.size()) continue;
    EXPECT_NEAR(sum, row[6].toDouble(), 1e-3) << i;
    sum = 0;
    if (i + 1 == rows.size()) break;
    EXPECT_EQ(next[0], row[1]) << i;
  }
  EXPECT_EQ(rows[1][0], "0");
  EXPECT_NE(difference(image, render_again(bars + QStringList{"--from", "10", "--to", "20"})), "");
}

TEST_F(Render, TheTimeAxisIsInTheUnitThatIsAskedFor) {
  EXPECT_THAT(svg_of({}), AllOf(HasSubstr(">30 s<"), Not(HasSubstr(">30000 ms<"))));
  EXPECT_THAT(svg_of({"--unit", "ms"}), AllOf(Not(HasSubstr(">30 s<")), HasSubstr(">30000 ms<")));
  EXPECT_THAT(svg_of({"--unit", "min"}), HasSubstr(">0.5 min<"));
  EXPECT_THAT(svg_of({"--picture", "bars", "--unit", "ms"}), HasSubstr(" ms<"));
  const Said said = render("example", {"--unit", "parsec"});
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.words, HasSubstr("--unit"));
}

// The example begins at 15:15:16.9 UTC.
TEST_F(Render, TimesOfDayAreAStretchToo) {
  qputenv("TZ", "UTC");
  const QImage since = render_again({"--from", "10", "--to", "20"});
  EXPECT_EQ(difference(since, render_again({"--from", "15:15:26.9", "--to", "2026-11-22 15:15:36.9"})), "");
  const Said wrong = render("example", {"--from", "15:99"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.words, HasSubstr("--from: \"15:99\" is not a time of day"));
  EXPECT_EQ(render("example", {"--from", "18:00"}).code, 2) << "long after its end";
  qunsetenv("TZ");
}

TEST_F(Render, ALinkIsWhatItsOptionsAre) {
  const QImage options =
      render_again({"--from", "10", "--to", "20", "--node", "/node1", "--state", "MPI_Wait"});
  ASSERT_EQ(render("margay://example#t=10-20&n=/node1&s=MPI_Wait").code, 0);
  EXPECT_EQ(difference(options, QImage(file())), "");
  const Said said = render("margay://example#t=10");
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.words, HasSubstr("margay://example#t=10: expected a range of time in t"));
}

TEST_F(Render, IsCutAsSomebodyWants) {
  const auto shape = [&](const char* cut, const char* p) {
    std::set<QString> nodes, times, parts;
    const std::vector<QStringList> rows = table_of({"--cut", cut, "--p", p});
    const auto column = [&](const char* name) { return rows[0].indexOf(name); };
    const auto path = column("resource"), begin = column("begin (s)"), end = column("end (s)");
    EXPECT_TRUE(path >= 0 && begin >= 0 && end >= 0) << rows[0].join(',').toStdString();
    for (std::size_t i = 1; i < rows.size() && path >= 0 && begin >= 0 && end >= 0; ++i) {
      nodes.insert(rows[i][path]);
      times.insert(rows[i][begin] + ".." + rows[i][end]);
      parts.insert(rows[i][path] + " " + rows[i][begin] + ".." + rows[i][end]);
    }
    return std::tuple(nodes.size(), times.size(), parts.size());
  };
  const auto [nodes, all_time, spatial] = shape("spatial", "0.01");
  EXPECT_GT(nodes, 1u);
  EXPECT_EQ(all_time, 1u) << "each node over all of the time";
  EXPECT_EQ(spatial, nodes);
  const auto [same_nodes, times, product] = shape("product", "0.01");
  EXPECT_EQ(same_nodes, nodes);
  EXPECT_GT(times, 1u);
  EXPECT_EQ(product, nodes * times);
  for (const char* cut : {"spatiotemporal", "product", "spatial"}) {
    ASSERT_EQ(render("example", {"--cut", cut, "--p", "0.01", "--size", "480x400"}).code, 0);
    const QString golden = QString(MARGAY_EXAMPLE "/pictures/cut-%1.png").arg(cut);
    EXPECT_EQ(against_golden(QImage(file()), golden), "");
    EXPECT_LT(QFile(golden).size(), 150'000);
  }
  ASSERT_EQ(render("example", {"--picture", "bars", "--p", "0.01", "--size", "480x400"}).code, 0);
  EXPECT_EQ(against_golden(QImage(file()), MARGAY_EXAMPLE "/pictures/cut-temporal.png"), "");
  const auto [n, t, both] = shape("spatiotemporal", "0.01");
  EXPECT_NE(both, n * t);
  EXPECT_THAT(svg_of({"--cut", "product"}), HasSubstr("cut in space only times in time only"));
  EXPECT_THAT(svg_of({}), Not(HasSubstr("cut in")));
  EXPECT_THAT(render("margay://example#cut=temporal").words,
              HasSubstr("expected spatiotemporal, spatial or product"));
}

// The bytes of each state over all bars are those of its events.
TEST_F(Render, WhatIsMeasuredAddsUpToWhatTheEventsSay) {
  const QStringList bars{"--picture", "bars", "--operator", "bytes"};
  EXPECT_THAT(svg_of(bars), HasSubstr("operator bytes (bytes; full: "));
  EXPECT_THAT(svg_of({"--operator", "bytes"}), HasSubstr("operator bytes (bytes; full: "));
  EXPECT_THAT(svg_of({}), HasSubstr("operator duration (share of the time)"));
  const std::vector<QStringList> rows = table_of(bars);
  ASSERT_GT(rows.size(), 3U);
  EXPECT_EQ(rows[0].join(','), "begin (s),end (s),state,family,share of full,total (bytes),known");
  std::map<QString, double> ours;
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (!rows[i][2].isEmpty()) ours[rows[i][2]] += rows[i][5].toDouble();
  const Said told = run("margay", {"events", MARGAY_EXAMPLE "/sixteen.margay", "--statistics", "--csv"});
  ASSERT_EQ(told.code, 0) << told.words;
  std::size_t found = 0;
  for (const QString& line : QString::fromStdString(told.words).split('\n')) {
    const QStringList row = line.trimmed().split(',');
    if (row.size() < 6 || row[0] == "name") continue;
    const double bytes = row[4].toDouble();
    found += bytes > 0;
    EXPECT_NEAR(ours[row[0]], bytes, bytes * 1e-6) << row[0].toStdString();
  }
  EXPECT_GE(found, 4u);
}

TEST_F(Render, GainAndLossOverP) {
  const QStringList curve{"--picture", "curve"};
  const Said said = render("example", curve);
  ASSERT_EQ(said.code, 0) << said.words;
  EXPECT_EQ(said.words, "");
  const QImage image(file());
  EXPECT_EQ(image.size(), QSize(2560, 1440));
  const std::vector<QStringList> rows = table_of(curve);
  ASSERT_GT(rows.size(), 3U);
  EXPECT_EQ(rows[0].join(','), "p,until,parts,gain (bits),loss (bits),gain (share),loss (share)");
  for (std::size_t i = 1; i + 1 < rows.size(); ++i) {
    EXPECT_EQ(rows[i][1], rows[i + 1][0]) << "a step goes to the next one's p";
    EXPECT_GE(rows[i][2].toInt(), rows[i + 1][2].toInt());
  }
  EXPECT_EQ(rows[1][0], "0");
  EXPECT_EQ(rows.back()[1], "1");
  EXPECT_EQ(rows.back()[5], "1");
  EXPECT_THAT(svg_of(curve),
              AllOf(HasSubstr("gain and loss of " + std::to_string(rows.size() - 1) + " significant p"),
                    HasSubstr("operator duration"), HasSubstr("bits"), HasSubstr("shown: p ")));
  EXPECT_NE(difference(image, render_again(curve + QStringList{"--p", "0.9"})), "") << "another one is shown";
  EXPECT_NE(difference(image, render_again(curve + QStringList{"--dark"})), "");
}

// What a filter leaves of each state is what `margay events` lists of it, in whole milliseconds of slices.
TEST_F(Render, WhatAFilterLeavesAddsUpToWhatTheEventsSay) {
  const QStringList filter{"--state", "family:collective", "--resource", "/node1/*", "--resource", "!*rank6"};
  const QStringList bars = QStringList{"--picture", "bars"} + filter;
  EXPECT_THAT(svg_of(bars), HasSubstr("what is left out counts as time that is not shown"));
  EXPECT_THAT(svg_of(QStringList{"--rest"} + filter),
              AllOf(HasSubstr("without resources *rank6; shares are of the rest"),
                    HasSubstr("operator duration (share of the rest)")));
  const Said told = run(
      "margay", QStringList{"events", MARGAY_EXAMPLE "/sixteen.margay", "--statistics", "--csv"} + filter);
  ASSERT_EQ(told.code, 0) << told.words;
  std::map<QString, double> theirs;
  for (const QString& line : QString::fromStdString(told.words).split('\n'))
    if (const QStringList row = line.trimmed().split(','); row.size() > 5 && row[0] != "name")
      theirs[row[0]] = row[3].toDouble() * 1e-9;
  ASSERT_GE(theirs.size(), 3u);
  for (const bool rest : {false, true}) {
    std::map<QString, double> ours;
    double shares = 0;
    const std::vector<QStringList> rows = table_of(rest ? bars + QStringList{"--rest"} : bars);
    for (std::size_t i = 1; i < rows.size(); ++i)
      if (!rows[i][2].isEmpty()) ours[rows[i][2]] += rows[i][5].toDouble(), shares += rows[i][4].toDouble();
    for (const auto& [state, seconds] : theirs)
      EXPECT_NEAR(ours[state], seconds, 0.05 + 0.01 * seconds) << state.toStdString() << rest;
    EXPECT_EQ(shares > static_cast<double>(rows.size()) / 10, rest) << shares;
  }
}

// Of all events, and so the numbers are those of `margay events`.
TEST_F(Render, WhatEventsSumTo) {
  for (const bool messages : {false, true}) {
    const QStringList kind{"--picture", messages ? "matrix" : "histogram"};
    const Said said = render("example", kind);
    ASSERT_EQ(said.code, 0) << said.words;
    EXPECT_EQ(said.words, "");
    const QImage image(file());
    EXPECT_EQ(image.size(), QSize(2560, 1440));
    EXPECT_NE(difference(image, render_again(kind + QStringList{"--from", "10", "--to", "12"})), "")
        << "of another time";
    EXPECT_THAT(svg_of(kind), HasSubstr(messages ? "29,440 messages in " : "211,020 visits in "));
    const Said told =
        run("margay", QStringList{"events", MARGAY_EXAMPLE "/sixteen.margay", "--statistics", "--csv"} +
                          (messages ? QStringList{"--messages"} : QStringList{}));
    ASSERT_EQ(told.code, 0) << told.words;
    // Who, to whom, how many, and the time and bytes of all.
    std::map<QString, QString> ours, theirs;
    const auto put = [](std::map<QString, QString>& to, const QStringList& row) {
      to[row[0] + "," + row[1]] = QStringList(row.mid(2, 3)).join(',');
    };
    for (const QStringList& row : table_of(kind)) put(ours, row);
    for (const QString& line : QString::fromStdString(told.words).split('\n'))
      if (const QStringList row = line.trimmed().remove('"').split(','); row.size() > 5) put(theirs, row);
    EXPECT_GT(ours.size(), 10u);
    EXPECT_EQ(ours, theirs);
  }
}

// In the order of their families MPI_Isend, which has 45 ms, is before MPI_Wait, which has ten seconds.
TEST_F(Render, ALegendWithoutRoomForAllNamesWhatHasMostOfTheTime) {
  const std::string small = svg_of({"--picture", "bars", "--size", "480x270"});
  EXPECT_THAT(small, AllOf(HasSubstr("Compute<"), HasSubstr("MPI_Wait<"), Not(HasSubstr("MPI_Isend<")),
                           testing::ContainsRegex("and [0-9]+ others")));
  const std::string large = svg_of({"--picture", "bars"});
  EXPECT_THAT(large, AllOf(HasSubstr("MPI_Wait<"), HasSubstr("MPI_Isend<"), Not(HasSubstr(" others<"))));
}

// The example's ranks are a ring over four machines.
TEST_F(Render, WhoSendsToWhomAlikeOnesTogether) {
  const QStringList kind{"--picture", "blocks"};
  ASSERT_EQ(render("example", kind).code, 0);
  EXPECT_THAT(svg_of(kind), AllOf(HasSubstr("29,440 messages in "), HasSubstr(" blocks of 240 pairs")));
  // Of a node: what goes to others and comes from them has no row.
  for (const char* name : {"blocks", "matrix"})
    EXPECT_TRUE(QString::fromStdString(svg_of({"--picture", name, "--node", "/node1"}))
                    .contains("messages are of resources that no row shows"))
        << name;
  const auto rows_at = [&](const char* p) { return table_of(kind + QStringList{"--p", p}); };
  std::uint64_t messages = 0;
  int machines = 0;
  for (const QStringList& row : rows_at("0.3")) {
    messages += row[4].toULongLong();
    machines += row[1].count('/') == 1 && row[1] == row[2] && row[1] != "/" && row[4] != "0";
  }
  EXPECT_EQ(messages, 29'440u);
  EXPECT_EQ(machines, 4) << "each machine talks to itself";
  const auto all = rows_at("1");
  ASSERT_EQ(all.size(), 2u);  // and the header
  EXPECT_EQ(all[1].mid(1, 4), (QStringList{"/", "/", "240", "29440"}));
}

TEST_F(Render, SaysWhichPicturesThereAre) {
  Said said = render("example", {"--picture", "pie"});
  EXPECT_EQ(said.code, 2);
  for (const char* name : {"overview", "gantt", "bars", "curve", "histogram", "matrix"})
    EXPECT_THAT(said.words, HasSubstr(name));
  said = run("margay", {"render", "example", "--picture", "gantt", "-o", folder_.filePath("a.csv")});
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.words, HasSubstr("margay events --csv"));
  said = render("example", {"--picture", "bars", "--threshold", "5"});
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.words, HasSubstr("--threshold: --picture bars has no parts"));
  said = run("margay-viewer", {"example", "--picture", "curve"});
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.words, HasSubstr("--picture curve is a file's: --render FILE"));
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
  says("example", {"--operator", "bytes", "--picture", "gantt"},
       "--operator bytes: --picture gantt is of single events");
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
