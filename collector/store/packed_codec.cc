// Where up to a thousand leaves stand, one after the other. There are a hundred thousand of them in a cut of
// a large job, so this is written into room made before.
#include <algorithm>

#include "bytes.h"
#include "margay/store/column_codec.h"
#include "record_codec.h"

namespace margay::store {
namespace {

constexpr std::uint8_t kVersion = 2;  // 1: every `since` from the position

constexpr std::size_t most_bytes(const LeafState& v) {
  return RoomWriter::kLongestVarint * (4 + 2 * v.stack.size());
}

// Leaves stand at about the same time, and the innermost state mostly began with the last event.
void put(RoomWriter& w, const LeafState& v, TimeNs near) {
  w.signed_varint(wrapping_sub(v.position.value, near.value));
  w.signed_varint(wrapping_sub(v.position.value, v.last_event.value));
  w.signed_varint(v.longest_before_ns);
  w.varint(v.stack.size());
  for (const model::OpenState& s : v.stack) {
    w.varint(s.state.value);
    w.signed_varint(wrapping_sub(v.last_event.value, s.since.value));
  }
}

void get_stack(ByteReader& in, LeafState& v, TimeNs from) {
  v.stack.resize(in.count(kDeepestStack));
  for (model::OpenState& s : v.stack) {
    s.state = StateId(static_cast<std::uint16_t>(in.bounded(model::StateTable::kMostStates - 1)));
    s.since = TimeNs(wrapping_sub(from.value, in.signed_varint()));
  }
}
void get(ByteReader& in, std::uint8_t version, LeafState& v, TimeNs near) {
  v.position = TimeNs(wrapping_add(near.value, in.signed_varint()));
  if (version == 1) get_stack(in, v, v.position);
  v.last_event = TimeNs(wrapping_sub(v.position.value, in.signed_varint()));
  v.longest_before_ns = in.signed_varint();
  if (version > 1) get_stack(in, v, v.last_event);
}

}  // namespace

Status encode_packed(std::span<const LeafState> leaves, std::string& out) {
  thread_local std::string room;
  std::size_t most = 1 + RoomWriter::kLongestVarint;
  for (const LeafState& v : leaves) {
    if (Status s = check(v); !s) return s;
    most += most_bytes(v);
  }
  if (room.size() < most) room.resize(most);
  RoomWriter w(room.data());
  w.u8(kVersion);
  w.varint(leaves.size());
  TimeNs near;
  for (const LeafState& v : leaves) {
    put(w, v, near);
    near = v.position;
  }
  out.assign(room, 0, static_cast<std::size_t>(w.end() - room.data()));
  return {};
}

Status decode_packed_untrusted(std::string_view bytes, LeafIndex first, std::vector<LeafState>& leaves) {
  ByteReader in(bytes);
  const std::uint8_t version = in.u8();
  if (in.ok() && (version < 1 || version > kVersion))
    return fail(ErrorCode::kVersion, "the leaves' open states of version " + std::to_string(version) +
                                         "; this one reads version 1 to 2");
  const std::uint64_t count = in.count(kChunkLeaves);
  TimeNs near;
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    LeafState& v = leaves.emplace_back();
    v.leaf = first + static_cast<std::uint32_t>(i);
    get(in, version, v, near);
    near = v.position;
  }
  return in.done() ? Status() : fail(ErrorCode::kCorrupt, "the leaves' open states do not decode");
}

}  // namespace margay::store
