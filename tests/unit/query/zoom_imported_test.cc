// Zooms into an archive that was imported from a Pajé trace: variables, events and states, the raw events
// read with the names and bases that the import kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "../../support/temporary_folder.h"
#include "margay/import/archive_writer.h"
#include "margay/import/format.h"
#include "margay/query/view_maker.h"
#include "margay/query/zoom.h"
#include "margay/trace/archive_trace.h"
#include "support/paje_header.h"

namespace margay::daemon {
namespace zoom_imported_test {

using test::TemporaryFolder;

// A machine m with states S, a variable Heat, events Signal; and n, which has the variable alone.
std::string trace_text() {
  return test_support::paje_header() +
         "0 M 0 Machine\n0 N 0 Sensor\n1 S M State\n2 V M Heat\n2 W N Heat\n3 E M Signal\n"
         "6 0 m M 0 m\n6 0 n N 0 n\n"
         "8 0 S m init\n12 0 V m 2\n12 0 W n 5\n"
         "8 0.3 S m work\n15 0.35 E m ping\n12 0.75 V m 6\n15 1.2 E m ping\n15 1.3 E m pong\n"
         "11 1.5 S m\n7 2 M m\n7 2 N n\n";
}

class ZoomPaje : public testing::Test {
 protected:
  void SetUp() override { import({milliseconds(100), seconds(1)}); }
  void import(std::vector<DurationNs> levels) {
    trace::Input input = trace::Input::of_text("t.trace", trace_text());
    trace::ArchiveWriter::Options options;
    options.run.levels = std::move(levels);
    auto writer = trace::ArchiveWriter::create(path(), options);
    ASSERT_TRUE(writer) << writer.error().message;
    const auto format = trace::choose_format("paje", input);
    ASSERT_TRUE(format);
    const auto counts = (*format)->read(input, {}, **writer);
    ASSERT_TRUE(counts) << counts.error().message;
    ASSERT_TRUE((*writer)->finish(0, 0));
  }
  std::string path() const { return dir_ / name_; }
  Zoomed zoomed(const std::string& op, const std::string& from = "0", const std::string& to = "2",
                std::uint64_t slices = 2) const {
    ZoomRequest r;
    r.input = path();
    r.from = from;
    r.to = to;
    r.slices = slices;
    r.op = *slicer::Operator::parse(op);
    auto z = zoom(r);
    EXPECT_TRUE(z) << z.error().message;
    return z ? std::move(*z) : Zoomed{};
  }
  // Of slice k, leaf l (m is 0, n is 1) and the state of this name.
  static double value(const Zoomed& z, std::size_t k, std::size_t l, const std::string& state) {
    const Model& m = z.model;
    for (std::size_t x = 0; x < m.states; ++x)
      if (m.state_names[x] == state) return m.values[(k * m.leaves() + l) * m.states + x] * m.unit;
    ADD_FAILURE() << "no state " << state;
    return 0;
  }
  TemporaryFolder dir_;
  std::string name_ = "a";
};

// A slice of a minute reaches far behind a run of two seconds: that is no time of the run.
TEST_F(ZoomPaje, TheWholeRunEndsWithItsFinestSlices) {
  name_ = "with minutes";
  import({milliseconds(100), seconds(60)});
  ZoomRequest whole;
  whole.input = path();
  const auto z = zoom(whole);
  ASSERT_TRUE(z) << z.error().message;
  EXPECT_EQ(z->model.times->from, z->model.times->zero);
  EXPECT_EQ(z->model.times->to - z->model.times->zero, milliseconds(2100)) << "its last event is at 2 s";
}

TEST_F(ZoomPaje, VariablesHaveTheirNames) {
  const Zoomed z = zoomed("mean:Heat");
  EXPECT_EQ(z.model.state_names, std::vector<std::string>{"Heat"});
  EXPECT_DOUBLE_EQ(value(z, 0, 0, "Heat"), (75 * 2 + 25 * 6) / 100.0);
  EXPECT_DOUBLE_EQ(value(z, 1, 0, "Heat"), 6);
  EXPECT_DOUBLE_EQ(value(z, 0, 1, "Heat"), 5);
}

TEST_F(ZoomPaje, TheGreatestValueOfASliceIsAlsoOneFromBefore) {
  const Zoomed z = zoomed("max:Heat", "0", "2", 4);
  const double m[] = {2, 6, 6, 6};
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_DOUBLE_EQ(value(z, k, 0, "Heat"), m[k]) << k;
    EXPECT_DOUBLE_EQ(value(z, k, 1, "Heat"), 5) << k;
  }
  EXPECT_DOUBLE_EQ(value(zoomed("max:Heat", "1.6", "1.8", 1), 0, 0, "Heat"), 6);
  ZoomRequest r;
  r.input = path();
  r.op = *slicer::Operator::parse("max:heet");
  const auto wrong = zoom(r);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message,
              testing::AllOf(testing::StartsWith("partition: --operator max:heet: "),
                             testing::HasSubstr("no such variable"), testing::HasSubstr("'Heat'")));
}

