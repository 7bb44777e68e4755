// The slicer spreads state intervals over timeslices: events in, cells out. Pure.
//
// Promise to the next stage: a closed slice's rows each sum to the slice's duration; a state that is still
// open counts as far as its leaf is covered; the same events in any batching give the same cells.
//
// Per leaf it keeps a stack of open states and a *position*, the trace time up to which cells have been
// filled. What lies between the last event and the position was filled with the open state, by a promise
// (`cover`) or provisionally
// (`close_through` on a silent leaf). An event before the position therefore *amends*: exactly the stretch
// from the event to the position is taken back and filled anew. Only the innermost state counts, never two at
// once.
//
// With another operator than duration (Options::op) the slices carry a measured plane as well (measurer.h);
// durations are the same with any.
//
// Cost: O(1 + slices overlapped) per event. Memory: `retained` columns of leaves x states x 20 bytes (28 with
// a plane of counts). Thread safety: none; values are owned by the slicer.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/result.h"
#include "margay/model/slice_column.h"
#include "margay/slicer/measurer.h"

namespace margay::slicer {

struct Options {
  DurationNs slice = milliseconds(100);
  // Closed slices that stay amendable; older ones have left.
  std::uint32_t retained = 64;
  // Stack depth per leaf; deeper states count as the one at the limit.
  std::uint32_t deepest = 64;
  Operator op = {};
  // How far open slices reach beyond the oldest open one (limit()): as many as fit into so many bytes, and no
  // more than `most_ahead`. 0 bytes: no limit.
  std::uint64_t ahead_bytes = 0;
  std::int64_t most_ahead = 1536;
  static constexpr std::int64_t kLeastAhead = 16;
  // A promise that reaches farther than so many slices is kept, and filled in as slices close.
  static constexpr std::int64_t kFilledAhead = 256;
};

// Slices that nobody watched: not one of them is held, closed or kept, whatever their number. Of leaves that
// existed their time is Unknown, of the others Absent.
struct Gap {
  SliceIndex first{}, last{};  // both inside
  std::vector<bool> existed;   // by leaf
  bool operator==(const Gap&) const = default;
};

// What became of an event.
enum class Outcome {
  kModelled,     // counted in cells
  kAmended,      // the same, but a slice that was closed has changed
  kLateDropped,  // its time lies before everything that can be amended; its state change is kept, from there
                 // on
};

struct StackEntry {
  StateId state;
  TimeNs since;
  Carried carried = {};  // where the operator needs it
  bool operator==(const StackEntry&) const = default;
};

// Changes of one leaf, as columns: element i of each is change i's.
struct PlainChanges {
  std::span<const std::int64_t> time_ns;  // `offset` added: trace time
  std::span<const std::uint16_t> state;   // into `states`
  std::span<const std::uint8_t> kind;     // MARGAY_ENTER or MARGAY_LEAVE; others are not plain
  // The StateId's value of each name; with kEnds added to it, leaving it means more than that.
  std::span<const std::uint32_t> states;
  static constexpr std::uint32_t kEnds = 0x10000;
  DurationNs offset{};
  TimeNs until{};  // trace time; what is later is not plain
};

// Everything needed to go on with a leaf after a restart.
struct LeafState {
  std::vector<StackEntry> stack;  // innermost last; empty: `base`
  StateId base = kAbsent;         // what the leaf does when no state is open: Absent, Compute or Unknown
  TimeNs base_since{};
  TimeNs position{};
  TimeNs last_event{};
  std::int64_t longest_before_ns = 0;  // see slicer.cc
  // Drawn out beyond what was promised, from `promised` on: some slices say so.
  bool drawn_out = false;
  TimeNs promised{};      // meaningful while drawn_out
  TimeNs silent_since{};  // 0: its source is heard
  CurrentValue value;     // where the operator is a mean
  bool operator==(const LeafState&) const = default;
};

class Slicer {
 public:
  explicit Slicer(Options options);

  // Slices begin at `t` (the begin of the run). Without it they begin at the first event, and a leaf that
  // turns out to have begun earlier is late.
  void start(TimeNs t);
  // A leaf that is absent until its first event. Leaves are numbered in order of adding.
  LeafIndex add_leaf();
  std::uint32_t leaf_count() const { return static_cast<std::uint32_t>(leaves_.size()); }

