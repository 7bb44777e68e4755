// A model of somebody's own in a viewer: the parts are those of `margay partition`, whatever is asked of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "margay/query/model_file.h"
#include "margay/query/view_maker.h"

namespace margay::daemon {
namespace model_view_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t kMemory = std::uint64_t{64} << 20;

class FixedClock : public Clock {
 public:
  TimeNs monotonic() const override { return TimeNs(1); }
  TimeNs realtime() const override { return TimeNs(1); }
  TimeNs processor() const override { return TimeNs(1); }
};

// 3 hosts x 3 ranks x 40 slices x 2 states that change at 16, on the second host at 24.
std::string csv(bool times, double scale = 1, double first = 100.25) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> noise(-0.02, 0.02);
  std::string out = times ? "resource,time,state,value\n" : "resource,slice,state,value\n";
  for (int h = 0; h < 3; ++h)
    for (int r = 0; r < 3; ++r)
      for (int t = 0; t < 40; ++t) {
        const double run = (t < (h == 1 ? 24 : 16) ? 0.75 : 0.2) + noise(random);
        for (const auto& [state, value] : {std::pair("run", run), std::pair("MPI_Wait", 0.95 - run)}) {
          char line[96];
          std::snprintf(line, sizeof line, "/host%d/rank%d,%.10g,%s,%.17g\n", h, 3 * h + r,
                        times ? first + 0.5 * t : t, state, value * scale);
          out += line;
        }
      }
  return out;
}

