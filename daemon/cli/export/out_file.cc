#include "out_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "margay/base/text.h"
#include "margay/text/csv.h"

namespace margay::daemon {

Result<std::unique_ptr<OutFile>> OutFile::create(const std::string& path) {
  if (path == "-") return std::unique_ptr<OutFile>(new OutFile("standard output", "", stdout));
  const std::string partial = path + ".partial";
  std::FILE* file = std::fopen(partial.c_str(), "wbe");
  if (file == nullptr) return fail(ErrorCode::kIo, partial + ": " + std::strerror(errno));
  return std::unique_ptr<OutFile>(new OutFile(path, partial, file));
}

OutFile::~OutFile() {
  if (file_ == nullptr || partial_.empty()) return;
  std::fclose(file_);
  ::unlink(partial_.c_str());
}

void OutFile::write(std::string_view text) {
  if (error_ != 0) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) error_ = errno != 0 ? errno : EIO;
  bytes_ += text.size();
}

Status OutFile::failed() {
  return fail(ErrorCode::kIo, path_ + ": could not be written: " + std::strerror(error_));
}

Status OutFile::commit() {
  if (error_ == 0 && std::fflush(file_) != 0) error_ = errno;
  if (partial_.empty()) {
    file_ = nullptr;
    return error_ == 0 ? Status() : failed();
  }
  if (error_ == 0 && ::fsync(::fileno(file_)) != 0 && errno != EINVAL) error_ = errno;
  std::FILE* const file = std::exchange(file_, nullptr);
  if (std::fclose(file) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0 && std::rename(partial_.c_str(), path_.c_str()) != 0) error_ = errno;
  if (error_ == 0) return {};
  ::unlink(partial_.c_str());
  return failed();
}

std::string csv_field(const std::string& given) {
  return text::csv_field(clean_utf8(given));
}

}  // namespace margay::daemon
