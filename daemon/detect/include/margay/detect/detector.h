// The detector: closed slices in, phases and alerts out. Pure: the same slices give the same alerts, live or
// replayed.
//
// Evidence, and when it speaks (DETECT.md has the reasons):
//  - *stopped*: the node sampler has seen the process stopped (T) for `stop_slices` whole slices. A fact, not
//    an inference; it needs no history.
//  - *stall*: the job makes no progress, for longer than it does now and then (standstill.h). The leaves that
//    do not wait, and use little CPU, are the cause.
//  - *source lost*: nothing has been heard of a source for `lost_after`. Its states are drawn out and weigh
//    nothing; evidence of other kinds is never made of such states, and stands as it is.
//  - *loss*: events were lost, also in slices that had closed: which resources, and how many.
//  - *phase duration*: a phase lasts unusually long, or ended early, and nothing of the above explains it
//    (phase_durations.h).
// One cause is one alert: evidence that begins together, or that another alert already explains, joins it.
//
// An alert carries what it rests on: score in bits (the loss that merging its cells into the phase would
// cost), how often chance brings as much evidence in a slice (its p-value) and in a day, its area in the
// partition, the seconds that the job has lost, who caused it and how probably, the states that rose and
// fell, and one sentence.
//
// Cost per slice: the partition update and O(leaves * columns). Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "margay/alert/alert.h"
#include "margay/detect/known_phase.h"
#include "margay/detect/lost_time.h"
#include "margay/detect/phase_durations.h"
#include "margay/detect/phases.h"
#include "margay/detect/standstill.h"
#include "margay/detect/stops.h"
#include "margay/detect/taker_log.h"
#include "margay/detect/topology.h"
#include "margay/detect/window.h"

namespace margay::detect {

struct DetectorOptions {
  std::string run;
  WindowOptions window;
  PhaseOptions phases;
  double min_effect = 0.1;            // total variation distance from the phase, of the leaves affected
  std::uint32_t stop_slices = 1;      // whole slices that a process is stopped
  std::set<std::string> idle_states;  // being in one of these is not waiting
  std::uint32_t stall_slices = 3;     // whole slices without progress; more where it is usual now and then
  std::uint32_t stall_least_visits = 10;
  double stall_idle_cpu = 0.7;          // a culprit that uses more CPU than this share is working, not stuck
  std::uint32_t resolve_slices = 2;     // slices back in order until an alert is resolved
  std::uint32_t usual_slices = 600;     // slices after which a departure is taken for usual
  std::uint32_t same_cause_slices = 2;  // stops that begin within so many slices have one cause
  std::size_t most_open = 64;           // alerts open at once
  DurationNs lost_after = seconds(10);  // silence after which a source is lost
  // Perturbations of resources that go on, and phases of unusual duration: false alarms expected a day, of
  // each. 0: not looked for.
  double false_alarms_per_day = 1;
  // Of these the part that this detector may make of departures; the other levels have the rest (levels.h).
  double share = 1;
  // A coarser level (levels.h): departures and phases alone, for facts and durations are told at the finest.
  bool coarser = false;
};

// An alert that is open: what it blames, and since when.
struct Incident {
  alert::Alert alert;
  std::set<std::uint32_t> culprits;  // leaves
  bool by_stop = false;
  bool by_departure = false;
  std::uint64_t episode = 0;  // of departures
  double excess = 0;          // of these: the share of the time that they miss
  std::uint16_t state = 0;    // of these: in which it goes (episode.h)
  bool works = false;         // of these: that state is work
  bool by_lengths = false;    // of these: told by how long visits take
  bool small = false;         // of these: it takes little of the time, and explains nothing else
  LostTime lost;
  bool lasts = false;                           // it has been taken for usual, and explains nothing more
  bool held = false;                            // it is over since `quiet_since`, but for another level
  std::int64_t stopped_ns = 0, sampled_ns = 0;  // of the culprits, since the slice of the onset
  std::string departs;                          // what the culprits do otherwise: "compute 4.0 times as long"
  std::string others_waited;                    // what was said last of others that wait
  bool over = false;                            // of departures: the end is known
  SliceIndex first{};                           // slice of the onset
  std::uint32_t quiet = 0;                      // slices in order since
  TimeNs quiet_since{};
  bool again = false;  // its culprits had been stopped just before: it is not over so soon
};

class Departures;
struct Episode;
class ToldAreas;

class Detector {
 public:
  explicit Detector(DetectorOptions options);
  ~Detector();
  Detector(Detector&&) noexcept;
  Detector& operator=(Detector&&) noexcept;

