#include "measured.h"

#include <cmath>
#include <cstdio>

#include "margay/text/text.h"

namespace margay::terminal {
namespace {

constexpr std::size_t kLongestMeasureName = 60;
constexpr std::size_t kLongestNote = 200;

bool is_mean(const wire::Measured& m) {
  return m.operator_().rfind("mean:", 0) == 0;
}

}  // namespace

std::string amount_text(double value) {
  if (!std::isfinite(value) || value < 0) return "?";
  char text[32];
  if (value >= 999.5e18) {
    std::snprintf(text, sizeof text, "%.0e", value);
    std::string out(text);  // "1e+21": without the sign
    if (const auto plus = out.find('+'); plus != std::string::npos) out.erase(plus, 1);
    return out.size() <= 4 ? out : "huge";
  }
  const char* suffix = "kMGTPE";
  int power = -1;
  double v = value;
  for (; v >= 999.5; ++power) v /= 1000;
  if (power < 0 && (v == 0 || std::abs(v - std::round(v)) < 1e-9))
    std::snprintf(text, sizeof text, "%.0f", v);
  else if (power < 0 && v < 0.005)
    std::snprintf(text, sizeof text, "<.01");
  else if (v < 9.95)
    std::snprintf(text, sizeof text, power < 0 && v < 0.995 ? "%.2f" : "%.1f", v);
  else
    std::snprintf(text, sizeof text, "%.0f", v);
  std::string out(text);
  if (power >= 0) out += suffix[power];
  return out;
}

std::string rate_unit(const wire::Measured& m) {
  if (is_mean(m))
    return text::printable(std::string_view(m.operator_()).substr(5), true, kLongestMeasureName);
  return text::printable(m.unit(), true, kLongestMeasureName) + "/s";
}

std::string bars_title(const wire::Report& report) {
  if (!report.has_measured()) return "where the time goes, newest slices";
  const wire::Measured& m = report.measured();
  if (!m.note().empty()) return text::printable(m.note(), true, kLongestNote);
  return (is_mean(m) ? "mean of " : "") + rate_unit(m) + ", newest slices; a full bar is " +
         amount_text(m.full()) + (is_mean(m) ? "" : " of one resource");
}

std::string measured_text(const wire::Report& report) {
  if (!report.has_measured()) return {};
  const wire::Measured& m = report.measured();
  std::string out = "shown: " + text::printable(m.operator_(), true, kLongestMeasureName) +
                    " (operator); phases and alerts " + "rest on time\n";
  if (!m.note().empty()) out += "!! " + text::printable(m.note(), true, kLongestNote) + "\n";
  return out;
}

}  // namespace margay::terminal
