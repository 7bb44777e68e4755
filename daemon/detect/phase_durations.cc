#include "margay/detect/phase_durations.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "margay/statistics/student.h"

namespace margay::detect {
namespace {

constexpr double kSecondsADay = 86'400;
// Durations that vary less than this are taken to vary as much; edges are off by a slice, too.
constexpr double kLeastDeviation = 0.05;
// With so many, those that lie this many deviations off are no part of what is usual.
constexpr std::size_t kLeastTrimmed = 6;
constexpr double kFarOff = 4;
constexpr double kLeastFactor = 1.5;  // too long is at least so many times the usual
constexpr double kLeastShorter = 2;   // and early at most the usual by this
constexpr std::size_t kLeastForEarly = 8;
constexpr double kAgain = 1.05;         // what came twice, and a little more, is usual
constexpr double kMostDisturbed = 0.1;  // of a stretch that is learned from
constexpr std::uint32_t kLeastFollowed = 3;
constexpr double kClearlyFollowed = 0.8;
constexpr std::size_t kMostFollowers = 32;
constexpr std::size_t kMostTakenBack = 8;
constexpr std::size_t kMostDisturbances = 4096;
constexpr std::size_t kLateRemembered = 32;
constexpr double kLongestLog = 18;  // e^18 s are two years
// In slices. A stretch may still turn out to be a transition, and for longer than that to be another phase.
const std::int64_t kSure = 2 * PhaseOptions{}.shortest + 2;
const std::int64_t kSettled = PhaseOptions{}.settle + 2;

double log_seconds(DurationNs d) {
  return std::log(static_cast<double>(std::max<std::int64_t>(d.value, 1)) * 1e-9);
}
DurationNs from_log(double log_s) {
  return DurationNs(static_cast<std::int64_t>(std::llround(std::exp(std::min(log_s, kLongestLog)) * 1e9)));
}

// The value at `share` of the sorted values, between two of them in proportion.
double at_share(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto i = static_cast<std::size_t>(at);
  if (i + 1 >= sorted.size()) return sorted.back();
  return sorted[i] + (at - static_cast<double>(i)) * (sorted[i + 1] - sorted[i]);
}

std::string text_of(DurationNs d) {
  char text[48];
  const double s = static_cast<double>(d.value) * 1e-9;
  if (s < 100)
    std::snprintf(text, sizeof text, "%.1f s", s);
  else if (s < 6000)
    std::snprintf(text, sizeof text, "%.0f s", s);
  else
    std::snprintf(text, sizeof text, "%.1f h", s / 3600);
  return text;
}

std::vector<double> sorted_logs(const std::deque<std::pair<std::uint32_t, double>>& logs) {
  std::vector<double> out;
  out.reserve(logs.size());
  for (const auto& [index, log] : logs) out.push_back(log);
  std::sort(out.begin(), out.end());
  return out;
}

// Without those that lie far off. The median absolute deviation, made consistent with the normal
// distribution's, is too small on average where there are few (Croux and Rousseeuw, Time-efficient algorithms
// for two highly robust estimators of scale, 1992: n / (n - 0.8)).
std::vector<double> trimmed(const std::vector<double>& sorted, double floor) {
  const auto n = static_cast<double>(sorted.size());
  if (sorted.size() < kLeastTrimmed) return sorted;
  const double median = at_share(sorted, 0.5);
  std::vector<double> off;
  off.reserve(sorted.size());
  for (const double x : sorted) off.push_back(std::abs(x - median));
  std::sort(off.begin(), off.end());
  const double deviation = std::max(floor, 1.4826 * n / (n - 0.8) * at_share(off, 0.5));
  std::vector<double> out;
  for (const double x : sorted)
    if (std::abs(x - median) <= kFarOff * deviation) out.push_back(x);
  return out;
}

}  // namespace

// The next one is off the mean of n by more than these are among themselves.
double LogEstimate::scale() const {
  return deviation * std::sqrt(1 + 1 / n);
}
double LogEstimate::survival(double log_s) const {
  return statistics::student_survival((log_s - mean) / scale(), n - 1);
}
double LogEstimate::quantile(double survival) const {
  return mean + scale() * statistics::student_quantile(std::clamp(survival, 1e-12, 1 - 1e-12), n - 1);
}

void PhaseDurations::restore(const std::vector<PhaseSpan>& before) {
  constexpr std::uint32_t kNoIndex = UINT32_MAX;
  for (const PhaseSpan& span : before) {
    if (first_begin_ == TimeNs()) first_begin_ = span.begin;
    ++stretches_;
    mean_stretch_s_ =
        static_cast<double>((span.end - first_begin_).value) * 1e-9 / static_cast<double>(stretches_);
    if (span.name == "init" || span.end <= span.begin) {
      before_.clear();
      continue;
    }
    History& h = histories_[span.name];
    h.logs.emplace_back(kNoIndex, log_seconds(span.end - span.begin));
    if (h.logs.size() > kRemembered) h.logs.pop_front();
    ++h.times;
    follows(span.name);
    before_ = span.name;
  }
  for (auto& [name, h] : histories_) learn(h);
  before_.clear();  // what comes next may follow something else
  restored_ = true;
}

// After the phase before it, if that is known. Of a phase that many follow the first of them count.
void PhaseDurations::follows(const std::string& phase) {
  if (before_.empty()) return;
  auto& followers = histories_[before_].next;
  if (followers.size() < kMostFollowers || followers.contains(phase)) ++followers[phase];
}

void PhaseDurations::disturb(SliceIndex from, SliceIndex to) {
  while (!disturbed_.empty() && disturbed_.back().first <= to + 1 && disturbed_.back().second + 1 >= from) {
    from = std::min(from, disturbed_.back().first);
    to = std::max(to, disturbed_.back().second);
    disturbed_.pop_back();
  }
  disturbed_.emplace_back(from, to);
  if (disturbed_.size() > kMostDisturbances) disturbed_.pop_front();
}

DurationNs PhaseDurations::disturbed_in(TimeNs begin, TimeNs end) const {
  DurationNs sum{};
  for (auto d = disturbed_.rbegin(); d != disturbed_.rend(); ++d) {
    const TimeNs from = std::max(begin, slice_begin(d->first, options_.slice));
    const TimeNs to = std::min(end, slice_end(d->second, options_.slice));
    if (to > from) sum = sum + (to - from);
    if (from == begin) break;  // what came before lies before it
  }
  return sum;
}

// What boundaries take to be found, the most but one of those remembered.
DurationNs PhaseDurations::late() const {
  std::vector<DurationNs> all(late_.begin(), late_.end());
  std::sort(all.begin(), all.end());
  const DurationNs least = options_.slice * kSure;
  return all.size() < 2 ? least : std::max(least, all[all.size() - 2]);
}

void PhaseDurations::learn(History& h) const {
  h.estimate.reset();
  if (h.logs.size() < options_.least_times) return;
  const std::vector<double> all = sorted_logs(h.logs);
  const double median = at_share(all, 0.5);
  const double floor =
      std::max(kLeastDeviation, static_cast<double>(options_.slice.value) * 1e-9 / std::exp(median));
  const std::vector<double> usual = trimmed(all, floor);
  LogEstimate e;
  e.n = static_cast<double>(usual.size());
  for (const double x : usual) e.mean += x / e.n;
  double squares = 0;
  for (const double x : usual) squares += (x - e.mean) * (x - e.mean);
  e.deviation = std::max(floor, std::sqrt(squares / (e.n - 1)));
  h.estimate = e;
  // One in so many stretches may be said to be too long, one to be too short.
  const double a_day = options_.false_alarms_per_day > 0 ? options_.false_alarms_per_day : 1;
  const double chance = std::clamp(a_day * mean_stretch_s_ / kSecondsADay / 2, 1e-9, 0.05);
  const double off = e.quantile(chance) - e.mean;
  h.too_long =
      std::max({e.mean + off, median + std::log(kLeastFactor), all[all.size() - 2] + std::log(kAgain)});
  h.too_short = std::min({e.mean - off, median - std::log(kLeastShorter), all[1] - std::log(kAgain)});
}

bool PhaseDurations::usually_follows(const History& h, const std::string& next) const {
  std::uint32_t sum = 0, this_one = 0;
  for (const auto& [name, n] : h.next) {
    sum += n;
    if (name == next) this_one = n;
  }
  return this_one >= kLeastFollowed && this_one >= kClearlyFollowed * sum;
}

alert::Alert PhaseDurations::alert_of(const PhaseSpan& span, const History& h, TimeNs onset,
                                      DurationNs lasted, double limit, TimeNs watermark, double p) const {
  alert::Alert a;
  a.run = options_.run;
  a.kind = alert::Kind::kPhaseDuration;
  a.level = options_.slice;
  a.onset = onset;
  a.detected = watermark;
  a.id = options_.run + "-" + alert::to_string(a.kind) + "-" + std::to_string(onset.value / 1'000'000) + "-" +
         std::to_string(span.index);
  a.node = "/";
  a.affected = {"/"};
  a.phase = span.name;
  a.p = p;
  const double s = h.estimate->survival(log_seconds(lasted));
  const double at_limit = h.estimate->survival(limit);
  const bool late = limit > h.estimate->mean;
  a.p_value = std::max(1e-300, late ? s : 1 - s);
  const double allowed = std::max(1e-300, late ? at_limit : 1 - at_limit);
  a.false_alarms_per_day =
      std::max(options_.false_alarms_per_day * std::min(1.0, a.p_value / allowed), alert::kLeastFalseAlarms);
  a.duration =
      alert::PhaseDuration{lasted, from_log(at_share(sorted_logs(h.logs), 0.5)), from_log(limit), h.times};
  reach(a, onset + DurationNs(1));
  return a;
}

// So far.
void PhaseDurations::reach(alert::Alert& a, TimeNs end) const {
  const SliceIndex first = slice_of(a.onset, options_.slice);
  const std::int64_t last = slice_of(end - DurationNs(1), options_.slice).value;
  a.area = {{"/"}, first, static_cast<std::uint64_t>(std::max(first.value, last) + 1 - first.value)};
  const std::int64_t late = std::max<std::int64_t>(0, (a.duration->lasted - a.duration->usual).value);
  a.cost_s = std::round(static_cast<double>(late) * 1e-6) * 1e-3;
}

void PhaseDurations::take(const PhaseSpan& span, const std::string& next, TimeNs watermark, double p,
                          std::vector<alert::Alert>& out) {
  const DurationNs disturbed = disturbed_in(span.begin, span.end);
  const DurationNs lasted = span.end - span.begin - disturbed;
  const bool is_phase = span.name != "init";
  Taken t{span.index, is_phase ? span.name : "", before_, false};
  mean_stretch_s_ =
      static_cast<double>((span.end - first_begin_).value) * 1e-9 / static_cast<double>(++stretches_);
  if (is_phase) {
    History& h = histories_[span.name];
    t.learned = lasted.value > 0 && !(restored_ && span.index == 0) &&
                static_cast<double>(disturbed.value) <=
                    kMostDisturbed * static_cast<double>((span.end - span.begin).value);
    if (t.learned) {
      const double log = log_seconds(lasted);
      if (options_.false_alarms_per_day > 0 && h.logs.size() >= kLeastForEarly && h.estimate &&
          log < h.too_short && disturbed.value == 0 && usually_follows(h, next)) {
        alert::Alert a = alert_of(span, h, span.end, lasted, h.too_short, watermark, p);
        a.message = named(span) + " ended after " + text_of(lasted) + "; usually it lasts " +
                    text_of(a.duration->usual) + " (" + std::to_string(h.times) + " times)";
        out.push_back(a);
        a.status = alert::Status::kResolved;
        a.end = span.end;
        out.push_back(std::move(a));
      }
      h.logs.emplace_back(span.index, log);
      if (h.logs.size() > kRemembered) h.logs.pop_front();
      ++h.times;
      learn(h);
    }
    follows(span.name);
  }
  before_ = t.phase;
  taken_.push_back(std::move(t));
  if (taken_.size() > kMostTakenBack) taken_.pop_front();
  const SliceIndex begin = slice_of(span.begin, options_.slice);
  while (!disturbed_.empty() && disturbed_.front().second < begin) disturbed_.pop_front();
}

// Stretches from `from` on are not over after all.
void PhaseDurations::take_back(std::uint32_t from) {
  while (!taken_.empty() && taken_.back().index >= from) {
    const Taken& t = taken_.back();
    --stretches_;
    if (t.learned) {
      History& h = histories_[t.phase];
      if (!h.logs.empty() && h.logs.back().first == t.index) h.logs.pop_back();
      --h.times;
      learn(h);
    }
    if (!t.phase.empty() && !t.before.empty()) {
      auto& followers = histories_[t.before].next;
      if (const auto it = followers.find(t.phase); it != followers.end() && --it->second == 0)
        followers.erase(it);
    }
    before_ = t.before;
    next_index_ = t.index;
    taken_.pop_back();
  }
}

void PhaseDurations::on_slice(const PhaseTracker& phases, SliceIndex slice, TimeNs watermark, double p,
                              std::vector<alert::Alert>& out) {
  current_.reset();
  const auto& spans = phases.spans();
  if (spans.empty()) return;
  const PhaseSpan& newest = spans.back();
  const std::uint32_t oldest = spans.front().index;
  const TimeNs now = slice_end(slice, options_.slice);
  if (first_begin_ == TimeNs()) first_begin_ = spans.front().begin;
  if (newest.index > newest_seen_ && disturbed_in(newest.begin, now).value == 0) {
    late_.push_back(now - newest.begin);
    if (late_.size() > kLateRemembered) late_.pop_front();
  }
  newest_seen_ = newest.index;

  take_back(newest.index);
  const DurationNs age = newest.end - newest.begin;
  next_index_ = std::max(next_index_, oldest);
  for (; next_index_ < newest.index; ++next_index_) {
    if (next_index_ + 1 == newest.index && age < options_.slice * kSettled) break;
    const std::size_t at = next_index_ - oldest;
    take(spans[at], spans[at + 1].name, watermark, p, out);
  }

  if (open_ && newest.index != open_index_) {
    const bool sure = newest.index != open_index_ + 1 || age >= options_.slice * kSure || !newest.current;
    const bool known = open_index_ >= oldest && open_index_ < newest.index;
    if (sure) resolve(known ? spans[open_index_ - oldest].end : now, watermark, out);
  }
  if (newest.current) look_at_current(newest, now, watermark, p, out);
}

void PhaseDurations::look_at_current(const PhaseSpan& span, TimeNs now, TimeNs watermark, double p,
                                     std::vector<alert::Alert>& out) {
  const auto found = histories_.find(span.name);
  if (found == histories_.end() || !found->second.estimate) return;
  const History& h = found->second;
  const DurationNs disturbed = disturbed_in(span.begin, now);
  const DurationNs lasted = now - span.begin - disturbed;
  if (lasted < options_.slice * kSure) return;

  // That it has not ended is known of no more than this: a boundary is not seen before so many slices.
  const DurationNs surely = std::max(options_.slice, lasted - options_.slice * PhaseOptions{}.shortest);
  const bool overdue = lasted > from_log(h.too_long) + late();
  current_ = Current{span.name, span.begin, disturbed, surely, overdue};

  const bool explained = !disturbed_.empty() && slice_end(disturbed_.back().second, options_.slice) >= now;
  if (!overdue || explained || options_.false_alarms_per_day <= 0 || told_ == span.index) return;
  const DurationNs usual = from_log(at_share(sorted_logs(h.logs), 0.5));
  alert::Alert a = alert_of(span, h, span.begin + disturbed + usual, lasted, h.too_long, watermark, p);
  a.message = named(span) + " has lasted " + text_of(lasted) + ", and goes on; usually it lasts " +
              text_of(usual) + " (" + std::to_string(h.times) + " times)";
  reach(a, now);
  out.push_back(a);
  if (open_) resolve(span.begin, watermark, out);
  open_ = std::move(a);
  open_index_ = span.index;
  open_begin_ = span.begin;
  open_name_ = named(span);
  told_ = span.index;
}

std::optional<PhaseForecast> PhaseDurations::forecast() const {
  if (!current_) return std::nullopt;
  const auto found = histories_.find(current_->phase);
  if (found == histories_.end() || !found->second.estimate) return std::nullopt;
  const History& h = found->second;
  PhaseForecast f;
  f.phase = current_->phase;
  f.times = h.times;
  const double left = h.estimate->survival(log_seconds(current_->surely));
  const auto end_at = [&](double share) {
    return current_->begin + current_->disturbed +
           std::max(current_->surely, from_log(h.estimate->quantile(left * share)));
  };
  constexpr double kOutside = (1 - PhaseForecast::kConfidence) / 2;
  f.earliest = end_at(1 - kOutside);
  f.end = end_at(0.5);
  f.latest = end_at(kOutside);
  std::uint32_t sum = 0;
  for (const auto& [name, n] : h.next) sum += n;
  for (const auto& [name, n] : h.next)
    if (usually_follows(h, name)) f.next = name, f.next_share = static_cast<double>(n) / sum;
  f.overdue = current_->overdue;
  return f;
}

void PhaseDurations::resolve(TimeNs end, TimeNs watermark, std::vector<alert::Alert>& out) {
  alert::Alert& a = *open_;
  a.status = alert::Status::kResolved;
  a.end = std::max(a.onset, end);
  a.detected = watermark;
  a.duration->lasted = std::max(DurationNs{}, end - open_begin_ - disturbed_in(open_begin_, end));
  reach(a, *a.end);
  a.message = open_name_ + " lasted " + text_of(a.duration->lasted) + "; usually it lasts " +
              text_of(a.duration->usual) + " (" + std::to_string(a.duration->times) + " times)";
  out.push_back(std::move(a));
  open_.reset();
}

void PhaseDurations::finish(TimeNs t, TimeNs watermark, std::vector<alert::Alert>& out) {
  if (open_) resolve(t, watermark, out);
  current_.reset();
}

std::string PhaseDurations::named(const PhaseSpan& span) {
  return "phase " + span.name + (span.label.empty() ? "" : " (" + span.label + ")");
}

std::optional<DurationStatistics> PhaseDurations::statistics(const std::string& phase) const {
  const auto found = histories_.find(phase);
  if (found == histories_.end() || found->second.logs.empty()) return std::nullopt;
  const History& h = found->second;
  const std::vector<double> all = sorted_logs(h.logs);
  return DurationStatistics{h.times, from_log(at_share(all, 0.5)), from_log(at_share(all, 0.25)),
                            from_log(at_share(all, 0.75)), from_log(h.logs.back().second)};
}

std::map<std::string, DurationStatistics> PhaseDurations::statistics() const {
  std::map<std::string, DurationStatistics> out;
  for (const auto& [name, h] : histories_)
    if (auto s = statistics(name)) out.emplace(name, *s);
  return out;
}

}  // namespace margay::detect
