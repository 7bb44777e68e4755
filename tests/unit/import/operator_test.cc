// An archive with another operator than duration holds what the re-slicer makes of the same trace.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "margay/import/archive_writer.h"
#include "margay/trace/archive_trace.h"
#include "margay/trace/resampler.h"
#include "support/temporary_folder.h"

namespace margay::trace {
namespace operator_test {

using Measure = slicer::Operator::Measure;

constexpr std::uint64_t kSeed = 20261121;
constexpr DurationNs kSlice(1000);
constexpr std::uint16_t kMark = 3, kVariable = 4, kLink = 5;

EventRecord record(std::uint8_t kind, std::uint16_t name, std::int64_t t, std::uint64_t bytes = 0) {
  return {t, bytes, kind == MARGAY_ENTER ? 1 : MARGAY_NO_PEER, MARGAY_NO_TAG, 0, name, kind, 0};
}

// Two leaves, in the order of time.
void tell(Consumer& to, std::mt19937_64 random, double least = 0) {
  const std::pair<Name::Kind, const char*> names[] = {
      {Name::Kind::kState, "Compute"},   {Name::Kind::kState, "send"},    {Name::Kind::kState, "wait"},
      {Name::Kind::kMark, "type\nmark"}, {Name::Kind::kVariable, "heat"}, {Name::Kind::kLink, "wire"}};
  for (std::uint16_t i = 0; i < std::size(names); ++i)
    ASSERT_TRUE(to.on_name(i, {names[i].first, names[i].second, model::StateFamily::kOther}));
  for (std::uint32_t l = 0; l < 2; ++l)
    ASSERT_TRUE(to.on_leaf(LeafIndex(l), {{{"path1", std::to_string(l)}}, std::uint16_t{0}}));
  std::int64_t t = 5000;
  for (int i = 0; i < 600; ++i) {
    t += static_cast<std::int64_t>(random() % 90);
    const LeafIndex leaf(static_cast<std::uint32_t>(random() % 2));
    const auto state = static_cast<std::uint16_t>(1 + random() % 2);
    const auto dice = random() % 10;
    const EventRecord r =
        dice < 4   ? record(MARGAY_ENTER, state, t, random() % 3 * 10)
        : dice < 7 ? record(MARGAY_LEAVE, state, t)
        : dice < 8 ? record(MARGAY_MARK, kMark, t)
        : dice < 9 ? record(MARGAY_VARIABLE, kVariable, t,
                            std::bit_cast<std::uint64_t>(least + static_cast<double>(random() % 1000) / 3))
                   : record(MARGAY_LINK_BEGIN, kLink, t, 7);
    if (const Status ok = to.on_records(leaf, std::span(&r, 1)); !ok) {
      EXPECT_NE(ok.error().message.find("'heat' has the value -"), std::string::npos) << ok.error().message;
      return;
    }
  }
  ASSERT_TRUE(to.on_covered(TimeNs(t)));
}

TEST(ArchiveOperator, CellsAreThoseOfTheReslicer) {
  for (const Measure measure : {Measure::kOccurrences, Measure::kBytes, Measure::kMessages, Measure::kMean}) {
    const slicer::Operator op{measure, measure == Measure::kMean ? "heat" : ""};
    SCOPED_TRACE(op.text() + ", seed " + std::to_string(kSeed));
    const std::mt19937_64 random(kSeed);
    const test::TemporaryFolder place;
    ArchiveWriter::Options options;
    options.run.run = "r";
    options.run.levels = {kSlice, kSlice * 10};
    options.op = op;
    auto writer = ArchiveWriter::create(place.path + "/a", std::move(options));
    ASSERT_TRUE(writer);
    tell(**writer, random);
    const auto made = (*writer)->finish(0, 0);
    ASSERT_TRUE(made) << made.error().message;
    const auto archive = store::Archive::open(place.path + "/a", store::Mode::kReadOnly);
    ASSERT_TRUE(archive);
    const auto resume = (*archive)->load();
    ASSERT_TRUE(resume);
    EXPECT_EQ(resume->run.settings.at(store::kOperatorSetting), op.text());
    const auto columns = (*archive)->read_columns(LevelIndex(0), SliceIndex(0), SliceIndex(1000));
    ASSERT_TRUE(columns);
    ASSERT_GT(columns->size(), 10u);

    Resampler model({*slicer::Grid::make(TimeNs(0), TimeNs(kSlice.value * 100), 100), op, {}});
    tell(model, random);
    ASSERT_TRUE(model.finish());
    double total = 0;
    for (const model::SliceColumn& c : *columns)
      for (std::uint32_t l = 0; l < 2; ++l)
        for (std::size_t x = 0; x < model.cells().columns(); ++x) {
          std::string name = model.cells().column_name(x);
          if (name == "type\nmark") name = "type mark";  // names of states have one line
          std::size_t at = 0;
          if (measure != Measure::kMean)
            for (const auto& s : resume->states.states()) {
              if (s.name == name) break;
              ++at;
            }
          const double expected =
              model.cells().value(LeafIndex(l), static_cast<std::uint32_t>(c.index.value), x);
          const double got = at < c.plane_columns() ? c.measured_value(LeafIndex(l), at) : 0;
          // The slice in which the trace ends goes on there; the re-slicer's does not.
          if (&c == &columns->back() && measure == Measure::kMean) continue;
          EXPECT_LE(std::abs(got - expected), 1e-12 * expected) << c.index.value << " " << name;
          total += got;
        }
    EXPECT_GT(total, 0);
  }
}

TEST(ArchiveOperator, ANegativeValueIsRefused) {
  const test::TemporaryFolder place;
  ArchiveWriter::Options options;
  options.run.run = "r";
  options.run.levels = {kSlice};
  options.op = {Measure::kMean, "heat"};
  auto writer = ArchiveWriter::create(place.path + "/a", std::move(options));
  ASSERT_TRUE(writer);
  tell(**writer, std::mt19937_64(kSeed), -1000);
}

}  // namespace operator_test
}  // namespace margay::trace
