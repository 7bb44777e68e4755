// Which states and resources of a run are looked at, as people write it: a list of terms each.
//
//     MPI_Wait   MPI_*   family:wait   !MPI_Wtime   !family:idle                 of states
//     /node1     /node1/*   *rank6     rank?        !/node2                      of resources
//
// A term names what its pattern matches (* is any text, ? any one character; margay/base/glob.h). "family:"
// and one of family_words() names the states of that family, going by their names where their source says
// none (family_by_name.h). Of a resource's path a pattern that begins with '/' has to match all of it, or all
// of the path of a node above it; any other pattern one name in the path: so a resource is named with all
// that is below it. A term that begins with '!' leaves out what it names. What is looked at is what some term
// names (everything, where all terms begin with '!') and no term leaves out.
//
// Thread safety: values; any number of readers. Cost: a pattern's for each term, of a resource for each name
// in its path.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/wire/filter.pb.h"
#include "margay/wire/names.pb.h"

namespace margay::wire {

// "compute", "point-to-point", "collective", "wait", "io", "start-end", "idle", "other".
struct FamilyWord {
  std::string_view word;
  StateFamily family;
};
std::span<const FamilyWord> family_words();
inline constexpr std::string_view kFamilyTerm = "family:";

// Whether it is one name or path, and nothing that has to be understood: no pattern, family or '!'.
bool is_plain_term(std::string_view term);
bool are_plain_terms(std::span<const std::string> terms);

class StateTerms {
 public:
  static constexpr std::size_t kLongest = 128;  // bytes of a term

  StateTerms() = default;
  // Errors: kInvalidArgument, a sentence that names the term: empty, too long, no such family.
  static Result<StateTerms> parse(std::span<const std::string> terms);

  bool empty() const { return terms_.empty(); }
  // `family` as its source says it. What is no state (a mark, a variable) is of no family.
  bool shows(std::string_view name, StateFamily family) const;

 private:
  struct Term {
    std::string pattern;
    std::optional<StateFamily> family;
    bool out = false;
  };
  std::vector<Term> terms_;
};

class ResourceTerms {
 public:
  static constexpr std::size_t kLongest = 2048;  // bytes of a term

  ResourceTerms() = default;
  // As StateTerms::parse().
  static Result<ResourceTerms> parse(std::span<const std::string> terms);

  bool empty() const { return terms_.empty(); }
  bool shows(std::string_view path) const;
  // Of a resource that has two paths (margay/model/view.h): a term names it by either.
  bool shows(std::string_view path, std::string_view other) const;

 private:
  struct Term {
    std::string pattern;
    bool out = false;
  };
  std::vector<Term> terms_;
};

struct RunFilter {
  static constexpr int kMostTerms = 256;  // of both lists

  StateTerms states;
  ResourceTerms resources;
  bool of_the_rest = false;
  bool empty() const { return states.empty() && resources.empty(); }
};
// Errors: as the lists', kInvalidArgument for more than kMostTerms; each begins with "filter: ".
Result<RunFilter> run_filter_untrusted(const Filter& filter);

}  // namespace margay::wire
