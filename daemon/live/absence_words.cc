#include "margay/live/absence_words.h"

#include <ctime>

namespace margay::daemon {
namespace {

std::string date(TimeNs t) {
  const std::time_t seconds = static_cast<std::time_t>(t.value / 1'000'000'000);
  std::tm local{};
  char text[32] = "";
  if (localtime_r(&seconds, &local) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

}  // namespace

std::string absence_sentence(TimeNs from, TimeNs to) {
  const std::int64_t s = (to - from).value / 1'000'000'000;
  return "nothing was watched from " + date(from) + " to " + date(to) + " (" + std::to_string(s) +
         " s): the daemon was not running, or was stopped, or its clock stepped";
}

}  // namespace margay::daemon
