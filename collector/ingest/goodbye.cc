#include "margay/ingest/goodbye.h"

#include <algorithm>

#include "claims.h"
#include "host_time.h"

namespace margay::ingest {

void GoodbyeReceiver::receive(const wire::Goodbye& goodbye, const Sender& from) {
  const SourceId id(goodbye.source());
  Source* const known = sources_.find(id);
  if (known == nullptr) {
    if (authority_.answer_for_forgotten(id, goodbye.epoch(), 0, 0, from)) return;
    ++counters_.unknown_source;
    replies_.ask_for_hello(from.agent, id);
    return;
  }
  Source& source = *known;
  if (!authority_.may_speak_for(id, source.owner, from) || !authority_.is_speaker(source, from)) return;
  if (!can_be(goodbye)) {
    ++counters_.claims_refused;
    return;
  }
  source.heard = from.now;
  source.agent = from.agent;
  source.told_epoch = goodbye.epoch();
  source.dirty = true;
  source.goodbye_acked = false;  // it has not heard, or would not say it again
  if (source.ended) {
    came_ = true;
    return;
  }
  const TimeNs end_told = std::min(to_trace(goodbye.end_ns(), source), latest(options_, from.now));
  if (counts_missing(goodbye, source, end_told, from.now)) {
    ++counters_.gaps_pending;
    replies_.ask_for_hello(from.agent, id);
    return;
  }
  // Nothing happens before its end any more; that is told again when there is room for it.
  TimeNs latest_end = end_told;
  for (const auto& [index, stream] : source.streams) latest_end = std::max(latest_end, stream.covered);
  if (latest_end >= slicer_.limit()) {
    ++counters_.room_waits;
    for (auto& [index, stream] : source.streams) stream.covered = std::max(stream.covered, end_told);
    source.end_waits = latest_end;
    return;
  }
  end(goodbye, source, end_told);
}

// Takes what the streams have counted last. True: records of some are still to come.
bool GoodbyeReceiver::counts_missing(const wire::Goodbye& goodbye, Source& source, TimeNs end, TimeNs now) {
  bool missing = false;
  for (const wire::StreamTotal& total : goodbye.streams()) {
    Stream* const stream = leaves_.stream_of(source, total.stream(), "");
    if (stream == nullptr) continue;
    Account& account = stream->account;
    account.produced = std::max(account.produced, total.produced());
    account.probe_dropped = std::max(account.probe_dropped, total.dropped());
    account.recorded = std::max(account.recorded, total.recorded());
    if (account.recorded <= account.next) continue;
    if (stream->waits) {  // its records are not missing, they wait for room
      missing = true;
      continue;
    }
    if (!stream->gap_since) stream->gap_since = now;
    if (now - *stream->gap_since < options_.give_up_gap)
      missing = true;
    else
      delivery_.give_up(source, *stream, account.recorded, end);
  }
  return missing;
}

void GoodbyeReceiver::end(const wire::Goodbye& goodbye, Source& source, TimeNs end) {
  source.end_waits.reset();
  for (const wire::StreamTotal& total : goodbye.streams())
    if (const auto s = source.streams.find(total.stream()); s != source.streams.end() && total.untold() > 0)
      static_cast<void>(
          slicer_.gap(s->second.leaf, end, std::min(total.untold(), s->second.account.probe_dropped)));
  source.ended = true;
  came_ = true;
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
