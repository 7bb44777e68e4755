#include "margay/query/event_page.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "event_filter.h"
#include "margay/trace/archive_trace.h"

namespace margay::daemon {
namespace {

using trace::Occurrence;

constexpr std::size_t kLookFrom = 1 << 14;
// A page that is full but for what is open waits for its end as long as so many begin meanwhile.
constexpr std::size_t kMostWaiting = 1 << 17;
constexpr TimeNs kNever{std::numeric_limits<std::int64_t>::min()},
    kEver{std::numeric_limits<std::int64_t>::max()};

// Between the archive and Occurrences, to see what is lost.
class PageReader : public trace::Consumer {
 public:
  PageReader(const EventQuery& query, const store::Resume& resume, const std::optional<EventPlace>& after,
             const std::function<Status(const EventRow&)>& take)
      : query_(query),
        after_(after),
        filter_(query, resume),
        take_(take),
        // A moment earlier, so that what is open where the reading begins has begun before the place.
        from_(after ? after->at - DurationNs(1) : query.from),
        floor_(after ? after->at : query.from),
        occurrences_(from_, query.to, [this](const Occurrence& o) { return see(o); }) {}

  Status check() { return filter_.check(); }
  Result<EventPageCounts> read(const store::Archive& archive, const store::Resume& resume);

  Status on_name(std::uint16_t index, const trace::Name& name) override {
    return occurrences_.on_name(index, name);
  }
  Status on_leaf(LeafIndex index, const trace::Leaf& leaf) override {
    return occurrences_.on_leaf(index, leaf);
  }
  Status on_records(LeafIndex leaf, std::span<const EventRecord> records) override {
    for (const EventRecord& r : records)
      if (r.kind == MARGAY_GAP && r.time_ns >= from_.value) ++counts_.holes;
    return occurrences_.on_records(leaf, records);
  }
  Status on_covered(TimeNs t) override { return occurrences_.on_covered(t); }

 private:
  // Why a reading ends before all was read.
  tl::unexpected<Error> enough() {
    ended_ = true;
    return fail(ErrorCode::kTimeout, "enough");
  }
  bool by_time() const { return query_.most > 0 && query_.longest == 0; }
  bool any_length() const { return query_.least.value == 0 && query_.most_lasts.value == 0; }
  bool in_any_order() const { return query_.most == 0 && query_.longest == 0; }
  Status see(const Occurrence& o);
  Status step(TimeNs t);
  Status tell(const Occurrence& o);
  Status tell_before(TimeNs until);
  Status end_here();
  TimeNs safe() const { return std::min(reached_, occurrences_.oldest_open(floor_).value_or(reached_)); }
  std::uint64_t ready(TimeNs until) const {
    return static_cast<std::uint64_t>(
        std::count_if(held_.begin(), held_.end(), [&](const Occurrence& o) { return o.begin < until; }));
  }
  std::uint64_t wanted() const {
    return query_.most +
           std::min<std::uint64_t>(after_ ? after_->rows : 0, std::numeric_limits<std::uint32_t>::max());
  }

