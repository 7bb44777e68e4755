#include "margay/slicer/reslicer.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace margay::slicer {
namespace {

using Measure = Operator::Measure;

constexpr std::size_t kMostNames = 65536;
// Columns come one by one; rows have room for some more, so that they are seldom moved.
constexpr std::size_t kSpare = 8;

constexpr bool of_variable(Measure m) {
  return m == Measure::kMean || m == Measure::kMax || m == Measure::kRate;
}
std::size_t stride_for(std::size_t columns) {
  return (columns / kSpare + 1) * kSpare;
}
template <class T>
std::vector<T> widened(const std::vector<T>& cells, std::size_t stride, std::size_t wider, std::size_t rows) {
  std::vector<T> out(wider * rows);
  for (std::size_t r = 0; r < rows && stride > 0; ++r)
    std::copy_n(cells.data() + r * stride, stride, out.data() + r * wider);
  return out;
}
std::uint64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
}

}  // namespace

Reslicer::Reslicer(Options options) : options_(std::move(options)) {
  for (std::uint32_t k = 0; k <= options_.grid.slices; ++k) ends_.push_back(options_.grid.boundary(k).value);
  ends_.push_back(std::numeric_limits<std::int64_t>::max());
  columns_ = {"", ""};
  names_.emplace_back();
  for (const model::StateInfo& state : states_.states())
    state_column_.push_back(state.family == model::StateFamily::kCompute ? column_for(state.name)
                                                                         : kNotThere);
  if (options_.op.of_variable()) columns_.push_back(options_.op.variable);
}

std::uint16_t Reslicer::column_for(std::string_view name) {
  if (options_.op.of_variable() || (options_.wanted && !options_.wanted(name))) return kUnwanted;
  columns_.emplace_back(name);
  return static_cast<std::uint16_t>(columns_.size() - 1);
}

Status Reslicer::add_name(NameKind kind, const std::string& text, model::StateFamily family) {
  if (names_.size() > kMostNames || columns_.size() >= kMostNames - 1)
    return fail(ErrorCode::kLimit, "more than 65536 names");
  NameInfo info;
  info.kind = kind;
  if (kind == NameKind::kState) {
    const bool known = states_.knows(text);
    const auto id = states_.intern(text, family);
    if (!id) return fail(id.error(), "the state '" + text.substr(0, 64) + "'");
    if (!known) state_column_.push_back(column_for(text));
    info.state = id->value;
  } else if (kind == NameKind::kVariable) {
    info.column = text == options_.op.variable ? kFirst : kUnwanted;
  } else if ((kind == NameKind::kMark && options_.op.measure == Measure::kOccurrences) ||
             (kind == NameKind::kLink &&
              (options_.op.measure == Measure::kBytes || options_.op.measure == Measure::kMessages))) {
    info.column = column_for(text);
  }
  names_.back() = info;
  names_.emplace_back();
  return {};
}

Status Reslicer::add_leaf(std::optional<std::uint16_t> base) {
  Leaf leaf;
  if (base) {
    if (*base >= names_.size() - 1 || names_[*base].kind != NameKind::kState)
      return fail(ErrorCode::kInvalidArgument,
                  "leaf " + std::to_string(leaves_.size()) + ": its base state has no name");
    leaf.own_base = names_[*base].state;
  }
  leaf.cursor.slice_end = ends_[0];
  leaves_.push_back(std::move(leaf));
  return {};
}

// Makes the leaf's rows as wide as there are columns.
Status Reslicer::widen(Leaf& leaf) {
  const std::size_t stride = stride_for(columns_.size()), rows = ends_.size();
  const bool variable = options_.op.of_variable(), lengths = options_.op.measure == Measure::kLength;
  const std::uint64_t more =
      ((stride - leaf.stride) * (lengths ? 2 : 1) + (variable && leaf.stride == 0 ? 1 : 0)) * rows * 8;
  if (more > options_.memory_bytes - std::min(bytes_, options_.memory_bytes))
    return fail(ErrorCode::kLimit, std::to_string(leaves_.size()) + " leaves x " +
                                       std::to_string(options_.grid.slices) + " slices x " +
                                       std::to_string(columns_.size() - kFirst) +
                                       " states take more than the memory budget of " +
                                       std::to_string(options_.memory_bytes) + " bytes");
  bytes_ += more;
  leaf.cells = widened(leaf.cells, leaf.stride, stride, rows);
  if (lengths) leaf.reals = widened(leaf.reals, leaf.stride, stride, rows);
  if (variable) leaf.reals.resize(rows);
  leaf.stride = stride;
  leaf.cursor.row = leaf.cells.data() + leaf.cursor.row_index * stride;
  return {};
}

