// Detection at every level: closed slices of the finest in, phases and alerts of all levels out. Pure: the
// same slices give the same alerts, live or replayed.
//
// Each level has a Detector. Those of coarser levels get the slices of the finest, merged as they come: a
// slice of a level is looked at when its last part has closed, if it was seen from its first part on. A
// coarser level has phases of its own, long ones made of short ones, whose names begin with its slices
// (10s:A), and tells departures that are too weak for the finest and last (DETECT.md, "Levels"). Facts, and
// phases that last too long, are told at the finest alone. What late events change of a slice that was shown
// is seen at the finest alone, too.
//
// ONE CAUSE IS ONE ALERT, across levels:
//  - A slice that an alert of a finer level, a stop or a loss touches is not in order at the coarser ones: it
//    is neither looked at nor learned, and neither bounds nor describes a phase.
//  - A departure is not told while a finer level's alert explains it: one that blames one of its leaves, ends
//    no earlier than a slice before its onset, and is not over for as long as the longest test spans.
//  - An alert that lasts fires on while a coarser level sees its leaves go on, though its own does not.
//  - A finer level does not tell a departure of leaves most of which a coarser level's alert blames already,
//    unless it is a great deal stronger and begins later.
//  - The boundary of a coarser phase that a finer level has as well is told there (told()).
//
// Cost: a merge of each slice per level; of the coarser levels together that of the finest without its
// spatiotemporal partition, by the ratio of the slices (a tenth and less). Memory: of each coarser level the
// slices of its window, its temporal partition, and what Departures needs. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "margay/detect/detector.h"

namespace margay::detect {

class Levels {
 public:
  // `options` are those of the finest level, but for `share`: false_alarms_per_day is of all levels together.
  // `coarser`: slice durations, ascending. Left out are those that are no multiple, of at least two, of the
  // one before them that is not. All windows of coarser levels share one memory budget.
  Levels(DetectorOptions options, std::span<const DurationNs> coarser);
  Levels(const Levels&) = delete;
  Levels& operator=(const Levels&) = delete;

  // As those of Detector; slices are of the finest level.
  void set_topology(const std::shared_ptr<const Topology>& topology);
  // Of all levels: whose phases they are, their names tell.
  void restore(const PhaseMemory& memory);
  std::vector<alert::Alert> on_slice(const model::SliceColumn& column, TimeNs watermark);
  std::vector<alert::Alert> on_amended(const model::SliceColumn& column, TimeNs watermark) {
    return finest().on_amended(column, watermark);
  }
  std::vector<alert::Alert> finish(TimeNs t, TimeNs watermark);
  std::vector<const alert::Alert*> firing() const;
  std::uint64_t suppressed() const;
  // Why a window is not partitioned, or "".
  const std::string& error() const;

  std::size_t count() const { return levels_.size(); }
  DurationNs slice(std::size_t level) const { return levels_[level]->slice; }
  // 0: the finest.
  const Detector& detector(std::size_t level = 0) const { return levels_[level]->detector; }

  // What is to be remembered of a phase of the level, or nothing while it is not settled.
  std::optional<KnownPhase> known_phase(std::size_t level, const std::string& name) const;
  // Does the stretch of this level say nothing that a finer one does not? It begins the run, or where a finer
  // phase begins that is itself long enough for a phase of this level.
  bool told(std::size_t level, const PhaseSpan& span) const;
  // A phase of the finest level that a coarser one is made of, and its part of the stretch.
  struct Part {
    std::string name;
    double share = 0;
  };
  // The longest first, by the newest 256 stretches of the finest level in it; those that are hardly there are
  // left out. Empty where the finest level does not know them any more. Cost: a search, and these stretches.
  std::vector<Part> made_of(const PhaseSpan& span) const;
  // What names of phases of coarser slices begin with: "10s:", "1min:", "2h:", "500ms:".
  static std::string prefix(DurationNs slice);

  // Of the false alarms that are asked for, those of `level` of so many: each has a quarter of what the one
  // below it has.
  static double share(std::size_t level, std::size_t levels);

 private:
  struct Level {
    Level(DetectorOptions options, DurationNs duration) : slice(duration), detector(std::move(options)) {}
    DurationNs slice;
    Detector detector;
    // Of a coarser level: what is merged of the slice that comes.
    model::SliceColumn merged;
    bool open = false, whole = false, disturbed = false;
  };
  // What an alert of a level has told, by its id, until nothing can be explained by it any more.
  struct Told {
    std::size_t level = 0;
    std::set<std::uint32_t> leaves;
    TimeNs last{};  // end of the last slice in which it fired
  };
  Detector& finest() { return levels_[0]->detector; }
  void take(std::size_t level, const model::SliceColumn& column, TimeNs watermark,
            std::vector<alert::Alert>& out);
  void merge(std::size_t level, const model::SliceColumn& part, TimeNs watermark,
             std::vector<alert::Alert>& out);
  void note(std::size_t level, TimeNs now, const std::vector<alert::Alert>& said);
  bool told_finer(std::size_t level, const std::set<std::uint32_t>& leaves, TimeNs onset) const;
  bool told_coarser(std::size_t level, const std::set<std::uint32_t>& leaves, TimeNs onset,
                    double excess) const;

  bool goes_on_coarser(std::size_t level, const std::set<std::uint32_t>& leaves, TimeNs& end) const;

  std::vector<std::unique_ptr<Level>> levels_;
  TimeNs now_{};  // end of the newest slice of the finest level
  std::map<std::string, Told> told_;
};

}  // namespace margay::detect
