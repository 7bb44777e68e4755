// Solutions at one p inside nested intervals, of the spatiotemporal operator: what is known to be linear is
// left out.
//
// Each entry of each node's triangle is a maximum of lines in p, hence convex: if its value at one inner p of
// [p1,p2] is that of the chord between its values at p1 and p2, it is linear on all of [p1,p2]. A node all of
// whose entries are so is *frozen* as long as the search is inside [p1,p2]: its entries are interpolated, and
// those of many frozen children as one sum. The search solves at p inside of [p1,p2]; besides the chord over
// all of it, those from the next p solved outside to p tell of its halves. What is below a frozen node is not
// needed for values at all. For parts, blocks of a frozen node are decided at the inner p at which it was
// found linear, where all below it was solved or was frozen before: an optimum there lies on the line, and so
// is one everywhere on it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "significant_search.h"
#include "triangle_pool.h"

namespace margay::partition {
namespace {

using Model = SignificantSearch::Model;
using internal::Line;
using internal::Patience;
using Pool = internal::TrianglePool;

class NodeSolver final : public SignificantSearch::Solver {
 public:
  NodeSolver(Model& model, Patience& patience)
      : model_(model),
        patience_(patience),
        pool_(model.entries, model.tree.size(), spare_bytes(model)),
        nodes_(model.tree.size()),
        grain_(SignificantSearch::grain(model) / static_cast<double>(model.tree.leaf_count())),
        memory_bits_(memory_bits(model)),
        memory_(std::size_t{1} << memory_bits_) {
    all_.assign(model.tree.post_order().begin(), model.tree.post_order().end());
  }

  bool begin(double p) override {
    // At 1 every interval of every node is best whole (partition.h).
    for (const NodeIndex k : all_) {
      const auto slot = pool_.take();
      if (!slot) return false;
      internal::batch_kernels().whole(model_.entries, model_.of(model_.a, k),
                                      model_.of(std::as_const(model_.b), k), 0, model_.tie, pool_.at(*slot));
      nodes_[k.value].solved.push_back({1, *slot});
    }
    p_ = p;
    for (const NodeIndex k : all_) {
      if (!solve_node(k)) return false;
    }
    return true;
  }

  bool solve(double p1, double p, double p2) override {
    levels_.push_back({p1, p, p2, {}, {}, {}, {}, {}});
    Level& level = levels_.back();
    const auto& active = levels_.size() > 1 ? levels_[levels_.size() - 2].next : all_;
    level.solved.reserve(active.size());
    level.straight.reserve(active.size());
    p_ = p;
    for (const NodeIndex k : active) {
      if (!solve_node(k)) {
        leave();
        return false;
      }
      level.solved.push_back(k);
      level.straight.push_back(where_straight(k, level));
      if (level.straight.back() == Straight::kAll) freeze(k, p1, p2, p);
    }
    return true;
  }
  void left() override { enter(Straight::kLeft); }
  void right() override {
    restore();
    enter(Straight::kRight);
  }
  void leave() override {
    restore();
    Level& level = levels_.back();
    for (std::size_t i = 0; i < level.solved.size(); ++i) {
      Node& node = nodes_[level.solved[i].value];
      if (i < level.straight.size() && level.straight[i] == Straight::kAll) node.frozen.on = false;
      pool_.give(node.solved.back().slot);
      node.solved.pop_back();
    }
    levels_.pop_back();
  }

  double value() const override {
    return pool_.at(
        nodes_[model_.tree.root().value].solved.back().slot)[internal::triangle_at(0, model_.slices - 1)];
  }
  Line line() override {
    Line sum;
    walk_lines(model_.whole_block(p_), sum, true);
    return sum;
  }
  void parts(std::vector<Part>& out) const override {
    out.clear();
    struct Plain : Tables {
      static bool known(const Model::Block&) { return false; }
    };
    model_.walk(Plain{{*this}}, model_.whole_block(p_),
                [&](NodeIndex k, std::size_t first, std::size_t last) {
                  out.push_back(model_.part(k, first, last));
                });
  }
  double node_share() const override {
    return static_cast<double>(solved_) / static_cast<double>(all_.size());
  }

