// What lies where in memory: stretches of addresses with names, from a file (MEMORY.md). Pure but for read().
//
// Where several stretches overlap, an address is of the one that begins last; of those that begin together of
// the shortest; of equal ones of the one that was named last.
//
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/trace/input.h"

namespace margay::trace::memory {

inline constexpr std::uint32_t kNobody = 0xffffffff;

// An address or a size: "0x1f00", "7936"; with `hexadecimal`, "1f00" too. False: it is none that fits 64
// bits.
bool parse_number(std::string_view text, bool hexadecimal, std::uint64_t& value);

struct Structure {
  std::string name;
  std::uint64_t begin = 0, end = 0;  // [begin, end)
  std::uint64_t element = 0;         // bytes of one element of an array; 0: not known
};

class Structures {
 public:
  static constexpr std::size_t kMost = 65'536;
  static constexpr std::size_t kLongestName = 256;  // bytes; what is longer is cut
  static constexpr std::size_t kLongestLine = 65'536;

  // [begin, end) is all of one structure; the next segment begins there or later.
  struct Segment {
    std::uint64_t begin, end;
    std::uint32_t structure;
  };

  Structures() = default;
  // Reads a file: lines of CSV with a header, of nm -S, or of /proc/PID/maps, each by its form. Errors:
  // kInvalidArgument and kLimit (a sentence with file and line), those of the input.
  static Result<Structures> read(Input& input);
  explicit Structures(std::vector<Structure> all);

  const Structure& operator[](std::uint32_t structure) const { return all_[structure]; }
  std::size_t size() const { return all_.size(); }
  // Those that have an address in [begin, last], which may be the greatest one there is. Ascending.
  std::span<const Segment> within(std::uint64_t begin, std::uint64_t last) const;

 private:
  void flatten();

  std::vector<Structure> all_;
  std::vector<Segment> segments_;
};

}  // namespace margay::trace::memory
