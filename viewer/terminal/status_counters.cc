#include "status_counters.h"

#include <algorithm>
#include <vector>

#include "json_array.h"
#include "margay/base/pair_table.h"
#include "margay/text/text.h"

namespace margay::terminal {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kLongestCounterName = 24;
constexpr int kMostListed = 200;
constexpr std::size_t kMostText = 600;  // of a sentence

std::string safe(const std::string& s, std::size_t most = kMostText) {
  return text::printable(s, true, most);
}

// Words of `text` in lines of at most `columns`; the first one begins after `first` columns that are there
// already, the others after `indent` blanks. A word that is longer than a line gets one to itself.
std::string wrapped(const std::string& text, std::size_t first, std::size_t indent) {
  std::string out;
  std::size_t column = first, from = 0;
  bool begun = false;
  while (from <= text.size()) {
    std::size_t to = text.find(' ', from);
    if (to == std::string::npos) to = text.size();
    const std::string word = text.substr(from, to - from);
    from = to + 1;
    if (word.empty()) continue;
    if (begun && column + 1 + text::width_of(word) > kColumns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (begun) {
      out += ' ';
      ++column;
    }
    begun = true;
    out += word;
    column += text::width_of(word);
  }
  return out + "\n";
}

std::string value_text(const wire::Counter& c) {
  const std::uint64_t v = std::min<std::uint64_t>(c.value(), 9'000'000'000'000'000'000u / 1'000'000'000u);
  if (c.unit() == "bytes") return text::size_text(c.value());
  if (c.kind() == wire::Counter::CONDITION) return "yes";
  if (c.name() == "start_time_s")
    return text::clock_text(static_cast<std::int64_t>(v) * 1'000'000'000, 0) + " UTC";
  if (c.unit() == "s") return text::duration_text(static_cast<std::int64_t>(v) * 1'000'000'000);
  if (c.unit() == "ms" && c.value() < 1000) return grouped(c.value()) + " ms";
  if (c.unit() == "ms") return text::duration_text(static_cast<std::int64_t>(v) * 1'000'000);
  if (c.unit() == "us" && c.value() < 1'000'000) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f ms", static_cast<double>(c.value()) / 1000.0);
    return text;
  }
  if (c.unit() == "us") return text::duration_text(static_cast<std::int64_t>(v) * 1'000);
  return grouped(c.value());
}

constexpr const char* kSeverities[] = {"info", "warning", "error"};
constexpr const char* kMarks[] = {"  ", "! ", "!!"};

constexpr std::pair<wire::Counter::Kind, const char*> kKinds[] = {{wire::Counter::COUNTER, "counter"},
                                                                  {wire::Counter::LOSS, "loss"},
                                                                  {wire::Counter::GAUGE, "gauge"},
                                                                  {wire::Counter::CONDITION, "condition"}};

}  // namespace

std::string verdict_text(const wire::Health& h) {
  if (h.state() == wire::Health::HEALTHY) return "healthy\n";
  if (h.state() != wire::Health::DEGRADED) return {};
  if (h.reasons_size() == 1) return wrapped("DEGRADED: " + safe(h.reasons(0)), 0, 2);
  std::string out = "DEGRADED:\n";
  int n = 0;
  for (const auto& r : h.reasons())
    if (++n <= kMostListed) out += "  !! " + wrapped(safe(r), 5, 5);
  return out;
}

std::string counters_text(const wire::Health& h) {
  std::vector<const wire::Counter*> shown;
  for (const auto& c : h.counters())
    if (c.value() != 0 && shown.size() < kMostListed) shown.push_back(&c);
  if (shown.empty()) return {};
  std::stable_sort(shown.begin(), shown.end(),
                   [](const auto* a, const auto* b) { return a->severity() > b->severity(); });
  std::size_t name = 7, value = 5;
  for (const auto* c : shown) {
    name = std::max(name, text::width_of(safe(c->name(), kLongestCounterName)));
    value = std::max(value, text::width_of(value_text(*c)));
  }
  const std::size_t indent = 2 + 2 + 2 + name + 2 + value + 2;
  std::string out = "\ncounters that are not 0 (!! error, ! warning)\n";
  for (const auto* c : shown) {
    const std::uint32_t severity = std::min(c->severity(), 2u);
    const std::string n = safe(c->name(), kLongestCounterName), v = value_text(*c);
    out += std::string("  ") + kMarks[severity] + "  " + n + std::string(name - text::width_of(n), ' ') +
           "  " + std::string(value - text::width_of(v), ' ') + v + "  " +
           wrapped(safe(c->help()), indent, indent);
    if (!c->detail().empty() && c->detail() != c->help())
      out += std::string(indent, ' ') + wrapped(safe(c->detail()), indent, indent);
    if (severity > 0 && !c->remedy().empty())
      out += std::string(indent, ' ') + wrapped("-> " + safe(c->remedy()), indent, indent + 3);
  }
  return out;
}

nlohmann::json counters_json(const wire::Health& h) {
  return json_array(h.counters(), [](const auto& c) -> nlohmann::json {
    return {{"name", c.name()},
            {"value", c.value()},
            {"kind", second_of(kKinds, c.kind(), "unknown")},
            {"unit", c.unit()},
            {"severity", kSeverities[std::min(c.severity(), 2u)]},
            {"help", c.help()},
            {"remedy", c.remedy()},
            {"detail", c.detail()}};
  });
}

nlohmann::json health_json(const wire::Health& h) {
  const char* state = h.state() == wire::Health::HEALTHY    ? "healthy"
                      : h.state() == wire::Health::DEGRADED ? "degraded"
                                                            : "unknown";
  auto reasons = nlohmann::json::array();
  for (const auto& r : h.reasons()) reasons.push_back(r);
  return {{"state", state}, {"verdict", h.verdict()}, {"reasons", reasons}, {"version", h.daemon_version()}};
}

}  // namespace margay::terminal