 private:
  // Where a node was found linear: in all of a level's interval, or in the half at the left or right.
  enum class Straight : std::uint8_t { kNowhere, kAll, kLeft, kRight, kBoth };

  struct Solved {
    double p;
    Pool::Slot slot;
  };
  struct Frozen {
    bool on = false;
    double p1 = 0, p2 = 1;
    Pool::Slot left = 0, right = 0;  // at p1 and p2
    double at = 0;                   // where its blocks are decided
    std::uint32_t frost = 0;         // a number of its own for each time it was frozen
  };
  // The sum of frozen children, itself linear in [p1,p2].
  struct Sum {
    bool on = false;
    double p1 = 0, p2 = 1;
    Pool::Slot left = 0, right = 0;
  };
  struct Node {
    std::vector<Solved> solved;  // at 1, at the beginning, then what the search is inside of
    Frozen frozen;
    Sum sum;
    bool summed = false;  // it is in its parent's sum
    bool needed = true;   // neither it nor a node above it is frozen
  };
  struct OldSum {
    NodeIndex node;
    Sum sum;
    std::vector<NodeIndex> added;
  };
  // One solve() that was not left yet.
  struct Level {
    double p1, p, p2;
    std::vector<NodeIndex> solved;
    std::vector<Straight> straight;  // of those
    // Of the half that is worked on:
    std::vector<NodeIndex> next;  // to be solved in it, children first
    std::vector<NodeIndex> thaw;
    std::vector<OldSum> old_sums;
  };

  // A few blocks of each cell, so that most find a place of their own.
  static int memory_bits(const Model& model) {
    return std::clamp(static_cast<int>(std::bit_width(4 * model.tree.size() * model.slices)), 10, 20);
  }
  static std::uint64_t spare_bytes(const Model& model) {
    const std::uint64_t triangles = model.best.empty() ? 2 : 3;
    const std::uint64_t held =
        sizeof(double) * (triangles * model.tree.size() * model.entries + model.sums.size()) +
        (sizeof(Remembered) << memory_bits(model));
    return model.budget > held ? model.budget - held : 0;
  }

  // How walk() sees the nodes.
  struct Tables {
    const NodeSolver& solver;
    double p_of(NodeIndex k, double p) const { return solver.p_of(k, p); }
    Model::View view(NodeIndex k, double p) const { return solver.view(k, p); }
    // By the sum of frozen children, as its triangle was made: each child lies in another place of memory.
    double split(const Model::Block& block) const {
      const Node& node = solver.nodes_[block.node.value];
      const bool summed = node.sum.on && block.p == solver.p_;
      double total = 0;
      if (summed)
        total = Model::View{solver.pool_.at(node.sum.left), solver.pool_.at(node.sum.right),
                            share(node.sum, block.p)}(block.first, block.last);
      for (const NodeIndex child : solver.model_.tree.children(block.node))
        if (!summed || !solver.nodes_[child.value].summed)
          total += solver.view(child, block.p)(block.first, block.last);
      return total;
    }
    // Not the slack of the tie rule: of tens of thousands of parts, each may fall short of its optimum by
    // that, and lines of such partitions would not cross where the optimum changes. By the cells of the
    // block, it is some 500 times the rounding of its entries, and small in all.
    double slack(const Model::Block& block) const {
      return 4 * solver.grain_ * static_cast<double>(solver.model_.tree.leaves_under(block.node).size()) *
             static_cast<double>(block.last - block.first + 1) / static_cast<double>(solver.model_.slices);
    }
  };

  // Its triangle at p if it was solved there. A frozen node is not solved at the present p.
  const Solved* solved_at(const Node& node, double p) const {
    if (node.solved.back().p == p) return &node.solved.back();
    if (node.frozen.on && p == p_) return nullptr;
    for (auto it = node.solved.rbegin(); it != node.solved.rend(); ++it) {
      if (it->p == p) return &*it;
    }
    return nullptr;
  }
  double p_of(NodeIndex k, double p) const {
    const Node& node = nodes_[k.value];
    return solved_at(node, p) != nullptr ? p : node.frozen.at;
  }
  Model::View view(NodeIndex k, double p) const {
    const Node& node = nodes_[k.value];
    if (const Solved* solved = solved_at(node, p)) return {pool_.at(solved->slot), pool_.at(solved->slot), 0};
    const Frozen& f = node.frozen;
    return {pool_.at(f.left), pool_.at(f.right), (p - f.p1) / (f.p2 - f.p1)};
  }

