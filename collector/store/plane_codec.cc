#include "plane_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "bytes.h"
#include "compress.h"
#include "margay/store/column_codec.h"

namespace margay::store {
namespace {

using model::Plane;

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kLongestVarint = 10;

std::uint32_t leaves_in(const model::SliceColumn& column, std::uint32_t chunk) {
  return std::min(kChunkLeaves, column.leaves() - chunk * kChunkLeaves);
}

void put_double(ByteWriter& w, double v) {
  const auto bits = std::bit_cast<std::uint64_t>(v);
  for (unsigned k = 0; k < 8; ++k) w.u8(static_cast<std::uint8_t>(bits >> (8 * k)));
}
// Refuses what is negative or no number.
double get_double(ByteReader& in) {
  std::uint64_t bits = 0;
  for (unsigned k = 0; k < 8; ++k) bits |= std::uint64_t{in.u8()} << (8 * k);
  const auto v = std::bit_cast<double>(bits);
  if (std::isfinite(v) && v >= 0) return v;
  in.refuse();
  return 0;
}

Status corrupt(const char* what) {
  return fail(ErrorCode::kCorrupt, what);
}

}  // namespace

Status encode_plane(const model::SliceColumn& column, std::uint32_t chunk, std::string& out) {
  out.clear();
  const LeafIndex first(chunk * kChunkLeaves);
  const std::uint32_t leaves = leaves_in(column, chunk), columns = column.plane_columns();
  std::string body;
  ByteWriter b(body);
  for (std::uint32_t x = 0; x < columns; ++x)
    for (std::uint32_t l = 0; l < leaves; ++l) b.varint(column.measured(first + l)[x]);
  if (column.plane() == Plane::kMean)
    for (std::uint32_t l = 0; l < leaves; ++l) put_double(b, column.integral(first + l));
  ByteWriter w(out);
  w.u8(kVersion);
  w.u8(static_cast<std::uint8_t>(column.plane()));
  w.varint(columns);
  w.varint(leaves);
  w.varint(body.size());
  return compress(body, out);
}

Status decode_plane_untrusted(std::string_view bytes, std::uint32_t chunk, model::SliceColumn& column) {
  ByteReader in(bytes);
  const std::uint8_t version = in.u8();
  if (in.ok() && version != kVersion)
    return fail(ErrorCode::kVersion,
                "a measured plane of version " + std::to_string(version) + "; this one reads 1");
  const std::uint8_t kind = in.u8();
  if (!in.ok() ||
      (kind != static_cast<std::uint8_t>(Plane::kCounts) && kind != static_cast<std::uint8_t>(Plane::kMean)))
    return corrupt("a measured plane's header is broken");
  const auto plane = static_cast<Plane>(kind);
  if (chunk >= chunk_count(column.leaves()) || (chunk > 0 && column.plane() != plane))
    return corrupt("a chunk of a measured plane does not fit its slice");
  if (chunk == 0) {
    column.measure(Plane::kNone);
    column.measure(plane);
  }
  const std::uint32_t leaves = leaves_in(column, chunk), columns = column.plane_columns();
  if (in.varint() != columns || in.varint() != leaves)
    return corrupt("a measured plane does not fit its slice");
  const std::size_t cells = std::size_t{leaves} * columns;
  const auto size = static_cast<std::size_t>(
      in.bounded(cells * kLongestVarint + (plane == Plane::kMean ? std::size_t{leaves} * 8 : 0)));
  if (!in.ok()) return corrupt("a measured plane's header is broken");
  std::string body;
  if (Status s = expand_untrusted(in.rest(), size, body); !s) return fail(s.error(), "measured plane");
  ByteReader b(body);
  const LeafIndex first(chunk * kChunkLeaves);
  for (std::uint32_t x = 0; x < columns; ++x)
    for (std::uint32_t l = 0; l < leaves; ++l) column.measured(first + l)[x] = b.varint();
  for (std::uint32_t l = 0; plane == Plane::kMean && l < leaves; ++l)
    column.integral(first + l) = get_double(b);
  return b.done() ? Status() : corrupt("a measured plane's cells are broken");
}

std::string encode(const MeasureState& v) {
  std::string out;
  ByteWriter w(out);
  w.u8(kVersion);
  w.varint(v.stack.size());
  for (const MeasureState::Entered& e : v.stack) {
    w.varint(e.bytes);
    w.u8(e.peer ? 1 : 0);
  }
  w.u8(v.known ? 1 : 0);
  w.signed_varint(v.settled.value);
  put_double(w, v.value);
  put_double(w, v.integral);
  return out;
}

Status decode_untrusted(std::string_view bytes, MeasureState& v) {
  ByteReader in(bytes);
  const std::uint8_t version = in.u8();
  if (in.ok() && version != kVersion)
    return fail(ErrorCode::kVersion, "what a leaf's operator goes on from, of version " +
                                         std::to_string(version) + "; this one reads 1");
  const auto flag = [&in] {
    const std::uint8_t b = in.u8();
    if (b > 1) in.refuse();
    return b == 1;
  };
  v.stack.resize(in.count(kDeepestStack));
  for (MeasureState::Entered& e : v.stack) {
    e.bytes = in.varint();
    e.peer = flag();
  }
  v.known = flag();
  v.settled = TimeNs(in.signed_varint());
  v.value = get_double(in);
  v.integral = get_double(in);
  return in.done() ? Status() : corrupt("what a leaf's operator goes on from does not decode");
}

}  // namespace margay::store
