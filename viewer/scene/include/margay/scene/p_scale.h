// The axis of gain and loss: p along it, and room for each step.
//
// WHY NOT P ITSELF. Of some hundred significant p most lie near 0: on an axis that is p itself they share a
// few pixels, and none of them can be hit. WHY NOT STEPS ALONE. On an axis on which each step has the same
// room, "a little more" is a tenth of all p here and a thousandth there, and nobody sees it. So half of each:
// a step's room is a part of it the same for all, and a part of it in proportion to how much of p it holds,
//
//     room(k) = b / n + (1 - b) * (until(k) - p(k)),   of n steps,   b = max(1/2, min(1, n * least)),
//
// where `least` is the share of the axis that a step has to have to be hit: some pixels / the axis' width.
// With 5000 steps on 300 pixels b is 1, and each has what there is. Within a step the axis is linear in p.
//
// Both ways are ascending (not strictly: where several steps begin at one p, all their room but the last's is
// that p). p_of() inverts x_of(): exactly where steps begin and at 0 and 1, else but for rounding, which
// leads to no other step: step_at(x_of(p)) is the step that holds p, and p_of(x) lies in step_at(x).
//
// Thread safety: a value that does not change. Cost: making one is linear in the steps, the rest logarithmic;
// p_ticks() is linear in steps times labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "margay/scene/quality.h"

namespace margay::scene {

class PScale {
 public:
  // `least` in [0, 1]; 0 or not a number: half of an equal share will do.
  explicit PScale(const Steps& steps, double least = 0);

  // Of the axis, [0, 1]. What is below 0 or not a number reads as 0, what is above 1 as 1.
  double x_of(double p) const;
  double p_of(double x) const;
  // The step whose room [begin_of(step), begin_of(step + 1)) holds x; the last one's has its end, too. -1
  // without steps.
  std::int64_t step_at(double x) const;
  // Where a step's room begins; of steps(): where the last one's ends, which is 1.
  // REQUIRES: step <= steps().
  double begin_of(std::size_t step) const { return x_[step]; }
  std::size_t steps() const { return steps_; }

 private:
  std::size_t room_of_p(double p) const;
  std::size_t room_of_x(double x) const;

  // Ends of the rooms: ascending, from 0 to 1. Without steps there is one room.
  std::vector<double> p_, x_;
  std::size_t steps_ = 0;
};

struct PTick {
  double p = 0;
  double x = 0;  // pixels, [0, width]
  std::string label;
};

struct PTickOptions {
  double width = 0;         // pixels, of the whole axis
  double character_px = 7;  // how wide a character of a label is, at most
  double gap_px = 12;       // between two labels, at least
};

// Values of p that have room to be written at the axis, ascending: 0 and 1, then round ones (0.5, 0.1, 0.01,
// ...), then, where these leave room, p at which steps begin. Labels stay within the axis and are centred at
// x but for that. None for a width that is none.
std::vector<PTick> p_ticks(const PScale& scale, const Steps& steps, const PTickOptions& options);

}  // namespace margay::scene
