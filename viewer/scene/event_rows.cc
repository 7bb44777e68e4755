#include "margay/scene/event_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "durations.h"
#include "events_answer.h"
#include "margay/base/text.h"
#include "margay/scene/time_axis.h"

namespace margay::scene {
namespace {

constexpr std::size_t kLongestPath = 2048;  // bytes
constexpr std::uint32_t kDeepest = 64;      // that a name is set in
constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

class EventReader {
 public:
  explicit EventReader(const wire::EventsAnswer& answer) : in_(answer) {}

  Result<EventPage> read() {
    if (!in_.error().empty()) return fail(ErrorCode::kUnavailable, clean_utf8(in_.error(), 4096));
    if (std::max(in_.resource_size(), in_.density_size()) > kMostEventRows ||
        std::max(in_.resources_size(), in_.names_size()) > kMostEventRows)
      return fail(ErrorCode::kLimit, "the daemon's answer: it has more rows than a page may have (" +
                                         std::to_string(kMostEventRows) + ")");
    for (const auto step :
         {&EventReader::head, &EventReader::names, &EventReader::rows, &EventReader::density})
      if (Status ok = (this->*step)(); !ok) return tl::unexpected(ok.error());
    return std::move(out_);
  }

 private:
  Status head() {
    out_.token = in_.token();
    const auto time = internal::stretch_of(in_);
    if (!time) return tl::unexpected(time.error());
    out_.time = *time;
    out_.zero = TimeNs(in_.zero_ns());
    out_.stuck = in_.stuck();
    if (in_.has_next()) out_.next = in_.next();
    out_.read_until = std::clamp(TimeNs(in_.read_until_ns()), out_.time.from, out_.time.to);
    out_.holes = in_.holes();
    out_.exact = in_.exact();
    return {};
  }

  Status names() {
    for (const std::string& path : in_.resources()) out_.resources.push_back(clean_utf8(path, kLongestPath));
    out_.names = internal::names_of(in_);
    return {};
  }

  Status rows() {
    const int n = in_.resource_size();
    for (const int size : {in_.name_size(), in_.kind_size(), in_.depth_size(), in_.begin_ns_size(),
                           in_.length_ns_size(), in_.calls_size(), in_.longest_ns_size(), in_.bytes_size(),
                           in_.peer_size(), in_.tag_size(), in_.communicator_size(), in_.flags_size()})
      if (size != n) return internal::bad_answer("the lists of its rows differ in length");
    out_.rows.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i)
      if (Status ok = row(i); !ok) return ok;
    return {};
  }

  Status row(int i) {
    const auto bad = [&](const char* what) {
      return internal::bad_answer("row " + std::to_string(i) + what);
    };
    EventRow r;
    r.resource = in_.resource(i), r.name = in_.name(i);
    if (r.resource >= out_.resources.size()) return bad(" is of no resource");
    if (r.name >= out_.names.size()) return bad(" has no name");
    if (in_.kind(i) > static_cast<std::uint32_t>(EventRow::Kind::kLinkEnd)) return bad(" is of no kind");
    r.kind = static_cast<EventRow::Kind>(in_.kind(i));
    r.depth = in_.depth(i);
    std::int64_t end = 0;
    if (in_.length_ns(i) > static_cast<std::uint64_t>(kLast) ||
        __builtin_add_overflow(out_.time.from.value, in_.begin_ns(i), &r.begin.value) ||
        __builtin_add_overflow(r.begin.value, static_cast<std::int64_t>(in_.length_ns(i)), &end))
      return bad(" ends beyond all times");
    r.end = TimeNs(end);
    r.calls = in_.calls(i);
    r.longest = DurationNs(static_cast<std::int64_t>(std::min<std::uint64_t>(in_.longest_ns(i), kLast)));
    r.bytes = in_.bytes(i);
    r.peer = in_.peer(i), r.tag = in_.tag(i), r.communicator = in_.communicator(i);
    r.begun_before = in_.flags(i) & 1, r.goes_on = in_.flags(i) & 2;
    out_.rows.push_back(r);
    return {};
  }

  // Sums of all pages fit 64 bits, whoever made them up.
  Status density() {
    for (const std::uint64_t n : in_.density())
      out_.density.push_back(std::min<std::uint64_t>(n, std::uint64_t{1} << 40));
    return {};
  }