  bool solve_node(NodeIndex k) {
    const auto slot = patience_.after(model_.work_of_node()) ? pool_.take() : std::nullopt;
    if (!slot) return false;
    const internal::BatchKernels& kernel = internal::batch_kernels();
    double* table = pool_.at(*slot);
    Node& node = nodes_[k.value];
    bool first = true;
    if (node.sum.on) {
      kernel.add(model_.entries, pool_.at(node.sum.left), pool_.at(node.sum.right), share(node.sum, p_),
                 first, table);
      first = false;
    }
    for (const NodeIndex child : model_.tree.children(k)) {
      if (nodes_[child.value].summed) continue;
      const Model::View v = view(child, p_);
      kernel.add(model_.entries, v.left, v.right, v.t, first, table);
      first = false;
    }
    model_.solve_node(k, p_, table);
    node.solved.push_back({p_, *slot});
    ++solved_;
    return true;
  }
  static double share(const Sum& sum, double p) { return (p - sum.p1) / (sum.p2 - sum.p1); }

  // Is the triangle of `middle` on the chord from `left` to `right`?
  bool on_chord(NodeIndex k, const Solved& left, const Solved& middle, const Solved& right) const {
    const double t = (middle.p - left.p) / (right.p - left.p);
    // What is off the chord by d at t is off by at most d / min(t, 1-t) anywhere.
    const double bound =
        grain_ * static_cast<double>(model_.tree.leaves_under(k).size()) * std::min(t, 1 - t);
    return internal::batch_kernels().on_chord(model_.entries, pool_.at(left.slot), pool_.at(right.slot), t,
                                              pool_.at(middle.slot), bound);
  }
  // Three points in a row are also an end of the level's interval between the nearest point outside and the
  // middle.
  Straight where_straight(NodeIndex k, const Level& level) const {
    const auto& solved = nodes_[k.value].solved;
    const Solved *at_p1 = nullptr, *at_p2 = nullptr, *before = nullptr, *after = nullptr;
    for (const Solved& one : solved) {
      if (one.p == level.p1) at_p1 = &one;
      if (one.p == level.p2) at_p2 = &one;
      if (one.p < level.p1 && (before == nullptr || one.p > before->p)) before = &one;
      if (one.p > level.p2 && (after == nullptr || one.p < after->p)) after = &one;
    }
    const Solved& middle = solved.back();
    if (on_chord(k, *at_p1, middle, *at_p2)) return Straight::kAll;
    const bool left = before != nullptr && on_chord(k, *before, *at_p1, middle);
    const bool right = after != nullptr && on_chord(k, middle, *at_p2, *after);
    if (left) return right ? Straight::kBoth : Straight::kLeft;
    return right ? Straight::kRight : Straight::kNowhere;
  }

  void freeze(NodeIndex k, double p1, double p2, double at) {
    Node& node = nodes_[k.value];
    node.frozen = {true, p1, p2, solved_at(node, p1)->slot, solved_at(node, p2)->slot, at, ++frosts_};
  }

  void enter(Straight half) {
    Level& level = levels_.back();
    const bool is_left = half == Straight::kLeft;
    const double p1 = is_left ? level.p1 : level.p, p2 = is_left ? level.p : level.p2;
    for (std::size_t i = level.solved.size(); i-- > 0;) {
      const NodeIndex k = level.solved[i];
      Node& node = nodes_[k.value];
      if (level.straight[i] == half || level.straight[i] == Straight::kBoth) {
        freeze(k, p1, p2, is_left ? level.p1 : level.p2);
        level.thaw.push_back(k);
      }
      const NodeIndex parent = model_.tree.parent(k);
      node.needed = !node.frozen.on && (parent == kNoParent || nodes_[parent.value].needed);
      if (node.needed) level.next.push_back(k);
    }
    std::reverse(level.next.begin(), level.next.end());
    for (const NodeIndex k : level.next) sum_frozen(k, p1, p2, level);
  }

