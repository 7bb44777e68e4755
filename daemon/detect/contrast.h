// What each leaf does otherwise than usual, and otherwise than the others. Pure.
//
// Two measures of a cell, each in shares of the slice: *share*, the time in a state that is no work;
// *excess*, the time that visits took beyond what they usually do, as far as the slice tells it: what is
// beyond already of one that goes on, and what one that ends was longer or shorter by, less what was told of
// it. Shares tell a change of proportions; excess tells work that takes longer. How long single visits take
// is long_visits.h's. Usual is what the leaf did in this *mode* of the job. Of both the median over the
// leaves is taken off (the *common* part): what hits everyone alike is a change of phase, not a perturbation.
//
// A mode is what the leaves' usual shares and durations are while the job does one thing. The mode of a slice
// is the known one that most leaves fit (median total variation), found again in the slice in which it comes
// back; a new one is learned when slices have been apart from all known ones and alike for a while. So a
// phase change is followed before the phases are certain of it. Modes are no phases: they follow drift, and
// one may be learned for what turns out to be one phase.
//
// Cost per slice: O(leaves * columns), and known modes times that where the mode changes. Memory: modes *
// leaves * columns * 24 bytes (8 modes at most). Thread safety: none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cpu_supply.h"
#include "grid.h"
#include "margay/detect/window.h"
#include "state_kind.h"
#include "visits_seen.h"

namespace margay::detect {

class Contrast {
 public:
  // What most leaves are so near to fits, beyond what is usual: shares, and logarithms of how long work
  // takes.
  static constexpr double kNear = 0.06, kNearTimes = 2.5;
  enum Measure : std::size_t { kShare, kExcess, kMeasures };
  // Before the states come columns of what the machine does to a process: the time it is ready to run and
  // does not, the time it is stopped, and the time that storage keeps it waiting beyond what is usual for as
  // many bytes. They have shares only, and what is usual of them is so in all modes: the machine knows
  // nothing of modes.
  enum Machine : std::size_t { kDenied, kStopped, kBlocked, kMachine };
  explicit Contrast(DurationNs slice) : slice_(slice) {}

  // Which leaves share CPUs (cpu_supply.h).
  void share_cpus(std::vector<std::uint32_t> cpus_of) { cpus_.share(std::move(cpus_of)); }

  // The newest slice of the window. `idle` are states in which being is no work: they are left out.
  void measure(const Window& window, const model::SliceColumn& column, const std::set<std::uint16_t>& idle,
               const Columns& columns);
  // The slice that was measured is quiet: it belongs to its mode, or to one that begins.
  // True if a mode has been learned by it.
  bool learn();
  // It is not: what was being learned of a new mode is forgotten.
  void forget() { alike_ = {}, any_ = {}; }
  // What is usual has become another: it is learned as if nothing had been known.
  void begin_anew();

  std::size_t leaves() const { return known_.size(); }
  std::size_t columns() const { return columns_; }
  // Leaves x cells, common part taken off; cell measure * columns() + column, where the window's columns come
  // after the machine's. 0 of leaves that are not known
  // (absent, lost, not yet learned).
  std::size_t cells() const { return kMeasures * columns_; }
  const Grid& departure() const { return departure_; }
  const std::vector<float>& common() const { return common_; }
  // Leaves x columns: the time spent in the slice, as a share of it.
  const Grid& spent() const { return spent_; }
  // What the slice shows of visits; valid until the next one.
  VisitsSeen seen() const { return {spent_, visits_, age_, before_, after_, there_, counted_, state_of_}; }
  // Slices that what the machine usually does to a leaf rests on; and how much that varies from slice to
  // slice, whatever the job does: its columns.
  float machine_slices(std::size_t leaf) const {
    return leaf < process_.size() ? process_[leaf].slices : 0.0f;
  }
  const float* machine_variance(std::size_t leaf) const { return machine_variance_[leaf]; }
  const CpuSupply& cpus() const { return cpus_; }
  // The part of its time that a leaf is as a rule ready to run, and not let, whatever it does; 0 while that
  // is not known.
  float usually_denied(std::size_t leaf) const {
    return machine_slices(leaf) > 0 ? process_[leaf].usually_ready : 0.0f;
  }
  // Those not of the job were seen on the CPUs of all leaves (cpu_supply.h).
  bool all_taken_by_others() const {
    return !sample_.empty() && std::all_of(sample_.begin(), sample_.end(),
                                           [&](std::uint32_t l) { return cpus_.taken_by_others(l) > 0; });
  }
  // Somebody's process was looked at in the slice.
  bool sampled() const { return std::find(sampled_.begin(), sampled_.end(), 1) != sampled_.end(); }
  // The part of the slice in which a leaf was not idle.
  const std::vector<float>& busy() const { return busy_; }
  bool there(std::size_t leaf) const { return there_[leaf] != 0; }
  bool known(std::size_t leaf) const { return known_[leaf] != 0; }
  // No mode fits: the job has just changed, all together.
  bool unsettled() const { return unsettled_; }
  // Most leaves do work that they seldom do: a checkpoint.
  bool seldom() const { return seldom_; }
  // By column: work beside that which most of the time goes into, whatever the mode: files that are written,
  // and the like.
  std::vector<char> side_work() const;
  // Most leaves that there were are gone: the job ends, and those that are left say little of each other.
  bool few_left() const { return few_left_; }
  // Three leaves in four, or more, work otherwise than in the mode.
  bool all_move() const { return all_moved_ > 0; }
  // Slices that the present mode rests on; 0 before the first.
  double history() const { return mode_ ? modes_[*mode_].slices : 0; }
  // The present mode; none before the first. A place may be taken by another mode, of another number.
  struct ModeId {
    std::size_t place;
    std::uint64_t number;
  };
  std::optional<ModeId> mode() const {
    return mode_ ? std::optional(ModeId{*mode_, modes_[*mode_].number}) : std::nullopt;
  }
  // Leaves that the median is taken of.
  const std::vector<std::uint32_t>& sample() const { return sample_; }

