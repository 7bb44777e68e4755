#include "margay/store/joined_codec.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "bytes.h"
#include "joined_walk.h"
#include "range_coder.h"

namespace margay::store {
namespace {

using namespace joined;

constexpr std::uint8_t kJoinedVersion = 3;  // as 2, and who had the CPU is told
constexpr std::uint8_t kNoTakers = 2;       // as 3, and it is not
constexpr std::size_t kTimes = 4;           // of the evidence that version 1 has
constexpr std::uint8_t kNoStorage = 1;      // as 2, and nobody is known to use storage
// What the columns have in common; an error if one is not of a slicer's making.
Result<Divisors> divisors_of(const std::vector<model::SliceColumn>& columns, std::int64_t slice) {
  Divisors d;
  const auto bad = [](const model::SliceColumn& c) {
    return fail(ErrorCode::kLimit,
                "slice " + std::to_string(c.index.value) + " holds a cell that cannot be joined");
  };
  for (const model::SliceColumn& c : columns) {
    const std::int64_t end = static_cast<std::int64_t>((static_cast<std::uint64_t>(c.index.value) + 1) *
                                                       static_cast<std::uint64_t>(slice));
    for (std::uint32_t l = 0; l < c.leaves(); ++l) {
      const LeafIndex leaf(l);
      for (const std::int64_t v : c.duration_ns(leaf)) {
        if (v < 0 || v >= Series::kFar) return bad(c);
        d.duration = std::gcd(d.duration, static_cast<std::uint64_t>(v));
      }
      const std::int64_t age = wrapping_sub(end, c.open(leaf).since.value);
      for (std::uint32_t x = 0; x < c.states(); ++x) {
        const std::int64_t v = c.longest_ns(leaf)[x];
        if (v < 0) return bad(c);
        if (kind_of(v, c.duration_ns(leaf)[x], c.open(leaf).state.value == x, age) == kLongestStored)
          d.longest_bits = std::max(d.longest_bits, significant(static_cast<std::uint64_t>(v)));
      }
      for (const std::uint32_t v : c.visits(leaf)) d.visits_bits = std::max(d.visits_bits, significant(v));
      if (age < 0 || c.open(leaf).state.value >= kMostColumnStates) return bad(c);
      d.since = std::gcd(d.since, static_cast<std::uint64_t>(age));
      const model::NodeEvidence& e = c.evidence(leaf);
      if (static_cast<std::uint8_t>(e.process_state) > 0x7f) return bad(c);
      const std::int64_t times[] = {e.sampled_ns, e.cpu_ns,     e.run_delay_ns,
                                    e.stopped_ns, e.blocked_ns, e.storage_bytes};
      for (std::size_t i = 0; i < d.evidence.size(); ++i) {
        if (times[i] < 0) return bad(c);
        d.evidence[i] = std::gcd(d.evidence[i], static_cast<std::uint64_t>(times[i]));
      }
    }
  }
  d.takers = std::any_of(columns.begin(), columns.end(), [](const auto& c) { return !c.takers.empty(); });
  if (d.takers || d.evidence[kTimes] > 0 || d.evidence[kTimes + 1] > 0) d.evidences = d.evidence.size();
  for (std::uint64_t* v : {&d.duration, &d.since}) *v = std::max<std::uint64_t>(*v, 1);
  for (std::uint64_t& v : d.evidence) v = std::max<std::uint64_t>(v, 1);
  return d;
}

}  // namespace

Status encode_joined(const std::vector<model::SliceColumn>& columns, DurationNs slice, std::string& out) {
  out.clear();
  if (columns.empty() || columns.size() > kMostJoinedSlices || slice.value < 0)
    return fail(ErrorCode::kInvalidArgument, "no slices to join");
  std::size_t cells = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const model::SliceColumn& c = columns[i];
    if (c.level != columns[0].level || (i > 0 && c.index <= columns[i - 1].index))
      return fail(ErrorCode::kInvalidArgument, "slices that do not ascend");
    if (c.leaves() > kMostJoinedLeaves || c.states() > kMostColumnStates)
      return fail(ErrorCode::kInvalidArgument, "slices too large to be joined");
    cells += std::size_t{c.leaves()} * c.states();
  }
  if (cells > kMostJoinedCells) return fail(ErrorCode::kInvalidArgument, "slices too large to be joined");
  const auto divisors = divisors_of(columns, slice.value);
  if (!divisors) return tl::unexpected(divisors.error());
  ByteWriter w(out);
  w.u8(divisors->takers                                  ? kJoinedVersion
       : divisors->evidences < divisors->evidence.size() ? kNoStorage
                                                         : kNoTakers);
  w.varint(columns.size());
  w.varint(static_cast<std::uint64_t>(columns.back().index.value) -
           static_cast<std::uint64_t>(columns.front().index.value));
  w.varint(static_cast<std::uint64_t>(slice.value));
  w.varint(divisors->duration);
  w.varint(divisors->since);
  for (std::size_t i = 0; i < divisors->evidences; ++i) w.varint(divisors->evidence[i]);
  w.varint(divisors->visits_bits);
  w.varint(divisors->longest_bits);
  Encoder coder(out);
  const auto walk = std::make_unique<Walk<Encoder>>(coder, slice, *divisors);
  SliceIndex after = columns[0].index;
  for (const model::SliceColumn& c : columns) {
    // The walk has one signature for both ways; encoding it only reads.
    model::SliceColumn copy = c;
    if (!walk->head(copy, after) || !walk->rows(copy)) return fail(ErrorCode::kInternal, "joining slices");
    after = c.index + 1;
  }
  coder.finish();
  const std::uint32_t check = check_of(out);
  for (std::size_t i = 0; i < kCheckBytes; ++i) w.u8(static_cast<std::uint8_t>(check >> (8 * i)));
  return {};
}

