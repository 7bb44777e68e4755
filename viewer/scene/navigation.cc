#include "margay/scene/navigation.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "durations.h"
#include "margay/scene/quality.h"
#include "margay/scene/time_axis.h"

namespace margay::scene {
namespace {

using internal::minus;
using internal::plus;

TimeRange ordered(TimeRange r) {
  return r.to < r.from ? TimeRange{r.to, r.from} : r;
}

// A number of nanoseconds as near to x as there is.
std::int64_t whole_ns(double x) {
  if (std::isnan(x)) return 0;
  constexpr double kMost = 9.2e18;
  return std::llround(std::clamp(x, -kMost, kMost));
}

// At least so long, about its middle.
TimeRange widened(TimeRange r, DurationNs least) {
  const std::int64_t length = minus(r.to.value, r.from.value);
  if (length >= least.value) return r;
  const std::int64_t from = minus(r.from.value, (least.value - length) / 2);
  return {TimeNs(from), TimeNs(plus(from, least.value))};
}

// Moved to lie within the bounds, and cut where it is longer.
TimeRange inside(TimeRange r, const std::optional<TimeRange>& bounds) {
  if (!bounds || !(bounds->from < bounds->to)) return r;
  const std::int64_t length = minus(r.to.value, r.from.value);
  if (length >= minus(bounds->to.value, bounds->from.value)) return *bounds;
  if (r.from < bounds->from) return {bounds->from, TimeNs(plus(bounds->from.value, length))};
  if (r.to > bounds->to) return {TimeNs(minus(bounds->to.value, length)), bounds->to};
  return r;
}

}  // namespace

std::string cuts_text(Cuts cuts) {
  switch (cuts) {
    case wire::ViewQuestion::TEMPORAL:
      return "in time only";
    case wire::ViewQuestion::SPATIAL:
      return "in space only";
    case wire::ViewQuestion::PRODUCT:
      return "in space only times in time only";
    default:
      return "in space and time at once";
  }
}

std::string cuts_word(Cuts cuts) {
  std::string word = wire::ViewQuestion::Partition_Name(cuts);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

wire::ViewQuestion question_of(const Subject& s, std::uint64_t token, bool curve) {
  wire::ViewQuestion q;
  q.set_token(token);
  if (s.time && s.time->from < s.time->to) {
    q.set_from_ns(s.time->from.value);
    q.set_to_ns(s.time->to.value);
    if (s.cuts != wire::ViewQuestion::TEMPORAL) q.set_visits(s.visits);
  } else {
    q.set_slice_ns(std::max<std::int64_t>(s.level.value, 0));
  }
  q.set_slices(std::min(s.slices, kMostAskedSlices));
  q.set_node(s.node == "/" ? "" : s.node);
  for (const std::string& state : s.states) q.add_states(state);
  put_filter(s.filter, q);
  put_view(s.view, q);
  q.set_measure(s.measure);
  q.set_partition(s.cuts);
  if (s.p && !std::isnan(*s.p))
    q.set_p(std::clamp(*s.p, 0.0, 1.0));
  else
    q.set_policy(s.policy);
  q.set_curve(curve);
  return q;
}

Subject subject_of(const wire::ViewQuestion& q) {
  Subject s;
  if (q.from_ns() < q.to_ns()) s.time = TimeRange{TimeNs(q.from_ns()), TimeNs(q.to_ns())};
  if (!s.time) s.level = DurationNs(q.slice_ns());
  s.node = q.node();
  s.states.assign(q.states().begin(), q.states().end());
  s.filter = filter_of(q.filter());
  s.view = view_of(q.view());
  s.slices = q.slices();
  s.measure = q.measure();
  s.visits = q.visits();
  s.cuts = q.partition();
  if (q.has_p())
    s.p = q.p();
  else
    s.policy = q.policy();
  return s;
}

Subject zoomed_to(Subject subject, TimeRange range, DurationNs least) {
  subject.time = widened(ordered(range), DurationNs(std::max<std::int64_t>(least.value, 1)));
  return subject;
}

Subject zoomed_by(Subject subject, TimeRange shown, double factor, TimeNs about,
                  std::optional<TimeRange> bounds, DurationNs least) {
  if (!(factor > 0) || !std::isfinite(factor) || !(shown.from < shown.to)) return subject;
  const auto scaled = [&](TimeNs t) {
    const double off = static_cast<double>(minus(t.value, about.value)) * factor;
    return TimeNs(plus(about.value, whole_ns(off)));
  };
  const TimeRange range{scaled(shown.from), scaled(shown.to)};
  subject.time = inside(widened(range, DurationNs(std::max<std::int64_t>(least.value, 1))), bounds);
  return subject;
}

Subject panned_by(Subject subject, TimeRange shown, double share, std::optional<TimeRange> bounds) {
  if (!std::isfinite(share) || !(shown.from < shown.to)) return subject;
  const std::int64_t length = minus(shown.to.value, shown.from.value);
  const std::int64_t by = whole_ns(static_cast<double>(length) * share);
  const TimeNs from(plus(shown.from.value, by));
  subject.time = inside({from, TimeNs(plus(from.value, length))}, bounds);
  return subject;
}

Subject following(Subject subject) {
  subject.time.reset();
  return subject;
}

Subject into(Subject subject, std::string path) {
  subject.node = path == "/" ? "" : std::move(path);
  return subject;
}

Subject up(Subject subject) {
  while (subject.node.ends_with('/')) subject.node.pop_back();
  const std::size_t at = subject.node.rfind('/');
  subject.node.resize(at == std::string::npos ? 0 : at);
  return subject;
}

std::string text_of(const Subject& s, TimeNs zero) {
  std::string text = s.node.empty() || s.node == "/" ? "all" : s.node;
  const auto add = [&](const std::string& more) { text += ", " + more; };
  if (!s.view.is_usual()) add("by " + s.view.levels);
  if (s.time)
    add(exact_text(DurationNs(minus(s.time->from.value, zero.value))) + " to " +
        exact_text(DurationNs(minus(s.time->to.value, zero.value))));
  else
    add("newest");
  if (!s.time && s.level.value > 0) add("slices of " + exact_text(s.level));
  if (s.slices > 0) add(std::to_string(s.slices) + (s.slices == 1 ? " slice" : " slices"));
  if (!s.measure.empty()) add(s.measure);
  if (s.cuts != wire::ViewQuestion::SPATIOTEMPORAL) add(cuts_text(s.cuts));
  if (s.states.size() == 1) add(s.states.front());
  if (s.states.size() > 1) add(std::to_string(s.states.size()) + " states");
  for (const std::string& t : s.filter.states) add(state_term_text(t));
  for (const std::string& t : s.filter.resources) add(resource_term_text(t));
  if (s.filter.of_the_rest) add(proportions_text(true));
  if (s.p)
    add("p " + p_text(*s.p));
  else if (!s.policy.empty() && s.policy != "noise")
    add("p by " + s.policy);
  if (s.time_p) add("of the time line p " + p_text(*s.time_p));
  return text;
}

History::History(Subject start) : start_(std::move(start)), entries_{start_} {}

void History::go(Subject subject) {
  if (subject == now()) return;
  entries_.resize(at_ + 1);
  entries_.push_back(std::move(subject));
  if (entries_.size() > kMost) entries_.erase(entries_.begin());
  at_ = entries_.size() - 1;
}

void History::replace(Subject subject) {
  entries_[at_] = std::move(subject);
}

const Subject& History::back() {
  if (can_back()) --at_;
  return now();
}

const Subject& History::forward() {
  if (can_forward()) ++at_;
  return now();
}

const Subject& History::reset() {
  go(start_);
  return now();
}

}  // namespace margay::scene
