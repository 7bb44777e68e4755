// How long visits usually take: distributions of their logarithms, by leaf and kind of length. Pure.
//
// Usual is what visits below the leaf's node took, as far as it has had any, else those of its parent, and so
// on to all: a histogram, and beyond one in four of them a tail (Pickands, Statistical inference using
// extreme order statistics, 1975). How often a leaf's own visits exceed that and by how much in the mean are
// known from its earlier ones, shrunk towards those of its node: the excess is taken for exponential, so that
// lengths have a Pareto tail.
//
// A kind of length is one of `lengths` of a column (of the longest visit of a slice, of the others, ...):
// which * columns + column. All sums fade within 256 slices.
//
// Cost per slice: O(leaves * kinds), of each visit O(depth), and O(inner nodes * kinds * bins) now and then.
// Memory: 12 bytes a leaf and kind, 1 KiB an inner node and kind, 2 where the bulk is asked for. Thread
// safety: none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "margay/model/hierarchy.h"

namespace margay::detect {

class UsualLengths {
 public:
  // Visits, or pairs of them, of all leaves, and below the leaf's node, until anything is said.
  static constexpr float kFewest = 16;
  // Visits: a node's own are believed as much as its parent's after so many.
  static constexpr float kSiblings = 4;
  static constexpr float kTailPart = 0.25f;    // of visits, beyond the threshold
  static constexpr float kLeastExcess = 0.1f;  // of these; mean

  // Lengths fall into bins, by their natural logarithms of slices; what is shorter or longer than all into
  // the first or the last.
  static constexpr int kFrom = -14, kTo = 18, kPer = 8;
  static constexpr std::size_t kBins = (kTo - kFrom) * kPer;
  static std::uint16_t bin_of(float log) {
    return static_cast<std::uint16_t>(std::clamp((log - kFrom) * kPer, 0.0f, static_cast<float>(kBins) - 1));
  }

  // What is believed of visits below an inner node.
  struct Tail {
    float median = 0, threshold = 0;  // logarithms
    float excess = 0;                 // mean, of those beyond the threshold
    float usual{1};                   // the length of the median, in slices
  };
  // What is known of a leaf's own visits: sums that fade.
  struct Own {
    float visits = 0, beyond = 0, excess = 0;  // how many, of them beyond the threshold, and how far
  };
  struct Visit {
    std::uint32_t leaf, kind;
    float log;
  };
  enum class Of { kTail, kBulkToo };
  UsualLengths(std::size_t lengths, Of of) : lengths_of_column_(lengths), of_(of) {}

  // Leaves keep their numbers.
  void set_hierarchy(const model::Hierarchy& hierarchy);
  // There are so many columns; says whether they are more than before.
  bool reach(std::size_t columns);
  // A leaf's visits are of one kind, as its siblings' are: its node is then like its parent until more is
  // seen, and one visit of its own is enough. Not so from the first.
  void are_of_one_kind(bool they_are) { fewest_ = they_are ? 1 : kFewest; }
  void forget();
  // What this leaf's own visits took.
  void forget(std::uint32_t leaf);

  std::size_t leaves() const { return above_.size(); }
  std::size_t nodes() const { return parent_.size(); }
  std::size_t columns() const { return columns_; }
  std::size_t kinds() const { return kinds_; }
  std::size_t node(std::size_t leaf) const { return above_[leaf]; }
  // Anything is said of them.
  bool known(std::size_t leaf, std::size_t kind) const { return !counted_.empty() && row(leaf).known(kind); }
  // The same of all leaves together.
  bool known_of_all(std::size_t kind) const {
    return kind < kinds() && !counted_.empty() && counted_[kind] >= kFewest;
  }
  const Tail& tail(std::size_t leaf, std::size_t kind) const { return tails_[above_[leaf] * kinds() + kind]; }
  const Own& own(std::size_t leaf, std::size_t kind) const { return own_[leaf * kinds() + kind]; }
  // The part of a leaf's visits that exceed the threshold, below 1; and by how much in the mean, of which
  // `usual` is the node's.
  static float part(float visits, float beyond) {
    return std::min(0.99f, (beyond + kSiblings * kTailPart) / (visits + kSiblings));
  }
  static float mean_excess(float excess, float beyond, float usual) {
    return std::max(kLeastExcess, (excess + kSiblings * usual) / (beyond + kSiblings));
  }
  // The probability that one exceeds this; `log` is beyond the threshold.
  double in_tail(std::size_t leaf, std::size_t kind, float log) const;
  // The part of the visits of all leaves that took as long, or longer.
  double part_of_all(std::size_t kind, float log) const;
  // The same of any length, where the bulk is kept, too.
  double beyond(std::size_t leaf, std::size_t kind, float log) const;

  // All that is known of a leaf, by kind.
  struct Row {
    const Own* own;
    const Tail* tails;
    const float *counted, *of_all;  // visits below its node, and of all
    float fewest;
    bool known(std::size_t kind) const { return counted[kind] >= fewest && of_all[kind] >= kFewest; }
  };
  Row row(std::size_t leaf) const {
    const std::size_t above = above_[leaf] * kinds_;
    return {own_.data() + leaf * kinds_, tails_.data() + above, counted_.data() + above, counted_.data(),
            fewest_};
  }

  // A quiet slice is learned in three steps: sums fade (returned is what is kept of others like them, 1 if
  // they do not in this slice), visits are added, and what is believed follows now and then.
  float fade();
  // Visits of one leaf.
  void add(std::span<const Visit> of_leaf);
  void end_slice();

 private:
  // Below an inner node; sums that fade.
  struct Lengths {
    std::array<float, kBins> count{};
  };
  void believe();
  void find_path(std::size_t node);

  std::size_t lengths_of_column_;
  Of of_;
  std::vector<std::uint32_t> parent_, above_;  // inner nodes, parents first: by inner node, by leaf
  std::size_t columns_ = 0, kinds_ = 0;
  std::vector<Lengths> lengths_;  // by inner node * kinds + kind
  std::vector<float> counted_;    // the same: visits that these hold
  // By kind: lengths of all nodes fall into bins from the first to before the end.
  struct Bins {
    std::uint16_t first = kBins, end = 0;
  };
  std::vector<Bins> bins_;
  std::vector<Tail> tails_;                            // the same
  std::vector<std::array<float, kBins + 1>> shorter_;  // the same: parts, by the ends of bins
  std::vector<Own> own_;                               // by leaf * kinds + kind
  std::vector<std::size_t> path_;  // of the node that visits were added to last, up to the root; times kinds
  std::uint64_t learned_ = 0;
  float fewest_ = kFewest;  // visits below a leaf's node until anything is said
};

}  // namespace margay::detect
