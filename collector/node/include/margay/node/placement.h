// Where a process is, for points of view on it (margay/model/view.h): what the variables that its segment
// keeps (margay/probe/segment.h), /proc and /sys tell.
//
//     user                          the name, or the number, of whose it is
//     socket, numa                  of the core it ran on last
//     container                     the first letters of its container's number
//     slurm_cluster, slurm_partition, switch    as Slurm tells it; the switch next to the node
//     ANY=VALUE,...                 of its variable MARGAY_ATTRIBUTES: what people want to see it by
//
// What is read is untrusted text: names have letters, digits, '_', '-' and '.', and none is one that Margay
// tells itself. What cannot be read is not told; nothing is read for which the kernel waits for the process'
// memory (/proc/PID/environ, cmdline). Thread safety: functions are safe. Cost: a few files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace margay::node {

using Told = std::map<std::string, std::string>;

// Of "rack=7,role=io"; what is none of it, or too much, is left out, and so is the last of a text that was
// cut.
inline constexpr std::size_t kMostOwnAttributes = 16;
inline constexpr std::size_t kLongestOwnAttributes = 127;  // bytes, of all: what is longer was cut
Told own_attributes(std::string_view words);

// Of variables and their values. A segment keeps 127 bytes of each.
Told told_by_environment(const std::map<std::string, std::string>& variables);
// Of /proc/PID/cgroup: "" where it is in no container.
std::string container_of(std::string_view cgroup);

struct PlacementRoots {
  std::string proc = "/proc";
  std::string cpus = "/sys/devices/system/cpu";
};
// `pid` as it is called here; `core` -1: not known.
Told placement(std::int64_t pid, std::int32_t core, const PlacementRoots& roots = {});

}  // namespace margay::node