// In whatever slices: what it has grown in them is what it has grown in all.
TEST_F(ZoomPaje, TheRateOfSlicesAddsUpToTheGrowth) {
  const Zoomed z = zoomed("rate:Heat", "0", "2", 4);
  const double m[] = {0, 4 / 0.5, 0, 0};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_DOUBLE_EQ(value(z, k, 0, "Heat"), m[k]) << k;
  for (const std::uint64_t slices : {1u, 3u, 7u, 20u}) {
    const Zoomed of = zoomed("rate:Heat", "0.5", "1.5", slices);
    double sum = 0;
    for (std::size_t k = 0; k < slices; ++k) sum += value(of, k, 0, "Heat") / static_cast<double>(slices);
    EXPECT_NEAR(sum, 4, 1e-6) << slices;
  }
  const auto error_from = [&](const std::string& from) {
    ZoomRequest r;
    r.input = path();
    r.from = from, r.to = "2";
    r.op = *slicer::Operator::parse("rate:Heat");
    const auto from_there = zoom(r);
    return from_there ? std::string() : from_there.error().message;
  };
  EXPECT_EQ(error_from("0.7"), "");
  EXPECT_THAT(error_from("0.8"), testing::HasSubstr("nothing is in this range"));
}

TEST_F(ZoomPaje, AVariableKeepsItsValueFromBeforeTheRange) {
  // m is in no state since 1.5, n has had its value since 0.
  const Zoomed z = zoomed("mean:Heat", "1.6", "1.8", 1);
  EXPECT_DOUBLE_EQ(value(z, 0, 0, "Heat"), 6);
  EXPECT_DOUBLE_EQ(value(z, 0, 1, "Heat"), 5);
}

TEST_F(ZoomPaje, EventsAndStatesAreCounted) {
  const Zoomed z = zoomed("occurrences");
  EXPECT_DOUBLE_EQ(value(z, 0, 0, "Signal\nping"), 1);
  EXPECT_DOUBLE_EQ(value(z, 1, 0, "Signal\nping"), 1);
  EXPECT_DOUBLE_EQ(value(z, 1, 0, "Signal\npong"), 1);
  EXPECT_DOUBLE_EQ(value(z, 0, 0, "init"), 1);
  EXPECT_DOUBLE_EQ(value(z, 0, 0, "work"), 1);
  EXPECT_DOUBLE_EQ(value(z, 1, 0, "work"), 0);
}

// Where no boundary falls on a slice the events are read: what is no state is None, as in the cells.
TEST_F(ZoomPaje, TheBaseIsThatOfTheTrace) {
  const Zoomed z = zoomed("duration", "1.45", "1.95", 1);
  EXPECT_GT(z.events, 0u);
  EXPECT_NEAR(value(z, 0, 0, "work"), 0.05 / 0.5, 1e-12);
  EXPECT_NEAR(value(z, 0, 0, "None"), 0.45 / 0.5, 1e-12);
  // Beginning where nothing is open.
  EXPECT_NEAR(value(zoomed("duration", "1.71", "1.95", 1), 0, 0, "None"), 1, 1e-12);
}

