// Answers to viewers' questions, computed: reads the stretch (view_model.h), measures it, solves it, and
// keeps what it made, so that another p of the same stretch is one solution, and the same question no work at
// all.
//
// A stretch is read once, however it is cut.
//
// MEMORY, of Options::memory_bytes: while a stretch is read up to a half, of tables and the search for
// significant p up to a half, of stretches that were measured before up to a quarter meanwhile and three
// quarters else. Answers are kept beside that, 32 of 32 MiB at most, lists of single visits (16 MiB), and
// what the archive's load() tells.
//
// Thread safety: none; belongs to one thread. An archive may be written by others. Errors are answers
// (ViewAnswer::error); memory that the system refuses is one, too.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "event_answer.h"
#include "margay/partition/set_apart.h"
#include "margay/partition/significant.h"
#include "margay/query/choose_p.h"
#include "margay/query/view_source.h"
#include "margay/store/archive.h"
#include "margay/wire/alert.pb.h"
#include "view_answer.h"
#include "view_cache.h"
#include "view_model.h"

namespace margay::daemon {

class ViewMaker {
 public:
  struct Options {
    std::uint64_t memory_bytes = std::uint64_t{512} << 20;
    // Whether the archive is being written: it is looked at anew for each question, and so long before its
    // newest slice it can still change.
    bool live = false;
    DurationNs unsettled = milliseconds(6400);
    DurationNs events_patience = seconds(5);  // before cells are spread instead; and again, for single visits
    DurationNs curve_patience = seconds(2);   // for significant p, twice: exact, then certified
    AnswerLimits limits;
  };
  // False ends what is going on. Asked often.
  using GoOn = std::function<bool()>;

  // Archive and clock must outlive it.
  ViewMaker(const store::Archive& archive, const Clock& clock, Options options);
  // Of what is no archive. REQUIRES: a source; not `live`.
  ViewMaker(std::unique_ptr<const ViewSource> source, const Clock& clock, Options options);

  // The answer, with token 0; null if `go_on` ended it.
  std::shared_ptr<const wire::ViewAnswer> answer(const ViewRequest& request, const GoOn& go_on);
  // A page of the single events, with token 0. Nothing is kept of it. What `go_on` ended has what was found.
  wire::EventsAnswer events(const EventPageRequest& request, const GoOn& go_on);
  // One more of the answers that are likely to be asked for next: after one with a curve, its significant p
  // before and behind, in the middle of where each holds. Questions without a curve leave the plan as it is;
  // what `go_on` ends is begun anew by the next call. False when there is none.
  bool look_ahead(const GoOn& go_on);

  // So far: stretches that were read and measured, and partitions that were solved.
  std::uint64_t models() const { return models_; }
  // And those that were there, seen from another point of view.
  std::uint64_t turned() const { return turned_; }
  std::uint64_t solutions() const { return solutions_; }
  // Lists of single visits that were read.
  std::uint64_t visit_lists() const { return visit_lists_; }
  std::uint64_t held_bytes() const { return made_.bytes() + answers_.bytes() + single_.bytes(); }

 private:
  // A stretch, measured.
  struct Made {
    Model model;
    wire::ViewAnswer head;  // what is the same at every p
    partition::Batch batch;
    std::string from_anywhere;  // Place's
    std::optional<ChosenP> noise, jump;
    std::optional<partition::SignificantP> curve;
  };
  struct Place {  // of a question
    Stretch stretch;
    std::string key;
    std::vector<std::string> other_cuts;  // the keys of the same stretch, cut in other ways
    std::string from_anywhere;            // the key of all its views; "": it is not of all resources
    std::uint32_t with_tables = 0;        // slices of which tables can be kept
  };
  struct Ahead {
    ViewRequest request;
    Place place;
    std::deque<double> p;
  };
  Status refresh();
  Result<Place> place_of(const ViewRequest& request);
  Result<std::shared_ptr<Made>> made(const ViewRequest& request, const Place& place, const GoOn& go_on);
  std::shared_ptr<Made> turn(const ViewRequest& request, const Place& place);
  Result<Zoomed> read(const ViewRequest& request, const Place& place, const GoOn& go_on);
  Result<ChosenP> choose(const ViewRequest& request, Made& made, const GoOn& go_on);
  std::vector<wire::Alert> told_of(const ViewRequest& request, const Place& place) const;
  Status search(Made& made, const GoOn& go_on);
  Result<std::shared_ptr<const wire::ViewAnswer>> answer_at(const ViewRequest& request, const Place& place,
                                                            const GoOn& go_on);
  void add_visits(const ViewRequest& request, const Place& place, const GoOn& go_on,
                  wire::ViewAnswer& answer);
  Result<wire::ViewAnswer> solve(Made& made, const ChosenP& chosen, std::span<const partition::Area> areas,
                                 bool picture, const GoOn& go_on);
  void plan_ahead(const ViewRequest& request, const Place& place, const wire::ViewAnswer& answer);

  const std::unique_ptr<const ViewSource> source_;
  const Clock& clock_;
  const Options options_;
  std::optional<store::Resume> resume_;
  std::optional<ZoomExtent> extent_;
  wire::ViewAnswer attributes_;  // and views, of resume_
  TimeNs refresh_at_{};
  RecentCache<Made> made_{64};
  RecentCache<const wire::ViewAnswer> answers_{32};
  // Of stretches visits, messages and notes of them; empty: more than were asked for, or none.
  RecentCache<const wire::ViewAnswer> single_{32};
  std::optional<Ahead> ahead_;
  std::uint64_t turned_ = 0;
  std::uint64_t models_ = 0, solutions_ = 0, visit_lists_ = 0;
};

}  // namespace margay::daemon
