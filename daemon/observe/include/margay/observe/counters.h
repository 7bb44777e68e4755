// The table of counters (counters.def) and a set of values for it. Values are plain: each stage fills its own
// and hands it on; nothing here is shared between threads. Cost: an array of some 70 numbers.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "margay/wire/report.pb.h"

namespace margay::observe {

enum class Id : std::uint16_t {
#define MARGAY_COUNTER(name, ...) name,
#include "margay/observe/counters.def"
#undef MARGAY_COUNTER
};
enum class Kind : std::uint8_t { counter, loss, gauge, condition };
enum class Unit : std::uint8_t { none, us, ms, s, bytes };
enum class Severity : std::uint8_t { info, warning, error };

struct Row {
  const char* name;
  Kind kind;
  Unit unit;
  Severity severity;
  const char* meaning;
  const char* remedy;
};

// By Id.
std::span<const Row> table();
const Row& row(Id id);
const char* to_string(Unit unit);  // "" for none
inline constexpr std::size_t kCounters = 0
#define MARGAY_COUNTER(...) +1  // NOLINT(bugprone-macro-parentheses): a summand
#include "margay/observe/counters.def"
#undef MARGAY_COUNTER
    ;

class Values {
 public:
  void set(Id id, std::uint64_t value) {
    value_[index(id)] = value;
    known_.set(index(id));
  }
  // A sentence on why it is what it is; shown beside a value that is not 0.
  void explain(Id id, std::string sentence) { why_[id] = std::move(sentence); }
  // What `other` knows replaces what is known here.
  void merge(const Values& other);

  bool known(Id id) const { return known_[index(id)]; }
  std::uint64_t operator[](Id id) const { return value_[index(id)]; }  // 0 if not known
  const std::string& why(Id id) const;                                 // "" if nobody said

 private:
  static constexpr std::size_t index(Id id) { return static_cast<std::size_t>(id); }
  std::array<std::uint64_t, kCounters> value_{};
  std::bitset<kCounters> known_;
  std::map<Id, std::string> why_;
};

// The known values, in the table's order.
void write_counters(const Values& values, wire::Health& health);

}  // namespace margay::observe
