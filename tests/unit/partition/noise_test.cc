#include "margay/partition/noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numbers>

#include "margay/partition/spatiotemporal.h"
#include "margay/partition/stats.h"
#include "models.h"

namespace margay::partition {
namespace noise_test {

TEST(Stats, ChiSquare_TableValues) {
  // Upper critical values as printed in every table (three decimals).
  const struct {
    double k, tail, x;
  } table[] = {{1, 0.05, 3.841},    {1, 0.01, 6.635},   {1, 0.001, 10.828}, {2, 0.05, 5.991},
               {2, 0.01, 9.210},    {3, 0.05, 7.815},   {4, 0.025, 11.143}, {5, 0.05, 11.070},
               {7, 0.01, 18.475},   {10, 0.05, 18.307}, {10, 0.95, 3.940},  {10, 0.001, 29.588},
               {20, 0.10, 28.412},  {30, 0.99, 14.953}, {30, 0.05, 43.773}, {100, 0.05, 124.342},
               {100, 0.995, 67.328}};
  for (const auto& row : table) {
    EXPECT_NEAR(chi2_upper_quantile(row.tail, row.k), row.x, 6e-4) << row.k << " " << row.tail;
    EXPECT_NEAR(chi2_quantile(1 - row.tail, row.k), row.x, 6e-4);
    EXPECT_NEAR(chi2_survival(row.x, row.k), row.tail, 1e-3 * row.tail + 2e-5);
  }
}

TEST(Stats, ClosedForms) {
  // Two degrees of freedom are exponential, one is the normal's two tails, four have x/2 more.
  for (const double x : {1e-6, 0.1, 1.0, 3.0, 10.0, 100.0, 600.0, 1400.0}) {
    EXPECT_NEAR(chi2_log_survival(x, 2), -x / 2, 1e-12 * (1 + x));
    EXPECT_NEAR(chi2_survival(x, 1) / std::erfc(std::sqrt(x / 2)), 1, 1e-10);
    EXPECT_NEAR(chi2_survival(x, 4) / (std::exp(-x / 2) * (1 + x / 2)), 1, 1e-10);
    EXPECT_NEAR(chi2_cdf(x, 2) / -std::expm1(-x / 2), 1, 1e-12);
  }
  EXPECT_NEAR(chi2_upper_quantile(1e-250, 2), 500 * std::numbers::ln10, 1e-7);
  EXPECT_NEAR(chi2_log_survival(1e5, 2), -5e4, 1e-6);
  EXPECT_NEAR(log_gamma(0.5), 0.5 * std::log(std::numbers::pi), 1e-14);
  EXPECT_NEAR(log_gamma(10), std::log(362880.0), 1e-12);
  EXPECT_NEAR(log_gamma(1e5), 1051287.7089736568, 1e-6);
}

TEST(Stats, QuantileInvertsAndEdgesHold) {
  for (const double k : {0.5, 1.0, 2.0, 7.0, 31.0, 1000.0, 100000.0}) {
    for (const double tail : {1e-200, 1e-12, 1e-3, 0.2, 0.5, 0.7, 0.999}) {
      const double x = chi2_upper_quantile(tail, k);
      EXPECT_NEAR(chi2_survival(x, k) / tail, 1, 1e-8) << k << " " << tail;
    }
    EXPECT_EQ(chi2_quantile(0, k), 0);
    EXPECT_TRUE(std::isinf(chi2_quantile(1, k)));
    EXPECT_EQ(chi2_survival(0, k), 1);
    EXPECT_EQ(chi2_survival(std::numeric_limits<double>::infinity(), k), 0);
  }
  EXPECT_TRUE(std::isnan(chi2_survival(-1, 2)));
  EXPECT_TRUE(std::isnan(chi2_survival(1, 0)));
  EXPECT_TRUE(std::isnan(chi2_quantile(1.5, 2)));
  EXPECT_TRUE(std::isnan(chi2_quantile(std::nan(""), 2)));
}

// n draws from `pi`, as shares of the draws.
void draw(Rng& rng, const std::vector<double>& pi, int n, double* row) {
  std::fill(row, row + pi.size(), 0.0);
  for (int i = 0; i < n; ++i) {
    double u = uniform(rng);
    std::size_t x = 0;
    while (x + 1 < pi.size() && u >= pi[x]) u -= pi[x++];
    row[x] += 1.0 / n;
  }
}

TEST(Noise, EstimateNeff_FindsTheDrawsOfMultinomials) {
  const std::uint64_t seed = 606;
  SeededRng rng(seed);
  for (const int n : {10, 50, 400}) {
    for (const auto& pi :
         {std::vector<double>{0.5, 0.5}, {0.7, 0.2, 0.1}, {0.4, 0.3, 0.15, 0.1, 0.04, 0.01}}) {
      const std::size_t rows = 400, states = pi.size();
      std::vector<double> all(rows * states);
      for (std::size_t r = 0; r < rows; ++r) draw(rng, pi, n, all.data() + r * states);
      const auto estimate = estimate_neff(all, states);
      ASSERT_TRUE(estimate);
      const double spread = std::sqrt(2 / estimate->degrees_of_freedom);
      EXPECT_NEAR(estimate->n_eff / n, 1, 5 * spread + 0.02) << n << " draws, " << states << " states";
      std::printf("%d draws, %zu states: N_eff %.1f (sd %.0f %%), seed %llu\n", n, states, estimate->n_eff,
                  100 * spread, static_cast<unsigned long long>(seed));
    }
  }
}

TEST(Noise, EstimateNeff_PartialRowsCountByTheirMass) {
  Rng rng(607);
  const std::vector<double> pi = {0.6, 0.3, 0.1};
  std::vector<double> all(600 * 3);
  for (std::size_t r = 0; r < 600; ++r) {
    const double mass = r % 2 ? 1.0 : 0.25;  // a quarter of the slice, a quarter of the draws
    draw(rng, pi, static_cast<int>(100 * mass), all.data() + r * 3);
    for (std::size_t x = 0; x < 3; ++x) all[r * 3 + x] *= mass;
  }
  const auto estimate = estimate_neff(all, 3);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(estimate->n_eff, 100, 20);
}

// Two phases and now and then something rare are no more noise than one phase alone.
TEST(Noise, EstimateNeff_OfTwoPhasesAndARareStateIsThatOfEach) {
  SeededRng rng(609);
  const std::size_t rows = 600;
  std::vector<double> all(rows * 4);
  for (std::size_t r = 0; r < rows; ++r) {
    draw(rng, r / 20 % 2 ? std::vector<double>{0.8, 0.1, 0.1, 0} : std::vector<double>{0.2, 0.4, 0.4, 0}, 100,
         all.data() + r * 4);
    if (r % 60 != 30) continue;
    for (std::size_t x = 0; x < 4; ++x) all[r * 4 + x] *= 0.65;
    all[r * 4 + 3] = 0.35;
  }
  const auto estimate = estimate_neff(all, 4);
  ASSERT_TRUE(estimate);
  std::printf("100 draws, a change each 20 rows and a rare state each 60: N_eff %.1f\n", estimate->n_eff);
  EXPECT_NEAR(estimate->n_eff, 100, 25);
}

// A change from one state to another is one pair: it does not claim to know.
TEST(Noise, EstimateNeff_SaysHowLittleItKnows) {
  std::vector<double> pure(60 * 2);
  for (std::size_t r = 0; r < 60; ++r) pure[r * 2 + (r < 30 ? 0 : 1)] = 1;
  const auto estimate = estimate_neff(pure, 2);
  ASSERT_TRUE(estimate);
  EXPECT_LT(estimate->degrees_of_freedom, kLeastDegrees);
  EXPECT_FALSE(estimate_neff(std::vector<double>{1, 0, 1, 0, 1, 0, 0, 0}, 2));
}

TEST(Noise, EstimateNeff_Edges) {
  const std::vector<double> same = {0.5, 0.5, 0.5, 0.5};
  const auto capped = estimate_neff(same, 2, 1e4);
  ASSERT_TRUE(capped);
  EXPECT_TRUE(capped->capped);
  EXPECT_EQ(capped->n_eff, 1e4);
  EXPECT_FALSE(estimate_neff(std::vector<double>{0.5, 0.5}, 2));    // one row
  EXPECT_FALSE(estimate_neff(std::vector<double>{1, 0, 1, 0}, 2));  // one state
  EXPECT_FALSE(estimate_neff(std::vector<double>{1, 0, 0, 0}, 2));  // one row with mass
  EXPECT_FALSE(estimate_neff(std::vector<double>{1, 0, 1}, 2));     // not whole rows
  EXPECT_FALSE(estimate_neff(std::vector<double>{1, 0, 1, 1}, 2));  // over 1
  EXPECT_FALSE(estimate_neff(std::vector<double>{1, 0, std::nan(""), 0}, 2));
}

TEST(Noise, FloorIsTheBreakEvenOfTheQuantile) {
  const double loss = chi2_upper_quantile(0.01, 3) / (2 * std::numbers::ln2 * 50);
  EXPECT_NEAR(*noise_floor_p(50, 4, 0.01), loss / 2, 1e-15);
  EXPECT_NEAR(*noise_floor_p(50, 4, 0.01, 0.5), loss, 1e-15);
  EXPECT_EQ(*noise_floor_p(1e-3, 4, 0.01), 1);
  EXPECT_FALSE(noise_floor_p(0, 4, 0.01));
  EXPECT_FALSE(noise_floor_p(10, 1, 0.01));
  EXPECT_FALSE(noise_floor_p(10, 4, 0));
  EXPECT_FALSE(noise_floor_p(10, 4, 0.01, 0));
  EXPECT_NEAR(*alpha_per_window(10, 100), 0.5 / 1990, 1e-12);
  EXPECT_FALSE(alpha_per_window(0, 100));
}

TEST(Noise, FloorOfAJobIsWhereTheMeanChanceIsAlpha) {
  const Noise quiet{2000, 1, 1}, loud{50, 3, 1};
  EXPECT_NEAR(*noise_floor_p(std::vector{loud}, 0.01), *noise_floor_p(50, 4, 0.01), 1e-6);
  // The quiet ones add comparisons, and next to no chance.
  EXPECT_NEAR(*noise_floor_p(std::vector{quiet, loud, quiet, quiet}, 0.01), *noise_floor_p(50, 4, 0.04),
              1e-5);
  EXPECT_GT(*noise_floor_p(std::vector{Noise{50, 3, 0.5}}, 0.01), *noise_floor_p(std::vector{loud}, 0.01));
  EXPECT_EQ(*noise_floor_p(std::vector{Noise{1e6, 1, 1}}, 0.01), kLeastP);
  EXPECT_EQ(*noise_floor_p(std::vector{Noise{1e-3, 1, 1}}, 0.01), kMostP);
  EXPECT_FALSE(noise_floor_p(std::vector<Noise>{}, 0.01));
  EXPECT_FALSE(noise_floor_p(std::vector{Noise{0, 1, 1}}, 0.01));
  EXPECT_FALSE(noise_floor_p(std::vector{loud}, 0));
}

TEST(Noise, WithManyResourcesTheWorstEstimateIsNotTheFloor) {
  // All alike, and each known from 9 rows only; or half of them truly ten times as noisy.
  const std::uint64_t seed = 609;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  SeededRng rng(seed);
  const std::vector<double> pi = {0.55, 0.3, 0.1, 0.05};
  std::vector<Noise> alike, two_kinds;
  for (int r = 0; r < 64; ++r)
    for (auto* of : {&alike, &two_kinds}) {
      std::vector<double> v(9 * 4);
      for (std::size_t c = 0; c < 9; ++c) draw(rng, pi, of == &alike || r % 2 ? 500 : 50, v.data() + c * 4);
      const auto e = *estimate_neff(v, 4);
      of->push_back({e.n_eff, e.of_a_pair, 1, e.degrees_of_freedom});
    }
  const double alpha = *alpha_per_window(64, 256);
  std::vector<Noise> as_known = alike;
  for (Noise& n : as_known) n.degrees = 0;
  EXPECT_NEAR(*noise_floor_p(alike, alpha) / *noise_floor_p(500, 4, alpha), 1, 0.3);
  EXPECT_GT(*noise_floor_p(as_known, alpha), 1.5 * *noise_floor_p(alike, alpha));
  EXPECT_GT(*noise_floor_p(two_kinds, alpha), 0.7 * *noise_floor_p(50, 4, alpha));
}

TEST(HeldP, FollowsWhatLastsAndNothingElse) {
  HeldP p({.slices = 100});
  EXPECT_EQ(p.update(0.03, SliceIndex(0)), 0.03);
  for (int i = 1; i < 50; ++i)
    EXPECT_EQ(p.update(i % 2 ? 0.036 : 0.025, SliceIndex(i)), 0.03) << "within the band";
  for (int i = 50; i < 99; ++i) EXPECT_EQ(p.update(i % 5 ? 0.06 : 0.03, SliceIndex(i)), 0.03) << "never five";
  EXPECT_EQ(p.update(0, SliceIndex(99)), 0.03);
  EXPECT_EQ(p.update(std::nan(""), SliceIndex(99)), 0.03);
  p.update(0.03, SliceIndex(99));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(p.update(0.08, SliceIndex(100 + i)), 0.03);
  EXPECT_NEAR(p.update(0.08, SliceIndex(104)), 0.08, 1e-12);
  for (int i = 0; i < 5; ++i) p.update(0.004, SliceIndex(105 + i));
  EXPECT_NEAR(p.p(), 0.004, 1e-12);
}

TEST(HeldP, ChangesAreRationedInTheLongRun) {
  HeldP p({.slices = 100});
  int changes = 0;
  double before = p.update(0.01, SliceIndex(0));
  for (int i = 1; i <= 40'000; ++i) {
    const double now = p.update(i / 7 % 2 ? 0.01 : 0.1, SliceIndex(i));
    changes += now != before ? 1 : 0;
    before = now;
  }
  EXPECT_GT(changes, 50);
  EXPECT_LE(changes, 3 + 100) << "a window of 100 slices is solved anew once in 400";
}

TEST(Noise, SteadyPhaseShowsNextToNoCutsAtTheFloor) {
  const std::uint64_t seed = 608;
  SeededRng rng(seed);
  const std::vector<double> pi = {0.55, 0.3, 0.1, 0.05};
  const std::size_t leaves = 16, slices = 40;
  std::size_t false_cuts = 0;
  const int windows = 20;
  for (int round = 0; round < windows; ++round) {
    std::vector<double> v(leaves * slices * 4), w(leaves, 1.0);
    for (std::size_t c = 0; c < leaves * slices; ++c) draw(rng, pi, 60, v.data() + c * 4);
    const double n_eff = estimate_neff(v, 4)->n_eff;
    Spatiotemporal::Options o;
    o.tree = TreeShape::flat(leaves);
    o.states = 4;
    o.window = slices;
    o.p = {*noise_floor_p(n_eff, 4, *alpha_per_window(leaves, slices))};
    auto engine = Spatiotemporal::create(o);
    ASSERT_TRUE(engine);
    for (std::size_t t = 0; t < slices; ++t) {
      ASSERT_TRUE(engine->push({std::span(v).subspan(t * leaves * 4, leaves * 4), w}));
    }
    false_cuts += engine->partition(0)->parts.size() - 1;
  }
  std::printf("%zu false cuts in %d steady windows, seed %llu\n", false_cuts, windows,
              static_cast<unsigned long long>(seed));
  EXPECT_LE(false_cuts, static_cast<std::size_t>(windows));
}

TEST(PPolicy, SnapsUpwardsAndHoldsOn) {
  auto policy = PPolicy::create({});
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->p(), 0.5);
  EXPECT_EQ(policy->update(0.03), 0.05);
  EXPECT_EQ(policy->update(0.05), 0.05);
  EXPECT_EQ(policy->update(std::nan("")), 0.05);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(policy->update(i % 2 ? 0.0505 : 0.0195), 0.05);                           // inside the margin
  for (int i = 0; i < 100; ++i) EXPECT_EQ(policy->update(i % 4 ? 0.08 : 0.04), 0.05);   // never five in a row
  for (int i = 0; i < 100; ++i) EXPECT_EQ(policy->update(i % 2 ? 0.08 : 0.001), 0.05);  // never on one side
  EXPECT_EQ(policy->update(0.04), 0.05);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(policy->update(0.08), 0.05);
  EXPECT_EQ(policy->update(0.08), 0.1);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(policy->update(0), 0.1);
  EXPECT_EQ(policy->update(0), 0.001);
  for (int i = 0; i < 5; ++i) policy->update(7);
  EXPECT_EQ(policy->p(), 0.5);
}

TEST(PPolicy, RefusesABadGrid) {
  EXPECT_FALSE(PPolicy::create({.grid = {}}));
  EXPECT_FALSE(PPolicy::create({.grid = {0.1, 0.1}}));
  EXPECT_FALSE(PPolicy::create({.grid = {0.1, 1.1}}));
  EXPECT_FALSE(PPolicy::create({.margin = 1}));
  EXPECT_FALSE(PPolicy::create({.patience = 0}));
}

}  // namespace noise_test
}  // namespace margay::partition
