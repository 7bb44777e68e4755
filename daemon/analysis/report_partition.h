// The part of a report that is a partition: its parts, and what each is made of. No I/O.
#pragma once

#include <optional>
#include <vector>

#include "margay/analysis/report_builder.h"

namespace margay::daemon {

// What parts of a window are told with.
struct PartitionContext {
  const detect::Window& window;
  const model::Hierarchy& hierarchy;
  std::size_t nodes;                  // of the hierarchy that the report lists
  std::vector<std::uint32_t> states;  // of each column of the window its state in the report
};

// Gain, loss and p always; the parts where they fit (kMostPictureParts, kMostPictureShares) and the report
// lists all nodes of the hierarchy. A share is of the part's leaves x time or, where something is measured,
// of leaves x slices x Window::scale(). Nothing where there is no partition. Cost: leaves x slices x columns.
void add_partition(const PartitionContext& context, const std::optional<partition::Partition>& partition,
                   wire::PartitionView* out);

}  // namespace margay::daemon
