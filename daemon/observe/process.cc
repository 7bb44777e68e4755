#include "margay/observe/process.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace margay::observe {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// A file with one number; nothing for "max" and for what is not there.
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream in(path);
  std::uint64_t n = 0;
  if (!(in >> n)) return std::nullopt;
  return n;
}

// The group and all above it: each may have a limit.
std::uint64_t cgroup_limit() {
  std::uint64_t least = kNoLimit;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t a = line.find(':'), b = line.find(':', a + 1);
    if (a == std::string::npos || b == std::string::npos) continue;
    const std::string controllers = line.substr(a + 1, b - a - 1);
    const bool v2 = controllers.empty();
    if (!v2 && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    const std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char* file = v2 ? "/memory.max" : "/memory.limit_in_bytes";
    for (std::string group = line.substr(b + 1);;) {
      if (const auto n = number_in(root + group + file)) least = std::min(least, *n);
      if (group.empty() || group == "/") break;
      group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    }
  }
  return least;
}

}  // namespace

std::uint64_t memory_limit() {
  std::uint64_t least = cgroup_limit();
  rlimit r{};
  if (getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
    least = std::min<std::uint64_t>(least, r.rlim_cur);
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    least = std::min(least, static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page));
  return least == kNoLimit ? 0 : least;
}

ProcessUse process_use() {
  ProcessUse u;
  std::ifstream statm("/proc/self/statm");
  std::uint64_t whole = 0, resident = 0;
  if (statm >> whole >> resident)
    u.memory_bytes = resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  u.memory_limit_bytes = memory_limit();
  if (DIR* dir = opendir("/proc/self/fd"); dir != nullptr) {
    while (readdir(dir) != nullptr) ++u.descriptors;
    closedir(dir);
    u.descriptors -= std::min<std::uint64_t>(u.descriptors, 3);  // ".", ".." and the one that looked
  }
  rlimit r{};
  if (getrlimit(RLIMIT_NOFILE, &r) == 0) u.descriptors_limit = r.rlim_cur;
  return u;
}

void set_process(const ProcessUse& u, Values& v) {
  const auto nearly = [](std::uint64_t used, std::uint64_t limit) {
    return limit > 0 && used / 9 >= limit / 10;
  };
  v.set(Id::memory_bytes, u.memory_bytes);
  v.set(Id::memory_limit_bytes, u.memory_limit_bytes);
  v.set(Id::memory_nearly_full, nearly(u.memory_bytes, u.memory_limit_bytes));
  v.set(Id::descriptors_open, u.descriptors);
  v.set(Id::descriptors_limit, u.descriptors_limit);
  v.set(Id::descriptors_nearly_out, nearly(u.descriptors, u.descriptors_limit));
}

void DiskGauge::measure() {
  struct statvfs s {};
  if (statvfs(path_.c_str(), &s) != 0) return;  // as it was; the commits tell what is wrong with the disk
  free_ = std::uint64_t{s.f_bavail} * s.f_frsize;
  total_ = std::uint64_t{s.f_blocks} * s.f_frsize;
}

void DiskGauge::set(Values& v) const {
  const std::uint64_t free = free_, total = total_;
  v.set(Id::archive_bytes, archive_);
  v.set(Id::disk_free_bytes, free);
  v.set(Id::disk_nearly_full, total > 0 && free < total / 20 && free < (std::uint64_t{1} << 30));
}

DescriptorLimit raise_descriptor_limit(std::uint64_t wanted) {
  rlimit r{};
  if (getrlimit(RLIMIT_NOFILE, &r) != 0) return {};
  if (r.rlim_cur < wanted) {
    rlimit more = r;
    more.rlim_cur = std::min<rlim_t>(r.rlim_max, wanted);
    if (setrlimit(RLIMIT_NOFILE, &more) == 0) r = more;
  }
  DescriptorLimit out{r.rlim_cur, std::nullopt};
  if (r.rlim_cur < wanted)
    out.too_low =
        Error{ErrorCode::kLimit, "this process may open " + std::to_string(r.rlim_cur) +
                                     " descriptors at most; the limits of the configuration may take " +
                                     std::to_string(wanted) +
                                     ": raise LimitNOFILE (ulimit -Hn) or lower limits.sources"};
  return out;
}

}  // namespace margay::observe
