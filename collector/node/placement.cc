#include "margay/node/placement.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <memory>
#include <utility>
#include <vector>

#include "margay/base/descriptor.h"

namespace margay::node {
namespace {

constexpr std::size_t kLongestFile = 64 << 10;
constexpr std::size_t kLongestName = 48;
constexpr std::size_t kContainerDigits = 12;  // as docker ps shows it

// What Margay tells itself, or makes something of.
constexpr std::array<std::string_view, 22> kNotOwn = {
    "host",   "boot_id", "pid",    "pid_namespace", "start_time",     "command",   "mpi",       "clock",
    "rank",   "process", "thread", "world_size",    "pmix_namespace", "pmix_rank", "ompi_rank", "pmi_rank",
    "reader", "program", "core",   "base",          "state_type",     "group"};

std::string read_some(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string out;
  std::array<char, 4096> room{};
  while (file.get() >= 0 && out.size() < kLongestFile) {
    const ssize_t n = read(file.get(), room.data(), room.size());
    if (n <= 0) break;
    out.append(room.data(), static_cast<std::size_t>(n));
  }
  return out;
}

std::string_view next(std::string_view& rest, char separator) {
  const std::size_t at = std::min(rest.find(separator), rest.size());
  const std::string_view found = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return found;
}

bool is_name(std::string_view name) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !name.empty() && name.size() <= kLongestName && letter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) {
                       return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' ||
                              c == '.';
                     }) &&
         // Those of imported leaves are numbered.
         !name.starts_with("path") && !name.starts_with("type") &&
         std::find(kNotOwn.begin(), kNotOwn.end(), name) == kNotOwn.end();
}

// The switch next to the node: of the pattern "switch.switch.node" and the address "root.s3.n7" it is s3.
std::string switch_of(std::string_view pattern, std::string_view address) {
  std::string out;
  while (!pattern.empty() && !address.empty()) {
    const std::string_view kind = next(pattern, '.'), name = next(address, '.');
    if (kind == "switch") out = std::string(name);
  }
  return out;
}

std::string user_of(const std::string& folder) {
  struct stat s {};
  if (stat(folder.c_str(), &s) != 0) return "";
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(s.st_uid, &entry, room.data(), room.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return std::to_string(s.st_uid);
}

std::string numa_of(const std::string& cpu) {
  const auto close = [](DIR* d) { static_cast<void>(closedir(d)); };
  const std::unique_ptr<DIR, decltype(close)> folder(opendir(cpu.c_str()), close);
  if (!folder) return "";
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name.starts_with("node") && name.size() > 4 &&
        std::all_of(name.begin() + 4, name.end(), [](char c) { return c >= '0' && c <= '9'; }))
      return std::string(name.substr(4));
  }
  return "";
}

}  // namespace

Told own_attributes(std::string_view words) {
  Told out;
  if (words.size() >= kLongestOwnAttributes) {
    const std::size_t last = words.rfind(',');
    words = words.substr(0, last == std::string_view::npos ? 0 : last);
  }
  while (!words.empty() && out.size() < kMostOwnAttributes) {
    std::string_view value = next(words, ',');
    const std::string_view name = next(value, '=');
    if (is_name(name) && !value.empty()) out.emplace(name, value);
  }
  return out;
}

Told told_by_environment(const std::map<std::string, std::string>& variables) {
  const auto value_of = [&](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::string() : at->second;
  };
  Told out = own_attributes(value_of("MARGAY_ATTRIBUTES"));
  const auto tell = [&](const char* name, std::string value) {
    if (!value.empty()) out.emplace(name, std::move(value));
  };
  tell("slurm_cluster", value_of("SLURM_CLUSTER_NAME"));
  tell("slurm_partition", value_of("SLURM_JOB_PARTITION"));
  tell("switch", switch_of(value_of("SLURM_TOPOLOGY_ADDR_PATTERN"), value_of("SLURM_TOPOLOGY_ADDR")));
  return out;
}

std::string container_of(std::string_view cgroup) {
  // A container's number is 64 hexadecimal digits, wherever its engine puts it into the path.
  std::size_t digits = 0;
  for (std::size_t i = 0; i <= cgroup.size(); ++i) {
    if (i < cgroup.size() && std::isxdigit(static_cast<unsigned char>(cgroup[i])) != 0) {
      ++digits;
      continue;
    }
    if (digits == 64) return std::string(cgroup.substr(i - digits, kContainerDigits));
    digits = 0;
  }
  return "";
}

Told placement(std::int64_t pid, std::int32_t core, const PlacementRoots& roots) {
  const std::string folder = roots.proc + "/" + std::to_string(pid);
  Told out;
  const auto tell = [&](const char* name, std::string value) {
    if (!value.empty()) out.emplace(name, std::move(value));
  };
  tell("user", user_of(folder));
  tell("container", container_of(read_some(folder + "/cgroup")));
  if (core < 0) return out;
  const std::string cpu = roots.cpus + "/cpu" + std::to_string(core);
  std::string socket = read_some(cpu + "/topology/physical_package_id");
  while (!socket.empty() && std::isspace(static_cast<unsigned char>(socket.back())) != 0) socket.pop_back();
  if (std::all_of(socket.begin(), socket.end(), [](char c) { return c >= '0' && c <= '9'; }))
    tell("socket", std::move(socket));
  tell("numa", numa_of(cpu));
  return out;
}

}  // namespace margay::node
