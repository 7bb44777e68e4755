#include "margay/node/process_watch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>
#include <vector>

namespace margay::node {

namespace {

// For a pid of another namespace /proc is looked through; a process that has just begun may not be there yet.
constexpr int kSearches = 3;
constexpr DurationNs kBetweenSearches = seconds(1);

enum class Held : std::uint8_t { kYes, kNo, kUnknown };

Held is_held(const ProcessWatch::LifeLine& line) {
  if (line.path.empty()) return Held::kUnknown;
  const int fd = open(line.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return Held::kUnknown;
  struct stat st {};
  Held held = Held::kUnknown;
  // Not what somebody else has put in its place.
  if (fstat(fd, &st) == 0 && FileId{st.st_dev, st.st_ino} == line.file)
    held = flock(fd, LOCK_SH | LOCK_NB) == 0 ? Held::kNo : errno == EWOULDBLOCK ? Held::kYes : Held::kUnknown;
  close(fd);
  return held;
}

}  // namespace

ProcessWatch::ProcessWatch(Options options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      look_pace_(options_.period, options_.cores),
      sample_pace_(options_.sample_period, options_.cores),
      scan_pace_(options_.scan_period, options_.cores),
      namespace_(own_pid_namespace(options_.proc)),
      descriptors_(options_.descriptors ? Descriptors{*options_.descriptors} : spare_descriptors()),
      takers_(options_.proc) {}

Told ProcessWatch::placement(std::uint64_t source) const {
  const Process& p = processes_.at(source);
  if (p.pid == 0 || p.seen.gone) return {};
  return node::placement(p.pid, p.seen.last ? p.seen.last->core : -1, {options_.proc});
}

void ProcessWatch::add(std::uint64_t source, std::int64_t pid, std::uint64_t start_time) {
  add(source, ProcessName{pid, start_time, namespace_}, {});
}

void ProcessWatch::add(std::uint64_t source, const ProcessName& name, LifeLine line) {
  const auto [it, fresh] = processes_.try_emplace(source);
  if (!fresh) return;
  Process& process = it->second;
  process.name = name;
  process.line = std::move(line);
  // A process that sees no /proc knows neither its namespace nor when it began.
  const bool ours = name.pid_namespace == namespace_ || (name.pid_namespace == 0 && name.start_time != 0);
  if (!ours) {
    process.searches = kSearches;
    return;
  }
  process.pid = name.pid;
  process.probe.emplace(process.pid, name.start_time, &descriptors_, options_.proc);
}

void ProcessWatch::introduce(std::uint64_t source) {
  if (const auto it = processes_.find(source); it != processes_.end()) it->second.introduced = true;
}

// All that are wanted in one go.
void ProcessWatch::find_hidden(TimeNs now) {
  if (now < next_search_) return;
  std::set<ProcessName> wanted;
  for (auto& [source, process] : processes_)
    if (process.searches > 0 && !process.seen.gone && process.name.start_time != 0) {
      --process.searches;
      wanted.insert(process.name);
    }
  if (wanted.empty()) return;
  next_search_ = now + kBetweenSearches;
  const auto found = find_elsewhere(wanted, options_.proc);
  for (auto& [source, process] : processes_)
    if (const auto it = found.find(process.name); it != found.end() && !process.probe) {
      process.pid = it->second;
      process.searches = 0;
      process.probe.emplace(process.pid, process.name.start_time, &descriptors_, options_.proc);
    }
}

Presence ProcessWatch::presence(Process& process, Looked& looked) {
  if (process.probe) looked = process.probe->look();
  if (looked.presence != Presence::kHidden) return looked.presence;
  return is_held(process.line) == Held::kNo ? Presence::kGone : Presence::kHidden;
}

void ProcessWatch::look() {
  find_hidden(clock_.monotonic());
  for (auto& [source, process] : processes_) {
    Seen& seen = process.seen;
    if (seen.gone) continue;
    seen.looked = clock_.monotonic();
    Looked now;
    if (presence(process, now) == Presence::kGone) {
      seen.gone = true;
      at_once_ = true;
      continue;
    }
    const auto is_stopped = [](const std::optional<ProcStat>& s) {
      return s && (s->state == 'T' || s->state == 't');
    };
    if (is_stopped(seen.last) != is_stopped(now.stat)) at_once_ = true;
    seen.last = now.stat;
  }
}

void ProcessWatch::tell(wire::ProcessSample& sample, Process& process, TimeNs now) {
  if (process.seen.last) {
    const ProcStat& stat = *process.seen.last;
    sample.set_state(process.seen.gone ? 0 : static_cast<std::uint32_t>(stat.state));
    sample.set_cpu_ns(ticks_to_ns(stat.cpu_ticks));
  }
  if (process.seen.gone) return;
  const SchedStat scheduled = process.probe->scheduled();
  sample.set_run_delay_ns(scheduled.run_delay_ns);
  sample.set_main_cpu_ns(scheduled.cpu_ns);
  sample.set_storage_bytes(process.probe->storage_bytes());
  if (process.sampled != TimeNs() && scheduled.run_delay_ns >= process.run_delay_ns)
    process.starved = process.starvation.more_than_usual(
        DurationNs(static_cast<std::int64_t>(scheduled.run_delay_ns - process.run_delay_ns)),
        now - process.sampled);
  process.sampled = now;
  process.run_delay_ns = scheduled.run_delay_ns;
}

// Who runs where ours are not let. All processes of the machine are looked at, and so only while that is so,
// and for a part of the time only (SamplePace).
void ProcessWatch::tell_takers(wire::NodeSample& sample) {
  std::vector<std::int64_t> starved;
  TakerScan::Job job;
  for (const auto& [source, process] : processes_) {
    if (process.seen.gone || process.pid == 0) continue;
    job.ranks.emplace(process.pid, source);
    if (process.starved || process.thread_starves) starved.push_back(process.pid);
  }
  if (starved.empty()) return;
  job.margay = {getpid()};
  if (options_.owner_pid > 0) job.margay.insert(options_.owner_pid);
  const TimeNs begin = clock_.monotonic(), used = clock_.processor();
  // One may be missed.
  const DurationNs most_apart = std::max(scan_pace_.current(), sample_pace_.current()) * 3;
  const auto takers = takers_.scan(begin, starved, job, most_apart);
  for (wire::ProcessSample& p : *sample.mutable_processes())
    for (const auto& [pid, told] : takers) {
      const auto rank = job.ranks.find(pid);
      if (rank == job.ranks.end() || rank->second != p.source()) continue;
      for (const wire::Taker& t : told) *p.add_takers() = t;
    }
  scan_pace_.done(begin, clock_.processor() - used);
}

std::optional<wire::NodeSample> ProcessWatch::sample() {
  const TimeNs begin = clock_.monotonic();
  if (look_pace_.due(begin)) {
    const TimeNs used = clock_.processor();
    look();
    look_pace_.done(begin, clock_.processor() - used);
  }
  const TimeNs now = clock_.monotonic();
  if (processes_.empty() || !(at_once_ || sample_pace_.due(now))) return std::nullopt;
  at_once_ = false;
  const TimeNs used = clock_.processor();
  wire::NodeSample sample;
  sample.set_time_ns(now.value);
  sample.set_host(options_.host);
  sample.set_steal_ns(read_steal_ns());
  for (auto& [source, process] : processes_) {
    if (!process.introduced || (process.seen.gone && std::exchange(process.told_gone, true))) continue;
    if (!process.seen.gone && !process.seen.last) continue;  // it is hidden
    wire::ProcessSample* p = sample.add_processes();
    p->set_source(source);
    tell(*p, process, now);
  }
  // Neither the scan, which keeps to a pace of its own, nor the wait for a CPU makes samples seldom: where
  // there is reason to scan, and to wait, is where they are wanted.
  sample_pace_.done(now, clock_.processor() - used);
  if (scan_pace_.due(now)) tell_takers(sample);
  if (sample.processes_size() == 0) return std::nullopt;
  return sample;
}

}  // namespace margay::node
