#include "ask_daemon.h"

#include <cstdio>
#include <filesystem>

#include "margay/text/text.h"
#include "margay/transport/client_connection.h"
#include "margay/transport/transport.h"
#include "margay/wire/report_version.h"

namespace margay::daemon {

namespace {

// The archive in the working directory that was written last; "" if there is none.
std::string newest_archive() {
  namespace fs = std::filesystem;
  std::error_code ec;
  std::string newest;
  fs::file_time_type written{};
  for (fs::directory_iterator it(".", ec), end; !ec && it != end; it.increment(ec)) {
    std::error_code none;
    if (!fs::is_regular_file(it->path() / "MARGAY", none)) continue;
    const auto at = fs::last_write_time(it->path(), none);
    if (!none && (newest.empty() || at > written)) {
      newest = it->path().filename();
      written = at;
    }
  }
  return newest;
}

}  // namespace

Result<transport::RunDirectory> choose_run(const std::string& name) {
  if (!name.empty()) return transport::open_run_directory(name);
  const auto runs = transport::list_runs();
  if (!runs.empty()) return transport::open_run_directory(runs.front());
  const std::string archive = newest_archive();
  return fail(ErrorCode::kNotFound,
              archive.empty() ? "no run is live; start one: margay run -- mpirun -np 4 ./your-program"
                              : "no run is live; the newest archive here: margay archive info " + archive);
}

int say_error(const Error& error) {
  std::fprintf(stderr, "margay: %s\n", text::printable(error.message, true, 2000).c_str());
  return error.code == ErrorCode::kNotFound ? 3 : 1;
}

Result<wire::ControlReply> ask(const Where& where, const wire::ControlRequest& request, DurationNs patience) {
  std::string endpoint = where.endpoint;
  if (endpoint.empty()) {
    auto directory = choose_run(where.run);
    if (!directory) return tl::unexpected(directory.error());
    endpoint = directory->control_endpoint();
  }
  zmq::context_t context(1);
  const SystemClock clock;
  transport::ClientConnection connection(context, clock, zmq::socket_type::dealer, endpoint, where.key);
  if (auto ok = connection.open(); !ok) return tl::unexpected(ok.error());
  const TimeNs end = clock.monotonic() + patience;
  // Both questions may be asked again: a connection that is cut (keys change) takes the question with it.
  TimeNs next_ask{};
  while (clock.monotonic() < end) {
    connection.look();
    if (!connection.refused().empty()) return fail(ErrorCode::kUnavailable, connection.refused());
    const TimeNs now = clock.monotonic();
    if (now >= next_ask && connection.socket().try_send(request)) next_ask = now + seconds(1);
    transport::Socket* const sockets[] = {&connection.socket()};
    if (!transport::wait_readable(sockets, std::chrono::milliseconds(20))) continue;
    const auto frame = connection.socket().try_receive();
    wire::ControlReply reply;
    if (!frame || !reply.ParseFromString(frame->body)) continue;
    if (!reply.error().empty()) return fail(ErrorCode::kUnavailable, reply.error());
    if (const std::string why = wire::why_unread(reply.report().version());
        reply.has_report() && !why.empty())
      return fail(ErrorCode::kVersion, why);
    return reply;
  }
  return fail(ErrorCode::kUnavailable, endpoint + ": the daemon of this run did not answer within " +
                                           std::to_string(patience.value / 1'000'000'000) + " s");
}

}  // namespace margay::daemon
