// The parts of a wire::ToCollector, found in place: a batch's columns are most of a message, and a parser
// that makes objects would copy them first. Private to the folder.
//
// The grammar is that of protobuf: fields in any order, unknown ones are skipped, of a field that comes twice
// the last counts (messages merge). What the generated parser refuses as malformed is refused here, but for
// text that is no UTF-8. Views live as long as the bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace margay::trace::internal {

struct BatchView {
  std::uint64_t source = 0;
  std::uint32_t epoch = 0;
  std::uint32_t stream = 0;
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  std::int64_t covered_until_ns = 0;
  std::uint32_t open_state = 0;
  std::string_view columns;
  std::string_view thread;  // its name, or ""
};

struct MessageView {
  std::uint64_t version = 0;
  std::string_view run;
  std::vector<std::string_view> hello, goodbye;  // pieces of one message each
  std::vector<BatchView> batches;
};

// More batches than this in one message are no agent's.
inline constexpr std::size_t kMostBatches = 65536;

// False: malformed. `out` is reused.
bool find_parts_untrusted(std::string_view bytes, MessageView& out);

}  // namespace margay::trace::internal
