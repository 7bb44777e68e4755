// While one is there, what Babeltrace 2.0 keeps is no leak of ours: the packet or the metadata that it was
// decoding when it failed, the event in whose middle a stream ends, 16 bytes of metadata that it refuses.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace margay::test_support {

#if defined(__SANITIZE_ADDRESS__)
using DecoderLeaks = __lsan::ScopedDisabler;
#else
struct DecoderLeaks {
  DecoderLeaks() {}
};
#endif

}  // namespace margay::test_support
