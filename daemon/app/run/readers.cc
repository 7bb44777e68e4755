#include "readers.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "margay/transport/local_user.h"

namespace margay::app {
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
  const std::string pipe = transport::shared_memory_of(place.directory) + "/gst";
  if (mkfifo(pipe.c_str(), 0600) != 0) return fail(ErrorCode::kIo, pipe + ": " + std::strerror(errno));
  // The job's writes must neither fail nor wait for a reader that is started again.
  plan.hold = open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (plan.hold < 0) return fail(ErrorCode::kIo, pipe + ": " + std::strerror(errno));
  constexpr int kPipeBytes = 1 << 20;
  static_cast<void>(fcntl(plan.hold, F_SETPIPE_SZ, kPipeBytes));  // as it is, then
  plan.options.arguments = arguments_of(place);
  plan.options.arguments.insert(plan.options.arguments.end(), {"--pipe", pipe});
  const char* const set = std::getenv("GST_DEBUG");
  plan.job_environment = {{"GST_DEBUG", set != nullptr && *set != '\0' ? set : level},
                          {"GST_DEBUG_NO_COLOR", "1"},
                          {"GST_DEBUG_FILE", pipe}};
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

}  // namespace margay::app
