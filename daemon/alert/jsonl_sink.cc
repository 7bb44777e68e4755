#include "margay/alert/jsonl_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace margay::alert {

Result<JsonlSink> JsonlSink::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return fail(ErrorCode::kIo, path + ": cannot be written: " + std::strerror(errno));
  JsonlSink sink(fd);
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    return sink;  // a terminal, a pipe: nothing stands there
  std::ifstream in(path);
  bool whole = true;  // a crash may have cut the last line
  for (std::string line; std::getline(in, line);) {
    whole = !in.eof();
    if (const auto alert = parse_untrusted(line)) sink.written_.insert({alert->id, step(*alert)});
  }
  sink.cut_ = !whole;
  return sink;
}

JsonlSink::JsonlSink(JsonlSink&& o) noexcept
    : fd_(o.fd_), written_(std::move(o.written_)), failed_(o.failed_), cut_(o.cut_) {
  o.fd_ = -1;
}

JsonlSink::~JsonlSink() {
  if (fd_ >= 0) ::close(fd_);
}

bool JsonlSink::write(const Alert& alert) {
  if (!written_.insert({alert.id, step(alert)})) return false;
  const std::string whole = (cut_ ? "\n" : "") + to_json(alert) + "\n";
  ssize_t n = 0;
  do n = ::write(fd_, whole.data(), whole.size());
  while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(whole.size())) {
    cut_ = false;
    return true;
  }
  if (n > 0) cut_ = true;
  ++failed_;
  return false;
}

}  // namespace margay::alert
