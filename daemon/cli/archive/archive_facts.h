// What an archive is, for `margay archive ls` and `info`: what it is of, what it keeps of it, what that
// takes.
//
// Thread safety: functions of what they read. Cost: the archive's small records, two seeks a level.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/result.h"
#include "margay/store/archive.h"

namespace margay::daemon {

struct ArchiveFacts {
  struct Level {
    DurationNs slice{};
    std::optional<std::pair<SliceIndex, SliceIndex>> kept;  // both inside
  };
  std::string path;
  store::RunMeta run;
  TimeNs until{};  // trace time up to which the finest level is kept; the run's begin if nothing is
  std::vector<Level> levels;
  std::optional<TimeNs> raw_from;  // begin of the oldest raw events kept
  DurationNs raw_resolution{1};    // what their times were rounded down to
  std::vector<std::string> states;
  std::size_t leaves = 0, sources = 0, phases = 0;
  std::vector<std::string> phase_names;         // each once, as they came
  std::map<std::string, std::size_t> alerts;    // by status
  std::uint64_t unwatched = 0;                  // processes of which nothing is known, or not to their end
  std::string unwatched_why;                    // a clause
  std::vector<std::pair<TimeNs, TimeNs>> gaps;  // times that nobody watched, for the daemon was away
  store::StreamRecord events;                   // sums over all streams that ever were
  std::uint64_t bytes = 0;                      // on the disk
  // Of the newest slices of the finest level, where they were counted: non-empty cells, and the bytes that
  // these slices take.
  struct Cells {
    std::uint64_t slices = 0, cells = 0, bytes = 0;
  };
  std::optional<Cells> newest;
  bool compact = false;  // its cells are rounded (store.cells)
};

// Is there an archive at `path`, whatever its state?
bool is_archive(const std::string& path);
// The archives among `paths`, and those in directories among them, by name. What cannot be looked into is
// added to `problems`, a sentence each.
std::vector<std::string> archives_among(const std::vector<std::string>& paths,
                                        std::vector<std::string>& problems);
// Opens it read-only. Errors: those of store::Archive::open and of its reading calls.
Result<ArchiveFacts> archive_facts(const std::string& path);
Result<ArchiveFacts> archive_facts(const store::Archive& archive);
// The same with ArchiveFacts::newest. Cost: reads at most 1024 slices and about a million cells.
Result<ArchiveFacts> archive_facts_counted(const std::string& path);

}  // namespace margay::daemon
