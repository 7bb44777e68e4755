#include "margay/ingest/delivery.h"

#include <algorithm>

#include "claims.h"
#include "host_time.h"

namespace margay::ingest {
namespace {

// An agent that is asked for what waits for room takes so long to send it.
constexpr DurationNs kAskAgain = milliseconds(100);
// What is missing comes by itself as a rule, behind what has overtaken it: asking makes the agent send more.
constexpr DurationNs kAskForMissing = milliseconds(500);

}  // namespace

Source* Delivery::source_of(const wire::EventBatch& batch, const Sender& from) {
  const SourceId id(batch.source());
  Source* const source = sources_.find(id);
  if (source == nullptr &&
      authority_.answer_for_forgotten(id, batch.epoch(), batch.stream(), batch.first() + batch.count(), from))
    return nullptr;
  if (source != nullptr && !authority_.may_speak_for(id, source->owner, from)) return nullptr;
  if (source == nullptr || source->states.empty()) {
    ++counters_.unknown_source;
    replies_.ask_for_hello(from.agent, id);
    return nullptr;
  }
  if (!authority_.is_speaker(*source, from)) return nullptr;
  if (!can_be(batch)) {
    ++counters_.claims_refused;
    return nullptr;
  }
  return source;
}

void Delivery::receive(const wire::EventBatch& batch, const Sender& from) {
  Source* const speaks = source_of(batch, from);
  if (speaks == nullptr) return;
  Source& source = *speaks;
  source.heard = from.now;
  source.agent = from.agent;
  source.told_epoch = batch.epoch();
  source.dirty = true;
  source.news = source.news || batch.count() > 0;
  if (source.clock && !source.clock->known() && from.now - source.met < options_.clock_patience) {
    ++counters_.clock_waits;  // not taken, so not confirmed: it is sent again when the clock is known
    return;
  }
  Stream* const stream = leaves_.stream_of(source, batch.stream(), batch.thread());
  if (stream == nullptr) return;
  // Not taken and not promised: an agent sends them again, and the next message takes them.
  const std::uint32_t records = std::min(batch.count(), wire::kMaxBatchRecords);
  if (records > records_left_) {
    ++counters_.refused_by_limit;
    return;
  }
  records_left_ -= records;
  Account& account = stream->account;
  // A promise reaches no farther than a record may.
  const TimeNs covered = std::min(to_trace(batch.covered_until_ns(), source), latest(options_, from.now));
  if (stream->waits && *stream->waits != batch.epoch()) stream->waits.reset();  // whoever had it is gone
  bool gave_up = false;
  if (!close_hole(batch, source, *stream, covered, from, gave_up)) return;

  std::uint64_t skip = 0;
  if (batch.first() < account.next) {
    skip = std::min<std::uint64_t>(batch.count(), account.next - batch.first());
    counters_.repeats += skip;
    // Wholly known; what it says of time and counters may be older than what is known.
    if (skip == batch.count() && batch.count() > 0) return;
  }
  stream->waits.reset();
  const std::uint64_t next_before = account.next;
  if (batch.count() > skip && !records_.take(batch, source, *stream, skip, from.now)) {
    ++counters_.unknown_source;
    replies_.ask_for_hello(from.agent, source.id);
    return;
  }
  stream->gap_since.reset();
  if (account.next > next_before || batch.dropped() > account.probe_dropped) stream->moved = from.now;
  take_totals(batch, *stream, covered);
  // After a stretch that nobody knows: what the thread is in now.
  if (gave_up && batch.count() == 0 && batch.open_state() > 0 && batch.open_state() <= source.states.size()) {
    const std::uint32_t name = batch.open_state() - 1;
    static_cast<void>(slicer_.stack(stream->leaf, name == 0 ? kCompute : source.states[name], covered));
  }
}

bool Delivery::close_hole(const wire::EventBatch& batch, Source& source, Stream& stream, TimeNs covered,
                          const Sender& from, bool& gave_up) {
  if (batch.first() <= stream.account.next) return true;
  if (stream.waits) return false;  // what lies between waits for room, and is sent again before this
  // The agent that had the missing records may be gone.
  const bool gone = stream.epoch != 0 && source.epoch > stream.epoch;
  if (!gone && !stream.gap_since) {
    stream.gap_since = source.asked = from.now;
    ++counters_.gaps_pending;
    replies_.ask_for_hello(from.agent, source.id);
    return false;
  }
  if (!gone && from.now - *stream.gap_since < options_.give_up_gap) {
    ++counters_.gaps_pending;
    return false;
  }
  give_up(source, stream, batch.first(), gap_end(batch, source, covered));
  gave_up = true;
  return true;
}

// What the batch says beside its records.
void Delivery::take_totals(const wire::EventBatch& batch, Stream& stream, TimeNs covered) {
  Account& account = stream.account;
  account.produced = std::max(account.produced, batch.produced());
  account.probe_dropped = std::max(account.probe_dropped, batch.dropped());
  account.recorded = std::max(account.recorded, batch.recorded());
  stream.summed = std::max(stream.summed, batch.summed());
  stream.summing = batch.summing();
  stream.probe_clock_error_ns = std::max(stream.probe_clock_error_ns, batch.clock_error_ns());
  if (!stream.waits) stream.covered = std::max(stream.covered, covered);
  slicer_.cover(stream.leaf, std::min(stream.covered, slicer_.filled_limit()));
  // Drawn out, its last state would pass for what it does while its records are dropped.
  if (batch.untold() > 0 && batch.first() + batch.count() == account.next) slicer_.lose(stream.leaf);
}

// What was lost before this batch ends where its first record begins.
TimeNs Delivery::gap_end(const wire::EventBatch& batch, const Source& source, TimeNs covered) {
  const auto first = records_.first_time(batch);
  return first ? std::min(covered, to_trace(*first, source)) : covered;
}

std::optional<Delivery::Rejected> Delivery::reject_rest(const wire::EventBatch& batch, const Sender& from) {
  Source* const source = sources_.find(SourceId(batch.source()));
  if (source == nullptr || source->owner != from.owner || source->speaker != from.number) return std::nullopt;
  const auto stream = source->streams.find(batch.stream());
  if (stream == source->streams.end() || !can_be(batch) || batch.count() > wire::kMaxBatchRecords)
    return std::nullopt;
  Account& account = stream->second.account;
  const std::uint64_t end = batch.first() + batch.count();
  if (batch.first() > account.next || end <= account.next) return std::nullopt;
  // Some of them may have been counted already, though `next` had not moved on.
  const std::uint64_t placed = account.modelled + account.late_dropped + account.wire_lost + account.rejected;
  const std::uint64_t rest = end > placed ? end - placed : 0;
  account.rejected += rest;
  account.next = end;
  account.produced = std::max(account.produced, std::uint64_t{batch.produced()});
  account.probe_dropped = std::max(account.probe_dropped, std::uint64_t{batch.dropped()});
  account.recorded = std::max(account.recorded, std::uint64_t{batch.recorded()});
  source->dirty = source->news = true;
  return Rejected{stream->second.leaf,
                  std::min(to_trace(batch.covered_until_ns(), *source), latest(options_, from.now)), rest};
}

void Delivery::give_up(Source& source, Stream& stream, std::uint64_t next, TimeNs t) {
  const std::uint64_t lost = next - stream.account.next;
  stream.account.wire_lost += lost;
  stream.account.next = next;
  stream.gap_since.reset();
  ++counters_.gaps_given_up;
  source.dirty = true;
  static_cast<void>(slicer_.gap(stream.leaf, t, lost));
}

void Delivery::ask_again(TimeNs now) {
  const TimeNs limit = slicer_.limit();
  for (auto& [id, source] : sources_.all()) {
    if (source.ended) continue;
    bool room = source.end_waits && *source.end_waits < limit, missing = false;
    for (const auto& [index, stream] : source.streams) {
      room = room || (stream.waits && stream.covered < limit);
      missing = missing || (stream.gap_since && !source.silent);
    }
    const bool due =
        (room && now - source.asked >= kAskAgain) || (missing && now - source.asked >= kAskForMissing);
    if (!due) continue;
    source.asked = now;
    replies_.ask_for_hello(source.agent, id);
  }
}

}  // namespace margay::ingest