  const EventQuery& query_;
  const std::optional<EventPlace>& after_;
  EventFilter filter_;
  const std::function<Status(const EventRow&)>& take_;
  const TimeNs from_, floor_;
  trace::Occurrences occurrences_;
  std::vector<Occurrence> held_;
  std::size_t look_at_ = kLookFrom;  // rows that are held before it is looked which may go
  EventPlace place_{kNever, 0};      // behind the last row that was told, or passed over
  TimeNs reached_ = kNever;          // records that are still to come are no earlier
  std::uint64_t looked_up_ = 0;
  bool ended_ = false;               // before all was read
  bool ending_ = false;              // what is open is told as going on
  std::optional<TimeNs> undecided_;  // of what is open then the first begin of what may pass by its end
  EventPageCounts counts_;
};

Status PageReader::see(const Occurrence& o) {
  if (after_ && (o.begin < after_->at || o.begun_before)) return {};           // was told
  if (query_.longest > 0 && o.kind >= Occurrence::Kind::kVariable) return {};  // they last for no time
  if (!filter_.passes(o, occurrences_.names())) return {};
  const DurationNs lasts = o.end - o.begin;
  if (ending_ && (lasts < query_.least || (query_.most_lasts.value > 0 && lasts <= query_.most_lasts)))
    undecided_ = std::min(undecided_.value_or(o.begin), o.begin);
  if (!filter_.lasts_as_wanted(o)) return {};
  held_.push_back(o);
  if (ending_) return {};
  if (query_.longest > 0 && held_.size() >= 2 * query_.longest + kLookFrom) {
    const auto end = held_.begin() + static_cast<std::ptrdiff_t>(query_.longest);
    std::nth_element(held_.begin(), end, held_.end(), is_longer);
    held_.erase(end, held_.end());
  }
  // A regular expression may take its time.
  if (!query_.match.empty() && filter_.looked_up() != looked_up_) {
    looked_up_ = filter_.looked_up();
    if (query_.go_on && !query_.go_on()) return enough();
  }
  return query_.longest == 0 && held_.size() >= query_.most_held ? enough() : Status();
}

Status PageReader::step(TimeNs t) {
  reached_ = std::max(reached_, t);
  if (in_any_order() && held_.size() >= look_at_) {
    if (Status ok = tell_before(any_length() ? reached_ : safe()); !ok) return ok;
    look_at_ = std::max(kLookFrom, 2 * held_.size());
  }
  if (by_time() && held_.size() > wanted() && ready(safe()) > wanted()) return enough();
  if (by_time() && held_.size() >= kMostWaiting && ready(reached_) > wanted()) return enough();
  return query_.go_on && !query_.go_on() ? enough() : Status();
}

Status PageReader::tell(const Occurrence& o) {
  ++counts_.told;
  return take_({o, filter_.path(o.leaf), occurrences_.names()[o.name]});
}

// The rows that begin before, up to as many as are wanted.
Status PageReader::tell_before(TimeNs until) {
  const auto end =
      std::partition(held_.begin(), held_.end(), [&](const Occurrence& o) { return o.begin < until; });
  if (!in_any_order()) std::sort(held_.begin(), end, query_.longest > 0 ? is_longer : starts_earlier);
  for (auto o = held_.begin(); o != end; ++o) {
    if (query_.longest > 0 && counts_.told == query_.longest) break;
    if (by_time()) {
      if (o->begin != place_.at) place_ = {o->begin, 0};
      const bool passed_over = after_ && o->begin == after_->at && place_.rows < after_->rows;
      if (!passed_over && counts_.told == query_.most) {
        counts_.next = place_;
        return {};
      }
      ++place_.rows;
      if (passed_over) continue;
    }
    if (Status ok = tell(*o); !ok) return ok;
  }
  held_.erase(held_.begin(), end);
  return {};
}

// The page ends before the stretch does.
Status PageReader::end_here() {
  TimeNs until = safe();
  const std::uint64_t rows = ready(until);
  // Half of what was read need not be read again.
  const bool far_enough =
      rows > 0 || (reached_ > floor_ && until - floor_ > DurationNs((reached_ - floor_).value / 2));
  if (reached_ > floor_ && (in_any_order() || !far_enough)) {
    ending_ = true;
    if (Status ok = occurrences_.on_covered(reached_); !ok) return ok;
    until = std::min(reached_, undecided_.value_or(reached_));
  }
  counts_.stuck = until <= floor_;
  if (counts_.stuck)
    counts_.next = after_;
  else if (Status ok = tell_before(until); !ok)
    return ok;
  else if (!counts_.next)
    counts_.next = EventPlace{until, 0};
  return {};
}

Result<EventPageCounts> PageReader::read(const store::Archive& archive, const store::Resume& resume) {
  trace::ArchiveTraceOptions options;
  options.from = from_;
  options.to = read_beyond(query_.to);
  options.wanted = [this](LeafIndex l) { return filter_.wanted(l); };
  options.ends_in_time = true;
  options.step = [this](TimeNs t) { return step(t); };
  const auto read = trace::read_archive(archive, resume, options, *this);
  if (!read && !ended_) return tl::unexpected(read.error());
  if (read) counts_.exact = read->exact;
  const Status told = read ? tell_before(kEver) : end_here();
  if (!told) return tl::unexpected(told.error());
  counts_.read_until = counts_.stuck ? floor_ : counts_.next ? counts_.next->at : query_.to;
  return counts_;
}

}  // namespace

Result<EventPageCounts> list_event_page(const store::Archive& archive, const store::Resume& resume,
                                        const EventQuery& query, const std::optional<EventPlace>& after,
                                        const std::function<Status(const EventRow&)>& take) {
  PageReader reader(query, resume, after, take);
  if (Status ok = reader.check(); !ok) return tl::unexpected(ok.error());
  const auto raw = trace::has_raw(archive, resume, query.from);
  if (!raw) return tl::unexpected(raw.error());
  if (Status kept = some_are_kept(archive, query.to); !kept) return tl::unexpected(kept.error());
  auto counts = reader.read(archive, resume);
  if (counts) counts->exact = counts->exact && *raw;
  return counts;
}

}  // namespace margay::daemon
