#include "margay/trace/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace margay::trace {
namespace {

// Closes what it holds, but not standard input.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > STDIN_FILENO) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

Result<Input> Input::open(const std::string& path, std::function<bool()> stop) {
  const bool standard = path == "-";
  const std::string name = standard ? "standard input" : path;
  const int fd = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, name + ": " + std::strerror(errno));
  const auto owned = std::make_shared<Descriptor>(fd);
  struct stat st {};
  if (::fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
    return fail(ErrorCode::kInvalidArgument, name + ": is a directory; expected a trace file");
  const std::uint64_t size = S_ISREG(st.st_mode) ? static_cast<std::uint64_t>(st.st_size) : 0;
  auto source = [owned, name, stop = std::move(stop)](std::span<char> into) -> Result<std::size_t> {
    for (;;) {
      const ssize_t n = ::read(owned->get(), into.data(), into.size());
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR) return fail(ErrorCode::kIo, name + ": " + std::strerror(errno));
      if (stop && stop()) return fail(ErrorCode::kUnavailable, name + ": reading was interrupted");
    }
  };
  Input input(name, std::move(source), size);
  if (const off_t begin = ::lseek(fd, 0, SEEK_CUR); S_ISREG(st.st_mode) && begin >= 0)
    input.rewind_ = [owned, begin] { return ::lseek(owned->get(), begin, SEEK_SET) == begin; };
  return input;
}

Input Input::of_text(std::string name, std::string text, std::size_t piece) {
  const std::uint64_t size = text.size();
  const auto at = std::make_shared<std::size_t>(0);
  auto source = [text = std::move(text), piece, at](std::span<char> into) -> Result<std::size_t> {
    const std::size_t n = std::min({piece, into.size(), text.size() - *at});
    std::memcpy(into.data(), text.data() + *at, n);
    *at += n;
    return n;
  };
  Input input(std::move(name), std::move(source), size);
  input.rewind_ = [at] {
    *at = 0;
    return true;
  };
  return input;
}

bool Input::rewind() {
  if (!rewind_ || !rewind_()) return false;
  head_.clear();
  head_taken_ = 0;
  bytes_ = 0;
  return true;
}

Result<std::string_view> Input::head() {
  // A pipe may give its first bytes in pieces.
  while (head_.size() < kHead) {
    char more[kHead];
    const auto n = source_(std::span(more).first(kHead - head_.size()));
    if (!n) return tl::unexpected(n.error());
    if (*n == 0) break;
    head_.append(more, *n);
  }
  return std::string_view(head_);
}

Result<std::size_t> Input::read(std::span<char> into) {
  if (head_taken_ < head_.size()) {
    const std::size_t n = std::min(into.size(), head_.size() - head_taken_);
    std::memcpy(into.data(), head_.data() + head_taken_, n);
    head_taken_ += n;
    bytes_ += n;
    return n;
  }
  auto n = source_(into);
  if (n) bytes_ += *n;
  return n;
}

}  // namespace margay::trace
