// The version of reports, which changes apart from that of the wire (columns.h): agents do not read reports.
#pragma once

#include <cstdint>
#include <string>

namespace margay::wire {

inline constexpr std::uint32_t kReportVersion = 2;  // 1 had alerts as JSON text

// Why a report of this version is not read, a sentence; "" where it is.
inline std::string why_unread(std::uint32_t version) {
  if (version == kReportVersion) return "";
  return "the daemon's reports are of version " + std::to_string(version) + ", those that are read here of " +
         std::to_string(kReportVersion) +
         (version > kReportVersion ? ": update Margay here" : ": that daemon is of an older Margay");
}

}  // namespace margay::wire
