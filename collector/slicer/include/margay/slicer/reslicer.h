// The re-slicer: the records of any number of leaves in, a dense model over any range and number of slices
// out. Pure.
//
// Unlike the slicer (slicer.h) it has the records in order and the range in advance, and so needs no
// positions, amendments or closing; it gives the same durations, to the nanosecond, for the same records.
// A leaf is Absent before its first record. Time that runs backwards stands still.
//
// Values go into *columns*: one per state (or mark, or link) that the operator tells of and the filter lets
// through, in order of appearance. Time in which a leaf was Absent or Unknown is counted apart and is in no
// column.
//
// Cost: O(1 + slices overlapped) per record (of lengths: by each visit that it ends), nothing allocated per
// record. Memory: 8 bytes per leaf, slice and column (of lengths 16), and the open states of each leaf.
// Thread safety: none; two re-slicers that were told the same names and leaves may each take the records of
// some leaves and be joined (adopt).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/record.h"
#include "margay/base/result.h"
#include "margay/model/name_kind.h"
#include "margay/model/state_table.h"
#include "margay/slicer/grid.h"
#include "margay/slicer/operator.h"

namespace margay::slicer {

class Reslicer {
 public:
  using NameKind = model::NameKind;
  // As the slicer's: deeper states count as the one at the limit.
  static constexpr std::size_t kDeepest = 64;

  struct Options {
    Grid grid;
    Operator op;
    // States, marks and links that get a column; nothing: all.
    std::function<bool(std::string_view)> wanted;
    std::uint64_t memory_bytes = std::uint64_t{4} << 30;
  };
  explicit Reslicer(Options options);

  // Names are numbered in order of adding; records carry these numbers. Errors: those of StateTable::intern,
  // kLimit beyond 65536.
  Status add_name(NameKind kind, const std::string& text, model::StateFamily family);
  // Absent until its first record. `base`: what it does while no state is open, as the name of a state;
  // nothing: Compute. Errors: kLimit (the model would take more than memory_bytes), kInvalidArgument.
  Status add_leaf(std::optional<std::uint16_t> base = {});

  // Records of a leaf, in order. Errors: kInvalidArgument (no such leaf or name; a value of the variable that
  // is negative or no number), kLimit.
  Status take(LeafIndex leaf, std::span<const EventRecord> records);
  // What is open goes on to here, in every leaf that was not taken further; what is left of the range is
  // Unknown. Call once, at the end.
  Status finish(TimeNs until);
  // Takes the leaves l with l % parts == part from `other`, which has the same names and leaves.
  Status adopt(Reslicer& other, std::uint32_t part, std::uint32_t parts);

  const Grid& grid() const { return options_.grid; }
  const Operator& op() const { return options_.op; }
  std::uint32_t leaves() const { return static_cast<std::uint32_t>(leaves_.size()); }
  std::size_t columns() const { return columns_.size() - kFirst; }
  const std::string& column_name(std::size_t column) const { return columns_[column + kFirst]; }
  // All states that were named, whether they have a column or not, for hints.
  const model::StateTable& states() const { return states_; }
  // Column `column` of the leaf in slice `slice`: nanoseconds, counts, bytes, a mean length, or what the
  // operator makes of its variable.
  double value(LeafIndex leaf, std::uint32_t slice, std::size_t column) const;
  // The same in whole numbers; of a variable the nanoseconds in which it had a value, of
  // lengths the visits.
  std::uint64_t count(LeafIndex leaf, std::uint32_t slice, std::size_t column) const;
  // Nanoseconds of the slice in which the leaf was Absent or Unknown.
  std::uint64_t not_there(LeafIndex leaf, std::uint32_t slice) const;
  bool existed(LeafIndex leaf) const { return leaves_[leaf.value].seen; }
  std::uint64_t records() const { return records_; }
  std::uint64_t backwards() const { return backwards_; }

