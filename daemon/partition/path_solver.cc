// The optimum without tables of all nodes: each partition is made anew, with those of one way from the root
// down at a time.
//
// A node's table is made from the sum of its children's (spatiotemporal.h), one child after the other, so the
// nodes from the root to one leaf are all that is needed at once. Values are known then; how they come about
// is found from the root down. Where a block is cut in space, each child is solved again, within the block,
// and decided there. That is what the memory costs: of a hierarchy of D levels below the root a node is
// solved at most D + 1 times, and seldom more than once or twice, for most blocks are much shorter than the
// window.
#include <algorithm>
#include <cstddef>

#include "patience.h"
#include "table_solver.h"

namespace margay::partition::internal {
namespace {

// Levels of nodes are walked by recursion.
constexpr std::size_t kMostLevels = 256;
// A state of an interval takes as long to measure as some cuts of it.
constexpr double kCutsAMeasure = 8;

// The nodes from the root to the deepest leaf, both counted.
std::size_t levels_of(const TreeShape& tree) {
  std::vector<std::size_t> below(tree.size(), 1);
  for (const NodeIndex k : tree.post_order()) {
    if (k == tree.root()) break;
    std::size_t& parent = below[tree.parent(k).value];
    parent = std::max(parent, below[k.value] + 1);
  }
  return below[tree.root().value];
}

class PathSolver final : public Solver {
 public:
  explicit PathSolver(Ground& ground) : g_(ground), nodes_(ground, true) { make_levels(); }

  // Nothing is kept that could be wrong.
  void amended(NodeIndex, Count) override {}
  void unknown(NodeIndex) override {}
  void unknown_p(std::size_t) override {}
  void reshaped() override {
    nodes_.reshaped();
    make_levels();
  }
  void settle() override {
    for (const NodeIndex k : g_.tree.post_order()) g_.append_waiting(k);
    g_.waiting_slices = 0;
  }
  bool walk(std::size_t q, std::vector<Block>& parts, const GoOn& go_on) override {
    if (g_.begin == g_.end) return true;
    const KeptWindow window(g_);
    Patience patience(go_on);
    return walk_block({q, parts, patience}, 0, {g_.tree.root(), g_.begin, g_.end - 1});
  }
  std::uint64_t entries_written() const override { return nodes_.entries_written(); }

 private:
  using Nodes = TableSolver<std::int64_t>;
  // Of a node: its table, and the sum of its children's.
  struct Level {
    explicit Level(std::size_t window)
        : own(Nodes::table_entries(window)), split(Nodes::split_entries(window)) {}
    Slab<std::int64_t> own, split;
  };
  struct Walk {
    std::size_t q;
    std::vector<Block>& parts;
    Patience& patience;
  };
  // Blocks are windows meanwhile.
  struct KeptWindow {
    explicit KeptWindow(Ground& of) : ground(of), begin(of.begin), end(of.end) {}
    ~KeptWindow() { ground.begin = begin, ground.end = end; }
    KeptWindow(const KeptWindow&) = delete;
    KeptWindow& operator=(const KeptWindow&) = delete;
    Ground& ground;
    const Count begin, end;
  };

  void make_levels() {
    const std::size_t levels = levels_of(g_.tree);
    while (levels_.size() < levels) levels_.emplace_back(g_.window);
  }
  const std::int64_t* split_of(NodeIndex k, std::size_t level) const {
    return g_.tree.is_leaf(k) ? nullptr : levels_[level].split.entries.get();
  }

  // All of the window. False: ended.
  bool solve(const Walk& to, std::size_t level, NodeIndex k) {
    bool first = true;
    for (const NodeIndex child : g_.tree.children(k)) {
      if (!solve(to, level + 1, child)) return false;
      nodes_.add_lent(levels_[level + 1].own.entries.get(), first, levels_[level].split.entries.get());
      first = false;
    }
    nodes_.solve_lent(to.q, k, levels_[level].own.entries.get(), split_of(k, level));
    const double slices = static_cast<double>(g_.end - g_.begin);
    return to.patience.after(kCutsAMeasure * slices * slices * static_cast<double>(g_.states));
  }

  bool walk_block(const Walk& to, std::size_t level, const Block& whole) {
    if (whole.first == whole.last && g_.tree.is_leaf(whole.node)) {
      to.parts.push_back(whole);
      return true;
    }
    g_.begin = whole.first, g_.end = whole.last + 1;
    if (!solve(to, level, whole.node)) return false;
    std::vector<Block> stack{whole};
    while (!stack.empty()) {
      const Block block = stack.back();
      stack.pop_back();
      g_.begin = whole.first, g_.end = whole.last + 1;
      const Nodes::Choice choice =
          nodes_.choose_lent(to.q, block, levels_[level].own.entries.get(), split_of(block.node, level));
      if (choice.way == Nodes::Choice::Way::kWhole) {
        to.parts.push_back(block);
      } else if (choice.way == Nodes::Choice::Way::kInTime) {
        stack.push_back({block.node, choice.cut + 1, block.last});
        stack.push_back({block.node, block.first, choice.cut});
      } else {
        for (const NodeIndex child : g_.tree.children(block.node))
          if (!walk_block(to, level + 1, {child, block.first, block.last})) return false;
      }
    }
    return true;
  }

  Ground& g_;
  Nodes nodes_;
  std::vector<Level> levels_;
};

}  // namespace

std::unique_ptr<Solver> make_path_solver(Ground& ground) {
  return std::make_unique<PathSolver>(ground);
}

std::uint64_t path_memory(const TreeShape& tree, std::size_t window) {
  const std::size_t levels = levels_of(tree);
  if (levels > kMostLevels) return ~std::uint64_t{0};
  return sat_mul(
      levels, sizeof(std::int64_t) * (RingTriangle(window).size_with_bounds() + RingTriangle(window).size()));
}

}  // namespace margay::partition::internal
