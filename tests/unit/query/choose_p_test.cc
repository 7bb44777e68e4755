// The p that `margay partition` takes when none is given.
#include "margay/query/choose_p.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace margay::daemon {
namespace choose_p_test {

Model model_of(const std::string& text) {
  auto r = parse_model(text, "m", 1u << 20);
  EXPECT_TRUE(r) << r.error().message;
  return r ? std::move(*r) : Model();
}

// Leaves that all change over between two states, with some jitter of a fixed kind.
std::string varied(int leaves, int slices, double jitter) {
  std::string text = "resource,slice,state,value\n";
  unsigned random = 12345;
  for (int l = 0; l < leaves; ++l)
    for (int t = 0; t < slices; ++t) {
      random = random * 1664525u + 1013904223u;
      const double noise = jitter * (static_cast<double>(random >> 8) / (1 << 24) - 0.5);
      const double a = (t < slices / 2 ? 0.3 : 0.7) + noise;
      for (const auto& [state, v] : {std::pair{"a", a}, std::pair{"b", 1 - a}})
        text +=
            "/r" + std::to_string(l) + "," + std::to_string(t) + "," + state + "," + std::to_string(v) + "\n";
    }
  return text;
}

TEST(NoiseP, RisesWithTheNoise) {
  const ChosenP quiet = noise_p(model_of(varied(4, 64, 0.001))), loud = noise_p(model_of(varied(4, 64, 0.5)));
  EXPECT_EQ(quiet.policy, "noise");
  EXPECT_EQ(loud.policy, "noise");
  EXPECT_LT(quiet.p, 0.01);
  EXPECT_GT(loud.p, quiet.p);
  EXPECT_NE(loud.why.find("chance"), std::string::npos);
}

TEST(NoiseP, IsATenthWhereNothingCanBeSaid) {
  for (const char* text : {"1 7 2 1\n-1\n1 0 0 1 1 0 0 1 1 0 0 1 1 0\n", "1 9 1 1\n-1\n1 1 1 1 1 1 1 1 1\n",
                           "1 8 2 1\n-1\n0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"}) {
    const ChosenP p = noise_p(model_of(text));
    EXPECT_EQ(p.p, 0.1);
    EXPECT_EQ(p.policy, "default");
    EXPECT_TRUE(p.why.starts_with("the noise cannot be estimated: ")) << p.why;
  }
}

// Where a solution takes long, p is not searched for what was alerted: that is cut out of the optimum.
TEST(LowerFor, LeavesPWhereNoTablesAreKept_AndThePictureShowsWhatWasAlerted) {
  const Model model = model_of(varied(12, 64, 0.001));
  const std::vector<double> ones(model.leaves(), 1.0);
  std::vector<partition::Column> columns;
  const std::size_t row = model.leaves() * model.states;
  for (std::size_t t = 0; t < model.slices; ++t)
    columns.push_back({std::span(model.values).subspan(t * row, row), ones});
  partition::Batch::Options options;
  options.tree = model.tree;
  options.states = model.states;
  options.memory_budget_bytes = partition::Batch::least_memory(options, model.slices);
  auto batch = partition::Batch::create(options, columns);
  ASSERT_TRUE(batch) << batch.error().message;
  ASSERT_FALSE(batch->keeps_tables());
  const partition::Area alerted{{partition::LeafPosition(3)}, SliceIndex(10), SliceIndex(14)};
  int calls = 0;
  const auto p = lower_for({0.9, "noise", "why"}, *batch, {&alerted, 1}, [&] { return ++calls > 0; });
  ASSERT_TRUE(p);
  EXPECT_EQ(p->p, 0.9);
  EXPECT_EQ(p->why, "why");
  EXPECT_EQ(calls, 0);
  auto picture = batch->solve(0.9);
  ASSERT_TRUE(picture);
  EXPECT_FALSE(partition::is_apart(*picture, batch->tree(), alerted));
  draw_picture(*picture, *batch, {&alerted, 1});
  EXPECT_TRUE(partition::is_apart(*picture, batch->tree(), alerted));
}

}  // namespace choose_p_test
}  // namespace margay::daemon
