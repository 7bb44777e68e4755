#include "takers_codec.h"

#include <algorithm>

#include "bytes.h"
#include "margay/model/slice_column.h"

namespace margay::store {

using model::Taker;

void encode_takers(const std::vector<Taker>& takers, std::string& out) {
  out.clear();
  ByteWriter w(out);
  const std::size_t count = std::min(takers.size(), model::SliceColumn::kMostTakers);
  w.varint(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Taker& t = takers[i];
    w.varint(t.leaf.value);
    w.u8(static_cast<std::uint8_t>(t.kind));
    w.signed_varint(t.pid);
    w.varint(t.rank);
    w.signed_varint(t.cpu);
    w.signed_varint(t.cpu_ns);
    w.signed_varint(t.over_ns);
    w.string(std::string_view(t.name).substr(0, Taker::kLongestName));
  }
}

bool decode_takers_untrusted(std::string_view bytes, std::vector<Taker>& takers) {
  takers.clear();
  ByteReader in(bytes);
  const std::uint64_t count = in.bounded(model::SliceColumn::kMostTakers);
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    Taker& t = takers.emplace_back();
    t.leaf = LeafIndex(static_cast<std::uint32_t>(in.bounded(0xffffffff)));
    const std::uint8_t kind = in.u8();
    if (kind >= Taker::kKinds) return false;
    t.kind = static_cast<Taker::Kind>(kind);
    t.pid = unzigzag(in.varint());
    t.rank = static_cast<std::uint32_t>(in.bounded(0xffffffff));
    t.cpu = static_cast<std::int32_t>(unzigzag(in.bounded(0xffffffff)));
    t.cpu_ns = unzigzag(in.varint());
    t.over_ns = unzigzag(in.varint());
    t.name = in.bytes(static_cast<std::size_t>(in.bounded(Taker::kLongestName)));
  }
  return in.done();
}

}  // namespace margay::store
