#include "margay/wire/filter.h"

#include <algorithm>
#include <array>

#include "margay/base/glob.h"
#include "margay/base/resource_pattern.h"
#include "margay/base/text.h"
#include "margay/wire/family_by_name.h"

namespace margay::wire {
namespace {

constexpr std::size_t kShownOfTerm = 80;  // bytes, of one that is wrong

constexpr std::array<FamilyWord, 8> kFamilyWords = {{{"compute", FAMILY_COMPUTE},
                                                     {"point-to-point", FAMILY_POINT_TO_POINT},
                                                     {"collective", FAMILY_COLLECTIVE},
                                                     {"wait", FAMILY_WAIT},
                                                     {"io", FAMILY_IO},
                                                     {"start-end", FAMILY_START_END},
                                                     {"idle", FAMILY_IDLE},
                                                     {"other", FAMILY_OTHER}}};

tl::unexpected<Error> wrong_term(const std::string& why) {
  return fail(ErrorCode::kInvalidArgument, why);
}

// Of a state; marks, variables, regions and links are none.
bool is_family_of_states(StateFamily family) {
  return family != FAMILY_REGION && family != FAMILY_VARIABLE && family != FAMILY_MARK &&
         family != FAMILY_LINK;
}

// Without its '!'; a sentence where it is none.
Result<std::string_view> pattern_of(const std::string& term, std::size_t longest, bool& out) {
  std::string_view pattern = term;
  out = pattern.starts_with('!');
  if (out) pattern.remove_prefix(1);
  if (pattern.empty()) return wrong_term("a term has a name or a pattern");
  if (term.size() > longest)
    return wrong_term("'" + clean_utf8(term, kShownOfTerm) + "': longer than " + std::to_string(longest) +
                      " bytes");
  return pattern;
}

// Whether there is a term that takes in, and whether what `names` says of each makes it shown.
template <class Terms, class Names>
bool is_shown(const Terms& terms, const Names& names) {
  bool wanted = false, any_wanted = false;
  for (const auto& term : terms) {
    any_wanted = any_wanted || !term.out;
    if ((term.out || !wanted) && names(term)) {
      if (term.out) return false;
      wanted = true;
    }
  }
  return wanted || !any_wanted;
}

}  // namespace

std::span<const FamilyWord> family_words() {
  return kFamilyWords;
}

bool is_plain_term(std::string_view term) {
  return !term.starts_with('!') && !term.starts_with(kFamilyTerm) &&
         term.find_first_of("*?") == std::string_view::npos;
}

bool are_plain_terms(std::span<const std::string> terms) {
  return std::all_of(terms.begin(), terms.end(), is_plain_term);
}

Result<StateTerms> StateTerms::parse(std::span<const std::string> terms) {
  StateTerms out;
  for (const std::string& term : terms) {
    Term t;
    const auto pattern = pattern_of(term, kLongest, t.out);
    if (!pattern) return tl::unexpected(pattern.error());
    if (pattern->starts_with(kFamilyTerm)) {
      const std::string_view word = pattern->substr(kFamilyTerm.size());
      std::string known;
      for (const FamilyWord& f : kFamilyWords) {
        if (f.word == word) t.family = f.family;
        known += (known.empty() ? "" : ", ") + std::string(f.word);
      }
      if (!t.family)
        return wrong_term("'" + clean_utf8(term, kShownOfTerm) + "': there is no such family; there are " +
                          known);
    } else {
      t.pattern = *pattern;
    }
    out.terms_.push_back(std::move(t));
  }
  return out;
}

bool StateTerms::shows(std::string_view name, StateFamily family) const {
  return is_shown(terms_, [&](const Term& t) {
    if (!t.family) return glob_match(t.pattern, name);
    return is_family_of_states(family) && family_by_name(name, family) == *t.family;
  });
}

Result<ResourceTerms> ResourceTerms::parse(std::span<const std::string> terms) {
  ResourceTerms out;
  for (const std::string& term : terms) {
    Term t;
    const auto pattern = pattern_of(term, kLongest, t.out);
    if (!pattern) return tl::unexpected(pattern.error());
    t.pattern = *pattern;
    out.terms_.push_back(std::move(t));
  }
  return out;
}

bool ResourceTerms::shows(std::string_view path) const {
  return is_shown(terms_, [&](const Term& t) { return names_resource(t.pattern, path); });
}

bool ResourceTerms::shows(std::string_view path, std::string_view other) const {
  return is_shown(terms_, [&](const Term& t) {
    return names_resource(t.pattern, path) || names_resource(t.pattern, other);
  });
}

Result<RunFilter> run_filter_untrusted(const Filter& filter) {
  const int terms = filter.states_size() + filter.resources_size();
  if (filter.states_size() > RunFilter::kMostTerms || filter.resources_size() > RunFilter::kMostTerms ||
      terms > RunFilter::kMostTerms)
    return wrong_term("filter: " + std::to_string(terms) + " terms, at most " +
                      std::to_string(RunFilter::kMostTerms));
  RunFilter out;
  const std::vector<std::string> state_terms(filter.states().begin(), filter.states().end());
  auto states = StateTerms::parse(state_terms);
  if (!states) return fail(states.error(), "filter: states");
  const std::vector<std::string> resource_terms(filter.resources().begin(), filter.resources().end());
  auto resources = ResourceTerms::parse(resource_terms);
  if (!resources) return fail(resources.error(), "filter: resources");
  out.states = std::move(*states);
  out.resources = std::move(*resources);
  out.of_the_rest = filter.of_the_rest();
  return out;
}

}  // namespace margay::wire
