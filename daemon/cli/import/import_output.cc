#include "import_output.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "margay/base/text.h"
#include "margay/settings/units.h"
#include "margay/text/table.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

using nlohmann::json;

std::string safe(const std::string& text) {
  return text::shortened(text::printable(text, true, 400), 100);
}

// "3.1 M", "840 k", "12".
std::string rate_text(double n) {
  char text[32];
  if (n >= 1e6)
    std::snprintf(text, sizeof text, "%.1f M", n / 1e6);
  else if (n >= 1e4)
    std::snprintf(text, sizeof text, "%.0f k", n / 1e3);
  else
    std::snprintf(text, sizeof text, "%.0f", n);
  return text;
}

double per_second(std::uint64_t n, double seconds) {
  return seconds > 0 ? static_cast<double>(n) / seconds : 0;
}

// Exactly, in seconds: times of simulators say nothing as dates.
std::string seconds_text(TimeNs t) {
  char text[64];
  const bool negative = t.value < 0;
  const auto ns = static_cast<unsigned long long>(negative ? -t.value : t.value);
  std::snprintf(text, sizeof text, "%s%llu.%09llu", negative ? "-" : "", ns / 1'000'000'000,
                ns % 1'000'000'000);
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out + " s";
}

}  // namespace

std::string progress_text(const trace::ReadCounts& counts, std::uint64_t size, double seconds) {
  const std::uint64_t done = counts.lines > 0 ? counts.lines : counts.records;
  std::string out = grouped(done) + (counts.lines > 0 ? " lines, " : " records, ") +
                    rate_text(per_second(done, seconds)) + " a second";
  if (size > 0 && counts.bytes > 0) {
    const double part = static_cast<double>(counts.bytes) / static_cast<double>(size);
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.0f %%", 100 * part);
    out += ", " + std::string(percent) + ", " +
           text::duration_text(static_cast<std::int64_t>(seconds / part * (1 - part) * 1e9)) + " left";
  }
  return out;
}

std::string done_text(const ImportDone& d) {
  const trace::ReadCounts& c = d.counts;
  text::Table table({"", ""});
  const auto line = [&table](const char* what, std::string text) { table.add({what, std::move(text)}); };
  line("archive", safe(d.archive) + ", from " + safe(d.file) + " (" + d.format + ")");
  line("trace", seconds_text(d.outcome.begin) + " to " + seconds_text(d.outcome.end) + ", lasts " +
                    seconds_text(TimeNs((d.outcome.end - d.outcome.begin).value)));
  line("containers", grouped(c.containers) + ", " + grouped(d.leaves) + " leaves");
  line("states", grouped(c.states));
  line("variables", grouped(c.variables) + (c.variables == 1 ? " value" : " values"));
  line("events", grouped(c.marks));
  line("links",
       grouped(c.links) + (c.half_links == 0 ? "" : ", " + grouped(c.half_links) + " more only half there"));
  line("slices", grouped(d.outcome.slices) + " of " + config::to_text(d.slice));
  line("records", grouped(d.outcome.produced) + " = " + grouped(d.outcome.modelled) + " modelled + " +
                      grouped(d.outcome.late_dropped) + " too late + " + grouped(d.outcome.rejected) +
                      " rejected");
  line("took", text::duration_text(static_cast<std::int64_t>(d.seconds * 1e9)) + ", " +
                   (c.lines > 0 ? grouped(c.lines) + " lines, " : "") +
                   rate_text(per_second(c.records, d.seconds)) + " records a second");
  std::string text = table.text();
  text = text.substr(text.find('\n') + 1);  // its head is empty
  constexpr std::uint64_t kFewSlices = 10;
  if (d.outcome.slices < kFewSlices)
    text += "The trace is short for slices of " + config::to_text(d.slice) +
            ": a shorter --slice shows more of it.\n";
  return text;
}

std::string done_json(const ImportDone& d) {
  const trace::ReadCounts& c = d.counts;
  return json{{"archive", clean_utf8(d.archive)},
              {"file", clean_utf8(d.file)},
              {"format", d.format},
              {"bytes", c.bytes},
              {"lines", c.lines},
              {"containers", c.containers},
              {"leaves", d.leaves},
              {"states", c.states},
              {"variables", c.variables},
              {"events", c.marks},
              {"links", c.links},
              {"half_links", c.half_links},
              {"begin_ns", d.outcome.begin.value},
              {"end_ns", d.outcome.end.value},
              {"slice_ns", d.slice.value},
              {"slices", d.outcome.slices},
              {"records",
               {{"produced", d.outcome.produced},
                {"modelled", d.outcome.modelled},
                {"late_dropped", d.outcome.late_dropped},
                {"rejected", d.outcome.rejected}}},
              {"seconds", d.seconds}}
             .dump(2) +
         "\n";
}

}  // namespace margay::daemon
