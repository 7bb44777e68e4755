// What a picture is made of: a daemon's answer to a viewer's question (wire::ViewAnswer), checked, as a value
// that everything else in this folder relies on without asking again.
//
// WHAT IS CHECKED. An answer comes from another process, maybe of another version, maybe hostile. It is
// refused with a sentence (kCorrupt) where lists differ in length, an index is out of range, a child comes
// before its parent or siblings' subtrees mingle, leaves do not add up, boundaries do not ascend, a number is
// not finite or out of its range, or the parts do not tile leaves x time exactly: each cell in one part, and
// in one only; or where a visit, message or annotation is of no leaf, or ends beyond 64 bits. An answer of
// more than the bounds below is refused as well (kLimit). An answer that is nothing but an error gives that
// error (kUnavailable). Names are made valid UTF-8 without control characters, and cut.
//
// UNITS. Slices are counted from 0 and ranges of them are half-open, [first, last), unlike those on the wire.
// Times are trace time. A share of 1 is all of a rectangle's leaves x time or, where something is measured
// (`unit` is not empty), what `full` says; of a question whose shares are of the rest (filter.of_the_rest) it
// is all of what the filter leaves of that time, where it leaves any. Gain and loss are bits.
//
// Thread safety: values and pure functions; any number of readers. Cost: view_data_untrusted() is linear in
// the answer, and walks once over slices/64 words for each part; 100,000 leaves and 65,000 parts of 256
// slices take some 60 ms.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/wire/view.pb.h"

namespace margay::scene {

// No state: nothing is known, or nothing of what was asked for was there.
inline constexpr std::int32_t kNoState = -1;
// No part, no node: where an index is asked for and there is none.
inline constexpr std::int64_t kNoPart = -1;

// Bounds of what is accepted.
inline constexpr std::size_t kMostNodes = std::size_t{1} << 22;
inline constexpr std::size_t kMostLeaves = std::size_t{1} << 31;
inline constexpr std::uint32_t kMostDepth = 64;
inline constexpr std::size_t kMostSlices = std::size_t{1} << 14;
inline constexpr std::size_t kMostParts = std::size_t{1} << 20;
inline constexpr std::size_t kMostStates = std::size_t{1} << 16;
inline constexpr std::size_t kMostVisits = std::size_t{1} << 17;
inline constexpr int kMostAttributes = 256;       // and as many views; more are left out
inline constexpr std::size_t kLongestName = 240;  // bytes; what is longer is cut
// By which sums of shares may exceed what they should be: they were rounded to 32 bits.
inline constexpr double kShareSlack = 1e-3;

// Nodes are in depth-first order: the subtree of node n is [n, end).
struct Node {
  std::string name;          // its own; that of the root may be empty
  std::string path;          // "/node7/rank3"; of the root what was asked for, "/" for all
  std::string resource;      // of a leaf of another view than the usual one: its path there; else empty
  std::uint32_t parent = 0;  // of the root itself
  std::uint32_t depth = 0;
  std::uint32_t end = 0;    // one past the last node below
  std::uint32_t place = 0;  // among its siblings
  // Leaves are counted in the order of the tree. A node without children may stand for several leaves, which
  // the answer does not tell apart.
  std::uint32_t first_leaf = 0;
  std::uint32_t leaf_count = 0;
};

struct State {
  std::string name;
  wire::StateFamily family = wire::FAMILY_OTHER;  // one that this version does not know reads as other
  // Neither absent nor unknown: what a resource did, of which there can be a mode.
  bool known() const { return family != wire::FAMILY_ABSENT && family != wire::FAMILY_UNKNOWN; }
};

struct StateShare {
  std::uint32_t state = 0;
  double share = 0;
};

// One aggregate of the partition: node x [first, last).
struct Part {
  std::uint32_t node = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;  // one past the last slice
  double gain = 0;
  double loss = 0;
  double known = 0;  // the share of leaves x time in which somebody was there and observed, [0, 1]
  // How much of its leaves x time its shares are of, [0, 1]: all, or what a filter leaves.
  double weight = 1;
  // The state of the largest share among those that are known(); if there is none of these the largest of the
  // others, absent or unknown; else kNoState.
  std::int32_t mode = kNoState;
  double strength = 0;            // the mode's share of the known time, [0, 1]; 0 where nothing is known
  std::uint32_t share_begin = 0;  // ViewData::shares
  std::uint32_t share_end = 0;
};

// A visit of a resource to a state.
struct Visit {
  std::uint32_t node = 0;  // a leaf
  std::uint32_t state = 0;
  TimeNs begin{}, end{};
  std::uint32_t depth = 0;     // so many visits are open around it
  bool begun_before = false;   // it may have begun earlier
  bool goes_on = false;        // it was not over
  bool several_calls = false;  // one behind the other
};

// What a program or a trace tells of a resource beside its states.
struct Annotation {
  enum class Kind : std::uint8_t { kRegion, kVariable, kMark };
  Kind kind = Kind::kMark;
  std::uint32_t node = 0;   // a leaf
  std::uint32_t name = 0;   // ViewData::annotation_names
  TimeNs begin{}, end{};    // of a region; else both are the moment
  double value = 0;         // of a variable, from then on
  std::uint32_t depth = 0;  // of a region: so many are open around it
};

// From one resource to another.
struct Message {
  std::uint32_t from = 0, to = 0;  // leaves
  TimeNs sent{}, received{};       // the begin of the sending call, the end of the one in which it was there
  std::uint64_t bytes = 0;
  std::int32_t tag = 0;
  bool arrival_known = true;  // false: `received` is no later than it was
};

struct CurvePoint {
  double p = 0;  // from here on, up to the next point's
  double gain = 0;
  double loss = 0;
  std::uint32_t parts = 0;
};

struct TimeRange {
  TimeNs from{};
  TimeNs to{};
  bool operator==(const TimeRange&) const = default;
};

struct ViewData {
  std::vector<Node> nodes;  // the root is 0
  std::vector<State> states;
  std::vector<TimeNs> boundaries;  // one more than slices; empty if there are none
  std::vector<Part> parts;         // by node, and of one node by time
  // Shares of all parts, those of one part largest first. Use shares_of().
  std::vector<StateShare> shares;
  bool temporal = false;  // cuts in time only: all parts are of the root
  double p = 0;
  std::string policy;  // "asked", "noise", "jump", "default"; or kDaemonsPolicy (live_view.h)
  std::string why;
  double gain = 0;
  double loss = 0;
  std::vector<CurvePoint> curve;  // ascending in p; empty if not asked for
  bool curve_complete = false;
  std::vector<std::string> notes;
  std::string unit;       // "": shares of the time
  double full = 0;        // what a share of 1 stands for, where something is measured
  bool left_out = false;  // parts of the lowest levels were merged: there were more than an answer holds
  // Single visits, by node, and of one node by begin: all of the stretch, or none. Use visits_of().
  std::vector<Visit> visits;
  std::vector<Message> messages;  // with visits, by `sent`
  // With visits, by node, kind and name, and of these by begin.
  std::vector<Annotation> annotations;
  std::vector<std::string> annotation_names;
  std::vector<std::string> attributes, views;  // of the run: levels of views, and views worth trying
  TimeNs zero{};                               // that times are shown from
  std::uint64_t token = 0;
  wire::ViewQuestion question;  // as the daemon understood it; its strings are as they came

