#include "margay/query/event_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace margay::daemon {
namespace {

constexpr int kSubBits = 5;                     // buckets for each power of two, as a power of two
constexpr std::int64_t kExact = 2 << kSubBits;  // below it each length has a bucket of its own

}  // namespace

std::uint16_t LengthStatistics::bucket_of(std::int64_t ns) {
  if (ns < kExact) return static_cast<std::uint16_t>(ns);
  const int shift = std::bit_width(static_cast<std::uint64_t>(ns)) - 1 - kSubBits;
  return static_cast<std::uint16_t>((shift << kSubBits) + (ns >> shift));
}

std::int64_t LengthStatistics::width_of(std::uint16_t bucket) {
  return bucket < kExact ? 1 : std::int64_t{1} << ((bucket >> kSubBits) - 1);
}

std::int64_t LengthStatistics::begin_of(std::uint16_t bucket) {
  if (bucket < kExact) return bucket;
  const int shift = (bucket >> kSubBits) - 1;
  return static_cast<std::int64_t>(bucket - (shift << kSubBits)) << shift;
}

std::vector<LengthStatistics::Bin> LengthStatistics::bins() const {
  std::vector<Bin> out;
  for (const auto& [bucket, count] : buckets_) {
    const std::int64_t from = begin_of(bucket), width = width_of(bucket);
    // The last one ends where 64 bits do.
    out.push_back({from,
                   std::numeric_limits<std::int64_t>::max() - from < width
                       ? std::numeric_limits<std::int64_t>::max()
                       : from + width,
                   count});
  }
  return out;
}

void LengthStatistics::add(std::int64_t ns) {
  shortest_ = single_ == 0 ? ns : std::min(shortest_, ns);
  longest_ = std::max(longest_, ns);
  ++single_;
  const double off = static_cast<double>(ns) - mean_;
  mean_ += off / static_cast<double>(single_);
  squares_ += off * (static_cast<double>(ns) - mean_);
  ++buckets_[bucket_of(ns)];
}

void LengthStatistics::add_sum(std::uint64_t calls, std::int64_t ns) {
  summed_ += calls;
  sum_of_summed_ += static_cast<double>(ns);
}

double LengthStatistics::mean() const {
  return count() == 0
             ? 0
             : (mean_ * static_cast<double>(single_) + sum_of_summed_) / static_cast<double>(count());
}

double LengthStatistics::deviation() const {
  return single_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(single_ - 1));
}

std::int64_t LengthStatistics::quantile(double q) const {
  if (single_ == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(
      std::clamp(std::ceil(q * static_cast<double>(single_)), 1.0, static_cast<double>(single_)));
  if (wanted == 1) return shortest_;
  if (wanted == single_) return longest_;
  std::uint64_t seen = 0;
  for (const auto& [bucket, n] : buckets_) {
    seen += n;
    if (seen >= wanted) return std::clamp(begin_of(bucket) + width_of(bucket) / 2, shortest_, longest_);
  }
  return longest_;
}

Result<EventSummary*> EventStatistics::group(const std::string& name, const std::string& resource) {
  const auto key = std::pair(name, resource);
  const auto at = groups_.find(key);
  if (at != groups_.end()) return &at->second;
  if (groups_.size() >= kMostGroups)
    return fail(ErrorCode::kLimit, "there are more than " + std::to_string(kMostGroups) +
                                       " kinds of events: choose fewer resources, or names");
  EventSummary& fresh = groups_[key];
  fresh.name = name, fresh.resource = resource;
  return &fresh;
}

Status EventStatistics::add(const EventRow& row) {
  const trace::Occurrence& o = row.what;
  if (o.kind != trace::Occurrence::Kind::kState && o.kind != trace::Occurrence::Kind::kRegion) return {};
  const auto found = group(by_ == By::kResource ? "" : row.name.text, by_ == By::kName ? "" : row.resource);
  if (!found) return tl::unexpected(found.error());
  resources_.try_emplace(row.resource);
  EventSummary& g = **found;
  const DurationNs length = o.end - o.begin;
  const bool summed = o.calls != 1;
  if (summed)
    g.lengths.add_sum(o.calls, length.value);
  else
    g.lengths.add(length.value);
  g.total += std::max(DurationNs(), std::min(o.end, to_) - std::max(o.begin, from_));
  g.bytes += o.bytes;
  const DurationNs longest = summed ? o.longest : length;
  if (longest > g.longest || g.longest_resource.empty())
    g.longest = longest, g.longest_begin = o.begin, g.longest_resource = row.resource;
  return {};
}

Status EventStatistics::add(const MessageRow& row) {
  const auto found = group(row.from, row.to);
  if (!found) return tl::unexpected(found.error());
  EventSummary& g = **found;
  const trace::Message& m = row.what;
  g.bytes += m.bytes;
  if (!m.completed) {
    ++g.untimed;
    return {};
  }
  const DurationNs took = std::max(DurationNs(), m.received - m.sent);
  g.lengths.add(took.value);
  g.total += took;
  if (took > g.longest || g.longest_resource.empty())
    g.longest = took, g.longest_begin = m.sent, g.longest_resource = row.to;
  return {};
}

std::vector<EventSummary> EventStatistics::summaries() const {
  std::vector<EventSummary> out;
  for (const auto& [key, g] : groups_) out.push_back(g);
  std::stable_sort(out.begin(), out.end(),
                   [](const EventSummary& a, const EventSummary& b) { return a.total > b.total; });
  return out;
}

}  // namespace margay::daemon
