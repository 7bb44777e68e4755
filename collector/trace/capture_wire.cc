#include "capture_wire.h"

#include <cstring>

namespace margay::trace::internal {
namespace {

// The wire types of protobuf.
enum : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroup = 3, kGroupEnd = 4, kFixed32 = 5 };
constexpr int kDeepestGroup = 64;

struct Field {
  std::uint32_t number = 0;
  std::uint32_t type = 0;
  std::uint64_t value = 0;  // of numbers
  std::string_view bytes;
};

class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  // False at the end, or where it is malformed (`ok` tells).
  bool next(Field& f) {
    while (!rest_.empty()) {
      if (!key(f)) return bad();
      if (f.type != kGroup) return value(f) || bad();
      if (!skip_group(f.number, 0)) return bad();
    }
    return false;
  }
  bool ok() const { return ok_; }

 private:
  bool bad() {
    ok_ = false;
    return false;
  }
  bool varint(std::uint64_t& v) {
    v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (rest_.empty()) return false;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift < 64) v |= static_cast<std::uint64_t>(byte & 0x7fu) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool key(Field& f) {
    // Five bytes at most; as the parser does, what is over 32 bits is not looked at.
    const std::size_t before = rest_.size();
    std::uint64_t wide = 0;
    if (!varint(wide) || before - rest_.size() > 5) return false;
    const auto tag = static_cast<std::uint32_t>(wide);
    f.number = tag >> 3;
    f.type = tag & 7;
    return f.number != 0;
  }
  bool value(Field& f) {
    const std::size_t fixed = f.type == kFixed64 ? 8 : f.type == kFixed32 ? 4 : 0;
    if (f.type == kVarint) return varint(f.value);
    std::uint64_t size = fixed;
    if (f.type == kBytes && !varint(size)) return false;
    if ((fixed == 0 && f.type != kBytes) || size > rest_.size()) return false;
    f.bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    f.value = 0;
    if (fixed > 0) std::memcpy(&f.value, f.bytes.data(), fixed);
    return true;
  }
  bool skip_group(std::uint32_t number, int depth) {
    Field f;
    while (depth < kDeepestGroup && key(f)) {
      if (f.type == kGroupEnd) return f.number == number;
      if (f.type == kGroup ? !skip_group(f.number, depth + 1) : !value(f)) return false;
    }
    return false;
  }

  std::string_view rest_;
  bool ok_ = true;
};

bool find_batch(std::string_view bytes, BatchView& b) {
  Fields fields(bytes);
  for (Field f; fields.next(f);) {
    switch (f.number * 8 + f.type) {
      case 1 * 8 + kFixed64:
        b.source = f.value;
        break;
      case 2 * 8 + kVarint:
        b.epoch = static_cast<std::uint32_t>(f.value);
        break;
      case 3 * 8 + kVarint:
        b.stream = static_cast<std::uint32_t>(f.value);
        break;
      case 4 * 8 + kVarint:
        b.first = f.value;
        break;
      case 5 * 8 + kVarint:
        b.count = static_cast<std::uint32_t>(f.value);
        break;
      case 6 * 8 + kFixed64:
        b.covered_until_ns = static_cast<std::int64_t>(f.value);
        break;
      case 10 * 8 + kBytes:
        b.columns = f.bytes;
        break;
      case 11 * 8 + kVarint:
        b.open_state = static_cast<std::uint32_t>(f.value);
        break;
      case 13 * 8 + kBytes:
        b.thread = f.bytes;
        break;
      default:  // counters, and what a later version adds
        break;
    }
  }
  return fields.ok();
}

}  // namespace

bool find_parts_untrusted(std::string_view bytes, MessageView& out) {
  out.version = 0;
  out.run = {};
  out.hello.clear();
  out.goodbye.clear();
  out.batches.clear();
  Fields fields(bytes);
  for (Field f; fields.next(f);) {
    switch (f.number * 8 + f.type) {
      case 1 * 8 + kVarint:
        out.version = static_cast<std::uint32_t>(f.value);
        break;
      case 2 * 8 + kBytes:
        out.run = f.bytes;
        break;
      case 10 * 8 + kBytes:
        out.hello.push_back(f.bytes);
        break;
      case 11 * 8 + kBytes:
        if (out.batches.size() >= kMostBatches) return false;
        if (!find_batch(f.bytes, out.batches.emplace_back())) return false;
        break;
      case 13 * 8 + kBytes:
        out.goodbye.push_back(f.bytes);
        break;
      default:
        break;
    }
  }
  return fields.ok();
}

}  // namespace margay::trace::internal
