// Whose handshake is whose, and what those read for whom there is no room.
#include <algorithm>

#include "gate_connection.h"

namespace margay::transport {

std::string_view farewell_greeting() {
  // RFC 23: signature, version 3.0, mechanism, as-server, filler.
  static const std::string text = [] {
    std::string s("\xff\0\0\0\0\0\0\0\0\x7f\3\0CURVE", 17);
    s.resize(32);
    s += '\1';
    s.resize(kGreetingBytes);
    return s;
  }();
  return text;
}

std::string_view farewell_error() {
  return {
      "\4\x0a\5ERROR\3"
      "300",
      12};
}

std::uint32_t Lanes::take(std::uint64_t id, const std::string& address, TimeNs now) {
  const std::lock_guard lock(mutex_);
  std::size_t best = 0, fewest = SIZE_MAX;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    auto& visits = lanes_[i].visits;
    std::erase_if(visits, [&](const Visit& v) { return v.left && now - *v.left > kRemembered; });
    const auto under_way = static_cast<std::size_t>(
        std::count_if(visits.begin(), visits.end(), [](const Visit& v) { return !v.left; }));
    if (under_way < fewest || (under_way == fewest && lanes_[i].taken < lanes_[best].taken)) {
      fewest = under_way;
      best = i;
    }
  }
  Lane& lane = lanes_[best];
  lane.taken = ++turn_;
  if (lane.visits.size() >= kMostRemembered) lane.visits.pop_front();
  lane.visits.push_back({id, address, std::nullopt});
  return static_cast<std::uint32_t>(best);
}

void Lanes::leave(std::uint64_t id, std::uint32_t lane, bool decided, TimeNs now) {
  const std::lock_guard lock(mutex_);
  auto& visits = lanes_[lane].visits;
  if (decided) std::erase_if(visits, [&](const Visit& v) { return v.id == id; });
  for (Visit& v : visits)
    if (v.id == id) v.left = now;
}

std::string Lanes::who(std::uint32_t lane) const {
  const std::lock_guard lock(mutex_);
  if (lane >= lanes_.size()) return "";
  std::vector<std::string> all;
  for (const Visit& v : lanes_[lane].visits)
    if (std::find(all.begin(), all.end(), v.address) == all.end()) all.push_back(v.address);
  std::string text;
  constexpr std::size_t kNamed = 3;
  for (std::size_t i = 0; i < std::min(kNamed, all.size()); ++i) text += (i > 0 ? " or " : "") + all[i];
  if (all.size() > kNamed) text += " or " + std::to_string(all.size() - kNamed) + " others";
  return text;
}

}  // namespace margay::transport
