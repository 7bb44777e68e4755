// Text of the key files: parsing, checks, reading.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>

#include "key_text.h"
#include "margay/base/pair_table.h"
#include "trusted_path.h"

namespace margay::transport {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::pair<Role, std::string_view> kRoles[] = {
    {Role::kSource, "source"}, {Role::kViewer, "viewer"}, {Role::kOperator, "operator"}};

bool is_name(std::string_view s) {
  if (s.empty() || s.size() > kLongestName || s[0] == '.' || s[0] == '-') return false;
  return std::all_of(s.begin(), s.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '.' || c == '-' || c == '_';
  });
}

struct Line {
  int number;
  std::string field, value;
};
struct Text {
  std::vector<Line> lines;
  std::string file;
  tl::unexpected<Error> wrong(const Line& line, const std::string& what) const {
    return fail(ErrorCode::kInvalidArgument, file + ":" + std::to_string(line.number) + ": " + what);
  }
};

// The lines below the first one, each of them once or `lists` (a field that may repeat).
Result<Text> lines_of(std::string_view text, const std::string& file, const std::string& kind,
                      std::initializer_list<std::string_view> fields, std::string_view lists) {
  if (text.size() > kLargestKeyFile) return fail(ErrorCode::kLimit, file + ": is too long for a key file");
  Text out;
  out.file = file;
  bool head = false;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.find(' ');
    Line l{number, std::string(line.substr(0, space)),
           space == std::string_view::npos ? "" : std::string(line.substr(space + 1))};
    if (!head) {
      if (l.field != kind) return out.wrong(l, "expected '" + kind + " 1'");
      if (l.value != "1")
        return fail(ErrorCode::kVersion, file + ":" + std::to_string(number) + ": of another version");
      head = true;
      continue;
    }
    if (std::find(fields.begin(), fields.end(), l.field) == fields.end())
      return out.wrong(l, "unknown field '" + l.field.substr(0, 32) + "'");
    if (l.field != lists)
      for (const Line& other : out.lines)
        if (other.field == l.field) return out.wrong(l, "'" + l.field + "' stands here twice");
    out.lines.push_back(std::move(l));
  }
  if (!head) return fail(ErrorCode::kInvalidArgument, file + ":1: expected '" + kind + " 1'");
  for (const std::string_view field : fields)
    if (std::none_of(out.lines.begin(), out.lines.end(), [&](const Line& l) { return l.field == field; }))
      return fail(ErrorCode::kInvalidArgument,
                  file + ":" + std::to_string(number) + ": ends without '" + std::string(field) + "'");
  return out;
}

// The lines of either file of a client; take(line) those that are neither its name nor its role.
template <class Client, class Take>
Status take_lines(const Text& lines, Client& client, Take take) {
  for (const Line& l : lines.lines) {
    if (l.field == "name") {
      if (!is_name(l.value)) return lines.wrong(l, "a name is 1 to 64 letters, digits, '.', '-', '_'");
      client.name = l.value;
    } else if (l.field == "role") {
      const auto role = first_of(kRoles, l.value);
      if (!role) return lines.wrong(l, "a role is source, viewer or operator");
      client.role = *role;
    } else if (Status ok = take(l); !ok) {
      return ok;
    }
  }
  return {};
}

// The public half belongs to the secret one.
bool is_pair(const KeyPair& pair) {
  char public_key[41] = "";
  return zmq_curve_public(public_key, pair.secret_key.c_str()) == 0 && pair.public_key == public_key;
}

}  // namespace

std::string_view to_string(Role role) {
  return second_of(kRoles, role, "?");
}

std::optional<Role> role_of(std::string_view name) {
  return first_of(kRoles, name);
}

bool is_key(std::string_view text) {
  std::uint8_t raw[32];
  return text.size() == 40 && text.find('\0') == std::string_view::npos &&
         zmq_z85_decode(raw, std::string(text).c_str()) != nullptr;
}

std::string fingerprint(const std::string& public_key) {
  std::uint8_t raw[32];
  if (!is_key(public_key) || zmq_z85_decode(raw, public_key.c_str()) == nullptr) return "?";
  std::string out;
  for (std::size_t i = 0; i < 10; ++i) {
    constexpr char kHex[] = "0123456789abcdef";
    if (i > 0 && i % 2 == 0) out += '-';
    out += kHex[raw[i] >> 4];
    out += kHex[raw[i] & 15];
  }
  return out;
}

Result<KeyPair> parse_server_key_untrusted(std::string_view text, const std::string& file) {
  const auto lines = lines_of(text, file, "margay-server-key", {"public", "secret"}, "");
  if (!lines) return tl::unexpected(lines.error());
  KeyPair pair;
  for (const Line& l : lines->lines) {
    if (!is_key(l.value)) return lines->wrong(l, "this is no key (40 characters of Z85)");
    (l.field == "public" ? pair.public_key : pair.secret_key) = l.value;
  }
  if (!is_pair(pair)) return lines->wrong(lines->lines.back(), "the two keys are no pair");
  return pair;
}

Result<ClientKey> parse_client_key_untrusted(std::string_view text, const std::string& file) {
  const auto lines =
      lines_of(text, file, "margay-client-key", {"name", "role", "public", "secret", "server"}, "server");
  if (!lines) return tl::unexpected(lines.error());
  ClientKey key;
  const Status taken = take_lines(*lines, key, [&](const Line& l) -> Status {
    if (!is_key(l.value)) return lines->wrong(l, "this is no key (40 characters of Z85)");
    if (l.field == "server") {
      if (key.servers.size() == kMostServerKeys) return lines->wrong(l, "more than 4 keys of the daemon");
      key.servers.push_back(l.value);
    } else {
      (l.field == "public" ? key.pair.public_key : key.pair.secret_key) = l.value;
    }
    return {};
  });
  if (!taken) return tl::unexpected(taken.error());
  if (!is_pair(key.pair)) return lines->wrong(lines->lines.back(), "the two keys above are no pair");
  return key;
}

