#include "batch_kernels.h"

namespace margay::partition::internal {

namespace baseline {
extern const BatchKernels kBatchKernels;
}
#ifdef MARGAY_X86_KERNELS
namespace avx2 {
extern const BatchKernels kBatchKernels;
}
namespace avx512 {
extern const BatchKernels kBatchKernels;
}
#endif

const BatchKernels* usable_batch_kernels(std::size_t number) {
  if (number == 0) return &baseline::kBatchKernels;
#ifdef MARGAY_X86_KERNELS
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (number == 1 && has_avx2) return &avx2::kBatchKernels;
  if (number == 2 && has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return &avx512::kBatchKernels;
  }
#endif
  return nullptr;
}

const BatchKernels& batch_kernels() {
  static const BatchKernels& fastest = []() -> const BatchKernels& {
    std::size_t number = 0;
    while (usable_batch_kernels(number + 1) != nullptr) ++number;
    return *usable_batch_kernels(number);
  }();
  return fastest;
}

}  // namespace margay::partition::internal
