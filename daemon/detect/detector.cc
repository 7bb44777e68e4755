#include "margay/detect/detector.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "departures.h"
#include "margay/partition/set_apart.h"
#include "told_areas.h"

namespace margay::detect {
namespace {

// A coarser level looks for what is weak and lasts: effects that count are so many times smaller, for its
// slices vary less; what lasts is taken for usual after fewer of them, for they are long.
constexpr float kCoarserEffects = 4;
constexpr std::uint32_t kCoarserUsual = 120;

bool explains(const Incident& incident) {
  return !incident.lasts && !incident.small;
}

}  // namespace

Detector::Detector(DetectorOptions options)
    : options_(std::move(options)),
      topology_(std::make_shared<Topology>()),
      window_(options_.window),
      phases_(options_.phases, options_.window.slice),
      durations_({options_.run, options_.window.slice, options_.false_alarms_per_day}),
      stops_({options_.window.slice, options_.stop_slices, options_.same_cause_slices}),
      standstill_({options_.window.slice, options_.stall_slices, options_.stall_least_visits}),
      told_areas_(std::make_unique<ToldAreas>(partition::kMostTold, Stops::kAgainSlices)) {
  if (options_.coarser) {
    options_.min_effect /= kCoarserEffects;
    options_.usual_slices = std::min(options_.usual_slices, kCoarserUsual);
  }
  if (options_.false_alarms_per_day <= 0) return;
  Departures::Options d;
  d.slice = options_.window.slice;
  d.min_effect = options_.min_effect;
  d.false_alarms_per_day = options_.false_alarms_per_day * options_.share;
  d.back_slices = options_.resolve_slices;
  d.usual_slices = options_.usual_slices;
  d.stall_slices = options_.stall_slices;
  if (options_.coarser) {
    d.finer = kCoarserEffects;
    d.two_in_a_row = true;
  }
  departures_ = std::make_unique<Departures>(d);
}
Detector::~Detector() = default;
Detector::Detector(Detector&&) noexcept = default;
Detector& Detector::operator=(Detector&&) noexcept = default;

void Detector::set_topology(std::shared_ptr<const Topology> topology) {
  topology_ = std::move(topology);
  window_.set_topology(topology_);
  for (std::uint16_t s = 0; s < topology_->states.size(); ++s)
    if (topology_->states[s].family == model::StateFamily::kIdle ||
        options_.idle_states.contains(topology_->states[s].name))
      idle_.insert(s);
  if (departures_) departures_->set_topology(topology_);
}

void Detector::restore(const PhaseMemory& memory) {
  const KnownPhase* widest = nullptr;
  for (const KnownPhase& k : memory.phases)
    if (widest == nullptr || k.states.size() > widest->states.size()) widest = &k;
  std::map<std::string, PhaseTracker::Recognised> phases;
  for (const PhaseSpan& span : memory.before)
    if (span.name != phases_.init_name()) {
      auto& known = phases[span.name];
      known.occurrences = std::max(known.occurrences, span.occurrence);
    }
  if (widest != nullptr) window_.expect(widest->states);
  for (const KnownPhase& k : memory.phases) {
    if (window_.columns() != widest->states.size()) break;  // one of them twice
    const auto known = phases.find(k.name);
    if (known == phases.end() || k.signature.columns() > k.states.size() ||
        !std::equal(k.states.begin(), k.states.end(), widest->states.begin()))
      continue;
    known->second.signature = k.signature;
  }
  phases_.restore(phases);
  if (!options_.coarser) durations_.restore(memory.before);
}

std::optional<KnownPhase> Detector::known_phase(const std::string& name) const {
  const Distribution* const signature = phases_.signature(name);
  if (signature == nullptr || window_.size() == 0) return std::nullopt;
  KnownPhase k{name, window_.last(), {}, *signature};
  for (std::size_t x = 0; x < signature->columns(); ++x) k.states.push_back(window_.state_of(x));
  return k;
}

std::vector<alert::Alert> Detector::on_amended(const model::SliceColumn& column, TimeNs watermark) {
  std::vector<alert::Alert> out;
  if (auto ok = window_.amend(column); !ok) error_ = ok.error().message;
  loss_alert(column, watermark, out);
  return out;
}

// Nobody has watched, or looked at, the slices before `next`.
void Detector::pass_over_hole(SliceIndex next) {
  if (window_.size() == 0 || window_.last() + 1 >= next) return;
  const SliceIndex from = window_.last() + 1;
  durations_.disturb(from, next - 1);
  const auto kept = static_cast<std::int64_t>(options_.window.slices);
  for (SliceIndex s = std::max(from, next - kept); s < next; ++s) phases_.disturb(s);
}

std::vector<alert::Alert> Detector::on_slice(const model::SliceColumn& column, TimeNs watermark) {
  std::vector<alert::Alert> out;
  pass_over_hole(column.index);
  if (auto ok = window_.push(column); !ok) error_ = ok.error().message;
  takers_.on_slice(column);
  steady_.reset();
  stops_.on_slice(column);
  tell_stops(column, watermark, out);
  standstill_.on_slice(column, *topology_, idle_,
                       std::any_of(open_.begin(), open_.end(), [](const Incident& i) { return i.by_stop; }));
  tell_standstill(column, watermark, out);
  departures(column, watermark, departures_are_mute(column), out);
  resolve_facts(column, watermark, out);
  loss_alert(column, watermark, out);
  end_of_loss(column, watermark, out);
  source_alerts(column, watermark, out);
  follow_phases(column, watermark, out);
  set_areas_apart(column.index, out);
  return out;
}

// Facts: a stop that an open alert blames already is explained.
void Detector::tell_stops(const model::SliceColumn& column, TimeNs watermark,
                          std::vector<alert::Alert>& out) {
  const auto known = [&](std::uint32_t leaf) {
    return std::any_of(open_.begin(), open_.end(),
                       [&](const Incident& i) { return i.by_stop && i.culprits.contains(leaf); });
  };
  for (const Stops::News& news : stops_.news(column.index, known)) {
    const auto joined = std::find_if(open_.begin(), open_.end(), [&](const Incident& i) {
      return !i.small && i.quiet == 0 &&
             news.onset - i.alert.onset <= options_.window.slice * options_.same_cause_slices;
    });
    if (joined != open_.end()) {
      joined->culprits.insert(news.leaves.begin(), news.leaves.end());
      joined->by_stop = true;
      joined->alert.false_alarms_per_day.reset();
      if (std::exchange(joined->by_departure, false)) departures_->drop(joined->episode);
    } else {
      raise(column, watermark, alert::Kind::kPerturbation, news.onset, news.leaves, true, out);
    }
    // Who is stopped and let go again and again, as cpulimit does, is told once more, and not each time.
    for (Incident& i : open_)
      if (i.by_stop) i.again = i.again || stops_.again(i.culprits, column.index);
  }
}

bool Detector::uses_cpu(std::uint32_t leaf) const {
  const auto& e = stops_.sampled(leaf);
  return e.sampled_ns > 0 &&
         static_cast<double>(e.cpu_ns) > options_.stall_idle_cpu * static_cast<double>(e.sampled_ns);
}

bool Detector::by_request() const {
  return !idle_.empty();
}

// No progress, and no stop explains it. Where work comes in requests and tasks, that none ends is a matter of
// how long they take.
void Detector::tell_standstill(const model::SliceColumn& column, TimeNs watermark,
                               std::vector<alert::Alert>& out) {
  if (!standstill_.is_news() || by_request() || explained() || !stops_.whole().empty()) return;
  const DurationNs slice = options_.window.slice;
  std::set<std::uint32_t> waiting, idle, denied;
  TimeNs onset = slice_end(column.index, slice);
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const auto& open = column.open(LeafIndex(l));
    if (open.state == kAbsent || open.state == kUnknown) continue;
    onset =
        std::min(onset, std::max(open.since, slice_begin(column.index + 1 - standstill_.slices(), slice)));
    if (open.state.value >= topology_->states.size() || !is_work(topology_->states[open.state.value])) {
      waiting.insert(l);
      continue;
    }
    // Somebody computes while the others wait: a section of the program, not a disturbance.
    if (uses_cpu(l)) return;
    idle.insert(l);
    const auto& e = stops_.sampled(l);
    if (static_cast<double>(e.run_delay_ns) > options_.stall_idle_cpu * static_cast<double>(e.sampled_ns))
      denied.insert(l);
  }
  raise(column, watermark, alert::Kind::kStall, onset,
        !denied.empty() ? denied
        : !idle.empty() ? idle
                        : waiting,
        false, out);
}

