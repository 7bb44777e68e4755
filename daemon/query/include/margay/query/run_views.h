// What views a run can be looked at in (margay/model/view.h): the attributes that its resources have, and
// what is worth trying of them.
//
// Pure, but for the file of groups that view_of() reads. Thread safety: functions of their arguments. Cost:
// linear in leaves and attributes, and a sort.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/model/hierarchy.h"

namespace margay::daemon {

// What --view says: LEVELS or LEVELS@FILE (margay/wire/view_words.h). An error begins with "--view WORDS: ".
Result<model::View> view_of(const std::string& words);

struct RunAttribute {
  static constexpr std::size_t kExamples = 4;

  std::string name;
  std::size_t resources = 0;          // that say it
  std::size_t values = 0;             // different ones
  std::vector<std::string> examples;  // the first few, in natural order
  // Groups of it are neither all in one nor each alone.
  bool groups() const { return values > 1 && values < resources; }
};

// By name.
std::vector<RunAttribute> attributes_of_run(std::span<const model::Attributes> leaves);
// Views that show something else than the usual one, as View::parse() reads them; those of few groups first.
std::vector<std::string> views_worth_trying(std::span<const model::Attributes> leaves);

// Whether the run's resources have what the view's levels are made of. Errors: kInvalidArgument, a sentence
// that names the attribute, and what it may have been.
Status check_view(std::span<const model::Attributes> leaves, const model::View& view);

}  // namespace margay::daemon
