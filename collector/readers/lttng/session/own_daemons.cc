#include <dirent.h>
#include <lttng/lttng.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "ask.h"
#include "margay/lttng_session/daemons.h"
#include "ports.h"
#include "process.h"

namespace margay::lttng {
namespace {

// "DIRECTORY/.lttng/ustconsumerd64/command" has to fit into 107 bytes.
constexpr std::size_t kLongestDirectory = 75;
constexpr int kPortTries = 5;
constexpr const char* kMade[] = {"run", ".lttng", "no-sessions", "sessiond.log", "relayd.log"};
constexpr useconds_t kLookAgainUs = 3000;

bool is_root() {
  return ::getuid() == 0;
}

Status make_folder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST)
    return fail(ErrorCode::kIo, path + ": cannot be made: " + std::strerror(errno));
  return {};
}

bool is_empty(const std::string& path) {
  std::error_code ec;
  return std::filesystem::is_empty(path, ec) && !ec;
}

std::string said(const std::string& log) {
  const std::string line = last_line(log);
  return line.empty() ? "it said nothing" : "it said: " + line;
}

}  // namespace

Result<std::unique_ptr<OwnDaemons>> OwnDaemons::start(OwnDaemonsOptions options) {
  std::unique_ptr<OwnDaemons> out(new OwnDaemons(std::move(options)));
  Status status = out->prepare();
  if (status && !out->options_.running) status = out->start_sessiond();
  if (status) status = out->start_relayd();
  if (!status) return tl::unexpected<Error>(status.error());  // and what came up ends
  return out;
}

OwnDaemons::~OwnDaemons() {
  stop();
}

Status OwnDaemons::prepare() {
  std::string& directory = options_.directory;
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  if (directory.empty() || directory[0] != '/')
    return fail(ErrorCode::kInvalidArgument, "'" + directory + "': LTTng's directory has to be absolute");
  if (directory.size() > kLongestDirectory)
    return fail(ErrorCode::kInvalidArgument, directory + ": too long for LTTng's sockets; at most " +
                                                 std::to_string(kLongestDirectory) + " bytes");
  // Both are looked for before anything is made.
  for (std::string* program : {&options_.sessiond, &options_.relayd}) {
    if (program == &options_.sessiond && options_.running) continue;
    auto found = find_program(*program);
    if (!found) return tl::unexpected<Error>(found.error());
    *program = *found;
  }
  // Programs of other users find root's session daemon in it.
  if (::mkdir(directory.c_str(), is_root() ? 0711 : 0700) == 0) {
    made_directory_ = true;
  } else if (errno != EEXIST) {
    return fail(ErrorCode::kIo, directory + ": cannot be made: " + std::strerror(errno));
  }
  struct stat info {};
  if (::lstat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & 022) != 0)
    return fail(ErrorCode::kInvalidArgument,
                directory + ": has to be a directory that only its user may write");
  if (!is_empty(directory))
    return fail(ErrorCode::kInvalidArgument, directory + ": is not empty; LTTng's directory has to be");
  prepared_ = true;
  const std::string traces = options_.traces.empty() ? at("traces") : options_.traces;
  for (const std::string& folder : {at("no-sessions"), traces})
    if (auto made = make_folder(folder, 0700); !made) return made;
  if (options_.running) {
    daemons_ = *options_.running;
    daemons_.relayd = -1;
  } else {
    daemons_.home = directory;
    // Those of an ordinary user make their own.
    if (is_root()) {
      for (const std::string& folder : {at("run"), at(".lttng")})
        if (auto made = make_folder(folder, 0755); !made) return made;
      if (auto made = make_folder(kSystemPlace, 0755); !made) return made;
      daemons_.own_mounts = true;
    }
  }
  return {};
}

// Sets own_mounts to false where it has to be.
Status OwnDaemons::launch_in_place(const std::string& program, std::vector<std::string> arguments,
                                   const std::string& log, pid_t* pid) {
  Launch what{program, std::move(arguments), options_.directory, log, ""};
  if (is_root() && !options_.running && daemons_.own_mounts) what.place = at("run");
  auto launched = launch(what);
  if (launched && launched->no_mounts) {
    daemons_.own_mounts = false;
    what.place.clear();
    launched = launch(what);
  }
  if (!launched) return tl::unexpected<Error>(launched.error());
  *pid = launched->pid;
  return {};
}

Status OwnDaemons::start_sessiond() {
  const std::string log = at("sessiond.log");
  ::unlink(log.c_str());
  std::vector<std::string> arguments = {"--no-kernel", "--load=" + at("no-sessions")};
  // For an ordinary user it is there anyway.
  if (is_root()) arguments.push_back("--apps-sock=" + at(".lttng/lttng-ust-sock-8"));
  if (auto begun = launch_in_place(options_.sessiond, std::move(arguments), log, &sessiond_); !begun)
    return begun;
  daemons_.sessiond = sessiond_;
  mounts_ = mounts_of(sessiond_);
  return wait_for_sessiond(sessiond_, log);
}

