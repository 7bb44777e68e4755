#include "text.h"

#include <chrono>
#include <cstdio>

#include "margay/base/pair_table.h"
#include "margay/base/text.h"

namespace margay::sinks {

Urgency urgency(alert::Kind kind) {
  switch (kind) {
    case alert::Kind::kStall:
    case alert::Kind::kSourceLost:
      return Urgency::kCritical;
    case alert::Kind::kPerturbation:
    case alert::Kind::kLoss:
      return Urgency::kWarning;
    case alert::Kind::kPhaseDuration:
      return Urgency::kInfo;
  }
  return Urgency::kWarning;
}

const char* to_string(Urgency u) {
  static constexpr std::pair<Urgency, const char*> kTexts[] = {
      {Urgency::kInfo, "info"}, {Urgency::kWarning, "warning"}, {Urgency::kCritical, "critical"}};
  return second_of(kTexts, u, "");
}

std::string fit(std::string text, std::size_t most) {
  text = clean_utf8(std::move(text));
  if (text.size() <= most) return text;
  return std::string(cut_utf8(text, most < 3 ? most : most - 3)) + (most < 3 ? "" : "...");
}

std::string listed(const std::vector<std::string>& names, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) out += (i > 0 ? ", " : "") + names[i];
  if (names.size() > most) out += " and " + std::to_string(names.size() - most) + " more";
  return out;
}

std::string rfc3339(TimeNs wall) {
  using std::chrono::floor;
  // Years of four digits, whatever a clock says.
  constexpr std::int64_t kYear9999 = 253'402'300'799;
  const std::int64_t ms = std::min(std::max<std::int64_t>(wall.value / 1'000'000, 0), kYear9999 * 1000);
  const std::chrono::sys_time<std::chrono::milliseconds> at{std::chrono::milliseconds(ms)};
  const auto day = floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  return text;
}

std::string safe_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return "";
  std::string_view host = url.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  if (const std::size_t at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
  return std::string(url.substr(0, scheme + 3)) + std::string(host);
}

std::string number_text(std::optional<double> number) {
  if (!number) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", *number);
  return text;
}

}  // namespace margay::sinks
