#include "local_peer.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <string_view>

#include "gate_socket.h"
#include "margay/transport/local_user.h"
#include "trusted_path.h"

namespace margay::transport {
namespace {

constexpr std::string_view kIpc = "ipc://";

Status refuse(const std::string& path, const std::string& what, uid_t who) {
  const std::string user = user_text(who);
  return fail(ErrorCode::kInvalidArgument,
              path + ": refused: " + what + " user " + user + ", not " + user_text(trusted_user()) +
                  "; if that user is to be believed, add --trust-user " + user.substr(0, user.find(' ')));
}

}  // namespace

Status check_local_daemon(const std::string& endpoint) {
  if (!endpoint.starts_with(kIpc)) return {};
  const std::string path = endpoint.substr(kIpc.size());
  if (path.empty() || path[0] == '@')
    return fail(ErrorCode::kInvalidArgument, endpoint + ": expected ipc:// and the path of a socket");
  const std::size_t slash = path.rfind('/');
  const std::string above =
      slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  const Descriptor directory(open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat st {};
  if (!directory || fstat(directory.get(), &st) != 0) return {};  // nobody is there; that is told elsewhere
  if (st.st_uid != trusted_user()) return refuse(above, "the directory belongs to", st.st_uid);
  if ((st.st_mode & 022) != 0)
    return fail(ErrorCode::kInvalidArgument, above + ": others can write it; type: chmod go-w " + above);
  const auto peer = connect_unix(path);
  if (!peer) return {};
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(peer->get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid != trusted_user())
    return refuse(path, "what answers there runs as", who.uid);
  return {};
}

}  // namespace margay::transport
