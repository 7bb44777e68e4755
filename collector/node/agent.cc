#include "margay/node/agent.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "margay/probe/ring.h"
#include "margay/wire/columns.h"

namespace margay::node {
namespace {

constexpr DurationNs kRankPatience = seconds(10);       // for MPI_Init to tell the rank
constexpr DurationNs kEndPatience = milliseconds(500);  // for processes to end once the run is over
constexpr DurationNs kGoodbyePatience = seconds(5);     // without progress, for goodbyes to be acknowledged
constexpr DurationNs kLongestEnd = seconds(25);         // for all of that
constexpr DurationNs kScanAnyway = seconds(1);          // also where nothing seems to have changed

// "p<pid>-<start time>"; 0 if it is not such a name.
std::int64_t pid_of(std::string_view name) {
  std::int64_t pid = 0;
  std::uint64_t start = 0;
  const std::size_t dash = name.find('-');
  if (name.empty() || name[0] != 'p' || dash == std::string_view::npos) return 0;
  const char* end = name.data() + name.size();
  const auto a = std::from_chars(name.data() + 1, name.data() + dash, pid);
  const auto b = std::from_chars(name.data() + dash + 1, end, start);
  if (a.ec != std::errc() || a.ptr != name.data() + dash || b.ec != std::errc() || b.ptr != end) return 0;
  return pid;
}

std::optional<ProcessProbe> probe_of(std::int64_t pid) {
  if (pid <= 0) return std::nullopt;
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  char text[2048];
  std::FILE* f = std::fopen(path.c_str(), "re");
  if (f == nullptr) return ProcessProbe(pid, ~std::uint64_t{0});
  const std::size_t n = std::fread(text, 1, sizeof(text), f);
  std::fclose(f);
  const auto stat = parse_stat({text, n});
  return ProcessProbe(pid, stat ? stat->start_time : ~std::uint64_t{0});
}

}  // namespace

struct Agent::Source {
  Source(SegmentReader opened, TimeNs now) : reader(std::move(opened)), id(reader.source_id()), found(now) {}
  SegmentReader reader;
  std::uint64_t id;
  std::uint32_t epoch = 0;
  TimeNs found;
  bool ready = false;
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
      processes_({options_.host, options_.period, options_.sample_period, options_.scan_period,
                  options_.owner_pid, options_.cores},
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
  if (scanned_ == changed && clock_.monotonic() < next_scan_) return;
  DIR* dir = opendir(options_.rings.c_str());
  if (dir == nullptr) return;
  bool half_made = false;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (pid_of(name) > 0 && !sources_.contains(name) && !unreadable_.contains(name))
      half_made = !open(name) || half_made;
  }
  closedir(dir);
  scanned_.reset();
  if (!half_made && ns(now) - changed > kTicks) scanned_ = changed;
  next_scan_ = clock_.monotonic() + kScanAnyway;
}

// False: it is half made, and to be tried again.
bool Agent::open(const std::string& name) {
  const std::string path = options_.rings + "/" + name;
  if (sources_.size() >= kMostSources) {
    if (!std::exchange(full_, true))
      messages_.push_back("more than " + std::to_string(kMostSources) +
                          " processes: the rest are not watched");
    return true;
  }
  auto reader = SegmentReader::open_untrusted(path);
  if (reader) {
    auto source = std::make_unique<Source>(std::move(*reader), clock_.monotonic());
    source->epoch = source->reader.next_epoch();
    const SegmentIdentity& who = source->reader.identity();
    processes_.add(source->id, who.pid, who.start_time);
    if (budget_.slice().value > 0) source->reader.tell_slices(budget_.slice(), budget_.origin());
    sources_.emplace(name, std::move(source));
  } else if (reader.error().code == ErrorCode::kUnavailable) {
    // Its process is at it, or died over it.
    if (kill(static_cast<pid_t>(pid_of(name)), 0) != 0 && errno == ESRCH) unlink(path.c_str());
    return false;
  } else if (reader.error().code != ErrorCode::kNotFound) {
    messages_.push_back(reader.error().message + "; this process is not watched");
    unreadable_.insert(name);
  }
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
  source.rank_told = source.reader.rank();
  if (source.rank_told >= 0) {
    attributes["rank"] = std::to_string(source.rank_told);
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

  const auto names = source.reader.names();
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
  hello.mutable_clock()->set_error_ns(static_cast<std::uint64_t>((after - before).value / 2 + 1));
  outbox_.put_hello(hello);
}

bool Agent::drain_ring(Source& source, std::uint32_t index, bool last) {
  RingReader& ring = source.reader.ring(index);
  auto look = ring.look(clock_.monotonic());
  if (!look) {
    messages_.push_back("process " + std::to_string(source.reader.identity().pid) + ": " +
                        look.error().message + "; it is given up");
    say_goodbye(source, wire::Goodbye::INCOMPLETE);
    return true;
  }
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
  if (!source.reader.intact()) {
    messages_.push_back("process " + std::to_string(source.reader.identity().pid) +
                        ": its shared memory was cut short; it is given up");
    say_goodbye(source, wire::Goodbye::INCOMPLETE);
    return;
  }
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

void Agent::say_goodbye(Source& source, wire::Goodbye::Reason reason) {
  if (source.goodbye) return;
  if (source.names_told == 0) say_hello(source);
  source.goodbye = true;
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
  if (reason != wire::Goodbye::INCOMPLETE && source.reader.ringless() > 0) {
    wire::StreamTotal* total = goodbye.add_streams();
    total->set_stream(kRinglessStream);
    total->set_produced(source.reader.ringless());
    total->set_dropped(source.reader.ringless());
    total->set_untold(source.reader.ringless());
  }
  goodbye.set_end_ns(end.value);
  outbox_.put_goodbye(goodbye);
}

void Agent::let_go_of_acknowledged() {
  for (auto it = sources_.begin(); it != sources_.end();) {
    Source& source = *it->second;
    if (!source.goodbye || !outbox_.goodbye_acked(source.id)) {
      ++it;
      continue;
    }
    const std::string path = options_.rings + "/" + it->first;
    // A live process keeps its mapping and writes on into memory that nobody reads.
    unlink(path.c_str());
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
    return sources_.empty() || now - moved_ >= kGoodbyePatience || now - *finishing_ >= kLongestEnd;
  }
  if (!owner_ || owner_->look()) return false;
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
