#include "margay/query/message_blocks.h"

#include <algorithm>
#include <map>

#include "margay/base/text.h"
#include "margay/partition/blocks.h"

namespace margay::daemon {
namespace {

using partition::LeafPosition;
using partition::TreeShape;
using Alike = wire::EventsQuestion::Alike;

// "/a/b" of "/a/b/c", "/" of "/a".
std::string above(const std::string& path) {
  const std::size_t at = path.rfind('/');
  return at == std::string::npos || at == 0 ? "/" : path.substr(0, at);
}

std::size_t depth_of(const std::string& path) {
  return path == "/" ? 0 : static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
}

// The hierarchy of the names of those that sent or received.
class Talkers {
 public:
  explicit Talkers(std::span<const EventSummary> pairs) {
    std::map<std::string, std::size_t> nodes;  // and how many are at or below it
    for (const EventSummary& pair : pairs)
      for (const std::string* path : {&pair.name, &pair.resource})
        if (member_.try_emplace(*path).second)
          for (std::string at = *path;; at = above(at)) {
            ++nodes[at];
            if (at == "/") break;
          }
    depth_ = deepest(nodes);
    add("/", partition::kNoParent);
    std::map<std::string, NodeIndex> known{{"/", NodeIndex(0)}};
    std::map<std::string, NodeIndex> leaves;
    const auto node_of = [&](const std::string& path, const auto& self) -> NodeIndex {
      if (const auto at = known.find(path); at != known.end()) return at->second;
      const NodeIndex node = add(path, self(above(path), self));
      return known[path] = node;
    };
    for (auto& [path, leaf] : member_) {
      std::string shown = path;
      while (depth_of(shown) > depth_) shown = above(shown);
      if (shown != path) ++summed_up_;
      const auto at = leaves.find(shown);
      if (at != leaves.end()) {
        leaf = at->second;
        continue;
      }
      // One of which others are below is a leaf beside them.
      const bool is_above = shown == path && nodes[path] > 1;
      leaf = is_above ? add(path, node_of(path, node_of)) : node_of(shown, node_of);
      leaves[shown] = leaf;
    }
    tree_ = *TreeShape::from_parents(parents_);
    position_.assign(parents_.size(), 0);
    members_.assign(tree_.leaf_count(), 0);
    for (std::uint32_t i = 0; i < tree_.leaf_count(); ++i)
      position_[tree_.leaf_node(LeafPosition(i)).value] = i;
    for (const auto& [path, leaf] : member_) ++members_[position_[leaf.value]];
  }

  const TreeShape& tree() const { return tree_; }
  std::vector<std::string> take_paths() { return std::move(paths_); }
  std::size_t leaf_of(const std::string& path) const { return position_[member_.at(path).value]; }
  // So many of those that talk are one leaf.
  std::uint64_t members(std::size_t leaf) const { return members_[leaf]; }
  std::size_t summed_up() const { return summed_up_; }

 private:
  // The most that leaves few enough nodes.
  std::size_t deepest(const std::map<std::string, std::size_t>& nodes) const {
    std::map<std::size_t, std::size_t> at_depth;
    for (const auto& [path, members] : nodes)
      at_depth[depth_of(path)] += member_.contains(path) && members > 1 ? 2 : 1;
    std::size_t depth = 0, count = 0;
    for (const auto& [d, here] : at_depth) {
      count += here;
      if (count > partition::Blocks::kMostNodes) break;
      depth = d;
    }
    return depth;
  }
  NodeIndex add(const std::string& path, NodeIndex parent) {
    parents_.push_back(parent);
    paths_.push_back(path);
    return NodeIndex(static_cast<std::uint32_t>(paths_.size() - 1));
  }

  std::map<std::string, NodeIndex> member_;  // its leaf
  std::size_t depth_ = 0, summed_up_ = 0;
  std::vector<NodeIndex> parents_;
  std::vector<std::string> paths_;
  TreeShape tree_ = TreeShape::flat(0);
  std::vector<std::size_t> position_;
  std::vector<std::uint64_t> members_;  // by leaf
};

// The pairs as a matrix of leaves.
class Matrix {
 public:
  Matrix(const Talkers& talkers, std::span<const EventSummary> pairs)
      : talkers_(talkers), pairs_(pairs), leaves_(talkers.tree().leaf_count()) {
    for (const EventSummary& pair : pairs)
      at_.push_back(talkers.leaf_of(pair.name) * leaves_ + talkers.leaf_of(pair.resource));
  }

  // What a pair of leaves has, and counts for.
  void fill(Alike alike, std::vector<double>& v, std::vector<double>& w) const {
    v.assign(leaves_ * leaves_, 0.0), w = v;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const EventSummary& pair = pairs_[k];
      const auto timed = static_cast<double>(pair.lengths.count());
      if (alike == wire::EventsQuestion::MEAN_TIME)
        v[at_[k]] += static_cast<double>(pair.total.value), w[at_[k]] += timed;
      else
        v[at_[k]] += alike == wire::EventsQuestion::BYTES ? static_cast<double>(pair.bytes)
                                                          : timed + static_cast<double>(pair.untimed);
    }
    if (alike == wire::EventsQuestion::MEAN_TIME) return;
    for (std::size_t i = 0; i < leaves_; ++i)
      for (std::size_t j = 0; j < leaves_; ++j) w[i * leaves_ + j] = static_cast<double>(members_of(i, j));
    for (std::size_t k = 0; k < pairs_.size(); ++k)
      if (to_itself(k)) w[at_[k]] += 1;
  }

