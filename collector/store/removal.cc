// Taking an archive away: nothing but what the store has made, and never so that a half looks whole.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "archive_directory.h"
#include "margay/base/descriptor.h"
#include "removal.h"

namespace margay::store {
namespace {

constexpr const char* kMarker = "MARGAY";
constexpr const char* kUnnamed = "MARGAY.new";  // the marker while it is written
constexpr const char* kRemoving =
    "MARGAY.removing";  // what is left of an archive whose removal was cut short
constexpr const char* kDatabase = "db";
constexpr const char* kLock = "LOCK";

bool numbered(std::string_view name, std::string_view before, std::string_view after) {
  if (!name.starts_with(before) || !name.ends_with(after) || name.size() <= before.size() + after.size())
    return false;
  name = name.substr(before.size(), name.size() - before.size() - after.size());
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Names that RocksDB gives its files.
bool of_database(std::string_view name) {
  constexpr std::string_view kFixed[] = {"CURRENT", "LOCK", "IDENTITY", "LOG"};
  if (std::find(std::begin(kFixed), std::end(kFixed), name) != std::end(kFixed)) return true;
  for (const std::string_view end : {".sst", ".log", ".dbtmp", ".blob"})
    if (numbered(name, "", end)) return true;
  return numbered(name, "MANIFEST-", "") || numbered(name, "OPTIONS-", "") ||
         numbered(name, "OPTIONS-", ".dbtmp") || name.starts_with("LOG.old.");
}

// Regular files alone: a directory or a link is not the store's, whatever its name.
Status list(int directory, const std::string& path, std::vector<std::string>& files,
            std::vector<std::string>& others) {
  const int own = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = own < 0 ? nullptr : ::fdopendir(own);
  if (dir == nullptr) {
    const int error = errno;
    if (own >= 0) ::close(own);
    return system_error(path, error);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(dir, ::closedir);
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat st {};
    if (::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return system_error(path, errno);
    (S_ISREG(st.st_mode) ? files : others).push_back(name);
  }
  return {};
}

tl::unexpected<Error> foreign(const std::string& path, const std::string& name) {
  return fail(ErrorCode::kInvalidArgument,
              path + ": also holds '" + name + "', which is not the archive's; take that away first");
}

// An archive that may go, opened.
struct Doomed {
  Descriptor top, database;
  bool has_marker = false;
  bool has_unnamed = false;
  std::vector<std::string> files;   // of the database
  std::vector<std::string> beside;  // of the archive's directory, to go with it

  explicit Doomed(const std::string& path) : top(::open(path.c_str(), kFlags)), database(inside()) {}
  static constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

 private:
  int inside() const { return top.get() < 0 ? -1 : ::openat(top.get(), kDatabase, kFlags); }
};

Status look(const std::string& path, Doomed& d, const std::vector<std::string>& also, int error) {
  if (d.top.get() < 0) {
    if (error == ENOENT) return fail(ErrorCode::kNotFound, path + ": no such archive");
    if (error == ENOTDIR || error == ELOOP)
      return fail(ErrorCode::kInvalidArgument,
                  path + ": is a file or a link, not an archive (an archive is a directory)");
    return system_error(path, error);
  }
  std::vector<std::string> files, others;
  if (Status s = list(d.top.get(), path, files, others); !s) return s;
  const auto has = [&](const char* name) {
    return std::find(files.begin(), files.end(), name) != files.end();
  };
  d.has_marker = has(kMarker);
  d.has_unnamed = has(kUnnamed);
  if (!d.has_marker && !d.has_unnamed && !has(kRemoving))
    return fail(ErrorCode::kInvalidArgument,
                path + ": is not a Margay archive (it has no file '" + kMarker + "')");
  for (const std::string& name : files)
    if (std::find(also.begin(), also.end(), name) != also.end())
      d.beside.push_back(name);
    else if (name != kMarker && name != kUnnamed && name != kRemoving)
      return foreign(path, name);
  for (const std::string& name : others)
    if (name != kDatabase || d.database.get() < 0) return foreign(path, name);
  if (d.database.get() < 0) return {};
  const std::string place = path + "/" + kDatabase;
  others.clear();
  if (Status s = list(d.database.get(), place, d.files, others); !s) return s;
  if (!others.empty()) return foreign(place, others.front());
  for (const std::string& name : d.files)
    if (!of_database(name)) return foreign(place, name);
  return {};
}

// "link/" would be followed.
std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Status unlink_in(const Descriptor& directory, const std::string& path, const std::string& name, int flags) {
  if (::unlinkat(directory.get(), name.c_str(), flags) == 0 || errno == ENOENT) return {};
  return system_error(path + "/" + name, errno);
}

}  // namespace

Status check_removable(const std::string& given, const std::vector<std::string>& also) {
  const std::string path = without_slash(given);
  errno = 0;
  Doomed d(path);
  if (Status s = look(path, d, also, errno); !s) return s;
  return refuse_written(path);
}

Status remove_archive(const std::string& given, const std::vector<std::string>& also) {
  const std::string path = without_slash(given);
  if (Status s = check_removable(path, also); !s) return s;
  errno = 0;
  Doomed d(path);
  if (Status s = look(path, d, also, errno); !s) return s;
  // Held until the end, so that no writer begins meanwhile.
  const Descriptor lock(d.database.get() < 0 ? -1 : ::openat(d.database.get(), kLock, O_RDWR | O_CLOEXEC));
  if (lock.get() >= 0) {
    struct flock all {};
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    if (::fcntl(lock.get(), F_SETLK, &all) != 0) {
      if (Status s = refuse_written(path); !s) return s;
      return system_error(path, errno);
    }
  }
  if (d.has_marker && ::renameat(d.top.get(), kMarker, d.top.get(), kRemoving) != 0)
    return system_error(path, errno);
  if (d.has_unnamed)
    if (Status s = unlink_in(d.top, path, kUnnamed, 0); !s) return s;
  ::fsync(d.top.get());
  for (const std::string& name : d.files)
    if (name != kLock)
      if (Status s = unlink_in(d.database, path, name, 0); !s) return s;
  if (d.database.get() >= 0) {
    if (Status s = unlink_in(d.database, path, kLock, 0); !s) return s;
    if (Status s = unlink_in(d.top, path, kDatabase, AT_REMOVEDIR); !s) return s;
  }
  for (const std::string& name : d.beside)
    if (Status s = unlink_in(d.top, path, name, 0); !s) return s;
  if (Status s = unlink_in(d.top, path, kRemoving, 0); !s) return s;
  if (::rmdir(path.c_str()) != 0) return system_error(path, errno);
  return {};
}

}  // namespace margay::store
