#include "margay/node/namespaces.h"

#include <dirent.h>
#include <sys/stat.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

#include "margay/node/sampler.h"

namespace margay::node {
namespace {

constexpr int kMostProcesses = 1 << 17;  // that are looked through

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return std::move(text).str();
}

std::int64_t pid_of(const char* name) {
  std::int64_t pid = 0;
  const char* const end = name + std::string_view(name).size();
  const auto r = std::from_chars(name, end, pid);
  return r.ec == std::errc() && r.ptr == end ? pid : 0;
}

// 0 where we may not know.
std::uint64_t inode_of(const std::string& path) {
  struct stat st {};
  return stat(path.c_str(), &st) == 0 ? st.st_ino : 0;
}

}  // namespace

std::uint64_t own_pid_namespace(const std::string& proc) {
  return inode_of(proc + "/self/ns/pid");
}

std::int64_t innermost_pid(const std::string& status) {
  constexpr std::string_view kLabel = "\nNSpid:";
  const std::size_t at = status.find(kLabel);
  if (at == std::string::npos) return 0;
  std::istringstream line(status.substr(at + kLabel.size(), status.find('\n', at + 1) - at - kLabel.size()));
  std::int64_t pid = 0, last = 0;
  int numbers = 0;
  for (; line >> pid; ++numbers) last = pid;
  return numbers > 1 && last > 0 ? last : 0;
}

std::map<ProcessName, std::int64_t> find_elsewhere(const std::set<ProcessName>& wanted,
                                                   const std::string& proc) {
  std::map<ProcessName, std::int64_t> found;
  std::set<std::int64_t> pids;
  for (const ProcessName& w : wanted) pids.insert(w.pid);
  DIR* const dir = opendir(proc.c_str());
  if (dir == nullptr) return found;
  int looked = 0;
  while (const dirent* const entry = readdir(dir)) {
    const std::int64_t here = pid_of(entry->d_name);
    if (here <= 0) continue;
    if (++looked > kMostProcesses) break;
    const std::string place = proc + "/" + entry->d_name;
    const std::int64_t there = innermost_pid(text_of(place + "/status"));
    if (!pids.contains(there)) continue;
    const auto stat = parse_stat(text_of(place + "/stat"));
    if (!stat) continue;
    const std::uint64_t inode = inode_of(place + "/ns/pid");
    for (const ProcessName& w : wanted)
      if (w.pid == there && w.start_time == stat->start_time && (inode == 0 || w.pid_namespace == inode))
        found.emplace(w, here);
  }
  closedir(dir);
  return found;
}

}  // namespace margay::node
