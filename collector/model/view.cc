#include "margay/model/view.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "margay/base/text.h"

namespace margay::model {
namespace {

constexpr std::size_t kShown = 80;  // bytes of what is wrong

tl::unexpected<Error> wrong(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, what);
}
std::string shown(std::string_view text) {
  return "'" + clean_utf8(text, kShown) + "'";
}

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

// Takes away what comes before the first of these characters, or all of it.
std::string_view take_until(std::string_view& text, const char* any_of) {
  const std::size_t end = std::min(text.find_first_of(any_of), text.size());
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty())
    if (const std::string_view word = take_until(text, " \t\r"); !word.empty()) out.push_back(word);
  return out;
}

Result<View::Level> level_of(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.empty()) return wrong("a level is the name of an attribute, as in host/rank");
  View::Level out;
  out.attribute = words[0];
  if (words.size() == 1) return out;
  const bool rest = words[1] == "mod", row = words[1] == "div";
  if (words.size() != 3 || !(rest || row))
    return wrong(shown(trimmed(text)) + ": a level is an attribute, 'ATTRIBUTE mod N' or 'ATTRIBUTE div N'");
  out.of = rest ? View::Level::Of::kRest : View::Level::Of::kRow;
  const auto [end, error] = std::from_chars(words[2].data(), words[2].data() + words[2].size(), out.n);
  if (error != std::errc() || end != words[2].data() + words[2].size() || out.n == 0)
    return wrong(shown(trimmed(text)) + ": expected a number from 1 on behind '" + std::string(words[1]) +
                 "'");
  return out;
}

Result<std::vector<View::Group>> groups_of(std::string_view text) {
  std::vector<View::Group> out;
  std::size_t patterns = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto bad = [&](const std::string& what) {
      return wrong("line " + std::to_string(number) + ": " + what);
    };
    std::string_view line = take_until(text, "\n");
    line = trimmed(take_until(line, "#"));
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return bad(shown(line) + ": expected 'NAME: PATTERN ...'");
    const std::string_view name = trimmed(line.substr(0, colon));
    if (name.empty()) return bad(shown(line) + ": a group has a name before the ':'");
    if (name.find('/') != std::string_view::npos) return bad(shown(name) + ": a name has no '/'");
    View::Group group{std::string(name), {}};
    for (const std::string_view word : words_of(line.substr(colon + 1))) group.patterns.emplace_back(word);
    if (group.patterns.empty()) return bad(shown(name) + ": a group has a pattern behind the ':'");
    patterns += group.patterns.size();
    if (patterns > View::kMostPatterns)
      return bad("more than " + std::to_string(View::kMostPatterns) + " patterns");
    out.push_back(std::move(group));
  }
  if (out.empty()) return wrong("no group in it; expected lines 'NAME: PATTERN ...'");
  return out;
}

}  // namespace

View::View() {
  for (const char* attribute : {"site", "cluster", "host", "rank", "process", "thread", "path"})
    levels_.push_back({attribute, Level::Of::kValue, 1});
}

Result<View> View::parse(std::string_view levels, std::string_view groups) {
  const View usual;
  View out;
  if (levels.size() > kLongest) return wrong("longer than " + std::to_string(kLongest) + " bytes");
  if (groups.size() > kLongestGroups)
    return wrong("groups: longer than " + std::to_string(kLongestGroups) + " bytes");
  const std::string_view text = trimmed(levels);
  if (!text.empty()) {
    out.levels_.clear();
    std::string_view left = text;
    for (bool more = true; more;) {
      more = left.find('/') != std::string_view::npos;
      auto level = level_of(take_until(left, "/"));
      if (!level) return tl::unexpected(level.error());
      if (std::find(out.levels_.begin(), out.levels_.end(), *level) != out.levels_.end())
        return wrong(shown(level->attribute) + ": is there twice");
      if (level->attribute == kGroup && level->of != Level::Of::kValue)
        return wrong("'group': has no numbers");
      out.levels_.push_back(std::move(*level));
      if (out.levels_.size() > kMostLevels)
        return wrong("more than " + std::to_string(kMostLevels) + " levels");
    }
  }
  out.usual_ = out.levels_ == usual.levels_;
  const bool wants_groups = std::any_of(out.levels_.begin(), out.levels_.end(),
                                        [](const Level& l) { return l.attribute == kGroup; });
  if (wants_groups == trimmed(groups).empty())
    return wrong(wants_groups ? "'group': which groups there are is not said"
                              : "groups: no level of the view is 'group'");
  if (wants_groups) {
    auto named = groups_of(groups);
    if (!named) return fail(named.error(), "groups");
    out.groups_ = std::move(*named);
  }
  return out;
}

std::string View::text() const {
  std::string out;
  if (usual_) return out;
  for (const Level& l : levels_) {
    if (!out.empty()) out += '/';
    out += l.attribute;
    if (l.of != Level::Of::kValue)
      out += (l.of == Level::Of::kRest ? " mod " : " div ") + std::to_string(l.n);
  }
  return out;
}

}  // namespace margay::model
