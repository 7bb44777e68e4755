// What the daemon may take of memory, at most: a sum of named terms, each with a bound that somebody keeps.
//
// It is said at the start, and is memory_promised in `margay status`. Bounds that are no option are here, so
// that those who keep them and the sum rest on the same numbers. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "margay/transport/transport.h"
#include "options.h"

namespace margay::daemon {

// Connections of this machine at once: of agents and readers; of viewers and commands, for each of the two
// sockets. (Of other machines: listen.connections.) transport/limited.h keeps it.
inline constexpr std::size_t kMostAgents = 256;
inline constexpr std::size_t kMostViewers = 128;
// An ingest's socket. Agents' messages have a MiB and a batch at most (node/outbox.h).
inline constexpr transport::Intake kRecords{2, 16, 3 << 19};
// A publisher's: who is slow misses some.
inline constexpr transport::Intake kReports{16, 8, 4096};
// What lies in sockets for peers that have not read it yet (transport::Outgoing).
inline constexpr std::size_t kOutgoingBytes = std::size_t{32} << 20;
// Of a run's past, what a restarted daemon has in memory (store::LoadBounds).
inline constexpr std::size_t kLoadedAlertBytes = std::size_t{16} << 20;
inline constexpr std::size_t kLoadedPhaseBytes = std::size_t{8} << 20;
inline constexpr std::size_t kLoadedSignatureBytes = std::size_t{16} << 20;
// What waits for the next cut, of each (margay/live/pending.h).
inline constexpr std::size_t kPendingAlertBytes = std::size_t{16} << 20;
inline constexpr std::size_t kPendingSignatureBytes = std::size_t{16} << 20;

// Slices with all their leaves and states that are held to be changed: the slicer's, and those of all levels
// that coarser ones are merged of. For ingest::Limits.
std::uint64_t held_slices(const Options& options);
// Copies of slices that wait for the next cut; as much again in each of two cuts on their way to the disk,
// and on their way to the analysis.
std::uint64_t waiting_slices_bytes(const Options& options);
// Raw events that were taken since the last cut was made, of raw_backlog_bytes.
std::uint64_t fresh_raw_bytes(const Options& options);
// Descriptors that the process asks for; it has no more.
std::uint64_t descriptors_wanted(const Options& options);

class MemoryBudget {
 public:
  struct Term {
    const char* name;  // for people
    std::uint64_t bytes;
  };
  // REQUIRES: options.limits.held_slices is set.
  explicit MemoryBudget(const Options& options);
  const std::vector<Term>& terms() const { return terms_; }
  std::uint64_t sum() const;
  // "window 1024 MiB, store 96 MiB, ..."
  std::string text() const;

 private:
  std::vector<Term> terms_;
};

}  // namespace margay::daemon