// A stop, a standstill or a loss explains what it touches.
bool Detector::departures_are_mute(const model::SliceColumn& column) {
  held_ = !by_request() && standstill_.slices() > 0 && (held_ || standstill_.is_unusual());
  bool mute = column.lost_events > 0 || !stops_.whole().empty();
  for (const Incident& i : open_) mute = mute || !i.by_departure;
  // Somebody works while all others wait: a section of the program.
  for (std::uint32_t l = 0; l < column.leaves() && held_; ++l)
    mute = mute || (column.open(LeafIndex(l)).state == kCompute && uses_cpu(l));
  return mute;
}

// Those that rest on facts: stops and standstills.
void Detector::resolve_facts(const model::SliceColumn& column, TimeNs watermark,
                             std::vector<alert::Alert>& out) {
  for (auto it = open_.begin(); it != open_.end();) {
    if (it->by_departure) {
      ++it;
      continue;
    }
    for (const std::uint32_t l : it->culprits) {
      it->stopped_ns += column.evidence(LeafIndex(l)).stopped_ns;
      it->sampled_ns += column.evidence(LeafIndex(l)).sampled_ns;
    }
    if (it->by_stop ? stops_.goes_on(column, it->culprits, it->quiet > 0) : standstill_.slices() > 0) {
      it->quiet = 0;
      describe(*it, column);
      ++it;
      continue;
    }
    if (it->quiet++ == 0) it->quiet_since = slice_begin(column.index, options_.window.slice);
    if (it->quiet < (it->again ? Stops::kAgainSlices : options_.resolve_slices)) {
      ++it;
      continue;
    }
    if (it->by_stop) stops_.let_go(it->culprits, column.index);
    resolve(*it, it->quiet_since, watermark);
    out.push_back(it->alert);
    it = open_.erase(it);
  }
}

