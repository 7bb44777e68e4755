#include "memory_lines.h"

#include <bit>

#include "margay/base/text.h"

namespace margay::trace::memory {

std::string quote(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  return "'" + clean_utf8(text, kLongest) + (text.size() > kLongest ? "...'" : "'");
}

tl::unexpected<Error> LineProblems::at(const Error& error) const {
  return fail(error, name_ + ":" + std::to_string(counts_.lines));
}

Status LineProblems::count(std::uint64_t& what, const Error& error) {
  if (!options_.keep_going) return at(error);
  ++what;
  if (options_.problem && counts_.rejected + counts_.late <= ReadOptions::kMostTold)
    options_.problem(at(error).value().message);
  return {};
}

Status LineProblems::wrong(const Error& error) {
  return count(counts_.rejected, error);
}

Status LineProblems::late(std::int64_t by_ns) {
  return count(counts_.late,
               {ErrorCode::kInvalidArgument,
                "its time is " + std::to_string(by_ns) +
                    " ns before that of the lines above; expected lines that are sorted by time"});
}

Result<Structures> open_structures(const ReadOptions& options) {
  if (!std::has_single_bit(options.page) || options.page < ReadOptions::kSmallestPage ||
      options.page > ReadOptions::kLargestPage)
    return fail(ErrorCode::kInvalidArgument, "a page has " + std::to_string(options.page) +
                                                 " bytes; expected a power of two, 8 bytes to 1 TiB");
  if (options.structures.empty()) return Structures();
  auto input = Input::open(options.structures);
  if (!input) return tl::unexpected(input.error());
  return Structures::read(*input);
}

}  // namespace margay::trace::memory
