#include "margay/query/view_maker.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <utility>

#include "margay/base/text.h"
#include "margay/query/told_areas.h"
#include "turned_model.h"
#include "view_tree.h"

namespace margay::daemon {
namespace {

constexpr std::uint64_t kAnswerBytes = std::uint64_t{32} << 20;
constexpr std::uint64_t kVisitBytes = std::uint64_t{16} << 20;
// Looking at a live archive anew takes at most one part in so many of the time.
constexpr std::int64_t kRefreshShare = 20;
constexpr std::size_t kFewLeaves = 4096;

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

std::uint64_t bytes_of(const Model& m) {
  return (m.values.size() + m.weights.size()) * sizeof(double) + m.tree.size() * 64;
}

// What the tables are made of: all but p.
std::string key_of(const ViewRequest& r, partition::Operator cuts, const Stretch& s,
                   const store::Resume& resume, TimeNs newest) {
  std::string key = std::to_string(s.from.value) + ' ' + std::to_string(s.to.value) + ' ' +
                    std::to_string(s.slices) + ' ' + std::to_string(s.level ? s.level->value : 0) + ' ' +
                    std::to_string(static_cast<int>(cuts)) + ' ' + std::to_string(resume.leaves.size()) +
                    ' ' + std::to_string(s.settled ? 0 : newest.value) + ' ' + r.op.text() + '\n' +
                    r.view.text() + '\n' + r.view_terms.groups() + '\n' + r.node;
  for (const std::string& state : r.states) key += '\n' + state;
  return key + '\n' + r.filter_terms.SerializeAsString();
}

std::string answer_key(const ViewRequest& r, const std::string& key) {
  char p[40] = "jump";
  if (r.p)
    std::snprintf(p, sizeof p, "%a", *r.p);
  else if (r.policy == ViewRequest::Policy::kNoise)
    std::snprintf(p, sizeof p, "noise");
  return std::string(p) + (r.curve ? " curve " : " ") + std::to_string(r.visits) + " " + key;
}

// Of which single visits are a closer look.
bool picture_of_time(const ViewRequest& r) {
  return r.cuts != partition::Operator::kTemporal && r.op.measure == slicer::Operator::Measure::kDuration;
}

Result<partition::Batch> measure(const Model& model, partition::Operator op, std::uint64_t budget) {
  const std::size_t leaves = model.leaves();
  std::vector<partition::Column> columns(model.slices);
  for (std::size_t t = 0; t < model.slices; ++t)
    columns[t] = {std::span(model.values).subspan(t * leaves * model.states, leaves * model.states),
                  std::span(model.weights).subspan(t * leaves, leaves)};
  partition::Batch::Options options;
  options.op = op;
  options.tree = model.tree;
  options.states = model.states;
  options.first_slice = model.first_slice;
  options.memory_budget_bytes = budget;
  options.regroups = true;  // for other points of view
  return partition::Batch::create(std::move(options), columns);
}

std::uint64_t table_bytes(const Model& model, partition::Operator op, std::uint64_t budget) {
  partition::Batch::Options options;
  options.op = op;
  options.tree = model.tree;
  options.states = model.states;
  const std::uint64_t whole = partition::Batch::memory_needed(options, model.slices);
  return whole <= budget ? whole : partition::Batch::least_memory(options, model.slices);
}

}  // namespace

ViewMaker::ViewMaker(const store::Archive& archive, const Clock& clock, Options options)
    : ViewMaker(view_source(archive), clock, options) {}

ViewMaker::ViewMaker(std::unique_ptr<const ViewSource> source, const Clock& clock, Options options)
    : source_(std::move(source)), clock_(clock), options_(options) {}

// What the archive holds now.
Status ViewMaker::refresh() {
  const TimeNs begin = clock_.monotonic();
  if (resume_ && extent_ && (!options_.live || begin < refresh_at_)) return {};
  extent_.reset();
  auto resume = source_->load();
  if (!resume) return tl::unexpected(resume.error());
  auto extent = source_->extent(*resume);
  if (!extent) return tl::unexpected(extent.error());
  const std::size_t leaves = resume->leaves.size();
  // A leaf may say more of itself later; of very many that is not looked for.
  if (!resume_ || resume_->leaves.size() != leaves || leaves <= kFewLeaves) {
    attributes_.Clear();
    put_attributes(attributes_of(*resume), attributes_);
  }
  resume_ = std::move(*resume);
  extent_ = std::move(*extent);
  const TimeNs end = clock_.monotonic();
  refresh_at_ = end + (end - begin) * kRefreshShare;
  return {};
}

Result<ViewMaker::Place> ViewMaker::place_of(const ViewRequest& request) {
  if (Status ok = refresh(); !ok) return tl::unexpected(ok.error());
  StretchLimits limits;
  if (options_.live) limits.unsettled = options_.unsettled;
  const SlicesThatFit fit =
      slices_that_fit(request, *resume_, options_.memory_bytes / 2, options_.memory_bytes / 4);
  limits.most_slices = fit.most;
  limits.usual_slices = fit.with_tables;
  const auto stretch = locate(request, *resume_, *extent_, limits);
  if (!stretch) return tl::unexpected(stretch.error());
  const auto key = [&](partition::Operator cuts) {
    return key_of(request, cuts, *stretch, *resume_, extent_->end);
  };
  Place out{*stretch, key(request.cuts), {}, {}, fit.with_tables};
  if (request.node.empty() && request.filter.resources.empty() &&
      request.cuts == partition::Operator::kSpatiotemporal) {
    ViewRequest anywhere = request;
    anywhere.view = {};
    anywhere.view_terms.Clear();
    out.from_anywhere = key_of(anywhere, request.cuts, *stretch, *resume_, extent_->end);
  }
  for (const auto& [name, cuts] : partition::kOperatorNames)
    if (cuts != request.cuts) out.other_cuts.push_back(key(cuts));
  return out;
}

Result<std::shared_ptr<ViewMaker::Made>> ViewMaker::made(const ViewRequest& request, const Place& place,
                                                         const GoOn& go_on) {
  if (auto known = made_.find(place.key)) return known;
  if (auto turned = turn(request, place)) return turned;
  wire::ViewAnswer head;
  Model model;
  // A viewer shows several: what was read for one serves the others.
  std::shared_ptr<Made> other;
  for (auto key = place.other_cuts.begin(); !other && key != place.other_cuts.end(); ++key)
    other = made_.find(*key);
  if (other) {
    model = other->model;
    head = other->head;
  } else {
    auto read = this->read(request, place, go_on);
    if (!read) return tl::unexpected(read.error());
    model = std::move(read->model);
    put_model(model, request, resume_->states, head);
    head.MergeFrom(attributes_);
    for (const std::string& note : read->notes) head.add_notes(clean_utf8(note));
  }
  if (!go_on()) return fail(ErrorCode::kTimeout, "ended");
  const std::uint64_t budget = options_.memory_bytes / 2;
  const std::uint64_t bytes = bytes_of(model) + table_bytes(model, request.cuts, budget);
  made_.shrink(options_.memory_bytes - std::min(options_.memory_bytes, bytes), 0);
  auto batch = measure(model, request.cuts, budget);
  if (!batch) return tl::unexpected(batch.error());
  auto out = std::make_shared<Made>(
      Made{std::move(model), std::move(head), std::move(*batch), place.from_anywhere, {}, {}, {}});
  made_.put(place.key, out, bytes);
  made_.shrink(options_.memory_bytes / 4 * 3, 1);
  return out;
}

// The same stretch as it was made from another point of view: nearly all of its tables are
// those of resources, which are the same from all. Null where it is not, or its tables do not fit.
std::shared_ptr<ViewMaker::Made> ViewMaker::turn(const ViewRequest& request, const Place& place) {
  // What is no view is refused by whoever reads it, and takes nothing away here.
  if (place.from_anywhere.empty() || !ViewTree::check(attributes_of(*resume_), request.view)) return nullptr;
  auto old = made_.take(
      [&](const Made& m) { return m.from_anywhere == place.from_anywhere && m.batch.keeps_tables(); });
  if (old == nullptr) return nullptr;
  auto turned = daemon::turned(old->model, *resume_, request.view);
  if (!turned || !old->batch.regroup(turned->model.tree, turned->from)) return nullptr;
  wire::ViewAnswer head;
  put_model(turned->model, request, resume_->states, head);
  head.MergeFrom(attributes_);
  *head.mutable_notes() = old->head.notes();
  const std::uint64_t bytes =
      bytes_of(turned->model) + table_bytes(turned->model, request.cuts, options_.memory_bytes / 2);
  auto out = std::make_shared<Made>(Made{std::move(turned->model),
                                         std::move(head),
                                         std::move(old->batch),
                                         place.from_anywhere,
                                         old->noise,
                                         {},
                                         {}});
  made_.put(place.key, out, bytes);
  made_.shrink(options_.memory_bytes / 4 * 3, 1);
  ++turned_;
  return out;
}

// What other stretches take is given up for it.
Result<Zoomed> ViewMaker::read(const ViewRequest& request, const Place& place, const GoOn& go_on) {
  made_.shrink(options_.memory_bytes / 4, 0);
  ModelWishes wishes;
  wishes.memory_bytes = options_.memory_bytes / 2;
  wishes.events_patience = options_.events_patience;
  wishes.go_on = go_on;
  auto zoomed = read_view_model(request, place.stretch, *source_, *resume_, wishes, clock_);
  if (zoomed && bytes_of(zoomed->model) > options_.memory_bytes / 4)
    return fail(ErrorCode::kLimit,
                "slices: the cells of this stretch take more memory than a view may; ask for "
                "fewer, or for what is below a node");
  if (zoomed) ++models_;
  return zoomed;
}

Result<ChosenP> ViewMaker::choose(const ViewRequest& request, Made& made, const GoOn& go_on) {
  if (request.p) return ChosenP{*request.p, "asked", ""};
  const bool by_fall = request.policy == ViewRequest::Policy::kJump;
  if (!by_fall || !made.batch.keeps_tables()) {
    if (!made.noise) made.noise = noise_p(made.model);
    ChosenP noise = *made.noise;
    if (by_fall) noise.why = "where quality falls most is not known of so many slices; " + noise.why;
    return noise;
  }
  if (!made.jump) {
    const TimeNs until = clock_.monotonic() + options_.curve_patience;
    auto jump = jump_p(made.batch, [&] { return clock_.monotonic() < until && go_on(); });
    if (!jump) return tl::unexpected(jump.error());
    made.jump = std::move(*jump);
  }
  return *made.jump;
}

// The significant p: all of them where that is done in time, else those of the certified curve.
Status ViewMaker::search(Made& made, const GoOn& go_on) {
  if (made.curve) return {};
  if (!made.batch.keeps_tables()) {  // a single point of it would take as long as the picture
    made.curve.emplace();
    made.curve->complete = false;
    return {};
  }
  TimeNs until = clock_.monotonic() + options_.curve_patience;
  const auto still = [&] { return clock_.monotonic() < until && go_on(); };
  auto exact = partition::significant_p(made.batch, {still});
  if (exact && exact->complete && exact->points.size() <= options_.limits.curve) {
    made.curve = std::move(*exact);
    return {};
  }
  until = clock_.monotonic() + options_.curve_patience;
  partition::EnvelopeOptions options;
  options.go_on = still;
  auto certified = partition::envelope(made.batch, options);
  if (!certified) return tl::unexpected(certified.error());
  certified->complete = false;  // there may be others between them
  made.curve = std::move(*certified);
  return {};
}

// Where nobody asked for a p, what was told of the stretch is to be seen.
std::vector<wire::Alert> ViewMaker::told_of(const ViewRequest& request, const Place& place) const {
  if (request.p || request.cuts != partition::Operator::kSpatiotemporal) return {};
  const auto alerts = source_->alerts();
  return alerts ? told_in(*alerts, place.stretch.from, place.stretch.to) : std::vector<wire::Alert>();
}

// The partition at the p that was chosen or, if an answer cannot hold it, at the first larger one found that
// it can. `picture`: nobody asked for the p.
Result<wire::ViewAnswer> ViewMaker::solve(Made& made, const ChosenP& chosen,
                                          std::span<const partition::Area> areas, bool picture,
                                          const GoOn& go_on) {
  std::size_t first = 0;
  for (double p = chosen.p;; p = std::min(1.0, p + std::max(0.01, (1 - chosen.p) / 16))) {
    auto partition = made.batch.solve(p, go_on);
    if (!partition) return tl::unexpected(partition.error());
    if (!go_on()) return fail(ErrorCode::kTimeout, "ended");  // the temporal solution does not ask
    ++solutions_;
    if (first == 0) first = partition->parts.size();
    wire::ViewAnswer answer = made.head;
    if (picture) {
      draw_picture(*partition, made.batch, areas);
      if (partition->parts.size() < first)
        answer.add_notes("at p " + number(p) + " there are " + grouped(first) + " parts: shown are " +
                         grouped(partition->parts.size()) + ", parents instead of the others");
    }
    if (put_parts(made.model, *partition, options_.limits, answer)) {
      answer.set_policy(chosen.policy);
      answer.set_why(clean_utf8(chosen.why));
      answer.set_left_out(p != chosen.p);
      if (p != chosen.p)
        answer.add_notes("at p " + number(chosen.p) + " there are " + grouped(first) +
                         " parts, more than an answer holds: shown are those at p " + number(p));
      return answer;
    }
    if (p >= 1)
      return fail(ErrorCode::kLimit,
                  "the answer would be larger than a message may be; ask for what is below a node");
  }
}

// They are the same at every p. What was read in part is not kept.
void ViewMaker::add_visits(const ViewRequest& request, const Place& place, const GoOn& go_on,
                           wire::ViewAnswer& answer) {
  const std::string key = std::to_string(request.visits) + " " + place.key;
  if (const auto known = single_.find(key)) return answer.MergeFrom(*known);
  // Where a resource has been within a state for long, all of that has to be read.
  const TimeNs until = clock_.monotonic() + options_.events_patience;
  const auto still = [&] { return go_on() && clock_.monotonic() < until; };
  const int notes = answer.notes_size();
  Status read = put_visits(*source_->events(), *resume_, request, still, answer);
  if (read && answer.has_visits()) read = put_messages(*source_->events(), *resume_, request, still, answer);
  if (!read) answer.add_notes("single visits cannot be read: " + clean_utf8(read.error().message));
  if (answer.ByteSizeLong() > options_.limits.bytes) {
    answer.clear_visits(), answer.clear_annotations(), answer.clear_messages();
    answer.add_notes(
        "single visits are left out: with them the answer would be larger than a message may be");
  }
  if (!read || !still()) return;
  ++visit_lists_;
  auto kept = std::make_shared<wire::ViewAnswer>();
  if (answer.has_visits()) *kept->mutable_visits() = answer.visits();
  if (answer.has_annotations()) *kept->mutable_annotations() = answer.annotations();
  if (answer.has_messages()) *kept->mutable_messages() = answer.messages();
  for (int i = notes; i < answer.notes_size(); ++i) kept->add_notes(answer.notes(i));
  const std::size_t bytes = kept->SpaceUsedLong();
  single_.put(key, std::move(kept), bytes);
  single_.shrink(kVisitBytes, 1);
}

Result<std::shared_ptr<const wire::ViewAnswer>> ViewMaker::answer_at(const ViewRequest& request,
                                                                     const Place& place, const GoOn& go_on) {
  const std::vector<wire::Alert> told = told_of(request, place);
  std::string key = answer_key(request, place.key);
  for (const wire::Alert& a : told) key += ' ' + a.SerializeAsString();
  if (auto known = answers_.find(key)) return known;
  const auto made = this->made(request, place, go_on);
  if (!made) return tl::unexpected(made.error());
  auto chosen = choose(request, **made, go_on);
  if (!chosen) return tl::unexpected(chosen.error());
  const std::vector<partition::Area> areas = told_areas(told, (*made)->model);
  if (!areas.empty() && request.policy == ViewRequest::Policy::kNoise)
    chosen = lower_for(std::move(*chosen), (*made)->batch, areas, go_on);
  if (!chosen) return tl::unexpected(chosen.error());
  const bool picture = !request.p && request.cuts == partition::Operator::kSpatiotemporal &&
                       (request.policy == ViewRequest::Policy::kNoise || !areas.empty());
  auto answer = solve(**made, *chosen, areas, picture, go_on);
  if (!answer) return tl::unexpected(answer.error());
  put_question((*made)->model, request, *answer);
  if (request.curve) {
    if (Status ok = search(**made, go_on); !ok) return tl::unexpected(ok.error());
    put_curve((*made)->model, *(*made)->curve, options_.limits, *answer);
    if (!(*made)->batch.keeps_tables())
      answer->add_notes("the curve of so many slices takes more memory than a view may: it is there for " +
                        (place.with_tables > 0 ? std::to_string(place.with_tables) + " and fewer"
                                               : "what is below a node"));
  }
  if (request.visits > 0 && picture_of_time(request) && source_->events() != nullptr)
    add_visits(request, place, go_on, *answer);
  if (!go_on()) return fail(ErrorCode::kTimeout, "ended");
  auto out = std::make_shared<const wire::ViewAnswer>(std::move(*answer));
  answers_.put(key, out, out->ByteSizeLong());
  answers_.shrink(kAnswerBytes, 1);
  return out;
}

// The neighbours of the p that was asked for are likely to be asked for next.
void ViewMaker::plan_ahead(const ViewRequest& request, const Place& place, const wire::ViewAnswer& answer) {
  if (!request.curve || answer.left_out()) return;
  int at = -1;
  while (at + 1 < answer.curve_size() && answer.curve(at + 1).p() <= answer.p()) ++at;
  Ahead ahead{request, place, {}};
  for (const int i : {at + 1, at - 1}) {
    if (i < 0 || i >= answer.curve_size()) continue;
    // Where a viewer asks for it: in the middle, away from what rounding does at the ends.
    const double p = answer.curve(i).p(), until = i + 1 < answer.curve_size() ? answer.curve(i + 1).p() : 1;
    ahead.p.push_back(p + (until - p) / 2);
  }
  if (!ahead.p.empty()) ahead_ = std::move(ahead);
}

std::shared_ptr<const wire::ViewAnswer> ViewMaker::answer(const ViewRequest& request, const GoOn& go_on) {
  // A viewer asks for the temporal partition of the same stretch next, without a curve: the plan stands.
  if (request.curve) ahead_.reset();
  try {
    const auto place = place_of(request);
    if (!place) return std::make_shared<const wire::ViewAnswer>(view_error(0, place.error().message));
    auto answer = answer_at(request, *place, go_on);
    if (!go_on()) return nullptr;
    if (!answer) return std::make_shared<const wire::ViewAnswer>(view_error(0, answer.error().message));
    plan_ahead(request, *place, **answer);
    return *answer;
  } catch (const std::bad_alloc&) {
    made_.shrink(0, 0);
    return std::make_shared<const wire::ViewAnswer>(
        view_error(0, "the system refused the memory that this stretch takes; ask for fewer slices"));
  }
}

wire::EventsAnswer ViewMaker::events(const EventPageRequest& request, const GoOn& go_on) {
  try {
    if (Status ok = refresh(); !ok) return events_error(0, ok.error().message);
    if (source_->events() == nullptr) return events_error(0, "this is a model: it has no single events");
    EventPageRequest bounded = request;
    bounded.list.most_held =
        std::min(request.list.most_held, options_.memory_bytes / 2 / sizeof(trace::Occurrence));
    return answer_events(*source_->events(), *resume_, *extent_, bounded, clock_, go_on);
  } catch (const std::bad_alloc&) {
    return events_error(0, "the system refused the memory that this page takes; ask for fewer rows");
  }
}

bool ViewMaker::look_ahead(const GoOn& go_on) {
  if (!ahead_) return false;
  try {
    ViewRequest request = ahead_->request;
    request.p = ahead_->p.front();
    const bool held = made_.find(ahead_->place.key) != nullptr;
    if (held) static_cast<void>(answer_at(request, ahead_->place, go_on));
    if (!go_on()) return true;  // again, once nobody asks
    ahead_->p.pop_front();
    if (!held || ahead_->p.empty()) ahead_.reset();
  } catch (const std::bad_alloc&) {
    ahead_.reset();
  }
  return ahead_.has_value();
}

}  // namespace margay::daemon
