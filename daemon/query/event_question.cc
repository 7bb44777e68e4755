#include "margay/query/event_question.h"

#include <algorithm>

#include "margay/query/view_question.h"

namespace margay::daemon {
namespace {

using Request = EventPageRequest;

tl::unexpected<Error> nonsense(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, what);
}

// How large the machine of a regular expression can become: a count repeats what is before it.
std::uint64_t size_of(const std::string& expression) {
  std::uint64_t size = expression.size();
  for (std::size_t at = expression.find('{'); at != std::string::npos; at = expression.find('{', at + 1)) {
    std::uint64_t count = 1, number = 0;
    for (std::size_t i = at + 1; i < expression.size() && expression[i] != '}'; ++i) {
      const char c = expression[i];
      number = c >= '0' && c <= '9'
                   ? std::min<std::uint64_t>(10 * number + static_cast<std::uint64_t>(c - '0'), 1 << 20)
                   : 0;
      count = std::max(count, number);
    }
    size = std::min<std::uint64_t>(size * count, std::uint64_t{1} << 40);
  }
  return size;
}

template <class Names>
Status check_names(const char* field, const Names& names, std::size_t longest, int& left) {
  left -= names.size();
  if (left < 0)
    return nonsense(std::string(field) + ": more than " + std::to_string(Request::kMostNames) +
                    " names in all");
  for (const std::string& name : names)
    if (name.empty() || name.size() > longest)
      return nonsense(std::string(field) + ": a name has 1 to " + std::to_string(longest) + " bytes");
  return {};
}

Status check(const wire::EventsQuestion& q) {
  const bool whole = q.from_ns() == 0 && q.to_ns() == 0;
  if (!whole && q.to_ns() <= q.from_ns()) return nonsense("to_ns: is not after from_ns");
  if (q.kind() < wire::EventsQuestion::BY_TIME || q.kind() > wire::EventsQuestion::WAITS)
    return nonsense("kind: is unknown");
  const bool pairs = q.kind() == wire::EventsQuestion::PAIRS, waits = q.kind() == wire::EventsQuestion::WAITS;
  const std::uint32_t most = waits ? 1 : pairs ? Request::kMostPairs : Request::kMostRows;
  if (q.most() < 1 || q.most() > most)
    return nonsense("most: " + std::to_string(q.most()) + ", expected 1 to " + std::to_string(most));
  const bool sums = q.kind() == wire::EventsQuestion::SUMS || pairs || waits;
  if (sums && q.has_after()) return nonsense("after: sums are not in pages");
  if ((pairs || waits) &&
      (q.states_size() + q.names_size() + q.paths_size() > 0 || !q.match().empty() || q.least_ns() != 0 ||
       q.most_ns() != 0 || q.least_bytes() != 0 || q.most_bytes() != 0 || q.has_peer()))
    return nonsense(pairs ? "kind: of PAIRS only nodes can be chosen"
                          : "kind: of WAITS only nodes can be chosen, and what is left out of them");
  if (pairs && q.filter().states_size() > 0) return nonsense("filter: of PAIRS only resources can be chosen");
  if (waits && q.has_filter()) return nonsense("filter: WAITS has none");
  if (waits && q.has_view()) return nonsense("view: WAITS has none");
  if (q.alike() < wire::EventsQuestion::NOT || q.alike() > wire::EventsQuestion::MEAN_TIME)
    return nonsense("alike: is unknown");
  if (!pairs && q.alike() != wire::EventsQuestion::NOT) return nonsense("alike: is of PAIRS alone");
  if (!waits && q.except_size() > 0) return nonsense("except: is of WAITS alone");
  if (waits && q.nodes_size() == 0) return nonsense("nodes: WAITS is of one at least");
  int left = Request::kMostNames;
  for (const Status& ok :
       {check_names("nodes", q.nodes(), Request::kLongestPath, left),
        check_names("states", q.states(), Request::kLongestName, left),
        check_names("names", q.names(), Request::kLongestName, left),
        check_names("paths", q.paths(), Request::kLongestPath, left),
        check_names("except", q.except(), Request::kLongestPath, left),
        check_names("filter", q.filter().states(), wire::StateTerms::kLongest, left),
        check_names("filter", q.filter().resources(), wire::ResourceTerms::kLongest, left)})
    if (!ok) return ok;
  if (q.match().size() > Request::kLongestMatch)
    return nonsense("match: longer than " + std::to_string(Request::kLongestMatch) + " bytes");
  if (size_of(q.match()) > Request::kMostMatchSize)
    return nonsense("match: its counts in { } repeat too much");
  if (q.least_ns() < 0) return nonsense("least_ns: is negative");
  if (q.most_ns() < 0 || (q.most_ns() > 0 && q.most_ns() < q.least_ns()))
    return nonsense("most_ns: is less than least_ns");
  if (q.most_bytes() > 0 && q.most_bytes() < q.least_bytes())
    return nonsense("most_bytes: is less than least_bytes");
  if (q.patience_ms() > Request::kLongestPatience.value / 1'000'000)
    return nonsense("patience_ms: " + std::to_string(q.patience_ms()) + ", at most 5000");
  return {};
}

}  // namespace

Result<EventPageRequest> decode_events_untrusted(const wire::EventsQuestion& q) {
  if (Status ok = check(q); !ok) return tl::unexpected(ok.error());
  auto filter = wire::run_filter_untrusted(q.filter());
  if (!filter) return tl::unexpected(filter.error());
  auto view = view_untrusted(q.view());
  if (!view) return tl::unexpected(view.error());
  EventPageRequest r;
  r.token = q.token();
  r.whole = q.from_ns() == 0 && q.to_ns() == 0;
  r.kind = static_cast<Request::Kind>(q.kind());
  r.most = q.most();
  r.alike = q.alike();
  EventQuery& list = r.list;
  list.from = TimeNs(q.from_ns()), list.to = TimeNs(q.to_ns());
  list.view = std::move(*view);
  list.nodes.assign(q.nodes().begin(), q.nodes().end());
  r.except.assign(q.except().begin(), q.except().end());
  list.states.assign(q.states().begin(), q.states().end());
  list.names.assign(q.names().begin(), q.names().end());
  list.paths.assign(q.paths().begin(), q.paths().end());
  list.terms = std::move(filter->states), list.resources = std::move(filter->resources);
  list.match = q.match();
  list.least = DurationNs(q.least_ns()), list.most_lasts = DurationNs(q.most_ns());
  list.least_bytes = q.least_bytes(), list.most_bytes = q.most_bytes();
  if (q.has_peer()) list.peer = q.peer();
  list.most = r.kind == Request::Kind::kByTime ? r.most : 0;
  list.longest = r.kind == Request::Kind::kLongest ? r.most : 0;
  if (q.has_after()) r.after = EventPlace{TimeNs(q.after().at_ns()), q.after().rows()};
  if (q.patience_ms() > 0) r.patience = milliseconds(q.patience_ms());
  return r;
}

}  // namespace margay::daemon
