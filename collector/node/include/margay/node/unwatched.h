// The processes of a node and run that its agent does not look at: how many, and why. A term of the account
// of its own, for what such a process did is in none of the others.
//
// What has been counted for good is kept in a file, RUN_DIR/unwatched, so that an agent that takes over goes
// on from there: eight 64-bit numbers, native byte order. The first is the probes': each process that gets no
// segment adds one (atomically, in a mapping of its own). The others are the agent's. Whoever starts a run
// makes the file, or the agent.
//
// The file is untrusted; numbers are cut to kMost. Without one the agent's own counts are kept in memory.
// Thread safety: none. Cost: a read of 8 bytes for each count().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "margay/wire/ingest.pb.h"

namespace margay::node {

class Unwatched {
 public:
  using Reason = wire::Unwatched::Reason;
  static constexpr std::size_t kWords = 8;
  static constexpr std::uint64_t kMost = 1'000'000'000;

  // `path` "": no file.
  explicit Unwatched(const std::string& path);
  ~Unwatched();
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;

  // One more, for good.
  void add(Reason reason);
  // So many at present; the number before is replaced.
  void now(Reason reason, std::uint64_t processes) { now_[reason] = processes; }
  // The account of `node` as it stands, without its number.
  wire::NodeAccount account(const std::string& node);

 private:
  static constexpr std::size_t kReasons = wire::Unwatched::Reason_ARRAYSIZE;
  static_assert(kReasons <= kWords);
  std::uint64_t from_file(std::size_t word) const;
  int fd_ = -1;
  std::array<std::uint64_t, kReasons> ever_{}, now_{};
};

}  // namespace margay::node
