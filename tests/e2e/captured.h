// A run's captured messages, decoded once more, plainly: the judge of readers that are quick about it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/record.h"
#include "margay/store/records.h"
#include "support/reference_slicer.h"

namespace margay::test {

using StreamKey = std::pair<std::uint64_t, std::uint32_t>;  // source, thread

struct Message {
  TimeNs at{};
  std::string from, body;
};

// [u64 time of arrival][u32 routing id][u32 message] and the two, little-endian, one after the other.
bool read_capture(const std::string& path, std::vector<Message>& out);

struct SourceNames {
  std::vector<std::string> names;
  std::vector<bool> region;
  DurationNs offset{};
};
struct StreamRecords {
  std::uint64_t next = 0;
  bool hole = false;
  std::vector<EventRecord> records;
  TimeNs covered{};  // trace time
};
struct Decoded {
  std::map<std::uint64_t, SourceNames> sources;
  std::map<StreamKey, StreamRecords> streams;
  std::map<std::uint64_t, TimeNs> goodbyes;  // trace time of the last record
  std::size_t undecodable = 0;               // messages; what they held must come again
};

// All records of every stream, by ordinal. False: `why` tells.
bool decode(const std::vector<Message>& messages, const store::RunMeta& run, Decoded& out, std::string& why);
// What a stream did, for reference_cells(). `ids`: states by name.
std::vector<ReferenceEvent> events_of(const StreamRecords& stream, const SourceNames& source,
                                      std::optional<TimeNs> goodbye,
                                      const std::map<std::string, std::uint16_t>& ids);

}  // namespace margay::test