  const wire::EventsAnswer& in_;
  EventPage out_;
};

std::optional<double> value_of(const EventRow& r) {
  if (r.kind != EventRow::Kind::kVariable) return {};
  const auto value = std::bit_cast<double>(r.bytes);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool carries(const EventRow& r) {
  return r.kind != EventRow::Kind::kVariable && r.bytes != 0;
}

std::string number(double value, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

const char* kind_name(EventRow::Kind kind) {
  static constexpr const char* kNames[] = {"state", "region", "variable", "mark", "link_begin", "link_end"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string seconds_since(TimeNs zero, TimeNs t) {
  const std::int64_t ns = internal::minus(t.value, zero.value);
  const std::uint64_t size = ns < 0 ? ~static_cast<std::uint64_t>(ns) + 1 : static_cast<std::uint64_t>(ns);
  char text[40];
  std::snprintf(text, sizeof text, "%s%llu.%09llu", ns < 0 ? "-" : "",
                static_cast<unsigned long long>(size / internal::kSecond),
                static_cast<unsigned long long>(size % internal::kSecond));
  return text;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos && !text.empty() && text.front() != ' ' &&
      text.back() != ' ')
    return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

std::string details(const EventPage& page, const EventRow& r) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (const auto value = value_of(r)) add("= " + number(*value, "%.6g"));
  if (r.kind == EventRow::Kind::kLinkBegin) add("a link begins");
  if (r.kind == EventRow::Kind::kLinkEnd) add("a link ends");
  if (page.names[r.name].family == wire::FAMILY_UNKNOWN) add("events are missing");
  if (r.peer != -1 && r.communicator != 0) add("communicator " + std::to_string(r.communicator));
  if (r.tag != -1) add((r.lasts() ? "tag " : "link ") + std::to_string(r.tag));
  if (r.calls != 1) add("summed, the longest " + duration_text(r.longest));
  if (r.begun_before) add("began before");
  if (r.goes_on) add("goes on");
  return out;
}

}  // namespace

Result<EventPage> event_page_untrusted(const wire::EventsAnswer& answer) {
  return EventReader(answer).read();
}

std::string event_cell(const EventPage& page, const EventRow& r, EventColumn column) {
  switch (column) {
    case EventColumn::kBegin:
      return seconds_since(page.zero, r.begin);
    case EventColumn::kDuration:
      return r.lasts() ? (r.goes_on ? "≥ " : "") + duration_text(r.end - r.begin) : "";
    case EventColumn::kResource:
      return page.resources[r.resource];
    case EventColumn::kName:
      return std::string(2 * std::size_t{std::min(r.depth, kDeepest)}, ' ') + page.names[r.name].name;
    case EventColumn::kPartner:
      return r.peer != -1 ? "rank " + std::to_string(r.peer) : "";
    case EventColumn::kBytes:
      return carries(r) ? size_text(r.bytes) : "";
    case EventColumn::kCalls:
      return r.calls != 1 ? grouped(r.calls) : "";
    case EventColumn::kDetails:
      return details(page, r);
  }
  return "";
}

std::string event_csv_head() {
  return "begin_s,duration_ns,kind,resource,name,depth,calls,longest_ns,bytes,peer,tag,communicator,value,"
         "began_before,goes_on\n";
}

std::string event_csv(const EventPage& page, const EventRow& r) {
  const auto some = [](bool there, const std::string& text) { return there ? text : std::string(); };
  const auto value = value_of(r);
  return seconds_since(page.zero, r.begin) + "," + std::to_string((r.end - r.begin).value) + "," +
         kind_name(r.kind) + "," + csv_field(page.resources[r.resource]) + "," +
         csv_field(page.names[r.name].name) + "," + std::to_string(r.depth) + "," + std::to_string(r.calls) +
         "," + some(r.calls != 1, std::to_string(r.longest.value)) + "," +
         some(carries(r), std::to_string(r.bytes)) + "," + some(r.peer != -1, std::to_string(r.peer)) + "," +
         some(r.tag != -1, std::to_string(r.tag)) + "," + some(r.peer != -1, std::to_string(r.communicator)) +
         "," + some(value.has_value(), number(value.value_or(0), "%.17g")) +
         (r.begun_before ? ",TRUE" : ",FALSE") + (r.goes_on ? ",TRUE\n" : ",FALSE\n");
}

}  // namespace margay::scene
