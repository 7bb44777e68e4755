// Solutions at one p inside nested intervals: plain ones (temporal), and ones that leave out what is known to
// be linear (spatiotemporal).
//
// Each entry of each node's triangle is a maximum of lines in p, hence convex: if its value at one inner p of
// [p1,p2] is that of the chord between its values at p1 and p2, it is linear on all of [p1,p2]. A node all of
// whose entries are so is *frozen* as long as the search is inside [p1,p2]: its entries are interpolated.
// What is below a frozen node is not needed for values at all. For parts, blocks of a frozen node are decided
// at the p at which it was found linear, where all below it was solved or was frozen before: an optimum there
// that lies on the line is an optimum everywhere on it.
#include <algorithm>
#include <cmath>
#include <optional>

#include "significant_search.h"

namespace margay::partition {
namespace {

using Model = SignificantSearch::Model;
using internal::Line;
using internal::Patience;
using internal::Triangles;

// Triangles that are taken and given back, within a number of bytes.
class Pool {
 public:
  using Slot = std::uint32_t;

  Pool(std::size_t entries, std::uint64_t bytes)
      : entries_(entries),
        per_chunk_(std::max<std::size_t>(1, (std::size_t{4} << 20) / (entries * sizeof(double)))),
        chunks_left_(bytes / (per_chunk_ * entries * sizeof(double))) {}

  std::optional<Slot> take() {
    if (free_.empty()) {
      if (chunks_left_ == 0) return std::nullopt;
      --chunks_left_;
      chunks_.emplace_back(per_chunk_ * entries_);
      for (std::size_t i = per_chunk_; i-- > 0;) {
        free_.push_back(static_cast<Slot>((chunks_.size() - 1) * per_chunk_ + i));
      }
    }
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give(Slot slot) { free_.push_back(slot); }
  double* at(Slot slot) { return chunks_[slot / per_chunk_].data() + slot % per_chunk_ * entries_; }
  const double* at(Slot slot) const {
    return chunks_[slot / per_chunk_].data() + slot % per_chunk_ * entries_;
  }

 private:
  std::size_t entries_, per_chunk_;
  std::uint64_t chunks_left_;
  std::vector<Triangles> chunks_;
  std::vector<Slot> free_;
};

class NodeSolver final : public SignificantSearch::Solver {
 public:
  NodeSolver(Model& model, Patience& patience)
      : model_(model),
        patience_(patience),
        pool_(model.entries, spare_bytes(model)),
        nodes_(model.tree.size()),
        grain_(SignificantSearch::grain(model) / static_cast<double>(model.tree.leaf_count())) {
    all_.assign(model.tree.post_order().begin(), model.tree.post_order().end());
  }

  bool begin(double p) override {
    // At 1 every interval of every node is best whole (partition.h).
    for (const NodeIndex k : all_) {
      const auto slot = pool_.take();
      if (!slot) return false;
      internal::kernels().whole(model_.entries, model_.of(std::as_const(model_.a), k),
                                model_.of(std::as_const(model_.b), k), 0, model_.tie, true, pool_.at(*slot));
      nodes_[k.value].right = *slot;
    }
    p_ = p;
    for (const NodeIndex k : all_) {
      const auto slot = pool_.take();
      if (!slot) return false;
      solve_node(k, pool_.at(*slot));
      nodes_[k.value].left = nodes_[k.value].mid = *slot;
      nodes_[k.value].at = p;
      if (!patience_.after(model_.work_of_node())) return false;
    }
    return true;
  }

  bool solve(double p1, double p, double p2) override {
    levels_.emplace_back();
    Level& level = levels_.back();
    const auto& active = levels_.size() > 1 ? levels_[levels_.size() - 2].next : all_;
    level.solved.reserve(active.size());
    p_ = p;
    const double t = (p - p1) / (p2 - p1);
    for (const NodeIndex k : active) {
      const auto slot = patience_.after(0) ? pool_.take() : std::nullopt;
      if (!slot) {
        leave();
        return false;
      }
      solve_node(k, pool_.at(*slot));
      Node& node = nodes_[k.value];
      level.solved.push_back({k, node.mid, node.at});
      node.mid = *slot;
      node.at = p;
      // What is off the chord by d at t is off by at most d / min(t, 1-t) anywhere.
      const double bound =
          grain_ * static_cast<double>(model_.tree.leaves_under(k).size()) * std::min(t, 1 - t);
      if (internal::kernels().on_chord(model_.entries, pool_.at(node.left), pool_.at(node.right), t,
                                       pool_.at(node.mid), bound)) {
        node.frozen = true;
        node.frost = ++frosts_;
        node.p1 = p1;
        node.p2 = p2;
      }
      patience_.after(model_.work_of_node());
    }
    for (auto it = active.rbegin(); it != active.rend(); ++it) {
      Node& node = nodes_[it->value];
      const NodeIndex parent = model_.tree.parent(*it);
      node.needed = !node.frozen && (parent == kNoParent || nodes_[parent.value].needed);
      if (node.needed) level.next.push_back(*it);
    }
    std::reverse(level.next.begin(), level.next.end());
    return true;
  }

