// Makes the cuts: one consistent state of everything (cells, open states, counters, how far each stream is)
// and what else waits to be kept; and knows, when one is committed, what that confirms.
//
// make() may be called again and again: nothing is gone from here before sent() says that the cut is on its
// way. Thread safety: none; owned by the ingest. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "margay/live/absences.h"
#include "margay/live/ingest_model.h"
#include "margay/live/pending.h"

namespace margay::daemon {

class CutBuilder {
 public:
  // Goes on behind the archive's last cut: what of the model is in it is not written again.
  CutBuilder(const Options& options, IngestModel& model, const store::Resume& resume);

  void put(std::shared_ptr<const model::SliceColumn> column) { columns_.put(std::move(column)); }
  void put(Findings&& findings) { findings_.put(std::move(findings)); }
  void put(store::GapRecord gap);
  // What has changed in the model since the last call, so that it can be written however late the disk is.
  // `full`: no raw events may be kept.
  void collect_changes(bool full);

  // With many slices between two cuts the next one is made before its time, for some would have to go.
  bool much_waits() const { return columns_.much(); }
  bool urgent() const { return findings_.urgent(); }
  std::uint64_t last_sent() const { return sent_; }
  std::uint64_t last_committed() const { return committed_; }

  // The next cut, but for the run's record, the blobs of the daemon's own and the journal. Its raw events are
  // not here any more: they come back with not_sent(), or are on their way.
  store::Cut make(TimeNs wall);
  void not_sent(store::Cut&& cut) { raw_.give_back(std::move(cut.raw)); }
  // The cut that was made last is on its way, and nothing was put since.
  void sent();

  // What a commit of this cut, and so of all before it, confirms; nothing if that was known already.
  struct Confirmed {
    std::optional<ingest::AckPoint> acks;
    std::optional<std::uint64_t> handling, unwatched;  // versions
  };
  std::optional<Confirmed> committed(std::uint64_t sequence);

  void set(observe::Values& values) const;

 private:
  void put_leaves(store::Cut& cut) const;
  void put_sources(store::Cut& cut) const;

  const Options& options_;
  IngestModel& model_;
  PendingColumns columns_;
  PendingFindings findings_;
  PendingRaw raw_;
  ingest::Forgotten forgotten_;
  std::vector<store::GapRecord> gaps_;
  std::vector<SliceIndex> gaps_forgotten_;
  Absences absences_;
  // Of the model, what cuts that were sent hold already.
  struct Held {
    std::size_t states = 0;
    std::uint64_t topology = 0, unwatched = 0;  // versions
  } held_;
  struct Sent {
    Confirmed confirms;
    std::size_t raw_bytes = 0;
  };
  std::map<std::uint64_t, Sent> on_the_way_;  // by sequence; at most two
  std::uint64_t sent_ = 0, committed_ = 0;    // sequences
};

}  // namespace margay::daemon
