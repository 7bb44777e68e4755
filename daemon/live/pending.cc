#include "margay/live/pending.h"

#include <algorithm>

#include "margay/alert/handling.h"
#include "margay/settings/memory_budget.h"
#include "margay/trace/raw_block.h"

namespace margay::daemon {
namespace {

constexpr std::size_t kMostPendingColumns = 4096;
constexpr std::size_t kMostPendingAlerts = 4096;
constexpr std::size_t kMostPendingSignatures = 64;  // of up to 1 MiB

}  // namespace

void PendingColumns::put(std::shared_ptr<const model::SliceColumn> column) {
  auto& place = columns_[{column->level.value, column->index.value}];
  if (place) bytes_ -= place->bytes();
  bytes_ += column->bytes();
  place = std::move(column);
  while (columns_.size() > kMostPendingColumns || bytes_ > most_bytes_) {
    bytes_ -= columns_.begin()->second->bytes();
    columns_.erase(columns_.begin());
    ++lost_;
  }
}

bool PendingColumns::much() const {
  return columns_.size() > kMostPendingColumns / 2 || bytes_ > most_bytes_ / 2;
}

void PendingColumns::put_into(store::Cut& cut) const {
  for (const auto& [key, column] : columns_) cut.columns.push_back(column);
}

void PendingColumns::clear() {
  columns_.clear();
  bytes_ = 0;
}

void PendingFindings::put(Findings&& f) {
  for (auto& a : f.alerts)
    if (const std::size_t bytes = a.id.size() + a.json.size();
        alerts_.size() < kMostPendingAlerts && alert_bytes_ + bytes <= kPendingAlertBytes) {
      alert_bytes_ += bytes;
      alerts_.push_back(std::move(a));
    } else {
      ++alerts_lost_;
    }
  for (const auto& [level, end] : f.phases_end) {
    std::erase_if(phases_, [&](const auto& p) { return p.first.first == level && p.first.second >= end; });
    const auto known = phases_end_.emplace(level, end).first;
    known->second = std::min(known->second, end);
  }
  for (const auto& p : f.phases) phases_[{p.level, p.index}] = p;
  for (auto& s : f.signatures)
    if (signatures_.size() < kMostPendingSignatures &&
        signature_bytes_ + s.bytes.size() <= kPendingSignatureBytes) {
      signature_bytes_ += s.bytes.size();
      signatures_.push_back(std::move(s));
    }
  if (f.report) report_ = std::move(f.report);
  if (f.handling) handling_ = std::move(f.handling);
}

std::optional<std::uint64_t> PendingFindings::handling_version() const {
  return handling_ ? std::optional(handling_->version) : std::nullopt;
}

void PendingFindings::put_into(store::Cut& cut) const {
  cut.alerts = alerts_;
  cut.report = report_;
  if (handling_) cut.state.push_back({alert::kHandlingBlob, handling_->bytes});
  cut.phases_end = phases_end_;
  for (const auto& [index, phase] : phases_) cut.phases.push_back(phase);
  cut.signatures = signatures_;
}

void PendingFindings::clear() {
  alerts_.clear();
  phases_.clear();
  phases_end_.clear();
  signatures_.clear();
  alert_bytes_ = signature_bytes_ = 0;
  report_.reset();
  handling_.reset();
}

PendingRaw::PendingRaw(const Options& options)
    : most_bytes_(options.raw_backlog_bytes - fresh_raw_bytes(options)),
      resolution_(options.raw_resolution) {}

void PendingRaw::put(ingest::AcceptedBatch&& b, std::size_t in_cuts, bool full) {
  if (bytes_ + in_cuts + b.columns.size() > most_bytes_ || full) {
    lost_ += b.count;
    return;
  }
  store::RawBlock block{b.leaf, b.first, b.begin, b.end, b.count, std::move(b.columns), b.source};
  // The cells are made of exact times; what cannot be rounded is kept as it came.
  if (resolution_ > DurationNs(1)) static_cast<void>(trace::round_times(block, resolution_, scratch_));
  bytes_ += block.columns.size();
  blocks_.push_back(std::move(block));
}

}  // namespace margay::daemon
