// What the raw events of an archive say: the times of a block's records, and what their names mean. For all
// who read them (archive_trace.h, the export).
//
// CLOCKS. The records of a block hold their source's host time, the block's key the trace time that its first
// and last record got when they were taken. The difference is the block's clock offset; where it is another
// one at the end (a clock of another machine that drifts), records in between are mapped along the line. So a
// block's ends are exact, and within a block the map is off by what the drift itself changed in it, far below
// the error that SourceRecord.clock_error tells. Imported archives hold trace time already: the offset is 0.
//
// WHO. A block does not say which program of a leaf it comes from: names are those of the leaf's newest
// source. Of a source that was forgotten the names are gone; those of another one do, for programs that use
// the same probe have the same names in the same order.
//
// Thread safety: of RawNames, reading; functions are safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/record.h"
#include "margay/base/result.h"
#include "margay/store/records.h"

namespace margay::trace {

// Replaces `out` by the block's records in trace time; their names stay the source's. Kinds that are none,
// and what lies beyond the block's end, are left out and added to `rejected`. `archive` is for the message.
// Errors: kCorrupt. Cost: one pass.
Status decode_block(const std::string& archive, const store::RawBlock& block, std::vector<EventRecord>& out,
                    std::uint64_t& rejected);

// Of a record that is read from an archive; an unknown leaf has no names.
class RawNames {
 public:
  // `resume` must outlive it. Cost: one pass over sources and leaves.
  explicit RawNames(const store::Resume& resume);

  // The state of name `name` of the leaf's source: kUnknown for what is no state; nothing if there is no such
  // name.
  std::optional<StateId> state(LeafIndex leaf, std::uint16_t name) const;
  // The text of a region, variable, mark or link (of a mark or link: its type, a line break, its value);
  // nothing where the archive keeps none. Valid as long as `resume`.
  std::optional<std::string_view> text(LeafIndex leaf, std::uint16_t name) const;

 private:
  struct Table {
    const std::vector<StateId>* states = nullptr;
    std::vector<const std::string*> texts;  // by name; empty where there are none
  };
  const store::Resume& resume_;
  std::vector<Table> tables_;          // of the sources
  std::vector<std::size_t> table_of_;  // by leaf; beyond tables_: none
};

}  // namespace margay::trace
