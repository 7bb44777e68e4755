#include "margay/sinks/settings.h"

#include <algorithm>
#include <iterator>

namespace margay::sinks {

#define MARGAY_SINK(name)               \
  bool wants_##name(const Settings& s); \
  Result<std::unique_ptr<Sink>> make_##name(const Settings& s, const Clock& clock);
#include "sinks.def"
#undef MARGAY_SINK

namespace {

struct Row {
  const char* key;
  bool (*wanted)(const Settings&);
  Result<std::unique_ptr<Sink>> (*make)(const Settings&, const Clock&);
};
constexpr Row kSinks[] = {
#define MARGAY_SINK(name) {"alerts." #name, wants_##name, make_##name},
#include "sinks.def"
#undef MARGAY_SINK
};

}  // namespace

bool Settings::any() const {
  return std::any_of(std::begin(kSinks), std::end(kSinks), [&](const Row& row) { return row.wanted(*this); });
}

Result<std::vector<std::unique_ptr<Sink>>> make_sinks(const Settings& s, const Clock& clock) {
  std::vector<std::unique_ptr<Sink>> sinks;
  for (const Row& row : kSinks) {
    if (!row.wanted(s)) continue;
    auto sink = row.make(s, clock);
    if (!sink) return fail(sink.error(), row.key);
    sinks.push_back(std::move(*sink));
  }
  return sinks;
}

}  // namespace margay::sinks
