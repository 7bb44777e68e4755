// What `margay keys` does to a directory of keys.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "key_text.h"
#include "trusted_path.h"

namespace margay::transport {
namespace {

Result<KeyPair> make_pair() {
  char public_key[41] = "", secret_key[41] = "";
  if (zmq_curve_keypair(public_key, secret_key) != 0)
    return fail(ErrorCode::kInternal, "this libzmq was built without CURVE");
  return KeyPair{public_key, secret_key};
}

tl::unexpected<Error> io_error(const std::string& path) {
  return fail(ErrorCode::kIo, path + ": " + std::strerror(errno));
}

// Whole or not at all. `fresh`: never over a file that is there.
Status write_file(const std::string& path, const std::string& text, mode_t mode, bool fresh) {
  const std::string part = path + ".part";
  unlink(part.c_str());
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return io_error(part);
  const bool written = fchmod(fd, mode) == 0 &&
                       write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       fsync(fd) == 0;
  const bool closed = close(fd) == 0;
  const bool placed =
      written && closed &&
      (fresh ? link(part.c_str(), path.c_str()) == 0 : rename(part.c_str(), path.c_str()) == 0);
  const int why = errno;
  unlink(part.c_str());
  errno = why;
  if (placed) return {};
  if (fresh && errno == EEXIST) return fail(ErrorCode::kInvalidArgument, path + ": is there already");
  return io_error(path);
}

Status make_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return io_error(path);
  return {};
}

std::string server_text(const KeyPair& pair) {
  return "margay-server-key 1\n# The daemon's secret: never leaves this machine.\npublic " + pair.public_key +
         "\nsecret " + pair.secret_key + "\n";
}
std::string client_text(const ClientKey& key) {
  std::string text = "margay-client-key 1\n# Secret: for the client alone, mode 0600.\nname " + key.name +
                     "\nrole " + std::string(to_string(key.role)) + "\npublic " + key.pair.public_key +
                     "\nsecret " + key.pair.secret_key + "\n";
  for (const std::string& s : key.servers) text += "server " + s + "\n";
  return text;
}
std::string authorized_text(const Authorized& a) {
  std::string text = "margay-authorized 1\nname " + a.name + "\nrole " + std::string(to_string(a.role)) +
                     "\ncreated " + a.created + "\n";
  for (const std::string& k : a.keys) text += "public " + k + "\n";
  return text;
}

std::string place_of(const std::string& dir, const std::string& name) {
  return dir + "/authorized/" + name;
}
Result<Authorized> find_client(const std::string& dir, const std::string& name) {
  if (!is_client_name(name))
    return fail(ErrorCode::kInvalidArgument,
                "'" + name + "': a name is 1 to 64 letters, digits, '.', '-', '_'");
  const auto text = read_key_file(place_of(dir, name), false);
  if (!text && text.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound, dir + ": no client '" + name + "'; type: margay keys ls " + dir);
  if (!text) return tl::unexpected(text.error());
  return parse_authorized_untrusted(*text, place_of(dir, name));
}

Result<KeyPair> load_next(const std::string& dir) {
  const std::string path = dir + "/server.next.key";
  const auto text = read_key_file(path, true);
  if (!text) return tl::unexpected(text.error());
  return parse_server_key_untrusted(*text, path);
}

// The daemon's key, and the next one while it is being changed.
Result<std::vector<std::string>> server_keys(const std::string& dir) {
  const auto now = load_server_key(dir);
  if (!now) return tl::unexpected(now.error());
  std::vector<std::string> keys = {now->public_key};
  const auto next = load_next(dir);
  if (next) keys.push_back(next->public_key);
  if (!next && next.error().code != ErrorCode::kNotFound) return tl::unexpected(next.error());
  return keys;
}

// The bundle first: a client must not be authorised by a key that nobody holds.
Status issue(const std::string& dir, Authorized who, const std::string& file, bool fresh) {
  auto pair = make_pair();
  if (!pair) return tl::unexpected(pair.error());
  auto servers = server_keys(dir);
  if (!servers) return tl::unexpected(servers.error());
  who.keys.push_back(pair->public_key);
  if (auto ok = write_file(file, client_text({who.name, who.role, *pair, *servers}), 0600, true); !ok)
    return ok;
  if (auto ok = write_file(place_of(dir, who.name), authorized_text(who), 0600, fresh); !ok) {
    unlink(file.c_str());
    return ok;
  }
  return {};
}

}  // namespace

