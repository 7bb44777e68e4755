#include "margay/store/column_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "byte_planes.h"
#include "bytes.h"
#include "compress.h"
#include "takers_codec.h"

// Body, before compression:
//   presence  one bit per cell, state after state (a state that nobody is in is a run of zeros)
//   codes     one byte per present cell: how `longest` is told (kLongest...)
//   duration, longest (only kLongestStored), visits    one entry per present cell, byte planes
//   open state, open since                             one entry per leaf, byte planes
//   node evidence: state, stopped since, sampled, cpu, run delay, stopped,
//   silent since, drawn out (these two since version 2), blocked, storage (version 4) likewise
// Planes that would not shrink are apart, behind the body (byte_planes.h).
namespace margay::store {
namespace {

constexpr std::uint8_t kVersion = 5;       // as 4, and who had the CPU is told
constexpr std::uint8_t kNoTakers = 4;      // as 5, and it is not
constexpr std::uint8_t kNoStorage = 3;     // as 4, and nobody is known to use storage
constexpr std::uint8_t kNothingApart = 2;  // as 3, and all planes together; 1 had no silence
constexpr std::size_t kPlaneSets = 15;
constexpr std::size_t kEvidence = 10, kEvidenceOfVersion3 = 8, kEvidenceOfVersion1 = 6;
constexpr std::size_t kLongestRegion = 256;
constexpr std::uint8_t kProvisional = 1;  // header flag
enum : std::uint8_t {
  kLongestIsDuration = 0,  // one visit, inside the slice
  kLongestIsOpen = 1,      // the visit that is open at the slice's end
  kLongestStored = 2,
};

// What encoding needs, kept from chunk to chunk: there are a hundred in a cut, and making room costs as much
// as filling it.
struct Scratch {
  std::vector<std::uint32_t> next;
  std::string mask, codes, packed, plain;
  Values durations, longests, visits, open_state, open_since;
  std::array<Values, kEvidence> evidence;
};
Scratch& scratch() {
  thread_local Scratch s;
  return s;
}

std::size_t mask_bytes(std::size_t leaves) {
  return (leaves + 7) / 8;
}
// The largest body that `leaves` x `states` cells can have.
std::size_t most_body(std::size_t leaves, std::size_t states) {
  return states * mask_bytes(leaves) + leaves * states * (1 + 8 + 8 + 4) + leaves * (2 + 8 + 1 + 8 * 8 + 1) +
         2 * kPlaneSets;
}

// What the cells of a leaf leave of the slice. A prediction for the leaf's first present cell.
template <class Row>
std::int64_t rest_of_slice(const Row& durations, std::size_t except, std::int64_t slice) {
  for (std::size_t x = 0; x < durations.size(); ++x)
    if (x != except) slice = wrapping_sub(slice, durations[x]);
  return slice;
}

std::int64_t end_of_slice(SliceIndex index, std::int64_t slice) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(index.value) + 1) *
                                   static_cast<std::uint64_t>(slice));
}

struct Shape {
  LeafIndex first{};
  std::uint32_t leaves = 0;
  std::uint32_t states = 0;
};

template <class Visit>
void for_each_present(const std::string& mask, const Shape& s, Visit visit) {
  const std::size_t stride = mask_bytes(s.leaves);
  for (std::uint32_t x = 0; x < s.states; ++x)
    for (std::size_t i = 0; i < stride; ++i)
      for (unsigned byte = static_cast<std::uint8_t>(mask[x * stride + i]); byte != 0; byte &= byte - 1)
        visit(static_cast<std::uint32_t>(8 * i) + static_cast<std::uint32_t>(std::countr_zero(byte)), x);
}

// The first present state of each leaf; `states` where there is none.
std::vector<std::uint32_t> first_present(const std::string& mask, const Shape& s) {
  std::vector<std::uint32_t> first(s.leaves, s.states);
  for_each_present(mask, s, [&](std::uint32_t l, std::uint32_t x) { first[l] = std::min(first[l], x); });
  return first;
}

// The rows of a chunk's leaves, which lie one behind the other.
struct Rows {
  const std::int64_t* duration;
  const std::int64_t* longest;
  const std::uint32_t* visits;

