// The last T slices as proportions, and their optimal partitions kept up to date. Pure.
//
// Tested states are those that occurred, but for Absent and Unknown, which weigh nothing: a cell's weight is
// the part of the slice in which the leaf existed and was observed. Tested states are numbered in order of
// occurrence
// (*columns*), so that rows only ever grow at the end.
//
// MEASURED. Instead of durations the window can hold what another operator measured (the slices' plane;
// margay/slicer/operator.h). A cell then weighs 1 where the leaf existed for any time, otherwise 0. The
// engines want rows of at most 1 in sum: they get them divided by a power of two, the *scale*, which every
// cell of the window shares. (The optimal partition at a p does not depend on a common factor; gains and
// losses are those of the divided values.) It grows when a row is greater than it, with room to spare, and
// shrinks when all rows have been a great deal smaller for a whole window; the engines are built anew then.
//
// TWO p. The picture (spatiotemporal) is the optimum at p(): the noise floor of the job, continuous and held
// (partition::HeldP), or as much less as it takes that areas set apart are parts of it
// (margay/partition/automatic_p.h). That is searched where a solution is cheap (partition::kCheapToSolve),
// the slice after areas came (no alert waits for it), when they go or are four times as long and not shown as
// it is, or when the floor has changed; solutions are rationed, and p stays as it is without one. The cuts in
// time, by which phases are found, have a floor of their own, on a grid (partition::PPolicy).
//
// Cost of push: that of the partition engines; when leaves join or states appear, the engines are built anew
// (T pushes). Thread safety: none.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "margay/detect/topology.h"
#include "margay/model/slice_column.h"
#include "margay/partition/automatic_p.h"
#include "margay/partition/noise.h"
#include "margay/partition/spatiotemporal.h"
#include "margay/partition/temporal.h"

namespace margay::detect {

struct WindowOptions {
  DurationNs lost_after = seconds(10);  // silence after which what was drawn out weighs nothing
  DurationNs slice = milliseconds(100);
  std::size_t slices = 256;  // T
  std::optional<double> p;   // fixed; otherwise from the noise floor
  std::uint64_t memory_budget_bytes = std::uint64_t{512} << 20;
  bool measured = false;       // of the slices' plane, not of durations
  bool spatiotemporal = true;  // false: the temporal partition alone
};

class Window {
 public:
  explicit Window(WindowOptions options);

  void set_topology(std::shared_ptr<const Topology> topology);
  // These states have the first columns, in this order. Before the first slice.
  void expect(std::span<const StateId> states);
  // Closed slices come in order, without holes (a hole is filled with slices in which nobody was).
  Status push(const model::SliceColumn& column);
  // A slice that is still in the window has changed.
  Status amend(const model::SliceColumn& column);

  std::size_t size() const { return slices_.size(); }
  SliceIndex first() const { return slices_.front().index; }
  SliceIndex last() const { return slices_.back().index; }
  bool holds(SliceIndex s) const { return !slices_.empty() && s >= first() && s <= last(); }
  std::size_t leaves() const { return leaf_count_; }
  std::size_t columns() const { return state_of_column_.size(); }
  // Of a mean, whose rows have one column: the variable, as kAbsent.
  StateId state_of(std::size_t column) const { return state_of_column_[column]; }
  // What measured values are divided by for the engines; 1 for durations, and before anything was measured.
  double scale() const { return scale_; }

  // Proportions of the tested states, or what was measured (may be shorter than columns(): the rest is 0),
  // and the weight of the cell.
  std::span<const double> row(SliceIndex s, LeafIndex leaf) const;
  double weight(SliceIndex s, LeafIndex leaf) const;
  // All of them at once: leaves x columns values, leaf by leaf, and a weight each. Leaves that joined later,
  // and columns that came up later, are left out.
  struct Rows {
    std::span<const double> values, weights;
    std::size_t columns = 0;
  };
  Rows rows(SliceIndex s) const;
  // Visits that ended in the slice, of all leaves together, by column (may be shorter). None of what is
  // measured.
  std::span<const double> visits(SliceIndex s) const;
  // The part of the slice in which what the leaf did is unknown.
  double unknown(SliceIndex s, LeafIndex leaf) const;

