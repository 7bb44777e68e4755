// Where a capture's bytes come from: memory, or an input read from its begin to its end. Private to the
// folder.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/trace/input.h"

namespace margay::trace::internal {

class Bytes {
 public:
  virtual ~Bytes() = default;
  // The next n bytes, or fewer at the end. Valid until the next call. Errors: kIo.
  virtual Result<std::string_view> take(std::size_t n) = 0;
};

class MemoryBytes final : public Bytes {
 public:
  explicit MemoryBytes(std::string_view bytes) : rest_(bytes) {}
  Result<std::string_view> take(std::size_t n) override {
    const std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(out.size());
    return out;
  }

 private:
  std::string_view rest_;
};

class InputBytes final : public Bytes {
 public:
  explicit InputBytes(Input& input) : input_(input), buffer_(std::size_t{1} << 20) {}

  Result<std::string_view> take(std::size_t n) override {
    if (end_ - at_ < n) {
      std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
      end_ -= at_;
      at_ = 0;
      if (buffer_.size() < n) buffer_.resize(n);
      while (end_ < n) {
        const auto got = input_.read(std::span(buffer_).subspan(end_));
        if (!got) return tl::unexpected(got.error());
        if (*got == 0) break;
        end_ += *got;
      }
    }
    const std::string_view out(buffer_.data() + at_, std::min(n, end_ - at_));
    at_ += out.size();
    return out;
  }

 private:
  Input& input_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
};

}  // namespace margay::trace::internal
