// The numbers behind a selection of the picture: a table of states, and text for spreadsheets.
//
// Thread safety: values and pure functions. Cost: statistics() is linear in the parts that overlap the
// selection, times their states, and in the nodes of the selection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "margay/scene/view_data.h"

namespace margay::scene {

struct Selection {
  std::uint32_t node = 0;
  std::size_t first = 0;  // slices [first, last)
  std::size_t last = 0;
};

struct StateRow {
  std::uint32_t state = 0;
  double share = 0;  // of the selection's leaves x time, or of the rest (view_data.h)
  // Leaf-seconds; where something is measured times ViewData::full, that is in its unit, taken that full is
  // what one leaf can have in a second.
  double total = 0;
  std::uint64_t mode_parts = 0;   // of the parts that overlap the selection, those whose mode it is
  std::uint64_t mode_leaves = 0;  // leaves that have most of it in the selection
  double least = 0;               // share over the parts that overlap the selection; 0 of those without it
  double most = 0;
};

struct Statistics {
  Selection selection;         // cut to the data
  std::vector<StateRow> rows;  // of states that occur in it, largest share first
  double known = 0;
  double gain = 0;
  double loss = 0;
  double leaf_seconds = 0;
  std::uint32_t leaves = 0;
  std::size_t parts = 0;
  bool pro_rata = false;  // Proportions::pro_rata: an estimate
};

// Empty for a selection of nothing.
Statistics statistics(const ViewData& data, const Selection& selection);

enum class StatisticsColumn { kName, kFamily, kShare, kTotal, kModeParts, kModeLeaves, kLeast, kMost };
// Equal rows by name.
void sort(Statistics& statistics, const ViewData& data, StatisticsColumn by, bool descending);

// What the shares are of, for a picture's head: "operator duration (share of the time)", "operator mean:load
// (of the variable; full: 3.5)", "operator bytes (bytes; full: 4.5 MiB a second of a resource)".
std::string measure_text(const ViewData& data);
// How a question's `measure` of a variable begins.
inline constexpr std::string_view kMeanOf = "mean:";
// What a question's `measure` is, for people: "" is "time in states", "mean:load" is "mean of load".
std::string measure_name(std::string_view measure);

// RFC 4180: lines end in CR LF, fields with commas, quotes or line ends are quoted; a head line; UTF-8;
// numbers with a point, as many digits as it takes to read them back.
std::string csv_of(const Statistics& statistics, const ViewData& data);
// All parts, one line for each: path, first and last slice (inclusive, as `margay partition` has it), begin
// and end in seconds from zero, leaves, gain, loss, known, mode, its strength, and the share of each state.
std::string parts_csv(const ViewData& data);

}  // namespace margay::scene
