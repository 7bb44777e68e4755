// What is painted, held against pictures that were looked at: tests/unit/viewer/golden.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QFontDatabase>
#include <QPainter>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <functional>

#include "../scene/made_up_events.h"
#include "../scene/small_view.h"
#include "events.h"
#include "golden.h"
#include "margay/command/picture_options.h"
#include "paint.h"
#include "picture_file.h"
#include "quality_view.h"
#include "session.h"

namespace margay::viewer {
namespace picture_test {

using scene::SmallView;

constexpr QSize kSize(640, 360);

QImage painted(const Session& session, QSize size = kSize, const QString& title = "r0") {
  QImage image(size, QImage::Format_RGB32);
  QPainter painter(&image);
  paint_all(painter, size, session, title);
  return image;
}

// All there is to a picture, small: two machines of two ranks, half of the time of one is not known.
struct Small {
  explicit Small(scene::Theme theme = scene::Theme::kLight) : session(nullptr, theme) {
    session.show(std::make_shared<const scene::ViewData>(view.data()));
  }
  SmallView view;
  Session session;
};

// As many ranks as have to share pixels, with steps that run through them: marks of aggregates too small to
// be drawn.
scene::ViewData many(std::uint32_t ranks, std::uint32_t slices) {
  support::ViewBuilder build(slices);
  const auto compute = build.state("Compute", wire::FAMILY_COMPUTE);
  const auto wait = build.state("MPI_Wait", wire::FAMILY_WAIT);
  std::uint32_t host = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const bool first = r < ranks / 2;
    if (r == 0 || r == ranks / 2) host = build.node(first ? "a" : "b", 0);
    const auto node = build.node("r" + std::to_string(r), host);
    // Of a, all cut at the same times; of b, each at its own.
    const std::uint32_t cut = first ? slices / 3 : 1 + r % (slices - 1);
    build.part(node, 0, cut, {{compute, 0.9F}});
    build.part(node, cut, slices, {{wait, 0.7F}, {compute, 0.3F}});
  }
  return *scene::view_data_untrusted(build.answer());
}

QString golden(const char* name) {
  return QString(MARGAY_GOLDEN_DIR) + "/" + name;
}

TEST(Golden, SmallLight) {
  const Small s;
  EXPECT_EQ(against_golden(painted(s.session), golden("small-light.png")), "");
}

TEST(Golden, SmallDark) {
  const Small s(scene::Theme::kDark);
  EXPECT_EQ(against_golden(painted(s.session), golden("small-dark.png")), "");
}

TEST(Golden, Folded) {
  Small s;
  s.session.toggle_fold(s.view.a);
  EXPECT_EQ(against_golden(painted(s.session), golden("folded.png")), "");
}

TEST(Golden, MoreRowsThanHaveRoom) {
  Session session(nullptr, scene::Theme::kLight);
  session.show(std::make_shared<const scene::ViewData>(many(600, 30)));
  EXPECT_EQ(against_golden(painted(session), golden("rows.png")), "");
}

// Five ranks, each in another collective half of the time and all of it; all have one colour. Of one, 40 % of
// the time is not known.
scene::ViewData look_alikes(bool with_calls) {
  support::ViewBuilder build(4);
  std::vector<std::uint32_t> ranks;
  const auto compute = build.state("Compute", wire::FAMILY_COMPUTE);
  for (const char* name : {"MPI_Barrier", "MPI_Comm_create", "MPI_Gatherv", "MPI_Ibcast", "MPI_Scatterv"}) {
    const auto state = build.state(name, wire::FAMILY_COLLECTIVE);
    ranks.push_back(build.node("r" + std::to_string(ranks.size()), 0));
    const float known = ranks.size() == 5 ? 0.6F : 1;
    build.part(ranks.back(), 0, 1, {{state, 0.5F}, {compute, 0.1F}});
    build.part(ranks.back(), 1, 4, {{state, known}}, known);
  }
  wire::ViewAnswer answer = build.answer();
  wire::ViewVisits& v = *answer.mutable_visits();
  for (std::uint32_t r = 0; with_calls && r < ranks.size(); ++r) {
    v.add_node(ranks[r]), v.add_state(1 + r), v.add_depth(0), v.add_flags(0);
    v.add_begin_ns(500'000'000), v.add_length_ns(3'000'000'000);
  }
  return *scene::view_data_untrusted(answer);
}

TEST(Golden, StatesThatLookAlike) {
  for (const auto theme : {scene::Theme::kLight, scene::Theme::kDark}) {
    Session session(nullptr, theme);
    session.show(std::make_shared<const scene::ViewData>(look_alikes(false)));
    const char* file = theme == scene::Theme::kDark ? "alike-dark.png" : "alike.png";
    EXPECT_EQ(against_golden(painted(session), golden(file)), "");
  }
}

TEST(Golden, CallsThatLookAlike) {
  Session session(nullptr, scene::Theme::kLight);
  session.show(std::make_shared<const scene::ViewData>(look_alikes(true)));
  EXPECT_EQ(against_golden(painted(session), golden("alike-calls.png")), "");
}

TEST(Golden, Tol) {
  Small s;
  s.session.set_hues(scene::Hues::kTol);
  EXPECT_EQ(against_golden(painted(s.session), golden("tol.png")), "");
}

TEST(Golden, NothingToShow) {
  const Session session(nullptr, scene::Theme::kLight);
  EXPECT_EQ(against_golden(painted(session), golden("nothing.png")), "");
}

// Two thirds of its density were read; rows of what is selected are shaded.
TEST(Golden, EventsOneByOne) {
  Small s;
  scene::Daemon daemon{900, 100};
  daemon.from = s.session.data().range().from.value, daemon.to = s.session.data().range().to.value;
  EventsView view(s.session);
  view.resize(960, 360);
  view.show();
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(view.model().asked());
    emit s.session.listed(scene::checked(daemon.answer_to(*view.model().asked())));
  }
  s.session.select(Session::Selection{s.view.r1, 0, 1});
  view.model().stop();
  emit view.model().changed();
  EXPECT_EQ(against_golden(view.grab().toImage(), golden("events.png")), "");
}

// A run of eight ranks in a temporal partition, as a daemon has it: three kinds of phases, some states too
// small to be drawn, a stretch of which little is known; and a curve whose steps lie near 0.
ViewPtr run_of_phases() {
  support::ViewBuilder build(48);
  const auto compute = build.state("Compute", wire::FAMILY_COMPUTE);
  const auto reduce = build.state("MPI_Allreduce", wire::FAMILY_COLLECTIVE);
  const auto wait = build.state("MPI_Wait", wire::FAMILY_WAIT);
  const auto write = build.state("write", wire::FAMILY_IO);
  const auto probe = build.state("MPI_Probe"), send = build.state("MPI_Send");
  for (int r = 0; r < 8; ++r) build.node("rank" + std::to_string(r), 0);
  build.part(0, 0, 5, {{compute, 0.3F}}, 0.3F);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const float more = 0.05F * static_cast<float>(i);
    build.part(
        0, 5 + 10 * i, 11 + 10 * i,
        {{compute, 0.7F - more}, {reduce, 0.2F + more}, {wait, 0.097F}, {probe, 0.002F}, {send, 0.001F}});
    build.part(0, 11 + 10 * i, 15 + 10 * i, {{write, 0.6F}, {wait, 0.4F - more}}, 1 - more);
  }
  build.part(0, 45, 48, {{reduce, 1}});
  build.raw().mutable_question()->set_partition(wire::ViewQuestion::TEMPORAL);
  build.raw().set_p(0.04);
  constexpr int kCurve = 40;
  for (int i = 0; i < kCurve; ++i) {
    wire::QualityPoint& q = *build.raw().add_curve();
    const double at = static_cast<double>(i) / kCurve;
    q.set_p(i == 0 ? 0 : std::pow(10, -4 + 4 * at));
    q.set_gain(1800 * std::sqrt(at)), q.set_loss(600 * std::pow(at, 4));
    q.set_parts(static_cast<std::uint32_t>(1 + (kCurve - 1 - i) * 9 / 13));  // 10 at p 0.04
  }
  build.raw().set_curve_complete(true);
  return std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(build.answer()));
}