// Phases are of what is in order; a slice that touches a stop is not.
void Detector::follow_phases(const model::SliceColumn& column, TimeNs watermark,
                             std::vector<alert::Alert>& out) {
  const bool stopped = !stops_.whole().empty();
  // Without progress it may become a stall, unless such slices are usual here (steps longer than a slice).
  bool touched = explained() || column.lost_events > 0 ||
                 (standstill_.slices() > 0 && standstill_.is_unusual()) || stops_.some() ||
                 stops_.some_before();
  disturbed_ = explained() || column.lost_events > 0 || stopped || stops_.some() || loss_ || !absent_.empty();
  if (touched) last_touched_ = column.index;
  // The sampler saw a stop at its end only; the slice in which it began is not in order either.
  for (const Stops::Stopped& s : stops_.stopped()) phases_.disturb(slice_of(s.since, options_.window.slice));
  // A long stretch without progress is a phase of its own, unless an alert is open.
  if (!explained() && standstill_.too_long() && !stopped) touched = false;
  const std::size_t spans = phases_.spans().size();
  update_phases(column, touched);
  if (phases_.spans().size() != spans) standstill_.begin_phase();
  for (const Incident& i : open_)
    if (explains(i)) durations_.disturb(std::min(i.first, column.index), column.index);
  if (touched || loss_ || !absent_.empty()) durations_.disturb(column.index, column.index);
  durations_.on_slice(phases_, column.index, watermark, window_.p(), out);
  if (touched) return;
  standstill_.learn();
  learn_noise(column.index);
}

void Detector::update_phases(const model::SliceColumn& column, bool touched) {
  const bool perturbed = touched && explained() && column.lost_events == 0 && standstill_.slices() == 0 &&
                         !stops_.some() && stops_.whole().empty();
  bool lasts = perturbed;
  SliceIndex since = column.index;
  for (const Incident& i : open_)
    if (explains(i)) {
      since = std::min(since, i.first);
      lasts = lasts && column.index.value - i.first.value >= options_.phases.settle;
    }
  using Slice = PhaseTracker::Slice;
  const Slice kind = lasts       ? Slice::kOfLasting
                     : perturbed ? Slice::kOfPerturbation
                     : touched   ? Slice::kAbnormal
                                 : Slice::kInOrder;
  phases_.update(window_, kind, column.region, since);
}

// The picture shows what is told, at the p that alerts name.
void Detector::set_areas_apart(SliceIndex now, std::vector<alert::Alert>& said) {
  if (options_.window.p) return;  // somebody wants the optimum at that p
  const DurationNs slice = options_.window.slice;
  for (const Incident& i : open_)
    if (!i.lasts)
      told_areas_->tell(i.alert.id, i.culprits, i.first,
                        i.quiet > 0 ? slice_of(i.quiet_since, slice) - 1 : now);
  for (const alert::Alert& a : said)
    if (a.status == alert::Status::kResolved && a.end)
      told_areas_->end(a.id, slice_of(*a.end - DurationNs(1), slice));
  const double before = window_.p();
  window_.set_apart(told_areas_->in(window_));
  const auto follow = [&](alert::Alert& a) {
    if (a.p == before) a.p = window_.p();
  };
  for (alert::Alert& a : said) follow(a);
  for (Incident& i : open_) follow(i.alert);
}

