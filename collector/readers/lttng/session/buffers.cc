#include <algorithm>
#include <bit>
#include <limits>

#include "margay/base/text.h"
#include "margay/lttng_session/live_session.h"

namespace margay::lttng {
namespace {
constexpr std::uint64_t kSmallest = 16 << 10;
constexpr std::uint64_t kLargest = 1ull << 30;
constexpr std::uint64_t kFiles = 8;
}  // namespace

Result<BufferPlan> plan_buffers(const LiveOptions& o, std::uint64_t cpus, std::uint64_t free_memory) {
  if (o.sub_buffer_bytes == 0 || o.sub_buffer_bytes > kLargest || o.sub_buffers == 0 ||
      o.sub_buffers > 1024 || cpus == 0 || cpus > (1 << 16))
    return fail(ErrorCode::kInvalidArgument, "sub-buffers: 1 to 1,024 of at most 1 GiB");
  BufferPlan plan;
  plan.sub_buffer_bytes = std::max(std::bit_ceil(o.sub_buffer_bytes), kSmallest);
  plan.sub_buffers = std::max<std::uint64_t>(std::bit_ceil(o.sub_buffers), 2);
  const std::uint64_t room = std::min(o.most_memory, free_memory / 2);
  // The consumer daemon reads one while the program writes into the others.
  const auto bytes = [&] { return cpus * (plan.sub_buffers + 1) * plan.sub_buffer_bytes; };
  while (bytes() > room && plan.sub_buffer_bytes > kSmallest) plan.sub_buffer_bytes /= 2;
  while (bytes() > room && plan.sub_buffers > 2) plan.sub_buffers /= 2;
  plan.bytes_per_user = bytes();
  if (plan.bytes_per_user > room)
    return fail(ErrorCode::kLimit, "no room for LTTng's buffers: " + grouped(cpus) + " CPUs need " +
                                       grouped(plan.bytes_per_user) +
                                       " bytes of shared memory, and may have " + grouped(room));
  if (o.most_disk == 0) return plan;
  const std::uint64_t per_cpu = o.most_disk / cpus;
  plan.files = kFiles;
  while (per_cpu / plan.files < plan.sub_buffer_bytes && plan.files > 2) plan.files /= 2;
  plan.file_bytes = per_cpu / plan.files;
  if (plan.file_bytes < plan.sub_buffer_bytes)
    return fail(ErrorCode::kLimit, "most_disk: two sub-buffers on each of " + grouped(cpus) + " CPUs are " +
                                       grouped(2 * cpus * plan.sub_buffer_bytes) + " bytes, and it is " +
                                       grouped(o.most_disk));
  return plan;
}

}  // namespace margay::lttng
