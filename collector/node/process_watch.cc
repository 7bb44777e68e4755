#include "margay/node/process_watch.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace margay::node {

ProcessWatch::ProcessWatch(Options options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      look_pace_(options_.period, options_.cores),
      sample_pace_(options_.sample_period, options_.cores),
      scan_pace_(options_.scan_period, options_.cores) {}

void ProcessWatch::add(std::uint64_t source, std::int64_t pid, std::uint64_t start_time) {
  processes_.try_emplace(source, pid, start_time);
}

void ProcessWatch::introduce(std::uint64_t source) {
  if (const auto it = processes_.find(source); it != processes_.end()) it->second.introduced = true;
}

void ProcessWatch::look() {
  for (auto& [source, process] : processes_) {
    Seen& seen = process.seen;
    if (seen.gone) continue;
    seen.looked = clock_.monotonic();
    const auto now = process.probe.look();
    if (!now) {
      seen.gone = true;
      at_once_ = true;
      continue;
    }
    const bool was_stopped = seen.last && (seen.last->state == 'T' || seen.last->state == 't');
    const bool is_stopped = now->state == 'T' || now->state == 't';
    if (was_stopped != is_stopped) at_once_ = true;
    seen.last = now;
  }
}

void ProcessWatch::tell(wire::ProcessSample& sample, Process& process, TimeNs now) {
  if (process.seen.last) {
    const ProcStat& stat = *process.seen.last;
    sample.set_state(process.seen.gone ? 0 : static_cast<std::uint32_t>(stat.state));
    sample.set_cpu_ns(ticks_to_ns(stat.cpu_ticks));
    sample.set_major_faults(stat.major_faults);
    sample.set_minor_faults(stat.minor_faults);
    sample.set_core(stat.core);
  }
  if (process.seen.gone) return;
  const SchedStat scheduled = process.probe.scheduled();
  sample.set_run_delay_ns(scheduled.run_delay_ns);
  sample.set_main_cpu_ns(scheduled.cpu_ns);
  sample.set_storage_bytes(process.probe.storage_bytes());
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
    if (process.seen.gone) continue;
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
