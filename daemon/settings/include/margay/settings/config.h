// The configuration: every option that a user can set, by its name.
//
// One table (keys.cc) makes the parser, the checks and the documented file: a row has the key's name, its
// help, what is expected, and the member of Options that it sets; the default is the member's.
// config/margay.toml is exactly default_text(), which a test proves. Strict: an unknown key, a wrong type, a
// value out of range is an error that tells file, line, key and what was expected; nothing is ignored or
// adjusted. Thread safety: values and pure functions (load, problems_of and place_of read one file).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "options.h"

namespace margay::config {

// Sets in `options` what the file says; what it does not name stays. At most 1 MiB is read. After an error
// `options` may have changed in part.
// Errors: kNotFound, kIo, kLimit, kInvalidArgument ("margay.toml:12: slice.duration: ..."): the first by
// line.
Status load(const std::string& path, daemon::Options& options);
// The same for text; `name` stands for the file in errors.
Status parse(std::string_view text, const std::string& name, daemon::Options& options);
// One key, by its full name; the value as a file has it, where a text needs no quotes: ("detect.p", "auto").
// Errors: kInvalidArgument, which does not name the key where it is one. What goes together is not looked at.
Status set(std::string_view key, const std::string& value, daemon::Options& options);
// Whether values go together that each by itself are right. Errors: kInvalidArgument ("store.resolution:
// ...").
Status check(const daemon::Options& options);

// All that load() would find wrong with the file, each as such a sentence, by line; empty: nothing is. What
// does not go together is looked at where each value is right by itself.
std::vector<std::string> problems_of(const std::string& path);
// "margay.toml:12", where the file gives this key ("alerts.command"); "margay.toml" where it does not.
std::string place_of(const std::string& path, std::string_view key);

// The documented file with these values (the shipped config/margay.toml for default Options).
std::string to_text(const daemon::Options& options);
inline std::string default_text() {
  return to_text(daemon::Options());
}

// "slice.duration", ..., in the file's order.
std::vector<std::string> key_names();

}  // namespace margay::config
