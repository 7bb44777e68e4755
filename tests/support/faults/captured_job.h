// A captured run as a script that can be played again: what an agent has to say, and when.
//
// A capture (`margay run --capture`) holds every message as it came in. Its batches are kept as they are;
// only their times are moved, so that the job seems to run now, and the same trace times come out whenever it
// is played with the same offsets. The job can be made larger (copies of its processes with ranks of their
// own) and longer (its middle repeated), and some of its processes late: for a while nothing is heard of
// them, then everything at once, so that closed slices have to be amended. Deterministic in the options.
//
// Memory: the capture once; copies are made when they are due. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/wire/ingest.pb.h"

namespace margay::test {

struct JobOptions {
  std::uint32_t copies = 1;          // of every process
  DurationNs at_least = seconds(0);  // the middle is repeated until the job lasts so long
  // A wave: a quarter of the processes is silent for two thirds of the period.
  DurationNs late_period = milliseconds(1200);  // 0: nobody is late
  std::uint64_t seed = 1;
};

using Words = std::variant<wire::Hello, wire::EventBatch, wire::Goodbye>;  // count 0: a heartbeat

// Late processes fall silent at `begin` and are heard again at `end`, ns after the begin of the job.
struct Wave {
  std::int64_t begin = 0, end = 0;
};

class CapturedJob {
 public:
  // Errors: kIo, kCorrupt (not a capture), kInvalidArgument (too short, or no process in it).
  static Result<CapturedJob> load(const std::string& path, const JobOptions& options);

  std::int64_t duration_ns() const { return duration_; }
  std::uint64_t records() const { return records_; }
  std::uint32_t processes() const { return processes_; }
  const std::vector<Wave>& waves() const { return waves_; }

  // True when something is due `since_begin` ns after the begin.
  bool due(std::int64_t since_begin) const;
  bool over() const { return next_ == script_.size(); }
  // The next words, their times moved to a job that began at `begin` (host time).
  Words take(TimeNs begin);

 private:
  struct Said {
    std::int64_t at;  // ns after the begin
    Words words;      // times less the capture's begin
  };
  struct Line {
    std::int64_t due;
    std::uint32_t said;  // index
    std::uint32_t copy;
    std::uint32_t loop;
    std::int64_t shift;  // of its times
  };
  Status read(const std::string& path);
  void write_script(const JobOptions& options);

  std::vector<Said> said_;    // in order
  std::vector<Line> script_;  // by due time, each process's in order
  std::size_t next_ = 0;
  std::vector<Wave> waves_;
  std::int64_t duration_ = 0;
  std::int64_t loop_begin_ = 0, loop_length_ = 0;
  std::uint32_t loops_ = 0;  // repetitions of the middle
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t>
      middle_;  // its records, by (source, stream)
  std::uint64_t records_ = 0;
  std::uint32_t processes_ = 0;
};

}  // namespace margay::test
