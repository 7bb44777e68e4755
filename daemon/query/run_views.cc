#include "margay/query/run_views.h"

#include <algorithm>
#include <map>
#include <set>

#include "margay/model/natural_order.h"
#include "margay/model/shared_value.h"
#include "margay/wire/view_words.h"
#include "view_tree.h"

namespace margay::daemon {
namespace {

// Of the usual view's own levels a view of their own tells nothing new, nor does what tells the host again.
bool is_usual(const std::string& attribute) {
  const model::View usual;
  const auto& levels = usual.levels();
  return std::any_of(levels.begin(), levels.end(), [&](const auto& l) { return l.attribute == attribute; });
}

bool same_groups(std::span<const model::Attributes> leaves, const std::string& a, const std::string& b) {
  std::map<std::string, std::string> to, back;
  for (const model::Attributes& l : leaves) {
    const auto x = l.find(a), y = l.find(b);
    if (x == l.end() || y == l.end()) return false;
    if (to.emplace(x->second, y->second).first->second != y->second ||
        back.emplace(y->second, x->second).first->second != x->second)
      return false;
  }
  return true;
}

}  // namespace

Result<model::View> view_of(const std::string& words) {
  const auto read = wire::read_view(words);
  auto view = read ? model::View::parse(read->levels(), read->groups()) : tl::unexpected(read.error());
  if (!view) return fail(view.error(), "--view " + words);
  return view;
}

std::vector<RunAttribute> attributes_of_run(std::span<const model::Attributes> leaves) {
  struct Said {
    std::size_t resources = 0;
    std::set<std::string, model::NaturalLess> values;
  };
  std::map<std::string, Said, model::NaturalLess> said;
  for (const model::Attributes& l : leaves)
    for (const auto& [name, value] : l) {
      Said& s = said[name];
      ++s.resources;
      s.values.insert(value);
    }
  std::vector<RunAttribute> out;
  for (const auto& [name, s] : said) {
    RunAttribute& a = out.emplace_back(RunAttribute{name, s.resources, s.values.size(), {}});
    for (auto v = s.values.begin(); v != s.values.end() && a.examples.size() < RunAttribute::kExamples; ++v)
      a.examples.push_back(*v);
  }
  return out;
}

std::vector<std::string> views_worth_trying(std::span<const model::Attributes> leaves) {
  std::vector<RunAttribute> attributes = attributes_of_run(leaves);
  const auto has = [&](const char* name) {
    return std::any_of(attributes.begin(), attributes.end(),
                       [&](const RunAttribute& a) { return a.name == name && a.values > 1; });
  };
  std::vector<std::string> out;
  if (has("rank")) {
    if (has("host")) out.emplace_back("rank");
    out.emplace_back("rank div 8");
    out.emplace_back("rank mod 2");
  }
  std::stable_sort(attributes.begin(), attributes.end(),
                   [](const RunAttribute& a, const RunAttribute& b) { return a.values < b.values; });
  for (const RunAttribute& a : attributes) {
    const bool level = a.groups() && !is_usual(a.name) && !model::tells_processes_apart(a.name) &&
                       a.name.find_first_of("/ \t") == std::string::npos;
    if (!level || same_groups(leaves, a.name, "host")) continue;
    out.push_back(a.name);
    if (has("host")) out.push_back("host/" + a.name);
  }
  return out;
}

Status check_view(std::span<const model::Attributes> leaves, const model::View& view) {
  return ViewTree::check(leaves, view);
}

}  // namespace margay::daemon
