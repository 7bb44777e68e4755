// Durations and sizes: what parses is not negative, and is written in a form that parses to the same.
#include "margay/settings/units.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = margay::fuzz::text_of(data, size);
  if (const auto d = margay::config::parse_duration(text)) {
    FUZZ_CHECK(d->value >= 0, "a duration is not negative");
    const auto back = margay::config::parse_duration(margay::config::to_text(*d));
    FUZZ_CHECK(back && *back == *d, "a duration comes back");
  }
  if (const auto s = margay::config::parse_size(text)) {
    FUZZ_CHECK(s->value < std::uint64_t{1} << 63, "a size is below 2^63");
    const auto back = margay::config::parse_size(margay::config::to_text(*s));
    FUZZ_CHECK(back && *back == *s, "a size comes back");
  }
  return 0;
}
