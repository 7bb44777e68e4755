// A table of flags for CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "margay/settings/flags.h"

namespace margay::daemon {

// `app` sets the members that the rows refer to; they must outlive the parsing. What a row finds wrong with a
// value is an error of CLI11's, with the name of the flag.
inline void add_flags(CLI::App& app, const Flags& flags) {
  for (const Flag& f : flags) {
    const auto set = [f](const std::vector<std::string>& values) {
      for (const std::string& value : values)
        if (const Status s = f.set(value); !s) throw CLI::ValidationError(f.name, s.error().message);
    };
    CLI::Option* option = nullptr;
    if (f.value.empty())
      option = app.add_flag_callback(
          f.name, [set] { set({""}); }, f.help);
    else
      option = app.add_option_function<std::vector<std::string>>(f.name, set, f.help)
                   ->type_name(f.value)
                   ->allow_extra_args(false)
                   ->expected(1, f.repeats ? CLI::detail::expected_max_vector_size : 1);
    if (f.required) option->required();
    if (f.hidden) option->group("");
  }
}

}  // namespace margay::daemon
