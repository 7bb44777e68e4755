#include "margay/text/help_page.h"

#include <CLI/CLI.hpp>
#include <cctype>

#include "margay/text/help.h"

namespace margay::text {
namespace {

// What stands for a positional argument: ARCHIVE, [RUN], [ARCHIVE ...]
std::string positional(const CLI::Option& o) {
  if (!o.get_option_text().empty()) return o.get_option_text();
  std::string name;
  for (const char c : o.get_name()) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (o.get_expected_max() > 1) name += " ...";
  return o.get_required() ? name : "[" + name + "]";
}

std::string flag(const CLI::Option& o) {
  std::string names;
  for (const auto& n : o.get_snames()) names += (names.empty() ? "-" : ", -") + n;
  for (const auto& n : o.get_lnames()) names += (names.empty() ? "--" : ", --") + n;
  if (!o.get_option_text().empty()) return names + o.get_option_text();
  if (o.get_expected_max() == 0) return names;
  const std::string type = o.get_type_name();
  return names + " " + type.substr(0, type.find(':'));  // what is behind it is CLI11's word for a check
}

std::string meaning(const CLI::Option& o) {
  if (o.get_required() && !o.get_positional()) return o.get_description() + " (required)";
  if (o.get_default_str().empty()) return o.get_description();
  return o.get_description() + " (default: " + o.get_default_str() + ")";
}

std::string first_sentence(const std::string& text) {
  return text.substr(0, text.find_first_of(".:\n"));
}

std::string page(const CLI::App* app, const std::string& name, CLI::AppFormatMode) {
  const auto commands = app->get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); });
  const auto options = app->get_options([](const CLI::Option* o) { return !o->get_group().empty(); });
  std::string arguments, flags, listed, usage;
  for (const CLI::Option* o : options) {
    if (o->get_positional()) {
      usage += " " + positional(*o);
      arguments += help_row(positional(*o), o->get_description());
    } else {
      flags += help_row(flag(*o), meaning(*o));
    }
  }
  for (const CLI::App* c : commands) listed += help_row(c->get_name(), first_sentence(c->get_description()));
  if (app->get_require_subcommand_min() > 0) usage = " COMMAND";
  std::string out = app->get_description() + "\n\nUsage: " + name;
  out += (usage == " COMMAND" ? " COMMAND ..." : " [FLAGS]" + usage) + "\n";
  if (!listed.empty()) out += "\nCommands (--help after each explains it):\n" + listed;
  return out + "\n" + arguments + flags;
}

}  // namespace

void use_help_page(CLI::App& app) {
  app.formatter_fn(page);
  app.set_help_flag("-h,--help", "this page");
}

}  // namespace margay::text
