// The flags that every program has which sends to a daemon: the node agent and the readers. To be included by
// the source that has main(), for CLI11 is compiled where it is included.
//
// Thread safety: none. Cost: none worth the name.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "margay/transport/rundir.h"

namespace margay::node {

struct SenderFlags {
  std::string run_dir, run, collector, key;  // collector: a URL, or "" for the daemon of the run directory
  std::size_t memory = std::size_t{64} << 20;
  std::int64_t owner = 0;  // process id; 0: none

  std::string endpoint() const {
    return collector.empty() ? transport::RunDirectory{run_dir}.ingest_endpoint() : collector;
  }
};

// `flags` outlives the parsing. `owner_meaning`: what --owner-pid does for this program.
inline void add_sender_flags(CLI::App& app, SenderFlags& flags, const std::string& owner_meaning) {
  app.add_option("--run-dir", flags.run_dir, "directory of the run (MARGAY_RUN_DIR of the job)")
      ->type_name("DIR")
      ->required();
  app.add_option("--run", flags.run, "name of the run")->type_name("NAME")->required();
  app.add_option(
         "--collector", flags.collector,
         "the daemon on another machine: its listen.ingest, e.g. tcp://head:7411 (default: the daemon "
         "of the run directory)")
      ->type_name("URL");
  app.add_option("--key", flags.key, "key file for --collector (margay keys add ... --role source)")
      ->type_name("FILE");
  app.add_option("--memory", flags.memory, "most memory for records that are not confirmed yet")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("64MiB");
  app.add_option("--owner-pid", flags.owner, owner_meaning)->type_name("PID");
}

}  // namespace margay::node