Model model_of(const std::string& text) {
  auto model = parse_model(text, "m", kMemory);
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

partition::Partition solved(const Model& m, double p) {
  const std::vector<double> ones(m.leaves(), 1.0);
  std::vector<partition::Column> columns(m.slices);
  for (std::size_t t = 0; t < m.slices; ++t)
    columns[t] = {std::span(m.values).subspan(t * m.leaves() * m.states, m.leaves() * m.states), ones};
  partition::Batch::Options options;
  options.tree = m.tree;
  options.states = m.states;
  options.first_slice = m.first_slice;
  options.memory_budget_bytes = kMemory;
  auto batch = partition::Batch::create(std::move(options), columns);
  EXPECT_TRUE(batch);
  return *batch->solve(p);
}

class Viewed {
 public:
  explicit Viewed(const std::string& text) {
    auto source = view_source(model_of(text), "m");
    EXPECT_TRUE(source) << source.error().message;
    maker_.emplace(std::move(*source), clock_, ViewMaker::Options{});
  }
  wire::ViewAnswer answer(const wire::ViewQuestion& q) {
    const auto request = decode_view_untrusted(q);
    EXPECT_TRUE(request) << request.error().message;
    return *maker_->answer(*request, [] { return true; });
  }
  ViewMaker& maker() { return *maker_; }

 private:
  FixedClock clock_;
  std::optional<ViewMaker> maker_;
};

std::vector<std::string> paths_of(const wire::ViewAnswer& a) {
  std::vector<std::string> out;
  for (const wire::ViewNode& n : a.nodes())
    out.push_back(out.empty() ? "" : out[n.parent()] + "/" + n.name());
  if (!out.empty()) out[0] = "/";
  for (std::string& path : out)
    if (path.starts_with("//")) path.erase(0, 1);
  return out;
}

using Part = std::tuple<std::string, std::int64_t, std::int64_t>;
std::set<Part> parts_of(const wire::ViewAnswer& a) {
  const auto paths = paths_of(a);
  std::set<Part> out;
  for (int i = 0; i < a.part_node_size(); ++i)
    out.emplace(paths[a.part_node(i)], a.part_first(i), a.part_last(i));
  return out;
}
std::set<Part> parts_of(const Model& m, const partition::Partition& p) {
  std::set<Part> out;
  for (const partition::Part& part : p.parts)
    out.emplace(m.path(part.node), part.first.value - m.first_slice.value,
                part.last.value - m.first_slice.value);
  return out;
}

wire::ViewQuestion whole(std::int64_t from_ns, std::int64_t to_ns) {
  wire::ViewQuestion q;
  q.set_from_ns(from_ns);
  q.set_to_ns(to_ns);
  return q;
}

TEST(ModelView, PartsAreThoseOfTheModel) {
  for (const bool times : {false, true})
    for (const double scale : {1.0, 250.0}) {
      const std::string text = csv(times, scale);
      const Model m = model_of(text);
      Viewed viewed(text);
      for (const double p : {0.01, 0.1, 0.3, 0.7}) {
        wire::ViewQuestion q = whole(0, 200'000'000'000);
        q.set_p(p);
        const auto a = viewed.answer(q);
        ASSERT_EQ(a.error(), "");
        const auto expected = solved(m, p);
        EXPECT_EQ(parts_of(a), parts_of(m, expected)) << times << " " << scale << " " << p;
        EXPECT_NEAR(a.gain(), expected.gain * m.unit, 1e-9 * std::abs(expected.gain * m.unit));
        EXPECT_NEAR(a.loss(), expected.loss * m.unit, 1e-6);
      }
      // Nobody asks for a p: that above the noise, as the command chooses it.
      const auto chosen = viewed.answer(whole(0, 200'000'000'000));
      EXPECT_NEAR(chosen.p(), noise_p(m).p, 1e-12);
      EXPECT_EQ(parts_of(chosen), parts_of(m, solved(m, noise_p(m).p)));
    }
}

TEST(ModelView, TimesAreTheModels) {
  Viewed timed(csv(true));
  auto a = timed.answer(whole(0, 200'000'000'000));
  ASSERT_EQ(a.boundaries_size(), 41);
  EXPECT_EQ(a.boundaries(0) - a.zero_ns(), 100'250'000'000);
  EXPECT_EQ(a.boundaries(40) - a.zero_ns(), 120'250'000'000);
  Viewed slices(csv(false));
  a = slices.answer(whole(0, 200'000'000'000));
  EXPECT_EQ(a.boundaries(0), 0);
  EXPECT_EQ(a.boundaries(40), 40'000'000'000);
  EXPECT_EQ(a.zero_ns(), 0);
  Viewed later("resource,slice,state,value\n/a,-2,s,1\n/b,7,s,1\n");
  a = later.answer(whole(-3'000'000'000, 9'000'000'000));
  EXPECT_EQ(a.boundaries(0), -2'000'000'000);
  EXPECT_EQ(a.boundaries(a.boundaries_size() - 1), 8'000'000'000);
  EXPECT_EQ(a.zero_ns(), 0);
  Viewed far("resource,slice,state,value\n/a,9007199254740992,s,1\n");
  a = far.answer(whole(0, 9'000'000'000));
  EXPECT_EQ(a.error(), "");
  EXPECT_EQ(a.boundaries(1), 1'000'000'000);
}

TEST(ModelView, ACloserLookAndFiltersAreOfTheSameCells) {
  Viewed viewed(csv(false));
  wire::ViewQuestion q = whole(10'000'000'000, 20'000'000'000);
  q.set_node("/host1");
  q.add_states("run");
  q.set_p(0.05);
  auto a = viewed.answer(q);
  ASSERT_EQ(a.error(), "");
  EXPECT_EQ(a.boundaries_size(), 11);
  EXPECT_THAT(paths_of(a), ElementsAre("/", "/host1", "/host1/rank3", "/host1/rank4", "/host1/rank5"));
  ASSERT_EQ(a.states_size(), 1);
  EXPECT_EQ(a.states(0).name(), "run");
  // The host's mean, which is the same in more slices than the model has: each is a piece of one.
  double share = 0;
  for (int i = 0, at = 0; i < a.part_node_size(); at += static_cast<int>(a.part_states(i++)))
    share += a.share(at) * (a.part_last(i) - a.part_first(i) + 1) *
             a.nodes(static_cast<int>(a.part_node(i))).leaves() / 30.0;
  q.set_slices(40);
  q.set_p(1);
  a = viewed.answer(q);
  ASSERT_EQ(a.error(), "");
  ASSERT_EQ(a.part_node_size(), 1);
  EXPECT_NEAR(a.share(0), share, 1e-6);
  // Another hierarchy.
  wire::ViewQuestion turned = whole(0, 40'000'000'000);
  turned.mutable_view()->set_levels("path2");
  EXPECT_EQ(viewed.answer(turned).error(), "");
  wire::ViewQuestion none = whole(0, 40'000'000'000);
  none.mutable_view()->set_levels("core");
  EXPECT_THAT(viewed.answer(none).error(), HasSubstr("no resource of this run says it"));
}

TEST(ModelView, WhatNeedsEventsSaysThatThereAreNone) {
  Viewed viewed(csv(false));
  wire::ViewQuestion q = whole(0, 5'000'000'000);
  q.set_visits(1000);
  const auto a = viewed.answer(q);
  EXPECT_EQ(a.error(), "");
  EXPECT_FALSE(a.has_visits());
  q.set_measure("bytes");
  EXPECT_THAT(viewed.answer(q).error(), StartsWith("measure bytes: this run is a model"));
  EXPECT_EQ(viewed.maker().events(EventPageRequest(), [] { return true; }).error(),
            "this is a model: it has no single events");
}

TEST(ModelView, ATextOfNumbersHasNumbersForNames) {
  Viewed viewed("2 3 2 3\n2 2 -1\n.1 .2  .3 .4  .5 .5\n.1 .9 .2 .8 .3 .3\n");
  wire::ViewQuestion q = whole(0, 3'000'000'000);
  q.set_p(0);
  const auto a = viewed.answer(q);
  EXPECT_THAT(paths_of(a), ElementsAre("/", "/leaf 0", "/leaf 1"));
  EXPECT_EQ(a.states(0).name(), "state 0");
  // A single leaf that is the root.
  Viewed one("1 2 1 1\n-1\n.5 .25\n");
  EXPECT_EQ(one.answer(whole(0, 2'000'000'000)).error(), "");
}

TEST(ModelView, ARunHasRoomForAThousandStates) {
  std::string text = "resource,slice,state,value\n";
  for (int x = 0; x < 1100; ++x) text += "/a,0,s" + std::to_string(x) + ",0.0001\n";
  const auto source = view_source(model_of(text), "m");
  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, StartsWith("m: state 's1021': "));
}

}  // namespace model_view_test
}  // namespace margay::daemon
