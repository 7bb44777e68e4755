// Where a trace is read from: a file, standard input, or anything else that gives bytes in order.
//
// Thread safety: none. Ownership: an Input closes what it opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "margay/base/result.h"

namespace margay::trace {

class Input {
 public:
  // Fills some of `into` and says how much; 0 is the end.
  using Source = std::function<Result<std::size_t>(std::span<char> into)>;

  // `path` "-" is standard input. Whenever a signal interrupts a read, `stop` (if there is one) says whether
  // that is the end: kUnavailable. Errors: kNotFound, kIo.
  static Result<Input> open(const std::string& path, std::function<bool()> stop = {});
  // For tests: a text, at most `piece` bytes a read.
  static Input of_text(std::string name, std::string text, std::size_t piece = 1 << 20);
  Input(std::string name, Source source, std::uint64_t size)
      : name_(std::move(name)), source_(std::move(source)), size_(size) {}

  // What messages call it.
  const std::string& name() const { return name_; }
  // In bytes; 0: not known.
  std::uint64_t size() const { return size_; }
  std::uint64_t bytes_read() const { return bytes_; }

  // The first bytes, at most kHead, without taking them. Before the first read. Errors: kIo, kUnavailable.
  static constexpr std::size_t kHead = 4096;
  Result<std::string_view> head();
  // As Source. Errors: kIo, kUnavailable (stopped).
  Result<std::size_t> read(std::span<char> into);
  // Back to the first byte, so that all is read again. False: what was read is gone, as of a pipe; nothing
  // has changed then.
  bool rewind();

 private:
  std::string name_;
  Source source_;
  std::function<bool()> rewind_;  // where there is a way back
  std::uint64_t size_ = 0, bytes_ = 0;
  std::string head_;  // read ahead
  std::size_t head_taken_ = 0;
};

}  // namespace margay::trace
