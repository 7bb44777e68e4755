#include "margay/live/absence_words.h"

#include "margay/text/text.h"

namespace margay::daemon {

std::string absence_sentence(TimeNs from, TimeNs to) {
  const std::int64_t s = (to - from).value / 1'000'000'000;
  return "nothing was watched from " + text::date_text(from) + " to " + text::date_text(to) + " (" +
         std::to_string(s) + " s): the daemon was not running, or was stopped, or its clock stepped";
}

}  // namespace margay::daemon
