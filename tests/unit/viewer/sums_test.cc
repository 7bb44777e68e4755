// The pages of durations and of messages: what they ask for, what they show, and where they lead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QFile>
#include <QLabel>
#include <QTemporaryDir>
#include <algorithm>

#include "durations.h"
#include "messages.h"
#include "shown.h"

namespace margay::viewer {
namespace sums_test {

using testing::HasSubstr;

EventSumsPtr checked(const wire::EventsAnswer& a) {
  auto sums = scene::event_sums_untrusted(a);
  EXPECT_TRUE(sums) << sums.error().message;
  return std::make_shared<const scene::EventSums>(std::move(*sums));
}

wire::EventsAnswer answer_to(const wire::EventsQuestion& q) {
  wire::EventsAnswer a;
  a.set_token(q.token());
  *a.mutable_question() = q;
  return a;
}

template <class Page>
struct Page_ {
  explicit Page_(ViewPtr data = small()) : shown(std::move(data)) {
    shown.window.views().setCurrentWidget(&page());
    QCoreApplication::processEvents();
  }
  Page& page() { return *shown.window.views().template findChild<Page*>(); }
  const wire::EventsQuestion& asked() { return *page().source().asked(); }
  void answer(const wire::EventsAnswer& a) {
    shown.session.take_sums(checked(a));
    QCoreApplication::processEvents();
  }
  Shown shown;
};

struct Durations : Page_<DurationsView> {
  void answer_visits() {
    wire::EventsAnswer a = answer_to(asked());
    a.add_resources("/a/r1");
    const std::tuple<const char*, std::uint64_t, std::uint64_t> states[] = {{"MPI_Send", 900, 1'000'000},
                                                                            {"MPI_Wait", 1200, 20'000'000}};
    for (const auto& [name, count, longest] : states) {
      a.add_names()->set_name(name);
      wire::EventsSum& s = *a.add_sums();
      s.set_name(static_cast<std::uint32_t>(a.names_size() - 1));
      s.set_count(count), s.set_single(count), s.set_total_ns(count * 1000), s.set_longest_ns(longest);
      s.set_longest_begin_ns(100'000'000);
      s.add_bin_from_ns(1000), s.add_bin_until_ns(1032), s.add_bin_count(count);
    }
    answer(a);
  }
  QString cell(int row, DurationsView::Column column) { return page().table().item(row, column)->text(); }
};

TEST(DurationsPage, AsksForTheStretchTheNodeAndTheStates) {
  Durations d;
  EXPECT_EQ(d.asked().kind(), wire::EventsQuestion::SUMS);
  EXPECT_EQ(d.asked().patience_ms(), SumsSource::kPatience) << "other answers wait for it";
  EXPECT_EQ(d.asked().from_ns(), d.shown.session.data().range().from.value);
  EXPECT_EQ(d.asked().to_ns(), d.shown.session.data().range().to.value);
  d.answer_visits();
  d.shown.session.set_node("/a");
  d.shown.session.set_states({"MPI_Wait"});
  ASSERT_TRUE(QTest::qWaitFor([&] { return d.asked().states_size() > 0; }));
  EXPECT_EQ(d.asked().nodes(0), "/a");
  EXPECT_EQ(d.asked().states(0), "MPI_Wait");
}

TEST(DurationsPage, IsAskedForOnlyWhileItIsSeenAndAgainWhenItIs) {
  Durations d;
  const std::uint64_t first = d.asked().token();
  d.shown.window.views().setCurrentIndex(0);
  d.shown.session.set_node("/a");
  QTest::qWait(2 * SumsSource::kSettle);
  EXPECT_EQ(d.asked().token(), first);
  // What was under way is not waited for: another page's question may have taken its place.
  d.shown.window.views().setCurrentWidget(&d.page());
  EXPECT_GT(d.asked().token(), first);
}

TEST(DurationsPage, ATableASortByNumberAndTheWayToTheLongest) {
  Durations d;
  d.answer_visits();
  ASSERT_EQ(d.page().table().rowCount(), 2);
  EXPECT_THAT(d.page().source().told().toStdString(), HasSubstr("2,100 visits in "));
  d.page().table().sortItems(DurationsView::kCount, Qt::AscendingOrder);
  EXPECT_EQ(d.cell(0, DurationsView::kCount), "900");
  EXPECT_EQ(d.cell(1, DurationsView::kCount), "1,200") << "by the number, not by its text";
  EXPECT_EQ(d.cell(1, DurationsView::kLongest), "20 ms");
  d.page().table().setCurrentCell(1, 0);
  d.page().table().setFocus();
  QTest::keyClick(&d.page().table(), Qt::Key_Return);
  const TimeNs begin = TimeNs(d.asked().from_ns() + 100'000'000);
  const scene::TimeRange seen = d.shown.session.subject().time.value();
  EXPECT_LE(seen.from, begin);
  EXPECT_GE(seen.to, begin + DurationNs(20'000'000));
  EXPECT_LE((seen.to - seen.from).value, 100'000'000);
}

TEST(DurationsPage, WhoeverHasChosenAStateKeepsIt) {
  Durations d;
  d.answer_visits();
  d.page().table().setCurrentCell(1, 0);
  const QString chosen = d.cell(1, DurationsView::kState);
  d.shown.session.select(Session::Selection{1, 0, 2});
  EXPECT_EQ(d.page().table().currentRow(), 1) << "a selection is no reason to fill it anew";
  d.shown.session.set_node("/a");
  ASSERT_TRUE(QTest::qWaitFor([&] { return d.asked().nodes_size() > 0; }));
  d.answer_visits();
  ASSERT_GE(d.page().table().currentRow(), 0);
  EXPECT_EQ(d.cell(d.page().table().currentRow(), DurationsView::kState), chosen);
}

TEST(DurationsPage, TheHistogramIsInTheColoursOfItsStates) {
  Durations d;
  d.answer_visits();
  const QImage image = d.page().histogram().grab().toImage();
  for (const char* state : {"MPI_Send", "MPI_Wait"}) {
    const QColor colour = colour_of(d.shown.session.palette().look(state, wire::FAMILY_OTHER).colour);
    bool found = false;
    for (int y = 0; y < image.height() && !found; ++y)
      for (int x = 0; x < image.width() && !found; ++x) found = image.pixelColor(x, y) == colour;
    EXPECT_TRUE(found) << state;
  }
}

TEST(DurationsPage, SaysWhyThereIsNothing) {
  Durations d;
  EXPECT_EQ(d.page().source().told(), "reading...");
  emit d.shown.session.not_listed(d.asked().token(), "so much happened: choose a shorter one");
  EXPECT_EQ(d.page().source().told(), "so much happened: choose a shorter one");
  QTemporaryDir dir;
  EXPECT_THAT(d.page().save(dir.filePath("a.csv"), "").toStdString(), HasSubstr("choose a shorter one"));
  d.shown.session.zoom_to({TimeNs(0), TimeNs(200'000'000)});
  ASSERT_TRUE(QTest::qWaitFor([&] { return d.page().source().waits(); }));
}

TEST(DurationsPage, IsSavedAsCsv) {
  Durations d;
  d.answer_visits();
  QTemporaryDir dir;
  ASSERT_EQ(d.page().save(dir.filePath("a.csv"), ""), "");
  QFile file(dir.filePath("a.csv"));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_THAT(file.readAll().toStdString(), HasSubstr("MPI_Wait,,1200,1200000,"));
  EXPECT_THAT(d.page().save(dir.filePath("a.txt"), "").toStdString(), HasSubstr("has to end in"));
}

struct Matrix : Page_<MessagesView> {
  void answer_messages() {
    wire::EventsAnswer a = answer_to(asked());
    for (const char* path : {"/a/r0", "/a/r1", "/b/r2"}) a.add_resources(path);
    const std::uint32_t pairs[][4] = {{0, 1, 10, 4096}, {1, 2, 1000, 64}};
    for (const auto& [from, to, count, bytes] : pairs) {
      wire::EventsSum& s = *a.add_sums();
      s.set_from(from), s.set_to(to), s.set_count(count), s.set_bytes(bytes), s.set_single(count);
      s.set_total_ns(std::uint64_t{count} * 2'000'000);
    }
    answer(a);
  }
  QColor at(std::uint32_t from, std::uint32_t to) {
    const MatrixSheet sheet = page().matrix().sheet();
    const QImage image = page().matrix().grab().toImage();
    return image.pixelColor(static_cast<int>(sheet.plot.left() + (to + 0.5) * sheet.cell),
                            static_cast<int>(sheet.plot.top() + (from + 0.5) * sheet.cell));
  }
};

TEST(MessagesPage, TheMoreTheDarkerByWhatIsChosen) {
  Matrix m;
  EXPECT_EQ(m.asked().kind(), wire::EventsQuestion::PAIRS);
  m.answer_messages();
  const QColor ground = colour_of(m.shown.session.palette().background());
  EXPECT_EQ(m.at(0, 0), ground);
  EXPECT_LT(m.at(0, 1).lightness(), m.at(1, 2).lightness()) << "bytes";
  EXPECT_LT(m.at(1, 2).lightness(), ground.lightness()) << "a sixty-fourth of the most is seen";
  m.page().measure().setCurrentIndex(1);
  EXPECT_GT(m.at(0, 1).lightness(), m.at(1, 2).lightness()) << "messages";
  EXPECT_EQ(most_text(m.page().matrix().matrix(), MatrixMeasure::kBytes), "most: 4.0 KiB");
  const auto described = [&](MatrixMeasure measure) {
    m.page().matrix().set_measure(measure);
    return m.page().matrix().accessibleDescription().toStdString();
  };
  EXPECT_THAT(described(MatrixMeasure::kBytes), testing::StartsWith("most: r0 to r1: "));
  EXPECT_THAT(described(MatrixMeasure::kMessages), testing::StartsWith("most: r1 to r2: "));
  EXPECT_EQ(most_text(m.page().matrix().matrix(), MatrixMeasure::kMeanTime), "most: 2 ms");
}

TEST(MessagesPage, WhatWasFoldedWhileAnotherPageWasSeenIsOne) {
  Matrix m;
  m.answer_messages();
  m.shown.window.views().setCurrentIndex(0);
  m.shown.session.toggle_fold(1);
  m.shown.window.views().setCurrentWidget(&m.page());
  EXPECT_EQ(m.page().matrix().matrix().size, 3u);
}

TEST(MessagesPage, WhatIsFoldedIsOneAndAClickSelectsTheSender) {
  Matrix m;
  m.answer_messages();
  m.shown.session.toggle_fold(1);  // a
  EXPECT_EQ(m.page().matrix().matrix().size, 3u);
  EXPECT_EQ(m.page().matrix().matrix().cells.at({0, 0}).count, 10u);
  const MatrixSheet sheet = m.page().matrix().sheet();
  const auto middle = [&](std::uint32_t from, std::uint32_t to) {
    return QPointF(sheet.plot.left() + (to + 0.5) * sheet.cell, sheet.plot.top() + (from + 0.5) * sheet.cell)
        .toPoint();
  };
  QTest::mouseClick(&m.page().matrix(), Qt::LeftButton, {}, middle(2, 1));
  ASSERT_TRUE(m.shown.session.selection());
  EXPECT_EQ(m.shown.session.data().nodes[m.shown.session.selection()->node].path, "/b/r3");
  QTest::mouseDClick(&m.page().matrix(), Qt::LeftButton, {}, middle(0, 1));
  EXPECT_EQ(m.page().matrix().matrix().size, 4u);
}

// Of messages, and of /a and /b the blocks: finer, chosen, and all as one.
void answer_blocks(Matrix& m) {
  wire::EventsAnswer a = answer_to(m.asked());
  for (const char* path : {"/a/r0", "/a/r1", "/b/r2", "/a", "/b", "/"}) a.add_resources(path);
  wire::EventsSum& s = *a.add_sums();
  s.set_from(0), s.set_to(1), s.set_count(10), s.set_bytes(4096);
  const auto add = [&](wire::EventsBlocks& to, std::uint32_t from, std::uint32_t receiver,
                       std::uint64_t pairs, std::uint64_t count, std::uint64_t bytes) {
    to.add_from(from), to.add_to(receiver), to.add_pairs(pairs), to.add_count(count), to.add_bytes(bytes);
    to.add_timed(0), to.add_total_ns(0);
  };
  wire::EventsBlocks& fine = *a.add_blocks();
  add(fine, 0, 1, 1, 10, 4096), add(fine, 1, 0, 1, 0, 0), add(fine, 3, 4, 2, 1, 64), add(fine, 4, 5, 3, 0, 0);
  wire::EventsBlocks& chosen = *a.add_blocks();
  chosen.set_p(0.25), chosen.set_gain(3), chosen.set_loss(1), chosen.set_chosen(true);
  add(chosen, 3, 3, 2, 10, 4096), add(chosen, 3, 4, 2, 1, 64), add(chosen, 4, 5, 3, 0, 0);
  wire::EventsBlocks& whole = *a.add_blocks();
  whole.set_p(0.5), whole.set_gain(6), whole.set_loss(4);
  add(whole, 5, 5, 7, 11, 4160);
  m.answer(a);
}

TEST(MessagesPage, WhatIsAlikeIsOneBlockAtAPOfItsOwn) {
  Matrix m;
  m.answer_messages();
  EXPECT_EQ(m.asked().alike(), wire::EventsQuestion::NOT);
  EXPECT_FALSE(m.page().steps().isVisible());
  m.page().grouping().setCurrentIndex(1);
  EXPECT_EQ(m.asked().alike(), wire::EventsQuestion::BYTES);
  answer_blocks(m);
  const BlocksView& blocks = m.page().blocks();
  EXPECT_TRUE(m.page().steps().isVisible());
  EXPECT_EQ(m.page().steps().maximum(), 2);
  EXPECT_EQ(m.page().steps().value(), 1);
  EXPECT_EQ(blocks.matrix().blocks.size(), 3u);
  EXPECT_EQ(blocks.told(),
            "p 0.25: 3 blocks of 7 pairs, complexity reduced 50 %, information lost 25 %  |  most: 2.0 KiB a "
            "pair, a "
            "to a");
  // One picture: the colour of a block is that of the mean of its pairs.
  const auto colour_at = [&](double from, double to) {
    const MatrixSheet sheet = m.page().blocks().sheet();
    return m.page().blocks().grab().toImage().pixelColor(
        static_cast<int>(sheet.plot.left() + to * sheet.cell),
        static_cast<int>(sheet.plot.top() + from * sheet.cell));
  };
  EXPECT_EQ(colour_at(0.5, 0.5), colour_at(0.5, 1.5));
  EXPECT_EQ(colour_at(2.5, 0.5), colour_of(m.shown.session.palette().background()));
  EXPECT_LT(colour_at(0.5, 0.5).lightness(), colour_at(0.5, 2.5).lightness());
  // Another p is another picture, and stays chosen when another answer comes.
  m.page().steps().setValue(0);
  EXPECT_EQ(blocks.matrix().blocks.size(), 4u);
  EXPECT_NE(colour_at(0.5, 0.5), colour_at(0.5, 1.5));
  EXPECT_THAT(blocks.accessibleDescription().toStdString(),
              HasSubstr("r0 to r1: 1 pair, 10 messages of 4.0 KiB in all, 4.0 KiB a pair"));
  m.page().measure().setCurrentIndex(1);
  EXPECT_EQ(m.asked().alike(), wire::EventsQuestion::MESSAGES);
  answer_blocks(m);
  EXPECT_EQ(m.page().steps().value(), 0);
  EXPECT_THAT(blocks.told().toStdString(), HasSubstr("most: 10 messages a pair, r0 to r1"));
  m.page().measure().setCurrentIndex(2);
  EXPECT_EQ(m.asked().alike(), wire::EventsQuestion::MEAN_TIME);
  m.page().grouping().setCurrentIndex(0);
  EXPECT_EQ(m.asked().alike(), wire::EventsQuestion::NOT);
  EXPECT_FALSE(m.page().steps().isVisible());
}

TEST(MessagesPage, IsChosenWithTheKeysOfWhatHasTheFocus) {
  Matrix m;
  m.answer_messages();
  const auto press = [&](QWidget& on, Qt::Key key) {
    on.setFocus();
    QTest::keyClick(&on, key);
  };
  press(m.page().measure(), Qt::Key_Down);
  EXPECT_EQ(m.page().measure().currentIndex(), 1);
  press(m.page().grouping(), Qt::Key_Down);
  EXPECT_EQ(m.page().grouping().currentIndex(), 1);
  answer_blocks(m);
  press(m.page().steps(), Qt::Key_Left);
  EXPECT_EQ(m.page().steps().value(), 0);
  press(m.page().steps(), Qt::Key_End);
  EXPECT_EQ(m.page().steps().value(), 2);
  EXPECT_FALSE(m.shown.session.selection()) << "the picture's keys";
}

TEST(MessagesPage, BlocksHoldAtThePThatWasAskedForAndAClickSelectsTheSenders) {
  Matrix m;
  m.page().grouping().setCurrentIndex(1);
  answer_blocks(m);
  m.shown.session.set_p(0.6);
  emit m.shown.session.data_changed();
  EXPECT_EQ(m.page().blocks().partition(), 2u);
  EXPECT_EQ(m.page().steps().value(), 2);
  m.page().steps().setValue(1);
  const MatrixSheet sheet = m.page().blocks().sheet();
  QTest::mouseClick(&m.page().blocks(), Qt::LeftButton, {},
                    QPoint(static_cast<int>(sheet.plot.left() + 2.5 * sheet.cell),
                           static_cast<int>(sheet.plot.top() + 0.5 * sheet.cell)));
  ASSERT_TRUE(m.shown.session.selection());
  EXPECT_EQ(m.shown.session.data().nodes[m.shown.session.selection()->node].path, "/a");
}

TEST(MessagesPage, BlocksAreSavedAsTheyAreSeen) {
  Matrix m;
  m.page().grouping().setCurrentIndex(1);
  answer_blocks(m);
  QTemporaryDir dir;
  const auto lines = [&](const char* name) {
    EXPECT_EQ(m.page().save(dir.filePath(name), "night"), "");
    QFile file(dir.filePath(name));
    EXPECT_TRUE(file.open(QIODevice::ReadOnly));
    return QString::fromUtf8(file.readAll()).split('\n');
  };
  m.page().steps().setValue(0);
  EXPECT_EQ(lines("fine.csv").size(), 1 + 4 + 1) << "a header, four blocks, nothing";
  m.page().steps().setValue(2);
  EXPECT_EQ(lines("whole.csv").size(), 1 + 1 + 1);
  m.page().measure().setCurrentIndex(1);
  answer_blocks(m);
  EXPECT_THAT(lines("whole.svg").join("").toStdString(), HasSubstr("1.57 messages a pair"));
  EXPECT_EQ(lines("whole.png").isEmpty(), false);
}

TEST(MessagesPage, ADaemonThatKnowsNoBlocksIsSaidToBeOlder) {
  Matrix m;
  m.page().grouping().setCurrentIndex(1);
  m.answer_messages();
  EXPECT_EQ(m.page().blocks().partitions(), 0u);
  const auto labels = m.page().findChildren<QLabel*>();
  EXPECT_TRUE(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
    return label->toolTip().contains("the daemon, an older one, does not sum up what is alike");
  }));
}

}  // namespace sums_test
}  // namespace margay::viewer
