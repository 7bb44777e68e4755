// What this process uses and may use: memory, descriptors, the disk of its archive.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/observe/counters.h"

namespace margay::observe {

// Reads /proc/self, which never waits for a disk. Cost: some 100 us; ask once a second.
struct ProcessUse {
  std::uint64_t memory_bytes = 0;  // resident
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t descriptors = 0;
  std::uint64_t descriptors_limit = 0;
};
ProcessUse process_use();
// The least of the cgroup's limit (version 2 or 1), RLIMIT_AS and the machine's memory.
std::uint64_t memory_limit();
void set_process(const ProcessUse& use, Values& values);

// The archive's disk. refresh() may wait for it as long as the disk pleases: it is for the thread that writes
// the archive. Reading is for any thread.
class DiskGauge {
 public:
  explicit DiskGauge(std::string path) : path_(std::move(path)) {}
  // At most once a second; `archive_bytes` is asked for only then.
  template <class Ask>
  void refresh(TimeNs now, Ask archive_bytes) {
    if (now - last_ < seconds(1) && last_ != TimeNs()) return;
    last_ = now;
    measure();
    archive_ = archive_bytes();
  }
  void set(Values& values) const;

 private:
  void measure();
  std::string path_;
  TimeNs last_{};  // of the writing thread
  std::atomic<std::uint64_t> archive_{0}, free_{0}, total_{0};
};

// Raises the soft limit of descriptors to `wanted` (never above the hard limit, never lowers it).
// Returns the limit that holds now. Error: kLimit, with a sentence, when that is less than `wanted`.
struct DescriptorLimit {
  std::uint64_t now = 0;
  std::optional<Error> too_low;
};
DescriptorLimit raise_descriptor_limit(std::uint64_t wanted);

// Heartbeats of the stages: each loop of a thread adds one. A thread that hangs does not.
struct Heartbeats {
  std::atomic<std::uint64_t> ingest{0}, analysis{0};
};

// Tells from a heartbeat whether its thread goes on. Thread safety: none.
class Pulse {
 public:
  explicit Pulse(DurationNs patience) : patience_(patience) {}
  bool alive(std::uint64_t beats, TimeNs now) {
    if (!began_ || beats != beats_) began_ = true, beats_ = beats, since_ = now;
    return now - since_ < patience_;
  }
  DurationNs quiet(TimeNs now) const { return now - since_; }

 private:
  DurationNs patience_;
  std::uint64_t beats_ = 0;
  TimeNs since_{};
  bool began_ = false;
};

}  // namespace margay::observe
