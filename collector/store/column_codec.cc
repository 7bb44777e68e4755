#include "margay/store/column_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "bytes.h"
#include "compress.h"

// Body, before compression:
//   presence  one bit per cell, state after state (a state that nobody is in is a run of zeros)
//   codes     one byte per present cell: how `longest` is told (kLongest...)
//   duration, longest (only kLongestStored), visits    one entry per present cell, byte planes
//   open state, open since                             one entry per leaf, byte planes
//   node evidence: state, stopped since, sampled, cpu, run delay, stopped,
//   silent since, drawn out (the last two since version 2)                   likewise
// A byte plane holds byte k of every entry: the high bytes of small numbers are runs of zeros.
namespace margay::store {
namespace {

constexpr std::uint8_t kVersion = 2;  // 1 had no silence
constexpr std::size_t kEvidence = 8;
constexpr std::size_t kEvidenceOfVersion1 = 6;
constexpr std::size_t kLongestRegion = 256;
constexpr std::uint8_t kProvisional = 1;  // header flag
enum : std::uint8_t {
  kLongestIsDuration = 0,  // one visit, inside the slice
  kLongestIsOpen = 1,      // the visit that is open at the slice's end
  kLongestStored = 2,
};

using Values = std::vector<std::uint64_t>;

void put_planes(const Values& values, std::string& out) {
  std::uint64_t all = 0;
  for (const std::uint64_t v : values) all |= v;
  unsigned width = 0;
  for (; all != 0; all >>= 8) ++width;
  out.push_back(static_cast<char>(width));
  const std::size_t at = out.size();
  out.resize(at + width * values.size());
  char* to = out.data() + at;
  // Eight values at a time.
  using Words = std::uint64_t __attribute__((vector_size(64)));
  using Bytes = std::uint8_t __attribute__((vector_size(8)));
  for (unsigned k = 0; k < width; ++k) {
    std::size_t i = 0;
    for (; i + 8 <= values.size(); i += 8) {
      Words words;
      std::memcpy(&words, values.data() + i, sizeof words);
      const Bytes bytes = __builtin_convertvector(words >> (8 * k), Bytes);
      std::memcpy(to, &bytes, sizeof bytes);
      to += sizeof bytes;
    }
    for (; i < values.size(); ++i) *to++ = static_cast<char>(values[i] >> (8 * k));
  }
}

// What encoding needs, kept from chunk to chunk: there are a hundred in a cut, and making room costs as much
// as filling it.
struct Scratch {
  std::vector<std::uint32_t> next;
  std::string mask, codes, body;
  Values durations, longests, visits, open_state, open_since;
  std::array<Values, kEvidence> evidence;
};
Scratch& scratch() {
  thread_local Scratch s;
  return s;
}

// False when the bytes are not there.
bool get_planes(ByteReader& in, std::size_t count, Values& values) {
  values.assign(count, 0);
  const unsigned width = in.u8();
  if (width > 8) in.refuse();
  for (unsigned k = 0; in.ok() && k < width; ++k) {
    const std::string_view plane = in.bytes(count);
    if (!in.ok()) return false;
    for (std::size_t i = 0; i < count; ++i)
      values[i] |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(plane[i])) << (8 * k);
  }
  return in.ok();
}

std::size_t mask_bytes(std::size_t leaves) {
  return (leaves + 7) / 8;
}
// The largest body that `leaves` x `states` cells can have.
std::size_t most_body(std::size_t leaves, std::size_t states) {
  return states * mask_bytes(leaves) + leaves * states * (1 + 8 + 8 + 4) + leaves * (2 + 8 + 1 + 6 * 8 + 1) +
         13;
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

Status encode_body(const model::SliceColumn& column, const Shape& s, std::int64_t slice, Scratch& room) {
  auto& [next, mask, codes, body, durations, longests, visits, open_state, open_since, evidence] = room;
  mask.assign(s.states * mask_bytes(s.leaves), '\0');
  const auto leaf_at = [&](std::uint32_t l) { return s.first + l; };
  // Cells are read leaf by leaf, as they lie, and written state by state: where the next one of each goes.
  next.assign(s.states + 1, 0);
  for (std::uint32_t l = 0; l < s.leaves; ++l) {
    const auto duration = column.duration_ns(leaf_at(l));
    const auto longest = column.longest_ns(leaf_at(l));
    const auto visited = column.visits(leaf_at(l));
    for (std::uint32_t x = 0; x < s.states; ++x)
      if (duration[x] != 0 || longest[x] != 0 || visited[x] != 0) {
        char& byte = mask[x * mask_bytes(s.leaves) + l / 8];
        byte = static_cast<char>(byte | (1 << (l % 8)));
        ++next[x + 1];
      }
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  const std::size_t present = next.back();
  const std::int64_t end = end_of_slice(column.index, slice);
  codes.resize(present);
  for (Values* v : {&durations, &longests, &visits}) v->resize(present);
  for (std::uint32_t l = 0; l < s.leaves; ++l) {
    const LeafIndex leaf = leaf_at(l);
    const auto duration = column.duration_ns(leaf);
    const auto longest = column.longest_ns(leaf);
    const auto visited = column.visits(leaf);
    const model::OpenState& open = column.open(leaf);
    bool first = true;
    for (std::uint32_t x = 0; x < s.states; ++x) {
      if (duration[x] == 0 && longest[x] == 0 && visited[x] == 0) continue;
      const std::size_t at = next[x]++;
      durations[at] = zigzag(wrapping_sub(duration[x], first ? rest_of_slice(duration, x, slice) : 0));
      first = false;
      visits[at] = visited[x];
      longests[at] = zigzag(longest[x]);
      codes[at] = longest[x] == duration[x] ? kLongestIsDuration
                  : open.state.value == x && longest[x] == wrapping_sub(end, open.since.value)
                      ? kLongestIsOpen
                      : kLongestStored;
    }
  }
  // Only the stored ones stay.
  std::size_t stored = 0;
  for (std::size_t i = 0; i < present; ++i)
    if (codes[i] == kLongestStored) longests[stored++] = longests[i];
  longests.resize(stored);
  for (Values* v : {&open_state, &open_since}) v->resize(s.leaves);
  for (std::uint32_t l = 0; l < s.leaves; ++l) {
    const model::OpenState& open = column.open(leaf_at(l));
    if (open.state.value >= kMostColumnStates)
      return fail(ErrorCode::kInvalidArgument, "leaf " + std::to_string(leaf_at(l).value) + " is in state " +
                                                   std::to_string(open.state.value) +
                                                   "; at most 1024 states are kept");
    open_state[l] = open.state.value;
    open_since[l] = zigzag(wrapping_sub(end, open.since.value));
  }
  for (Values& field : evidence) field.resize(s.leaves);
  const auto since = [end](TimeNs t) { return t == TimeNs() ? 0 : zigzag(wrapping_sub(end, t.value)) + 1; };
  for (std::uint32_t l = 0; l < s.leaves; ++l) {
    const model::NodeEvidence& e = column.evidence(leaf_at(l));
    const std::uint64_t fields[] = {static_cast<std::uint8_t>(e.process_state),
                                    since(e.stopped_since),
                                    zigzag(e.sampled_ns),
                                    zigzag(e.cpu_ns),
                                    zigzag(e.run_delay_ns),
                                    zigzag(e.stopped_ns),
                                    since(e.silent_since),
                                    e.drawn_out ? 1u : 0u};
    for (std::size_t i = 0; i < evidence.size(); ++i) evidence[i][l] = fields[i];
  }
  body.assign(mask);
  body += codes;
  put_planes(durations, body);
  put_planes(longests, body);
  put_planes(visits, body);
  put_planes(open_state, body);
  put_planes(open_since, body);
  for (const Values& field : evidence) put_planes(field, body);
  return {};
}

bool decode_body(const std::string& body, std::uint8_t version, const Shape& s, std::int64_t slice,
                 model::SliceColumn& column) {
  ByteReader in(body);
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
  if (!get_planes(in, present, durations) || !get_planes(in, stored, longests) ||
      !get_planes(in, present, visits) || !get_planes(in, s.leaves, open_state) ||
      !get_planes(in, s.leaves, open_since))
    return false;
  std::array<Values, kEvidence> evidence;
  for (std::size_t i = 0; i < kEvidence; ++i)
    if (version == 1 && i >= kEvidenceOfVersion1)
      evidence[i].assign(s.leaves, 0);
    else if (!get_planes(in, s.leaves, evidence[i]))
      return false;
  if (!in.done()) return false;
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
  if (Status st = encode_body(column, s, slice.value, room); !st) return st;
  ByteWriter w(out);
  w.u8(kVersion);
  w.varint(column.leaves());
  w.varint(column.states());
  w.u8(column.provisional ? kProvisional : 0);
  w.varint(column.lost_events);
  w.varint(static_cast<std::uint64_t>(slice.value));
  w.varint(std::min(column.region.size(), kLongestRegion));
  out.append(column.region, 0, kLongestRegion);
  w.varint(room.body.size());
  return compress(room.body, out);
}

Result<std::uint32_t> decode_chunk_untrusted(std::string_view bytes, std::uint32_t chunk,
                                             model::SliceColumn& column) {
  ByteReader in(bytes);
  const std::uint8_t version = in.u8();
  if (in.ok() && (version == 0 || version > kVersion))
    return fail(ErrorCode::kVersion,
                "a slice chunk of version " + std::to_string(version) + "; this one reads 1 and 2");
  const auto total = static_cast<std::uint32_t>(in.bounded(kMostLeaves));
  const auto states = static_cast<std::uint32_t>(in.bounded(kMostColumnStates));
  const std::uint8_t flags = in.u8();
  const std::uint64_t lost = in.varint();
  const auto slice = static_cast<std::int64_t>(in.varint());
  const std::string region(in.bytes(static_cast<std::size_t>(in.bounded(kLongestRegion))));
  if (!in.ok() || flags > kProvisional) return fail(ErrorCode::kCorrupt, "a slice chunk's header is broken");
  if (chunk >= chunk_count(total)) return fail(ErrorCode::kCorrupt, "a slice chunk behind its column's end");
  const Shape s = shape_of(total, states, chunk);
  const auto size = static_cast<std::size_t>(in.bounded(most_body(s.leaves, s.states)));
  if (!in.ok()) return fail(ErrorCode::kCorrupt, "a slice chunk's header is broken");
  if (chunk == 0) {
    column = model::SliceColumn(column.level, column.index, s.leaves, states);
    column.lost_events = lost;
    column.provisional = flags == kProvisional;
    column.region = region;
  } else {
    if (column.leaves() != s.first.value || column.states() != states || column.lost_events != lost ||
        column.provisional != (flags == kProvisional))
      return fail(ErrorCode::kCorrupt, "a slice chunk does not fit the one before it");
    column.resize(s.first.value + s.leaves, states);
  }
  std::string body;
  if (Status st = expand_untrusted(in.rest(), size, body); !st) return fail(st.error(), "slice chunk");
  if (!decode_body(body, version, s, slice, column))
    return fail(ErrorCode::kCorrupt, "a slice chunk's cells are broken");
  return total;
}

}  // namespace margay::store
