// The list of single events as it is looked at: which pages of it there are, what is asked for next, and what
// is known of it so far. Rows are fetched as they come into sight; the list is as long as it is known, and
// grows at its end.
//
// It is asked a page at a time, one question under way, the first ones with little patience: so rows come as
// they are found, and whoever stops it stops it at once. What is in sight comes first, then as much as a page
// behind that, and at last the density of the whole stretch.
//
// Thread safety: none. Cost: next() and take() linear in a page and in the pages that are kept; the longest
// are sorted by each page. Memory: kMostKept pages of kPageRows rows, the begins of kMostPages, kMostLongest
// rows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/scene/event_rows.h"
#include "margay/scene/point_of_view.h"
#include "margay/scene/run_filter.h"

namespace margay::scene {

// What a person left out, by column.
struct EventFilter {
  std::string resource,
      name;           // pattern with * and ?, found anywhere in the path or name where it has none; "": all
  std::string match;  // regular expression, found in "PATH NAME"; "": all
  DurationNs least{}, most{};  // duration; 0: any
  std::uint64_t least_bytes = 0, most_bytes = 0;
  std::optional<std::int32_t> peer;
  bool operator==(const EventFilter&) const = default;
};
// What a person typed: "10 ms" and "> 10 ms" are at least that, "..1 s" and "< 1 s" at most, "10 ms..1 s"
// between the two, "" is any. kInvalidArgument with a sentence.
struct DurationBounds {
  DurationNs least{}, most{};
};
Result<DurationBounds> parse_durations(std::string_view text);
struct ByteBounds {
  std::uint64_t least = 0, most = 0;
};
// The same of "4096", "4 KiB", "1.5 MiB".
Result<ByteBounds> parse_bytes(std::string_view text);
// "" is any; "3" or "rank 3".
Result<std::optional<std::int32_t>> parse_partner(std::string_view text);

struct EventSubject {
  TimeRange time;
  PointOfView view;                 // of the nodes, and of the filter's resources
  std::vector<std::string> nodes;   // paths; none, or "/" among them: all
  std::vector<std::string> states;  // none: all, and what is no state
  RunFilter run_filter;             // what else of the run is left out
  EventFilter filter;
  bool longest = false;  // sorted by duration, kMostLongest at most
  bool operator==(const EventSubject&) const = default;
};

using EventPagePtr = std::shared_ptr<const EventPage>;

class EventPages {
 public:
  static constexpr std::uint32_t kPageRows = 500;
  static constexpr std::size_t kMostKept = 512;        // pages
  static constexpr std::size_t kMostPages = 20'000;    // that are known by where they begin
  static constexpr std::uint32_t kMostLongest = 1000;  // rows
  static constexpr std::uint32_t kBins = 240;          // of the density
  // ms: patience of the first question, and the most. What lasts longer than is read with it is not told how
  // long it lasts: of the longest that counts.
  static constexpr std::uint32_t kFirst = 250, kFirstOfLongest = 2000, kLast = 5000;

  // Begins anew; of a subject of no time nothing is asked.
  void set(EventSubject subject);
  const EventSubject& subject() const { return subject_; }
  // Rows [first, last) are in sight.
  void see(std::uint64_t first, std::uint64_t last);

  // What is to be asked now; nothing: all that is wanted is there, or a question is under way.
  std::optional<wire::EventsQuestion> next(std::uint64_t token);
  // The answer to a question of next(); false, and nothing changes: it is another's.
  bool take(const EventPagePtr& page);
  // There is none: why, a sentence. The reading stops.
  bool refuse(std::uint64_t token, const std::string& why);
  // Asks for no more at the end of the list, nor for its density, until go_on(). What is in sight is fetched
  // all the same.
  void stop();
  void go_on();

  // So many are known. Of the longest they are others with each page.
  std::uint64_t rows() const { return rows_; }
  struct Listed {
    const EventPage* page = nullptr;  // null: it has to be fetched
    const EventRow* row = nullptr;
  };
  // REQUIRES: row < rows(). Valid until the next call that is not const.
  Listed at(std::uint64_t row) const;
  // Known to its end.
  bool complete() const { return list_.complete; }
  bool reading() const { return under_way_ != 0; }
  // There is more to be read, and it is not stopped: Escape has something to stop.
  bool wants_more() const;
  bool stopped() const { return stopped_; }
  // Why there is no more, a sentence; "": there is no reason.
  const std::string& trouble() const { return trouble_; }
  // How far the list, then its density, was read: 0 to 1.
  double progress() const;
  // "reading 40 %, 1,234 rows so far".
  std::string status() const;
  // kBins of subject().time, as far as it was read; empty: nothing was.
  const std::vector<std::uint64_t>& density() const { return density_; }
  TimeNs density_until() const { return count_.reached; }
  bool density_complete() const { return count_.complete; }
  // The row that begins first at or after this time, among the known ones; rows() if there is none. By time
  // only.
  std::uint64_t row_at(TimeNs time) const;

 private:
  // Something that is read piece by piece.
  struct Reading {
    std::optional<wire::EventsPlace> next;
    bool complete = false;
    TimeNs reached{};
    std::uint32_t first = kFirst, patience = kFirst;
  };
  struct Known {              // a page
    std::uint64_t first = 0;  // row
    std::uint32_t rows = 0;
    TimeNs begin{};  // of its first row
    std::optional<wire::EventsPlace> after;
  };
  enum class What : std::uint8_t { kList, kPage, kDensity };

  wire::EventsQuestion question(std::uint64_t token, What what);
  std::optional<std::size_t> missing() const;
  bool list_lacks() const;
  bool list_wanted() const { return !stopped_ && list_lacks(); }
  bool density_wanted() const;
  std::size_t page_of(std::uint64_t row) const;
  void advance(Reading& reading, const EventPage& page);
  void append(const EventPagePtr& page);
  void merge(const EventPage& page);
  void keep(std::size_t index, EventPagePtr page);

  EventSubject subject_;
  std::uint64_t rows_ = 0, first_seen_ = 0, last_seen_ = 0;
  Reading list_, count_;
  std::vector<Known> known_;
  std::map<std::size_t, EventPagePtr> kept_;  // by index in known_
  std::optional<std::size_t> fetched_;        // that is under way
  EventPagePtr longest_;
  std::vector<std::uint64_t> density_;
  std::uint64_t under_way_ = 0;  // token; 0: none
  What what_ = What::kList;
  bool stopped_ = false, exact_ = true;
  std::uint64_t holes_ = 0;
  std::string trouble_;
};

}  // namespace margay::scene