  void set_topology(std::shared_ptr<const Topology> topology);
  // Before the first slice: what was known of phases before it. What does not fit together is left out.
  void restore(const PhaseMemory& memory);
  // What is to be remembered of a phase, or nothing while it is not settled.
  std::optional<KnownPhase> known_phase(const std::string& name) const;
  // The next closed slice. Returns alerts that began or ended with it (detected = `watermark`). Slices that
  // are left out before it are not known: they are of no phase, and explain why one lasts. Cost: as of one
  // slice, and of the window where some are left out; none of how many.
  std::vector<alert::Alert> on_slice(const model::SliceColumn& column, TimeNs watermark);
  // The same of a coarser level. `disturbed`: an alert of a finer level touches the slice.
  std::vector<alert::Alert> on_coarser_slice(const model::SliceColumn& column, TimeNs watermark,
                                             bool disturbed);
  // A departure of these leaves is about to be told. True if another level has told its cause: then it is
  // not, while that is so. Not called with nothing blamed.
  using Told = std::function<bool(const std::set<std::uint32_t>& leaves, TimeNs onset, double excess)>;
  void ask_before_telling(Told told) { told_elsewhere_ = std::move(told); }
  // A departure that was taken for usual is over since `end`. True if another level sees its leaves go on:
  // then the alert fires on while that is so. May move `end` to when they ceased there.
  using GoesOn = std::function<bool(const std::set<std::uint32_t>& leaves, TimeNs& end)>;
  void ask_before_resolving(GoesOn goes_on) { goes_on_elsewhere_ = std::move(goes_on); }
  // Departures that go on and have not been told here, and those that have ended with the newest slice.
  struct Untold {
    std::set<std::uint32_t> leaves;
    bool over = false;
    TimeNs onset{}, end{};
    double excess = 0;  // share of the time
  };
  const std::vector<Untold>& untold() const { return untold_; }
  // It turns out that slice `s` was not in order: it describes no phase.
  void disturb(SliceIndex s) { phases_.disturb(s); }
  // An alert, a stop or a loss touches the slice that was taken last.
  bool disturbed() const { return disturbed_; }
  // A slice that had closed has changed. Returns an alert if events turn out to have been lost in it.
  std::vector<alert::Alert> on_amended(const model::SliceColumn& column, TimeNs watermark);
  // The run is over at `t`: open alerts are resolved, the current phase ends.
  std::vector<alert::Alert> finish(TimeNs t, TimeNs watermark);

  const PhaseTracker& phases() const { return phases_; }
  const PhaseDurations& durations() const { return durations_; }
  const Window& window() const { return window_; }
  // The slices [from, to) of the current phase, none of them disturbed, from which the last slice that was
  // taken had the noise estimated; nothing if it had not. For whoever keeps a window of other values.
  const std::optional<std::pair<SliceIndex, SliceIndex>>& steady() const { return steady_; }
  const std::vector<Incident>& open() const { return open_; }
  // All alerts that fire, of every kind, as they look now.
  std::vector<const alert::Alert*> firing() const;
  // Leaves that take turns on too few CPUs: several of them that become slower together raise no alert.
  std::size_t short_of_cpus() const;
  std::uint64_t suppressed() const { return suppressed_; }  // alerts beyond most_open
  const std::string& error() const { return error_; }       // of the partition engine; "" if well

