#include "margay/ingest/clock_map.h"

#include <algorithm>
#include <cmath>

namespace margay::ingest {
namespace {

// Samples over a shorter time tell the offset, not the drift.
constexpr DurationNs kDriftSpan = seconds(8);
// The machine was away: what was known of its clock before says nothing about it now.
constexpr DurationNs kLongAgo = seconds(120);
// Times from outside, and what is made of them, stay where sums of two cannot overflow.
constexpr std::int64_t kFarthest = std::int64_t{1} << 61;

double as_double(DurationNs d) {
  return static_cast<double>(d.value);
}

}  // namespace

ClockMap::ClockMap(DurationNs offset, DurationNs error)
    : segments_{{TimeNs(), TimeNs() + offset, 0}}, error_(error) {}

TimeNs ClockMap::Segment::at(TimeNs host) const {
  const std::int64_t past = std::clamp((host - begin).value, -kFarthest, kFarthest);
  const auto slewed = static_cast<std::int64_t>(static_cast<__int128>(past) * ppb / 1'000'000'000);
  return TimeNs(
      std::clamp(trace.value + std::clamp(past + slewed, -kFarthest, kFarthest), -kFarthest, kFarthest));
}

TimeNs ClockMap::to_trace(TimeNs host) const {
  for (std::size_t i = segments_.size() - 1; i > 0; --i)
    if (segments_[i].begin <= host) return segments_[i].at(host);
  return segments_.front().at(host);
}

// The line through the good samples, as seen from the newest of all.
ClockMap::Line ClockMap::fit() const {
  DurationNs best = samples_.front().error;
  for (const ClockSample& s : samples_) best = std::min(best, s.error);
  // A round trip that waited in a queue says little; one as quick as the quickest says all there is.
  const auto weight = [&](const ClockSample& s) {
    const double ratio = (as_double(best) + 1000.0) / (as_double(s.error) + 1000.0);
    return ratio * ratio * ratio * ratio;
  };
  const ClockSample& newest = samples_.back();
  double sum = 0, x = 0, y = 0;
  for (const ClockSample& s : samples_) {
    const double w = weight(s);
    sum += w;
    x += w * as_double(s.host - newest.host);
    y += w * as_double((s.trace - s.host) - (newest.trace - newest.host));
  }
  x /= sum;
  y /= sum;
  double xx = 0, xy = 0;
  for (const ClockSample& s : samples_) {
    const double w = weight(s), dx = as_double(s.host - newest.host) - x;
    xx += w * dx * dx;
    xy += w * dx * (as_double((s.trace - s.host) - (newest.trace - newest.host)) - y);
  }
  double slope = static_cast<double>(drift_ppb_) * 1e-9;
  const bool wide = samples_.size() >= 4 && newest.host - samples_.front().host >= kDriftSpan;
  if (wide && xx > 0) slope = xy / xx;
  const double most = static_cast<double>(kMostDriftPpb) * 1e-9;
  slope = std::clamp(slope, -most, most);
  Line line;
  line.host = newest.host;
  line.trace = newest.trace + DurationNs(static_cast<std::int64_t>(std::llround(y - slope * x)));
  line.ppb = static_cast<std::int64_t>(std::llround(slope * 1e9));
  return line;
}

void ClockMap::cut_after(TimeNs host) {
  while (segments_.size() > 1 && segments_.back().begin >= host) segments_.pop_back();
}

void ClockMap::add(const ClockSample& sample) {
  const bool first = samples_.empty();
  if (!first && sample.host <= samples_.back().host) return;  // an answer that was overtaken
  if (!first && sample.host - samples_.back().host > kLongAgo) samples_.clear();
  const DurationNs off = sample.trace - to_trace(sample.host);
  const bool step = DurationNs(std::abs(off.value)) > sample.error + (first ? DurationNs() : error_) + kStep;
  if (step) samples_.clear();
  samples_.push_back(sample);
  if (samples_.size() > kMostSamples) samples_.pop_front();
  error_ = sample.error;
  for (const ClockSample& s : samples_) error_ = std::min(error_, s.error);

  const Line line = fit();
  drift_ppb_ = line.ppb;
  if (step) {
    if (!first) ++steps_;
    cut_after(sample.host);
    segments_.push_back({sample.host, line.trace, line.ppb});
  } else {
    // From where the map stands to where it should be by the end of kSlew, then along the line.
    const TimeNs now = to_trace(sample.host);
    const auto behind = static_cast<double>((line.trace - now).value);
    const auto extra = static_cast<std::int64_t>(behind / as_double(kSlew) * 1e9);
    cut_after(sample.host);
    segments_.push_back({sample.host, now, line.ppb + extra});
    const TimeNs end = sample.host + kSlew;
    segments_.push_back({end, segments_.back().at(end), line.ppb});
  }
  if (segments_.size() > kMostSegments)
    segments_.erase(segments_.begin(),
                    segments_.begin() + static_cast<std::ptrdiff_t>(segments_.size() - kMostSegments));
}

}  // namespace margay::ingest
