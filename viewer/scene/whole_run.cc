#include "margay/scene/whole_run.h"

#include <algorithm>
#include <cmath>

#include "durations.h"
#include "margay/scene/navigation.h"

namespace margay::scene {
namespace {

constexpr std::int64_t kGrowth = 20;       // one part of so many
constexpr std::int64_t kLeastGrowth = 10;  // slices
constexpr int kMostRefused = 3;            // in a row, of the same stretch

std::int64_t length_of(TimeRange r) {
  return internal::minus(r.to.value, r.from.value);
}

double strip_x(const Strip& strip, TimeNs t) {
  const auto length = static_cast<double>(length_of(strip.run));
  if (!(length > 0)) return 0;
  const double since = static_cast<double>(internal::minus(t.value, strip.run.from.value));
  return std::clamp(since / length, 0.0, 1.0) * strip.width;
}

// Of this length, from there on, or as near to that as the run has room.
TimeRange in_run(TimeRange run, TimeNs from, std::int64_t length) {
  if (length >= length_of(run)) return run;
  const std::int64_t last = internal::minus(run.to.value, length);
  const std::int64_t begin = std::clamp(from.value, run.from.value, last);
  return {TimeNs(begin), TimeNs(begin + length)};
}

}  // namespace

wire::ViewQuestion whole_run_question(TimeRange run, std::uint64_t token) {
  Subject all;
  all.time = run;
  all.cuts = wire::ViewQuestion::TEMPORAL;
  return question_of(all, token, false);
}

bool is_whole_run_due(const std::optional<TimeRange>& asked, TimeRange run, DurationNs slice, bool ended) {
  if (!(run.from < run.to)) return false;
  if (!asked || asked->from != run.from || run.to < asked->to) return true;
  const std::int64_t more = internal::minus(run.to.value, asked->to.value);
  if (ended) return more > 0;
  return more >= length_of(*asked) / kGrowth && more / kLeastGrowth >= slice.value && more > 0;
}

bool WholeRun::look(bool seen) {
  return !std::exchange(seen_, seen) && seen;
}

bool WholeRun::due(TimeRange run, DurationNs slice, bool ended) const {
  return seen_ && !under_way() && is_whole_run_due(asked_, run, slice, ended);
}

wire::ViewQuestion WholeRun::ask(TimeRange run, std::uint64_t token) {
  if (asked_) refused_ = 0;  // there is more of it than what was refused
  asked_ = run;
  token_ = token;
  return whole_run_question(run, token);
}

bool WholeRun::is_mine(std::uint64_t token) {
  if (!under_way() || token < token_) return false;
  const bool mine = std::exchange(token_, 0) == token;
  if (!mine) asked_.reset();
  return mine;
}

bool WholeRun::answered(std::uint64_t token) {
  if (!is_mine(token)) return false;
  refused_ = 0;
  return true;
}

bool WholeRun::refused(std::uint64_t token) {
  if (!is_mine(token)) return false;
  // The daemon may have had too much to do.
  if (++refused_ < kMostRefused) asked_.reset();
  return true;
}

void WholeRun::ask_anew() {
  token_ = 0;
  asked_.reset();
}

Frame frame_of(const Strip& strip, TimeRange seen) {
  Frame f{strip_x(strip, seen.from), strip_x(strip, seen.to)};
  const double least = std::min(kLeastFrame, strip.width), lacks = least - (f.to - f.from);
  if (lacks <= 0) return f;
  f.from = std::clamp(f.from - lacks / 2, 0.0, strip.width - least);
  return {f.from, f.from + least};
}

TimeNs time_at(const Strip& strip, double x) {
  if (!(strip.width > 0)) return strip.run.from;
  const double share = std::clamp(x / strip.width, 0.0, 1.0);
  // What is not less than the whole length would be beyond it where doubles are coarser than times.
  if (share >= 1) return strip.run.to;
  const double off = share * static_cast<double>(length_of(strip.run));
  return TimeNs(internal::plus(strip.run.from.value, static_cast<std::int64_t>(off)));
}

Grip grip_at(const Strip& strip, TimeRange seen, double x) {
  const Frame f = frame_of(strip, seen);
  const double inwards = std::min(kGrip, (f.to - f.from) / 4);
  if (x >= f.from - kGrip && x <= f.from + inwards) return Grip::kBegin;
  if (x >= f.to - inwards && x <= f.to + kGrip) return Grip::kEnd;
  return x > f.from && x < f.to ? Grip::kInside : Grip::kElsewhere;
}

TimeRange dragged(const Strip& strip, TimeRange seen, Grip grip, TimeNs from, TimeNs to) {
  const TimeRange run = strip.run;
  const std::int64_t by = internal::minus(to.value, from.value);
  const auto moved = [by](TimeNs t) { return TimeNs(internal::plus(t.value, by)); };
  if (grip == Grip::kInside && length_of(seen) < length_of(run))
    return in_run(run, moved(seen.from), length_of(seen));
  TimeRange out = grip == Grip::kBegin ? TimeRange{moved(seen.from), seen.to}
                  : grip == Grip::kEnd ? TimeRange{seen.from, moved(seen.to)}
                                       : TimeRange{from, to};
  if (out.to < out.from) std::swap(out.from, out.to);
  return {std::clamp(out.from, run.from, run.to), std::clamp(out.to, run.from, run.to)};
}

TimeRange centred(const Strip& strip, TimeRange seen, TimeNs at) {
  const std::int64_t length = length_of(seen);
  return in_run(strip.run, TimeNs(internal::minus(at.value, length / 2)), length);
}

}  // namespace margay::scene