  Rows(const model::SliceColumn& column, const Shape& s)
      : duration(column.duration_ns(s.first).data()),
        longest(column.longest_ns(s.first).data()),
        visits(column.visits(s.first).data()) {}
  bool present(std::size_t i) const { return (duration[i] | longest[i] | visits[i]) != 0; }
};

// The presence of all cells, and in next[x] where the cells of state x begin. Returns how many there are.
std::size_t find_cells(const Rows& row, const Shape& s, std::string& mask, std::vector<std::uint32_t>& next) {
  const std::size_t stride = mask_bytes(s.leaves);
  mask.resize(s.states * stride);
  next.assign(s.states + 1, 0);
  for (std::uint32_t l = 0; l < s.leaves; l += 8) {
    const std::uint32_t leaves = std::min(8u, s.leaves - l);
    const std::size_t at = std::size_t{l} * s.states;
    for (std::uint32_t x = 0; x < s.states; ++x) {
      unsigned byte = 0;
      for (std::uint32_t k = 0; k < leaves; ++k)
        byte |= (row.present(at + std::size_t{k} * s.states + x) ? 1u : 0u) << k;
      mask[x * stride + l / 8] = static_cast<char>(byte);
      next[x + 1] += static_cast<std::uint32_t>(std::popcount(byte));
    }
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  return next.back();
}

// Cells are read leaf by leaf, as they lie, and written state by state.
void gather_cells(const model::SliceColumn& column, const Shape& s, std::int64_t slice, Scratch& room) {
  Rows row(column, s);
  const std::size_t present = find_cells(row, s, room.mask, room.next);
  const std::int64_t end = end_of_slice(column.index, slice);
  room.codes.resize(present);
  for (Values* v : {&room.durations, &room.longests, &room.visits}) v->resize(present);
  // Plain pointers, for whoever writes a byte may write anything, as far as the compiler knows.
  char* const codes = room.codes.data();
  std::uint64_t* const durations = room.durations.data();
  std::uint64_t* const longests = room.longests.data();
  std::uint64_t* const visits = room.visits.data();
  std::uint32_t* const next = room.next.data();
  for (std::uint32_t l = 0; l < s.leaves; ++l) {
    const model::OpenState open = column.open(s.first + l);
    const std::int64_t age = wrapping_sub(end, open.since.value);
    std::int64_t rest = slice;
    for (std::uint32_t x = 0; x < s.states; ++x) rest = wrapping_sub(rest, row.duration[x]);
    // Of the first cell, less what the others leave of the slice: its duration and the rest.
    bool first = true;
    for (std::uint32_t x = 0; x < s.states; ++x) {
      if (!row.present(x)) continue;
      const std::size_t at = next[x]++;
      const std::int64_t duration = row.duration[x];
      const std::int64_t longest = row.longest[x];
      durations[at] = zigzag(first ? wrapping_sub(0, rest) : duration);
      first = false;
      visits[at] = row.visits[x];
      longests[at] = zigzag(longest);
      const bool is_open = open.state.value == x && longest == age;
      codes[at] = static_cast<char>(longest == duration ? kLongestIsDuration
                                    : is_open           ? kLongestIsOpen
                                                        : kLongestStored);
    }
    row.duration += s.states;
    row.longest += s.states;
    row.visits += s.states;
  }
  std::size_t stored = 0;  // only these longest visits stay
  for (std::size_t i = 0; i < present; ++i) {
    longests[stored] = longests[i];
    stored += codes[i] == kLongestStored ? 1 : 0;
  }
  room.longests.resize(stored);
}

// How many fields there are: none where nobody was sampled, nobody was silent; all of them if `all`.
std::size_t gather_evidence(const model::SliceColumn& column, const Shape& s, std::int64_t end, bool all,
                            std::array<Values, kEvidence>& evidence) {
  bool any = all, storage = all;
  for (std::uint32_t l = 0; l < s.leaves && !storage; ++l) {
    const model::NodeEvidence& e = column.evidence(s.first + l);
    any = any || e != model::NodeEvidence();
    storage = e.blocked_ns != 0 || e.storage_bytes != 0;
  }
  if (!any) return 0;
  for (Values& field : evidence) field.resize(s.leaves);
  const auto since = [end](TimeNs t) { return t == TimeNs() ? 0 : zigzag(wrapping_sub(end, t.value)) + 1; };
  for (std::uint32_t l = 0; l < s.leaves; ++l) {
    const model::NodeEvidence& e = column.evidence(s.first + l);
    const std::uint64_t fields[] = {static_cast<std::uint8_t>(e.process_state),
                                    since(e.stopped_since),
                                    zigzag(e.sampled_ns),
                                    zigzag(e.cpu_ns),
                                    zigzag(e.run_delay_ns),
                                    zigzag(e.stopped_ns),
                                    since(e.silent_since),
                                    e.drawn_out ? 1u : 0u,
                                    zigzag(e.blocked_ns),
                                    zigzag(e.storage_bytes)};
    for (std::size_t i = 0; i < evidence.size(); ++i) evidence[i][l] = fields[i];
  }
  return storage ? kEvidence : kEvidenceOfVersion3;
}

// Returns the least version that can tell it.
Result<std::uint8_t> encode_body(const model::SliceColumn& column, const Shape& s, std::int64_t slice,
                                 bool takers, Scratch& room) {
  gather_cells(column, s, slice, room);
  auto& [next, mask, codes, packed, plain, durations, longests, visits, open_state, open_since, evidence] =
      room;
  const std::int64_t end = end_of_slice(column.index, slice);
  for (Values* v : {&open_state, &open_since}) v->resize(s.leaves);
  for (std::uint32_t l = 0; l < s.leaves; ++l) {
    const model::OpenState& open = column.open(s.first + l);
    if (open.state.value >= kMostColumnStates)
      return fail(ErrorCode::kInvalidArgument, "leaf " + std::to_string((s.first + l).value) +
                                                   " is in state " + std::to_string(open.state.value) +
                                                   "; at most 1024 states are kept");
    open_state[l] = open.state.value;
    open_since[l] = zigzag(wrapping_sub(end, open.since.value));
  }
  packed.assign(mask);
  packed += codes;
  plain.clear();
  for (const Values* v : {&durations, &longests, &visits, &open_state, &open_since})
    put_planes(v->data(), v->size(), packed, plain);
  const std::size_t fields = gather_evidence(column, s, end, takers, evidence);
  for (std::size_t i = 0; i < fields; ++i) put_planes(evidence[i].data(), evidence[i].size(), packed, plain);
  if (fields == 0) packed.append(kEvidenceOfVersion3, '\0');  // no planes
  return fields == kEvidence ? kNoTakers : plain.empty() ? kNothingApart : kNoStorage;
}

bool decode_body(std::string_view packed, std::string_view apart, std::uint8_t version, const Shape& s,
                 std::int64_t slice, model::SliceColumn& column) {
  ByteReader in(packed), plain(apart);
  const std::string mask(in.bytes(s.states * mask_bytes(s.leaves)));
  if (!in.ok()) return false;
  // Bits behind the last leaf of a state must be zero: one column has one encoding.
  if (s.leaves % 8 != 0)
    for (std::uint32_t x = 0; x < s.states; ++x)
      if (static_cast<std::uint8_t>(mask[(x + 1) * mask_bytes(s.leaves) - 1]) >> (s.leaves % 8)) return false;
  std::size_t present = 0;
  for_each_present(mask, s, [&](std::uint32_t, std::uint32_t) { ++present; });
  const std::string_view codes = in.bytes(present);
  if (!in.ok()) return false;
  std::size_t stored = 0;
  for (const char c : codes) {
    if (c < kLongestIsDuration || c > kLongestStored) return false;
    if (c == kLongestStored) ++stored;
  }
  Values durations;
  Values longests;
  Values visits;
  Values open_state;
  Values open_since;
  if (!get_planes(in, plain, present, durations) || !get_planes(in, plain, stored, longests) ||
      !get_planes(in, plain, present, visits) || !get_planes(in, plain, s.leaves, open_state) ||
      !get_planes(in, plain, s.leaves, open_since))
    return false;
  std::array<Values, kEvidence> evidence;
  for (std::size_t i = 0; i < kEvidence; ++i)
    if (i >= (version == 1 ? kEvidenceOfVersion1 : version <= kNoStorage ? kEvidenceOfVersion3 : kEvidence))
      evidence[i].assign(s.leaves, 0);
    else if (!get_planes(in, plain, s.leaves, evidence[i]))
      return false;
  if (!in.done() || !plain.done()) return false;
  const std::int64_t end = end_of_slice(column.index, slice);
  const auto leaf_at = [&](std::uint32_t l) { return s.first + l; };
  for (std::uint32_t l = 0; l < s.leaves; ++l) {
    if (open_state[l] >= kMostColumnStates) return false;
    column.open(leaf_at(l)) = {StateId(static_cast<std::uint16_t>(open_state[l])),
                               TimeNs(wrapping_sub(end, unzigzag(open_since[l])))};
    if (evidence[0][l] > 127 || evidence[7][l] > 1) return false;
    model::NodeEvidence& e = column.evidence(leaf_at(l));
    e.process_state = static_cast<char>(evidence[0][l]);
    if (evidence[1][l] != 0) e.stopped_since = TimeNs(wrapping_sub(end, unzigzag(evidence[1][l] - 1)));
    e.sampled_ns = unzigzag(evidence[2][l]);
    e.cpu_ns = unzigzag(evidence[3][l]);
    e.run_delay_ns = unzigzag(evidence[4][l]);
    e.stopped_ns = unzigzag(evidence[5][l]);
    if (evidence[6][l] != 0) e.silent_since = TimeNs(wrapping_sub(end, unzigzag(evidence[6][l] - 1)));
    e.drawn_out = evidence[7][l] == 1;
    e.blocked_ns = unzigzag(evidence[8][l]);
    e.storage_bytes = unzigzag(evidence[9][l]);
  }
  std::size_t i = 0;
  for_each_present(mask, s, [&](std::uint32_t l, std::uint32_t x) {
    column.duration_ns(leaf_at(l))[x] = unzigzag(durations[i++]);
  });
  // The predicted cells last: they need all others of their leaf.
  const std::vector<std::uint32_t> first = first_present(mask, s);
  for (std::uint32_t l = 0; l < s.leaves; ++l) {
    if (first[l] == s.states) continue;
    const auto row = column.duration_ns(leaf_at(l));
    row[first[l]] = wrapping_add(row[first[l]], rest_of_slice(row, first[l], slice));
  }
  i = 0;
  std::size_t at = 0;
  bool good = true;
  for_each_present(mask, s, [&](std::uint32_t l, std::uint32_t x) {
    const LeafIndex leaf = leaf_at(l);
    good = good && visits[i] <= 0xffffffff;
    column.visits(leaf)[x] = static_cast<std::uint32_t>(visits[i]);
    const char code = codes[i++];
    column.longest_ns(leaf)[x] = code == kLongestIsDuration ? column.duration_ns(leaf)[x]
                                 : code == kLongestIsOpen   ? wrapping_sub(end, column.open(leaf).since.value)
                                                            : unzigzag(longests[at++]);
  });
  return good;
}

Shape shape_of(std::uint32_t total, std::uint32_t states, std::uint32_t chunk) {
  const std::uint32_t first = chunk * kChunkLeaves;
  return {LeafIndex(first), std::min(kChunkLeaves, total - first), states};
}

}  // namespace