  // Of the pairs of each block.
  std::vector<MessageBlock> sums_of(const std::vector<partition::PairBlock>& blocks) const {
    std::vector<MessageBlock> out;
    std::vector<std::uint32_t> block_of(leaves_ * leaves_);
    for (const partition::PairBlock& block : blocks) {
      MessageBlock sum;
      sum.from = block.from.value, sum.to = block.to.value;
      for (const LeafPosition i : talkers_.tree().leaves_under(block.from))
        for (const LeafPosition j : talkers_.tree().leaves_under(block.to)) {
          block_of[i.value * leaves_ + j.value] = static_cast<std::uint32_t>(out.size());
          sum.pairs += members_of(i.value, j.value);
        }
      out.push_back(sum);
    }
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const EventSummary& pair = pairs_[k];
      MessageBlock& sum = out[block_of[at_[k]]];
      if (to_itself(k)) ++sum.pairs;
      sum.count += pair.lengths.count() + pair.untimed, sum.bytes += pair.bytes;
      sum.timed += pair.lengths.count(), sum.total_ns += static_cast<double>(pair.total.value);
    }
    return out;
  }

 private:
  // So many pairs, without those of one with itself.
  std::uint64_t members_of(std::size_t i, std::size_t j) const {
    return talkers_.members(i) * (i == j ? talkers_.members(j) - 1 : talkers_.members(j));
  }
  bool to_itself(std::size_t k) const { return pairs_[k].name == pairs_[k].resource; }

  const Talkers& talkers_;
  std::span<const EventSummary> pairs_;
  std::size_t leaves_;
  std::vector<std::size_t> at_;  // of each of pairs_
};

// Those that can be shown, evenly among all.
std::vector<const partition::BlockPartition*> shown_of(const std::vector<partition::BlockPartition>& found) {
  std::vector<const partition::BlockPartition*> small, out;
  for (const partition::BlockPartition& one : found)
    if (one.blocks.size() <= kMostBlocks) small.push_back(&one);
  const std::size_t wanted = std::min(small.size(), kMostPartitions);
  for (std::size_t k = 0; k < wanted; ++k)
    out.push_back(small[wanted > 1 ? k * (small.size() - 1) / (wanted - 1) : 0]);
  return out;
}

}  // namespace

Result<MessageBlocksFound> find_blocks(std::span<const EventSummary> pairs, Alike alike,
                                       const std::function<bool()>& go_on) {
  MessageBlocksFound out;
  if (pairs.empty()) return out;
  Talkers talkers(pairs);
  const Matrix matrix(talkers, pairs);
  std::vector<double> v, w;
  matrix.fill(alike, v, w);
  if (std::all_of(w.begin(), w.end(), [](double counts) { return counts <= 0; }))
    out.notes.push_back("of no message is it known how long it was on its way");
  auto blocks = partition::Blocks::create(talkers.tree(), v, w);
  if (!blocks) return tl::unexpected(blocks.error());
  partition::EnvelopeOptions options;
  options.most_solves = kMostSolves;
  options.go_on = go_on;
  const auto found = blocks->envelope(options);
  if (!found) return tl::unexpected(found.error());
  if (go_on && !go_on())
    return fail(ErrorCode::kTimeout, "who sends to whom was not summed up where it is alike in time");

  std::vector<partition::QualityPoint> points;
  for (const partition::BlockPartition& one : found->partitions)
    points.push_back({one.p, one.gain, one.loss, one.blocks.size()});
  const double chosen = partition::largest_jump(points);
  const std::size_t finest = found->partitions.front().blocks.size();
  std::vector<const partition::BlockPartition*> shown = shown_of(found->partitions);
  partition::BlockPartition fewer;
  if (finest > kMostBlocks) {
    auto coarsened = blocks->solve(0, kMostBlocks);
    if (!coarsened) return tl::unexpected(coarsened.error());
    fewer = std::move(*coarsened);
    shown.insert(shown.begin(), &fewer);
    out.notes.push_back("at p 0 there are " + grouped(finest) + " blocks: shown are " +
                        grouped(fewer.blocks.size()) + ", nodes above instead of the others");
  }
  // The last up to there: where it has too many blocks, the one that stands for it.
  std::size_t chosen_at = 0;
  for (std::size_t i = 0; i < shown.size(); ++i)
    if (shown[i]->p <= chosen) chosen_at = i;
  for (std::size_t i = 0; i < shown.size(); ++i)
    out.partitions.push_back(
        {shown[i]->p, shown[i]->gain, shown[i]->loss, i == chosen_at, matrix.sums_of(shown[i]->blocks)});
  if (talkers.summed_up() > 0)
    out.notes.push_back("there are too many resources for blocks of single ones: " +
                        std::to_string(talkers.summed_up()) + " are summed up by the nodes above");
  out.nodes = talkers.take_paths();
  return out;
}

}  // namespace margay::daemon
