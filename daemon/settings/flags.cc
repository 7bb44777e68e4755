#include "margay/settings/flags.h"

#include <algorithm>
#include <charconv>

#include "margay/text/help.h"
#include "suggest.h"

namespace margay::daemon {
namespace {

const Flag* find(const Flags& flags, std::string_view name) {
  const auto at = std::find_if(flags.begin(), flags.end(), [&](const Flag& f) { return f.name == name; });
  return at == flags.end() ? nullptr : &*at;
}

std::string shown(const Flag& f) {
  return f.value.empty() ? f.name : f.name + " " + f.value;
}

Error unknown(const Flags& flags, const std::string& written) {
  if (!written.starts_with("-"))
    return {ErrorCode::kInvalidArgument, "'" + written + "' was not expected; --help lists the flags"};
  std::vector<std::string> names = {"--help", "--version"};
  for (const Flag& f : flags)
    if (!f.hidden) names.push_back(f.name);
  const std::string near = config::suggest(written, names);
  return {ErrorCode::kInvalidArgument,
          written + ": there is no such flag" + (near.empty() ? "; --help lists them" : near)};
}

}  // namespace

Flag text_flag(const char* name, const char* value, const char* help, std::string& member) {
  return {name, value, help,
          [&member](const std::string& text) {
            member = text;
            return Status();
          },
          [&member] { return member.empty() ? std::vector<std::string>() : std::vector{member}; }};
}

Flag text_flag(const char* name, const char* value, const char* help, std::optional<std::string>& member) {
  return {name, value, help,
          [&member](const std::string& text) {
            member = text;
            return Status();
          },
          [&member] { return member ? std::vector{*member} : std::vector<std::string>(); }};
}

Flag list_flag(const char* name, const char* value, const char* help, std::vector<std::string>& member) {
  Flag flag{name, value, help,
            [&member](const std::string& text) {
              member.push_back(text);
              return Status();
            },
            [&member] { return member; }};
  flag.repeats = true;
  return flag;
}

Flag count_flag(const char* name, const char* help, std::int64_t least, std::int64_t most,
                std::int64_t& member) {
  return {
      name, "NUMBER", help,
      [&member, least, most](const std::string& text) -> Status {
        std::int64_t n = 0;
        const auto r = std::from_chars(text.data(), text.data() + text.size(), n);
        if (r.ec != std::errc() || r.ptr != text.data() + text.size() || n < least || n > most)
          return fail(ErrorCode::kInvalidArgument, "expected a whole number from " + std::to_string(least) +
                                                       " to " + std::to_string(most));
        member = n;
        return {};
      },
      [&member] { return member == 0 ? std::vector<std::string>() : std::vector{std::to_string(member)}; }};
}

Flag switch_flag(const char* name, const char* help, bool& member) {
  return {name, "", help,
          [&member](const std::string&) {
            member = true;
            return Status();
          },
          [&member] { return std::vector<std::string>(member ? 1 : 0); }};
}

Result<Asked> parse_flags(const Flags& flags, int argc, const char* const* argv) {
  std::vector<const Flag*> seen;
  Asked asked = Asked::kRun;
  for (int i = 1; i < argc; ++i) {
    const std::string written = argv[i];
    if (written == "--help" || written == "-h") {
      asked = Asked::kHelp;
      continue;
    }
    if (written == "--version") {
      if (asked == Asked::kRun) asked = Asked::kVersion;
      continue;
    }
    const std::size_t equals = written.find('=');
    const std::string name = written.substr(0, equals);
    const Flag* f = find(flags, name);
    if (f == nullptr) return tl::unexpected(unknown(flags, name));
    std::string value;
    if (f->value.empty()) {
      if (equals != std::string::npos) return fail(ErrorCode::kInvalidArgument, name + ": takes no value");
    } else {
      if (!f->repeats && std::find(seen.begin(), seen.end(), f) != seen.end())
        return fail(ErrorCode::kInvalidArgument, name + ": is given twice");
      if (equals != std::string::npos)
        value = written.substr(equals + 1);
      else if (i + 1 == argc || find(flags, argv[i + 1]) != nullptr)
        return fail(ErrorCode::kInvalidArgument, name + ": its value is missing (" + shown(*f) + ")");
      else
        value = argv[++i];
    }
    seen.push_back(f);
    if (Status s = f->set(value); !s) return fail(s.error(), name + " " + value);
  }
  if (asked != Asked::kRun) return asked;
  for (const Flag& f : flags)
    if (f.required && std::find(seen.begin(), seen.end(), &f) == seen.end())
      return fail(ErrorCode::kInvalidArgument, f.name + " is required: " + f.help);
  return asked;
}

std::string flags_help(std::string_view program, std::string_view about, const Flags& flags) {
  std::string out = std::string(about) + "\n\nUsage: " + std::string(program);
  for (const Flag& f : flags)
    if (f.required) out += " " + shown(f);
  out += " [FLAGS]\n\nFlags:\n";
  for (const Flag& f : flags)
    if (!f.hidden) out += text::help_row(shown(f), f.help + (f.required ? " (required)" : ""));
  out += text::help_row("-h, --help", "this page");
  out += text::help_row("--version", "the version");
  return out;
}

std::vector<std::string> given_arguments(const Flags& flags) {
  std::vector<std::string> out;
  for (const Flag& f : flags)
    for (const std::string& value : f.given()) {
      out.push_back(f.name);
      if (!f.value.empty()) out.push_back(value);
    }
  return out;
}

}  // namespace margay::daemon