  std::vector<std::uint32_t> child_list;   // use children_of()
  std::vector<std::uint32_t> child_begin;  // nodes + 1
  std::vector<std::uint32_t> part_begin;   // nodes + 1; use parts_of()
  std::vector<std::uint32_t> visit_begin;  // the same, of visits; empty if there are none
  std::vector<std::uint32_t> by_resource;  // leaves that have one, by it

  std::size_t slices() const { return boundaries.empty() ? 0 : boundaries.size() - 1; }
  std::uint32_t leaves() const { return nodes.empty() ? 0 : nodes[0].leaf_count; }
  bool empty() const { return slices() == 0 || leaves() == 0; }
  // Of all slices; both zero if there are none.
  TimeRange range() const;
  // In seconds, of [first, last).
  double seconds(std::size_t first, std::size_t last) const;
  // What a question calls the node, and events and alerts a leaf.
  const std::string& name_of(std::uint32_t node) const {
    return nodes[node].resource.empty() ? nodes[node].path : nodes[node].resource;
  }
  std::span<const StateShare> shares_of(const Part& part) const;
  std::span<const std::uint32_t> children_of(std::uint32_t node) const;
  std::span<const Part> parts_of(std::uint32_t node) const;
  // Those of the node and of all below it.
  std::span<const Part> parts_below(std::uint32_t node) const;
  std::span<const Visit> visits_of(std::uint32_t node) const;
  std::int64_t index_of(const Part& part) const { return &part - parts.data(); }
  // The slice that holds `time`; those before the first read as 0, those after the last as the last.
  // Undefined without slices. Cost: logarithmic.
  std::size_t slice_at(TimeNs time) const;
};

// See above. Takes the answer as it came off the wire.
Result<ViewData> view_data_untrusted(const wire::ViewAnswer& answer);

// What the resources of a rectangle did in it.
struct Proportions {
  std::vector<double> shares;  // of each state, in the order of ViewData::states; of leaves x time
  double known = 0;
  double unknown = 1;  // 1 - known
  double gain = 0;     // bits, of the parts that overlap the rectangle
  double loss = 0;
  // Some part reaches beyond the rectangle: what it does is taken as the same everywhere in it, and counts by
  // the area of the overlap. Then everything here is an estimate.
  bool pro_rata = false;
  std::size_t parts = 0;         // that overlap it
  std::int32_t mode = kNoState;  // as Part::mode
  double strength = 0;           // as Part::strength
  double leaf_seconds = 0;       // the area
};

// Leaves [first, first + count).
struct LeafRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};
// Leaves [first_leaf, first_leaf + leaf_count) x slices [first, last). What reaches beyond the data is cut
// off; of an empty rectangle all is 0 and unknown 1. Cost: linear in the parts at least partly within the
// leaves, and in the states.
Proportions proportions(const ViewData& data, std::uint32_t first_leaf, std::uint32_t leaf_count,
                        std::size_t first, std::size_t last);
// The same of several ranges of leaves, ascending and apart. Cost: also the logarithm of their number for
// each node of the picture.
Proportions proportions(const ViewData& data, std::span<const LeafRange> leaves, std::size_t first,
                        std::size_t last);
// The same of a node; one that there is not is empty.
Proportions proportions(const ViewData& data, std::uint32_t node, std::size_t first, std::size_t last);

// States by family (compute first) and name, "unknown" and "absent" last: the order in which they are listed
// and stacked everywhere, so that it stays the same from one answer to the next.
std::vector<std::uint32_t> states_in_order(const ViewData& data);

}  // namespace margay::scene
