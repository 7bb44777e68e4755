// What the ingest says of itself: accounts and conditions by leaf, its rows of the table of counters.
#include <algorithm>
#include <array>

#include "margay/live/absence_words.h"
#include "margay/live/ingest_stage.h"
#include "margay/live/retention_words.h"
#include "margay/log/log.h"

namespace margay::app {

std::shared_ptr<const Standing> IngestStage::standing() const {
  auto s = std::make_shared<Standing>();
  const TimeNs now = clock_.monotonic();
  std::uint64_t in_flight = 0, summed = ingest_.counters().summed_before, summing = 0;
  std::uint32_t clock_error_ns = 0;
  std::array<std::uint64_t, 5> conditions{};
  s->accounts = ingest_.accounts();
  s->conditions.assign(ingest_.leaves().size(), ingest::to_string(ingest::Condition::kEnded));
  for (const auto& [id, source] : ingest_.sources()) {
    const auto condition = source.condition(now, options_.silent_after, options_.lost_after);
    ++(condition == ingest::Condition::kEnded ? s->ended : s->live);
    ++conditions[static_cast<std::size_t>(condition)];
    const auto sums = [](const auto& stream) { return stream.second.summing; };
    summing += !source.ended && std::any_of(source.streams.begin(), source.streams.end(), sums);
    for (const auto& [index, stream] : source.streams) {
      summed += stream.summed;
      clock_error_ns = std::max(clock_error_ns, stream.probe_clock_error_ns);
      in_flight += stream.account.in_flight();
      const auto& owner = ingest_.leaf_owner()[stream.leaf.value];
      if (owner.first == id) s->conditions[stream.leaf.value] = ingest::to_string(condition);
    }
  }
  using observe::Id;
  observe::Values& v = s->values;
  ingest::Account sum;
  for (const auto& a : s->accounts) sum += a;
  v.set(Id::events_produced, sum.produced);
  v.set(Id::events_modelled, sum.modelled);
  v.set(Id::events_late_dropped, sum.late_dropped);
  v.set(Id::events_probe_dropped, sum.probe_dropped);
  v.set(Id::events_wire_lost, sum.wire_lost);
  v.set(Id::events_rejected, sum.rejected);
  v.set(Id::events_in_flight, in_flight);
  v.set(Id::events_summed, summed);
  v.set(Id::sources_summing, summing);
  v.set(Id::probe_clock_error_us, (clock_error_ns + 999) / 1000);
  const auto of = [&](ingest::Condition c) { return conditions[static_cast<std::size_t>(c)]; };
  v.set(Id::agents, ingest_.agents());
  v.set(Id::leaves, ingest_.leaves().size());
  v.set(Id::states, states_.size());
  v.set(Id::sources_live, of(ingest::Condition::kLive));
  v.set(Id::sources_stopped, of(ingest::Condition::kStopped));
  v.set(Id::sources_silent, of(ingest::Condition::kSilent));
  v.set(Id::sources_lost, of(ingest::Condition::kLost));
  v.set(Id::sources_ended, of(ingest::Condition::kEnded));
  const auto& c = ingest_.counters();
  v.set(Id::messages, c.messages);
  v.set(Id::messages_undecodable, c.undecodable + socket_.malformed() + (remote_ ? remote_->malformed() : 0));
  v.set(Id::agents_cut, socket_.cuts());
  v.set(Id::messages_wrong_version, c.wrong_version);
  v.set(Id::messages_wrong_run, c.wrong_run);
  v.set(Id::batches_undecodable, c.bad_batches);
  v.set(Id::records_repeated, c.repeats);
  v.set(Id::gaps_pending, c.gaps_pending);
  v.set(Id::gaps_given_up, c.gaps_given_up);
  const ingest::Unwatched& unwatched = ingest_.unwatched();
  s->unwatched = unwatched.processes();
  s->unwatched_why = unwatched.why();
  s->processes = ingest_.sources().size() + c.sources_forgotten + s->unwatched - unwatched.given_up();
  v.set(Id::processes_unwatched, s->unwatched);
  v.explain(Id::processes_unwatched, s->unwatched_why);
  v.set(Id::room_waits, c.room_waits);
  v.set(Id::sources_unknown, c.unknown_source);
  v.set(Id::refused_by_limit, c.refused_by_limit);
  v.set(Id::sources_forgotten, c.sources_forgotten);
  v.set(Id::ghosts_evicted, c.ghosts_forgotten);
  v.set(Id::agents_forgotten, c.agents_forgotten);
  v.set(Id::sources_silenced, c.sources_silenced);
  v.set(Id::sources_returned, c.sources_returned);
  v.set(Id::sources_not_theirs, c.not_theirs);
  v.set(Id::claims_refused, c.claims_refused);
  v.set(Id::messages_quarantined, c.quarantined);
  v.set(Id::clock_waits, c.clock_waits);
  v.set(Id::clock_steps, c.clock_steps);
  v.set(Id::clock_answers_refused, c.clock_refused);
  v.set(Id::events_amending, c.amended_events);
  v.set(Id::clock_backwards, c.clock_backwards);
  v.set(Id::states_unbalanced, c.unbalanced);
  v.set(Id::reader_events, c.readers.seen);
  v.set(Id::reader_used, c.readers.used);
  v.set(Id::reader_ignored, c.readers.ignored);
  v.set(Id::reader_unmatched, c.readers.unmatched);
  v.set(Id::reader_unbalanced, c.readers.unbalanced);
  v.set(Id::reader_too_deep, c.readers.too_deep);
  v.set(Id::reader_left_out, c.readers.left_out);
  v.set(Id::reader_discarded, c.readers.discarded);
  v.set(Id::raw_not_archived, raw_lost_ + ingest_.raw_dropped());
  v.set(Id::alerts_not_archived, alerts_lost_);
  v.set(Id::columns_not_archived, columns_lost_);
  v.set(Id::acknowledged_unsynced, options_.sync ? 0 : 1);
  v.set(Id::power_losses, durability_.losses());
  v.set(Id::decisions_not_archived, journal_.lost());
  v.set(Id::slices_unseen, slices_unseen_);
  v.set(Id::absences, absences_);
  v.set(Id::not_watched_ms, static_cast<std::uint64_t>(not_watched_.value / 1'000'000));
  if (last_absence_) v.explain(Id::absences, absence_sentence(last_absence_->first, last_absence_->second));
  v.set(Id::amendments_unseen, amendments_unseen_);
  v.set(Id::slices_held, slicer_.held());
  v.set(Id::steal_ms, ingest_.steal_ns() / 1'000'000);
  const transport::SecurityCounters d =
      exchange_.door != nullptr ? exchange_.door->snapshot() : transport::SecurityCounters{};
  v.set(Id::connections_accepted, d.connections_accepted);
  v.set(Id::handshakes_failed, d.handshakes_failed);
  v.set(Id::keys_refused, d.keys_refused);
  v.set(Id::roles_refused, d.roles_refused);
  v.set(Id::messages_unauthorised, d.messages_unauthorised);
  v.set(Id::clients_authorised, d.clients_authorised);
  const transport::GateCounters g =
      exchange_.gate != nullptr ? exchange_.gate->counters() : transport::GateCounters{};
  v.set(Id::gate_connections, g.open_now);
  v.set(Id::gate_accepted, g.accepted);
  v.set(Id::gate_refused, g.refused_full + g.refused_address + g.refused_rate + g.out_of_descriptors);
  v.set(Id::gate_evicted, g.evicted + g.handshake_timeouts);
  v.set(Id::gate_strangers_refused, g.not_zmtp + g.too_chatty + g.handshake_failures + g.handshake_abandoned);
  v.set(Id::gate_server_away, g.backend_unavailable);
  const store::KeeperReport kept = keeper_.report();
  s->retention = retention_sentence(kept, options_);
  v.set(Id::raw_retired_bytes, kept.raw_bytes_dropped);
  v.set(Id::reports_retired_bytes, kept.reports_bytes_dropped);
  v.set(Id::slices_retired, kept.slices_dropped);
  v.set(Id::retention_full, kept.full ? 1 : 0);
  s->archive_trouble = archive_health_.trouble();
  s->archive_trouble_since = archive_health_.trouble_since();
  archive_health_.set(now, v);
  disk_.set(v);
  return s;
}

// Who it was, and whose it is; the daemon's log has the first of each a minute.
void IngestStage::say_impostor(const ingest::Impostor& impostor, const std::string& address) {
  const auto source = ingest_.sources().find(impostor.source);
  std::string which = "a process that has ended";
  if (source != ingest_.sources().end()) {
    const model::Attributes& attributes = source->second.attributes;
    const auto of = [&attributes](const char* key) {
      const auto it = attributes.find(key);
      return it == attributes.end() ? std::string("?") : it->second;
    };
    which = "rank " + of("rank") + " on " + of("host") + " (pid " + of("pid") + ")";
  }
  const std::string from = impostor.owner + (address.empty() ? std::string() : ", " + address);
  const std::string reason = "they speak for " + which + ", which belongs to " + impostor.belongs_to +
                             "; a process belongs to the key that introduced it (proto/SECURITY.md)";
  if (const auto line = refusals_.note(from, reason, clock_.monotonic())) log::warning(*line);
}

// A message amid which an error of ours was met: the first of a minute is told, and kept for a report.
void IngestStage::put_in_quarantine(const transport::Socket::Frame& frame, const std::string& owner,
                                    TimeNs now) try {
  if (now < next_quarantine_) return;
  next_quarantine_ = now + seconds(60);
  const std::string file = quarantine_.keep(frame.body);
  log::error("a message of " + std::to_string(frame.body.size()) + " bytes (" + owner +
             ") could not be taken: " + ingest_.trouble() +
             "; its events are rejected, the daemon goes on; " +
             (file.empty() ? "messages before it wait to be kept" : "it is kept as " + file) +
             ": please report this");
} catch (const std::bad_alloc&) {
  // It is counted.
}

// One line for each that is lost or heard again; the log bounds how many.
void IngestStage::say_lost_sources(TimeNs now) {
  if (const auto line = refusals_.tick(now)) log::warning(*line);
  std::erase_if(lost_sources_, [&](SourceId id) { return !ingest_.sources().contains(id); });
  for (const auto& [id, source] : ingest_.sources()) {
    const auto condition = source.condition(now, options_.silent_after, options_.lost_after);
    // One that never sent anything is no loss.
    const bool lost = condition == ingest::Condition::kLost && !source.streams.empty();
    if (lost == lost_sources_.contains(id)) continue;
    const model::Attributes& attributes = source.attributes;
    const auto of = [&attributes](const char* key) {
      const auto it = attributes.find(key);
      return it == attributes.end() ? std::string("?") : it->second;
    };
    const std::string who = "rank " + of("rank") + " on " + of("host") + " (pid " + of("pid") + ")";
    if (lost) {
      lost_sources_.insert(id);
      log::warning(who + " is lost: neither it nor its agent has been heard for " +
                   std::to_string(options_.lost_after.value / 1'000'000'000) + " s");
    } else {
      lost_sources_.erase(id);
      log::info(who +
                (condition == ingest::Condition::kEnded ? ", which was lost, has ended" : " is heard again"));
    }
  }
}

}  // namespace margay::app
