// What an import says: how far it is, and what it made.
#pragma once

#include <string>

#include "margay/import/archive_writer.h"
#include "margay/import/format.h"

namespace margay::daemon {

struct ImportDone {
  std::string archive, file, format;
  trace::ReadCounts counts;
  trace::ArchiveWriter::Outcome outcome;
  std::uint32_t leaves = 0;
  DurationNs slice{};
  double seconds = 0;  // it took
};

// One line without an end. `size` of the input in bytes, 0: not known.
std::string progress_text(const trace::ReadCounts& counts, std::uint64_t size, double seconds);
std::string done_text(const ImportDone& done);
std::string done_json(const ImportDone& done);

}  // namespace margay::daemon
