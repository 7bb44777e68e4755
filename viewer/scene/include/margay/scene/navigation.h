// What is looked at, the question to the daemon that it makes, and the way back.
//
// Thread safety: a History needs exclusive access; the rest are values and pure functions. Cost: constant, or
// linear in the states of a filter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/time.h"
#include "margay/scene/point_of_view.h"
#include "margay/scene/run_filter.h"
#include "margay/scene/view_data.h"
#include "margay/wire/view.pb.h"

namespace margay::scene {

inline constexpr std::uint32_t kMostAskedSlices = 1000;  // wire::ViewQuestion.slices

using Cuts = wire::ViewQuestion::Partition;
// "in space and time at once", "in space only": how it is cut.
std::string cuts_text(Cuts cuts);
// "spatiotemporal", "temporal", "spatial" or "product", as options have it.
std::string cuts_word(Cuts cuts);

struct Subject {
  std::optional<TimeRange> time;    // none: the newest slices, following the run
  PointOfView view;                 // by which resources are in order
  std::string node;                 // path, in the view or in the usual one; "" or "/": all
  std::vector<std::string> states;  // none: all
  RunFilter filter;                 // what else is left out
  std::uint32_t slices = 0;         // 0: as the daemon thinks best
  DurationNs level{};               // slice duration, without `time`; 0: the finest
  std::string measure;              // "": durations
  Cuts cuts = wire::ViewQuestion::SPATIOTEMPORAL;
  std::optional<double> p;       // asked for; or else
  std::string policy;            // "noise", "jump"; "": noise
  std::optional<double> time_p;  // of the time line; none: the picture's. No part of the question
  std::uint32_t visits = 0;      // of a `time`: single visits, if there are no more
  bool operator==(const Subject&) const = default;
};

// With the curve where `curve`. Values out of range are brought into it: p into [0, 1], slices to
// kMostAskedSlices, a time range of none becomes the newest.
wire::ViewQuestion question_of(const Subject& subject, std::uint64_t token, bool curve);
// What a question is about.
Subject subject_of(const wire::ViewQuestion& question);

// Steps from one subject to the next; none changes more than it says. `least` is the shortest stretch that
// makes sense, a slice of the finest level. A stretch of time; from > to is turned round, what is shorter
// than `least` is widened about its middle.
Subject zoomed_to(Subject subject, TimeRange range, DurationNs least = DurationNs(1000));
// Made `factor` times as long round `about`; no longer than `bounds` where these are given. `shown` is what
// is seen now, for a subject that follows the run has no range of its own.
Subject zoomed_by(Subject subject, TimeRange shown, double factor, TimeNs about,
                  std::optional<TimeRange> bounds = std::nullopt, DurationNs least = DurationNs(1000));
// Moved by a share of what is shown, staying within `bounds` at the same length.
Subject panned_by(Subject subject, TimeRange shown, double share,
                  std::optional<TimeRange> bounds = std::nullopt);
Subject following(Subject subject);
Subject into(Subject subject, std::string path);
Subject up(Subject subject);  // the parent of the node; of all itself
// "/node7, 12 s to 20 s, bytes": for lists of where one has been. `zero` as of the data.
std::string text_of(const Subject& subject, TimeNs zero);

// Where one has been, as in a browser. Never empty.
class History {
 public:
  static constexpr std::size_t kMost = 100;
  explicit History(Subject start = {});

  const Subject& now() const { return entries_[at_]; }
  // Goes there; what was ahead is forgotten, and the oldest beyond kMost. Going where one is does nothing.
  void go(Subject subject);
  // Changes what is looked at now without a step that could be gone back: a slider on its way.
  void replace(Subject subject);
  bool can_back() const { return at_ > 0; }
  bool can_forward() const { return at_ + 1 < entries_.size(); }
  const Subject& back();  // stays where it cannot
  const Subject& forward();
  const Subject& reset();  // to where it began: a step like others
  std::size_t size() const { return entries_.size(); }

 private:
  Subject start_;
  std::vector<Subject> entries_;
  std::size_t at_ = 0;
};

}  // namespace margay::scene
