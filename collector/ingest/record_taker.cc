#include "margay/ingest/record_taker.h"

#include <algorithm>
#include <span>
#include <utility>

#include "host_time.h"
#include "margay/slicer/stand_in.h"
#include "margay/slicer/take_record.h"

namespace margay::ingest {
namespace {

constexpr std::size_t kMostRegions = 32;

std::span<const char> bytes_of(const wire::EventBatch& batch) {
  return {batch.columns().data(), batch.columns().size()};
}

}  // namespace

bool RecordTaker::take(const wire::EventBatch& batch, Source& source, Stream& stream, std::size_t skip,
                       TimeNs now) {
  const auto decoded = wire::decode_changes_untrusted(bytes_of(batch), batch.count(), changes_);
  if (decoded && names_missing(source, skip, now)) return false;
  stream.epoch = source.epoch;
  if (!decoded) {
    reject(batch, source, stream, skip, now);
    return true;
  }
  if (options_.fault) options_.fault(batch);
  const std::size_t count = changes_.time_ns.size();
  const std::size_t until = take_decoded(batch, source, stream, skip, now);
  if (until < count) {
    // The others are sent again: they come in order, so that nothing happens before the first of them.
    ++counters_.room_waits;
    stream.waits = batch.epoch();
    stream.covered = std::max(stream.covered, to_trace(changes_.time_ns[until], source));
  }
  if (raw_.keeps() && until > skip)
    raw_.put(batch, source, stream, skip, until, changes_.time_ns, latest(options_, now));
  return true;
}

std::optional<std::int64_t> RecordTaker::first_time(const wire::EventBatch& batch) {
  if (batch.count() == 0 || !wire::decode_columns_untrusted(bytes_of(batch), batch.count(), scratch_))
    return std::nullopt;
  return scratch_.front().time_ns;
}

// These records arrived, and cannot be understood: what they hid is unknown.
void RecordTaker::reject(const wire::EventBatch& batch, const Source& source, Stream& stream,
                         std::size_t skip, TimeNs now) {
  ++counters_.bad_batches;
  const TimeNs covered = std::min(to_trace(batch.covered_until_ns(), source), latest(options_, now));
  const std::uint64_t lost = std::min<std::uint64_t>(batch.count(), wire::kMaxBatchRecords) -
                             std::min<std::uint64_t>(skip, wire::kMaxBatchRecords);
  stream.account.rejected += lost;
  stream.account.next += lost;
  static_cast<void>(slicer_.gap(stream.leaf, covered, lost));
}

// Records from `skip` on use names that a hello has still to tell: the one that did went to a collector that
// was killed before it could commit it, or was lost on the way. Not for ever: then they make no sense.
bool RecordTaker::names_missing(Source& source, std::size_t skip, TimeNs now) const {
  if (source.states.size() >= options_.limits.names_per_source) return false;  // nor will they be told
  std::uint16_t most = 0;
  for (std::size_t i = skip; i < changes_.state.size(); ++i) most = std::max(most, changes_.state[i]);
  if (most < source.states.size()) return false;
  if (!source.nameless_since) source.nameless_since = now;
  return now - *source.nameless_since < options_.give_up_gap;
}

// Returns how far it came: behind that, records wait for room (Slicer::limit).
std::size_t RecordTaker::take_decoded(const wire::EventBatch& batch, Source& source, Stream& stream,
                                      std::size_t skip, TimeNs now) {
  const TimeNs until = latest(options_, now), limit = slicer_.limit();
  const std::size_t count = changes_.time_ns.size();
  slicer::PlainChanges rest;
  for (std::size_t n = source.plain_states.size(); n < source.states.size(); ++n)
    source.plain_states.push_back(source.states[n].value +
                                  (source.ends_leaf[n] ? slicer::PlainChanges::kEnds : 0));
  rest.states = source.plain_states;
  rest.offset = source.clock_offset;
  rest.until = std::min(until, limit - DurationNs(1));
  bool whole = false;
  std::size_t i = skip;
  while (i < count) {
    if (!source.clock) {
      rest.time_ns = std::span(changes_.time_ns).subspan(i);
      rest.state = std::span(changes_.state).subspan(i);
      rest.kind = std::span(changes_.kind).subspan(i);
      const std::size_t taken = slicer_.take_plain(stream.leaf, rest);
      stream.account.modelled += taken;
      i += taken;
      if (i == count) break;
    }
    if (const TimeNs t = to_trace(changes_.time_ns[i], source); t >= limit && t <= until) break;
    // Cannot fail: its columns were found.
    if (!std::exchange(whole, true))
      static_cast<void>(wire::decode_columns_untrusted(bytes_of(batch), batch.count(), scratch_));
    apply(source, stream, scratch_[i++], until);
  }
  stream.account.next += i - skip;
  return i;
}

void RecordTaker::apply(Source& source, Stream& stream, const EventRecord& record, TimeNs until) {
  Account& account = stream.account;
  if (record.time_ns <= 0 || record.state >= source.states.size() || !may_be_sent(record.kind)) {
    ++account.rejected;
    return;
  }
  const TimeNs t = to_trace(record.time_ns, source);
  if (t > until) {
    ++account.rejected;
    return;
  }
  const auto outcome = change(source, stream, record, t);
  if (!outcome) {
    ++account.rejected;
    return;
  }
  switch (*outcome) {
    case slicer::Outcome::kLateDropped:
      ++account.late_dropped;
      return;
    case slicer::Outcome::kAmended:
      ++counters_.amended_events;
      break;
    case slicer::Outcome::kModelled:
      break;
  }
  ++account.modelled;
}

// What the record does to its leaf. Nothing: it makes no sense.
std::optional<slicer::Outcome> RecordTaker::change(const Source& source, Stream& stream,
                                                   const EventRecord& record, TimeNs t) {
  if (is_note(record.kind)) return note(source, stream, record, t);
  StateId state = source.states[record.state];
  switch (record.kind) {
    case MARGAY_REGION_ENTER:
      if (stream.regions.size() < kMostRegions) stream.regions.push_back(record.state);
      break;
    case MARGAY_REGION_LEAVE:
      if (const auto it = std::find(stream.regions.rbegin(), stream.regions.rend(), record.state);
          it != stream.regions.rend())
        stream.regions.erase(it.base() - 1, stream.regions.end());
      break;
    case MARGAY_GAP:
      stream.told_dropped += record.bytes;
      break;
    case MARGAY_STACK:
    case MARGAY_SUM_OPEN:
    case MARGAY_SUM:
    case MARGAY_SUM_MOVED:
      if (record.state == 0) state = kCompute;
      break;
    default:
      break;
  }
  const slicer::Outcome outcome = slicer::take_record(slicer_, stream.leaf, state, t, record);
  if (record.kind == MARGAY_LEAVE && source.ends_leaf[record.state])
    static_cast<void>(slicer_.end(stream.leaf, t));
  return outcome;
}

// A record that changes no state.
std::optional<slicer::Outcome> RecordTaker::note(const Source& source, const Stream& stream,
                                                 const EventRecord& record, TimeNs t) {
  const NameKind wanted = record.kind == MARGAY_VARIABLE ? NameKind::kVariable
                          : record.kind == MARGAY_MARK   ? NameKind::kMark
                                                         : NameKind::kLink;
  if (source.kinds[record.state] != wanted) return std::nullopt;
  const auto taken = slicer::note_of(options_.op, record, source.stand_ins[record.state]);
  if (!taken) return std::nullopt;
  auto outcome = slicer::Outcome::kModelled;
  // The first thing that is heard of it: it exists.
  if (stream.account.modelled + stream.account.late_dropped == 0 && slicer_.current(stream.leaf) == kAbsent)
    outcome = slicer_.begin(stream.leaf, t);
  if (*taken) outcome = slicer_.note(stream.leaf, **taken, t);
  return outcome;
}

}  // namespace margay::ingest
