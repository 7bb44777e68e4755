// Processes of other PID namespaces (containers, `unshare --pid`): what their segments call them is not what
// they are called here. Of those in namespaces below ours /proc tells both (NSpid); of others nothing.
//
// What is read is untrusted text. Thread safety: none shared.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace margay::node {

// A process as it calls itself.
struct ProcessName {
  std::int64_t pid = 0;
  std::uint64_t start_time = 0;     // clock ticks after boot; 0: not known
  std::uint64_t pid_namespace = 0;  // an inode; 0: not known
  auto operator<=>(const ProcessName&) const = default;
};

// The namespace of which `proc` tells, or 0.
std::uint64_t own_pid_namespace(const std::string& proc = "/proc");

// The last number of the line NSpid of /proc/PID/status: the pid in the innermost namespace; 0: there is
// none, or it is the only one.
std::int64_t innermost_pid(const std::string& status);

// What those of `wanted` that are found are called here. Cost: a file of each process there is.
std::map<ProcessName, std::int64_t> find_elsewhere(const std::set<ProcessName>& wanted,
                                                   const std::string& proc = "/proc");

}  // namespace margay::node
