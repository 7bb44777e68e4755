// What the single events of a stretch sum to: how often, how long, how much, by state, by resource, or both;
// and messages by who sent them to whom.
//
// Counted are the visits that touch the stretch. `total` is the time of them that lies in it, what is nested
// inside them included; the other lengths are those of whole visits. Of calls that a probe summed the number,
// the total and the longest are known: quantiles are of the others (`single`).
//
// Quantiles come from a histogram of 32 buckets for each power of two: they are off by 1.6 % at most, of
// lengths below 64 ns by nothing. Mean and deviation are exact but for rounding (Welford, 1962).
//
// Thread safety: none. Cost: O(log groups) an event. Memory: some hundred bytes a group, kMostGroups at most,
// and 50 for each of its buckets that has a length: tens where lengths are alike, 1,900 at most.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "margay/query/event_list.h"
#include "margay/query/message_list.h"

namespace margay::daemon {

// Lengths of time, and what else is known of each.
class LengthStatistics {
 public:
  // A length of `ns` >= 0.
  void add(std::int64_t ns);
  // `calls` of which only the sum is known.
  void add_sum(std::uint64_t calls, std::int64_t ns);

  std::uint64_t count() const { return single_ + summed_; }
  std::uint64_t single() const { return single_; }
  double mean() const;       // ns; 0 of nothing
  double deviation() const;  // ns, of the single ones (of a sample: n - 1); 0 of fewer than two
  // Of the single ones: the least length that a share `q` of them, 0 to 1, does not exceed. 0 of nothing.
  std::int64_t quantile(double q) const;
  // How many of the single ones are of which length, [from, until) ns: ascending, only what there is.
  struct Bin {
    std::int64_t from = 0, until = 0;
    std::uint64_t count = 0;
  };
  std::vector<Bin> bins() const;

 private:
  static std::uint16_t bucket_of(std::int64_t ns);
  static std::int64_t width_of(std::uint16_t bucket);
  static std::int64_t begin_of(std::uint16_t bucket);
  std::uint64_t single_ = 0, summed_ = 0;
  double mean_ = 0, squares_ = 0, sum_of_summed_ = 0;
  std::int64_t shortest_ = 0, longest_ = 0;
  std::map<std::uint16_t, std::uint64_t> buckets_;
};

struct EventSummary {
  std::string name,
      resource;  // empty: of all; of messages who sent them is `name`, and who got them `resource`
  LengthStatistics lengths;
  std::uint64_t untimed = 0;  // messages of which nobody knows when they were there: not among `lengths`
  DurationNs total{};
  std::uint64_t bytes = 0;
  // The longest single visit, or the longest of those that were summed.
  DurationNs longest{};
  TimeNs longest_begin{};        // of summed ones, of the whole sum
  std::string longest_resource;  // of messages the receiver
};

class EventStatistics {
 public:
  static constexpr std::size_t kMostGroups = std::size_t{1} << 16;
  enum class By { kName, kResource, kBoth };

  // [from, to): the stretch that `total` is of, trace time.
  EventStatistics(By by, TimeNs from, TimeNs to) : by_(by), from_(from), to_(to) {}
  // Visits to states and regions; others last for no time, and are left out. Errors: kLimit.
  Status add(const EventRow& row);
  // From the begin of the sending call on until it was there; by sender and receiver. Errors: kLimit.
  Status add(const MessageRow& row);
  // Most time first.
  std::vector<EventSummary> summaries() const;
  // Of how many resources there were events.
  std::size_t resources() const { return resources_.size(); }

 private:
  Result<EventSummary*> group(const std::string& name, const std::string& resource);
  By by_;
  TimeNs from_, to_;
  std::map<std::pair<std::string, std::string>, EventSummary> groups_;
  std::map<std::string, bool, std::less<>> resources_;
};

}  // namespace margay::daemon
