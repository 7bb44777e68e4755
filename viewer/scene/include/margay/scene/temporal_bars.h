// The temporal overview: what all resources did between two cuts in time, as bars of stacked shares (Dosimont
// et al., INRIA RR-8524, section 4). Small states are pooled into one, "others", which is drawn hatched.
//
// Of a temporal partition each part is a bar. Of a spatiotemporal one a bar is what lies between two cuts
// that all parts of the node share, so that the overview never shows a cut that is not there for all.
//
// Segments are stacked from 0 upwards in the order of states_in_order(), the same in all bars and from one
// answer to the next; "others" come on top of them. What is left up to 1 is unknown, absent, or not of the
// states asked for.
//
// Thread safety: pure. Cost: linear in the parts that overlap the node, times their states.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "margay/scene/view_data.h"

namespace margay::scene {

inline constexpr std::int32_t kOthers = -2;  // Segment::state

struct Segment {
  std::int32_t state = kOthers;
  double from = 0;  // of the bar's height
  double to = 0;
  std::uint32_t states = 1;  // that it stands for; more than 1 only of kOthers
};

struct Bar {
  std::uint32_t first = 0;  // slices [first, last)
  std::uint32_t last = 0;
  std::vector<Segment> segments;  // from the bottom; none is empty. Absent and unknown states are left out
  double known = 0;
  double weight = 1;  // of its leaves x time what its shares are of (Part::weight)
  double gain = 0;
  double loss = 0;
  std::int32_t mode = kNoState;
  std::size_t parts = 1;  // of the partition, within the bar
  bool pro_rata = false;  // Proportions::pro_rata
};

struct BarOptions {
  std::uint32_t node = 0;
  // Shares of the bar below this are pooled. A widget says 3 px / height.
  double least_share = 0.02;
};

// In order of time, without gaps. Empty without data, or of a node that there is not.
std::vector<Bar> temporal_bars(const ViewData& data, const BarOptions& options = {});

// As CSV (statistics.h), a line for each bar and state: begin and end in seconds from zero, state, family,
// share of the bar, leaf-seconds (where something is measured the total in its unit), and the share of the
// bar of which something is known. No states are pooled; a bar in which there is none has a line without
// state.
std::string bars_csv(const ViewData& data);

// The ends of what lies between two cuts that all parts overlapping the node share: 0, ..., slices(). Empty
// without data.
std::vector<std::uint32_t> shared_cuts(const ViewData& data, std::uint32_t node);

}  // namespace margay::scene
