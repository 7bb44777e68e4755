// Days of the Gregorian calendar. Pure: no clock and no time zone is asked.
//
// Thread safety: pure functions. Cost: constant.
#pragma once

#include <chrono>
#include <cstdint>

namespace margay {

struct CalendarDay {
  int year = 1970;  // -32767 to 32767
  int month = 1, day = 1;
};

inline CalendarDay calendar_day(std::int64_t since_1970) {
  const std::chrono::year_month_day d{std::chrono::sys_days{std::chrono::days{since_1970}}};
  return {static_cast<int>(d.year()), static_cast<int>(static_cast<unsigned>(d.month())),
          static_cast<int>(static_cast<unsigned>(d.day()))};
}
inline std::chrono::year_month_day year_month_day(CalendarDay d) {
  return std::chrono::year{d.year} / std::chrono::month{static_cast<unsigned>(d.month)} /
         std::chrono::day{static_cast<unsigned>(d.day)};
}
// False of the 30th of February.
inline bool is_calendar_day(CalendarDay d) {
  return year_month_day(d).ok();
}
// REQUIRES: is_calendar_day().
inline std::int64_t days_since_1970(CalendarDay d) {
  return std::chrono::sys_days{year_month_day(d)}.time_since_epoch().count();
}

}  // namespace margay
