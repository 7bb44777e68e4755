// Windows of many tiles, most of which the engine does not read: what it finds is what a solver finds that
// reads all (batch.h), and what an engine finds that saw the window only as it is now.
#include <algorithm>
#include <deque>

#include "engines.h"
#include "lists.h"

namespace margay::partition {
namespace pruning_test {

using support::Cells;
using support::Parents;
using Tables = Spatiotemporal::Tables;

// Phases of random length in which neighbours do the same but for noise; now and then a slice or a leaf that
// does not, or is not known.
class Phases {
 public:
  Phases(Rng& rng, std::size_t leaves, std::size_t states)
      : rng_(rng),
        leaves_(leaves),
        states_(states),
        noise_(rng() % 3 == 0 ? 0 : uniform(rng) * uniform(rng)) {}

  Cells next() {
    Cells c{leaves_, 1, states_, std::vector<double>(leaves_ * states_), std::vector<double>(leaves_, 1.0)};
    if (left_-- == 0) {
      left_ = 1 + rng_() % (rng_() % 2 ? 4 : 40);
      shares_.assign(states_ * 2, 0.0);
      for (double& share : shares_) share = rng_() % 3 ? uniform(rng_) : 0.0;
      border_ = rng_() % (leaves_ + 1);
    }
    const bool odd = rng_() % 12 == 0;
    for (std::size_t s = 0; s < leaves_; ++s) {
      if (rng_() % 40 == 0) c.w[s] = rng_() % 2 ? 0.0 : 0.5;
      double sum = 1e-9;
      double* v = c.v.data() + s * states_;
      for (std::size_t x = 0; x < states_; ++x) {
        v[x] = shares_[(s < border_ ? 0 : states_) + x] * (1 + noise_ * (uniform(rng_) - 0.5));
        if (odd && s % 3 == 0) v[x] = uniform(rng_);
        sum += v[x];
      }
      for (std::size_t x = 0; x < states_; ++x) v[x] *= c.w[s] / std::max(1.0, sum * (1 + 1e-9));
    }
    return c;
  }

 private:
  Rng& rng_;
  std::size_t leaves_, states_;
  double noise_;
  std::vector<double> shares_;
  std::size_t left_ = 0, border_ = 0;
};

Cells joined(const std::deque<Cells>& window) {
  Cells all = window.front();
  for (std::size_t t = 1; t < window.size(); ++t) {
    all.v.insert(all.v.end(), window[t].v.begin(), window[t].v.end());
    all.w.insert(all.w.end(), window[t].w.begin(), window[t].w.end());
  }
  all.slices = window.size();
  return all;
}

// One engine that lives, over `steps` readings.
class Life {
 public:
  Life(Rng& rng, Tables tables, const std::string& instructions)
      : rng_(rng), parents_(random_tree(rng, 3 + rng() % 25)) {
    options_.tree = *TreeShape::from_parents(parents_of(parents_));
    options_.states = 1 + rng() % 5;
    const std::size_t windows[] = {9, 16, 17, 40, 65, 100};
    options_.window = windows[rng() % std::size(windows)];
    options_.p = {0.002, 0.02, 0.2, 0.6};
    options_.tables = tables;
    options_.instructions = instructions;
  }

  void run(int steps) {
    auto engine = Spatiotemporal::create(options_);
    ASSERT_TRUE(engine) << engine.error().message;
    Phases phases(rng_, leaf_count(parents_), options_.states);
    std::int64_t first = 0;
    for (int step = 0; step < steps; ++step) {
      const std::size_t more = step == 0 ? options_.window - rng_() % 9 : 1 + rng_() % 6;
      for (std::size_t n = 0; n < more; ++n) {
        window_.push_back(phases.next());
        ASSERT_TRUE(engine->push(column(window_.back(), 0)));
        if (window_.size() > options_.window) window_.pop_front(), ++first;
      }
      for (std::size_t n = rng_() % 4; n-- > 0;) amend(*engine, first);
      if (rng_() % 3 == 0) engine->settle();
      for (std::size_t n = rng_() % 3; n-- > 0;) amend(*engine, first);
      ASSERT_NO_FATAL_FAILURE(check(*engine, first)) << "step " << step;
    }
  }

 private:
  void amend(Spatiotemporal& engine, std::int64_t first) {
    const std::size_t t = rng_() % window_.size(), leaf = rng_() % leaf_count(parents_);
    Cells& cells = window_[t];
    std::span<double> v(cells.v.data() + leaf * options_.states, options_.states);
    random_cell(rng_, rng_() % 2 ? Kind::kSmooth : Kind::kHoles, v, cells.w[leaf]);
    ASSERT_TRUE(engine.amend(SliceIndex(first + static_cast<std::int64_t>(t)),
                             LeafPosition(static_cast<std::uint32_t>(leaf)), v, cells.w[leaf]));
  }

  void check(Spatiotemporal& engine, std::int64_t first) {
    const Cells all = joined(window_);
    Spatiotemporal::Options now = options_;
    now.first_slice = SliceIndex(first);
    auto fresh = rebuild(now, columns(all));
    Batch::Options whole;
    whole.tree = options_.tree;
    whole.states = options_.states;
    whole.first_slice = SliceIndex(first);
    whole.tie_bits = engine.tie_bits();
    auto batch = Batch::create(whole, columns(all));
    ASSERT_TRUE(fresh && batch);
    for (std::size_t q = 0; q < options_.p.size(); ++q) {
      const auto found = engine.partition(q);
      ASSERT_EQ(found->parts, fresh->partition(q)->parts) << "p " << options_.p[q];
      const auto measured = engine.evaluate(*found);
      const auto best = batch->solve(options_.p[q]);
      ASSERT_TRUE(measured && best);
      const double slack =
          options_.tables == Tables::kExact
              ? engine.tie_bits() * static_cast<double>(found->parts.size() + best->parts.size())
              : compact_bound(*measured, *best, all.leaves, options_.window, all.states, parents_.size());
      ASSERT_NEAR(measured->pIC, best->pIC, slack + 1e-9) << "p " << options_.p[q];
    }
  }

  Rng& rng_;
  Parents parents_;
  Spatiotemporal::Options options_;
  std::deque<Cells> window_;
};

TEST(Pruning, LongWindowsThatLive_TheOptimumOfASolverThatReadsAll) {
  SeededRng rng(21);
  for (const Tables tables : {Tables::kExact, Tables::kCompact})
    for (const std::string& set : Spatiotemporal::instruction_sets())
      for (int life = 0; life < 12; ++life) {
        SCOPED_TRACE(set + (tables == Tables::kExact ? " exact" : " compact") + ", life " +
                     std::to_string(life));
        ASSERT_NO_FATAL_FAILURE(Life(rng, tables, set).run(8));
      }
}

}  // namespace pruning_test
}  // namespace margay::partition
