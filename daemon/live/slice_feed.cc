#include "margay/live/slice_feed.h"

#include <utility>

#include "margay/analysis/detector_settings.h"
#include "margay/settings/memory_budget.h"

namespace margay::daemon {
namespace {

constexpr DurationNs kStatusPeriod = milliseconds(100);
// How things stand is told at least so often, also when no slice closes.
constexpr DurationNs kStatusAlone = milliseconds(900);
// In the queue: each has the account of every source.
constexpr int kMostStatuses = 4;

}  // namespace

SliceFeed::SliceFeed(const IngestModel& model, Exchange& exchange, AskStatus status)
    : model_(model), exchange_(exchange), status_(std::move(status)) {}

void SliceFeed::restore(const store::Resume& resume, const LookBack& back,
                        const std::map<SliceIndex, std::uint64_t>& unchanged) {
  journal_.resume(back.sequence - 1, back.newest, unchanged);
  store::JournalEntry start;
  start.slice = back.first;
  start.whole = back.whole;
  start.settings = to_settings(model_.options);
  start.states = static_cast<std::uint32_t>(model_.states.size());
  std::vector<model::Attributes> leaves;
  for (const auto& l : resume.leaves) leaves.push_back(l.attributes);
  journal_.start(std::move(start), leaves);
}

void SliceFeed::show(std::shared_ptr<const model::SliceColumn> column, bool amended, TimeNs watermark,
                     TimeNs now) {
  ClosedSlice message;
  const std::uint64_t bytes = column->bytes();
  if (*held_bytes_ + bytes > waiting_slices_bytes(model_.options)) {
    ++(amended ? amendments_unseen_ : slices_unseen_);  // archived, but nobody has room to look at it
    return;
  }
  *held_bytes_ += bytes;
  message.column = {column.get(),
                    [column, bytes, in = held_bytes_](const model::SliceColumn*) { *in -= bytes; }};
  message.amended = amended;
  message.watermark = watermark;
  static_cast<void>(push(std::move(message), now));
}

void SliceFeed::tick(TimeNs now) {
  if (now >= next_status_ + kStatusAlone && exchange_.statuses < kMostStatuses)
    static_cast<void>(push({}, now));
}

bool SliceFeed::push(ClosedSlice message, TimeNs now) {
  message.position = journal_.sequence();
  const ingest::Ingest& ingest = model_.ingest;
  if (topology_shown_ != ingest.topology_version() || states_shown_ != model_.states.size()) {
    ++message.position;
    auto topology = std::make_shared<detect::Topology>();
    topology->version = ingest.topology_version();
    topology->hierarchy = model::Hierarchy(ingest.leaves());
    topology->attributes = std::make_shared<const std::vector<model::Attributes>>(ingest.leaves());
    topology->states = model_.states.states();
    message.topology = std::move(topology);
  }
  // A slow analysis is not sent one after the other, with thousands of sources in each.
  const bool tell = now >= next_status_ && exchange_.statuses < kMostStatuses;
  if (tell) {
    next_status_ = now + kStatusPeriod;
    message.status = status_(now);
    ++exchange_.statuses;
  }
  if (message.column) ++message.position;
  ClosedSlice sent = message;  // pointers
  if (!exchange_.slices.try_push(std::move(sent))) {
    if (tell) --exchange_.statuses;
    return false;
  }
  exchange_.for_analysis.notify();
  if (message.topology) {
    topology_shown_ = ingest.topology_version();
    states_shown_ = model_.states.size();
  }
  journal_.shown(message, static_cast<std::uint32_t>(model_.states.size()), ingest.leaves());
  return true;
}

bool SliceFeed::show_end(TimeNs end, TimeNs now) {
  ClosedSlice message;
  message.status = status_(now);
  message.watermark = message.end = end;
  message.final = true;
  message.position = journal_.sequence() + 1;
  ++exchange_.statuses;
  ClosedSlice sent = message;
  const bool said = exchange_.slices.try_push(std::move(sent));
  exchange_.for_analysis.notify();
  if (said)
    journal_.shown(message, static_cast<std::uint32_t>(model_.states.size()), model_.ingest.leaves());
  else
    --exchange_.statuses;
  return said;
}

void SliceFeed::set(observe::Values& v) const {
  using observe::Id;
  v.set(Id::slices_unseen, slices_unseen_);
  v.set(Id::amendments_unseen, amendments_unseen_);
  v.set(Id::decisions_not_archived, journal_.lost());
}

}  // namespace margay::daemon
