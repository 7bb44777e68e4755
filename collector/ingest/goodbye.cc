// The end of a source: what its streams have counted last.
#include <algorithm>

#include "claims.h"
#include "host_time.h"
#include "margay/ingest/ingest.h"

namespace margay::ingest {

void Ingest::on_goodbye(const wire::Goodbye& goodbye, const std::string& agent, TimeNs now) {
  const auto it = sources_.find(SourceId(goodbye.source()));
  if (it == sources_.end()) {
    if (answer_for_forgotten(SourceId(goodbye.source()), goodbye.epoch(), 0, 0, agent)) return;
    ++counters_.unknown_source;
    wants_hello(agent, SourceId(goodbye.source()));
    return;
  }
  Source& source = it->second;
  if (!may_speak_for(it->first, source.owner, agent) || !is_speaker(source, agent)) return;
  if (!can_be(goodbye)) {
    ++counters_.claims_refused;
    return;
  }
  source.heard = now;
  source.agent = agent;
  source.told_epoch = goodbye.epoch();
  source.dirty = true;
  source.goodbye_acked = false;  // it has not heard, or would not say it again
  if (source.ended) {
    goodbyes_came_ = true;
    return;
  }
  TimeNs end = std::min(to_trace(goodbye.end_ns(), source), latest(now));
  bool missing = false;
  for (const wire::StreamTotal& total : goodbye.streams()) {
    Stream* stream = stream_of(source, total.stream(), "");
    if (stream == nullptr) continue;
    Account& account = stream->account;
    account.produced = std::max(account.produced, total.produced());
    account.probe_dropped = std::max(account.probe_dropped, total.dropped());
    account.recorded = std::max(account.recorded, total.recorded());
    if (account.recorded > account.next) {
      if (stream->waits) {  // its records are not missing, they wait for room
        missing = true;
        continue;
      }
      if (!stream->gap_since) stream->gap_since = now;
      if (now - *stream->gap_since < options_.give_up_gap) {
        missing = true;
      } else {
        give_up(source, *stream, account.recorded, end);
      }
    }
  }
  if (missing) {
    ++counters_.gaps_pending;
    wants_hello(agent, source.id);
    return;
  }
  // Nothing happens before its end any more; that is told again when there is room for it.
  TimeNs latest_end = end;
  for (const auto& [index, stream] : source.streams) latest_end = std::max(latest_end, stream.covered);
  if (latest_end >= slicer_.limit()) {
    ++counters_.room_waits;
    for (auto& [index, stream] : source.streams) stream.covered = std::max(stream.covered, end);
    source.end_waits = latest_end;
    return;
  }
  source.end_waits.reset();
  for (const wire::StreamTotal& total : goodbye.streams())
    if (const auto s = source.streams.find(total.stream()); s != source.streams.end() && total.untold() > 0)
      static_cast<void>(
          slicer_.gap(s->second.leaf, end, std::min(total.untold(), s->second.account.probe_dropped)));
  source.ended = true;
  goodbyes_came_ = true;
  source.goodbye = static_cast<std::uint32_t>(goodbye.reason());
  for (auto& [index, stream] : source.streams) {
    if (slicer_.leaf_state(stream.leaf).base == kAbsent) continue;  // MPI_Finalize has ended it
    // A killed process was in its last state until it died, which is as far as it was covered.
    const TimeNs t = std::max(end, stream.covered);
    static_cast<void>(slicer_.end(stream.leaf, t));
    end = std::max(end, t);
  }
  source.end = end;
}

}  // namespace margay::ingest