  void left() override {
    Level& level = levels_.back();
    level.half = Level::kLeft;
    for (const NodeIndex k : level.next) {
      Node& node = nodes_[k.value];
      level.replaced.push_back(node.right);
      node.right = node.mid;
    }
  }
  void right() override {
    restore();
    Level& level = levels_.back();
    level.half = Level::kRight;
    for (const NodeIndex k : level.next) {
      Node& node = nodes_[k.value];
      level.replaced.push_back(node.left);
      node.left = node.mid;
    }
  }
  void leave() override {
    restore();
    for (const Solved& solved : levels_.back().solved) {
      Node& node = nodes_[solved.node.value];
      pool_.give(node.mid);
      node.mid = solved.mid;
      node.at = solved.at;
      node.frozen = false;
    }
    levels_.pop_back();
  }

  double value() const override {
    return pool_.at(nodes_[model_.tree.root().value].mid)[internal::triangle_at(0, model_.slices - 1)];
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
  struct Node {
    Pool::Slot left = 0, right = 0;  // at the ends of the interval; of a frozen node: of [p1,p2]
    Pool::Slot mid = 0;              // at `at`, where it was solved last
    double at = -1;
    double p1 = 0, p2 = 1;
    bool frozen = false;
    bool needed = true;       // neither it nor a node above it is frozen
    std::uint32_t frost = 0;  // a number of its own for each time it was frozen
  };
  struct Solved {
    NodeIndex node;
    Pool::Slot mid;  // before
    double at;
  };
  // One solve() that was not left yet.
  struct Level {
    std::vector<Solved> solved;
    std::vector<NodeIndex> next;  // to be solved in the halves, children first
    std::vector<Pool::Slot> replaced;
    enum { kNone, kLeft, kRight } half = kNone;
  };

  static std::uint64_t spare_bytes(const Model& model) {
    const std::uint64_t held = sizeof(double) * (2 * model.tree.size() * model.entries + model.sums.size());
    return model.budget > held ? model.budget - held : 0;
  }

  // How walk() sees the nodes.
  struct Tables {
    const NodeSolver& solver;
    double p_of(NodeIndex k, double p) const {
      const Node& node = solver.nodes_[k.value];
      return node.at == p ? p : node.at;
    }
    Model::View view(NodeIndex k, double p) const { return solver.view(k, p); }
  };

  Model::View view(NodeIndex k, double p) const {
    const Node& node = nodes_[k.value];
    if (node.at == p) return {pool_.at(node.mid), pool_.at(node.mid), 0};
    return {pool_.at(node.left), pool_.at(node.right), (p - node.p1) / (node.p2 - node.p1)};
  }

  // The line of a block of a frozen node, which is the same until it thaws. A table that forgets: each place
  // holds what came last.
  struct Remembered {
    std::uint32_t frost = 0, first = 0, last = 0;
    Line line;
  };
  Remembered& place_of(const Model::Block& block) {
    std::uint64_t h = (std::uint64_t{nodes_[block.node.value].frost} << 32) ^
                      (std::uint64_t{block.first} << 16) ^ block.last;
    h *= 0x9e3779b97f4a7c15u;
    return memory_[h >> (64 - kMemoryBits)];
  }

  // Adds the lines of the parts of a block. `outer`: blocks of frozen nodes are remembered.
  void walk_lines(const Model::Block& start, Line& sum, bool outer) {
    struct Remembering : Tables {
      NodeSolver& self;
      Line& total;
      bool store;
      bool known(const Model::Block& block) const {
        const Node& node = self.nodes_[block.node.value];
        if (node.at == block.p) return false;
        Remembered& place = self.place_of(block);
        if (place.frost != node.frost || place.first != block.first || place.last != block.last) {
          if (!store) return false;
          Line line;
          self.walk_lines({block.node, block.first, block.last, node.at}, line, false);
          place = {node.frost, block.first, block.last, line};
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

  void solve_node(NodeIndex k, double* table) {
    bool first = true;
    for (const NodeIndex child : model_.tree.children(k)) {
      const Model::View v = view(child, p_);
      internal::kernels().add(model_.entries, v.left, v.right, v.t, first, table);
      first = false;
    }
    model_.solve_node(k, p_, table);
    ++solved_;
  }

  void restore() {
    Level& level = levels_.back();
    for (std::size_t i = 0; i < level.replaced.size(); ++i) {
      Node& node = nodes_[level.next[i].value];
      (level.half == Level::kLeft ? node.right : node.left) = level.replaced[i];
    }
    level.replaced.clear();
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
  static constexpr int kMemoryBits = 16;
  std::vector<Remembered> memory_{std::size_t{1} << kMemoryBits};
};

class RowSolver final : public SignificantSearch::Solver {
 public:
  explicit RowSolver(Model& model) : model_(model) {}
  bool begin(double p) override { return solve(0, p, 0); }
  bool solve(double, double p, double) override {
    row_ = model_.solve_row(p);
    p_ = p;
    ++solved_;
    return true;
  }
  void left() override {}
  void right() override {}
  void leave() override {}
  double value() const override { return row_.back(); }
  Line line() override { return model_.line_of(model_.parts_of_row(row_, p_)); }
  void parts(std::vector<Part>& out) const override { out = model_.parts_of_row(row_, p_); }
  double node_share() const override { return static_cast<double>(solved_); }

 private:
  Model& model_;
  std::vector<double> row_;
  double p_ = 0;
  std::uint64_t solved_ = 0;
};

}  // namespace

std::unique_ptr<SignificantSearch::Solver> SignificantSearch::solver_for(Model& model, Patience& patience) {
  if (model.temporal()) return std::make_unique<RowSolver>(model);
  return std::make_unique<NodeSolver>(model, patience);
}

}  // namespace margay::partition
