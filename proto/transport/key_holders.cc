#include "margay/transport/key_holders.h"

#include <optional>

namespace margay::transport {
namespace {

constexpr std::size_t kMostShown = 200;

// What both may. A source and the others have nothing in common.
std::optional<Role> least_of(Role a, Role b) {
  if (a == b) return a;
  if (a == Role::kSource || b == Role::kSource) return std::nullopt;
  return Role::kViewer;
}

struct Shared {
  std::string name, all;  // all: "" while there is one
  std::optional<Role> role;
};

}  // namespace

std::map<std::string, Holder> holders_of(const std::vector<Authorized>& authorized,
                                         std::vector<std::string>& problems) {
  std::map<std::string, Shared> keys;
  for (const Authorized& a : authorized)
    for (const std::string& key : a.keys) {
      const auto [it, fresh] = keys.try_emplace(key, Shared{a.name, "", a.role});
      Shared& s = it->second;
      if (fresh || s.name == a.name) continue;
      s.all += (s.all.empty() ? "'" + s.name + "', '" : ", '") + a.name + "'";
      if (s.role) s.role = least_of(*s.role, a.role);
    }
  std::map<std::string, Holder> holders;
  for (auto& [key, s] : keys) {
    if (s.role) holders.emplace(key, Holder{s.name, *s.role});
    if (s.all.empty()) continue;
    problems.push_back("one key (" + fingerprint(key) + ") has the names " + s.all.substr(0, kMostShown) +
                       ": it may do " +
                       (s.role ? "what each of them may, as a " + std::string(to_string(*s.role))
                               : "nothing, for their roles have nothing in common"));
  }
  return holders;
}

}  // namespace margay::transport