std::vector<alert::Alert> Detector::on_coarser_slice(const model::SliceColumn& column, TimeNs watermark,
                                                     bool disturbed) {
  std::vector<alert::Alert> out;
  pass_over_hole(column.index);
  if (auto ok = window_.push(column); !ok) error_ = ok.error().message;
  takers_.on_slice(column);
  departures(column, watermark, disturbed, out);
  disturbed_ = disturbed || explained();
  phases_.update(window_, disturbed_ ? PhaseTracker::Slice::kAbnormal : PhaseTracker::Slice::kInOrder,
                 column.region);
  steady_.reset();
  if (disturbed_)
    last_touched_ = column.index;
  else
    learn_noise(column.index);
  return out;
}

// Of slices of the current phase that are in order, now and then.
void Detector::learn_noise(SliceIndex now) {
  if (now.value % 10 != 0) return;
  steady_.emplace(std::max({phases_.current_begin() + 1, window_.last() - 60, last_touched_ + 1}),
                  window_.last() + 1);
  window_.learn_noise(steady_->first, steady_->second);
}

// One episode is one alert: raised when it begins, told anew while it lasts, resolved when its leaves are
// back.
void Detector::departures(const model::SliceColumn& column, TimeNs watermark, bool mute,
                          std::vector<alert::Alert>& out) {
  if (!departures_) return;
  const auto look = mute    ? Departures::Look::kNothing
                    : held_ ? Departures::Look::kHeld
                            : Departures::Look::kNormal;
  std::set<std::uint32_t> lasting;
  for (const Incident& i : open_)
    if (i.lasts) lasting.insert(i.culprits.begin(), i.culprits.end());
  departures_->explained(std::move(lasting));
  const std::vector<Episode> episodes = departures_->on_slice(window_, column, idle_, look);
  lasting_departures(column);
  const std::set<std::uint32_t> back = resolve_held(column, watermark, out);
  for (const Episode& e : episodes)
    if (!goes_back(e, back)) tell_episode(e, column, watermark, out);
}

std::size_t Detector::short_of_cpus() const {
  return departures_ ? departures_->short_of_cpus() : 0;
}

void Detector::tell_episode(const Episode& episode, const model::SliceColumn& column, TimeNs watermark,
                            std::vector<alert::Alert>& out) {
  const DurationNs slice = options_.window.slice;
  auto mine = std::find_if(open_.begin(), open_.end(), [&](const Incident& i) {
    return i.by_departure && !i.lasts && i.episode == episode.number;
  });
  bool begins = false;
  if (mine == open_.end()) {
    const TimeNs onset = slice_begin(episode.onset, slice);
    // There was no room to say it, or another level has.
    if (episode.over || (told_elsewhere_ && told_elsewhere_(episode.leaves, onset, episode.excess))) {
      untold_.push_back(
          {episode.leaves, episode.over, onset, slice_begin(episode.end, slice), episode.excess});
      return;
    }
    if (!open(alert::Kind::kPerturbation, onset, episode.leaves, watermark)) return;
    mine = std::prev(open_.end());
    mine->by_departure = true;
    mine->episode = episode.number;
    begins = true;
  }
  mine->culprits = episode.leaves;
  mine->excess = episode.excess;
  mine->state = episode.state;
  mine->works = episode.works;
  mine->by_lengths = episode.by_lengths;
  mine->small = episode.small;
  // What the machine tells of a process is no matter of chance.
  if (episode.nats > 0 && episode.state < Episode::kBlocked)
    mine->alert.false_alarms_per_day =
        std::max(options_.false_alarms_per_day * options_.share * std::exp(-std::max(0.0, episode.rarer)),
                 alert::kLeastFalseAlarms);
  else
    mine->alert.false_alarms_per_day.reset();
  mine->departs = departs(*mine, StateId(episode.state), episode.excess,
                          episode.by_lengths ? std::exp(episode.log_ratio) : 0);
  take_takers(*mine, StateId(episode.state));
  if (episode.less_work > 0) {
    char text[64];
    std::snprintf(text, sizeof text, "; the whole job does %.0f %% less work", 100 * episode.less_work);
    mine->departs += text;
  }
  mine->over = episode.over;
  // A small shift goes on for long, and its newest slices tell no more than any others.
  if (begins || episode.over || !mine->small) {
    describe(*mine, column);
  } else {
    mine->alert.cost_s = cost_s(*mine, slice_end(column.index, slice));
    mine->alert.message = sentence(*mine, column);
    extend_area(*mine, column.index);
  }
  if (begins) out.push_back(mine->alert);
  if (!episode.over) return;
  resolve(*mine, std::max(mine->alert.onset, slice_begin(episode.end, slice)), watermark);
  out.push_back(mine->alert);
  open_.erase(mine);
}

