// An archive's raw events as one stream in the order of their times.
//
// The archive keeps them in blocks, each of one leaf, by the time they begin. All later blocks begin at or
// after the one that is read, so whatever lies before its begin may go; the rest waits. Memory: the events of
// the blocks that overlap at a moment, at most kMostWaiting.
//
// Times and names are those of margay/trace/raw_block.h. Times of a leaf that run backwards are taken at the
// time before, as by the slicer.
//
// Thread safety: none. Errors, of both: those of Archive::read_raw; kCorrupt (columns that do not decode, a
// leaf that is not there), kLimit (more than kMostWaiting).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "margay/base/record.h"
#include "margay/store/archive.h"

namespace margay::trace {

// What is there, from one pass over the blocks.
struct RawSurvey {
  std::uint64_t blocks = 0, events = 0;
  std::uint64_t holes = 0;        // stretches between blocks of a leaf whose events are not in the archive
  std::uint64_t hole_events = 0;  // and these events
  // Every leaf whose first events are gone is whole from here on; nothing: all of them are whole.
  std::optional<TimeNs> whole_from;
};
Result<RawSurvey> survey_raw(const store::Archive& archive, const store::Resume& all);

// kind, peer, tag, comm and bytes as in the record; a hole before an event comes as a MARGAY_GAP.
struct RawEvent {
  TimeNs time{};
  LeafIndex leaf{};
  StateId state{};  // kUnknown where the source's name table does not tell
  // Of variables, marks and links: the type or, behind a line break, the type's value. Of regions their name,
  // "" where the archive does not keep it. Valid during the call.
  std::string_view name;
  EventRecord record{};
};

struct RawStreamOptions {
  TimeNs to{};  // events before it; all from the begin on, for what is open somewhere depends on them
  std::function<void(std::uint64_t blocks)> progress;
};
inline constexpr std::size_t kMostWaiting = std::size_t{1} << 23;  // 512 MiB

// `take` is called with one event after the other; its error ends the reading. Returns how many records were
// left out because nothing can be said of them (raw_block.h, `rejected`).
Result<std::uint64_t> stream_raw(const store::Archive& archive, const store::Resume& all,
                                 const RawStreamOptions& options,
                                 const std::function<Status(const RawEvent&)>& take);

}  // namespace margay::trace