// What a question over the socket gets.
TEST_F(ZoomPaje, AViewOfAVariableIsFullWhereItsValueIsGreatest) {
  const auto archive = store::Archive::open(path(), store::Mode::kBeside);
  ASSERT_TRUE(archive) << archive.error().message;
  const auto resume = (*archive)->load();
  ASSERT_TRUE(resume);
  ManualClock clock;
  ViewMaker maker(**archive, clock, {});
  const auto answered = [&](const std::string& measure) {
    wire::ViewQuestion q;
    q.set_from_ns(resume->run.begin.value), q.set_to_ns((resume->run.begin + seconds(2)).value);
    q.set_slices(4), q.set_p(0);
    q.set_measure(measure);
    const auto request = decode_view_untrusted(q);
    EXPECT_TRUE(request) << request.error().message;
    return maker.answer(*request, [] { return true; });
  };
  const auto answer = answered("max:Heat");
  ASSERT_EQ(answer->error(), "");
  EXPECT_EQ(answer->question().measure(), "max:Heat");
  EXPECT_EQ(answer->unit(), "of the variable");
  EXPECT_DOUBLE_EQ(answer->full(), 6);
  ASSERT_EQ(answer->states_size(), 1);
  EXPECT_EQ(answer->states(0).family(), static_cast<std::uint32_t>(wire::FAMILY_VARIABLE));
  EXPECT_FLOAT_EQ(*std::max_element(answer->share().begin(), answer->share().end()), 1);
  EXPECT_DOUBLE_EQ(answered("rate:Heat")->full(), 4 / 0.5);
  EXPECT_THAT(answered("max:Cold")->error(), testing::StartsWith("measure max:Cold: this run has no such"));
}

TEST_F(ZoomPaje, AViewHasVariablesAndMarksBesideTheVisits) {
  const auto archive = store::Archive::open(path(), store::Mode::kBeside);
  ASSERT_TRUE(archive) << archive.error().message;
  const auto resume = (*archive)->load();
  ASSERT_TRUE(resume);
  ManualClock clock;
  ViewMaker maker(**archive, clock, {});
  ViewRequest request;
  request.newest = false;
  request.from = resume->run.begin, request.to = resume->run.begin + seconds(2);
  request.slices = 4;
  request.visits = 100;
  const auto answer = maker.answer(request, [] { return true; });
  ASSERT_EQ(answer->error(), "");
  ASSERT_TRUE(answer->has_visits());
  const wire::ViewAnnotations& a = answer->annotations();
  std::vector<std::string> told;
  for (int i = 0; i < a.node_size(); ++i) {
    char text[100];
    std::snprintf(text, sizeof text, "%s %s %.2f: %g",
                  answer->nodes(static_cast<int>(a.node(i))).name().c_str(),
                  a.names(static_cast<int>(a.name(i))).c_str(),
                  static_cast<double>(answer->boundaries(0) + a.begin_ns(i) - resume->run.begin.value) * 1e-9,
                  a.value(i));
    EXPECT_EQ(a.kind(i), a.names(static_cast<int>(a.name(i))) == "Heat" ? 2u : 3u);
    told.emplace_back(text);
  }
  EXPECT_THAT(told, testing::UnorderedElementsAre("m Heat 0.00: 2", "n Heat 0.00: 5",
                                                  "m Signal: ping 0.35: 0", "m Heat 0.75: 6",
                                                  "m Signal: ping 1.20: 0", "m Signal: pong 1.30: 0"));
  request.visits = 0;
  EXPECT_FALSE(maker.answer(request, [] { return true; })->has_annotations()) << "nobody wants them";
}

}  // namespace zoom_imported_test
}  // namespace margay::daemon
