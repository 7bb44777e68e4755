// Leaves of one column whose visits are cut into slices, for tests of how surprising they are.
#pragma once

#include <cmath>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "trees.h"
#include "visit_surprise.h"
#include "visits_seen.h"

namespace margay::detect::test {

constexpr std::uint16_t kState = 7;
// A VisitSurprise that keeps what the newest slice told.
class Surprise : public VisitSurprise {
 public:
  void measure(const VisitsSeen& seen, bool one_kind) {
    VisitSurprise::measure(seen, one_kind, told_, nullptr, nullptr, lately);
  }
  const LengthsLately* lately = nullptr;
  const Grid& evidence() const { return told_.evidence; }
  const Grid& told() const { return told_.told; }
  const Grid& lost() const { return told_.lost; }
  const Grid& ratio() const { return told_.ratio; }

 private:
  Told told_;
};

using Lengths = std::function<float(std::mt19937_64&, std::uint32_t leaf)>;

// Leaves of one column, a slice at a time; visits are spent, and cut into slices.
// `Judge` says how surprising they are: a Surprise or a VisitScores.
template <class Judge>
class Leaves {
 public:
  explicit Leaves(const model::Hierarchy& hierarchy)
      : n_(static_cast<std::uint32_t>(hierarchy.leaf_count())), todo_(n_), none_(n_, 0), there_(n_, 1) {
    judge.set_hierarchy(hierarchy);
    before_.resize(n_), after_.resize(n_);
    for (Grid* g : {&spent_, &ended_, &longest_}) g->reach(n_, 1);
  }
  std::uint32_t size() const { return n_; }
  // After what it does, or has been told to do: the leaf is idle, then in the state, for so many slices each.
  void spend(std::uint32_t leaf, float idle, float visit) {
    todo_[leaf].push_back({false, idle, 0});
    todo_[leaf].push_back({true, visit, 0});
  }
  bool done(std::uint32_t leaf) const { return todo_[leaf].empty(); }
  // The next slice; who has nothing left to do is idle.
  void slice() {
    before_ = after_;
    for (Grid* g : {&spent_, &ended_, &longest_}) g->fill(0);
    for (std::uint32_t l = 0; l < n_; ++l) cut(l);
    const VisitsSeen seen{spent_, ended_, longest_, before_, after_, there_, counted_, states_};
    if constexpr (requires { judge.measure(seen, one_kind); })
      judge.measure(seen, one_kind);
    else
      judge.measure(seen);
  }
  void learn() { judge.learn(none_); }
  // Slices in which all have so many visits, of lengths that are short; these are learned from.
  void live(int slices, int visits, const Lengths& lengths, std::mt19937_64& random) {
    for (int k = 0; k < slices; ++k) {
      for (std::uint32_t l = 0; l < n_; ++l)
        for (int v = 0; v < visits; ++v) spend(l, 1e-3f, lengths(random, l));
      slice();
      learn();
    }
  }

  Judge judge;
  bool one_kind = false;  // of a Surprise

 private:
  struct Part {
    bool visit;
    float length, spent;
  };
  void cut(std::uint32_t l) {
    float t = 0;
    after_[l] = {};
    while (!todo_[l].empty() && t < 1) {
      Part& p = todo_[l].front();
      const float dt = std::min(p.length - p.spent, 1 - t);
      p.spent += dt, t += dt;
      const bool over = p.spent >= p.length * 0.99999f;
      if (p.visit) {
        spent_[l][0] += dt;
        longest_[l][0] = std::max(longest_[l][0], p.spent);
        if (over)
          ended_[l][0] += 1;
        else
          after_[l] = {kState, p.spent};
      }
      if (over) todo_[l].pop_front();
    }
  }

  std::uint32_t n_;
  std::vector<std::deque<Part>> todo_;
  Grid spent_, ended_, longest_;
  std::vector<OpenVisit> before_, after_;
  std::vector<char> none_, there_, counted_{1};
  std::vector<std::uint16_t> states_{kState};
};

inline float log_normal(std::mt19937_64& random, float median, float deviation) {
  return median * std::exp(deviation * std::normal_distribution<float>()(random));
}
inline float pareto(std::mt19937_64& random, float least, float index) {
  return least * std::pow(std::uniform_real_distribution<float>(1e-6f, 1)(random), -1 / index);
}

struct Kind {
  const char* name;
  Lengths lengths;  // short, but for very few
};
inline const std::vector<Kind> kKinds = {
    {"log-normal", [](auto& random, std::uint32_t) { return log_normal(random, 0.01f, 0.5f); }},
    {"wide", [](auto& random, std::uint32_t) { return log_normal(random, 0.002f, 1.2f); }},
    {"two kinds of work",
     [](auto& random, std::uint32_t) {
       return log_normal(random, random() % 5 == 0 ? 0.05f : 0.002f, 0.2f);
     }},
    {"Pareto 1.5", [](auto& random, std::uint32_t) { return pareto(random, 0.002f, 1.5f); }},
    {"Pareto 1.1", [](auto& random, std::uint32_t) { return std::min(20.0f, pareto(random, 0.002f, 1.1f)); }},
    {"unequal", [](auto& random, std::uint32_t l) {
       return log_normal(random, 0.002f * static_cast<float>(1 + l % 4), 0.5f);
     }}};

}  // namespace margay::detect::test