 private:
  // Rows of a leaf: 0 before the range, 1 to N its slices, N + 1 after it. Columns 0 and 1 of a row: Absent
  // and Unknown time, and what the filter does not let through.
  static constexpr std::uint16_t kNotThere = 0, kUnwanted = 1;
  static constexpr std::size_t kFirst = 2;

  struct Open {
    std::uint64_t bytes = 0;  // as posted
    std::uint16_t state = 0;  // StateId
    bool peer = false;
    std::int64_t begin = 0;
  };
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  // Where a leaf stands: what changes with every record.
  struct Cursor {
    std::uint64_t* row = nullptr;  // of the slice that `at` lies in
    std::int64_t at = std::numeric_limits<std::int64_t>::min();
    std::int64_t slice_end = 0;
    std::uint32_t row_index = 0;
    std::uint16_t top = kNotThere;  // column of the state that counts
    bool has_value = false;         // of the variable
    double value = 0;
  };
  struct Leaf {
    Cursor cursor;
    std::uint16_t base = kAbsent.value;
    std::uint16_t own_base = kCompute.value;
    bool seen = false;
    std::size_t stride = 0;
    std::vector<Open> stack;
    std::vector<std::uint64_t> cells;  // [row][stride]
    std::int64_t around = kNever;      // of kLength: when the visit to the base began, while there is one;
    std::int64_t sums_since = kNever;  // and the sums of which the last record is one
    std::vector<double> reals;  // [row]; of a variable: of kMean its integral, of kMax the greatest, of
                                // kRate the growth
  };
  struct NameInfo {
    NameKind kind = NameKind::kRegion;
    std::uint16_t state = 0;           // StateId, of states
    std::uint16_t column = kUnwanted;  // of marks, links and the variable
  };

  template <Operator::Measure M>
  Status walk(Leaf& leaf, std::span<const EventRecord> records);
  template <Operator::Measure M>
  void pass(Leaf& leaf, Cursor& at, std::int64_t t);
  template <Operator::Measure M>
  Cursor pass_far(Leaf& leaf, Cursor at, std::int64_t t) const;
  template <Operator::Measure M>
  static void add_time(Leaf& leaf, const Cursor& at, std::uint64_t ns);
  template <Operator::Measure M>
  Cursor summed(Leaf& leaf, Cursor at, const EventRecord& r, std::int64_t t);
  template <Operator::Measure M>
  Cursor noted(Leaf& leaf, Cursor at, const EventRecord& r, std::int64_t t);
  // Of a record of the operator's variable: can it be measured?
  Status check_value(const EventRecord& r) const;
  template <Operator::Measure M>
  void reopen(Leaf& leaf, Cursor& at, const EventRecord& r, std::int64_t t);
  template <Operator::Measure M>
  void leave(Leaf& leaf, Cursor& at, const EventRecord& r, std::uint16_t state);
  std::uint16_t top_of(const Leaf& leaf) const {
    return state_column_[leaf.stack.empty() ? leaf.base : leaf.stack.back().state];
  }
  // Of kLength. So many visits to a state, of one length, or those that are open but for the outermost
  // `depth`, are over; with the last of these the one to the base, too.
  void count_visits(Leaf& leaf, std::uint16_t state, std::int64_t begin, std::int64_t end,
                    std::uint64_t visits) const;
  void end_visits(Leaf& leaf, std::size_t depth, std::int64_t end) const;
  Status widen(Leaf& leaf);
  std::uint16_t column_for(std::string_view name);

  Options options_;
  std::vector<std::int64_t> ends_;  // [row]
  model::StateTable states_;
  std::vector<std::uint16_t> state_column_;  // by StateId
  std::vector<NameInfo> names_;              // and one more, that is nobody's
  std::vector<std::string> columns_;
  std::vector<Leaf> leaves_;
  std::uint64_t bytes_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t backwards_ = 0;
};

}  // namespace margay::slicer
