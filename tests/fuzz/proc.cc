// The files of /proc that the node sampler reads. A command may hold any bytes, brackets and digits included.
//   input: u8 which file, then its text
#include "fuzz.h"
#include "margay/node/sampler.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  margay::fuzz::Input in(data, size);
  const unsigned which = in.u8() % 4;
  const std::string_view text = in.rest();
  if (which == 0) {
    if (const auto stat = margay::node::parse_stat(text)) {
      FUZZ_CHECK(text.find(stat->state, text.rfind(')')) != std::string_view::npos, "the state was there");
      static_cast<void>(margay::node::ticks_to_ns(stat->cpu_ticks));
    }
  } else if (which == 1) {
    static_cast<void>(margay::node::parse_schedstat(text));
  } else if (which == 3) {
    static_cast<void>(margay::node::parse_storage_bytes(text));
  } else if (const auto ticks = margay::node::parse_steal_ticks(text)) {
    FUZZ_CHECK(text.starts_with("cpu ") || text.find("cpu ") != std::string_view::npos,
               "it was the first line");
    static_cast<void>(margay::node::ticks_to_ns(*ticks));
  }
  return 0;
}