Result<Authorized> parse_authorized_untrusted(std::string_view text, const std::string& file) {
  const auto lines =
      lines_of(text, file, "margay-authorized", {"name", "role", "created", "public"}, "public");
  if (!lines) return tl::unexpected(lines.error());
  Authorized a;
  const Status taken = take_lines(*lines, a, [&](const Line& l) -> Status {
    if (l.field == "created") {
      if (l.value.size() > 32) return lines->wrong(l, "this is no time");
      a.created = l.value;
      return {};
    }
    if (!is_key(l.value)) return lines->wrong(l, "this is no key (40 characters of Z85)");
    if (a.keys.size() == kMostKeysOfClient) return lines->wrong(l, "more than 2 keys of one client");
    a.keys.push_back(l.value);
    return {};
  });
  if (!taken) return tl::unexpected(taken.error());
  return a;
}

Result<std::string> read_key_file(const std::string& path, bool secret) {
  const auto fd = open_trusted(path, O_RDONLY | O_NONBLOCK, geteuid());
  if (!fd) return tl::unexpected(fd.error());
  struct stat st {};
  std::string text(kLargestKeyFile + 1, '\0');
  const bool known = fstat(fd->get(), &st) == 0;
  const ssize_t n = known && S_ISREG(st.st_mode) ? read(fd->get(), text.data(), text.size()) : -1;
  if (!known || n < 0) return fail(ErrorCode::kIo, path + ": cannot be read");
  if (secret && (st.st_mode & 077) != 0)
    return fail(ErrorCode::kInvalidArgument,
                path + ": holds a secret that others can read; type: chmod 600 " + path);
  text.resize(static_cast<std::size_t>(n));
  return text;
}

namespace {

// Those in an open directory, which is closed.
std::vector<std::string> client_names(int directory) {
  std::vector<std::string> names;
  DIR* const handle = fdopendir(directory);
  if (handle == nullptr) {
    close(directory);
    return names;
  }
  while (const dirent* entry = readdir(handle))
    if (is_name(entry->d_name) && names.size() <= kMostClients) names.emplace_back(entry->d_name);
  closedir(handle);
  return names;
}

}  // namespace

Result<KeyPair> load_server_key(const std::string& dir) {
  const std::string path = dir + "/server.key";
  const auto text = read_key_file(path, true);
  if (!text && text.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound, path + ": is missing; type: margay keys init " + dir);
  if (!text) return tl::unexpected(text.error());
  return parse_server_key_untrusted(*text, path);
}

Result<ClientKey> load_client_key(const std::string& file) {
  const auto text = read_key_file(file, true);
  if (!text) return tl::unexpected(text.error());
  return parse_client_key_untrusted(*text, file);
}

Result<std::vector<Authorized>> load_authorized(const std::string& dir, std::vector<std::string>& problems) {
  const std::string path = dir + "/authorized";
  auto fd = open_trusted(path, O_RDONLY | O_DIRECTORY, geteuid());
  if (!fd) return tl::unexpected(fd.error());
  std::vector<std::string> names = client_names(fd->release());
  std::sort(names.begin(), names.end());
  if (names.size() > kMostClients) {
    problems.push_back(path + ": more than " + std::to_string(kMostClients) +
                       " clients; the rest stay outside");
    names.resize(kMostClients);
  }
  std::vector<Authorized> out;
  for (const std::string& name : names) {
    const std::string file = path + "/" + name;
    const auto text = read_key_file(file, false);
    if (!text) {
      problems.push_back(text.error().message);
      continue;
    }
    auto a = parse_authorized_untrusted(*text, file);
    if (a && a->name != name)
      problems.push_back(file + ": speaks of '" + a->name + "'");
    else if (a)
      out.push_back(std::move(*a));
    else
      problems.push_back(a.error().message);
  }
  return out;
}

std::string signature_of(const std::string& dir) {
  std::string out;
  const auto add = [&](const std::string& path, bool contents) {
    struct stat st {};
    if (stat(path.c_str(), &st) != 0) return;
    out += path + ' ' + std::to_string(st.st_ino) + ' ' + std::to_string(st.st_uid) + ' ' +
           std::to_string(st.st_mode);
    if (contents)
      out += ' ' + std::to_string(st.st_size) + ' ' + std::to_string(st.st_mtim.tv_sec) + '.' +
             std::to_string(st.st_mtim.tv_nsec);
    out += '\n';
  };
  // What lies above decides as well, whether it can be trusted; what else is in it does not.
  for (std::string above = dir; !above.empty();) {
    add(above, false);
    const std::size_t slash = above.rfind('/');
    if (slash == std::string::npos || above == "/") break;
    above.resize(std::max<std::size_t>(slash, 1));
  }
  add(dir + "/server.key", true);
  add(dir + "/authorized", true);
  const int fd = open((dir + "/authorized").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::vector<std::string> names;
  if (fd >= 0) names = client_names(fd);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) add(dir + "/authorized/" + name, true);
  return out;
}

bool is_client_name(std::string_view name) {
  return is_name(name);
}

}  // namespace margay::transport
