// What of a run is looked at beside a stretch of time and a node: states and resources by terms, as people
// write them (margay/wire/filter.h), and what becomes of the proportions.
//
// Thread safety: values and pure functions. Cost: linear in the terms.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/scene/view_data.h"
#include "margay/wire/events.pb.h"
#include "margay/wire/filter.h"
#include "margay/wire/view.pb.h"

namespace margay::scene {

struct RunFilter {
  std::vector<std::string> states, resources;  // terms, in the order they were chosen; none: everything
  // Shares are of the rest; else what is left out counts as time that is not shown.
  bool of_the_rest = false;
  bool empty() const { return states.empty() && resources.empty(); }
  bool operator==(const RunFilter&) const = default;
};

// As a question has it; nothing where it leaves nothing out.
void put_filter(const RunFilter& filter, wire::ViewQuestion& question);
void put_filter(const RunFilter& filter, wire::EventsQuestion& question);
RunFilter filter_of(const wire::Filter& filter);
// Errors: kInvalidArgument, a sentence about a term that makes no sense.
Status check_filter(const RunFilter& filter);

// A line that somebody typed, terms between commas: "MPI_*, !MPI_Wait". No term is there twice.
std::vector<std::string> terms_of(std::string_view line);
std::string line_of(std::span<const std::string> terms);

// One term, for people: "states MPI_*", "without states of the family wait", "resources /node1/*".
std::string state_term_text(std::string_view term);
std::string resource_term_text(std::string_view term);
// What a picture leaves out, for its head: "states MPI_*; without resources *rank6; shares are of the rest".
// Empty where it has all states of all resources (or of a node: heads say that otherwise).
std::string left_out_text(const wire::ViewQuestion& question);
// "shares are of the rest", "what is left out counts as time that is not shown".
std::string proportions_text(bool of_the_rest);

// Those of the states that the terms leave, in their order.
std::vector<std::string> states_shown(std::span<const State> states, const wire::StateTerms& terms);

}  // namespace margay::scene
