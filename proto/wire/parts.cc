#include "margay/wire/parts.h"

#include <google/protobuf/descriptor.h>

#include <cstdint>

namespace margay::wire {
namespace {

constexpr int kDeepest = 16;

bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) return false;
    const auto b = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{b & 0x7fu} << shift;
    if ((b & 0x80u) == 0) return true;
  }
  return false;
}

// False: enough, or no message.
bool count(std::string_view bytes, const google::protobuf::Descriptor& type, std::size_t most, int depth,
           std::size_t& parts) {
  std::uint64_t tag = 0, size = 0;
  while (!bytes.empty()) {
    if (!take_varint(bytes, tag)) return false;
    switch (tag & 7) {
      case 0:
        if (!take_varint(bytes, size)) return false;
        continue;
      case 1:
        size = 8;
        break;
      case 5:
        size = 4;
        break;
      case 2: {
        if (!take_varint(bytes, size) || size > bytes.size()) return false;
        const auto* field = type.FindFieldByNumber(static_cast<int>(tag >> 3));
        // What is not known is kept as it is, by the byte.
        if (field == nullptr || field->message_type() == nullptr) break;
        if (++parts > most) return false;
        if (depth < kDeepest && !count(bytes.substr(0, size), *field->message_type(), most, depth + 1, parts))
          return false;
        break;
      }
      default:
        return false;
    }
    if (size > bytes.size()) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

}  // namespace

std::size_t count_parts_untrusted(std::string_view bytes, const google::protobuf::Descriptor& type,
                                  std::size_t most) {
  std::size_t parts = 0;
  static_cast<void>(count(bytes, type, most, 0, parts));
  return parts;
}

}  // namespace margay::wire
