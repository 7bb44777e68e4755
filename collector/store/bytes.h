// Little building blocks of the store's values: varints, strings, and a reader that trusts nothing.
//
// ByteReader never reads past its bytes: after the first failure every further read yields zero or empty and
// ok() stays false, so that a decoder checks once, at the end. Values: integers are LEB128 varints of at most
// ten bytes, signed ones zigzag first; a string is its length and its bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace margay::store {

inline std::uint64_t zigzag(std::int64_t v) {
  return (static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63);
}
inline std::int64_t unzigzag(std::uint64_t v) {
  return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
}
// Arithmetic that wraps: values from a broken file may hold any 64 bits.
inline std::int64_t wrapping_sub(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}
  void u8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void varint(std::uint64_t v) {
    char bytes[10];
    std::size_t n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = static_cast<char>(v | 0x80);
    bytes[n++] = static_cast<char>(v);
    out_.append(bytes, n);
  }
  void signed_varint(std::int64_t v) { varint(zigzag(v)); }
  void string(std::string_view s) {
    varint(s.size());
    out_.append(s);
  }

 private:
  std::string& out_;
};

// The same into room that the caller has made; for what is written a hundred thousand times a cut.
class RoomWriter {
 public:
  static constexpr std::size_t kLongestVarint = 10;
  explicit RoomWriter(char* room) : at_(room) {}
  void u8(std::uint8_t v) { *at_++ = static_cast<char>(v); }
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) *at_++ = static_cast<char>(v | 0x80);
    *at_++ = static_cast<char>(v);
  }
  void signed_varint(std::int64_t v) { varint(zigzag(v)); }
  const char* end() const { return at_; }

 private:
  char* at_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t u8() {
    if (!take(1)) return 0;
    return static_cast<std::uint8_t>(taken_[0]);
  }
  std::uint64_t varint() {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t b = u8();
      if (shift == 63 && b > 1) break;  // would not fit 64 bits
      v |= static_cast<std::uint64_t>(b & 0x7f) << shift;
      if ((b & 0x80) == 0) return ok_ ? v : 0;
    }
    ok_ = false;
    return 0;
  }
  // A varint of at most `most`.
  std::uint64_t bounded(std::uint64_t most) {
    const std::uint64_t v = varint();
    if (v <= most) return v;
    ok_ = false;
    return 0;
  }
  // A count of things that take at least one byte each: so that no count makes the caller allocate more than
  // a small multiple of the bytes that are there.
  std::uint64_t count(std::uint64_t most) { return bounded(most < bytes_.size() ? most : bytes_.size()); }
  std::int64_t signed_varint() { return unzigzag(varint()); }
  std::string_view string(std::size_t longest) {
    const auto n = static_cast<std::size_t>(bounded(longest));
    return take(n) ? taken_ : std::string_view();
  }
  std::string_view rest() {
    const auto r = bytes_;
    bytes_ = {};
    return r;
  }
  std::string_view bytes(std::size_t n) { return take(n) ? taken_ : std::string_view(); }

  void refuse() { ok_ = false; }
  bool ok() const { return ok_; }
  // Everything was read, and nothing was wrong.
  bool done() const { return ok_ && bytes_.empty(); }

 private:
  bool take(std::size_t n) {
    if (!ok_ || n > bytes_.size()) {
      ok_ = false;
      return false;
    }
    taken_ = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return true;
  }

  std::string_view bytes_;
  std::string_view taken_;
  bool ok_ = true;
};

}  // namespace margay::store
