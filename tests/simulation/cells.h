// Cells of one leaf, of slices as the daemon or an archive has them, beside the reference's.
#pragma once

#include <map>
#include <string>

#include "margay/model/slice_column.h"
#include "support/reference_slicer.h"

namespace margay::simulation {

using margay::test::ReferenceCells;

// Absent is left out: how long a leaf that was not yet heard of was that depends on when it was.
void add_cells(const model::SliceColumn& column, LeafIndex leaf, ReferenceCells& cells);
// The first difference of slices in [first, last], a sentence; "": there is none. Of the slice in which
// `until` lies, the reference does not know what happens at that very moment: its visits are not compared.
std::string difference(const ReferenceCells& is, ReferenceCells expected, SliceIndex first, SliceIndex last,
                       TimeNs until, DurationNs slice);

}  // namespace margay::simulation
