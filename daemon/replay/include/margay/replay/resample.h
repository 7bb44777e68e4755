// An archive's events cut into other slices: a scratch archive for a replay. Private to the folder.
#pragma once

#include <string>

#include "margay/store/archive.h"
#include "replay.h"

namespace margay::daemon {

// A directory that goes away, for what is imported on the way.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  // Below TMPDIR, or /tmp. Errors: kIo.
  Status make();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct ResampleRequest {
  DurationNs slice{};
  std::optional<TimeNs> from, to;  // [from, to); nothing: all of the run
  slicer::Operator op;             // what the slices shall hold beside durations
  // Only what is measured matters: then slices are closed on the way where they would take too much memory
  // all at once. (Durations of sources that went without a word would not be exact.)
  bool planes_only = false;
  std::function<void(TimeNs)> progress;  // the time that was reached; may be null
};
struct Resampled {
  bool exact = true;  // false: of some leaves it is not known what was open where the range begins
  TimeNs begin{};     // of the new archive: at or before that of the range
};
inline constexpr std::uint64_t kMostCellBytes = std::uint64_t{1} << 30;
// Writes what lies in the range to a new archive at `path`, in slices of request.slice, states and leaves
// numbered as in `archive`. Errors: kInvalidArgument (raw events are not kept for all of the range), kLimit
// (more cells than kMostCellBytes: a shorter range, or a longer slice), those of the archives.
Result<Resampled> resample(const store::Archive& archive, const store::Resume& resume,
                           const ResampleRequest& request, const std::string& path);

}  // namespace margay::daemon
