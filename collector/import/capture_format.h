// A capture as a format of traces that can be imported (capture.h tells what is read). Private to the folder.
//
// What a run counted and went on without (messages that do not decode, records that make no sense or were
// lost) is counted and told here, with or without ReadOptions::keep_going; `lateness` has no meaning, for the
// messages say themselves what is covered.
#pragma once

#include <string_view>

#include "margay/import/format.h"

namespace margay::trace::capture_format {

bool detect(std::string_view head);
// Errors: those of read_capture.
Result<ReadCounts> read(Input& input, const ReadOptions& options, Consumer& consumer);

}  // namespace margay::trace::capture_format
