// The observed job: ranks that call MPI functions as their random numbers say, and a probe that sometimes has
// no room. What they have done is the truth that everything is compared with.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "margay/base/record.h"
#include "margay/base/time.h"
#include "margay/wire/ingest.pb.h"
#include "support/reference_slicer.h"

namespace margay::simulation {

using Random = std::mt19937_64;

// True once in `n` times.
inline bool once_in(Random& random, std::uint64_t n) {
  return n > 0 && random() % n == 0;
}

class Rank {
 public:
  enum Name : std::uint16_t { kComputeName, kSend, kRecv, kFinalize, kFirstRegion };

  // `source` is its id; it begins to call at `begin` (host time) and finalizes when it is told to.
  Rank(std::uint64_t source, TimeNs begin, Random& random) : source_(source), now_(begin), random_(random) {}

  // All that it does before `until`. `overflow`: now and then the probe has no room.
  void run(TimeNs until, bool overflow);
  void finalize(TimeNs until);

  std::uint64_t source() const { return source_; }
  // Of `epoch`, as an agent tells it.
  wire::Hello hello(std::uint32_t epoch, const std::string& boot) const;
  std::size_t names() const { return names_.size(); }
  const std::vector<EventRecord>& records() const { return records_; }
  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t produced() const { return records_.size() + dropped_; }
  bool ended() const { return ended_; }
  // What it is in now.
  std::uint16_t open() const { return open_.empty() ? std::uint16_t{kComputeName} : open_.back(); }
  TimeNs end() const { return now_; }

  // The first `count` records as the reference takes them: trace time is host time plus `offset`, and a name
  // is the state `states` says.
  std::vector<margay::test::ReferenceEvent> reference(std::size_t count, DurationNs offset,
                                                      const std::vector<StateId>& states) const;

 private:
  void add(std::uint8_t kind, std::uint16_t name, std::uint64_t bytes = 0);
  void advance();
  void call();

  std::uint64_t source_;
  TimeNs now_;
  Random& random_;
  std::vector<std::string> names_ = {"Compute", "MPI_Send", "MPI_Recv", "MPI_Finalize"};
  std::vector<std::uint16_t> open_;
  std::vector<EventRecord> records_;
  std::uint64_t dropped_ = 0;
  DurationNs pause_{};  // until the next call
  bool ended_ = false;
};

}  // namespace margay::simulation