template <Measure M>
void Reslicer::add_time(Leaf& leaf, const Cursor& at, std::uint64_t ns) {
  if constexpr (M == Measure::kDuration) {
    at.row[at.top] += ns;
  } else {
    if (at.top == kNotThere) at.row[kNotThere] += ns;
    if constexpr (of_variable(M))
      if (at.has_value && ns > 0) {
        double& real = leaf.reals[at.row_index];
        at.row[kFirst] += ns;
        if constexpr (M == Measure::kMean) real += at.value * static_cast<double>(ns);
        if constexpr (M == Measure::kMax) real = std::max(real, at.value);
      }
  }
}

// The state that counts goes on to `t`, within the slice or beyond it.
template <Measure M>
inline void Reslicer::pass(Leaf& leaf, Cursor& at, std::int64_t t) {
  if (t < at.slice_end) [[likely]] {
    add_time<M>(leaf, at, difference(t, at.at));
    at.at = t;
  } else {
    at = pass_far<M>(leaf, at, t);
  }
}

template <Measure M>
Reslicer::Cursor Reslicer::pass_far(Leaf& leaf, Cursor at, std::int64_t t) const {
  while (t >= at.slice_end && at.row_index + 1 < ends_.size()) {
    add_time<M>(leaf, at, difference(at.slice_end, at.at));
    at.at = at.slice_end;
    at.row += leaf.stride;
    at.slice_end = ends_[++at.row_index];
  }
  add_time<M>(leaf, at, difference(t, at.at));
  at.at = t;
  return at;
}

void Reslicer::count_visits(Leaf& leaf, std::uint16_t state, std::int64_t begin, std::int64_t end,
                            std::uint64_t visits) const {
  const std::uint16_t column = state_column_[state];
  // What two states that follow at once leave between them is no visit to the base.
  if (column < kFirst || (begin == end && state == leaf.own_base)) return;
  const auto first =
      static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin());
  const auto length = static_cast<double>(difference(end, begin));
  for (std::size_t row = first; row < ends_.size() && (row == first || ends_[row - 1] < end); ++row) {
    leaf.cells[row * leaf.stride + column] += visits;
    leaf.reals[row * leaf.stride + column] += length;
  }
}

void Reslicer::end_visits(Leaf& leaf, std::size_t depth, std::int64_t end) const {
  for (std::size_t i = leaf.stack.size(); i-- > depth;)
    count_visits(leaf, leaf.stack[i].state, leaf.stack[i].begin, std::max(end, leaf.stack[i].begin), 1);
  if (depth > 0) return;
  if (leaf.around != kNever && leaf.around <= end) count_visits(leaf, leaf.base, leaf.around, end, 1);
  leaf.around = kNever;
}

// What is open is told anew.
template <Measure M>
inline void Reslicer::reopen(Leaf& leaf, Cursor& at, const EventRecord& r, std::int64_t t) {
  // Behind sums: since they began nobody knows what else was open.
  if constexpr (M == Measure::kLength)
    end_visits(leaf, 0,
               r.kind == MARGAY_SUM_OPEN && leaf.sums_since != kNever && t == at.at ? leaf.sums_since : t);
  pass<M>(leaf, at, t);
  const std::uint16_t state = names_[r.state].state;
  leaf.stack.clear();
  leaf.base = leaf.own_base;
  if (r.kind != MARGAY_BEGIN && state != kCompute.value && state != leaf.own_base)
    leaf.stack.push_back({r.bytes, state, r.peer != MARGAY_NO_PEER, t});
  else
    leaf.around = t;
  at.top = top_of(leaf);
}

