#include "run_status.h"

#include <algorithm>
#include <array>

namespace margay::daemon {

using observe::Id;

void set_sources(const IngestModel& model, TimeNs now, RunStatus& status) {
  std::uint64_t in_flight = 0, summed = model.ingest.counters().summed_before, summing = 0;
  std::uint32_t clock_error_ns = 0;
  std::array<std::uint64_t, 5> conditions{};
  status.accounts = model.ingest.accounts();
  status.conditions.assign(model.ingest.leaves().size(), ingest::to_string(ingest::Condition::kEnded));
  for (const auto& [id, source] : model.ingest.sources()) {
    const auto condition = source.condition(now, model.options.silent_after, model.options.lost_after);
    ++(condition == ingest::Condition::kEnded ? status.ended : status.live);
    ++conditions[static_cast<std::size_t>(condition)];
    const auto sums = [](const auto& stream) { return stream.second.summing; };
    summing += !source.ended && std::any_of(source.streams.begin(), source.streams.end(), sums);
    for (const auto& [index, stream] : source.streams) {
      summed += stream.summed;
      clock_error_ns = std::max(clock_error_ns, stream.probe_clock_error_ns);
      in_flight += stream.account.in_flight();
      const auto& owner = model.ingest.leaf_owner()[stream.leaf.value];
      if (owner.first == id) status.conditions[stream.leaf.value] = ingest::to_string(condition);
    }
  }
  observe::Values& v = status.values;
  ingest::Account sum;
  for (const auto& a : status.accounts) sum += a;
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
  v.set(Id::agents, model.ingest.agents());
  v.set(Id::leaves, model.ingest.leaves().size());
  v.set(Id::states, model.states.size());
  v.set(Id::sources_live, of(ingest::Condition::kLive));
  v.set(Id::sources_stopped, of(ingest::Condition::kStopped));
  v.set(Id::sources_silent, of(ingest::Condition::kSilent));
  v.set(Id::sources_lost, of(ingest::Condition::kLost));
  v.set(Id::sources_ended, of(ingest::Condition::kEnded));
  const ingest::Unwatched& unwatched = model.ingest.unwatched();
  status.unwatched = unwatched.processes();
  status.unwatched_why = unwatched.why();
  status.processes = model.ingest.sources().size() + model.ingest.counters().sources_forgotten +
                     status.unwatched - unwatched.given_up();
  v.set(Id::processes_unwatched, status.unwatched);
  v.explain(Id::processes_unwatched, status.unwatched_why);
}

void set_messages(const ingest::Ingest& ingest, observe::Values& v) {
  const auto& c = ingest.counters();
  v.set(Id::messages, c.messages);
  v.set(Id::messages_undecodable, c.undecodable);
  v.set(Id::messages_wrong_version, c.wrong_version);
  v.set(Id::messages_wrong_run, c.wrong_run);
  v.set(Id::batches_undecodable, c.bad_batches);
  v.set(Id::records_repeated, c.repeats);
  v.set(Id::gaps_pending, c.gaps_pending);
  v.set(Id::gaps_given_up, c.gaps_given_up);
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
  v.set(Id::steal_ms, ingest.steal_ns() / 1'000'000);
}

}  // namespace margay::daemon
