#include "job_slowdown.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "blame.h"

namespace margay::detect {
namespace {

constexpr std::size_t kMostActivities = 4;
constexpr double kSlowdownPart = 0.25;  // of the false alarms of other departures
constexpr double kAsUsual = 0.9;        // of its usual work, and a leaf works as it does

}  // namespace

JobSlowdown::JobSlowdown(Options options)
    : options_(options), limits_(kSpans.size(), statistics::TailLimit(statistics::kLightTail)) {}

void JobSlowdown::restart(SliceIndex now) {
  recent_.clear();
  if (any_open()) episode_->over = true, episode_->end = now;
}

void JobSlowdown::drop_over() {
  if (episode_ && episode_->over) episode_.reset();
}

bool JobSlowdown::is_usual() const {
  return episode_ && episode_->over &&
         episode_->end.value - episode_->onset.value >= std::int64_t{options_.usual_slices};
}

// The newest slice is the first of each span.
void JobSlowdown::add_up_spans() {
  JobSlices sum;
  for (std::size_t i = 1, k = 0; i <= recent_.size(); ++i) {
    sum.add(recent_[recent_.size() - i].job);
    if (k < kSpans.size() && i == kSpans[k]) of_span_[k++] = sum;
  }
  spans_ = static_cast<std::size_t>(
      std::count_if(kSpans.begin(), kSpans.end(), [&](std::size_t k) { return k <= recent_.size(); }));
}

Grid JobSlowdown::sum_of_last(std::size_t slices) const {
  Grid out;
  const Grid& newest = recent_.back().spent;
  out.reach(newest.rows(), newest.columns());
  for (std::size_t i = recent_.size() - slices; i < recent_.size(); ++i) {
    const Grid& spent = recent_[i].spent;
    for (std::size_t l = 0; l < std::min(spent.rows(), out.rows()); ++l)
      for (std::size_t x = 0; x < std::min(spent.columns(), out.columns()); ++x) out[l][x] += spent[l][x];
  }
  return out;
}

// What does the job do? Told by as few slices as tell it. False if it is nothing known, or cannot be told.
bool JobSlowdown::recognise(const Columns& columns, SliceIndex now) {
  const auto spans = std::span(of_span_).first(spans_);
  const auto told =
      std::find_if(spans.begin(), spans.end(), [&](const JobSlices& s) { return s.tell(columns); });
  if (told == spans.end()) return false;
  const JobSlices& slices = *told;
  const auto is = [&](const Known& k) { return k.activity.is(slices, columns); };
  if (doing_ >= known_.size() || !is(known_[doing_]))
    doing_ = static_cast<std::size_t>(std::find_if(known_.begin(), known_.end(), is) - known_.begin());
  if (doing_ == known_.size()) {
    if (++unlike_ < kSpans.back() && !known_.empty()) return false;
    if (known_.size() == kMostActivities)
      known_.erase(std::min_element(known_.begin(), known_.end(),
                                    [](const Known& a, const Known& b) { return a.used < b.used; }));
    known_.push_back({JobActivity(of_span_[spans_ - 1]), now});
    doing_ = known_.size() - 1;
  }
  unlike_ = 0;
  known_[doing_].used = now;
  return true;
}

bool JobSlowdown::somebody_works(std::size_t slices, const Columns& columns) const {
  const JobActivity& activity = known_[doing_].activity;
  const Grid now = sum_of_last(slices);
  for (std::size_t l = 0; l < now.rows(); ++l) {
    float works = 0, usually = 0;
    for (std::size_t x = Contrast::kMachine; x < std::min(columns.work.size(), now.columns()); ++x)
      if (columns.work[x]) works += now[l][x] / static_cast<float>(slices), usually += activity.share(l, x);
    if (static_cast<double>(works) >
        std::max(options_.min_effect / 2, kAsUsual * static_cast<double>(usually)))
      return true;
  }
  return false;
}

std::optional<JobSlowdown::Alarm> JobSlowdown::test(const Columns& columns) {
  const JobActivity& activity = known_[doing_].activity;
  const double p =
      kSlowdownPart * statistics::in_a_slice(options_.false_alarms_per_day, options_.slice) / kSpans.size();
  std::optional<Alarm> out;
  bool suspect = false;
  nats_.fill(0);
  for (std::size_t k = 0; k < spans_; ++k) {
    const JobSlices& slices = of_span_[k];
    if (!slices.tell(columns) || !activity.is(slices, columns)) continue;
    if (slices.denied > options_.min_effect / 2 * slices.leaves) continue;
    const JobActivity::Less less = activity.less_work(k, slices);
    nats_[k] = less.nats;
    if (less.missing < options_.min_effect || activity.fewer_work(slices, columns) > less.missing / 2)
      continue;
    if (activity.elsewhere(slices, columns) > less.missing * less.usual / 2) continue;
    if (somebody_works(kSpans[k], columns)) continue;
    const double limit = limits_[k].limit(p, 1), least = kWaits * limit;
    suspect = suspect || less.nats > least / 2;
    if (less.nats > least && (!out || less.nats / limit > out->less.nats / out->limit))
      out = {k, less, limit};
  }
  suspicious_ = suspect ? suspicious_ + 1 : 0;
  return out;
}

void JobSlowdown::learn(const Contrast& contrast, const Columns& columns) {
  JobActivity& activity = known_[doing_].activity;
  for (std::size_t k = 0; k < spans_; ++k) {
    activity.learn(k, of_span_[k]);
    if (nats_[k] > 0) limits_[k].add(static_cast<float>(nats_[k]));
  }
  activity.learn(recent_.back().job, contrast.seen(), columns);
}

// Of those in a collective, most wait for who waits for single others.
void JobSlowdown::blame(const Contrast& contrast, const Columns& columns) {
  const JobActivity& usual = known_[doing_].activity;
  const std::size_t width = std::min(columns.work.size(), since_.columns());
  std::vector<float> longer(since_.rows()), in_state(columns.work.size());
  const auto beyond = [&](std::size_t l, std::size_t x) {
    return since_[l][x] / static_cast<float>(slices_) - usual.share(l, x);
  };
  float most = 0;
  for (const bool collective : {false, true}) {
    for (std::size_t l = 0; l < since_.rows(); ++l)
      for (std::size_t x = Contrast::kMachine; x < width; ++x) {
        if (columns.work[x] || (columns.collective[x] != 0) != collective || !contrast.there(l)) continue;
        longer[l] += beyond(l, x), in_state[x] += std::max(0.0f, beyond(l, x));
      }
    most = *std::max_element(longer.begin(), longer.end());
    if (static_cast<double>(most) >= options_.min_effect) break;
  }
  episode_->leaves.clear();
  if (static_cast<double>(most) < options_.min_effect) return;
  for (std::size_t l = 0; l < longer.size(); ++l)
    if (longer[l] >= most / 2) episode_->leaves.insert(static_cast<std::uint32_t>(l));
  const auto x =
      static_cast<std::size_t>(std::max_element(in_state.begin(), in_state.end()) - in_state.begin());
  episode_->state = columns.state_of[x];
  episode_->excess = 0;
  for (const std::uint32_t l : episode_->leaves)
    episode_->excess +=
        static_cast<double>(std::max(0.0f, beyond(l, x))) / static_cast<double>(episode_->leaves.size());
}

void JobSlowdown::begin(const Alarm& alarm, const Contrast& contrast, const Columns& columns,
                        SliceIndex now) {
  slices_ = kSpans[alarm.span];
  since_ = sum_of_last(slices_);
  episode_.emplace();
  blame(contrast, columns);
  if (episode_->leaves.empty()) return episode_.reset();
  Episode& e = *episode_;
  e.number = kFirst + 2 * ++begun_;
  e.onset = now + 1 - static_cast<std::int64_t>(slices_);
  e.less_work = alarm.less.missing;
  e.nats = alarm.less.nats, e.limit = alarm.limit;
  const statistics::TailLimit& tail = limits_[alarm.span];
  e.rarer = std::log(tail.chance(e.limit, 1) / tail.chance(e.nats, 1));
  least_work_ = of_span_[alarm.span].work_share();
  usual_work_ = alarm.less.usual;
  begun_by_ = nats_;
  back_ = 0;
}

void JobSlowdown::follow(const Contrast& contrast, const Columns& columns, SliceIndex now) {
  Episode& e = *episode_;
  const double work = recent_.back().job.work_share();
  least_work_ = std::min(least_work_, work);
  if (work < (usual_work_ + least_work_) / 2) {
    back_ = 0;
    const Grid newest = sum_of_last(1);
    since_.reach(newest.rows(), newest.columns());
    for (std::size_t l = 0; l < newest.rows(); ++l)
      for (std::size_t x = 0; x < newest.columns(); ++x) since_[l][x] += newest[l][x];
    ++slices_;
    const std::set<std::uint32_t> before = e.leaves;
    blame(contrast, columns);
    if (e.leaves.empty()) e.leaves = before;
    e.less_work += (1 - work / usual_work_ - e.less_work) / static_cast<double>(slices_);
  } else if (back_++ == 0) {
    e.end = now;
  }
  if (now.value + 1 - e.onset.value >= std::int64_t{options_.usual_slices}) e.over = true, e.end = now + 1;
  e.over = e.over || back_ >= options_.back_slices;
  if (e.over && e.end <= e.onset + static_cast<std::int64_t>(kSpans.back()))
    for (std::size_t k = 0; k < kSpans.size(); ++k)
      if (begun_by_[k] > 0) limits_[k].add(static_cast<float>(begun_by_[k]));
  if (is_usual()) known_.clear();
  if (e.over) recent_.clear();
}

void JobSlowdown::on_slice(const model::SliceColumn& slice, const Contrast& contrast, const Columns& columns,
                           Recurrence& recurrence) {
  const SliceIndex now = slice.index;
  Seen newest;
  if (recent_.size() == kSpans.back()) newest = std::move(recent_.front()), recent_.pop_front();
  newest.job = JobSlices::of(slice, contrast.seen(), columns);
  newest.spent = contrast.seen().spent;
  recent_.push_back(std::move(newest));
  if (recent_.back().job.leaves <= 0) return;
  if (any_open()) return follow(contrast, columns, now);
  add_up_spans();
  if (!recognise(columns, now)) return;
  if (const auto alarm = test(columns)) {
    begin(*alarm, contrast, columns, now);
    if (any_open()) {
      Episode& e = *episode_;
      e.usual = recurrence.usual(e.leaves, e.state, e.onset);
      return;
    }
  }
  if (suspicious_ == 0 || suspicious_ > kMostSuspicious) learn(contrast, columns);
}

}  // namespace margay::detect