template <Measure M>
inline void Reslicer::leave(Leaf& leaf, Cursor& at, const EventRecord& r, std::uint16_t state) {
  std::size_t depth = leaf.stack.size();
  while (depth > 0 && leaf.stack[depth - 1].state != state) --depth;
  if (depth > 0) {
    if constexpr (M == Measure::kBytes || M == Measure::kMessages) {
      const Open& open = leaf.stack[depth - 1];
      const std::uint64_t bytes = r.bytes != 0 ? r.bytes : open.bytes;
      const bool moved = bytes != 0 || open.peer || r.peer != MARGAY_NO_PEER;
      at.row[state_column_[state]] += M == Measure::kBytes ? bytes : moved ? 1 : 0;
    }
    if constexpr (M == Measure::kLength) {
      end_visits(leaf, depth - 1, at.at);
      if (depth == 1) leaf.around = at.at;
    }
    leaf.stack.resize(depth - 1);  // and whatever was left open inside it
  } else if (leaf.base == kUnknown.value && leaf.stack.empty()) {
    leaf.base = leaf.own_base;  // entered in the gap
    leaf.around = at.at;
  }
}

// What a probe tells of visits that it summed, instead of recording each.
template <Measure M>
Reslicer::Cursor Reslicer::summed(Leaf& leaf, Cursor at, const EventRecord& r, std::int64_t t) {
  const NameInfo& name = names_[r.state];
  if (r.kind == MARGAY_SUM) {
    const std::uint16_t state = name.state == kCompute.value ? leaf.own_base : name.state;
    // Of the first thing there is nobody knows since when.
    const bool known = leaf.base > kUnknown.value || !leaf.stack.empty();
    if constexpr (M == Measure::kLength) {
      if (leaf.stack.empty()) end_visits(leaf, 0, at.at);
      if (known) count_visits(leaf, state, at.at, t, r.comm);
      if (known && leaf.sums_since == kNever) leaf.sums_since = at.at;
      if (leaf.stack.empty()) leaf.around = t;
    }
    if (known) at.top = state_column_[state];
    pass<M>(leaf, at, t);
    if (leaf.base <= kUnknown.value) leaf.base = leaf.own_base;
    at.top = top_of(leaf);
    return at;
  }
  pass<M>(leaf, at, t);
  if (r.kind == MARGAY_SUM_MOVED) {
    std::uint64_t& cell = at.row[state_column_[name.state]];
    if (M == Measure::kOccurrences) cell += r.comm;
    if (M == Measure::kBytes) cell += r.bytes;
    if (M == Measure::kMessages) cell += static_cast<std::uint32_t>(r.tag);
    return at;
  }
  if (leaf.stack.size() < kDeepest) {
    if (M == Measure::kLength && leaf.stack.empty()) end_visits(leaf, 0, t);
    leaf.stack.push_back({r.bytes, name.state, r.peer != MARGAY_NO_PEER, t});
  }
  at.top = top_of(leaf);
  return at;
}

// A variable, a mark, or an end of a link: the state stays as it is.
template <Measure M>
Reslicer::Cursor Reslicer::noted(Leaf& leaf, Cursor at, const EventRecord& r, std::int64_t t) {
  const NameInfo& name = names_[r.state];
  pass<M>(leaf, at, t);
  if (!leaf.seen) {
    leaf.base = leaf.own_base;
    leaf.around = t;
    at.top = state_column_[leaf.base];
  }
  if (of_variable(M) && r.kind == MARGAY_VARIABLE && name.column == kFirst) {
    const auto value = std::bit_cast<double>(r.bytes);
    double& real = leaf.reals[at.row_index];
    if (M == Measure::kMax) real = std::max(real, value);
    // What has less than before began anew.
    if (M == Measure::kRate && at.has_value) real += value - (value >= at.value ? at.value : 0);
    at.value = value;
    at.has_value = true;
  }
  if (M == Measure::kOccurrences && r.kind == MARGAY_MARK) ++at.row[name.column];
  if (r.kind == MARGAY_LINK_BEGIN) {
    if (M == Measure::kBytes) at.row[name.column] += r.bytes;
    if (M == Measure::kMessages) ++at.row[name.column];
  }
  return at;
}