std::uint32_t chunk_count(std::uint32_t leaves) {
  return std::max<std::uint32_t>(1, (leaves + kChunkLeaves - 1) / kChunkLeaves);
}

Status encode_chunk(const model::SliceColumn& column, std::uint32_t chunk, DurationNs slice,
                    std::string& out) {
  out.clear();
  if (column.leaves() > kMostLeaves || column.states() > kMostColumnStates)
    return fail(ErrorCode::kInvalidArgument, "a column of " + std::to_string(column.leaves()) +
                                                 " leaves and " + std::to_string(column.states()) +
                                                 " states; at most 1048576 and 1024 are kept");
  if (chunk >= chunk_count(column.leaves())) return fail(ErrorCode::kInvalidArgument, "no such chunk");
  const Shape s = shape_of(column.leaves(), column.states(), chunk);
  Scratch& room = scratch();
  const bool takers = chunk == 0 && !column.takers.empty();
  auto version = encode_body(column, s, slice.value, takers, room);
  if (!version) return tl::unexpected(version.error());
  if (takers) version = kVersion;
  ByteWriter w(out);
  w.u8(*version);
  w.varint(column.leaves());
  w.varint(column.states());
  w.u8(column.provisional ? kProvisional : 0);
  w.varint(column.lost_events);
  w.varint(static_cast<std::uint64_t>(slice.value));
  w.varint(std::min(column.region.size(), kLongestRegion));
  out.append(column.region, 0, kLongestRegion);
  if (takers) {
    std::string told;
    encode_takers(column.takers, told);
    w.string(told);
  }
  w.varint(room.packed.size());
  if (*version > kNothingApart) w.varint(room.plain.size());
  if (Status st = compress(room.packed, out); !st) return st;
  return room.plain.empty() ? Status() : seal(room.plain, out);
}