Status OwnDaemons::wait_for_sessiond(pid_t pid, const std::string& log) {
  const SystemClock clock;
  const std::string apps = at(".lttng/lttng-ust-sock-8");
  for (const TimeNs until = clock.monotonic() + options_.patience;;) {
    if (!running(pid)) {
      // Another that answers in its place would be taken for it.
      (void)ended({pid}, DurationNs{});
      return fail(ErrorCode::kUnavailable, options_.sessiond + " ended at once; " + said(log));
    }
    const auto answers = ask_for<int>(daemons_, options_.patience, options_.sessiond,
                                      []() -> Result<int> { return lttng_session_daemon_alive(); });
    if (answers && *answers == 1 && ::access(apps.c_str(), F_OK) == 0 && running(pid)) return {};
    if (clock.monotonic() >= until)
      return fail(ErrorCode::kTimeout,
                  options_.sessiond + " (process " + std::to_string(pid) + ") does not answer; " + said(log));
    ::usleep(kLookAgainUs);
  }
}

Status OwnDaemons::start_relayd() {
  for (int i = 0; i < kPortTries; ++i) {
    const auto up = start_relayd_once();
    if (!up) return tl::unexpected<Error>(up.error());
    if (*up) return {};
  }
  return fail(ErrorCode::kUnavailable, options_.relayd + " ended at once, " + std::to_string(kPortTries) +
                                           " times; " + said(at("relayd.log")));
}

// false: it ended; a port may have been taken meanwhile.
Result<bool> OwnDaemons::start_relayd_once() {
  const auto ports = free_ports();
  if (!ports) return tl::unexpected<Error>(ports.error());
  const std::string log = at("relayd.log");
  ::unlink(log.c_str());
  const auto url = [](std::uint16_t port) { return "tcp://127.0.0.1:" + std::to_string(port); };
  const std::string traces = options_.traces.empty() ? at("traces") : options_.traces;
  auto begun = launch_in_place(options_.relayd,
                               {"--control-port=" + url((*ports)[0]), "--data-port=" + url((*ports)[1]),
                                "--live-port=" + url((*ports)[2]), "--output=" + traces},
                               log, &relayd_);
  if (!begun) return tl::unexpected<Error>(begun.error());
  const SystemClock clock;
  for (const TimeNs until = clock.monotonic() + options_.patience;;) {
    if (!running(relayd_)) {
      (void)ended({relayd_}, DurationNs{});
      relayd_ = -1;
      return false;
    }
    if (std::all_of(ports->begin(), ports->end(), [&](std::uint16_t p) { return listens(relayd_, p); }))
      break;
    if (clock.monotonic() >= until)
      return fail(ErrorCode::kTimeout, options_.relayd + " (process " + std::to_string(relayd_) +
                                           ") does not listen; " + said(log));
    ::usleep(kLookAgainUs);
  }
  daemons_.relayd = relayd_;
  daemons_.relay_host = "127.0.0.1";
  daemons_.control_port = (*ports)[0];
  daemons_.data_port = (*ports)[1];
  daemons_.live_port = (*ports)[2];
  return true;
}

Status OwnDaemons::alive() const {
  for (const auto& [name, pid] :
       {std::pair{"session", daemons_.sessiond}, std::pair{"relay", daemons_.relayd}})
    if (pid > 0 && !running(pid))
      return fail(ErrorCode::kUnavailable,
                  std::string("LTTng's ") + name + " daemon (process " + std::to_string(pid) + ") ended");
  if (consumer_ended()) return fail(ErrorCode::kUnavailable, "LTTng's consumer daemon ended");
  return {};
}

// A consumer daemon that was killed leaves its health socket.
bool OwnDaemons::consumer_ended() const {
  const std::string place = !is_root() ? at(".lttng") : daemons_.own_mounts ? at("run") : kSystemPlace;
  return sessiond_ > 0 && tells_children() &&
         (::access((place + "/ustconsumerd64/health").c_str(), F_OK) == 0 ||
          ::access((place + "/ustconsumerd32/health").c_str(), F_OK) == 0) &&
         children_named(sessiond_, "lttng-consumerd").empty();
}

Status OwnDaemons::mend() {
  if (!prepared_) return fail(ErrorCode::kInvalidArgument, "LTTng's daemons were stopped");
  if (!options_.running && (!running(sessiond_) || consumer_ended())) {
    end_sessiond();
    if (is_root()) daemons_.own_mounts = true;
    if (auto up = start_sessiond(); !up) return up;
  }
  if (!running(relayd_)) {
    end_process(relayd_, options_.grace);
    relayd_ = -1;
    return start_relayd();
  }
  return {};
}

// Its consumer daemons end after it, and remove their sockets by name then: the next one's, if it is there
// already. What they still have goes to the relay daemon.
void OwnDaemons::end_sessiond() {
  if (sessiond_ <= 0) return;
  const std::string place = is_root() ? kSystemPlace : at(".lttng");
  const std::vector<pid_t> consumers = consumers_in(mounts_, place);
  end_process(sessiond_, options_.grace);
  if (!ended(consumers, options_.grace))
    for (const pid_t pid : consumers) end_process(pid, DurationNs{});
  sessiond_ = -1;
}

void OwnDaemons::stop() {
  end_sessiond();
  end_process(relayd_, options_.grace);
  relayd_ = daemons_.sessiond = daemons_.relayd = -1;
  if (prepared_) {
    std::error_code ec;
    for (const char* name : kMade) std::filesystem::remove_all(at(name), ec);
    if (options_.traces.empty()) std::filesystem::remove_all(at("traces"), ec);
  }
  prepared_ = false;
  if (made_directory_) ::rmdir(options_.directory.c_str());
  made_directory_ = false;
}

}  // namespace margay::lttng
