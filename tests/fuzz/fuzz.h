// What the fuzz targets share: an input taken apart piece by piece, and checks.
//
// Pieces are little-endian; beyond the end of the input every integer is 0 and every piece empty, so that any
// bytes are a valid input. InputWriter is the other way round, for seeds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// A property that must hold whatever the input: the message names it, the process ends.
#define FUZZ_CHECK(condition, what)                                                        \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      std::fprintf(stderr, "%s:%d: %s: not (%s)\n", __FILE__, __LINE__, what, #condition); \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)

namespace margay::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}
  Input(const std::uint8_t* data, std::size_t size) : rest_(text_of(data, size)) {}

  template <class T>
  T integer() {
    T v{};
    const std::size_t n = std::min(sizeof(T), rest_.size());
    if (n > 0) std::memcpy(&v, rest_.data(), n);
    rest_.remove_prefix(n);
    return v;
  }
  std::uint8_t u8() { return integer<std::uint8_t>(); }
  std::uint16_t u16() { return integer<std::uint16_t>(); }
  std::string_view bytes(std::size_t n) {
    const auto out = rest_.substr(0, n);
    rest_.remove_prefix(out.size());
    return out;
  }
  // A length of two bytes, and so many bytes.
  std::string_view piece() { return bytes(u16()); }
  std::string_view rest() { return bytes(rest_.size()); }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

class InputWriter {
 public:
  template <class T>
  InputWriter& integer(T v) {
    char raw[sizeof(T)];
    std::memcpy(raw, &v, sizeof(T));
    out_.append(raw, sizeof(T));
    return *this;
  }
  InputWriter& u8(unsigned v) { return integer(static_cast<std::uint8_t>(v)); }
  InputWriter& u16(unsigned v) { return integer(static_cast<std::uint16_t>(v)); }
  InputWriter& bytes(std::string_view b) {
    out_.append(b);
    return *this;
  }
  InputWriter& piece(std::string_view b) {
    b = b.substr(0, 0xffff);
    return u16(static_cast<unsigned>(b.size())).bytes(b);
  }
  const std::string& text() const { return out_; }

 private:
  std::string out_;
};

}  // namespace margay::fuzz
