#include "margay/slicer/rounding.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace margay::slicer {
namespace {

constexpr unsigned kHold = 3;  // an offset stays for 2^kHold slices

// Evenly spread over all 64 bits from one step to the next, and from leaf to leaf.
std::uint64_t offset_of(SliceIndex slice, std::uint32_t leaf) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  constexpr std::uint64_t kOther = 0xd1342543de82ef95;   // unrelated to it
  return static_cast<std::uint64_t>(slice.value >> kHold) * kGolden + leaf * kOther;
}
// The offset as a part of `unit`: [0, unit).
std::int64_t part_of(std::uint64_t offset, std::int64_t unit) {
  return static_cast<std::int64_t>(
      (static_cast<unsigned __int128>(offset) * static_cast<std::uint64_t>(unit)) >> 64);
}
std::int64_t down(std::int64_t v, std::int64_t unit) {
  const std::int64_t over = v % unit;
  return v - (over < 0 ? over + unit : over);
}

std::uint32_t round_visits(std::uint32_t v, std::uint64_t offset) {
  const auto width = static_cast<unsigned>(std::bit_width(v));
  if (width <= kCompactVisitBits) return v;
  const unsigned shift = width - kCompactVisitBits;
  const std::uint64_t up = ((v + (offset >> (64 - shift))) >> shift) << shift;
  return static_cast<std::uint32_t>(up <= 0xffffffffu ? up : (std::uint64_t{v} >> shift) << shift);
}

// What comes from a node's agent is untrusted: what cannot be rounded stays.
void round_evidence(std::int64_t& v, std::int64_t offset, std::int64_t unit) {
  if (v > 0 && v < std::numeric_limits<std::int64_t>::max() - unit) v = down(v + offset, unit);
}

std::int64_t round_longest(std::int64_t longest, std::int64_t was, std::int64_t duration,
                           std::int64_t least) {
  std::int64_t up = least;
  while (up < longest && up < std::numeric_limits<std::int64_t>::max() / 2) up *= 2;
  return longest <= was ? std::min(up, duration) : up;  // a visit inside the slice cannot be longer than all
}

}  // namespace

Status check_compact(DurationNs slice) {
  if (slice.value > 0 && slice.value % kCompactUnits == 0) return {};
  return fail(ErrorCode::kInvalidArgument, "compact cells want a slice of a multiple of " +
                                               std::to_string(kCompactUnits) + " ns, not of " +
                                               std::to_string(slice.value) + " ns");
}

void make_compact(model::SliceColumn& column, DurationNs slice) {
  const std::int64_t unit = slice.value / kCompactUnits;
  const std::int64_t since_unit = slice.value / kCompactSinceUnits;
  const std::int64_t evidence_unit = slice.value / kCompactEvidenceUnits;
  const auto least = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, slice.value / 64))));
  const TimeNs end = slice_end(column.index, slice);
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const LeafIndex leaf(l);
    const std::uint64_t offset = offset_of(column.index, l);
    const std::int64_t shift = part_of(offset, unit);
    const auto duration = column.duration_ns(leaf);
    const auto longest = column.longest_ns(leaf);
    const auto visits = column.visits(leaf);
    model::OpenState& open = column.open(leaf);
    const std::int64_t age = (end - open.since).value;
    open.since = TimeNs(down(open.since.value, since_unit));
    const std::int64_t age_now = (end - open.since).value;
    std::int64_t sum = 0;
    std::int64_t given = 0;
    for (std::size_t x = 0; x < duration.size(); ++x) {
      const std::int64_t was = duration[x];
      const bool present = was != 0 || longest[x] != 0 || visits[x] != 0;
      const bool is_open = open.state.value == x;
      sum += was;
      duration[x] = std::max(given, down(sum + shift, unit)) - given;
      given += duration[x];
      if (!present) continue;
      visits[x] = round_visits(visits[x], offset);
      if (longest[x] == was)
        longest[x] = duration[x];
      else if (is_open && longest[x] == age)
        longest[x] = age_now;
      else
        longest[x] = round_longest(longest[x], was, duration[x], least);
      // A moment that did not come to a unit: it was there all the same.
      if (duration[x] == 0 && longest[x] == 0 && visits[x] == 0) longest[x] = is_open ? age_now : least;
    }
    // Only of a row that is not whole, as no closed one should be: its sum is not a number of units.
    if (given != sum && !duration.empty()) {
      std::int64_t& most = *std::max_element(duration.begin(), duration.end());
      most = std::max<std::int64_t>(0, most + sum - given);
    }
    model::NodeEvidence& e = column.evidence(leaf);
    const std::int64_t evidence_shift = part_of(offset, evidence_unit);
    round_evidence(e.sampled_ns, evidence_unit / 2, evidence_unit);
    for (std::int64_t* v : {&e.cpu_ns, &e.run_delay_ns, &e.stopped_ns, &e.blocked_ns})
      round_evidence(*v, evidence_shift, evidence_unit);
  }
}

void take_from(std::span<std::int64_t> duration, std::size_t x, std::int64_t amount) {
  while (amount > duration[x]) {
    amount -= duration[x];
    duration[x] = 0;
    x = static_cast<std::size_t>(std::max_element(duration.begin(), duration.end()) - duration.begin());
    if (duration[x] <= 0) return;
  }
  duration[x] -= amount;
}

}  // namespace margay::slicer
