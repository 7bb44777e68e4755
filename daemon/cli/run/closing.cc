#include "closing.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

namespace margay::daemon {

void say(const std::string& line) {
  std::fprintf(stderr, "margay: %s\n", line.c_str());
}

std::string make_run_name() {
  char stamp[32];
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  char name[48];
  std::snprintf(name, sizeof name, "%s-%08x", stamp, std::random_device{}() & 0xffffffffu);
  return name;
}

void write_summary(const RunAccount& account, bool watched, const Ending& ending) {
  if (ending.file.empty()) return;
  auto j = nlohmann::ordered_json::parse(account.json, nullptr, false);
  if (!j.is_object()) j = nlohmann::ordered_json::object();
  if (!watched)
    j["error"] = "the job ran without Margay";
  else if (account.from == RunAccount::From::kNobody)
    j["error"] =
        "the daemon did not answer, and the archive cannot be read: what became of the events is unknown";
  else if (!account.closed)
    j["error"] =
        "the daemon did not answer: events are those that the archive has; what came after them is unknown";
  if (watched) {
    j["told_by"] = account.from == RunAccount::From::kDaemon    ? "daemon"
                   : account.from == RunAccount::From::kArchive ? "archive"
                                                                : "nobody";
    j["complete"] = account.complete();
  }
  j["exit_code"] = ending.exit_code;
  j["duration_ns"] = ending.duration.value;
  std::ofstream out(ending.file, std::ios::trunc);
  out << j.dump() << '\n';
  out.flush();
  if (!out) say(ending.file + ": cannot be written: " + std::strerror(errno));
}

std::string nothing_seen(const RunRequest& request) {
  if (!request.lttng.empty())
    return "no traced program was seen: no event of LTTng that a rule is for came (the archive's log says "
           "more)";
  if (!request.gst_debug.empty())
    return "no GStreamer program was seen: nothing that was started wrote a debug log";
  return "no MPI program was seen: nothing that was started calls MPI_Init, or names its states "
         "(margay/annotate.h)";
}

}  // namespace margay::daemon
