// `margay archive prune`, `compact` and `rm`: what changes an archive. Of this folder; archive_command.h has
// the request.
#pragma once

#include <string>

#include "archive_command.h"
#include "archive_prune.h"

namespace margay::daemon {

// On stderr: "margay: " and the sentence. Returns kUnreadable.
int complain(const std::string& sentence);

void add_change_commands(CLI::App& archive, ArchiveRequest& request);
// Exit codes as of archive_command().
int prune_command(const ArchiveRequest& request);
int compact_command(const ArchiveRequest& request);
int remove_command(const ArchiveRequest& request);

// "7d", "0" -> how long; errors: kInvalidArgument, naming `option`.
Result<PruneRules> prune_rules(const ArchiveRequest& request);
std::string pruned_text(const std::string& path, const Pruned& pruned, const PruneRules& rules);
std::string pruned_json(const std::string& path, const Pruned& pruned, const PruneRules& rules);

}  // namespace margay::daemon
