#include "margay/query/event_list.h"

#include <algorithm>
#include <limits>
#include <regex>

#include "margay/base/glob.h"
#include "margay/model/hierarchy.h"
#include "margay/trace/archive_trace.h"

namespace margay::daemon {
namespace {

using trace::Occurrence;

// Read beyond the end: how long what is open there takes, and whether its end was lost.
constexpr DurationNs kBeyond = seconds(1);
constexpr std::size_t kReleaseFrom = 1 << 16;

bool starts_earlier(const Occurrence& a, const Occurrence& b) {
  // Of the same begin the outer one comes first.
  if (a.begin != b.begin) return a.begin < b.begin;
  if (a.leaf != b.leaf) return a.leaf < b.leaf;
  return a.depth != b.depth ? a.depth < b.depth : a.end < b.end;
}
bool is_longer(const Occurrence& a, const Occurrence& b) {
  const DurationNs x = a.end - a.begin, y = b.end - b.begin;
  return x != y ? x > y : starts_earlier(a, b);
}

class Lister {
 public:
  Lister(const EventQuery& query, const store::Resume& resume,
         const std::function<Status(const EventRow&)>& take)
      : query_(query),
        take_(take),
        release_from_(std::min(kReleaseFrom, query.most_held)),
        release_at_(release_from_),
        occurrences_(query.from, query.to, [this](const Occurrence& o) { return see(o); }) {
    std::vector<model::Attributes> leaves;
    for (const auto& l : resume.leaves) leaves.push_back(l.attributes);
    const model::Hierarchy hierarchy(leaves, model::Hierarchy::default_view());
    for (std::uint32_t l = 0; l < leaves.size(); ++l) {
      paths_.push_back(hierarchy.path_of(LeafIndex(l)));
      wanted_.push_back(query.nodes.empty() ||
                        std::any_of(query.nodes.begin(), query.nodes.end(), [&](const std::string& node) {
                          return model::at_or_below(paths_.back(), node);
                        }));
    }
    known_.resize(leaves.size());
  }

  Status check();
  Result<EventCounts> read(const store::Archive& archive, const store::Resume& resume);

 private:
  // Why a reading ends before all was read.
  static tl::unexpected<Error> enough() { return fail(ErrorCode::kTimeout, "enough"); }

  Status see(const Occurrence& o);
  bool passes(const Occurrence& o);
  bool passes_by_name(const Occurrence& o);
  Status release(bool all);
  Status tell(const Occurrence& o);

  const EventQuery& query_;
  const std::function<Status(const EventRow&)>& take_;
  const std::size_t release_from_;  // rows that are held before it is looked which may go
  std::size_t release_at_;
  trace::Occurrences occurrences_;
  std::regex match_;
  std::vector<std::string> paths_;
  std::vector<bool> wanted_;
  // By leaf and name: 1 passes, 2 does not.
  std::vector<std::vector<std::uint8_t>> known_;
  std::vector<Occurrence> held_;
  TimeNs reached_{std::numeric_limits<std::int64_t>::min()};  // records that are still to come are no earlier
  TimeNs told_until_{std::numeric_limits<std::int64_t>::min()};
  bool full_ = false;
  EventCounts counts_;
};

Status Lister::check() {
  if (query_.to <= query_.from) return fail(ErrorCode::kInvalidArgument, "the time range is empty");
  for (const std::string& node : query_.nodes)
    if (std::none_of(paths_.begin(), paths_.end(),
                     [&](const auto& p) { return model::at_or_below(p, node); }))
      return fail(ErrorCode::kInvalidArgument, "there is no resource at or below '" + node + "'; it has " +
                                                   (paths_.empty() ? "none" : paths_.front()) +
                                                   (paths_.size() > 1 ? " to " + paths_.back() : ""));
  if (query_.longest > EventQuery::kMostLongest)
    return fail(ErrorCode::kLimit,
                "at most " + std::to_string(EventQuery::kMostLongest) + " of the longest are sorted");
  try {
    if (!query_.match.empty()) match_.assign(query_.match, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& e) {
    return fail(ErrorCode::kInvalidArgument, "'" + query_.match + "' is no regular expression: " + e.what());
  }
  return {};
}

bool Lister::passes_by_name(const Occurrence& o) {
  auto& known = known_[o.leaf.value];
  if (known.size() <= o.name) known.resize(occurrences_.names().size());
  std::uint8_t& passes = known[o.name];
  if (passes != 0) return passes == 1;
  const std::string& name = occurrences_.names()[o.name].text;
  const bool named =
      query_.names.empty() || std::any_of(query_.names.begin(), query_.names.end(),
                                          [&](const std::string& g) { return glob_match(g, name); });
  const bool matched = query_.match.empty() || std::regex_search(paths_[o.leaf.value] + " " + name, match_);
  passes = named && matched ? 1 : 2;
  return passes == 1;
}

bool Lister::passes(const Occurrence& o) {
  if (query_.least.value > 0 && o.end - o.begin < query_.least) return false;
  if (query_.longest > 0 && o.kind >= Occurrence::Kind::kVariable) return false;  // they last for no time
  return passes_by_name(o);
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
  return take_({o, paths_[o.leaf.value], occurrences_.names()[o.name]});
}

Result<EventCounts> Lister::read(const store::Archive& archive, const store::Resume& resume) {
  trace::ArchiveTraceOptions options;
  options.from = query_.from;
  options.to = std::min(query_.to, TimeNs(std::numeric_limits<std::int64_t>::max()) - kBeyond) + kBeyond;
  options.wanted = [this](LeafIndex l) { return wanted_[l.value]; };
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
  const auto oldest = archive.oldest(store::Shelf::kRaw, LevelIndex(0));
  if (!oldest) return tl::unexpected(oldest.error());
  if (!*oldest || **oldest >= query.to)
    return fail(ErrorCode::kNotFound,
                "there are no single events of that time (--no-raw, or they were deleted for space); margay "
                "partition shows what the slices tell");
  auto counts = lister.read(archive, resume);
  if (counts) counts->exact = counts->exact && *raw;
  return counts;
}

}  // namespace margay::daemon
