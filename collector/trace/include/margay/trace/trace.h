// A trace as a stream: what every importer makes of its file, and what an archive's raw events are read back
// as. Producers (Pajé, Margay's capture, an archive) call a Consumer (the archive writer, the re-slicer, an
// exporter), on one thread.
//
// Names (states, variables, events, links, regions) and leaves are declared before the first record that uses
// them and numbered densely from 0, so that a record needs nothing but numbers. A name is not a StateId: a
// consumer that models states interns those of kind kState itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "margay/base/ids.h"
#include "margay/base/record.h"
#include "margay/base/result.h"
#include "margay/model/hierarchy.h"
#include "margay/model/name_kind.h"
#include "margay/model/state_table.h"

namespace margay::trace {

struct Name {
  using Kind = model::NameKind;
  Kind kind = Kind::kState;
  // Of an imported mark or link: its type, a line break, its value (neither has one). Not trusted to be
  // printable beyond being UTF-8 without control characters but this.
  std::string text;
  model::StateFamily family = model::StateFamily::kOther;  // of states

  // As people read it: of an imported mark or link "type: value".
  std::string shown() const {
    std::string out = text;
    if (const std::size_t line = out.find('\n'); line != std::string::npos) out.replace(line, 1, ": ");
    return out;
  }
};

// A resource whose records follow.
struct Leaf {
  // Of an imported leaf: "path1", "path2" ... from the root down, shown as they are (hierarchy.h); what else
  // an export needs (collector/import/IMPORT.md); and "base", the text of the name below.
  model::Attributes attributes;
  // The state (a Name index) that it is in while it exists and no state is open; nothing: Compute. The name
  // "Absent" makes a leaf that has records (variables, marks, links), but no time.
  std::optional<std::uint16_t> base;
};

class Consumer {
 public:
  virtual ~Consumer() = default;
  // `index` is 0, 1, 2 ... Errors (of all): the trace cannot be taken (kLimit, kIo ...); the producer stops
  // and passes them on.
  virtual Status on_name(std::uint16_t index, const Name& name) = 0;
  virtual Status on_leaf(LeafIndex index, const Leaf& leaf) = 0;
  // Some records of one leaf; each leaf's come in the order of their times (equal times: in the order in
  // which they happened). `time_ns` is trace time, `state` a Name index, `kind` one of MARGAY_*: the first of
  // a leaf makes it exist. Valid during the call.
  virtual Status on_records(LeafIndex leaf, std::span<const EventRecord> records) = 0;
  // All that is known of a leaf in the end, in place of what on_leaf said: where that depends on the others
  // (of a page, which pages lie beside it). Who has passed on the first may leave it at that.
  virtual Status on_attributes(LeafIndex leaf, const model::Attributes& attributes) {
    static_cast<void>(leaf), static_cast<void>(attributes);
    return {};
  }
  // No record before `t`, of any leaf, will come any more. Grows.
  virtual Status on_covered(TimeNs t) = 0;
};

}  // namespace margay::trace
