#include "margay/alert/silence.h"

#include <algorithm>

#include "margay/base/glob.h"
#include "margay/base/text.h"

namespace margay::alert {
namespace {

constexpr Kind kKinds[] = {Kind::kPerturbation, Kind::kStall, Kind::kPhaseDuration, Kind::kSourceLost,
                           Kind::kLoss};

// Takes the first component off: "/a/b" -> "a", rest "/b". False at the end.
bool next_component(std::string_view& path, std::string_view& component) {
  while (path.starts_with('/')) path.remove_prefix(1);
  if (path.empty()) return false;
  const std::size_t end = std::min(path.find('/'), path.size());
  component = path.substr(0, end);
  path.remove_prefix(end);
  return true;
}

}  // namespace

bool matches_path(std::string_view pattern, std::string_view path) {
  std::string_view wanted, there;
  while (next_component(pattern, wanted))
    if (!next_component(path, there) || !glob_match(wanted, there)) return false;
  return true;
}

bool matches(const Silence& s, const Alert& a) {
  if (s.kind && *s.kind != a.kind) return false;
  if (!s.node.empty()) {
    const auto below = [&](const std::string& path) { return matches_path(s.node, path); };
    if (a.resources.empty() ? !below(a.node) : !std::all_of(a.resources.begin(), a.resources.end(), below))
      return false;
  }
  return s.state.empty() || std::any_of(a.states.begin(), a.states.end(),
                                        [&](const StateChange& c) { return glob_match(s.state, c.state); });
}

Result<void> check(const Silence& s) {
  const auto refuse = [](const std::string& why) { return fail(ErrorCode::kInvalidArgument, why); };
  if (s.node.empty() && s.state.empty() && !s.kind)
    return refuse("a silence says what it is for: --node, --state or --kind ('--node /' is everything)");
  if (!s.node.empty() && s.node.front() != '/')
    return refuse("--node " + clean_utf8(s.node, 100) +
                  ": a node's path begins with '/', such as /HOST/rank3 or '/*/rank3'");
  if (s.node.size() > Silence::kLongestPattern || s.state.size() > Silence::kLongestPattern)
    return refuse("--node and --state may have " + std::to_string(Silence::kLongestPattern) + " bytes");
  if (s.comment.size() > Silence::kLongestComment)
    return refuse("--comment may have " + std::to_string(Silence::kLongestComment) + " bytes");
  if (s.by.size() > Silence::kLongestName)
    return refuse("--by may have " + std::to_string(Silence::kLongestName) + " bytes");
  return {};
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind k : kKinds) names.emplace_back(to_string(k));
  return names;
}

Result<Kind> kind_of(std::string_view name) {
  std::string all;
  for (const Kind k : kKinds) {
    if (name == to_string(k)) return k;
    all += (all.empty() ? "" : ", ") + std::string(to_string(k));
  }
  return fail(ErrorCode::kInvalidArgument, "'" + clean_utf8(name, 100) + "' is no kind of alert: " + all);
}

std::string what(const Silence& s) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (s.node == "/" && s.state.empty() && !s.kind) return "everything";
  if (!s.node.empty()) add("node " + s.node);
  if (!s.state.empty()) add("state " + s.state);
  if (s.kind) add(std::string("kind ") + to_string(*s.kind));
  return out;
}

}  // namespace margay::alert