 private:
  void pass_over_hole(SliceIndex next);
  // The steps of on_slice.
  void tell_stops(const model::SliceColumn& column, TimeNs watermark, std::vector<alert::Alert>& out);
  void tell_standstill(const model::SliceColumn& column, TimeNs watermark, std::vector<alert::Alert>& out);
  bool departures_are_mute(const model::SliceColumn& column);
  void departures(const model::SliceColumn& column, TimeNs watermark, bool mute,
                  std::vector<alert::Alert>& out);
  void resolve_facts(const model::SliceColumn& column, TimeNs watermark, std::vector<alert::Alert>& out);
  void follow_phases(const model::SliceColumn& column, TimeNs watermark, std::vector<alert::Alert>& out);
  // It has the CPU most of the time, as far as it is sampled.
  bool uses_cpu(std::uint32_t leaf) const;
  // Work comes in requests and tasks: some states are idle ones.
  bool by_request() const;
  void tell_episode(const Episode& episode, const model::SliceColumn& column, TimeNs watermark,
                    std::vector<alert::Alert>& out);
  void lasting_departures(const model::SliceColumn& column);
  std::set<std::uint32_t> resolve_held(const model::SliceColumn& column, TimeNs watermark,
                                       std::vector<alert::Alert>& out);
  bool goes_back(const Episode& episode, const std::set<std::uint32_t>& back);
  void learn_noise(SliceIndex now);
  void update_phases(const model::SliceColumn& column, bool touched);
  void set_areas_apart(SliceIndex now, std::vector<alert::Alert>& said);
  // Does an alert explain what happens now?
  bool explained() const;
  // `times`: its visits take so many times as long; 0 where that is not known.
  std::string departs(const Incident& incident, StateId state, double excess, double times) const;
  void take_takers(Incident& incident, StateId state) const;
  // An incident at the end of open_, that nothing is said of yet. False where there is no room.
  bool open(alert::Kind kind, TimeNs onset, const std::set<std::uint32_t>& culprits, TimeNs watermark);
  void raise(const model::SliceColumn& column, TimeNs watermark, alert::Kind kind, TimeNs onset,
             const std::set<std::uint32_t>& culprits, bool by_stop, std::vector<alert::Alert>& out);
  void describe(Incident& incident, const model::SliceColumn& column) const;
  std::vector<alert::StateChange> changed_states(const std::set<std::uint32_t>& affected,
                                                 const Distribution& now) const;
  // It is over at `end`.
  void resolve(Incident& incident, TimeNs end, TimeNs watermark) const;
  // The part of the partition that it is about, up to slice `last`.
  void set_area(Incident& incident, SliceIndex last) const;
  void extend_area(Incident& incident, SliceIndex last) const;
  LostTime::Kinds kinds(const Incident& incident) const;
  double cost_s(const Incident& incident, TimeNs until) const;
  // The fewest nodes that hold these leaves; `exactly`: and no others.
  std::vector<NodeIndex> cover(const std::set<std::uint32_t>& leaves, bool exactly) const;
  std::vector<std::string> paths(const std::vector<NodeIndex>& nodes) const;
  std::string common_node(const std::set<std::uint32_t>& leaves) const;
  std::string others_wait(const Incident& incident, const model::SliceColumn& column) const;
  std::string meanwhile(Incident& incident, const model::SliceColumn& column) const;
  std::string sentence(Incident& incident, const model::SliceColumn& column) const;
  void loss_alert(const model::SliceColumn& column, TimeNs watermark, std::vector<alert::Alert>& out);
  void end_of_loss(const model::SliceColumn& column, TimeNs watermark, std::vector<alert::Alert>& out);
  void source_alerts(const model::SliceColumn& column, TimeNs watermark, std::vector<alert::Alert>& out);
  std::string group_of(const std::set<std::uint32_t>& leaves) const;
  std::string names(const std::set<std::uint32_t>& leaves) const;
  std::uint64_t lost_since(SliceIndex first) const;

  DetectorOptions options_;
  std::shared_ptr<const Topology> topology_;
  Window window_;
  PhaseTracker phases_;
  PhaseDurations durations_;
  std::vector<Incident> open_;
  std::unique_ptr<Departures> departures_;  // nothing where it is not looked for
  Told told_elsewhere_;
  GoesOn goes_on_elsewhere_;
  std::vector<Untold> untold_;
  bool disturbed_ = false;
  Stops stops_;
  Standstill standstill_;
  bool held_ = false;             // there is no progress, and there was before
  std::set<std::uint16_t> idle_;  // state ids of options_.idle_states
  TakerLog takers_;
  std::unique_ptr<ToldAreas> told_areas_;
  SliceIndex last_touched_{-1};  // the newest slice that was not in order
  std::optional<std::pair<SliceIndex, SliceIndex>> steady_;
  std::optional<Incident> loss_;
  std::map<SliceIndex, std::uint64_t> lost_in_;  // events lost, by slice of the window
  std::vector<Incident> absent_;                 // sources that are lost, alerts open
  std::uint64_t suppressed_ = 0;
  std::string error_;
};

}  // namespace margay::detect
