// What is known of a run at its end, and from whom: the daemon that closed the books, or, where it does not
// answer, the archive it wrote. What neither knows is said to be unknown.
//
// Thread safety: values and functions of what they read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/wire/control.pb.h"

namespace margay::daemon {

struct RunAccount {
  enum class From { kNobody, kDaemon, kArchive };
  From from = From::kNobody;
  // The run was ended in the archive: nothing more was to come of the sources that had ended.
  bool closed = false;
  std::uint64_t produced = 0;   // events, as far as their sources have told
  std::uint64_t modelled = 0;   // of those: in the archive
  std::uint64_t lost = 0;       // counted as such
  std::uint64_t in_flight = 0;  // produced, and neither arrived nor counted as lost
  std::uint64_t summed = 0;     // in the process
  std::size_t resources = 0;
  std::uint64_t unended = 0;  // sources of which nobody knows whether they have said all
  std::size_t phases = 0;
  std::uint64_t alerts = 0;
  std::string unwatched;        // which processes were not watched, a sentence; "": all were
  std::string archive_trouble;  // why the archive lacks the end; "": it does not
  std::string json;             // the summary's object; "" from nobody

  // Every event that was produced is known to have been modelled, or counted as lost.
  bool complete() const { return closed && in_flight == 0 && unended == 0; }
};

RunAccount account_of(const wire::ControlReply& reply);
// Reads the archive, also while a daemon has it open: what it had committed. Errors: those of opening and
// reading one.
Result<RunAccount> account_of_archive(const std::string& path);

// "1,234 events of 4 resources, none lost; 2 phase stretches, 1 alert", or what is unknown of that.
std::string sentence_of(const RunAccount& account);

// What is recorded of a command; cut where it is long.
std::string command_text(const std::vector<std::string>& arguments);

}  // namespace margay::daemon
