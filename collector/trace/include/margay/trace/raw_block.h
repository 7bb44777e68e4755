// What the raw events of an archive say: the times of a block's records, and what their names mean. For all
// who read them (archive_trace.h, the export).
//
// CLOCKS. The records of a block hold their source's host time, the block's key the trace time that its first
// and last record got when they were taken. The difference is the block's clock offset; where it is another
// one at the end (a clock of another machine that drifts), records in between are mapped along the line. So a
// block's ends are exact, and within a block the map is off by what the drift itself changed in it, far below
// the error that SourceRecord.clock_error tells. Imported archives, and blocks whose times were
// rounded, hold trace time already: the offset is 0.
//
// WHO. Names are those of the source that a block tells. Blocks of before that was kept (raw values of
// version 1 and 2) do not say which program of a leaf they come from: for them names are those of the leaf's
// newest source, or of any, for programs that use the same probe have the same states in the same order. So
// it is with the states of a source whose names an older Margay forgot; its texts, which are a program's own,
// are gone.
//
// Thread safety: of RawNames, reading; functions are safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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

// Rounds the block's times down to multiples of `grid` (a power of two) in trace time, which its records then
// hold themselves (a clock offset of 0): what is in a slice of a multiple of `grid` stays in it, and no order
// is changed. Errors: kCorrupt, kLimit (the columns are broken); the block is as it was. `scratch` is for
// reuse. Cost: decoding and encoding, some 20 ns a record.
Status round_times(store::RawBlock& block, DurationNs grid, std::vector<EventRecord>& scratch);

// What the names of records that are read from an archive mean.
class RawNames {
 private:
  struct Table {
    const std::vector<StateId>* states = nullptr;
    std::vector<const std::string*> texts;  // by name; empty where there are none
  };

 public:
  // Of the records of one block. Valid as long as the RawNames it is from.
  class OfBlock {
   public:
    // The state of name `name`: kUnknown for what is no state; nothing if there is no such name.
    std::optional<StateId> state(std::uint16_t name) const;
    // The text of a region, variable, mark or link (of a mark or link: its type, a line break, its value);
    // nothing where the archive keeps none. Valid as long as `resume`.
    std::optional<std::string_view> text(std::uint16_t name) const;

   private:
    friend class RawNames;
    const Table* table_ = nullptr;  // none: no name means anything
    std::size_t states_ = 0;        // of the run
    bool own_ = true;               // the block's source's, so that texts are, too
  };

  // `resume` must outlive it. Cost: one pass over sources and leaves.
  explicit RawNames(const store::Resume& resume);

  // An unknown leaf has no names. Cost: a look-up.
  OfBlock of(const store::RawBlock& block) const;

 private:
  std::size_t states_;
  std::vector<Table> tables_;  // of the sources
  std::unordered_map<std::uint64_t, std::size_t> table_of_source_;
  std::vector<std::size_t> table_of_leaf_;  // of its newest source; beyond tables_: none
};

}  // namespace margay::trace