Result<std::uint32_t> decode_chunk_untrusted(std::string_view bytes, std::uint32_t chunk,
                                             model::SliceColumn& column) {
  ByteReader in(bytes);
  const std::uint8_t version = in.u8();
  if (in.ok() && (version == 0 || version > kVersion))
    return fail(ErrorCode::kVersion,
                "a slice chunk of version " + std::to_string(version) + "; this one reads 1 to 5");
  const auto total = static_cast<std::uint32_t>(in.bounded(kMostLeaves));
  const auto states = static_cast<std::uint32_t>(in.bounded(kMostColumnStates));
  const std::uint8_t flags = in.u8();
  const std::uint64_t lost = in.varint();
  const auto slice = static_cast<std::int64_t>(in.varint());
  const std::string region(in.bytes(static_cast<std::size_t>(in.bounded(kLongestRegion))));
  std::vector<model::Taker> takers;
  if (version > kNoTakers) {
    const auto size = static_cast<std::size_t>(in.bounded(kLongestTakers));
    if (!decode_takers_untrusted(in.bytes(size), takers) || takers.empty() || chunk != 0)
      return fail(ErrorCode::kCorrupt, "a slice chunk's header is broken");
  }
  if (!in.ok() || flags > kProvisional) return fail(ErrorCode::kCorrupt, "a slice chunk's header is broken");
  if (chunk >= chunk_count(total)) return fail(ErrorCode::kCorrupt, "a slice chunk behind its column's end");
  const Shape s = shape_of(total, states, chunk);
  const std::size_t most = most_body(s.leaves, s.states);
  const auto size = static_cast<std::size_t>(in.bounded(most));
  const auto plain = static_cast<std::size_t>(version > kNothingApart ? in.bounded(most) : 0);
  if (!in.ok()) return fail(ErrorCode::kCorrupt, "a slice chunk's header is broken");
  if (chunk == 0) {
    column = model::SliceColumn(column.level, column.index, s.leaves, states);
    column.lost_events = lost;
    column.provisional = flags == kProvisional;
    column.region = region;
    column.takers = std::move(takers);
  } else {
    if (column.leaves() != s.first.value || column.states() != states || column.lost_events != lost ||
        column.provisional != (flags == kProvisional))
      return fail(ErrorCode::kCorrupt, "a slice chunk does not fit the one before it");
    column.resize(s.first.value + s.leaves, states);
  }
  std::string body;
  const bool apart = plain > 0 || version == kNoStorage;
  if (Status st = expand_untrusted(in.rest(), size + plain, body, apart ? 2 : 1); !st)
    return fail(st.error(), "slice chunk");
  const std::string_view all = body;
  if (!decode_body(all.substr(0, size), all.substr(size), version, s, slice, column))
    return fail(ErrorCode::kCorrupt, "a slice chunk's cells are broken");
  return total;
}

}  // namespace margay::store
