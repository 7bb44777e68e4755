// An ipc place that can be bound anew at once: a link to the path that is bound now. An old listener that is
// still closing, or has left its path behind, is in nobody's way.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <zmq.hpp>

namespace margay::transport {

inline constexpr std::string_view kIpc = "ipc://";

inline std::string bound_path(const std::string& place, std::uint32_t turn) {
  return place + "." + std::to_string(turn);
}

inline bool point_at(const std::string& place, std::uint32_t turn) {
  const std::string link = place.substr(kIpc.size()), target = bound_path(link, turn), fresh = link + ".new";
  static_cast<void>(::unlink(fresh.c_str()));
  return ::symlink(target.c_str(), fresh.c_str()) == 0 && ::rename(fresh.c_str(), link.c_str()) == 0;
}

// Throws zmq::error_t.
inline void bind_at(zmq::socket_t& raw, const std::string& place, std::uint32_t turn) {
  if (!place.starts_with(kIpc)) return raw.bind(place);
  const std::string path = bound_path(place, turn);
  static_cast<void>(::unlink(path.c_str() + kIpc.size()));  // of a daemon that was killed
  raw.bind(path);
  if (!point_at(place, turn)) throw zmq::error_t(errno);
}

}  // namespace margay::transport
