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

// Several nodes alike, ascending and none below another, in slices [first, last).
struct Region {
  std::vector<std::uint32_t> nodes;
  std::size_t first = 0;
  std::size_t last = 0;
};

struct StateRow {
  std::uint32_t state = 0;
  double share = 0;               // of the selection's leaves x time, or of the rest (view_data.h)
  double total = 0;               // total_of() the share
  std::uint64_t mode_parts = 0;   // of the parts that overlap the selection, those whose mode it is
  std::uint64_t mode_leaves = 0;  // leaves that have most of it in the selection
  double least = 0;               // share over the parts that overlap the selection; 0 of those without it
  double most = 0;
};

struct Statistics {
  Selection selection;         // cut to the data; of several nodes the lowest that has them all
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
Statistics statistics(const ViewData& data, const Region& region);

enum class StatisticsColumn { kName, kFamily, kShare, kTotal, kModeParts, kModeLeaves, kLeast, kMost };
// Equal rows by name.
void sort(Statistics& statistics, const ViewData& data, StatisticsColumn by, bool descending);

// What the shares are of, for a picture's head: "operator duration (share of the time)", "operator mean:load
// (of the variable; full: 3.5)", "operator bytes (bytes; full: 4.5 MiB a second of a resource)".
std::string measure_text(const ViewData& data);
// What a question's `measure` may be, in the order of the menu. Of a variable the word is what it begins
// with: the variable's name follows.
struct MeasureKind {
  std::string_view word;  // "": durations
  std::string_view name;  // for people; of a variable up to its name
  bool of_variable = false;
  // ViewData::full is of a resource in a second, and what several have adds up. Else it is a value that each
  // has at any time, and several have their mean.
  bool adds_up = true;
};
inline constexpr MeasureKind kMeasures[] = {{"", "time in states"},
                                            {"occurrences", "visits and events"},
                                            {"bytes", "bytes"},
                                            {"messages", "messages"},
                                            {"mean:", "mean of", true, false},
                                            {"max:", "greatest value of", true, false},
                                            {"rate:", "growth of", true},
                                            {"length", "length of a visit", false, false}};
// Of a daemon's own, which is not in the table: as of one that adds up, by its word.
MeasureKind measure_kind(std::string_view measure);
// What a share of so many leaf-seconds comes to: leaf-seconds; where something is measured, in its unit: all
// of it, or, where that does not add up, their mean.
double total_of(const ViewData& data, double share, double leaf_seconds);
// So much of a unit (ViewData::unit; not ""), for people: "3.0 MiB", "2.4 ms", "4.5 of the variable".
std::string amount_text(const std::string& unit, double amount);
// What a question's `measure` is, for people: "" is "time in states", "mean:load" is "mean of load".
std::string measure_name(std::string_view measure);

// RFC 4180: lines end in CR LF, fields with commas, quotes or line ends are quoted; a head line; UTF-8;
// numbers with a point, as many digits as it takes to read them back.
std::string csv_of(const Statistics& statistics, const ViewData& data);
// All parts, one line for each: path, first and last slice (inclusive, as `margay partition` has it), begin
// and end in seconds from zero, leaves, gain, loss, known, mode, its strength, and the share of each state.
std::string parts_csv(const ViewData& data);

}  // namespace margay::scene