// Those that have been taken for usual go on firing until their leaves do as they did before.
void Detector::lasting_departures(const model::SliceColumn& column) {
  untold_.clear();
  for (const Lasting& l : departures_->lasting()) {
    const TimeNs end = slice_begin(l.end, options_.window.slice);
    const auto mine = std::find_if(open_.begin(), open_.end(), [&](const Incident& i) {
      return i.by_departure && i.episode == l.number;
    });
    if (mine == open_.end()) {  // there was no room to say it, or another level has
      untold_.push_back({l.leaves, l.over, slice_begin(l.onset, options_.window.slice), end, l.excess});
      continue;
    }
    mine->lasts = true;
    mine->alert.message = sentence(*mine, column);
    extend_area(*mine, column.index);
    if (!l.over) continue;
    mine->held = true;
    mine->quiet_since = std::max(mine->alert.onset, end);
  }
}

// They are over as far as this level sees. Where another one sees that their leaves do not do as before, it
// is the same alert, for its cause is the same.
// Returns who has come back.
std::set<std::uint32_t> Detector::resolve_held(const model::SliceColumn& column, TimeNs watermark,
                                               std::vector<alert::Alert>& out) {
  std::set<std::uint32_t> back;
  std::erase_if(open_, [&](Incident& i) {
    if (!i.held) return false;
    i.alert.message = sentence(i, column);
    if (goes_on_elsewhere_ && goes_on_elsewhere_(i.culprits, i.quiet_since)) return false;
    resolve(i, i.quiet_since, watermark);
    departures_->returned(i.culprits);
    back.insert(i.culprits.begin(), i.culprits.end());
    out.push_back(i.alert);
    return true;
  });
  return back;
}

// Where a coarser level told what had become usual here, that its leaves go back looks like a departure: it
// is none, and was not told while that fired.
bool Detector::goes_back(const Episode& e, const std::set<std::uint32_t>& back) {
  if (e.small || back.empty()) return false;
  const auto same = [&](const Incident& i) { return i.by_departure && i.episode == e.number; };
  if (std::any_of(open_.begin(), open_.end(), same)) return false;
  if (std::none_of(e.leaves.begin(), e.leaves.end(), [&](std::uint32_t l) { return back.contains(l); }))
    return false;
  departures_->drop(e.number);
  departures_->learn_anew(e.leaves);
  return true;
}

bool Detector::explained() const {
  return std::any_of(open_.begin(), open_.end(), explains);
}

void Detector::raise(const model::SliceColumn& column, TimeNs watermark, alert::Kind kind, TimeNs onset,
                     const std::set<std::uint32_t>& culprits, bool by_stop, std::vector<alert::Alert>& out) {
  if (!open(kind, onset, culprits, watermark)) return;
  open_.back().by_stop = by_stop;
  describe(open_.back(), column);
  out.push_back(open_.back().alert);
}

bool Detector::open(alert::Kind kind, TimeNs onset, const std::set<std::uint32_t>& culprits,
                    TimeNs watermark) {
  if (open_.size() >= options_.most_open) {
    ++suppressed_;
    return false;
  }
  Incident& incident = open_.emplace_back();
  incident.culprits = culprits;
  incident.first = slice_of(onset, options_.window.slice);
  alert::Alert& a = incident.alert;
  a.run = options_.run;
  a.kind = kind;
  a.level = options_.window.slice;
  a.onset = onset;
  a.detected = watermark;
  a.id = options_.run + "-" + alert::to_string(kind) + "-" +
         (options_.coarser ? std::to_string(a.level.value / 1'000'000) + "ms-" : std::string()) +
         std::to_string(onset.value / 1'000'000) + "-" +
         std::to_string(culprits.empty() ? 0 : *culprits.begin());
  return true;
}

std::vector<alert::Alert> Detector::finish(TimeNs t, TimeNs watermark) {
  std::vector<alert::Alert> out;
  if (loss_) open_.push_back(*loss_);
  loss_.reset();
  std::move(absent_.begin(), absent_.end(), std::back_inserter(open_));
  absent_.clear();
  for (Incident& i : open_) {
    resolve(i, i.quiet > 0 ? i.quiet_since : t, watermark);
    out.push_back(i.alert);
  }
  open_.clear();
  phases_.finish(t);
  durations_.finish(t, watermark, out);
  return out;
}

}  // namespace margay::detect
