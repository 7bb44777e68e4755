#include "margay/observe/counters.h"

#include "margay/base/pair_table.h"

namespace margay::observe {
namespace {

constexpr std::array<Row, kCounters> kTable = {{
#define MARGAY_COUNTER(name, kind, unit, severity, meaning, remedy) \
  {#name, Kind::kind, Unit::unit, Severity::severity, meaning, remedy},
#include "margay/observe/counters.def"
#undef MARGAY_COUNTER
}};

constexpr std::pair<Kind, wire::Counter::Kind> kKinds[] = {{Kind::counter, wire::Counter::COUNTER},
                                                           {Kind::loss, wire::Counter::LOSS},
                                                           {Kind::gauge, wire::Counter::GAUGE},
                                                           {Kind::condition, wire::Counter::CONDITION}};

}  // namespace

std::span<const Row> table() {
  return kTable;
}
const Row& row(Id id) {
  return kTable[static_cast<std::size_t>(id)];
}

const char* to_string(Unit u) {
  static constexpr std::pair<Unit, const char*> kTexts[] = {
      {Unit::us, "us"}, {Unit::ms, "ms"}, {Unit::s, "s"}, {Unit::bytes, "bytes"}};
  return second_of(kTexts, u, "");
}

void Values::merge(const Values& other) {
  for (std::size_t i = 0; i < kCounters; ++i)
    if (other.known_[i]) set(static_cast<Id>(i), other.value_[i]);
  for (const auto& [id, sentence] : other.why_) why_[id] = sentence;
}

const std::string& Values::why(Id id) const {
  static const std::string none;
  const auto it = why_.find(id);
  return it == why_.end() ? none : it->second;
}

void write_counters(const Values& values, wire::Health& health) {
  for (std::size_t i = 0; i < kCounters; ++i) {
    const Id id = static_cast<Id>(i);
    if (!values.known(id)) continue;
    const Row& r = row(id);
    auto* c = health.add_counters();
    c->set_name(r.name);
    c->set_value(values[id]);
    c->set_severity(static_cast<std::uint32_t>(r.severity));
    c->set_help(r.meaning);
    c->set_unit(to_string(r.unit));
    c->set_kind(second_of(kKinds, r.kind, wire::Counter::UNKNOWN));
    c->set_remedy(r.remedy);
    if (values[id] != 0) c->set_detail(values.why(id));
  }
}

}  // namespace margay::observe
