// Tables of single events, of messages, and of what events sum to: as `margay events` has them.
#include <algorithm>

#include "events/events_output.h"
#include "events/messages_output.h"
#include "events/statistics_output.h"
#include "export_parts.h"
#include "margay/base/text.h"
#include "margay/query/zoom.h"

namespace margay::daemon::exporting {
namespace {

struct Range {
  TimeNs from{}, to{};
};

// What `margay events` lists where no range is given.
Result<Range> range_of_events(const Job& job) {
  const auto extent = zoom_extent(job.archive, job.all);
  if (!extent) return tl::unexpected(extent.error());
  Range out{job.from, job.to};
  if (job.request.from.empty()) out.from = std::min(job.all.run.begin, extent->zero);
  if (job.request.to.empty())
    out.to = std::max(extent->end, job.all.run.end.value_or(extent->end)) + DurationNs(1);
  return out;
}

void note_events(const EventCounts& c, Findings& found) {
  const auto note = [&](bool so, const std::string& sentence) {
    if (so && std::find(found.notes.begin(), found.notes.end(), sentence) == found.notes.end())
      found.notes.push_back(sentence);
  };
  note(c.holes > 0, "events are missing at " + grouped(c.holes) + " places: the state Unknown is there");
  note(c.rejected > 0, grouped(c.rejected) + " records are invalid, and were left out");
  note(!c.exact, "what is open at the begin is not known of every resource: older events were deleted");
}

// `take` may be null.
Status read_events(const Job& job, const TakeRow* take, EventStatistics* sums) {
  const auto range = range_of_events(job);
  if (!range) return tl::unexpected(range.error());
  EventQuery query;
  query.from = range->from, query.to = range->to, query.progress = job.progress;
  Row row;
  const auto counts = list_events(job.archive, job.all, query, [&](const EventRow& event) -> Status {
    if (sums != nullptr && (job.found.sums == std::nullopt || *job.found.sums))
      if (Status ok = sums->add(event); !ok) {
        if (take == nullptr) return ok;
        job.found.sums = tl::unexpected(ok.error());  // the events themselves go on
      }
    if (take == nullptr) return {};
    event_fields(event, row);
    return (*take)(row);
  });
  if (!counts) return tl::unexpected(counts.error());
  note_events(*counts, job.found);
  return {};
}

Result<EventStatistics> no_sums(const Job& job) {
  const auto range = range_of_events(job);
  if (!range) return tl::unexpected(range.error());
  return EventStatistics(EventStatistics::By::kBoth, range->from, range->to);
}

}  // namespace

Status write_events(const Job& job, const TakeRow& take) {
  if (!job.found.wants_sums) return read_events(job, &take, nullptr);
  auto sums = no_sums(job);
  if (!sums) return tl::unexpected(sums.error());
  Status read = read_events(job, &take, &*sums);
  if (read && !job.found.sums) job.found.sums = std::move(sums);
  return read;
}

Status write_statistics(const Job& job, const TakeRow& take) {
  if (!job.found.sums) {
    auto sums = no_sums(job);
    if (!sums) return tl::unexpected(sums.error());
    if (Status ok = read_events(job, nullptr, &*sums); !ok) return ok;
    job.found.sums = std::move(sums);
  }
  if (!*job.found.sums) return tl::unexpected(job.found.sums->error());
  Row row;
  for (const EventSummary& s : (*job.found.sums)->summaries()) {
    statistics_fields(s, row);
    if (Status ok = take(row); !ok) return ok;
  }
  return {};
}

Status write_messages(const Job& job, const TakeRow& take) {
  const auto range = range_of_events(job);
  if (!range) return tl::unexpected(range.error());
  MessageQuery query;
  query.from = range->from, query.to = range->to, query.progress = job.progress;
  Row row;
  const auto counts = list_messages(job.archive, job.all, query, [&](const MessageRow& message) {
    message_fields(message, row);
    return take(row);
  });
  if (!counts) return tl::unexpected(counts.error());
  for (const std::string& note : unpaired_notes(counts->calls))
    job.found.notes.push_back("messages: " + note);
  return {};
}

}  // namespace margay::daemon::exporting