Status Reslicer::check_value(const EventRecord& r) const {
  const auto value = std::bit_cast<double>(r.bytes);
  if (r.kind != MARGAY_VARIABLE || names_[r.state].column != kFirst || (value >= 0 && std::isfinite(value)))
    return {};
  return fail(ErrorCode::kInvalidArgument, "the variable '" + options_.op.variable + "' has the value " +
                                               std::to_string(value) +
                                               ": a partition is made of values that are 0 or more");
}

template <Measure M>
Status Reslicer::walk(Leaf& leaf, std::span<const EventRecord> records) {
  Cursor at = leaf.cursor;
  const NameInfo* const names = names_.data();
  const std::uint16_t* const column_of = state_column_.data();
  std::uint64_t backwards = 0;
  for (const EventRecord& r : records) {
    std::int64_t t = r.time_ns;
    if (t < at.at) {
      t = at.at;
      ++backwards;
    }
    const NameInfo& name = names[r.state];
    switch (r.kind) {
      case MARGAY_ENTER:
        pass<M>(leaf, at, t);
        if (leaf.stack.size() >= kDeepest) break;
        if (M == Measure::kLength && leaf.stack.empty()) end_visits(leaf, 0, t);
        if (leaf.base <= kUnknown.value) leaf.base = leaf.own_base;
        leaf.stack.push_back({r.bytes, name.state, r.peer != MARGAY_NO_PEER, t});
        at.top = column_of[name.state];
        if constexpr (M == Measure::kOccurrences) ++at.row[at.top];
        break;
      case MARGAY_LEAVE:
        pass<M>(leaf, at, t);
        leave<M>(leaf, at, r, name.state);
        at.top = top_of(leaf);
        break;
      case MARGAY_GAP:
        // From the record before on nobody knows; of one that did not exist, from here on.
        if (M == Measure::kLength) end_visits(leaf, 0, at.at);
        leaf.stack.clear();
        at.top = kNotThere;
        at.has_value = false;
        pass<M>(leaf, at, t);
        leaf.base = kUnknown.value;
        break;
      case MARGAY_STACK:
      case MARGAY_SUM_OPEN:
      case MARGAY_BEGIN:
        reopen<M>(leaf, at, r, t);
        break;
      case MARGAY_END:
        pass<M>(leaf, at, t);
        if (M == Measure::kLength) end_visits(leaf, 0, t);
        leaf.stack.clear();
        leaf.base = kAbsent.value;
        at.top = kNotThere;
        at.has_value = false;
        break;
      case MARGAY_SUM:
      case MARGAY_SUM_MOVED:
      case MARGAY_SUM_INSIDE:
        at = summed<M>(leaf, at, r, t);
        break;
      case MARGAY_VARIABLE:
      case MARGAY_MARK:
      case MARGAY_LINK_BEGIN:
      case MARGAY_LINK_END:
        if constexpr (of_variable(M))
          if (Status ok = check_value(r); !ok) return ok;
        at = noted<M>(leaf, at, r, t);
        break;
      default:  // regions: they change no state
        continue;
    }
    leaf.seen = true;
    if (M == Measure::kLength && r.kind != MARGAY_SUM && r.kind != MARGAY_SUM_MOVED) leaf.sums_since = kNever;
  }
  leaf.cursor = at;
  backwards_ += backwards;
  return {};
}

