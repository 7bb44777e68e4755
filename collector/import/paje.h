// The Pajé trace format as a producer of records (trace.h). IMPORT.md tells what becomes what.
//
// Reference: B. de Oliveira Stein, J. Chassin de Kergommeaux, G. Mounié, "Pajé trace file format", 2010;
// what PajeNG's pj_dump takes beyond it (comments, names for aliases, values that no line defined) is taken
// here. Cost: one pass, about 100 ns a line; memory for what is defined and for what lateness holds back.
#pragma once

#include <string_view>

#include "margay/import/format.h"

namespace margay::trace::paje {

inline constexpr std::size_t kLongestLine = 1 << 20;
// Held back for lines that come late; more than this is kLimit.
inline constexpr std::size_t kMostLateBytes = 512 << 20;

bool detect(std::string_view head);
Result<ReadCounts> read(Input& input, const ReadOptions& options, Consumer& consumer);

}  // namespace margay::trace::paje
