// A file that is there whole or not at all: it is written as PATH.partial, which becomes PATH when all of it
// is on the disk. "-" is standard output.
//
// Thread safety: none. Errors are kept: what is written after the first is not, and commit() tells it.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "margay/base/result.h"
#include "margay/text/text.h"

namespace margay::daemon {

class OutFile {
 public:
  // Errors: kIo (no such directory, permission ...).
  static Result<std::unique_ptr<OutFile>> create(const std::string& path);
  // Takes away what was not committed.
  ~OutFile();
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;

  void write(std::string_view text);
  // False once something could not be written: no need to go on.
  bool good() const { return error_ == 0; }
  // Errors: kIo, with why (the disk is full ...).
  Status commit();
  std::uint64_t bytes() const { return bytes_; }

 private:
  OutFile(std::string path, std::string partial, std::FILE* file)
      : path_(std::move(path)), partial_(std::move(partial)), file_(file) {}
  Status failed();

  const std::string path_, partial_;  // no partial_: standard output
  std::FILE* file_;
  int error_ = 0;
  std::uint64_t bytes_ = 0;
};

// A field of CSV, quoted where it must be (RFC 4180); control characters and what is no UTF-8 are '?'.
std::string csv_field(const std::string& text);
using text::seconds_text;

}  // namespace margay::daemon
