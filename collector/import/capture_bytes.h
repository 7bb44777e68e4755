// Where a capture's bytes come from: memory, or a file read from its begin to its end. Private to the folder.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "margay/base/result.h"

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

class FileBytes final : public Bytes {
 public:
  FileBytes(int fd, std::string path) : fd_(fd), path_(std::move(path)), buffer_(std::size_t{1} << 20) {}
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes() override { ::close(fd_); }

  Result<std::string_view> take(std::size_t n) override {
    if (end_ - at_ < n) {
      std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
      end_ -= at_;
      at_ = 0;
      if (buffer_.size() < n) buffer_.resize(n);
      while (end_ < n) {
        const ssize_t got = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(ErrorCode::kIo, path_ + ": " + std::system_category().message(errno));
        if (got == 0) break;
        end_ += static_cast<std::size_t>(got);
      }
    }
    const std::string_view out(buffer_.data() + at_, std::min(n, end_ - at_));
    at_ += out.size();
    return out;
  }

 private:
  int fd_;
  std::string path_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
};

}  // namespace margay::trace::internal
