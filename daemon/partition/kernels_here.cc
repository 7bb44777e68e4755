#include "kernels.h"

namespace margay::partition::internal {

namespace baseline {
extern const Kernels kKernels;
}
#ifdef MARGAY_X86_KERNELS
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
#endif

const std::vector<const Kernels*>& kernels_here() {
  static const std::vector<const Kernels*> here = [] {
    std::vector<const Kernels*> found{&baseline::kKernels};
#ifdef MARGAY_X86_KERNELS
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      found.push_back(&avx2::kKernels);
      if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512vl"))
        found.push_back(&avx512::kKernels);
    }
#endif
    return found;
  }();
  return here;
}

}  // namespace margay::partition::internal
