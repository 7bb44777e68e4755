#include "margay/observe/counters.h"

namespace margay::observe {
namespace {

constexpr std::array<Row, kCounters> kTable = {{
#define MARGAY_COUNTER(name, kind, unit, severity, meaning, remedy) \
  {#name, Kind::kind, Unit::unit, Severity::severity, meaning, remedy},
#include "margay/observe/counters.def"
#undef MARGAY_COUNTER
}};

wire::Counter::Kind to_wire(Kind k) {
  switch (k) {
    case Kind::counter:
      return wire::Counter::COUNTER;
    case Kind::loss:
      return wire::Counter::LOSS;
    case Kind::gauge:
      return wire::Counter::GAUGE;
    case Kind::condition:
      return wire::Counter::CONDITION;
  }
  return wire::Counter::UNKNOWN;
}

}  // namespace

std::span<const Row> table() {
  return kTable;
}
const Row& row(Id id) {
  return kTable[static_cast<std::size_t>(id)];
}

const char* to_string(Unit u) {
  switch (u) {
    case Unit::none:
      return "";
    case Unit::us:
      return "us";
    case Unit::ms:
      return "ms";
    case Unit::s:
      return "s";
    case Unit::bytes:
      return "bytes";
  }
  return "";
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
    c->set_kind(to_wire(r.kind));
    c->set_remedy(r.remedy);
    if (values[id] != 0) c->set_detail(values.why(id));
  }
}

}  // namespace margay::observe
