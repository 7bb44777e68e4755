#include "margay/node/agent.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "margay/base/text.h"
#include "margay/probe/ring.h"
#include "margay/wire/columns.h"

namespace margay::node {
namespace {

constexpr DurationNs kRankPatience = seconds(10);       // for MPI_Init to tell the rank
constexpr DurationNs kEndPatience = milliseconds(500);  // for processes to end once the run is over
constexpr DurationNs kGoodbyePatience = seconds(5);     // without progress, for goodbyes to be acknowledged
constexpr DurationNs kLongestEnd = seconds(25);         // for all of that
constexpr DurationNs kScanAnyway = seconds(1);          // also where nothing seems to have changed
constexpr DurationNs kHalfMadePatience = seconds(10);   // for a process to come to an end with its segment

// "p<pid>-<start time>-<PID namespace>", of old "p<pid>-<start time>"; nothing if it is not such a name.
std::optional<ProcessName> name_of(std::string_view file) {
  if (file.empty() || file[0] != 'p') return std::nullopt;
  ProcessName name;
  const char *at = file.data() + 1, *const end = file.data() + file.size();
  const auto number = [&](auto& to) {
    const auto r = std::from_chars(at, end, to);
    at = r.ptr;
    return r.ec == std::errc();
  };
  const auto dash = [&] { return at != end && *at++ == '-'; };
  if (!number(name.pid) || name.pid <= 0 || name.pid > INT32_MAX || !dash() || !number(name.start_time))
    return std::nullopt;
  if (at != end && (!dash() || !number(name.pid_namespace) || at != end)) return std::nullopt;
  return name;
}

std::optional<ProcessProbe> probe_of(std::int64_t pid) {
  if (pid <= 0) return std::nullopt;
  // Started by it, we know that it is the one that has the pid now.
  ProcessProbe any(pid, 0);
  const Looked looked = any.look();
  return ProcessProbe(pid, looked.stat ? looked.stat->start_time : 0);
}

}  // namespace

struct Agent::Source {
  Source(SegmentReader opened, TimeNs now) : reader(std::move(opened)), id(reader.source_id()), found(now) {}
  SegmentReader reader;
  std::uint64_t id;
  std::uint32_t epoch = 0;
  TimeNs found;
  bool ready = false;
  bool introduced = false;  // its hello has been said
  bool goodbye = false;
  bool not_ours = false;  // said
  // What the last hello said.
  std::uint32_t names_told = 0;
  std::int32_t rank_told = -2;
  Budget::Process calls;
};

Agent::Agent(AgentOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      outbox_(options_.outbox),
      unwatched_(options_.unwatched),
      namespace_(own_pid_namespace(options_.proc)),
      processes_({options_.host, options_.period, options_.sample_period, options_.scan_period,
                  options_.owner_pid, options_.cores, options_.proc, options_.descriptors},
                 clock),
      budget_(options_.cores),
      owner_(probe_of(options_.owner_pid)) {}

Agent::~Agent() = default;

std::vector<std::string> Agent::take_messages() {
  return std::exchange(messages_, {});
}

// The directory is read only when something in it has changed. File systems tell the time of that in ticks:
// within some of them it tells nothing.
void Agent::scan() {
  constexpr DurationNs kTicks = milliseconds(20);
  struct stat st {};
  timespec now;
  if (stat(options_.rings.c_str(), &st) != 0 || clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0) return;
  const auto ns = [](const timespec& t) {
    return TimeNs(t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec);
  };
  const TimeNs changed = ns(st.st_mtim);
  if (finishing_) count_unwatched();  // what probes have counted last
  const bool try_again = finishing_ && !left_out_.empty();
  if (scanned_ == changed && clock_.monotonic() < next_scan_ && !try_again) return;
  if (directory_ == nullptr) directory_.reset(opendir(options_.rings.c_str()));
  if (directory_ == nullptr) return;
  rewinddir(directory_.get());
  bool half_made = false;
  short_of_ = false;
  unnamed_ = 0;
  while (const dirent* entry = readdir(directory_.get())) {
    const std::string name = entry->d_name;
    if (!name_of(name) || sources_.contains(name) || closed_.contains(name)) continue;
    const auto known = left_out_.find(name);
    if (known != left_out_.end() && known->second == wire::Unwatched::UNREADABLE) continue;
    half_made = !open(name) || half_made;
  }
  count_unwatched();
  scanned_.reset();
  if (!half_made && ns(now) - changed > kTicks) scanned_ = changed;
  next_scan_ = clock_.monotonic() + kScanAnyway;
}

// Counted, and tried again where that can change. The sentence is said once for each reason, or for each
// file.
void Agent::leave_out(const std::string& name, wire::Unwatched::Reason reason, const std::string& sentence) {
  const auto known = left_out_.find(name);
  if (known == left_out_.end() && left_out_.size() >= kMostNames) {
    ++unnamed_;
    return;
  }
  const bool news = known == left_out_.end() || known->second != reason;
  left_out_[name] = reason;
  if (news && (told_.insert(reason).second || reason == wire::Unwatched::UNREADABLE))
    messages_.push_back(sentence);
}

void Agent::count_unwatched() {
  std::array<std::uint64_t, wire::Unwatched::Reason_ARRAYSIZE> counts{};
  for (const auto& [name, reason] : left_out_) ++counts[reason];
  counts[wire::Unwatched::TOO_MANY] += unnamed_;
  for (std::size_t i = 0; i < counts.size(); ++i)
    unwatched_.now(static_cast<wire::Unwatched::Reason>(i), counts[i]);
  wire::NodeAccount account = unwatched_.account(options_.host + ":" + options_.rings);
  if (account.unwatched_size() == 0 && !accounted_) return;
  accounted_ = true;
  outbox_.put_node_account(std::move(account));
}

// False: it is half made, and to be tried again.
bool Agent::open(const std::string& name) {
  const std::string path = options_.rings + "/" + name;
  if (sources_.size() >= options_.most_sources) {
    leave_out(name, wire::Unwatched::TOO_MANY,
              "more than " + std::to_string(options_.most_sources) +
                  " processes: the others are not watched until some of these have ended");
    return true;
  }
  if (short_of_) {
    leave_out(name, wire::Unwatched::NO_DESCRIPTOR, "");
    return true;
  }
  auto reader = SegmentReader::open_untrusted(path);
  if (reader) {
    const std::uint64_t id = reader->source_id();
    if (processes_.knows(id) || let_go_.contains(id)) {
      // A process that has become another program, or a copy.
      leave_out(name, wire::Unwatched::UNREADABLE,
                path + ": is of a process whose events were taken from another file; it is not watched");
      return true;
    }
    auto source = std::make_unique<Source>(std::move(*reader), clock_.monotonic());
    source->epoch = source->reader.next_epoch();
    const SegmentIdentity& who = source->reader.identity();
    processes_.add(source->id, ProcessName{who.pid, who.start_time, who.pid_namespace},
                   {who.locked ? path : "", source->reader.file()});
    if (budget_.slice().value > 0) source->reader.tell_slices(budget_.slice(), budget_.origin());
    sources_.emplace(name, std::move(source));
    left_out_.erase(name);
    half_made_.erase(name);
  } else if (reader.error().code == ErrorCode::kUnavailable) {
    return half_made(name, path);
  } else if (reader.error().code == ErrorCode::kLimit) {
    short_of_ = true;
    leave_out(name, wire::Unwatched::NO_DESCRIPTOR,
              reader.error().message +
                  "; this process, and those that come, are not watched until there is " +
                  "room; raise the limits on open files and memory (ulimit -n, ulimit -v)");
  } else if (reader.error().code != ErrorCode::kNotFound) {
    leave_out(name, wire::Unwatched::UNREADABLE, reader.error().message + "; this process is not watched");
  }
  return true;
}

// Its process is at it, or died over it. False: it is to be tried again.
bool Agent::half_made(const std::string& name, const std::string& path) {
  const ProcessName who = *name_of(name);
  const bool ours = who.pid_namespace == 0 || who.pid_namespace == namespace_;
  if (ours && kill(static_cast<pid_t>(who.pid), 0) != 0 && errno == ESRCH) {
    unlink(path.c_str());
    half_made_.erase(name);
    left_out_.erase(name);
    return false;
  }
  if (half_made_.size() >= kMostNames) return true;
  const auto [since, fresh] = half_made_.try_emplace(name, clock_.monotonic());
  if (clock_.monotonic() - since->second < kHalfMadePatience) return false;
  leave_out(name, wire::Unwatched::OTHER,
            path + ": has been half made for " + std::to_string(kHalfMadePatience.value / 1'000'000'000) +
                " s; this process is not watched until it goes on");
  return true;
}

// Whether it is known which rank this is: the first hello should say so.
bool Agent::ready(Source& source) {
  if (source.ready) return true;
  const auto& environment = source.reader.identity().environment;
  source.ready = processes_.seen(source.id).gone || source.reader.rank() >= 0 ||
                 (source.reader.flags() & probe::kNamesStates) != 0 ||
                 environment.contains("OMPI_COMM_WORLD_RANK") || environment.contains("PMIX_RANK") ||
                 environment.contains("PMI_RANK") || clock_.monotonic() - source.found >= kRankPatience ||
                 finishing_;
  if (source.ready) processes_.introduce(source.id);
  return source.ready;
}

void Agent::say_hello(Source& source) {
  const SegmentIdentity& who = source.reader.identity();
  wire::Hello hello;
  hello.set_source(source.id);
  hello.set_epoch(source.epoch);
  auto& attributes = *hello.mutable_attributes();
  attributes["host"] = who.host;
  attributes["boot_id"] = who.boot_id;
  attributes["pid"] = std::to_string(who.pid);
  if (who.pid_namespace != 0 && who.pid_namespace != namespace_)
    attributes["pid_namespace"] = std::to_string(who.pid_namespace);
  attributes["start_time"] = std::to_string(who.start_time);
  attributes["command"] = who.command;
  if (!who.mpi.empty()) attributes["mpi"] = who.mpi;
  if (!who.clock.empty()) attributes["clock"] = who.clock;
  static constexpr std::pair<const char*, const char*> kNamed[] = {
      {"SLURM_JOB_ID", "slurm_job"},         {"SLURM_STEP_ID", "slurm_step"},
      {"SLURM_PROCID", "slurm_procid"},      {"SLURM_NODEID", "slurm_node"},
      {"PMIX_NAMESPACE", "pmix_namespace"},  {"PMIX_RANK", "pmix_rank"},
      {"OMPI_COMM_WORLD_RANK", "ompi_rank"}, {"PMI_RANK", "pmi_rank"}};
  for (const auto& [variable, attribute] : kNamed) {
    const auto it = who.environment.find(variable);
    if (it != who.environment.end()) attributes[attribute] = it->second;
  }
  // Before MPI_Init has returned the launcher's word is as good.
  const std::int32_t rank = source.reader.rank();
  if (rank >= 0) {
    attributes["rank"] = std::to_string(rank);
    attributes["world_size"] = std::to_string(source.reader.world_size());
  } else {
    for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
      const auto it = who.environment.find(variable);
      if (it == who.environment.end()) continue;
      attributes["rank"] = it->second;
      break;
    }
  }
  if (const auto& last = processes_.seen(source.id).last) attributes["core"] = std::to_string(last->core);
  for (const Told& told : {told_by_environment(who.environment), processes_.placement(source.id)})
    for (const auto& [name, value] : told) attributes.insert({name, clean_utf8(value)});

  const auto names = source.reader.names();
  if (!source.reader.intact()) return;  // it will be given up
  source.rank_told = rank;
  source.introduced = true;
  source.names_told = static_cast<std::uint32_t>(names.size());
  for (const SegmentName& n : names) {
    wire::Name* name = hello.add_names();
    name->set_name(n.name);
    name->set_family(n.family);
  }
  const TimeNs before = clock_.monotonic();
  const TimeNs real = clock_.realtime();
  const TimeNs after = clock_.monotonic();
  hello.mutable_clock()->set_monotonic_ns(before.value + (after - before).value / 2);
  hello.mutable_clock()->set_realtime_ns(real.value);
  outbox_.put_hello(hello);
}

bool Agent::drain_ring(Source& source, std::uint32_t index, bool last) {
  RingReader& ring = source.reader.ring(index);
  auto look = ring.look(clock_.monotonic());
  if (!look) {
    give_up(source, look.error().message);
    return true;
  }
  constexpr const char* kCutShort = "its shared memory was cut short, or written over";
  wire::EventBatch batch;
  const auto head = [&] {
    batch.Clear();
    batch.set_source(source.id);
    batch.set_epoch(source.epoch);
    batch.set_stream(index);
    batch.set_first(ring.tail());
    batch.set_produced(look->produced);
    batch.set_dropped(look->dropped);
    batch.set_recorded(look->head);
    batch.set_summed(look->summed);
    batch.set_summing(source.calls.summing);
    batch.set_clock_error_ns(static_cast<std::uint32_t>(source.reader.clock_error().value));
  };
  source.calls.events += look->produced + look->summed;
  if (look->head - ring.tail() > ring.capacity() / 4) source.calls.floods = true;
  bool any = false;
  while (outbox_.has_room()) {
    head();
    records_.clear();
    std::size_t n = ring.take(*look, kBatchRecords, records_);
    if (n == 0 && (n = ring.take_sums(*look, last, records_)) > 0) {
      look->head += n;
      look->produced += n;
      look->holds = false;
      head();
      batch.set_first(ring.tail() - n);
    }
    if (n == 0) break;
    any = true;
    if (!source.reader.intact()) {  // or what was read is zeros
      give_up(source, kCutShort);
      return true;
    }
    // Records may use names that the last hello did not have.
    if (source.reader.name_count() != source.names_told || source.reader.rank() != source.rank_told)
      say_hello(source);
    batch.set_count(static_cast<std::uint32_t>(n));
    batch.set_covered_until_ns(ring.covered_until(*look).value);
    batch.set_untold(ring.untold(*look));
    // Copied, for a string that has grown holds up to twice what is in it, and many batches may have to wait.
    columns_.clear();
    wire::encode_columns(records_, columns_);
    batch.set_columns(columns_);
    outbox_.put_batch(std::move(batch));
  }
  const bool empty = ring.tail() == look->head && !(last && look->holds);
  if (!source.reader.intact()) {
    give_up(source, kCutShort);
    return true;
  }
  if (!any) {
    head();
    // NOLINTNEXTLINE(bugprone-use-after-move): head() made it anew
    batch.set_covered_until_ns(ring.covered_until(*look).value);
    batch.set_untold(ring.untold(*look));
    // Another agent had the records before this: should they be lost with it, this is where the thread is.
    if (empty && !look->pending && source.epoch > 1 && ring.last_time() == TimeNs())
      if (const auto state = ring.open_state()) batch.set_open_state(*state + 1u);
    outbox_.put_heartbeat(batch);
  }
  return empty;
}

void Agent::drain(Source& source) {
  if (source.goodbye || !ready(source)) return;
  // Its records stay in its rings, where they are counted if they are too many: they must not fill the memory
  // that the others need.
  if (outbox_.not_ours(source.id) && !finishing_) {
    if (!std::exchange(source.not_ours, true))
      messages_.push_back(
          "process " + std::to_string(source.reader.identity().pid) +
          ": the daemon knows it by another key, and takes nothing of it from this one; use the "
          "key that was used first (the daemon's log names both)");
    return;
  }
  if (!source.reader.intact()) return give_up(source, "its shared memory was cut short, or written over");
  const bool gone =
      processes_.seen(source.id)
          .gone;  // known before the rings are read, so that what is read is all there ever will be
  if (source.rank_told != source.reader.rank() || source.names_told == 0) say_hello(source);
  const bool over = finishing_ && clock_.monotonic() - *finishing_ >= kEndPatience;
  bool empty = true;
  source.calls.events = 0;
  for (std::uint32_t i = 0; i < probe::kRings && !source.goodbye; ++i)
    if (source.reader.ring_used(i)) {
      empty = drain_ring(source, i, gone || over) && empty;
      source.reader.ring(i).sum(source.calls.summing);
    }
  if (source.goodbye) return;
  if (const std::uint64_t ringless = source.reader.ringless(); ringless > 0) {
    wire::EventBatch beat;
    beat.set_source(source.id);
    beat.set_epoch(source.epoch);
    beat.set_stream(kRinglessStream);
    beat.set_covered_until_ns(clock_.monotonic().value - probe::kGuardNs);
    beat.set_produced(ringless);
    beat.set_dropped(ringless);
    outbox_.put_heartbeat(beat);
  }
  if (!empty || (!gone && !over)) return;
  const std::uint32_t flags = source.reader.flags();
  say_goodbye(source, (flags & probe::kAborted) != 0     ? wire::Goodbye::ABORTED
                      : (flags & probe::kFinalized) != 0 ? wire::Goodbye::FINALIZED
                      : !gone                            ? wire::Goodbye::UNKNOWN
                      : (flags & probe::kExiting) != 0   ? wire::Goodbye::EXITED
                                                         : wire::Goodbye::KILLED);
}

void Agent::give_up(Source& source, const std::string& why) {
  if (source.goodbye) return;
  messages_.push_back("process " + std::to_string(source.reader.identity().pid) + ": " + why +
                      "; it is given up, and what it does from now on is not known");
  unwatched_.add(wire::Unwatched::GIVEN_UP);
  count_unwatched();
  say_goodbye(source, wire::Goodbye::INCOMPLETE);
}

void Agent::say_goodbye(Source& source, wire::Goodbye::Reason reason) {
  if (source.goodbye) return;
  if (!source.introduced) say_hello(source);
  source.goodbye = true;
  if (!source.introduced) return;  // it was cut short before anything was known of it
  wire::Goodbye goodbye;
  goodbye.set_source(source.id);
  goodbye.set_epoch(source.epoch);
  goodbye.set_reason(reason);
  TimeNs end{};
  const ProcessWatch::Seen& seen = processes_.seen(source.id);
  // A file cut short can no longer be asked.
  for (std::uint32_t i = 0; i < probe::kRings && reason != wire::Goodbye::INCOMPLETE; ++i) {
    if (!source.reader.ring_used(i)) continue;
    const auto look = source.reader.ring(i).look(clock_.monotonic());
    if (!look) continue;
    end = std::max(end, source.reader.ring(i).last_time());
    // The last calls were dropped: it went on, without a record of it; if it has not ended, until now.
    if (look->lost > 0) end = std::max(end, seen.gone ? seen.looked : look->asked);
    wire::StreamTotal* total = goodbye.add_streams();
    total->set_stream(i);
    total->set_dropped(look->dropped);
    total->set_recorded(look->head);
    total->set_untold(look->lost);
    // A process killed while it wrote a record leaves the counters between two steps; that record never came
    // to be.
    total->set_produced(look->pending ? look->dropped + look->head : look->produced);
  }
  if (const std::uint64_t ringless = reason == wire::Goodbye::INCOMPLETE ? 0 : source.reader.ringless();
      ringless > 0) {
    wire::StreamTotal* total = goodbye.add_streams();
    total->set_stream(kRinglessStream);
    total->set_produced(ringless);
    total->set_dropped(ringless);
    total->set_untold(ringless);
  }
  // Cut short just now: these totals are worth nothing.
  if (reason != wire::Goodbye::INCOMPLETE && !source.reader.intact()) {
    source.goodbye = false;
    return give_up(source, "its shared memory was cut short, or written over");
  }
  goodbye.set_end_ns(end.value);
  outbox_.put_goodbye(goodbye);
}

void Agent::let_go_of_acknowledged() {
  for (auto it = sources_.begin(); it != sources_.end();) {
    Source& source = *it->second;
    if (!source.goodbye || (source.introduced && !outbox_.goodbye_acked(source.id))) {
      ++it;
      continue;
    }
    // Of a process that may live the file stays: it may not be unlinked, and is not read again.
    if (processes_.seen(source.id).gone)
      unlink((options_.rings + "/" + it->first).c_str());
    else if (closed_.size() < kMostNames)
      closed_.insert(it->first);
    if (let_go_.size() < kMostNames) let_go_.insert(source.id);
    outbox_.forget(source.id);
    processes_.remove(source.id);
    it = sources_.erase(it);
  }
}

// Where the memory is full the rest wait for the next round, which begins with them. Else those in front
// would fill it again and again, and what the others recorded would come when its slices can no longer be
// amended.
void Agent::drain() {
  std::string waits;
  auto at = sources_.lower_bound(turn_);
  for (std::size_t i = 0; i < sources_.size(); ++i, ++at) {
    if (at == sources_.end()) at = sources_.begin();
    if (waits.empty() && !outbox_.has_room()) waits = at->first;
    drain(*at->second);
  }
  turn_ = std::move(waits);
  let_go_of_acknowledged();
  keep_budget();
}

// Who calls more often than the job may pay for is to sum, from its next event on.
void Agent::keep_budget() {
  if (const auto& told = outbox_.slices(); told && budget_.tell(*told))
    for (auto& [name, source] : sources_)
      if (!source->goodbye) source->reader.tell_slices(budget_.slice(), budget_.origin());
  std::vector<Budget::Process*> processes;
  for (auto& [name, source] : sources_)
    if (source->ready && !source->goodbye) processes.push_back(&source->calls);
  budget_.decide(clock_.monotonic(), processes);
}

void Agent::sample() {
  if (auto sample = processes_.sample()) outbox_.put_sample(std::move(*sample));
}

void Agent::finish() {
  if (!finishing_) finishing_ = clock_.monotonic();
}

bool Agent::done() {
  const TimeNs now = clock_.monotonic();
  if (outbox_.finish()) finish();
  if (finishing_) {
    // As long as what is left becomes less it is waited for: on a busy machine it may be much.
    const std::pair left(outbox_.bytes(), sources_.size());
    if (left != left_) {
      left_ = left;
      moved_ = now;
    }
    // Those for which there was no room may have it now.
    const bool all = sources_.empty() && !outbox_.node_account_waits() &&
                     std::none_of(left_out_.begin(), left_out_.end(),
                                  [](const auto& n) { return n.second == wire::Unwatched::TOO_MANY; });
    return all || now - moved_ >= kGoodbyePatience || now - *finishing_ >= kLongestEnd;
  }
  if (!owner_ || owner_->look().presence != Presence::kGone) return false;
  const bool all_ended =
      std::all_of(sources_.begin(), sources_.end(), [](const auto& s) { return s.second->goodbye; });
  if (!all_ended) {
    abandoned_.reset();
    return false;
  }
  if (!abandoned_) abandoned_ = now;
  return sources_.empty() || now - *abandoned_ >= kGoodbyePatience;
}

}  // namespace margay::node
