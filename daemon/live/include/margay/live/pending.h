// What waits for the next cut, by kind. Each is bounded; what does not fit is counted. While the disk is away
// no cut is made, so it is here that things are lost then. Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "margay/analysis/exchange.h"
#include "margay/ingest/ingest.h"
#include "margay/settings/options.h"
#include "margay/store/records.h"

namespace margay::daemon {

// Slices of all levels, the newest copy of each. Beyond the bound those that come first go.
class PendingColumns {
 public:
  explicit PendingColumns(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}
  void put(std::shared_ptr<const model::SliceColumn> column);
  // Half of what may wait does: the next cut should come before its time.
  bool much() const;
  std::uint64_t lost() const { return lost_; }
  void put_into(store::Cut& cut) const;
  void clear();

 private:
  std::uint64_t most_bytes_;
  std::map<std::pair<std::uint8_t, std::int64_t>, std::shared_ptr<const model::SliceColumn>> columns_;
  std::uint64_t bytes_ = 0;
  std::uint64_t lost_ = 0;
};

// What the analysis found.
class PendingFindings {
 public:
  void put(Findings&& findings);
  // Somebody waits for it to be kept.
  bool urgent() const { return !alerts_.empty() || handling_; }
  std::uint64_t alerts_lost() const { return alerts_lost_; }
  std::optional<std::uint64_t> handling_version() const;
  void put_into(store::Cut& cut) const;
  void clear();

 private:
  std::vector<store::AlertRecord> alerts_;
  std::size_t alert_bytes_ = 0;
  std::uint64_t alerts_lost_ = 0;
  std::map<std::pair<LevelIndex, std::uint32_t>, store::PhaseRecord> phases_;
  std::map<LevelIndex, std::uint32_t> phases_end_;
  std::vector<store::Blob> signatures_;
  std::size_t signature_bytes_ = 0;
  std::optional<store::ReportRecord> report_;
  std::optional<Findings::Handling> handling_;
};

// Raw events. They go into one cut each: it may be much.
class PendingRaw {
 public:
  explicit PendingRaw(const Options& options);
  // `in_cuts`: bytes of raw events in cuts on their way to the disk; `full`: there may be no more of them.
  void put(ingest::AcceptedBatch&& batch, std::size_t in_cuts, bool full);
  std::uint64_t lost() const { return lost_; }  // records
  // For a cut: taken, and given back if it does not get on its way. If it does, sent() is how many bytes.
  std::vector<store::RawBlock> take() { return std::exchange(blocks_, {}); }
  void give_back(std::vector<store::RawBlock>&& blocks) { blocks_ = std::move(blocks); }
  std::size_t sent() { return std::exchange(bytes_, 0); }

 private:
  std::size_t most_bytes_;
  DurationNs resolution_;
  std::vector<store::RawBlock> blocks_;
  std::vector<EventRecord> scratch_;
  std::size_t bytes_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace margay::daemon