  // Events of one leaf come in order; a time before the leaf's last event is taken as that event's time
  // (and counted in `backwards()`).
  // Consecutive changes of one leaf: takes as many from the front as are plain, and returns how many it took.
  // Cells, leaf and account are then as if each had been given to enter() or leave(), which the first that
  // was not taken has to be (that it is not taken may be for what the leaf is in, so that those behind it can
  // be plain again). Plain are a state that is entered where none is open, and the leaving of it, in order of
  // time, at or after all that was filled, in open slices, where nothing but durations is measured. All of
  // them are kModelled.
  // Cost: some 3 ns a change, and O(leaves x states) a new slice.
  std::size_t take_plain(LeafIndex leaf, const PlainChanges& changes);

  // Starts to exist: it is in `base` whenever no state is open. kAbsent: events only, and no time.
  Outcome begin(LeafIndex leaf, TimeNs t, StateId base = kCompute);
  // `carried` matters to operators that tell of communication, and to no other.
  Outcome enter(LeafIndex leaf, StateId state, TimeNs t, const Carried& carried = {});  // is innermost now
  Outcome leave(LeafIndex leaf, StateId state, TimeNs t, const Carried& carried = {});  // and no longer
  Outcome end(LeafIndex leaf, TimeNs t);  // ceases to exist: Absent
  // Something that changes no state: only for operators that measure it. Of a variable: the operator's.
  Outcome note(LeafIndex leaf, const Note& note, TimeNs t);
  // Records were lost between the leaf's last event and `t`: that stretch is Unknown, and what is open
  // afterwards is Unknown as well until `stack` or an event tells.
  Outcome gap(LeafIndex leaf, TimeNs t, std::uint64_t lost_events);
  // Records are being lost behind the leaf's last event, and the gap that tells of them is still to come:
  // Unknown from there on. Cells are the same after that gap as without this, unless it comes too late for
  // them: then they have said it all the same. Of a leaf that is Absent or Unknown: nothing.
  void lose(LeafIndex leaf);
  // After a gap: `state` is open now (kCompute: none).
  Outcome stack(LeafIndex leaf, StateId state, TimeNs t, const Carried& carried = {});

  // Since its last event, until `t`, the leaf was in `state` only, in visits of which `visits` ended, the
  // longest after `longest` (at most all of that time); or in several states, told of by several such sums,
  // of which nobody knows the order. What it is in from `t` on stack() and inside() are to tell.
  Outcome sum(LeafIndex leaf, StateId state, TimeNs t, std::uint32_t visits, DurationNs longest);
  // What moved in visits that were summed; for operators that measure it.
  Outcome moved(LeafIndex leaf, StateId state, TimeNs t, const Moved& moved);
  // After stack(): inside of that, `state` is open as well.
  Outcome inside(LeafIndex leaf, StateId state, TimeNs t, const Carried& carried = {});

  // No event of this leaf before `until` will come any more: its open state is drawn out to there.
  void cover(LeafIndex leaf, TimeNs until);

  // Nothing is heard of the leaf's source since `since` (0: it is heard again): the slices closed from now on
  // say so.
  void silence(LeafIndex leaf, TimeNs since) { leaves_[leaf.value].silent_since = since; }

  // What the node sampler saw of the leaf's process at `t`. It is put into the slice of `t`, or into the next
  // one that is still open: evidence speaks when it is known, and amends nothing.
  void observe(LeafIndex leaf, TimeNs t, const model::NodeEvidence& evidence);
  // The same of who had the CPU while a leaf was not let.
  void observe(TimeNs t, const model::Taker& taker);
  // The named region of the slices closed from now on.
  void set_region(std::string region) { region_ = std::move(region); }

