// The part of a report that another operator than duration makes: bars of what was measured. No I/O.
#pragma once

#include "margay/analysis/report_builder.h"

namespace margay::daemon {

// What the bars show, and those of all nodes. A bar is a node's share of the greatest that a resource came to
// in a stretch of the window as long as the one that bars pool (a second); a node above others shows their
// mean. Values are sums over the node, per second; of a mean, the mean over time and resources. REQUIRES:
// in.measured is set. Cost: leaves x slices x columns of the window.
void add_measured(const ReportInput& in, std::int64_t pooled_slices, wire::Report& report);
// The bar of the next node, whose shares are still to come. The report's own.
wire::NodeBar* add_bar(const model::Hierarchy::Node& node, wire::Report& report);
// The state of the report that a column of in.measured is: of a mean the variable, behind those of the
// program.
std::uint32_t measured_state(const ReportInput& in, std::size_t column);

}  // namespace margay::daemon
