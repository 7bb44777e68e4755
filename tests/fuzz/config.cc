// A configuration file: parses or is refused with a sentence that names it; what parses can be written and
// read again.
#include "margay/settings/config.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  margay::daemon::Options options;
  const auto read = margay::config::parse(margay::fuzz::text_of(data, size), "file", options);
  if (!read) {
    FUZZ_CHECK(read.error().message.starts_with("file"), "an error names the file");
    FUZZ_CHECK(read.error().code != margay::ErrorCode::kInternal, "no parser gives up for its own reasons");
    return 0;
  }
  const std::string text = margay::config::to_text(options);
  margay::daemon::Options again;
  const auto back = margay::config::parse(text, "again", again);
  if (!back) std::fprintf(stderr, "%s\n", back.error().message.c_str());
  FUZZ_CHECK(back, "a configuration that was accepted is accepted again");
  FUZZ_CHECK(margay::config::to_text(again) == text, "and is the same");
  return 0;
}
