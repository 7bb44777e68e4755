// How times of the run are told.
#include <ctime>
#include <utility>

#include "session.h"

namespace margay::viewer {
namespace {

constexpr DurationNs kOneDay = seconds(86'400);

std::int64_t utc_offset_at(TimeNs wall) {
  const auto then = static_cast<std::time_t>(wall.value / 1'000'000'000);
  std::tm local{};
  return localtime_r(&then, &local) != nullptr ? local.tm_gmtoff : 0;
}

}  // namespace

scene::Times Session::times() const {
  const auto all = bounds();
  scene::Times out;
  out.zero = !data_->empty() ? data_->zero : all ? all->from : TimeNs();
  if (scene::is_wall_clock(out.zero)) out.utc_offset_s = utc_offset_at(out.zero);
  out.by_clock = look_.by_clock;
  out.dated = all && all->to - all->from > kOneDay;
  return out;
}

void Session::set_by_clock(bool by_clock) {
  if (std::exchange(look_.by_clock, by_clock) == by_clock) return;
  emit view_changed();
  emit status_changed();
}

}  // namespace margay::viewer