ReportPtr report_of_phases() {
  auto report = std::make_shared<wire::Report>();
  report->set_slice_ns(1'000'000'000);
  report->set_watermark_ns(48'000'000'000);
  const auto phase = [&](const char* name, std::int64_t from, std::int64_t to, std::uint32_t times) {
    wire::PhaseSpan& s = *report->add_phases();
    s.set_name(name);
    s.set_begin_ns(from * 1'000'000'000), s.set_end_ns(to * 1'000'000'000);
    s.set_occurrence(times);
  };
  for (std::uint32_t i = 0; i < 4; ++i)
    phase("A", 5 + 10 * i, 11 + 10 * i, i + 1), phase("B", 11 + 10 * i, 15 + 10 * i, i + 1);
  return report;
}

QImage painted_as(const char* kind, scene::Theme theme) {
  Session session(nullptr, theme);
  session.take(report_of_phases());
  session.show(run_of_phases());
  constexpr QSize kPage(1280, 720);
  QImage image(kPage, QImage::Format_RGB32);
  QPainter painter(&image);
  picture_kind(kind).paint(painter, kPage, session, "night");
  return image;
}

TEST(Golden, Bars) {
  EXPECT_EQ(against_golden(painted_as("bars", scene::Theme::kLight), golden("bars-light.png")), "");
  EXPECT_EQ(against_golden(painted_as("bars", scene::Theme::kDark), golden("bars-dark.png")), "");
}

// As it is beside the picture, the mouse over one step and another one shown.
TEST(Golden, CurveInTheWindow) {
  Session session(nullptr, scene::Theme::kLight);
  session.show(run_of_phases());
  QualityView view(session);
  view.resize(416, 200);
  view.show();
  view.clearFocus();
  QTest::mouseMove(&view, view.plot().room(32).center().toPoint());
  EXPECT_EQ(against_golden(view.grab().toImage(), golden("curve-window.png")), "");
}

TEST(Golden, Curve) {
  EXPECT_EQ(against_golden(painted_as("curve", scene::Theme::kLight), golden("curve-light.png")), "");
  EXPECT_EQ(against_golden(painted_as("curve", scene::Theme::kDark), golden("curve-dark.png")), "");
}

// Of the small picture: visits from a microsecond to seconds, some of which share a column; and messages,
// also within a row.
QImage sums_as(const char* kind, scene::Theme theme, bool folded = false) {
  Session session(nullptr, theme);
  session.show(std::make_shared<const scene::ViewData>(scene::SmallView().data()));
  if (folded) session.toggle_fold(1);
  const bool blocks = std::string_view(kind) == "blocks";
  const bool messages = blocks || std::string_view(kind) == "matrix";
  wire::EventsAnswer a;
  a.mutable_question()->set_kind(messages ? wire::EventsQuestion::PAIRS : wire::EventsQuestion::SUMS);
  a.mutable_question()->set_to_ns(4'000'000'000);
  for (const char* path : {"/a/r0", "/a/r1", "/b/r2", "/b/r3"}) a.add_resources(path);
  for (std::uint32_t i = 0; i < 4; ++i) {
    wire::EventsSum& s = *a.add_sums();
    const std::uint64_t count = 10u << (2 * i);
    s.set_count(count), s.set_single(count), s.set_bytes(count * 100), s.set_total_ns(count * 1000);
    s.set_from(i), s.set_to(i == 3 ? 3 : i + 1), s.set_name(i);
    if (messages) continue;
    wire::Name& name = *a.add_names();
    const std::pair<const char*, wire::StateFamily> states[] = {{"MPI_Send", wire::FAMILY_POINT_TO_POINT},
                                                                {"MPI_Recv", wire::FAMILY_POINT_TO_POINT},
                                                                {"MPI_Wait", wire::FAMILY_WAIT},
                                                                {"Compute", wire::FAMILY_COMPUTE}};
    name.set_name(states[i].first), name.set_family(states[i].second);
    std::uint64_t left = count;
    for (std::uint64_t from = 1000u << (3 * i); left > 0; from *= 2) {
      const std::uint64_t here = (left + 1) / 2;
      s.add_bin_from_ns(from), s.add_bin_until_ns(from + from / 32), s.add_bin_count(here);
      left -= here;
    }
  }
  if (blocks) {
    a.add_resources("/a"), a.add_resources("/b"), a.add_resources("/");
    const auto add = [&](wire::EventsBlocks& to, std::uint32_t from, std::uint32_t receiver,
                         std::uint64_t pairs, std::uint64_t count) {
      to.add_from(from), to.add_to(receiver), to.add_pairs(pairs), to.add_count(count),
          to.add_bytes(count * 100);
      to.add_timed(count), to.add_total_ns(static_cast<double>(count * 1000));
    };
    wire::EventsBlocks& fine = *a.add_blocks();
    fine.set_gain(4), fine.set_chosen(true);
    add(fine, 4, 4, 2, 10), add(fine, 0, 5, 2, 0), add(fine, 1, 5, 2, 40), add(fine, 5, 4, 4, 0);
    add(fine, 2, 2, 0, 0), add(fine, 2, 3, 1, 160), add(fine, 3, 5, 2, 640);
    wire::EventsBlocks& whole = *a.add_blocks();
    whole.set_p(0.4), whole.set_gain(10), whole.set_loss(8);
    add(whole, 6, 6, 13, 850);
  }
  session.take_sums(std::make_shared<const scene::EventSums>(*scene::event_sums_untrusted(a)));
  constexpr QSize kPage(900, 520);
  QImage image(kPage, QImage::Format_RGB32);
  QPainter painter(&image);
  picture_kind(kind).paint(painter, kPage, session, "night");
  return image;
}

TEST(Golden, Histogram) {
  EXPECT_EQ(against_golden(sums_as("histogram", scene::Theme::kLight), golden("histogram-light.png")), "");
  EXPECT_EQ(against_golden(sums_as("histogram", scene::Theme::kDark), golden("histogram-dark.png")), "");
}

TEST(Golden, Matrix) {
  EXPECT_EQ(against_golden(sums_as("matrix", scene::Theme::kLight), golden("matrix-light.png")), "");
  EXPECT_EQ(against_golden(sums_as("matrix", scene::Theme::kDark, true), golden("matrix-dark.png")), "");
}

TEST(Golden, Blocks) {
  EXPECT_EQ(against_golden(sums_as("blocks", scene::Theme::kLight), golden("blocks-light.png")), "");
  EXPECT_EQ(against_golden(sums_as("blocks", scene::Theme::kDark, true), golden("blocks-dark.png")), "");
}

// Whoever has nothing to show says so, of whatever kind; sizes that are too small are no trouble.
TEST(PictureKinds, CanAllBePainted) {
  const Session nothing(nullptr, scene::Theme::kLight);
  Small small;
  for (const command::PictureName& picture : command::picture_names()) {
    const PictureKind& kind = picture_kind(std::string(picture.name));
    ASSERT_NE(kind.paint, nullptr) << picture.name;
    EXPECT_TRUE(kind.csv != nullptr || *kind.no_csv != 0) << picture.name;
    EXPECT_FALSE(picture.help.empty());
    for (const Session* session : {&nothing, static_cast<const Session*>(&small.session)})
      for (const QSize size : {kSize, QSize(320, 240), QSize(20, 20)}) {
        QImage image(size, QImage::Format_RGB32);
        image.fill(Qt::magenta);
        const QImage before = image;
        QPainter painter(&image);
        kind.paint(painter, size, *session, "r0");
        painter.end();
        EXPECT_NE(image, before) << picture.name;
      }
  }
  EXPECT_EQ(&picture_kind(""), &picture_kind("overview"));
}

TEST(PictureKinds, DrawSmallPartsTogetherAsTheSessionSays) {
  Session session(nullptr, scene::Theme::kLight);
  session.show(std::make_shared<const scene::ViewData>(many(600, 30)));
  const QImage usual = painted(session);
  session.set_threshold(20);
  EXPECT_NE(difference(painted(session), usual), "");
  session.set_threshold(std::nan(""));
  EXPECT_EQ(session.threshold(), scene::kLeastThreshold);
  session.set_threshold(1e9);
  EXPECT_EQ(session.threshold(), scene::kMostThreshold);
}

TEST(PictureKinds, SayWhatTheyLack) {
  const QTemporaryDir folder;
  const QString png = folder.filePath("a.png"), csv = folder.filePath("a.csv");
  const Small small;  // neither calls nor a curve
  const auto says = [&](const char* kind, const QString& path) {
    return save_picture(path, small.session, kSize, "r0", picture_kind(kind)).toStdString();
  };
  EXPECT_THAT(says("curve", png), testing::HasSubstr("--picture curve: there are no significant p"));
  EXPECT_THAT(says("gantt", png), testing::HasSubstr("--picture gantt: of this stretch there are no single"));
  EXPECT_THAT(says("gantt", csv), testing::HasSubstr("margay events --csv"));
  EXPECT_EQ(says("bars", png), "");
  EXPECT_EQ(says("bars", csv), "");
}

// Calls of the small picture's ranks: r0 is in two states, one inside the other; r2 is not there at first;
// of r1 and r3 nothing is known. Slices are of a second.
scene::ViewData with_calls() {
  SmallView view;
  wire::ViewAnswer answer = view.build.answer();
  wire::ViewVisits& v = *answer.mutable_visits();
  const auto call = [&](std::uint32_t node, std::uint32_t state, double begin, double end,
                        std::uint32_t depth) {
    v.add_node(node), v.add_state(state), v.add_depth(depth), v.add_flags(0);
    v.add_begin_ns(std::llround(begin * 1e9)),
        v.add_length_ns(static_cast<std::uint64_t>((end - begin) * 1e9));
  };
  call(view.r0, view.send, 0, 2.5, 0);
  call(view.r0, view.wait, 1, 2, 1);
  call(view.r0, view.compute, 2.5, 4, 0);
  call(view.r2, view.compute, 1, 4, 0);
  return *scene::view_data_untrusted(answer);
}

TEST(Golden, SingleCalls) {
  Session session(nullptr, scene::Theme::kLight);
  session.show(std::make_shared<const scene::ViewData>(with_calls()));
  EXPECT_EQ(against_golden(painted(session), golden("calls.png")), "");
  session.toggle_fold(1);
  EXPECT_EQ(against_golden(painted(session), golden("calls-folded.png")), "")
      << "what several did is an aggregate";
}

// A region along the upper edge of a row, a region inside it, marks, and a variable that two resources have.
TEST(Golden, RegionsMarksAndVariables) {
  SmallView view;
  wire::ViewAnswer answer = view.build.answer();
  wire::ViewVisits& v = *answer.mutable_visits();
  wire::ViewAnnotations& a = *answer.mutable_annotations();
  for (const char* name : {"step", "load", "checkpoint"}) a.add_names(name);
  const auto tell = [&](std::uint32_t node, std::uint32_t kind, std::uint32_t name, double begin,
                        double length, double value, std::uint32_t depth) {
    a.add_node(node), a.add_kind(kind), a.add_name(name), a.add_value(value), a.add_depth(depth);
    a.add_begin_ns(std::llround(begin * 1e9)), a.add_length_ns(static_cast<std::uint64_t>(length * 1e9));
  };
  for (const std::uint32_t rank : {view.r0, view.r2}) {
    v.add_node(rank), v.add_state(view.compute), v.add_depth(0), v.add_flags(0);
    v.add_begin_ns(0), v.add_length_ns(4'000'000'000);
    for (int i = 0; i < 8; ++i)
      tell(rank, 2, 1, 0.5 * i, 0, rank == view.r0 ? i : 7 - std::abs(2 * i - 7), 0);
  }
  tell(view.r0, 1, 0, 0.5, 3, 0, 0);
  tell(view.r0, 1, 2, 1, 1, 0, 1);
  tell(view.r2, 3, 2, 1.25, 0, 0, 0);
  tell(view.r2, 3, 2, 3, 0, 0, 0);
  Session session(nullptr, scene::Theme::kLight);
  session.show(std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(answer)));
  EXPECT_EQ(against_golden(painted(session), golden("annotations.png")), "");
}

// Between rows, to the end of the call in which it was there; dotted where nobody knows when.
TEST(Golden, MessagesBetweenCalls) {
  SmallView view;
  wire::ViewAnswer answer = view.build.answer();
  wire::ViewVisits& v = *answer.mutable_visits();
  wire::ViewMessages& m = *answer.mutable_messages();
  const std::uint32_t ranks[] = {view.r0, view.r2};
  for (const std::uint32_t rank : ranks)
    for (int second = 0; second < 4; ++second) {
      v.add_node(rank), v.add_state(second % 2 == 0 ? view.compute : view.send), v.add_depth(0),
          v.add_flags(0);
      v.add_begin_ns(second * 1'000'000'000LL), v.add_length_ns(1'000'000'000);
    }
  for (int i = 0; i < 3; ++i) {
    m.add_from(ranks[i % 2]), m.add_to(ranks[1 - i % 2]), m.add_bytes(1 << i), m.add_tag(i),
        m.add_flags(i / 2);
    m.add_sent_ns(i * 1'000'000'000LL), m.add_took_ns(500'000'000 + i * 400'000'000LL);
  }
  Session session(nullptr, scene::Theme::kLight);
  session.show(std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(answer)));
  EXPECT_EQ(against_golden(painted(session), golden("messages.png")), "");
  const QImage with = painted(session);
  session.set_messages(false);
  EXPECT_NE(painted(session), with) << "they can be left out";
}

// In the middle of each pixel and row: the colour of the call that is there, or that of none.
TEST(SingleCalls, ArePaintedWhereTheyAre) {
  Session session(nullptr, scene::Theme::kLight);
  session.show(std::make_shared<const scene::ViewData>(with_calls()));
  const scene::ViewData& data = session.data();
  const scene::Viewport view{400, 80, data.range(), session.scroll()};
  QImage image(400, 80, QImage::Format_RGB32);
  QPainter p(&image);
  paint_calls(p, QRectF(0, 0, 400, 80), {data, session.rows(), session.palette()}, session.scroll(),
              scene::gantt(data, session.rows(), view));
  p.end();
  const auto colour = [&](const char* state, wire::StateFamily family) {
    return colour_of(session.palette().look(state, family).colour).rgb();
  };
  const QRgb send = colour("MPI_Send", wire::FAMILY_POINT_TO_POINT),
             wait = colour("MPI_Wait", wire::FAMILY_WAIT), compute = colour("Compute", wire::FAMILY_COMPUTE);
  // A hundred pixels a second, twenty a row; names stand at the left of what is wide enough.
  for (int x = 70; x < 95; ++x) EXPECT_EQ(image.pixel(x, 17), send) << x;
  for (int x = 150; x < 195; ++x) {
    EXPECT_EQ(image.pixel(x, 5), send) << x;
    EXPECT_EQ(image.pixel(x, 18), wait) << x;
  }
  for (int x = 205; x < 245; ++x) EXPECT_EQ(image.pixel(x, 17), send) << x;
  for (int x = 320; x < 395; ++x) EXPECT_EQ(image.pixel(x, 17), compute) << x;
  for (int x = 180; x < 395; ++x) EXPECT_EQ(image.pixel(x, 57), compute) << x;
  for (const int row : {1, 3})
    for (int x = 0; x < 400; ++x)
      for (const QRgb known : {send, wait, compute}) EXPECT_NE(image.pixel(x, 20 * row + 17), known) << x;
  for (int x = 0; x < 95; ++x) EXPECT_NE(image.pixel(x, 57), compute) << "before it was there";
}

// The comparison finds what a person would call another picture, and nothing in what a person would not see.
class SpoiltPictures : public testing::Test {
 protected:
  std::string spoilt_by(const std::function<void(QPainter&)>& paint) {
    QImage other = right_;
    QPainter painter(&other);
    paint(painter);
    painter.end();
    return difference(right_, other);
  }
  const Small small_;
  const QImage right_ = painted(small_.session);
};

TEST_F(SpoiltPictures, AWordThatIsGone) {
  EXPECT_NE(difference(right_, painted(small_.session, kSize, "")), "");
}
TEST_F(SpoiltPictures, AnotherWord) {
  EXPECT_NE(difference(right_, painted(small_.session, kSize, "r1")), "") << "one figure is another";
}
TEST_F(SpoiltPictures, AColour) {
  Session other(nullptr, scene::Theme::kLight);
  other.show(std::make_shared<const scene::ViewData>(SmallView().data()));
  scene::Rgb colour = other.palette().look("MPI_Wait", wire::FAMILY_WAIT).colour;
  colour.r = static_cast<std::uint8_t>(colour.r ^ 0x20);  // by 32 of 255
  other.set_colour("MPI_Wait", colour);
  EXPECT_NE(difference(right_, painted(other)), "");
}
TEST_F(SpoiltPictures, AnEdgeThatIsMoved) {
  EXPECT_NE(spoilt_by([&](QPainter& p) { p.drawImage(202, 0, right_, 200, 0, 300, 200); }), "");
}
TEST_F(SpoiltPictures, ALineOverIt) {
  EXPECT_NE(spoilt_by([](QPainter& p) { p.drawLine(200, 60, 400, 120); }), "");
}
TEST_F(SpoiltPictures, AnotherSize) {
  EXPECT_NE(difference(right_, painted(small_.session, {640, 361})), "");
}
TEST_F(SpoiltPictures, NotByWhatNobodySees) {
  EXPECT_EQ(difference(right_, right_), "");
  EXPECT_EQ(spoilt_by([](QPainter& p) { p.fillRect(300, 80, 1, 1, Qt::black); }), "") << "one pixel";
  EXPECT_EQ(spoilt_by([](QPainter& p) { p.fillRect(0, 0, 640, 360, QColor(128, 128, 128, 8)); }), "")
      << "a breath of grey";
}

// What margay render was told is what margay-viewer is told.
TEST(PictureOptions, AreHandedOn) {
  command::PictureOptions all;
  all.what = "-a run";
  all.connect = "tcp://head:7413";
  all.key = "k e y";
  all.size = "800x600";
  all.from = "12";
  all.to = "1min";
  all.node = "/node7";
  all.p = "0.25";
  all.picture = "gantt";
  all.policy = "jump";
  all.measure = "mean:load";
  all.states = {"MPI_Wait", "in disk, sleep"};
  all.slices = 100;
  all.threshold = 12;
  all.dark = true;
  all.clock = true;
  all.unit = "ms";
  all.colours = "tol";
  for (const command::PictureOptions& told : {all, command::PictureOptions()}) {
    CLI::App app;
    command::PictureOptions heard;
    command::add_picture_options(app, heard);
    std::vector<std::string> arguments = command::arguments_of(told);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(arguments);
    EXPECT_EQ(heard, told);
  }
  EXPECT_TRUE(command::arguments_of({}).empty());
}

}  // namespace picture_test
}  // namespace margay::viewer

// Goldens have words in them.
class Fonts : public testing::Environment {
  void SetUp() override {
    ASSERT_TRUE(QFontDatabase::hasFamily("DejaVu Sans"))
        << "it is not installed: fonts-dejavu-core (config/packages.txt)";
  }
};

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  // Colours are kept: not in the file of whoever runs this.
  const QTemporaryDir settings;
  qputenv("XDG_CONFIG_HOME", settings.path().toUtf8());
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(new Fonts);
  const QApplication application(argc, argv);
  QFont font("DejaVu Sans");
  font.setPixelSize(12);
  QApplication::setFont(font);
  return RUN_ALL_TESTS();
}
