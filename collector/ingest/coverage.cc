#include "margay/ingest/coverage.h"

#include <algorithm>

namespace margay::ingest {

void Coverage::check_caught_up(TimeNs now) {
  if (now >= catch_up_until_) return;
  const TimeNs recent = now + options_.clock_offset - options_.silence_hold;
  const bool caught_up = std::all_of(sources_.all().begin(), sources_.all().end(), [&](const auto& s) {
    return s.second.ended || std::all_of(s.second.streams.begin(), s.second.streams.end(),
                                         [&](const auto& x) { return x.second.covered >= recent; });
  });
  if (caught_up) catch_up_until_ = TimeNs();
}

void Coverage::listen(TimeNs now) {
  for (auto& [id, source] : sources_.all()) {
    const bool silent = !source.ended && now - source.heard > options_.silent_after &&
                        (source.silent || now >= catch_up_until_);
    if (silent == source.silent) continue;
    source.silent = silent;
    ++(silent ? counters_.sources_silenced : counters_.sources_returned);
    for (const auto& [index, stream] : source.streams)
      slicer_.silence(stream.leaf, silent ? source.heard + options_.clock_offset : TimeNs());
  }
}

void Coverage::fill_promises(TimeNs until) {
  for (const auto& [id, source] : sources_.all())
    for (const auto& [index, stream] : source.streams)
      if (!source.ended) slicer_.cover(stream.leaf, std::min(stream.covered, until));
}

TimeNs Coverage::promised() const {
  TimeNs most{};
  for (const auto& [id, source] : sources_.all())
    for (const auto& [index, stream] : source.streams)
      if (!source.ended) most = std::max(most, stream.covered);
  return most;
}

bool Coverage::is_promised(LeafIndex leaf, TimeNs t) const {
  if (leaf.value >= leaves_.feeders().size()) return false;
  const auto& [id, index] = leaves_.feeders()[leaf.value];
  const Source* const source = sources_.find(id);
  if (source == nullptr || source->ended) return false;
  const auto stream = source->streams.find(index);
  return stream != source->streams.end() && stream->second.covered >= t;
}

TimeNs Coverage::watermark(TimeNs now) const {
  TimeNs least = now + options_.clock_offset;
  for (const auto& [id, source] : sources_.all()) {
    if (source.ended) continue;
    for (const auto& [index, stream] : source.streams)
      least = std::min(least, waited_for(source, stream, now));
  }
  return least - options_.lateness;
}

// As far as the stream is covered, or has been waited for long enough.
TimeNs Coverage::waited_for(const Source& source, const Stream& stream, TimeNs now) const {
  TimeNs covered = stream.covered;
  // A stopped process records nothing.
  if (source.process.stopped_since != TimeNs()) covered = std::max(covered, source.process.at);
  // What waits for room here is not to be passed by, as long as somebody has it.
  const bool waits = stream.waits && now - source.heard < options_.behind_hold;
  if (now < catch_up_until_ || waits) return covered;
  // Records that are known to be on their way are worth waiting for: without them their slices would close
  // with guesses, and what comes later than can be amended is lost. So is, for a while, the word where
  // dropped ones were: the last records of an overloaded program come before its goodbye, and all that was
  // waited for would close in between.
  const Account& account = stream.account;
  const bool untold = account.next > 0 && account.probe_dropped > stream.told_dropped &&
                      now - stream.moved < options_.untold_hold;
  const bool behind = !source.silent && (account.recorded > account.next || untold);
  return std::max(covered,
                  now + options_.clock_offset - (behind ? options_.behind_hold : options_.silence_hold));
}

}  // namespace margay::ingest