 private:
  // How far the median leaf is from a mode: in shares (total variation), and in the time that visits of work
  // take. A perturbation makes most leaves wait longer, but does not change what their work takes.
  struct Fit {
    double share = 1, work = 1;
    double least_work = 1;  // of the leaf that three in four exceed
    bool told = false;      // most leaves ended visits of work
  };
  struct Mode {
    Grid share;          // mean
    Grid spent, visits;  // sums that forget: slices spent in a state, visits that ended
    // Logarithms of the durations of visits: how many, sum; they forget.
    Grid logs, log_sum;
    std::vector<float> n;  // slices learned, of each leaf
    double slices = 0;
    Fit fit{0.1, 0.1};  // usual
    std::uint64_t used = 0, number = 0;
  };
  // The steps of measure().
  void make_room(const Window& window, std::size_t leaves, const std::set<std::uint16_t>& idle,
                 const Columns& columns);
  void look_at_leaves(const Window::Rows& rows, const model::SliceColumn& column, std::size_t leaves);
  void find_mode();
  void depart_from(const Mode& mode);
  void find_common();
  void follow_work(bool never_idle);
  Fit fit(const Mode& mode) const;
  bool fits(const Mode& mode, const Fit& fit) const;
  void add(Mode& mode);
  void adopt(Mode&& mode);
  void reach(Mode& mode) const;

  DurationNs slice_;
  std::size_t columns_ = 0;
  std::vector<Mode> modes_;
  std::optional<std::size_t> mode_;
  Mode alike_, any_;  // being learned: of slices that are alike, and of all that fit no mode
  bool unsettled_ = true;
  std::uint32_t all_moved_ = 0;  // slices in which they were seen to
  bool seldom_ = false;          // most leaves do work that they seldom do
  bool few_left_ = false;
  float usually_ = 0;  // leaves that there are
  Fit fit_now_;
  // By column, of all leaves, in all modes: its share, and that of each of the last slices.
  std::vector<float> overall_;
  std::vector<std::vector<float>> recently_;
  Columns kinds_;
  std::vector<std::uint16_t> state_of_;  // by column
  std::uint64_t clock_ = 0, adopted_ = 0;
  // How a leaf uses storage: sums that forget. Bytes are those of a whole slice.
  struct Storage {
    float often = 0;                     // share of the slices that used it at all
    float slices = 0, bytes = 0;         // of those
    float usual_bytes = 0, blocked = 0;  // of those of them that had no more to do than usual
    struct Waits {
      float bytes = 0, blocked = 0;
    } now;  // of this slice
    bool more(float than) const { return slices >= kStorageSlices && than * slices > kMoreStorage * bytes; }
  };
  // What is usual rests on so many slices. Who has more bytes than so many times the mean has more to do.
  static constexpr float kStorageSlices = 10, kMoreStorage = 2;
  Grid row_, spent_, visits_;                  // of this slice
  std::vector<char> there_, known_, counted_;  // by leaf, by leaf, by column: not idle
  std::vector<char> sampled_;                  // by leaf: its process was looked at
  Grid machine_, machine_variance_;            // leaves x kMachine: usual shares
  // How a leaf's process gets on: the share in which it is ready, and is not let, whatever it does; and how
  // far that counts for what it does, as work does.
  struct Process {
    float slices = 0;  // that the usual rests on, of this and of machine_
    float ready = 0, usually_ready = 0, counts = 0, usually_counts = 0;
  };
  std::vector<Process> process_;  // by leaf
  CpuSupply cpus_;
  std::vector<Storage> storage_;  // by leaf
  std::vector<float> busy_;       // by leaf
  Grid age_, ended_;              // of this slice: of the longest visit; log of one that ended
  // What visits of a state usually take, in slices, less than 0 where it is not known; and of how many.
  struct Length {
    float mean;
    double visits;
  };
  float waits_more(const Mode& mode, float slices, std::size_t leaf, std::size_t x,
                   const Length& usual) const;
  float beyond(std::size_t leaf, std::size_t x, float usual) const;
  // Of a leaf, by column: shares now and usually; its measures.
  struct Waiting {
    const float *row, *usual;
    float busy;
    float *share, *excess;
  };
  void balance_waits(const std::vector<std::size_t>& waits, const Waiting& of) const;
  void look_at(const Window::Rows& rows, const model::SliceColumn& column, std::size_t leaf);
  void take_off_common();
  void take_sample(std::size_t leaf, const model::NodeEvidence& evidence);
  void machine_departures();
  float kept_by_others(std::size_t leaf) const;
  float blocked_longer(const Storage& usual) const;
  void learn_machine(std::size_t leaf);
  void learn_storage(std::size_t leaf);
  std::vector<OpenVisit> before_, after_;  // by leaf: the visit that is open where the slice begins, and ends
  SliceIndex last_{-2};
  Grid departure_;
  std::vector<float> common_;
  std::vector<std::uint32_t> sample_;
};

}  // namespace margay::detect
