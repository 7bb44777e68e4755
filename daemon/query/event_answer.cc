#include "margay/query/event_answer.h"

#include <algorithm>
#include <map>

#include "event_sums.h"
#include "margay/base/text.h"
#include "margay/query/waits.h"

namespace margay::daemon {
namespace {

// Rows as columns, resources and names once each.
class Page {
 public:
  Page(wire::EventsAnswer& answer, TimeNs from) : answer_(answer), from_(from) {}

  void add(const EventRow& row) {
    const trace::Occurrence& o = row.what;
    answer_.add_resource(
        index_of(resources_, o.leaf.value, [&] { answer_.add_resources(clean_utf8(row.resource)); }));
    answer_.add_name(index_of(names_, o.name, [&] { add_name(row.name); }));
    answer_.add_kind(static_cast<std::uint32_t>(o.kind));
    answer_.add_depth(o.depth);
    answer_.add_begin_ns((o.begin - from_).value);
    answer_.add_length_ns(static_cast<std::uint64_t>((o.end - o.begin).value));
    answer_.add_calls(o.calls);
    answer_.add_longest_ns(static_cast<std::uint64_t>(std::max<std::int64_t>(o.longest.value, 0)));
    answer_.add_bytes(o.bytes);
    answer_.add_peer(o.peer);
    answer_.add_tag(o.tag);
    answer_.add_communicator(o.comm);
    answer_.add_flags((o.begun_before ? 1u : 0u) | (o.goes_on ? 2u : 0u));
  }

 private:
  using Known = std::map<std::uint32_t, std::uint32_t>;
  template <class Add>
  static std::uint32_t index_of(Known& known, std::uint32_t what, const Add& add) {
    const auto [at, is_new] = known.emplace(what, static_cast<std::uint32_t>(known.size()));
    if (is_new) add();
    return at->second;
  }
  void add_name(const trace::Name& name) {
    wire::Name& out = *answer_.add_names();
    out.set_name(clean_utf8(name.shown()));
    const std::pair<trace::Name::Kind, wire::StateFamily> families[] = {
        {trace::Name::Kind::kRegion, wire::FAMILY_REGION},
        {trace::Name::Kind::kVariable, wire::FAMILY_VARIABLE},
        {trace::Name::Kind::kMark, wire::FAMILY_MARK},
        {trace::Name::Kind::kLink, wire::FAMILY_LINK}};
    auto family = static_cast<wire::StateFamily>(name.family);
    for (const auto& [kind, of] : families)
      if (kind == name.kind) family = of;
    out.set_family(family);
  }

  wire::EventsAnswer& answer_;
  TimeNs from_;
  Known resources_, names_;
};

void put_question(const EventPageRequest& r, const EventQuery& list, wire::EventsQuestion& q) {
  q.set_from_ns(list.from.value), q.set_to_ns(list.to.value);
  q.set_kind(static_cast<wire::EventsQuestion::Kind>(r.kind));
  q.set_most(r.most);
  if (!r.after) return;
  q.mutable_after()->set_at_ns(r.after->at.value);
  q.mutable_after()->set_rows(r.after->rows);
}

// One at a time: each is in the list once.
Status put_waits(const store::Archive& archive, const store::Resume& resume, const EventPageRequest& r,
                 const EventQuery& list, wire::EventsAnswer& answer) {
  const auto read = read_waits(archive, resume, {list.nodes, r.except, list.from, list.to, list.go_on});
  if (!read && read.error().code == ErrorCode::kTimeout)
    return fail(
        ErrorCode::kTimeout,
        "so much happened in this stretch that it was not read to its end in time: who waited for whom "
        "is not known");
  if (!read) return tl::unexpected(read.error());
  wire::EventsWaits& out = *answer.mutable_waits();
  const auto waited = static_cast<double>(read->waited.value);
  out.set_leaves(static_cast<std::uint32_t>(read->leaves));
  out.set_waited_ns(static_cast<std::uint64_t>(read->waited.value));
  out.set_unknown_ns(static_cast<std::uint64_t>(std::max(0.0, read->unknown * waited + 0.5)));
  for (const WaitedFor& w : read->partners) {
    out.add_partner(static_cast<std::uint32_t>(answer.resources_size()));
    out.add_for_ns(static_cast<std::uint64_t>(w.time.value));
    answer.add_resources(clean_utf8(w.resource));
  }
  return {};
}

}  // namespace

wire::EventsAnswer answer_events(const store::Archive& archive, const store::Resume& resume,
                                 const ZoomExtent& extent, const EventPageRequest& request,
                                 const Clock& clock, const std::function<bool()>& go_on) {
  EventQuery list = request.list;
  const TimeNs begin = std::min(resume.run.begin, extent.zero), end = extent.end + DurationNs(1);
  list.from = request.whole ? begin : std::clamp(list.from, begin, end);
  list.to = request.whole ? end : std::clamp(list.to, begin, end);
  if (list.to <= list.from) return events_error(0, "this run: nothing is in this range of it");
  const TimeNs until = clock.monotonic() + request.patience;
  list.go_on = [&] { return go_on() && clock.monotonic() < until; };
  const bool waits = request.kind == EventPageRequest::Kind::kWaits;
  if (waits) list.to = std::min(list.to, list.from + WaitsQuery::kLongest);
  if (waits || request.kind == EventPageRequest::Kind::kSums ||
      request.kind == EventPageRequest::Kind::kPairs) {
    wire::EventsAnswer sums;
    const Status ok = waits ? put_waits(archive, resume, request, list, sums)
                            : put_sums(archive, resume, request, list, sums);
    if (!ok) return events_error(0, ok.error().message);
    put_question(request, list, *sums.mutable_question());
    sums.set_zero_ns(extent.zero.value);
    sums.set_read_until_ns(list.to.value);
    return sums;
  }
  std::optional<EventPlace> after = request.after;
  if (after && (after->at < list.from || after->at > list.to))
    return events_error(0, "after: is not a place of this range");

  wire::EventsAnswer answer;
  Page page(answer, list.from);
  std::vector<std::uint64_t> density(request.kind == EventPageRequest::Kind::kDensity ? request.most : 0);
  const auto whole = static_cast<double>((list.to - list.from).value);
  const auto counts = list_event_page(archive, resume, list, after, [&](const EventRow& row) -> Status {
    if (density.empty()) return page.add(row), Status();
    const double at =
        static_cast<double>((row.what.begin - list.from).value) / whole * static_cast<double>(density.size());
    ++density[static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(density.size() - 1)))];
    return {};
  });
  if (!counts) return events_error(0, counts.error().message);
  put_question(request, list, *answer.mutable_question());
  answer.set_zero_ns(extent.zero.value);
  answer.mutable_density()->Add(density.begin(), density.end());
  answer.set_stuck(counts->stuck);
  if (counts->next) {
    answer.mutable_next()->set_at_ns(counts->next->at.value);
    answer.mutable_next()->set_rows(counts->next->rows);
  }
  answer.set_read_until_ns(counts->read_until.value);
  answer.set_holes(counts->holes);
  answer.set_exact(counts->exact);
  return answer;
}

wire::EventsAnswer events_error(std::uint64_t token, const std::string& sentence) {
  wire::EventsAnswer answer;
  answer.set_token(token);
  answer.mutable_question()->set_token(token);
  answer.set_error(clean_utf8(sentence));
  return answer;
}

}  // namespace margay::daemon
