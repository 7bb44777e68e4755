#include "trusted_path.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <vector>

namespace margay::transport {
namespace {

constexpr int kMostLinks = 40;  // as the kernel

tl::unexpected<Error> io_error(const std::string& path, int error) {
  return fail(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, path + ": " + std::strerror(error));
}

// In a user namespace everybody whom it does not know has one number, root outside of it among them: who owns
// / there cannot be told.
uid_t unknown_owner() {
  static const uid_t unknown = [] {
    std::ifstream map("/proc/self/uid_map"), number("/proc/sys/kernel/overflowuid");
    unsigned long inside = 0, outside = 0, count = 0, uid = 65534;
    if (!(map >> inside >> outside >> count) || count >= 0xffffffffUL) return static_cast<uid_t>(-1);
    number >> uid;
    return static_cast<uid_t>(uid);
  }();
  return unknown;
}
bool trusts(uid_t who, uid_t owner) {
  return who == owner || who == 0 || who == unknown_owner();
}

tl::unexpected<Error> foreign(const std::string& path, const struct stat& st) {
  return fail(ErrorCode::kInvalidArgument,
              path + ": belongs to user " + user_text(st.st_uid) +
                  ", who could put anything there; use a place that only you or root own");
}
tl::unexpected<Error> writable(const std::string& path) {
  return fail(ErrorCode::kInvalidArgument, path + ": others can write it; type: chmod go-w " + path);
}

Status check_on_the_way(const struct stat& st, const std::string& path, uid_t owner) {
  if (!trusts(st.st_uid, owner)) return foreign(path, st);
  if (S_ISLNK(st.st_mode)) return {};  // its mode says nothing; the directory that holds it was looked at
  if ((st.st_mode & 022) != 0 && (st.st_mode & S_ISVTX) == 0) return writable(path);
  return {};
}

void prepend(std::deque<std::string>& names, const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at && path.compare(at, end - at, ".") != 0) parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  names.insert(names.begin(), parts.begin(), parts.end());
}

}  // namespace

std::string user_text(uid_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  char text[4096];
  const bool known = getpwuid_r(uid, &entry, text, sizeof text, &found) == 0 && found != nullptr;
  return known ? std::string(entry.pw_name) + " (" + std::to_string(uid) + ")" : std::to_string(uid);
}

Result<Descriptor> open_trusted(const std::string& given, int flags, uid_t owner) {
  std::string path = given;
  if (path.empty()) return fail(ErrorCode::kInvalidArgument, "a path is missing");
  if (path[0] != '/') {
    char* const here = getcwd(nullptr, 0);
    if (here == nullptr) return io_error(given, errno);
    path = std::string(here) + "/" + path;
    std::free(here);
  }
  std::deque<std::string> names;
  prepend(names, path);
  std::vector<Descriptor> way;     // from / down
  std::vector<std::string> named;  // for errors
  const auto at = [&] {
    std::string text;
    for (const std::string& n : named) text += "/" + n;
    return text.empty() ? std::string("/") : text;
  };
  way.emplace_back(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!way.back()) return io_error("/", errno);
  struct stat st {};
  if (fstat(way.back().get(), &st) != 0) return io_error("/", errno);
  if (auto ok = check_on_the_way(st, "/", owner); !ok) return tl::unexpected(ok.error());
  int links = 0;
  while (!names.empty()) {
    const std::string name = std::move(names.front());
    names.pop_front();
    if (name == "..") {
      if (way.size() > 1) way.pop_back(), named.pop_back();
      continue;
    }
    Descriptor next(openat(way.back().get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const int error = errno;
    named.push_back(name);
    if (!next && names.empty()) return io_error(at(), error);
    if (!next) {  // above what was asked for
      const Error above = io_error(at(), error).value();
      return fail(above.code, given + ": " + above.message);
    }
    if (fstat(next.get(), &st) != 0) return io_error(at(), errno);
    if (S_ISLNK(st.st_mode)) {
      if (auto ok = check_on_the_way(st, at(), owner); !ok) return tl::unexpected(ok.error());
      char target[PATH_MAX];
      const ssize_t n = readlinkat(next.get(), "", target, sizeof target);
      if (n <= 0 || n == static_cast<ssize_t>(sizeof target) || ++links > kMostLinks)
        return io_error(at(), n <= 0 ? errno : ELOOP);
      named.pop_back();
      if (target[0] == '/') way.resize(1), named.clear();
      prepend(names, std::string(target, static_cast<std::size_t>(n)));
      continue;
    }
    if (!names.empty() && !S_ISDIR(st.st_mode)) return io_error(at(), ENOTDIR);
    if (S_ISDIR(st.st_mode)) {
      if (auto ok = check_on_the_way(st, at(), owner); !ok) return tl::unexpected(ok.error());
    } else {
      if (!trusts(st.st_uid, owner)) return foreign(at(), st);
      if ((st.st_mode & 022) != 0) return writable(at());
    }
    way.push_back(std::move(next));
  }
  // The same file, for reading: through the directory that was checked. Its name cannot lead elsewhere, for
  // nobody else may write there; a sticky directory's is the owner's own.
  if (way.size() == 1) {
    Descriptor root(open("/", flags | O_CLOEXEC));
    if (!root) return io_error("/", errno);
    return root;
  }
  Descriptor out(openat(way[way.size() - 2].get(), named.back().c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (!out) return io_error(at(), errno);
  struct stat opened {};
  if (fstat(way.back().get(), &st) != 0 || fstat(out.get(), &opened) != 0 || st.st_ino != opened.st_ino ||
      st.st_dev != opened.st_dev)
    return fail(ErrorCode::kIo, at() + ": was replaced while it was opened; try again");
  return out;
}

Result<Descriptor> open_private_directory_at(int above, const std::string& name, uid_t owner,
                                             const std::string& path) {
  Descriptor fd(openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const int error = errno;
  struct stat st {};
  if (!fd) {
    // What may not be opened is told by its owner.
    if (fstatat(above, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != owner)
      return fail(ErrorCode::kInvalidArgument, path + ": belongs to user " + user_text(st.st_uid));
    if (error == ELOOP || error == ENOTDIR)
      return fail(ErrorCode::kInvalidArgument, path + ": is not a directory");
    return io_error(path, error);
  }
  if (fstat(fd.get(), &st) != 0) return io_error(path, errno);
  if (st.st_uid != owner)
    return fail(ErrorCode::kInvalidArgument, path + ": belongs to user " + user_text(st.st_uid));
  if ((st.st_mode & 077) != 0)
    return fail(ErrorCode::kInvalidArgument,
                path + ": others can enter it; remove it if you do not know why, or type: chmod 700 " + path);
  return fd;
}

Result<Descriptor> open_private_directory(const std::string& path, uid_t owner) {
  return open_private_directory_at(AT_FDCWD, path, owner, path);
}

}  // namespace margay::transport
