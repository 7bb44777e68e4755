// Flags of a command line as a table: a row has the name, what its value is, the help and the member that it
// sets. margayd reads its arguments with parse_flags(); margay gives the same rows to its own parser
// (daemon/cli/add_flags.h).
//
// Errors: kInvalidArgument; each names the flag. Thread safety: none is needed, all happens before the first
// thread. Ownership: a row refers to its member, which must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"

namespace margay::daemon {

struct Flag {
  std::string name;   // "--slice"
  std::string value;  // what its value is, for people: "DURATION"; "": it is a switch, and has none
  std::string help;
  std::function<Status(const std::string&)> set;  // a switch is set by ""
  // Its values as they stand, to be handed on; none: it was not given. A switch has "".
  std::function<std::vector<std::string>()> given;
  bool required = false;
  bool hidden = false;   // not in the help
  bool repeats = false;  // may come more than once
};
using Flags = std::vector<Flag>;

Flag text_flag(const char* name, const char* value, const char* help, std::string& member);
Flag text_flag(const char* name, const char* value, const char* help, std::optional<std::string>& member);
// May be given again: the values in their order.
Flag list_flag(const char* name, const char* value, const char* help, std::vector<std::string>& member);
Flag count_flag(const char* name, const char* help, std::int64_t least, std::int64_t most,
                std::int64_t& member);
Flag switch_flag(const char* name, const char* help, bool& member);

// What to do with what was read.
enum class Asked { kRun, kHelp, kVersion };

// "--flag value", "--flag=value", "--help", "-h", "--version"; argv[0] is passed over. A flag with a value
// comes once at most, unless it repeats; required ones need not come where help or the version is asked for.
Result<Asked> parse_flags(const Flags& flags, int argc, const char* const* argv);

// The page for --help: `about`, how it is called, then each flag with its help, at most 100 columns wide.
std::string flags_help(std::string_view program, std::string_view about, const Flags& flags);

// Those that were given, as arguments again.
std::vector<std::string> given_arguments(const Flags& flags);

}  // namespace margay::daemon
