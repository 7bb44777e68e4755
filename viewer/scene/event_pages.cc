#include "margay/scene/event_pages.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "margay/base/text.h"

namespace margay::scene {
namespace {

// Found anywhere, where it is no pattern.
std::string pattern_of(const std::string& text) {
  return text.find_first_of("*?") == std::string::npos ? "*" + text + "*" : text;
}

// Rows of several pages as one, with names and resources once each.
class Merged {
 public:
  void add(const EventPage& page) {
    for (EventRow row : page.rows) {
      row.resource = index_of(resources_, page.resources[row.resource],
                              [&](const std::string& path) { out_.resources.push_back(path); });
      row.name = index_of(names_, page.names[row.name].name,
                          [&](const std::string&) { out_.names.push_back(page.names[row.name]); });
      out_.rows.push_back(row);
    }
    out_.zero = page.zero;
    out_.time = page.time;
  }
  EventPage take() { return std::move(out_); }
  EventPage& page() { return out_; }

 private:
  using Index = std::unordered_map<std::string, std::uint32_t>;
  template <class Add>
  static std::uint32_t index_of(Index& index, const std::string& text, const Add& add) {
    const auto [at, is_new] = index.emplace(text, static_cast<std::uint32_t>(index.size()));
    if (is_new) add(text);
    return at->second;
  }
  EventPage out_;
  Index resources_, names_;
};

std::string share_text(double share) {
  return std::to_string(static_cast<int>(std::floor(100 * share))) + " %";
}

std::string rows_text(std::uint64_t n) {
  return grouped(n) + (n == 1 ? " row" : " rows");
}

}  // namespace

void EventPages::set(EventSubject subject) {
  *this = EventPages();
  subject_ = std::move(subject);
  list_.reached = count_.reached = subject_.time.from;
  last_seen_ = 1;
  if (subject_.longest) list_.first = list_.patience = kFirstOfLongest;
}

void EventPages::see(std::uint64_t first, std::uint64_t last) {
  first_seen_ = std::min(first, rows_);
  last_seen_ = std::max(last, first_seen_ + 1);
}

bool EventPages::list_lacks() const {
  if (list_.complete || subject_.time.to <= subject_.time.from) return false;
  return subject_.longest || (rows_ < last_seen_ + kPageRows && known_.size() < kMostPages);
}

bool EventPages::density_wanted() const {
  return !stopped_ && !count_.complete && subject_.time.from < subject_.time.to;
}

bool EventPages::wants_more() const {
  return list_wanted() || density_wanted();
}

std::size_t EventPages::page_of(std::uint64_t row) const {
  const auto after = std::upper_bound(known_.begin(), known_.end(), row,
                                      [](std::uint64_t r, const Known& k) { return r < k.first; });
  return static_cast<std::size_t>(after - known_.begin()) - 1;
}

// The first page in sight that was given up.
std::optional<std::size_t> EventPages::missing() const {
  if (subject_.longest || rows_ == 0) return {};
  const std::size_t last = page_of(std::min(last_seen_, rows_) - 1);
  for (std::size_t i = page_of(std::min(first_seen_, rows_ - 1)); i <= last; ++i)
    if (!kept_.contains(i)) return i;
  return {};
}

std::optional<wire::EventsQuestion> EventPages::next(std::uint64_t token) {
  if (under_way_ != 0) return {};
  fetched_ = missing();
  if (fetched_) return question(token, What::kPage);
  if (list_wanted()) return question(token, What::kList);
  if (density_wanted()) return question(token, What::kDensity);
  return {};
}

wire::EventsQuestion EventPages::question(std::uint64_t token, What what) {
  under_way_ = token;
  what_ = what;
  wire::EventsQuestion q;
  q.set_token(token);
  q.set_from_ns(subject_.time.from.value);
  q.set_to_ns(subject_.time.to.value);
  if (std::find(subject_.nodes.begin(), subject_.nodes.end(), "/") == subject_.nodes.end())
    for (const std::string& node : subject_.nodes) q.add_nodes(node);
  for (const std::string& s : subject_.states) q.add_states(s);
  put_filter(subject_.run_filter, q);
  put_view(subject_.view, q);
  const EventFilter& f = subject_.filter;
  if (!f.name.empty()) q.add_names(pattern_of(f.name));
  if (!f.resource.empty()) q.add_paths(pattern_of(f.resource));
  q.set_match(f.match);
  q.set_least_ns(f.least.value), q.set_most_ns(f.most.value);
  q.set_least_bytes(f.least_bytes), q.set_most_bytes(f.most_bytes);
  if (f.peer) q.set_peer(*f.peer);
  const Reading& reading = what == What::kDensity ? count_ : list_;
  q.set_patience_ms(reading.patience);
  if (reading.next) *q.mutable_after() = *reading.next;
  q.set_most(kPageRows);
  if (what == What::kDensity) {
    q.set_kind(wire::EventsQuestion::DENSITY);
    q.set_most(kBins);
  } else if (subject_.longest) {
    q.set_kind(wire::EventsQuestion::LONGEST);
    q.set_most(kMostLongest);
  }
  if (what == What::kPage) {
    const Known& page = known_[*fetched_];
    q.clear_after();
    if (page.after) *q.mutable_after() = *page.after;
    q.set_most(page.rows);
    q.set_patience_ms(kLast);
  }
  return q;
}

bool EventPages::take(const EventPagePtr& page) {
  if (under_way_ == 0 || page->token != under_way_) return false;
  under_way_ = 0;
  if (what_ == What::kPage) {
    keep(*fetched_, page);
    return true;
  }
  exact_ = exact_ && page->exact;
  if (what_ == What::kDensity) {
    if (page->density.size() == kBins) {
      density_.resize(kBins);
      for (std::size_t i = 0; i < kBins; ++i) density_[i] += page->density[i];
    }
    advance(count_, *page);
    return true;
  }
  if (subject_.longest)
    merge(*page);
  else
    append(page);
  holes_ += page->holes;
  advance(list_, *page);
  return true;
}

// What comes before it may take longer to read than the patience was.
void EventPages::advance(Reading& reading, const EventPage& page) {
  if (page.stuck) {
    if (reading.patience >= kLast) {
      stopped_ = true;
      trouble_ =
          "what comes next takes longer than 5 s to be read: a resource has been in one state since long "
          "before. "
          "Choose a node, or a later stretch";
    }
    reading.patience = std::min(2 * reading.patience, kLast);
    return;
  }
  reading.patience = std::min(reading.patience, 2 * reading.first);
  reading.reached = std::max(reading.reached, page.read_until);
  reading.complete = !page.next;
  reading.next = page.next;
}

void EventPages::append(const EventPagePtr& page) {
  if (page->rows.empty()) return;
  known_.push_back(
      {rows_, static_cast<std::uint32_t>(page->rows.size()), page->rows.front().begin, list_.next});
  rows_ += page->rows.size();
  keep(known_.size() - 1, page);
}

void EventPages::merge(const EventPage& page) {
  Merged all;
  if (longest_) all.add(*longest_);
  all.add(page);
  std::vector<EventRow>& rows = all.page().rows;
  std::stable_sort(rows.begin(), rows.end(), [](const EventRow& a, const EventRow& b) {
    const DurationNs x = a.end - a.begin, y = b.end - b.begin;
    return x != y ? x > y : a.begin < b.begin;
  });
  rows.resize(std::min<std::size_t>(rows.size(), kMostLongest));
  // Once more: names of rows that are no longer there go with them.
  Merged left;
  left.add(all.page());
  longest_ = std::make_shared<const EventPage>(left.take());
  rows_ = longest_->rows.size();
}

// The one that is farthest from what is in sight is given up for it.
void EventPages::keep(std::size_t index, EventPagePtr page) {
  kept_[index] = std::move(page);
  if (kept_.size() <= kMostKept) return;
  const std::size_t seen = page_of(std::min(first_seen_, rows_ - 1));
  const auto first = kept_.begin(), last = std::prev(kept_.end());
  const std::size_t before = seen > first->first ? seen - first->first : 0;
  const std::size_t behind = last->first > seen ? last->first - seen : 0;
  kept_.erase(before >= behind ? first : last);
}

bool EventPages::refuse(std::uint64_t token, const std::string& why) {
  if (under_way_ == 0 || token != under_way_) return false;
  under_way_ = 0;
  stopped_ = true;
  trouble_ = why;
  // Else what is in sight would be asked for again and again.
  if (what_ == What::kPage) keep(*fetched_, std::make_shared<const EventPage>());
  return true;
}

void EventPages::stop() {
  stopped_ = stopped_ || wants_more();
}

void EventPages::go_on() {
  stopped_ = false;
  trouble_.clear();
}

EventPages::Listed EventPages::at(std::uint64_t row) const {
  if (subject_.longest) return {longest_.get(), &longest_->rows[row]};
  const std::size_t index = page_of(row);
  const auto page = kept_.find(index);
  if (page == kept_.end()) return {};
  const std::uint64_t i = row - known_[index].first;
  if (i >= page->second->rows.size()) return {};
  return {page->second.get(), &page->second->rows[i]};
}

std::uint64_t EventPages::row_at(TimeNs time) const {
  if (subject_.longest || rows_ == 0) return rows_;
  const auto after = std::upper_bound(known_.begin(), known_.end(), time,
                                      [](TimeNs t, const Known& k) { return t <= k.begin; });
  if (after == known_.begin()) return 0;
  const auto index = static_cast<std::size_t>(after - known_.begin()) - 1;
  const auto page = kept_.find(index);
  if (page == kept_.end()) return known_[index].first;
  const std::vector<EventRow>& rows = page->second->rows;
  const auto row = std::lower_bound(rows.begin(), rows.end(), time,
                                    [](const EventRow& r, TimeNs t) { return r.begin < t; });
  return known_[index].first + static_cast<std::uint64_t>(row - rows.begin());
}

double EventPages::progress() const {
  const TimeRange& t = subject_.time;
  const Reading& reading = list_lacks() ? list_ : count_;
  if (t.to <= t.from) return 0;
  return std::clamp(
      static_cast<double>((reading.reached - t.from).value) / static_cast<double>((t.to - t.from).value), 0.0,
      1.0);
}

std::string EventPages::status() const {
  std::string out;
  const bool all = list_.complete;
  if (!trouble_.empty()) {
    out = trouble_ + "; " + rows_text(rows_) + " so far";
  } else if (stopped_) {
    out = "stopped at " + share_text(progress()) + ": " + rows_text(rows_) + " so far";
  } else if (list_wanted()) {
    out = "reading " + share_text(progress()) + ", " + rows_text(rows_) + " so far";
  } else if (subject_.longest) {
    out = "the longest " + rows_text(rows_);
  } else if (all) {
    out = rows_text(rows_);
  } else {
    out = "the first " + rows_text(rows_);
  }
  if (count_.complete && (!all || subject_.longest))
    out += " of " + grouped(std::accumulate(density_.begin(), density_.end(), std::uint64_t{0}));
  else if (trouble_.empty() && !stopped_ && !list_wanted() && density_wanted())
    out += ", counting " + share_text(progress());
  if (!subject_.longest && !all && known_.size() >= kMostPages)
    out += "; the list ends here: choose a later stretch for more";
  if (holes_ > 0) out += "; records are missing at " + grouped(holes_) + (holes_ == 1 ? " place" : " places");
  if (!exact_) out += "; what is open at the begin is not known of every resource";
  return out;
}

}  // namespace margay::scene