Status init_keys(const std::string& dir) {
  for (const std::string& path : {dir, dir + "/authorized"})
    if (auto ok = make_directory(path); !ok) return ok;
  // A place where the daemon would not read them is no place for secrets.
  if (auto fd = open_trusted(dir + "/authorized", O_RDONLY | O_DIRECTORY, geteuid()); !fd)
    return tl::unexpected(fd.error());
  auto pair = make_pair();
  if (!pair) return tl::unexpected(pair.error());
  if (auto ok = write_file(dir + "/server.key", server_text(*pair), 0600, true); !ok) return ok;
  return write_file(dir + "/server.pub", pair->public_key + "\n", 0644, false);
}

Status add_client(const std::string& dir, const std::string& name, Role role, const std::string& file,
                  const std::string& created) {
  const auto there = find_client(dir, name);
  if (there || there.error().code != ErrorCode::kNotFound) {
    if (!there) return tl::unexpected(there.error());
    return fail(ErrorCode::kInvalidArgument, dir + ": there is a client '" + name +
                                                 "' already; a new key for it: margay keys rotate " + dir +
                                                 " " + name);
  }
  return issue(dir, {name, role, created, {}}, file, true);
}

Status revoke_client(const std::string& dir, const std::string& name) {
  const auto there = find_client(dir, name);
  // A file that cannot be read is removed as well: its client stays outside for sure.
  if (!there && there.error().code == ErrorCode::kNotFound) return tl::unexpected(there.error());
  if (!is_client_name(name)) return tl::unexpected(there.error());
  if (unlink(place_of(dir, name).c_str()) != 0) return io_error(place_of(dir, name));
  return {};
}

Status rotate_client(const std::string& dir, const std::string& name, const std::string& file) {
  auto who = find_client(dir, name);
  if (!who) return tl::unexpected(who.error());
  if (who->keys.size() >= kMostKeysOfClient)
    return fail(ErrorCode::kInvalidArgument,
                "'" + name +
                    "' has two keys already; when the client uses the newer one, type: margay keys "
                    "retire " +
                    dir + " " + name);
  return issue(dir, std::move(*who), file, false);
}

Status retire_client(const std::string& dir, const std::string& name) {
  auto who = find_client(dir, name);
  if (!who) return tl::unexpected(who.error());
  if (who->keys.size() < 2)
    return fail(ErrorCode::kInvalidArgument,
                "'" + name + "' has one key only; to shut it out: margay keys revoke");
  who->keys.erase(who->keys.begin(), who->keys.end() - 1);
  return write_file(place_of(dir, name), authorized_text(*who), 0600, false);
}

Result<std::string> begin_server_rotation(const std::string& dir) {
  if (auto now = load_server_key(dir); !now) return tl::unexpected(now.error());
  auto next = load_next(dir);
  if (next) return next->public_key;  // begun before
  if (next.error().code != ErrorCode::kNotFound) return tl::unexpected(next.error());
  auto pair = make_pair();
  if (!pair) return tl::unexpected(pair.error());
  if (auto ok = write_file(dir + "/server.next.key", server_text(*pair), 0600, true); !ok)
    return tl::unexpected(ok.error());
  return pair->public_key;
}

Status finish_server_rotation(const std::string& dir) {
  auto next = load_next(dir);
  if (!next && next.error().code == ErrorCode::kNotFound)
    return fail(
        ErrorCode::kNotFound,
        dir + ": no change of the daemon's key has begun; type: margay keys rotate " + dir + " --begin");
  if (!next) return tl::unexpected(next.error());
  if (rename((dir + "/server.next.key").c_str(), (dir + "/server.key").c_str()) != 0)
    return io_error(dir + "/server.key");
  return write_file(dir + "/server.pub", next->public_key + "\n", 0644, false);
}

Status trust_server(const std::string& file, const std::string& public_key) {
  auto key = load_client_key(file);
  if (!key) return tl::unexpected(key.error());
  if (!is_key(public_key)) return fail(ErrorCode::kInvalidArgument, "'" + public_key + "' is no key");
  for (const std::string& s : key->servers)
    if (s == public_key) return {};
  if (key->servers.size() == kMostServerKeys) key->servers.erase(key->servers.begin());
  key->servers.push_back(public_key);
  return write_file(file, client_text(*key), 0600, false);
}

}  // namespace margay::transport