Status Reslicer::take(LeafIndex index, std::span<const EventRecord> records) {
  if (index.value >= leaves_.size())
    return fail(ErrorCode::kInvalidArgument,
                "records of leaf " + std::to_string(index.value) + ", which was not announced");
  Leaf& leaf = leaves_[index.value];
  if (leaf.stride < columns_.size())
    if (Status ok = widen(leaf); !ok) return ok;
  std::uint16_t greatest = 0;
  for (const EventRecord& r : records) greatest = std::max(greatest, r.state);
  // Records that name nothing say 0, also before there are names.
  if (greatest > 0 && greatest >= names_.size() - 1)
    return fail(ErrorCode::kInvalidArgument, "a record of leaf " + std::to_string(index.value) +
                                                 " has name " + std::to_string(greatest) +
                                                 ", which was not announced");
  records_ += records.size();
  switch (options_.op.measure) {
    case Measure::kDuration:
      return walk<Measure::kDuration>(leaf, records);
    case Measure::kOccurrences:
      return walk<Measure::kOccurrences>(leaf, records);
    case Measure::kMean:
      return walk<Measure::kMean>(leaf, records);
    case Measure::kBytes:
      return walk<Measure::kBytes>(leaf, records);
    case Measure::kMessages:
      return walk<Measure::kMessages>(leaf, records);
    case Measure::kMax:
      return walk<Measure::kMax>(leaf, records);
    case Measure::kRate:
      return walk<Measure::kRate>(leaf, records);
    case Measure::kLength:
      return walk<Measure::kLength>(leaf, records);
  }
  return fail(ErrorCode::kInternal, "an operator without a name");
}

Status Reslicer::finish(TimeNs until) {
  for (Leaf& leaf : leaves_) {
    if (leaf.stride < columns_.size())
      if (Status ok = widen(leaf); !ok) return ok;
    if (options_.op.measure == Measure::kLength) end_visits(leaf, 0, std::max(until.value, leaf.cursor.at));
    // Then, to the end of the range, nobody knows.
    for (const std::int64_t end : {until.value, options_.grid.to.value}) {
      const std::int64_t t = std::max(end, leaf.cursor.at);
      if (options_.op.measure == Measure::kDuration)
        pass<Measure::kDuration>(leaf, leaf.cursor, t);
      else if (options_.op.measure == Measure::kMean)
        pass<Measure::kMean>(leaf, leaf.cursor, t);
      else if (options_.op.measure == Measure::kMax)
        pass<Measure::kMax>(leaf, leaf.cursor, t);
      else if (options_.op.measure == Measure::kRate)
        pass<Measure::kRate>(leaf, leaf.cursor, t);
      else  // the others count time where nobody is there, and nothing else
        pass<Measure::kOccurrences>(leaf, leaf.cursor, t);
      leaf.cursor.top = kNotThere;
      leaf.cursor.has_value = false;
    }
  }
  return {};
}

Status Reslicer::adopt(Reslicer& other, std::uint32_t part, std::uint32_t parts) {
  if (other.leaves_.size() != leaves_.size() || other.columns_ != columns_)
    return fail(ErrorCode::kInternal, "two readings of one trace disagree on its leaves or names");
  for (std::size_t l = part; l < leaves_.size(); l += parts) leaves_[l] = std::move(other.leaves_[l]);
  bytes_ += other.bytes_;
  records_ += other.records_;
  backwards_ += other.backwards_;
  return {};
}

std::uint64_t Reslicer::count(LeafIndex leaf, std::uint32_t slice, std::size_t column) const {
  const Leaf& l = leaves_[leaf.value];
  const std::size_t c = column + kFirst;
  return c < l.stride ? l.cells[(slice + 1) * l.stride + c] : 0;
}

double Reslicer::value(LeafIndex leaf, std::uint32_t slice, std::size_t column) const {
  const auto whole = static_cast<double>(count(leaf, slice, column));
  const Leaf& l = leaves_[leaf.value];
  if (options_.op.measure == Measure::kLength)
    return whole > 0 ? l.reals[(slice + 1) * l.stride + column + kFirst] / whole : 0;
  if (!options_.op.of_variable()) return whole;
  const double real = l.stride > 0 ? l.reals[slice + 1] : 0;
  if (options_.op.measure == Measure::kMax) return real;
  if (options_.op.measure == Measure::kRate)
    return real * 1e9 / static_cast<double>(difference(ends_[slice + 1], ends_[slice]));
  return whole > 0 ? real / whole : 0;
}

std::uint64_t Reslicer::not_there(LeafIndex leaf, std::uint32_t slice) const {
  const Leaf& l = leaves_[leaf.value];
  return l.stride > 0 ? l.cells[(slice + 1) * l.stride + kNotThere] : ends_[slice + 1] - ends_[slice];
}

}  // namespace margay::slicer
