#include "margay/command/link.h"

#include <algorithm>
#include <array>
#include <optional>

#include "margay/base/percent.h"
#include "margay/base/text.h"
#include "margay/text/text.h"

namespace margay::command {
namespace {

constexpr std::string_view kHere = "margay://", kThere = "margay+tcp://";
constexpr std::size_t kShown = 80;  // bytes of a wrong link

tl::unexpected<Error> wrong(std::string_view link, const std::string& why) {
  return fail(ErrorCode::kInvalidArgument, clean_utf8(link, kShown) + ": " + why);
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = digit_of(text[i + 1]), low = digit_of(text[i + 2]);
    if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// The text before the separator, which is taken off `rest` with it.
std::string_view next(std::string_view& rest, char separator) {
  const std::size_t at = std::min(rest.find(separator), rest.size());
  const std::string_view found = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return found;
}

struct Part {
  std::string_view name;
  std::string PictureOptions::*value;
};
constexpr std::array<Part, 6> kParts = {{{"n", &PictureOptions::node},
                                         {"p", &PictureOptions::p},
                                         {"policy", &PictureOptions::policy},
                                         {"o", &PictureOptions::measure},
                                         {"cut", &PictureOptions::cuts},
                                         {"view", &PictureOptions::view}}};

// Of one part of a link; a sentence where it is none.
std::string take_part(std::string_view part, PictureOptions& out) {
  const std::string_view name = next(part, '=');
  const auto text = unescaped(part);
  if (!text) return "expected % and two hexadecimal digits in " + clean_utf8(name, kShown);
  if (name == "t") {
    // Not the dash of a time before the begin.
    const std::size_t dash = text->find('-', text->starts_with('-') ? 1 : 0);
    if (dash == std::string::npos) return "expected a range of time in t, such as 14.9-15.1";
    out.from = text->substr(0, dash);
    out.to = text->substr(dash + 1);
    return {};
  }
  if (name == "s" || name == "r") {
    auto& terms = name == "s" ? out.states : out.resources;
    while (!part.empty()) terms.push_back(unescaped(next(part, ',')).value_or(""));
    return {};
  }
  if (name == "of") {
    if (*text != "rest") return "expected of=rest";
    return out.of_the_rest = true, std::string();
  }
  for (const Part& p : kParts)
    if (p.name == name) return out.*p.value = *text, std::string();
  return "there is no part " + clean_utf8(name, kShown) +
         "; a link has t, n, p, policy, o, cut, view, s, r and of";
}

}  // namespace

bool is_link(std::string_view what) {
  return what.starts_with(kHere) || what.starts_with(kThere);
}

std::string link_of(const PictureOptions& o) {
  constexpr std::string_view kTcp = "tcp://";
  std::string out =
      o.connect.starts_with(kTcp)
          ? std::string(kThere) + percent_encoded(std::string_view(o.connect).substr(kTcp.size()))
          : std::string(kHere) + percent_encoded(o.what);
  char before = '#';
  const auto add = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    (((out += before) += name) += '=') += value;
    before = '&';
  };
  if (!o.from.empty() || !o.to.empty()) add("t", percent_encoded(o.from) + "-" + percent_encoded(o.to));
  for (const Part& p : kParts) add(p.name, percent_encoded(o.*p.value));
  for (const auto& [name, terms] : {std::pair("s", &o.states), std::pair("r", &o.resources)}) {
    std::string text;
    for (const std::string& s : *terms) text += (text.empty() ? "" : ",") + percent_encoded(s);
    add(name, text);
  }
  if (o.of_the_rest) add("of", "rest");
  return out;
}

Result<PictureOptions> options_of_link(std::string_view link) {
  if (!is_link(link)) return wrong(link, "a link begins with " + std::string(kHere));
  if (link.size() > kLongestLink)
    return wrong(link, "longer than " + std::to_string(kLongestLink) + " bytes");
  std::string_view rest = link;
  const bool there = rest.starts_with(kThere);
  rest.remove_prefix(there ? kThere.size() : kHere.size());
  PictureOptions out;
  const auto what = unescaped(next(rest, '#'));
  if (!what) return wrong(link, "expected % and two hexadecimal digits in what it is of");
  if (there && what->empty()) return wrong(link, "names no machine");
  (there ? out.connect : out.what) = there ? "tcp://" + *what : *what;
  while (!rest.empty())
    if (const std::string why = take_part(next(rest, '&'), out); !why.empty()) return wrong(link, why);
  return out;
}

Status follow_link(PictureOptions& o) {
  if (!is_link(o.what)) return {};
  auto said = options_of_link(o.what);
  if (!said) return tl::unexpected(said.error());
  o.what = said->what;
  if (o.connect.empty()) o.connect = said->connect;
  // A range that is given in part would be neither's.
  if (o.from.empty() && o.to.empty()) o.from = said->from, o.to = said->to;
  if (o.p.empty() && o.policy.empty()) o.p = said->p, o.policy = said->policy;
  // A node may be one of the view alone.
  if (o.node.empty() && o.view.empty()) o.node = said->node, o.view = said->view;
  if (o.measure.empty()) o.measure = said->measure;
  if (o.cuts.empty()) o.cuts = said->cuts;
  // How shares count belongs to what is left out.
  if (o.states.empty() && o.resources.empty()) {
    o.states = said->states, o.resources = said->resources;
    o.of_the_rest = o.of_the_rest || said->of_the_rest;
  }
  return {};
}

std::string seconds_text(DurationNs duration) {
  std::string text = text::seconds_text(duration.value);
  text.resize(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace margay::command
