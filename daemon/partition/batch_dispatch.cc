#include "batch_kernels.h"

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

const Kernels* usable_kernels(std::size_t number) {
  if (number == 0) return &baseline::kKernels;
#ifdef MARGAY_X86_KERNELS
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (number == 1 && has_avx2) return &avx2::kKernels;
  if (number == 2 && has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return &avx512::kKernels;
  }
#endif
  return nullptr;
}

const Kernels& kernels() {
  static const Kernels& fastest = []() -> const Kernels& {
    std::size_t number = 0;
    while (usable_kernels(number + 1) != nullptr) ++number;
    return *usable_kernels(number);
  }();
  return fastest;
}

}  // namespace margay::partition::internal
