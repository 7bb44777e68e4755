// Raw events as the archive keeps them: the wire's columns with the bytes of a column's values apart, and
// times as classes and low bits. Pure.
//
// The columns of a batch (margay/wire/columns.h) are made for a socket: bases of eight bytes, and values
// whose bytes lie beside each other. A compressor finds more when byte k of all values lies together (the
// high bytes of small numbers are runs), and small batches cost less when their headers are small and when
// the batches of one commit are joined. Nothing is lost: to the byte, the same columns come back.
//
// Thread safety: functions. Cost: one pass over the bytes. Errors: false, when bytes are not what they should
// be; outputs hold no promise then.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "margay/store/records.h"

namespace margay::store {

inline constexpr std::size_t kRawColumns = 7;  // time first, as differences

// The columns of some records, found, not copied. `from` points into the bytes that were parsed.
struct RawColumns {
  struct Column {
    std::uint8_t width = 0;  // 0, 1, 2, 4 or 8 bytes
    std::uint64_t base = 0;
    const char* from = nullptr;
  };
  std::int64_t first_time = 0;
  std::array<Column, kRawColumns> columns;
};

// False when `bytes` are not the columns of `count` records.
bool parse_columns_untrusted(std::string_view bytes, std::uint32_t count, RawColumns& out);

// Which archived form: raw blocks of version 2 have all columns as planes, those of version 3 their times as
// classes and low bits where that can be (raw_times.h).
enum class RawForm : std::uint8_t { kPlanes = 2, kTimeClasses = 3 };

// Appends the newest archived form of `columns`: their widths and bases, the planes of all columns but the
// first, and in the end, as they are what is hardest to compress, the times. Replaces `ends` by the places in
// `out` at which the statistics of the bytes change: ascending, the last is out's size.
void put_raw_body(const RawColumns& columns, std::uint32_t count, std::string& out,
                  std::vector<std::size_t>& ends);
// The columns, of exactly `size` bytes, from an archived form, of which all must be used.
bool get_raw_body_untrusted(std::string_view body, RawForm form, std::uint32_t count, std::size_t size,
                            std::string& out);

// Blocks where those that go on from each other (same leaf and source, next ordinal, no earlier begin) are
// one, as long as it has at most kMostJoined records and covers at most kLongestJoined. A block that is not
// columns stays as it is. The result's blocks are in the order of their first parts. Cost: proportional to
// the bytes.
inline constexpr std::uint32_t kMostJoined = 16384;
inline constexpr DurationNs kLongestJoined{1'000'000'000};
std::vector<RawBlock> join_raw(const std::vector<RawBlock>& blocks);

// The newest blocks of the leaves, while they are small: the next cut writes them again, under their key,
// with what goes on from them. A source that says little would else fill an archive with headers. A block is
// written at most 1 + kMostExtensions times, which bounds what a commit writes in addition. Not thread safe;
// of the one thread that commits.
class RawTails {
 public:
  static constexpr std::uint32_t kMostExtensions = 8;
  static constexpr std::uint32_t kEnough = 1024;  // records: less than a few hundred cost their code tables
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;

  // What cut `sequence` is to write for these blocks. The same again for the same sequence, whether that cut
  // is in the archive or not: a repeat replaces.
  std::vector<RawBlock> extend(std::uint64_t sequence, const std::vector<RawBlock>& blocks);
  // The cut that `extend` was asked for last is in the archive, with these blocks.
  void committed(std::uint64_t sequence, const std::vector<RawBlock>& written);
  // Blocks were dropped: none of them must come back.
  void clear();

 private:
  struct Tail {
    RawBlock block;
    std::uint32_t extensions = 0;
  };
  using Tails = std::unordered_map<std::uint32_t, Tail>;  // by leaf
  std::uint64_t sequence_ = 0;                            // of the last cut
  Tails before_;                                          // as they were before it
  Tails tails_;
};

}  // namespace margay::store
