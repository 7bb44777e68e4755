#include "event_filter.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "margay/base/glob.h"
#include "margay/model/hierarchy.h"

namespace margay::daemon {
namespace {

using trace::Occurrence;

constexpr DurationNs kBeyond = seconds(1);

bool one_matches(const std::vector<std::string>& patterns, const std::string& text) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const std::string& p) { return glob_match(p, text); });
}

auto all_of(const Occurrence& o) {
  return std::tuple(o.end, o.kind, o.name, o.calls, o.longest, o.bytes, o.peer, o.tag, o.comm, o.begun_before,
                    o.goes_on);
}

}  // namespace

EventFilter::EventFilter(const EventQuery& query, const store::Resume& resume)
    : query_(query), attributes_(attributes_of(resume)), tree_(attributes_, query.view) {
  for (std::uint32_t l = 0; l < attributes_.size(); ++l) {
    const LeafIndex leaf(l);
    const bool below =
        query.nodes.empty() || std::any_of(query.nodes.begin(), query.nodes.end(),
                                           [&](const auto& n) { return tree_.at_or_below(leaf, n); });
    wanted_.push_back(below && one_matches(query.paths, path(leaf)) && shows(leaf));
  }
  known_.resize(attributes_.size());
}

Status EventFilter::check() {
  if (query_.to <= query_.from) return fail(ErrorCode::kInvalidArgument, "the time range is empty");
  if (Status ok = ViewTree::check(attributes_, query_.view); !ok)
    return fail(ErrorCode::kInvalidArgument, "view: " + ok.error().message);
  const auto count = static_cast<std::uint32_t>(attributes_.size());
  const auto is_there = [&](const std::string& node) {
    for (std::uint32_t l = 0; l < count; ++l)
      if (tree_.at_or_below(LeafIndex(l), node)) return true;
    return false;
  };
  for (const std::string& node : query_.nodes)
    if (!is_there(node))
      return fail(ErrorCode::kInvalidArgument, "there is no resource at or below '" + node + "'; it has " +
                                                   (count == 0 ? "none" : path(LeafIndex(0))) +
                                                   (count > 1 ? " to " + path(LeafIndex(count - 1)) : ""));
  if (!query_.resources.empty() && std::find(wanted_.begin(), wanted_.end(), true) == wanted_.end())
    return fail(ErrorCode::kInvalidArgument, "filter: it leaves none of the resources of this run");
  try {
    // Polynomial: never a time that is exponential in the text, as with back-references.
    if (!query_.match.empty())
      match_.assign(query_.match, std::regex_constants::ECMAScript | std::regex_constants::__polynomial);
  } catch (const std::regex_error& e) {
    return fail(ErrorCode::kInvalidArgument, "'" + query_.match + "' is no regular expression: " + e.what());
  }
  return {};
}

bool EventFilter::look_up(LeafIndex leaf, const trace::Name& name) {
  ++looked_up_;
  const bool state = query_.states.empty() || (name.kind == trace::Name::Kind::kState &&
                                               std::find(query_.states.begin(), query_.states.end(),
                                                         name.text) != query_.states.end());
  const auto family = name.kind == trace::Name::Kind::kState ? static_cast<wire::StateFamily>(name.family)
                                                             : wire::FAMILY_MARK;  // of none
  return state && one_matches(query_.names, name.text) && query_.terms.shows(name.text, family) &&
         (query_.match.empty() || std::regex_search(path(leaf) + " " + name.text, match_));
}

bool EventFilter::passes(const Occurrence& o, const std::vector<trace::Name>& names) {
  if (query_.peer && o.peer != *query_.peer) return false;
  if (query_.least_bytes > 0 || query_.most_bytes > 0) {
    if (o.kind == Occurrence::Kind::kVariable || o.bytes < query_.least_bytes) return false;
    if (query_.most_bytes > 0 && o.bytes > query_.most_bytes) return false;
  }
  auto& known = known_[o.leaf.value];
  if (known.size() <= o.name) known.resize(names.size());
  std::uint8_t& passes = known[o.name];
  if (passes == 0) passes = look_up(o.leaf, names[o.name]) ? 1 : 2;
  return passes == 1;
}

bool EventFilter::lasts_as_wanted(const Occurrence& o) const {
  const DurationNs lasts = o.end - o.begin;
  return lasts >= query_.least && (query_.most_lasts.value == 0 || lasts <= query_.most_lasts);
}

bool starts_earlier(const Occurrence& a, const Occurrence& b) {
  if (a.begin != b.begin) return a.begin < b.begin;
  if (a.leaf != b.leaf) return a.leaf < b.leaf;
  return a.depth != b.depth ? a.depth < b.depth : all_of(a) < all_of(b);
}

bool is_longer(const Occurrence& a, const Occurrence& b) {
  const DurationNs x = a.end - a.begin, y = b.end - b.begin;
  return x != y ? x > y : starts_earlier(a, b);
}

TimeNs read_beyond(TimeNs to) {
  return std::min(to, TimeNs(std::numeric_limits<std::int64_t>::max()) - kBeyond) + kBeyond;
}

Status some_are_kept(const store::Archive& archive, TimeNs to) {
  const auto oldest = archive.oldest(store::Shelf::kRaw, LevelIndex(0));
  if (!oldest) return tl::unexpected(oldest.error());
  if (!*oldest || **oldest >= to)
    return fail(ErrorCode::kNotFound,
                "there are no single events of that time (--no-raw, or they were deleted for space); margay "
                "partition shows what the slices tell");
  return {};
}

}  // namespace margay::daemon
