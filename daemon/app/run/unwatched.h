// RUN_DIR/unwatched: how many processes of the run the probe could not watch (margay/probe/segment.h has the
// format).
#pragma once

#include <cstdint>
#include <string>

namespace margay::app {

// Gives the counter its memory while there is some: later none may be left. Whatever fails, the probe tries
// again.
void make_unwatched_counter(const std::string& run_directory);
// 0 where there is no counter.
std::uint64_t unwatched_processes(const std::string& run_directory);

}  // namespace margay::app
