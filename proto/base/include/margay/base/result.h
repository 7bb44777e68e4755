// The one error type. Every function that can fail returns Result<T> or Status; no exception crosses a
// module.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace margay {

enum class ErrorCode {
  kInvalidArgument,  // what the caller (or the user) gave is wrong
  kNotFound,
  kIo,
  kCorrupt,      // bytes from outside do not decode
  kLimit,        // a configured bound was reached
  kUnavailable,  // the other side is not there
  kVersion,      // written by another version
  kTimeout,
  kInternal,
};

// `message` is a sentence for a person; it names the place (file, line, key, index).
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
};

using Status = Result<void>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}
// Prefixes the place: "config.toml: line 3: ..."
inline tl::unexpected<Error> fail(const Error& cause, const std::string& where) {
  return tl::unexpected<Error>(Error{cause.code, where + ": " + cause.message});
}

}  // namespace margay
