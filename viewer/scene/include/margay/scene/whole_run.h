// The strip that shows the whole run, and the frame in it that shows which part of the run is seen: what is
// asked for the strip and when, and what a mouse does to the frame.
//
// Lengths are pixels, x from the strip's left edge. Thread safety: values and pure functions but for
// WholeRun. Cost: constant.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "margay/base/time.h"
#include "margay/scene/view_data.h"
#include "margay/wire/view.pb.h"

namespace margay::scene {

// All resources and states of the run, cut in time alone, in as many slices as the daemon thinks best: so
// that no events have to be read for it.
wire::ViewQuestion whole_run_question(TimeRange run, std::uint64_t token);

// Whether the answer to what was `asked` last says too little of the run, as it is now: nothing was asked,
// the run is another one, it has grown by a twentieth (and by 10 slices), or has ended since. So of a run of
// n slices no more than some 20 log(n) questions are asked.
bool is_whole_run_due(const std::optional<TimeRange>& asked, TimeRange run, DurationNs slice, bool ended);

// What is known of the whole run, and the question for it that is under way.
//
// Whoever asks has one question under way, and a newer one takes the place of one that was not sent yet: an
// answer to a later question says that this one was lost, and it is asked again. What is refused three times
// in a row is not asked again until there is more of the run. Thread safety: none.
class WholeRun {
 public:
  // Somebody looks at it, or no longer does; nothing is asked for nobody. True: somebody does from now on.
  bool look(bool seen);
  // Whether to ask now: somebody looks, nothing is under way, and is_whole_run_due().
  bool due(TimeRange run, DurationNs slice, bool ended) const;
  // The question, which is under way from now on.
  wire::ViewQuestion ask(TimeRange run, std::uint64_t token);
  // Whether an answer, or a refusal, is one to its question.
  bool answered(std::uint64_t token);
  bool refused(std::uint64_t token);
  void show(std::shared_ptr<const ViewData> picture) { picture_ = std::move(picture); }
  // Who is asked knows nothing of what was asked before. The picture stays.
  void ask_anew();
  bool under_way() const { return token_ != 0; }
  std::uint64_t token() const { return token_; }
  const std::shared_ptr<const ViewData>& picture() const { return picture_; }

 private:
  bool is_mine(std::uint64_t token);

  std::shared_ptr<const ViewData> picture_;
  std::uint64_t token_ = 0;  // under way; 0: none is
  std::optional<TimeRange> asked_;
  int refused_ = 0;
  bool seen_ = false;
};

struct Strip {
  TimeRange run;
  double width = 0;
};

// Where the frame is drawn: where `seen` is, but within the strip, and never narrower than kLeastFrame.
inline constexpr double kLeastFrame = 6;
struct Frame {
  double from = 0, to = 0;
  bool operator==(const Frame&) const = default;
};
Frame frame_of(const Strip& strip, TimeRange seen);
TimeNs time_at(const Strip& strip, double x);

// What a mouse would take hold of.
enum class Grip : std::uint8_t { kElsewhere, kBegin, kInside, kEnd };
// Edges reach kGrip pixels to both sides, but no more than a quarter of the frame inwards: a narrow one can
// be taken by its middle.
inline constexpr double kGrip = 5;
Grip grip_at(const Strip& strip, TimeRange seen, double x);

// What is to be seen when the mouse has gone from one time to another, having begun with `seen`. An edge goes
// along, and may pass the other; the inside moves at the same length, within the run. From elsewhere, or of a
// frame that has no room to be moved, the stretch between the two times. Half-open, within the run; empty
// where there is nothing between.
TimeRange dragged(const Strip& strip, TimeRange seen, Grip grip, TimeNs from, TimeNs to);
// As much as is seen with `at` in its middle, or as near to that as there is room in the run.
TimeRange centred(const Strip& strip, TimeRange seen, TimeNs at);

}  // namespace margay::scene
