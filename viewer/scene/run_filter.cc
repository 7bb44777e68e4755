#include "margay/scene/run_filter.h"

#include <algorithm>

#include "margay/base/text.h"

namespace margay::scene {
namespace {

constexpr std::size_t kMostInText = 3;  // states by name
constexpr std::size_t kLongestInText = 60;

std::string_view without_space(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string term_text(std::string_view term, const char* kind) {
  const bool out = term.starts_with('!');
  if (out) term.remove_prefix(1);
  std::string text = std::string(out ? "without " : "") + kind + " ";
  if (term.starts_with(wire::kFamilyTerm) && std::string_view(kind) == "states") {
    text += "of the family ";
    term.remove_prefix(wire::kFamilyTerm.size());
  }
  return text + clean_utf8(term, kLongestName);
}

wire::Filter message_of(const RunFilter& filter) {
  wire::Filter out;
  out.mutable_states()->Assign(filter.states.begin(), filter.states.end());
  out.mutable_resources()->Assign(filter.resources.begin(), filter.resources.end());
  out.set_of_the_rest(filter.of_the_rest);
  return out;
}

}  // namespace

void put_filter(const RunFilter& filter, wire::ViewQuestion& q) {
  if (!filter.empty() || filter.of_the_rest) *q.mutable_filter() = message_of(filter);
}
void put_filter(const RunFilter& filter, wire::EventsQuestion& q) {
  if (!filter.empty()) *q.mutable_filter() = message_of(filter);
}

RunFilter filter_of(const wire::Filter& filter) {
  return {{filter.states().begin(), filter.states().end()},
          {filter.resources().begin(), filter.resources().end()},
          filter.of_the_rest()};
}

Status check_filter(const RunFilter& filter) {
  const auto parsed = wire::run_filter_untrusted(message_of(filter));
  return parsed ? Status() : tl::unexpected(parsed.error());
}

std::vector<std::string> terms_of(std::string_view line) {
  std::vector<std::string> out;
  while (!line.empty()) {
    const std::size_t comma = std::min(line.find(','), line.size());
    const std::string term(without_space(line.substr(0, comma)));
    line.remove_prefix(std::min(comma + 1, line.size()));
    if (!term.empty() && std::find(out.begin(), out.end(), term) == out.end()) out.push_back(term);
  }
  return out;
}

std::string line_of(std::span<const std::string> terms) {
  std::string out;
  for (const std::string& t : terms) out += (out.empty() ? "" : ", ") + t;
  return out;
}

std::string state_term_text(std::string_view term) {
  return term_text(term, "states");
}
std::string resource_term_text(std::string_view term) {
  return term_text(term, "resources");
}

std::string proportions_text(bool of_the_rest) {
  return of_the_rest ? "shares are of the rest" : "what is left out counts as time that is not shown";
}

std::string left_out_text(const wire::ViewQuestion& q) {
  std::string out;
  const auto add = [&](const std::string& text) {
    out += (out.empty() ? "" : "; ") + clean_utf8(text, kLongestInText);
  };
  std::string named;
  for (int i = 0; i < q.states_size() && i < static_cast<int>(kMostInText); ++i)
    named += (named.empty() ? "" : ", ") + q.states(i);
  if (q.states_size() > static_cast<int>(kMostInText))
    named += " and " + std::to_string(q.states_size() - static_cast<int>(kMostInText)) + " more";
  if (!named.empty()) add("only " + named);
  for (const std::string& t : q.filter().states()) add(state_term_text(t));
  for (const std::string& t : q.filter().resources()) add(resource_term_text(t));
  if (out.empty()) return out;
  return out + "; " + proportions_text(q.filter().of_the_rest());
}

std::vector<std::string> states_shown(std::span<const State> states, const wire::StateTerms& terms) {
  std::vector<std::string> out;
  for (const State& s : states)
    if (s.known() && terms.shows(s.name, s.family)) out.push_back(s.name);
  return out;
}

}  // namespace margay::scene