  // Adds the children of k that froze to its sum over [p1,p2].
  void sum_frozen(NodeIndex k, double p1, double p2, Level& level) {
    constexpr std::size_t kWorthIt = 3;
    Node& node = nodes_[k.value];
    OldSum old{k, node.sum, {}};
    for (const NodeIndex child : model_.tree.children(k)) {
      if (nodes_[child.value].frozen.on && !nodes_[child.value].summed) old.added.push_back(child);
    }
    if (old.added.size() < kWorthIt) return;
    const auto left = pool_.take();
    const auto right = left ? pool_.take() : std::nullopt;
    if (!right) {
      if (left) pool_.give(*left);
      return;  // they are added one by one
    }
    for (const auto& [slot, p] : {std::pair(*left, p1), std::pair(*right, p2)}) {
      bool first = true;
      if (node.sum.on) {
        internal::batch_kernels().add(model_.entries, pool_.at(node.sum.left), pool_.at(node.sum.right),
                                      share(node.sum, p), first, pool_.at(slot));
        first = false;
      }
      for (const NodeIndex child : old.added) {
        const Model::View v = view(child, p);
        internal::batch_kernels().add(model_.entries, v.left, v.right, v.t, first, pool_.at(slot));
        first = false;
      }
    }
    for (const NodeIndex child : old.added) nodes_[child.value].summed = true;
    node.sum = {true, p1, p2, *left, *right};
    level.old_sums.push_back(std::move(old));
  }

  void restore() {
    Level& level = levels_.back();
    for (const OldSum& old : level.old_sums) {
      Node& node = nodes_[old.node.value];
      pool_.give(node.sum.left);
      pool_.give(node.sum.right);
      node.sum = old.sum;
      for (const NodeIndex child : old.added) nodes_[child.value].summed = false;
    }
    for (const NodeIndex k : level.thaw) nodes_[k.value].frozen.on = false;
    level.old_sums.clear();
    level.thaw.clear();
    level.next.clear();
  }

  // The line of a block of a frozen node, which is the same until it thaws. A table that forgets: each place
  // holds what came last.
  struct Remembered {
    std::uint32_t frost = 0, first = 0, last = 0;
    Line line;
  };
  Remembered& place_of(const Model::Block& block) {
    std::uint64_t h = (std::uint64_t{nodes_[block.node.value].frozen.frost} << 32) ^
                      (std::uint64_t{block.first} << 16) ^ block.last;
    h *= 0x9e3779b97f4a7c15u;
    return memory_[h >> (64 - memory_bits_)];
  }

  // Adds the lines of the parts of a block. `outer`: blocks of frozen nodes are remembered.
  void walk_lines(const Model::Block& start, Line& sum, bool outer) {
    struct Remembering : Tables {
      NodeSolver& self;
      Line& total;
      bool store;
      bool known(const Model::Block& block) const {
        const Node& node = self.nodes_[block.node.value];
        if (self.solved_at(node, block.p) != nullptr) return false;
        const Frozen& f = node.frozen;
        Remembered& place = self.place_of(block);
        if (place.frost != f.frost || place.first != block.first || place.last != block.last) {
          if (!store) return false;
          Line line;
          self.walk_lines({block.node, block.first, block.last, f.at}, line, false);
          place = {f.frost, block.first, block.last, line};
        }
        total.gain += place.line.gain;
        total.loss += place.line.loss;
        total.parts += place.line.parts;
        return true;
      }
    };
    model_.walk(Remembering{{*this}, *this, sum, outer}, start,
                [&](NodeIndex k, std::size_t first, std::size_t last) {
                  Part part = model_.part(k, first, last);
                  model_.measure_by_table(part);
                  sum.gain += part.gain;
                  sum.loss += part.loss;
                  ++sum.parts;
                });
  }

  Model& model_;
  Patience& patience_;
  Pool pool_;
  std::vector<Node> nodes_;
  std::vector<NodeIndex> all_;
  std::vector<Level> levels_;
  double grain_;  // per leaf
  double p_ = 0;
  std::uint64_t solved_ = 0;
  std::uint32_t frosts_ = 0;
  int memory_bits_;
  std::vector<Remembered> memory_;
};

}  // namespace

std::unique_ptr<SignificantSearch::Solver> SignificantSearch::node_solver(Model& model, Patience& patience) {
  return std::make_unique<NodeSolver>(model, patience);
}

}  // namespace margay::partition
