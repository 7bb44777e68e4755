// What the events of a stretch sum to: a daemon's answer (wire::EventsAnswer to SUMS or PAIRS), checked; and
// the two pictures of it: how long visits last, and who sends how much to whom.
//
// WHAT IS CHECKED. It is refused with a sentence (kCorrupt) where an index is out of range, a length is
// longer than 64 bits, a number is not finite, or bins overlap or hold others than the single visits; and
// where there are more than kMostSums or kMostSumBins (kLimit). An answer that is nothing but an error gives
// that error (kUnavailable). Names are made valid UTF-8 without control characters, and cut.
//
// UNITS. Times are trace time, lengths nanoseconds; ranges are half-open.
//
// Thread safety: values and pure functions. Cost: linear in what there is; a matrix also logarithmic in its
// cells.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/scene/rows.h"
#include "margay/scene/view_data.h"
#include "margay/wire/events.pb.h"

namespace margay::scene {

inline constexpr int kMostSums = 1 << 16;
inline constexpr int kMostSumBins = 1 << 12;    // of one sum
inline constexpr int kMostSumBlocks = 1 << 12;  // of one partition, of which there are so many:
inline constexpr int kMostSumPartitions = 64;

struct LengthBin {
  std::int64_t from = 0, until = 0;
  std::uint64_t count = 0;
};

struct EventSum {
  std::uint32_t name = 0;          // of visits: of EventSums::names
  std::uint32_t from = 0, to = 0;  // of messages: of EventSums::resources
  std::uint64_t count = 0, single = 0, untimed = 0;
  DurationNs total{};
  std::uint64_t bytes = 0;
  double mean = 0, deviation = 0;  // ns
  DurationNs median{}, q90{}, q99{}, longest{};
  TimeNs longest_begin{};
  std::uint32_t longest_resource = 0;  // of visits
  std::vector<LengthBin> bins;         // of visits: of the single ones
};

// Who sends to whom, summed up where it is alike: an optimal partition of the matrix of all pairs.
struct SumBlock {
  std::uint32_t from = 0, to = 0;  // of EventSums::resources, maybe nodes above those that talk
  std::uint64_t pairs = 0;         // of those that talk
  std::uint64_t count = 0, bytes = 0, timed = 0;
  double total = 0;  // ns, of the timed
};
struct SumBlocks {
  double p = 0, gain = 0, loss = 0;  // p from which on it is optimal; bits
  bool chosen = false;               // before the largest fall of quality
  std::vector<SumBlock> blocks;
};

struct EventSums {
  bool messages = false;  // else visits
  TimeRange time;
  TimeNs zero{};
  std::vector<std::string> resources;
  std::vector<State> names;
  std::vector<EventSum> sums;     // visits: most time first; messages: most bytes
  std::vector<SumBlocks> blocks;  // of messages, where they were asked for; p ascending
  std::uint64_t left_out = 0;     // sums
  std::uint64_t holes = 0;        // places at which records are missing
  bool exact = true;
  std::vector<std::string> notes;
  std::uint64_t token = 0;
};

Result<EventSums> event_sums_untrusted(const wire::EventsAnswer& answer);

// RFC 4180; columns as `margay events --statistics --csv` has them.
std::string event_sums_csv(const EventSums& sums);

// How many visits last how long: bins of like width on a scale of powers of ten.
struct Histogram {
  double from = 0, until = 0;  // decimal logarithms of ns; both 0: nothing to show
  struct Column {
    std::vector<std::pair<std::uint32_t, std::uint64_t>>
        counts;  // index of a sum, how many; in the order of sums
    std::uint64_t total = 0;
  };
  std::vector<Column> columns;
  std::uint64_t most = 0;                       // of a column
  std::int64_t edge(std::size_t column) const;  // ns, where it begins
};
// Of visits, with `columns` columns, 1 to 1000; lengths of 0 count as 1 ns. What a bin of the answer reaches
// over is in the column of its middle.
Histogram histogram_of(const EventSums& sums, std::size_t columns);

// Who sends to whom: rows and columns are the rows of the picture, so that what is folded there is one here.
struct MessageMatrix {
  struct Cell {
    std::uint64_t count = 0, bytes = 0;
    double total = 0;         // ns, of those of which it is known how long they took
    std::uint64_t timed = 0;  // these
  };
  std::size_t size = 0;                                           // rows, and columns
  std::map<std::pair<std::uint32_t, std::uint32_t>, Cell> cells;  // by sender's row, receiver's
  Cell all, most;                                                 // the sum; the largest of each
  std::uint64_t unseen = 0;                                       // messages of resources that no row shows
};
MessageMatrix matrix_of(const EventSums& sums, const ViewData& data, const Rows& rows);

// A partition of the matrix on rows and columns that are all resources: `rows` with nothing folded. A node
// above all of `data` is all of it here.
struct BlockMatrix {
  struct Block {
    // Rows of the senders and of the receivers, [from, until).
    std::uint32_t from = 0, from_until = 0, to = 0, to_until = 0;
    std::uint32_t sender = 0, receiver = 0;  // nodes of the data
    std::uint64_t pairs = 0;
    MessageMatrix::Cell sum;
  };
  std::size_t size = 0;
  std::vector<Block> blocks;
  std::uint64_t unseen = 0;  // messages of blocks that no row shows
};
BlockMatrix block_matrix_of(const EventSums& sums, const SumBlocks& partition, const ViewData& data,
                            const Rows& rows);
// The index of the partition that holds at p; the chosen one without a p. REQUIRES: sums.blocks not empty.
std::size_t partition_at(const EventSums& sums, std::optional<double> p);
// RFC 4180: p,from,to,pairs,messages,bytes,mean_ns (of those that are known to have been there; 0: none).
std::string blocks_csv(const EventSums& sums, const SumBlocks& partition);

}  // namespace margay::scene
