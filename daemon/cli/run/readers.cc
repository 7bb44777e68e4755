#include "readers.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "margay/transport/local_user.h"

namespace margay::daemon {
namespace {

// What every reader is told.
std::vector<std::string> arguments_of(const ReaderPlace& place) {
  return {place.program,
          "--run-dir",
          place.directory.path,
          "--run",
          place.run,
          "--owner-pid",
          std::to_string(place.owner),
          "--memory",
          std::to_string(place.memory_bytes) + "b"};
}

}  // namespace

Result<ReaderPlan> gstreamer_reader(const ReaderPlace& place, const std::string& level) {
  ReaderPlan plan;
  plan.what = "the reader of GStreamer's log";
  const std::string log = transport::shared_memory_of(place.directory) + "/gst";
  auto spool = gst::LogSpool::open(log);
  if (!spool) return tl::unexpected(spool.error());
  // Far below what is free: a full file system drops lines that nobody can count.
  constexpr std::uint64_t kMost = std::uint64_t{32} << 20, kLeast = std::uint64_t{1} << 20;
  struct statvfs room {};
  plan.most_bytes = kMost;
  if (statvfs(log.c_str(), &room) == 0)
    plan.most_bytes = std::clamp<std::uint64_t>(room.f_bavail * room.f_frsize / 4, kLeast, kMost);
  plan.options.arguments = arguments_of(place);
  plan.options.arguments.insert(plan.options.arguments.end(),
                                {"--log", log, "--log-memory", std::to_string(plan.most_bytes) + "b"});
  const char* const set = std::getenv("GST_DEBUG");
  plan.job_environment = {{"GST_DEBUG", set != nullptr && *set != '\0' ? set : level},
                          {"GST_DEBUG_NO_COLOR", "1"},
                          {"GST_DEBUG_FILE", spool->file_pattern()}};
  plan.spool = std::make_unique<gst::LogSpool>(std::move(*spool));
  return plan;
}

Result<ReaderPlan> lttng_reader(const ReaderPlace& place, const Options::Lttng& settings,
                                const std::string& helpers, const std::vector<std::string>& rules) {
  ReaderPlan plan;
  plan.what = "the keeper of the LTTng session";
  if (place.program.empty())
    return fail(ErrorCode::kNotFound,
                "margay-lttng is not installed (it is built where liblttng-ctl and Babeltrace 2 are)");
  plan.options.arguments = arguments_of(place);
  plan.options.arguments.insert(
      plan.options.arguments.end(),
      {"--sub-buffer", std::to_string(settings.sub_buffer_bytes) + "b", "--sub-buffers",
       std::to_string(settings.sub_buffers), "--buffer-memory", std::to_string(settings.memory_bytes) + "b",
       "--disk", std::to_string(settings.disk_bytes) + "b", "--traces", place.traces(), "--live-timer",
       std::to_string(settings.live_timer.value / 1000) + "us"});
  if (helpers != "none") plan.options.arguments.insert(plan.options.arguments.end(), {"--preload", helpers});
  for (const auto* files : {&rules, &settings.rules})  // the command's go before
    for (const std::string& file : *files)
      plan.options.arguments.insert(plan.options.arguments.end(),
                                    {"--rules-file", std::filesystem::absolute(file)});
  plan.ready_file = place.directory.path + "/lttng.environment";
  plan.note_file = place.directory.path + "/lttng.note";
  return plan;
}

bool read_environment(const std::string& path, std::vector<std::pair<std::string, std::string>>& out) {
  std::ifstream in(path);
  if (!in) return false;
  for (std::string line; std::getline(in, line);)
    if (const std::size_t equals = line.find('='); equals != std::string::npos)
      out.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  return true;
}

}  // namespace margay::daemon
