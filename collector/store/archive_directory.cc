#include "archive_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <vector>

#include "margay/store/archive.h"
#include "private_files.h"

namespace margay::store {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMarkerName = "MARGAY";
constexpr const char* kUnnamed = ".new";  // behind the marker's name while it is written
constexpr const char* kDatabaseName = "db";
constexpr const char* kMarkerText = "Margay archive, format ";

std::string marker(const std::string& path) {
  return path + "/" + kMarkerName;
}

// Archives that this process has open for writing. POSIX drops a process's locks on a file as soon as it
// closes any descriptor of it, so an archive of our own must be recognised before its LOCK file is touched.
std::mutex g_written_mutex;
std::set<std::string>& written() {
  static std::set<std::string> paths;
  return paths;
}
bool written_here(const std::string& canonical) {
  const std::lock_guard lock(g_written_mutex);
  return written().contains(canonical);
}

std::string canonical(const std::string& path) {
  std::error_code ec;
  const fs::path p = fs::weakly_canonical(path, ec);
  return ec ? path : p.string();
}

tl::unexpected<Error> locked(const std::string& path, const std::string& by) {
  return fail(ErrorCode::kUnavailable,
              path + ": is being written by " + by + "; ask its daemon, or stop it first");
}

// The process that holds RocksDB's lock; 0 when none does. Not for archives that this process writes.
pid_t lock_holder(const std::string& path) {
  const int fd = ::open((database_of(path) + "/LOCK").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool held = ::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(fd);
  return held ? lock.l_pid : 0;
}

// The first entry of the directory that is none of those which create() makes before the archive holds a run;
// "": there is none. The database comes after its marker: without one it is not ours.
Result<std::string> first_foreign(const std::string& path) {
  std::error_code ec;
  const bool marked = fs::exists(marker(path), ec);
  for (fs::directory_iterator it(path, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string name = it->path().filename().string();
    const bool ours = name == kMarkerName || name == std::string(kMarkerName) + kUnnamed ||
                      (marked && name == kDatabaseName);
    if (!ours) return name;
  }
  if (ec) return fail(ErrorCode::kIo, path + ": " + ec.message());
  return std::string();
}

}  // namespace

std::string database_of(const std::string& path) {
  return path + "/" + kDatabaseName;
}

tl::unexpected<Error> system_error(const std::string& path, int error) {
  return fail(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, path + ": " + std::strerror(error));
}

tl::unexpected<Error> cut_short(const std::string& path, const char* lacks) {
  return fail(ErrorCode::kNotFound, path + ": " + lacks + "; its creation was cut short");
}

bool has_marker(const std::string& path) {
  std::error_code ec;
  return fs::exists(marker(path), ec);
}

Status write_marker(const std::string& path) {
  const std::string text = kMarkerText + std::to_string(Archive::kFormat) + "\n";
  const std::string name = marker(path) + kUnnamed;
  const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return system_error(name, errno);
  const bool good =
      ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  if (!good) return system_error(name, error);
  if (::rename(name.c_str(), marker(path).c_str()) != 0) return system_error(name, errno);
  // The entries in the directories too, or a loss of power could take away what `sync` promised.
  for (const fs::path& dir : {fs::path(path), fs::absolute(path).parent_path()}) sync_directory(dir);
  return {};
}

Result<std::uint32_t> check_marker(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    if (errno == ENOENT) return fail(ErrorCode::kNotFound, path + ": no such archive");
    return system_error(path, errno);
  }
  if (!S_ISDIR(st.st_mode))
    return fail(ErrorCode::kInvalidArgument,
                path + ": is a file, not an archive (an archive is a directory)");
  const int fd = ::open(marker(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno != ENOENT) return system_error(marker(path), errno);
    std::error_code ec;
    if (fs::is_empty(path, ec)) return fail(ErrorCode::kNotFound, path + ": no such archive, it is empty");
    const auto foreign = first_foreign(path);
    if (foreign && foreign->empty()) return cut_short(path, "has no marker");
    return fail(ErrorCode::kInvalidArgument,
                path + ": is not a Margay archive (it has no file '" + kMarkerName + "')");
  }
  char text[64];
  const ssize_t n = ::read(fd, text, sizeof(text));
  ::close(fd);
  if (n < 0) return system_error(marker(path), errno);
  const std::string_view head(kMarkerText);
  const std::string_view got(text, static_cast<std::size_t>(n));
  std::uint32_t format = 0;
  if (got.substr(0, head.size()) != head ||
      std::from_chars(got.data() + head.size(), got.data() + got.size(), format).ec != std::errc() ||
      format == 0)
    return fail(ErrorCode::kInvalidArgument,
                path + ": is not a Margay archive (its file '" + kMarkerName + "' does not tell a format)");
  if (format > Archive::kFormat)
    return fail(ErrorCode::kVersion, path + ": was written by a newer Margay: format " +
                                         std::to_string(format) + ", this one reads up to " +
                                         std::to_string(Archive::kFormat));
  return format;
}

Status make_directory(const std::string& path) {
  std::error_code ec;
  std::vector<fs::path> made;  // the innermost first
  for (fs::path p = fs::absolute(path).lexically_normal(); p.has_relative_path() && !fs::exists(p, ec);
       p = p.parent_path())
    made.push_back(p);
  if (Status s = make_private_directory(path); !s) return s;
  for (const fs::path& p : made) sync_directory(p.parent_path());
  const auto foreign = first_foreign(path);
  if (!foreign) return tl::unexpected(foreign.error());
  if (!foreign->empty())
    return fail(ErrorCode::kInvalidArgument,
                path + ": is not empty (" + *foreign + "); an archive wants a directory of its own");
  return write_marker(path);
}

void sync_directory(const std::string& path) {
  const int d = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (d < 0) return;  // may be entered but not read: nothing to be done
  ::fsync(d);
  ::close(d);
}

Result<std::string> register_writer(const std::string& path) {
  std::string name = canonical(path);
  const std::lock_guard lock(g_written_mutex);
  if (!written().insert(name).second) return locked(path, "this process");
  return name;
}

void forget_writer(const std::string& registered) {
  const std::lock_guard lock(g_written_mutex);
  written().erase(registered);
}

Status refuse_written(const std::string& path) {
  if (written_here(canonical(path))) return locked(path, "this process");
  return refuse_locked(path);
}

Status refuse_locked(const std::string& path) {
  if (const pid_t pid = lock_holder(path); pid != 0) return locked(path, "process " + std::to_string(pid));
  return {};
}

}  // namespace margay::store
