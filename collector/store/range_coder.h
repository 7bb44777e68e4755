// Adaptive binary range coding: each yes or no costs what it tells, given how often it was yes before. Pure.
//
// A Bit is the memory of one kind of decision; Encoder and Decoder have the same calls, so that one walk over
// the values is both. Carries go the way of LZMA's coder; the first decisions of a Bit weigh more than later
// ones (a running mean), since what is joined is small.
//
// The decoder trusts nothing: behind the end it reads zeros, and done() is false. Thread safety: values.
// Cost: about 5 ns a decision.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace margay::store {

struct Bit {
  static constexpr unsigned kOne = 1u << 16;
  static constexpr unsigned kLeast = 48;    // no decision becomes quite certain
  static constexpr unsigned kLongest = 40;  // decisions that are remembered, about

  std::uint16_t no = kOne / 2;  // how likely 0 is, of 65536
  std::uint16_t seen = 0;

  // As if it had been learnt: yes with this probability, which a few decisions change.
  static Bit expecting(double yes, unsigned weight) {
    return {static_cast<std::uint16_t>((1 - yes) * kOne), static_cast<std::uint16_t>(weight)};
  }

  void learn(bool yes) {
    const int target = yes ? static_cast<int>(kLeast) : static_cast<int>(kOne - kLeast);
    no = static_cast<std::uint16_t>(no + (target - no) * 2 / (2 * seen + 3));
    if (seen < kLongest) ++seen;
  }
};

class Encoder {
 public:
  static constexpr bool kDecodes = false;
  explicit Encoder(std::string& out) : out_(out) {}

  void bit(Bit& model, bool& yes) {
    const std::uint32_t part = (range_ >> 16) * model.no;
    if (yes) {
      low_ += part;
      range_ -= part;
    } else {
      range_ = part;
    }
    model.learn(yes);
    while (range_ < kSmall) shift();
  }
  // `count` bits as they are; at most 64.
  void plain(std::uint64_t& value, unsigned count) {
    while (count-- != 0) {
      range_ >>= 1;
      if (value >> count & 1) low_ += range_;
      while (range_ < kSmall) shift();
    }
  }
  // Once, at the end.
  void finish() {
    for (int i = 0; i < 5; ++i) put_byte();
  }

 private:
  static constexpr std::uint32_t kSmall = 1u << 24;
  void shift() {
    range_ <<= 8;
    put_byte();
  }
  void put_byte() {
    if (low_ < 0xff000000u || low_ > 0xffffffffu) {
      const auto carry = static_cast<std::uint8_t>(low_ >> 32);
      if (begun_) out_.push_back(static_cast<char>(held_ + carry));
      for (; waiting_ != 0; --waiting_) out_.push_back(static_cast<char>(0xff + carry));
      held_ = static_cast<std::uint8_t>(low_ >> 24);
      begun_ = true;
    } else {
      ++waiting_;
    }
    low_ = (low_ & 0x00ffffffu) << 8;
  }

  std::string& out_;
  std::uint64_t low_ = 0;
  std::uint32_t range_ = 0xffffffffu;
  std::uint8_t held_ = 0;
  bool begun_ = false;
  std::uint64_t waiting_ = 0;  // bytes 0xff that a carry may yet change
};

class Decoder {
 public:
  static constexpr bool kDecodes = true;
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {
    for (int i = 0; i < 4; ++i) next();
  }

  void bit(Bit& model, bool& yes) {
    const std::uint32_t part = (range_ >> 16) * model.no;
    yes = code_ >= part;
    if (yes) {
      code_ -= part;
      range_ -= part;
    } else {
      range_ = part;
    }
    model.learn(yes);
    while (range_ < kSmall) shift();
  }
  void plain(std::uint64_t& value, unsigned count) {
    value = 0;
    while (count-- != 0) {
      range_ >>= 1;
      const bool one = code_ >= range_;
      if (one) code_ -= range_;
      value = value << 1 | (one ? 1 : 0);
      while (range_ < kSmall) shift();
    }
  }
  // It read beyond the end: whatever comes now is nothing.
  bool beyond() const { return at_ > bytes_.size(); }
  // Every byte was read, and none that is not there.
  bool done() const { return at_ == bytes_.size(); }

 private:
  static constexpr std::uint32_t kSmall = 1u << 24;
  void shift() {
    range_ <<= 8;
    next();
  }
  void next() {
    code_ = code_ << 8 | (at_ < bytes_.size() ? static_cast<std::uint8_t>(bytes_[at_]) : 0u);
    ++at_;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::uint32_t code_ = 0;
  std::uint32_t range_ = 0xffffffffu;
};

// A whole number whose size is learnt: how many bits it has, then the highest of them; the low bits of large
// numbers are taken as they are.
struct NumberModel {
  static constexpr unsigned kLearnt = 3;  // bits behind the first
  std::array<Bit, 65> longer;
  std::array<std::array<Bit, 1u << kLearnt>, 20> high;

  // Numbers of about `bits` bits are expected.
  void expect(int bits) {
    constexpr unsigned kWeight = 2;
    for (int i = 0; i < static_cast<int>(longer.size()); ++i) {
      const double yes = i + 1 < bits    ? 0.93
                         : i + 1 == bits ? 0.75
                         : i == bits     ? 0.4
                         : i == bits + 1 ? 0.2
                                         : 0.1;
      longer[static_cast<std::size_t>(i)] = Bit::expecting(yes, kWeight);
    }
  }

  template <class Coder>
  void code(Coder& coder, std::uint64_t& value) {
    unsigned bits = 0;
    const unsigned had = Coder::kDecodes ? 0 : static_cast<unsigned>(std::bit_width(value));
    for (; bits < 64; ++bits) {
      bool more = bits < had;
      coder.bit(longer[bits], more);
      if (!more) break;
    }
    if (bits < 2) {
      value = bits;
      return;
    }
    unsigned left = bits - 1;
    std::uint64_t v = 1;
    auto& models = high[std::min<std::size_t>(bits, high.size()) - 1];
    for (unsigned node = 1; left != 0 && node < models.size();) {
      --left;
      bool one = (value >> left & 1) != 0;
      coder.bit(models[node], one);
      node = 2 * node + (one ? 1 : 0);
      v = v << 1 | (one ? 1 : 0);
    }
    std::uint64_t low = left == 0 ? 0 : value & ((std::uint64_t{1} << left) - 1);
    coder.plain(low, left);
    value = v << left | low;
  }
};

}  // namespace margay::store
