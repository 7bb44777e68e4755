#include "clocks.h"

#include <algorithm>
#include <cstring>

namespace margay::lttng {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMost = INT64_MAX / 2;
__extension__ using Wide = __int128;

std::int64_t held(Wide value) {
  return static_cast<std::int64_t>(std::clamp<Wide>(value, -kMost, kMost));
}

std::int64_t nanoseconds(std::uint64_t cycles, std::uint64_t frequency) {
  return held(static_cast<Wide>(cycles) * kSecond / static_cast<Wide>(frequency));
}

}  // namespace

TimeNs ClockScale::slow(std::uint64_t raw) const {
  if (frequency == 0) return TimeNs{};
  return TimeNs(held(static_cast<Wide>(nanoseconds(raw, frequency)) + shift));
}

ClockScale Clocks::scale(const bt_clock_class* clock) {
  if (clock == nullptr) return {0, 0};
  const std::uint64_t frequency = std::max<std::uint64_t>(bt_clock_class_get_frequency(clock), 1);
  std::int64_t offset_seconds = 0;
  std::uint64_t offset_cycles = 0;
  bt_clock_class_get_offset(clock, &offset_seconds, &offset_cycles);
  const std::int64_t offset =
      held(static_cast<Wide>(offset_seconds) * kSecond + nanoseconds(offset_cycles, frequency));
  const char* const given = bt_clock_class_get_name(clock);
  const std::string name = given == nullptr ? "" : given;
  const auto* const uuid = bt_clock_class_get_uuid(clock);
  if (!any_) {
    any_ = true;
    name_ = name;
    monotonic_ = name == "monotonic" && bt_clock_class_origin_is_unix_epoch(clock) == BT_TRUE;
    has_uuid_ = uuid != nullptr;
    if (has_uuid_) std::copy_n(uuid, uuid_.size(), uuid_.begin());
    offset_ = offset;
  }
  const bool same =
      uuid != nullptr && has_uuid_ && name == name_ && std::memcmp(uuid, uuid_.data(), uuid_.size()) == 0;
  return {frequency, same ? 0 : held(static_cast<Wide>(offset) - offset_)};
}

}  // namespace margay::lttng
