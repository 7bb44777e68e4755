#include "margay/ingest/process_samples.h"

#include <algorithm>

#include "host_time.h"

namespace margay::ingest {
namespace {

// A turn on the CPU, or a wait for one, that is longer ends nowhere near the samples that it is counted with.
constexpr DurationNs kMostEarly = seconds(1);
constexpr int kMostTakers = 8;  // of a process, in a sample

// What a command may be called is anybody's choice: no more of it than a line can show.
std::string clean(std::string_view name) {
  std::string out(name.substr(0, model::Taker::kLongestName));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return out;
}

std::int64_t grown(std::uint64_t newer, std::uint64_t older) {
  return newer > older ? static_cast<std::int64_t>(std::min(newer - older, std::uint64_t{1} << 60)) : 0;
}

char letter(std::uint32_t state) {
  return state < 128 ? static_cast<char>(state) : '\0';
}

}  // namespace

void ProcessSamples::receive(const wire::NodeSample& sample, const Sender& from) {
  steal_ns_ = std::max(steal_ns_, sample.steal_ns());
  // A node samples each of its processes once: more than there can be leaves is nobody's node.
  std::size_t observed = 0;
  for (const wire::ProcessSample& p : sample.processes()) {
    Source* const source = sources_.find(SourceId(p.source()));
    if (source == nullptr || !authority_.may_speak_for(source->id, source->owner, from)) continue;
    observed += 1 + source->streams.size();
    if (observed > std::size_t{options_.limits.sources} + options_.limits.leaves) {
      ++counters_.refused_by_limit;
      return;
    }
    const TimeNs at = to_trace(sample.time_ns(), *source);
    if (at <= latest(options_, from.now)) take(p, *source, at);  // else nobody has seen that yet
  }
}

void ProcessSamples::take(const wire::ProcessSample& p, Source& source, TimeNs at) {
  Process& process = source.process;
  model::NodeEvidence evidence;
  if (process.state != 0 && at > process.at) {
    evidence.sampled_ns = (at - process.at).value;
    evidence.cpu_ns = grown(p.cpu_ns(), process.cpu_ns);
    evidence.run_delay_ns = grown(p.run_delay_ns(), process.run_delay_ns);
  }
  const char state = letter(p.state());
  const bool stopped = state == 'T' || state == 't';
  const bool was_stopped = process.state == 'T' || process.state == 't';
  if (stopped && process.stopped_since == TimeNs())
    process.stopped_since = process.at == TimeNs() ? at : process.at;
  if (!stopped) process.stopped_since = TimeNs();
  evidence.process_state = state;
  evidence.stopped_since = process.stopped_since;
  if (stopped) evidence.stopped_ns = evidence.sampled_ns;
  // What it neither had nor waited for the CPU, it slept: in the way in which it was last seen to.
  if (state == 'D' || state == 'S') process.slept = state;
  const bool told = evidence.sampled_ns > 0 && process.main_cpu_ns != 0 && p.main_cpu_ns() != 0;
  if (told) evidence.storage_bytes = grown(p.storage_bytes(), process.storage_bytes);
  if (stopped || was_stopped || !told) {  // a part of that it was stopped
    process.early_ns = 0;
  } else {
    const std::int64_t rest = evidence.sampled_ns - grown(p.main_cpu_ns(), process.main_cpu_ns) -
                              evidence.run_delay_ns - process.early_ns;
    evidence.blocked_ns = process.slept == 'D' ? std::max<std::int64_t>(0, rest) : 0;
    process.early_ns = std::clamp<std::int64_t>(-rest, 0, kMostEarly.value);
  }
  process.tells_threads = process.tells_threads || p.threads_size() > 0;
  if (process.tells_threads)
    observe_threads(p, source, at, evidence);
  else
    for (const auto& [index, stream] : source.streams) slicer_.observe(stream.leaf, at, evidence);
  observe_takers(p, source, at);
  process.state = state;
  process.at = at;
  process.cpu_ns = p.cpu_ns();
  process.run_delay_ns = p.run_delay_ns();
  process.main_cpu_ns = p.main_cpu_ns();
  process.storage_bytes = p.storage_bytes();
}

// Of a source whose streams are threads: what its process does says nothing of them, but that it is stopped.
void ProcessSamples::observe_threads(const wire::ProcessSample& p, Source& source, TimeNs at,
                                     const model::NodeEvidence& of_process) {
  for (const wire::ThreadSample& told : p.threads()) {
    const auto it = source.streams.find(told.stream());
    if (it == source.streams.end()) continue;
    Stream& stream = it->second;
    model::NodeEvidence evidence;
    evidence.process_state = letter(told.state());
    if (stream.sampled != TimeNs() && at > stream.sampled) {
      evidence.sampled_ns = (at - stream.sampled).value;
      evidence.cpu_ns = grown(told.cpu_ns(), stream.cpu_ns);
      evidence.run_delay_ns = std::min(grown(told.run_delay_ns(), stream.run_delay_ns), evidence.sampled_ns);
    }
    stream.sampled = at;
    stream.cpu_ns = told.cpu_ns();
    stream.run_delay_ns = told.run_delay_ns();
    if (of_process.stopped_since == TimeNs()) slicer_.observe(stream.leaf, at, evidence);
  }
  if (of_process.stopped_since == TimeNs()) return;
  for (const auto& [index, stream] : source.streams) slicer_.observe(stream.leaf, at, of_process);
}

// Who had the CPU instead, of each leaf of the process that was not let.
void ProcessSamples::observe_takers(const wire::ProcessSample& p, const Source& source, TimeNs at) {
  for (int i = 0; i < std::min(p.takers_size(), kMostTakers); ++i) {
    const wire::Taker& told = p.takers(i);
    constexpr std::uint64_t kMost = std::uint64_t{1} << 60;
    if (told.kind() < 0 || told.kind() >= model::Taker::kKinds || told.over_ns() == 0) continue;
    model::Taker taker;
    taker.kind = static_cast<model::Taker::Kind>(told.kind());
    taker.pid = std::max<std::int64_t>(0, told.pid());
    taker.cpu = std::max(-1, told.cpu());
    taker.cpu_ns = static_cast<std::int64_t>(std::min<std::uint64_t>(told.cpu_ns(), kMost));
    taker.over_ns = static_cast<std::int64_t>(std::min<std::uint64_t>(told.over_ns(), kMost));
    taker.name = clean(told.name());
    if (taker.kind == model::Taker::Kind::kRank) {
      const Source* const rank = sources_.find(SourceId(told.source()));
      if (rank == nullptr || rank->streams.empty() || rank->owner != source.owner)
        taker.kind = model::Taker::Kind::kJob;  // not named yet
      else
        taker.rank = rank->streams.begin()->second.leaf.value;
    }
    for (const auto& [index, stream] : source.streams) {
      taker.leaf = stream.leaf;
      slicer_.observe(at, taker);
    }
  }
}

}  // namespace margay::ingest
