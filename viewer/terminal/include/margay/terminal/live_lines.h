// The short lines that `margay run` prints beside the job's own output, as things happen.
//
//   margay: 12.3 s  phase B begins (3rd time; usual 31.8 s)
//   margay: 20 min  phase 10s:B begins (new; made of C and D)
//   margay: 45.0 s  FIRING: rank3 on node1 departs from phase B: ...
//   margay: 49.4 s  resolved after 4.4 s: rank3 on node1 ...
//   margay: 51.0 s  LOST 120 events, 120 in all: 120 dropped by probes
//   margay: 55.0 s  4 resources take turns on too few CPUs: several that become slower together raise no ...
//   margay: 60.2 s  the daemon was restarted (1 time so far)
//
// The time is that of the event, from the run's beginning. Each line comes once however many reports repeat
// it. Names are made printable. Pure; memory is bounded (kMostRemembered alerts and phases).
// Thread safety: one thread at a time. Cost of a feed: linear in the report.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "margay/base/time.h"
#include "margay/wire/report.pb.h"

namespace margay::terminal {

class LiveLines {
 public:
  static constexpr std::size_t kMostRemembered = 4096;
  static constexpr std::size_t kMostLinesAFeed = 64;  // more are summed up in one line
  static constexpr DurationNs kLossPeriod = seconds(10);
  static constexpr DurationNs kSumsPeriod = seconds(60);
  static constexpr DurationNs kTurnsFor = seconds(5);

  explicit LiveLines(bool unicode = true) : unicode_(unicode) {}

  // What is new in `report`, oldest first; `now` is any clock that does not go back (it paces loss lines
  // only).
  std::vector<std::string> feed(const wire::Report& report, TimeNs now);

 private:
  struct Line {
    std::int64_t at_ns;
    std::string text;
  };
  void phases(const wire::Report& report, std::vector<Line>& out);
  void phase(const wire::Report& report, const wire::PhaseSpan& span, std::int64_t& newest_begin_ns,
             std::vector<Line>& out);
  void alerts(const wire::Report& report, std::vector<Line>& out);
  void loss(const wire::Report& report, TimeNs now, std::vector<Line>& out);
  void sums(const wire::Report& report, std::vector<Line>& out);
  void turns(const wire::Report& report, std::vector<Line>& out);
  // True the first time that `key` is seen.
  bool first_time(const std::string& key);

  bool unicode_;
  std::unordered_set<std::string> seen_;
  std::deque<std::string> order_;                // of seen_, oldest first
  std::int64_t forgotten_onset_ns_ = INT64_MIN;  // alerts not newer than this were told, or are past telling
  std::map<int, std::int64_t> newest_phase_begin_ns_;  // by level; 0: the finest
  std::uint64_t lost_told_ = 0;
  std::uint64_t unwatched_told_ = 0;  // processes
  bool loss_was_told_ = false;
  TimeNs loss_told_at_{};
  std::uint32_t restarts_told_ = 0;
  bool archive_trouble_told_ = false;
  bool sums_told_ = false;
  std::int64_t sums_told_ns_ = INT64_MIN;
  std::optional<std::int64_t> turns_since_ns_;
  bool turns_told_ = false;
};

}  // namespace margay::terminal
