// The flags that say which run a command is about, for CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "ask_daemon.h"
#include "margay/transport/local_user.h"

namespace margay::daemon {

// --trust-user NAME: the runs of another user of this machine.
inline void add_trust_user(CLI::App& app) {
  app.add_option_function<std::string>(
         "--trust-user",
         [](const std::string& user) {
           if (auto ok = transport::look_at_runs_of(user); !ok)
             throw CLI::ValidationError("--trust-user", ok.error().message);
         },
         "runs of this user instead of your own; trusts its daemons (for root)")
      ->type_name("USER");
}

// The part of add_where() that is about another machine, and another user.
inline void add_connect(CLI::App& app, Where& where) {
  auto* connect = app.add_option("--connect", where.endpoint,
                                 "a daemon on another machine: its listen.control, e.g. tcp://head:7413")
                      ->type_name("URL");
  app.add_option("--key", where.key, "key file for --connect (margay keys add)")
      ->type_name("FILE")
      ->needs(connect);
  add_trust_user(app);
}

// All of `where`, which must outlive the parsing.
inline void add_where(CLI::App& app, Where& where) {
  app.add_option("run", where.run, "name of the run (default: the newest)");
  add_connect(app, where);
}

}  // namespace margay::daemon
