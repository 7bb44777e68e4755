// The alerts of a report as a viewer reads them: JSON or a message, one alert a line.
#include "alerts.h"

#include <nlohmann/json.hpp>

#include "fuzz.h"
#include "margay/terminal/live_lines.h"
#include "margay/terminal/status.h"
#include "margay/wire/alert_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace margay;
  wire::Report report;
  report.set_watermark_ns(1'700'000'000'000'000'000);
  fuzz::Input in(data, size);
  std::string_view rest = in.rest();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    if (const auto read = wire::read_alert_untrusted(line)) {
      FUZZ_CHECK(wire::read_alert_untrusted(wire::to_json(*read)), "what was written is read");
      *report.add_alerts() = *read;
    } else if (wire::Alert alert; alert.ParseFromArray(line.data(), static_cast<int>(line.size()))) {
      *report.add_alerts() = alert;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto views = terminal::read_alerts(report, 64);
  FUZZ_CHECK(views.size() <= 64, "as many as were asked for");
  for (const terminal::AlertView& a : views) {
    FUZZ_CHECK(!a.id.empty(), "an alert has an id");
    for (const std::string* text : {&a.id, &a.kind, &a.where, &a.sentence})
      for (const char c : *text) FUZZ_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "printable");
  }
  FUZZ_CHECK(nlohmann::json::accept(terminal::status_json(report)), "the status is JSON");
  terminal::LiveLines lines;
  static_cast<void>(lines.feed(report, TimeNs(0)));
  return 0;
}
