// What the readers of both inputs share: numbers, and complaints with their place. Private to the folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "margay/query/model_file.h"

namespace margay::daemon::internal {

// An integer with an optional sign, and nothing else.
bool read_integer(std::string_view text, std::int64_t& value);
// A value of a model. Otherwise what is wrong with it, to be said after it: "is negative".
const char* read_value(std::string_view text, double& value);

// A piece of the file in quotes, safe to print and cut to a few words.
std::string quoted(std::string_view text);

// The place that errors begin with.
struct Source {
  const std::string& name;
  std::uint64_t memory_bytes;

  tl::unexpected<Error> wrong(std::uint64_t line, const std::string& what,
                              ErrorCode code = ErrorCode::kInvalidArgument) const {
    return fail(code, name + ":" + std::to_string(line) + ": " + what);
  }
  // Refuses more values than the budget holds, before they are allocated. `already`: bytes that are taken.
  Status check_values(std::uint64_t line, std::uint64_t leaves, std::uint64_t slices, std::uint64_t states,
                      std::uint64_t already) const;
};

Result<Model> parse_text(std::string_view text, const Source& source);
Result<Model> parse_csv(std::string_view text, const Source& source);

}  // namespace margay::daemon::internal