Status decode_joined_untrusted(std::string_view bytes, LevelIndex level, SliceIndex last,
                               std::vector<model::SliceColumn>& columns) {
  columns.clear();
  const auto broken = [] { return fail(ErrorCode::kCorrupt, "joined slices are broken"); };
  if (bytes.empty()) return broken();
  const auto version = static_cast<std::uint8_t>(bytes[0]);
  if (version == 0 || version > kJoinedVersion)
    return fail(ErrorCode::kVersion,
                "joined slices of version " + std::to_string(version) + "; this one reads 1 to 3");
  if (bytes.size() < 1 + kCheckBytes) return broken();
  const std::string_view told = bytes.substr(bytes.size() - kCheckBytes);
  bytes.remove_suffix(kCheckBytes);
  std::uint32_t check = 0;
  for (std::size_t i = 0; i < kCheckBytes; ++i)
    check |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(told[i])) << (8 * i);
  if (check != check_of(bytes)) return broken();
  ByteReader in(bytes.substr(1));
  const std::uint64_t count = in.bounded(kMostJoinedSlices);
  const std::uint64_t span = in.varint();
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto slice = static_cast<std::int64_t>(in.bounded(kMost));
  Divisors d;
  d.duration = in.bounded(kMost);
  d.since = in.bounded(kMost);
  d.takers = version > kNoTakers;
  d.evidences = version == kNoStorage ? kTimes : d.evidence.size();
  for (std::size_t i = 0; i < d.evidence.size(); ++i) d.evidence[i] = i < d.evidences ? in.bounded(kMost) : 1;
  d.visits_bits = in.bounded(64);
  d.longest_bits = in.bounded(64);
  if (!in.ok() || count == 0 || d.duration == 0 || d.since == 0 || d.visits_bits == 0 ||
      d.longest_bits == 0 ||
      std::any_of(d.evidence.begin(), d.evidence.end(), [](std::uint64_t v) { return v == 0; }))
    return broken();
  Decoder coder(in.rest());
  const auto walk = std::make_unique<Walk<Decoder>>(coder, DurationNs(slice), d);
  std::size_t cells = 0;
  SliceIndex after(wrapping_sub(last.value, static_cast<std::int64_t>(span)));
  for (std::uint64_t i = 0; i < count; ++i) {
    model::SliceColumn& c = columns.emplace_back(level, after, 0, 0);
    if (!walk->head(c, after) || c.index < after || c.index > last) return broken();
    cells += std::size_t{c.leaves()} * c.states();
    if (cells > kMostJoinedCells || coder.beyond() || !walk->rows(c)) return broken();
    after = SliceIndex(wrapping_add(c.index.value, 1));
  }
  if (columns.back().index != last) return broken();
  return coder.done() ? Status() : Status(broken());
}

}  // namespace margay::store