  // What lies at or after this is not to be given to the slicer yet: it would have to hold too many open
  // slices (Options::ahead_bytes). It goes on as slices close. Promises may: what they say of later is left
  // out, so they are to be given again before these slices close. So are observations and ends of gaps, which
  // are taken at the limit. The largest time there is before the first slice, or without a bound.
  TimeNs limit() const;
  // A promise fills in slices that are held already up to here; what it says of later ones is for when they
  // close. The largest time there is without a bound.
  TimeNs filled_limit() const;
  // The oldest open slice is the newest one, and nothing has come of it so far.
  bool is_blank() const;
  // The newest slice that is held.
  SliceIndex newest() const { return columns_.back().index; }
  // Goes on at slice `next`: the open ones before it are a gap. Leaves for which `known` is true are still in
  // their states behind it, the others in Unknown until something is heard of them. What was held can be
  // amended no more; what of it has changed is in left(). REQUIRES: is_blank(), next > next_open(). Cost: one
  // slice, and the leaves; none of the length.
  Gap skip_to(SliceIndex next, const std::function<bool(LeafIndex)>& known);

  // Closes every slice that ends at or before `watermark`; leaves not covered to there are drawn out
  // provisionally, and the slice says so; so are closed slices that a late event has reopened. Returns the
  // newly closed slices, oldest first; valid until the next call.
  std::vector<const model::SliceColumn*> close_through(TimeNs watermark);

  // Slices that left with the last close_through() or skip_to() before take_changed() could tell of their
  // last change, ascending, as they stay. Valid until the next of these.
  std::span<const model::SliceColumn> left() const { return left_; }

  // Slices changed since the last call, ascending: open, closed or amended; without those that have left()
  // meanwhile. For commits. The rows of closed ones are whole.
  std::vector<SliceIndex> take_changed();
  // Closed slices that were amended since the last call, ascending; their rows are whole. Some may have left:
  // call it before close_through() where each counts.
  std::vector<SliceIndex> take_amended();

  // A column that is still held, or nullptr.
  const model::SliceColumn* column(SliceIndex slice) const;
  // Slices before this one are closed.
  SliceIndex next_open() const { return next_open_; }
  bool started() const { return started_; }
  // Columns held: closed ones that can be amended, and open ones.
  std::size_t held() const { return columns_.size(); }

  const LeafState& leaf_state(LeafIndex leaf) const { return leaves_[leaf.value]; }
  StateId current(LeafIndex leaf) const;
  std::uint64_t backwards() const { return backwards_; }    // events whose time ran backwards
  std::uint64_t unbalanced() const { return unbalanced_; }  // leaves of a state that was not open

  // Restores what an archive holds: the columns, ascending, and the leaves. Call on a fresh slicer. Before a
  // hole in the closed columns nothing can be amended any more: a gap, as a rule. Columns without the
  // operator's plane get an empty one. Errors: kCorrupt (not in order).
  Status restore(std::vector<model::SliceColumn> columns, SliceIndex next_open,
                 std::vector<LeafState> leaves);

 private:
  Outcome advance(LeafIndex leaf, TimeNs& t);
  Outcome forget_state(LeafIndex leaf, TimeNs& from);
  void fill(LeafIndex leaf, TimeNs from, TimeNs to);
  void take_back(LeafIndex leaf, TimeNs from);
  void draw_out(LeafIndex leaf, TimeNs until);
  void make_whole();
  void confirm(LeafIndex leaf, TimeNs until);
  void visit_ended(LeafIndex leaf, TimeNs t);
  void visit_begins(LeafIndex leaf, TimeNs t);
  model::SliceColumn& column_at(SliceIndex slice, StateId at_least);
  model::SliceColumn new_column(SliceIndex slice, std::uint32_t states);
  void settle(LeafIndex leaf, TimeNs t);
  void touch(SliceIndex slice);
  model::OpenState top(const LeafState& leaf) const;
  TimeNs horizon() const;
  SliceIndex last_observable() const;

  Options options_;
  Measurer measurer_;
  std::vector<LeafState> leaves_;
  std::deque<model::SliceColumn> columns_;  // consecutive slices, oldest first
  std::vector<model::SliceColumn> left_;
  std::vector<model::SliceColumn> spare_;  // have left and are wanted no more: room for new ones
  bool started_ = false;
  SliceIndex next_open_{};
  std::set<SliceIndex> changed_;
  std::set<SliceIndex> amended_;
  std::string region_;
  std::uint64_t backwards_ = 0;
  std::uint64_t unbalanced_ = 0;
};

}  // namespace margay::slicer
