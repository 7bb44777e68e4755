#include "margay/query/event_list.h"

#include <algorithm>
#include <limits>

#include "event_filter.h"
#include "margay/trace/archive_trace.h"

namespace margay::daemon {
namespace {

using trace::Occurrence;

constexpr std::size_t kReleaseFrom = 1 << 16;

class Lister {
 public:
  Lister(const EventQuery& query, const store::Resume& resume,
         const std::function<Status(const EventRow&)>& take)
      : query_(query),
        filter_(query, resume),
        take_(take),
        release_from_(std::min(kReleaseFrom, query.most_held)),
        release_at_(release_from_),
        occurrences_(query.from, query.to, [this](const Occurrence& o) { return see(o); }) {}

  Status check();
  Result<EventCounts> read(const store::Archive& archive, const store::Resume& resume);

 private:
  // Why a reading ends before all was read.
  static tl::unexpected<Error> enough() { return fail(ErrorCode::kTimeout, "enough"); }

  Status see(const Occurrence& o);
  bool passes(const Occurrence& o);
  Status release(bool all);
  Status tell(const Occurrence& o);

  const EventQuery& query_;
  EventFilter filter_;
  const std::function<Status(const EventRow&)>& take_;
  const std::size_t release_from_;  // rows that are held before it is looked which may go
  std::size_t release_at_;
  trace::Occurrences occurrences_;
  std::vector<Occurrence> held_;
  TimeNs reached_{std::numeric_limits<std::int64_t>::min()};  // records that are still to come are no earlier
  TimeNs told_until_{std::numeric_limits<std::int64_t>::min()};
  bool full_ = false;
  EventCounts counts_;
};

Status Lister::check() {
  if (Status ok = filter_.check(); !ok) return ok;
  if (query_.longest > EventQuery::kMostLongest)
    return fail(ErrorCode::kLimit,
                "at most " + std::to_string(EventQuery::kMostLongest) + " of the longest are sorted");
  return {};
}

bool Lister::passes(const Occurrence& o) {
  if (query_.longest > 0 && o.kind >= Occurrence::Kind::kVariable) return false;  // they last for no time
  return filter_.lasts_as_wanted(o) && filter_.passes(o, occurrences_.names());
}

Status Lister::see(const Occurrence& o) {
  if (!passes(o)) return {};
  held_.push_back(o);
  if (query_.refused > 0 && held_.size() > query_.refused)
    return fail(ErrorCode::kLimit, "there are more than " + std::to_string(query_.refused) + " events");
  if (query_.longest > 0) {
    if (held_.size() < 2 * query_.longest + kReleaseFrom) return {};
    const auto end = held_.begin() + static_cast<std::ptrdiff_t>(query_.longest);
    std::nth_element(held_.begin(), end, held_.end(), is_longer);
    held_.erase(end, held_.end());
    return {};
  }
  return held_.size() < release_at_ || query_.refused > 0 ? Status() : release(false);
}

// Those that nothing still to come can precede.
Status Lister::release(bool all) {
  std::sort(held_.begin(), held_.end(), query_.longest > 0 ? is_longer : starts_earlier);
  std::size_t n = held_.size();
  if (query_.longest > 0) {
    n = std::min<std::size_t>(n, query_.longest);
  } else if (!all) {
    const TimeNs safe = std::min(reached_, occurrences_.oldest_open().value_or(reached_));
    n = static_cast<std::size_t>(std::lower_bound(held_.begin(), held_.end(), safe,
                                                  [](const Occurrence& o, TimeNs t) { return o.begin < t; }) -
                                 held_.begin());
    if (held_.size() - n > query_.most_held) n = std::max(n, held_.size() / 2);
  }
  for (std::size_t i = 0; i < n; ++i)
    if (Status ok = tell(held_[i]); !ok) return ok;
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(n));
  release_at_ = std::max(release_from_, 2 * held_.size());
  return {};
}

Status Lister::tell(const Occurrence& o) {
  if (query_.most > 0 && counts_.told == query_.most) {
    counts_.more = full_ = true;
    return enough();
  }
  if (query_.longest == 0) {
    counts_.late += o.begin < told_until_ ? 1 : 0;
    told_until_ = std::max(told_until_, o.begin);
  }
  ++counts_.told;
  return take_({o, filter_.path(o.leaf), occurrences_.names()[o.name]});
}

Result<EventCounts> Lister::read(const store::Archive& archive, const store::Resume& resume) {
  trace::ArchiveTraceOptions options;
  options.from = query_.from;
  options.to = read_beyond(query_.to);
  options.wanted = [this](LeafIndex l) { return filter_.wanted(l); };
  options.step = [this](TimeNs t) -> Status {
    reached_ = std::max(reached_, t);
    if (query_.progress && t > query_.from)
      query_.progress(static_cast<double>((t - query_.from).value) /
                      static_cast<double>((query_.to - query_.from).value));
    if (query_.go_on && !query_.go_on()) return fail(ErrorCode::kTimeout, "the reading was ended");
    return {};
  };
  const auto read = trace::read_archive(archive, resume, options, occurrences_);
  if (!read && !full_) return tl::unexpected(read.error());
  if (!full_)
    if (Status ok = release(true); !ok && !full_) return tl::unexpected(ok.error());
  if (read) counts_.holes = read->holes, counts_.rejected = read->rejected, counts_.exact = read->exact;
  return counts_;
}

}  // namespace

Result<EventCounts> list_events(const store::Archive& archive, const store::Resume& resume,
                                const EventQuery& query, const std::function<Status(const EventRow&)>& take) {
  Lister lister(query, resume, take);
  if (Status ok = lister.check(); !ok) return tl::unexpected(ok.error());
  const auto raw = trace::has_raw(archive, resume, query.from);
  if (!raw) return tl::unexpected(raw.error());
  if (Status kept = some_are_kept(archive, query.to); !kept) return tl::unexpected(kept.error());
  auto counts = lister.read(archive, resume);
  if (counts) counts->exact = counts->exact && *raw;
  return counts;
}

}  // namespace margay::daemon
