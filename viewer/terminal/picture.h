// What every view of a report needs and none may trust: cleaned shares, phases, lag, the nodes of a depth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "alerts.h"
#include "margay/base/time.h"
#include "margay/wire/report.pb.h"

namespace margay::terminal {

struct Share {
  std::uint32_t state;
  double share;      // in (0, 1]; those of a node sum to at most 1
  double value = 0;  // what was measured, as the report tells it
};
// Finite and positive ones, largest first, the same state once; at most 64.
std::vector<Share> clean_shares(const google::protobuf::RepeatedPtrField<wire::StateShare>& shares);

// The last span that says it is current (or the last), or nullptr.
const wire::PhaseSpan* current_phase(const wire::Report& report);
// How long a phase of that name usually lasts: what the daemon learned or, where it does not say, the median
// of the completed spans; nothing without any.
std::optional<std::int64_t> usual_duration_ns(const wire::Report& report, const std::string& name);
// "half of the newest 14 lasted 31.2 s to 33.0 s", or "" where the daemon knows of less than four.
std::string usual_range(const wire::Report& report, const std::string& name);
// "ends in 12.0 s (8.0 s to 19.0 s), then A", or that it is overdue; "" where nothing is foretold.
std::string forecast_text(const wire::Report& report);
// The shorter form: "ends in 12.0 s, then A".
std::string forecast_short(const wire::Report& report);
// "B, 14th time, 32.1 s (usual 31.8 s)".
std::string phase_name(const wire::PhaseSpan& span);

// Coarser levels of a report that are looked at.
inline constexpr int kMostLevels = 16;
// Does a coarser level tell anything that a finer one does not? Of a job whose phases are long all levels
// have the same.
bool tells_more(const wire::LevelPhases& level);
// What a coarser phase is made of: "A", "A and B", "A, B, C and others"; "" where that is not known.
std::string made_of_text(const wire::PhaseSpan& span);

// Wall clock less watermark: the report's own lag plus the age of the report at `now`.
std::int64_t lag_ns(const wire::Report& report, TimeNs now);

// One line of the hierarchy.
struct Row {
  int node = 0;                                      // index into report.nodes
  int hidden_leaves = 0;                             // leaves below that have no row of their own
  int stopped = 0, silent = 0, lost = 0, ended = 0;  // nodes below that have no row of their own
  bool singled_out = false;  // deeper than the others, because something is wrong with it
};
struct Tree {
  std::vector<Row> rows;  // depth-first, nodes of a depth up to `depth`
  int depth = 0;
  int depth_most = 0;
};
// `depth` -1: the deepest whose rows number at most `room` (1 at least, where there is one); what room is
// left then goes to deeper nodes that are blamed, stopped, silent or lost, so that the culprit has a row of
// its own.
Tree visible_tree(const wire::Report& report, const std::vector<AlertView>& alerts, int depth, int room);

// "rank3"; "all" for the root.
std::string node_label(const wire::NodeBar& node);
// Does a firing alert blame this node or, with `below`, something under it?
bool blamed(const std::vector<AlertView>& alerts, const std::string& path, bool below);

}  // namespace margay::terminal