  // Areas that the spatiotemporal partition is to have as parts of their own (margay/partition/set_apart.h);
  // they replace those told before. May change p(). Without a fixed p it has kMostShown parts at most.
  struct Area {
    std::vector<LeafIndex> leaves;
    SliceIndex first, last;  // both inside
  };
  void set_apart(std::vector<Area> areas);
  const std::vector<Area>& apart() const { return areas_; }

  // The optimal partitions of the window, evaluated; nothing before the first leaf, or where it is not wanted
  // (WindowOptions::spatiotemporal). Parts name nodes of the
  // topology's hierarchy (temporal: partition::kAllLeaves) and absolute slices, both ends inside.
  std::optional<partition::Partition> spatiotemporal() const;
  std::optional<partition::Partition> temporal() const;

  // Effective samples per cell, from the rows of [from, to) that are believed to be homogeneous; steers p.
  void learn_noise(SliceIndex from, SliceIndex to);
  // Of the picture.
  double p() const { return p_; }

 private:
  struct Slice {
    SliceIndex index{};
    std::size_t columns = 0;      // known when it came
    std::vector<double> v;        // [leaf * columns + column]
    std::vector<double> w;        // [leaf]
    std::vector<double> unknown;  // [leaf]
    std::vector<double> visits;   // [column]
    double greatest = 0;          // sum of a row, of a measured one
    std::span<const double> row(std::size_t leaf) const {
      return leaf < w.size() ? std::span(v).subspan(leaf * columns, columns) : std::span<const double>();
    }
  };
  // Of a source that is lost nobody knows what it does.
  bool unheard(const model::SliceColumn& column, LeafIndex leaf) const;
  Slice convert(const model::SliceColumn& column);
  Slice convert_measured(const model::SliceColumn& column);
  void rescale();
  void appeared(std::size_t state);
  // Rows in the order of the tree's leaves, padded to the engines' states.
  void engine_column(const Slice& slice, std::vector<double>& v, std::vector<double>& w) const;
  bool follow(const Topology& before, const std::vector<std::uint32_t>& position_before);
  Status rebuild();
  void learn_p(const std::vector<partition::Noise>& noise);
  void learn_cuts_p(double n_eff, double mass);
  std::vector<partition::Area> areas_in_tree() const;
  double p_for_areas();
  bool searched() const;
  bool still_shows() const;
  void use(double p);
  void join_empty(std::vector<partition::Part>& parts) const;
  bool is_empty(const partition::Part& part) const;

  WindowOptions options_;
  std::shared_ptr<const Topology> topology_;
  std::deque<Slice> slices_;
  std::size_t leaf_count_ = 0;
  std::vector<int> column_of_state_;  // -1: has not occurred
  std::vector<StateId> state_of_column_;
  std::vector<LeafIndex> leaf_at_;          // position in the engines -> leaf
  std::vector<std::uint32_t> position_of_;  // and back
  std::size_t engine_states_ = 0;
  double scale_ = 1;
  bool stale_ = true;
  mutable std::optional<partition::Spatiotemporal> spatiotemporal_;  // a reading does what pushes put off
  mutable std::optional<partition::Temporal> temporal_;
  std::vector<Area> areas_, searched_;  // now, and when p was searched for them
  partition::HeldP floor_;
  double searched_floor_ = 0;  // 0: not searched
  double solves_ = partition::kSolvesAtOnce;
  SliceIndex credited_{};  // when solves were last added
  double p_ = 0.1;
  partition::PPolicy cuts_policy_;
  double cuts_p_ = p_;
};

}  // namespace margay::detect
