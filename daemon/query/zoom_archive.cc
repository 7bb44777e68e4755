// A zoom into an archive: cells where they fit, raw events where they do not.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "margay/settings/units.h"
#include "margay/store/archive.h"
#include "margay/trace/archive_trace.h"
#include "zoom_parts.h"

namespace margay::daemon::internal {
namespace {

using slicer::Grid;

// A source that is silent for so long is lost: what it did is unknown (as detect::WindowOptions::lost_after).
constexpr DurationNs kLostAfter = seconds(10);
// Read at once: a reading call holds the database open, and a writer whose commit failed has to open it anew.
constexpr int kPiece = 256;

// Sums of cells over the slices of a grid.
class CellSums {
 public:
  CellSums(const Grid& grid, std::uint32_t leaves, std::uint32_t states)
      : grid_(grid),
        leaves_(leaves),
        states_(states),
        values_(std::size_t{grid.slices} * leaves * states),
        there_(std::size_t{grid.slices} * leaves) {}

  static std::uint64_t bytes(const Grid& grid, std::uint64_t leaves, std::uint64_t states) {
    return grid.slices * leaves * (states + 1) * 8;
  }

  void add(const model::SliceColumn& c, DurationNs duration) {
    const TimeNs begin = slice_begin(c.index, duration), end = slice_end(c.index, duration);
    std::uint32_t k = slice_at(begin);
    while (k < grid_.slices && grid_.boundary(k) < end) {
      add_part(c, duration, k, std::max(begin, grid_.boundary(k)), std::min(end, grid_.boundary(k + 1)));
      ++k;
    }
  }

  std::uint64_t value(LeafIndex l, std::uint32_t k, std::size_t x) const {
    return values_[(std::size_t{k} * leaves_ + l.value) * states_ + x];
  }
  std::uint64_t not_there(LeafIndex l, std::uint32_t k) const {
    const auto length = static_cast<std::uint64_t>((grid_.boundary(k + 1) - grid_.boundary(k)).value);
    return length - std::min(length, there_[std::size_t{k} * leaves_ + l.value]);
  }

 private:
  // The first slice that ends after t.
  std::uint32_t slice_at(TimeNs t) const {
    std::uint32_t low = 0, high = grid_.slices;
    while (low < high) {
      const std::uint32_t mid = low + (high - low) / 2;
      if (grid_.boundary(mid + 1) <= t)
        low = mid + 1;
      else
        high = mid;
    }
    return low;
  }
  void add_part(const model::SliceColumn& c, DurationNs d, std::uint32_t k, TimeNs a, TimeNs b) {
    const TimeNs begin = slice_begin(c.index, d);
    const bool whole = b - a == d;
    // What is cut is cut so that the pieces sum up to the cell.
    const auto share = [&](std::int64_t ns) -> std::uint64_t {
      if (ns <= 0) return 0;
      if (whole) return static_cast<std::uint64_t>(ns);
      const auto until = [&](TimeNs t) {
        return static_cast<std::uint64_t>(static_cast<__int128>(ns) * (t - begin).value / d.value);
      };
      return until(b) - until(a);
    };
    const std::uint32_t leaves = std::min(c.leaves(), leaves_), states = std::min(c.states(), states_);
    for (std::uint32_t l = 0; l < leaves; ++l) {
      const model::NodeEvidence& e = c.evidence(LeafIndex(l));
      if (e.drawn_out && e.silent_since != TimeNs() && slice_end(c.index, d) - e.silent_since >= kLostAfter)
        continue;
      const auto durations = c.duration_ns(LeafIndex(l));
      std::uint64_t* row = values_.data() + (std::size_t{k} * leaves_ + l) * states_;
      std::uint64_t sum = 0;
      for (std::uint32_t x = kCompute.value; x < states; ++x) {
        const std::uint64_t ns = share(durations[x]);
        row[x] += ns;
        sum += ns;
      }
      there_[std::size_t{k} * leaves_ + l] += sum;
    }
  }

  Grid grid_;
  std::uint32_t leaves_, states_;
  std::vector<std::uint64_t> values_, there_;
};

class ArchiveZoom {
 public:
  ArchiveZoom(const ZoomRequest& request, const store::Archive& archive, const store::Resume& resume)
      : request_(request), archive_(archive), resume_(resume), levels_(resume.run.levels) {}

  Result<Zoomed> read();

 private:
  Status look();
  Result<Grid> grid();
  Result<std::optional<Grid>> cells_instead(const Grid& asked);
  bool aligned(const Grid& g) const;
  Status sum(TimeNs a, TimeNs b, std::size_t coarsest);
  Status sum_run(std::size_t level, SliceIndex first, SliceIndex last);
  Status not_kept(std::size_t level, SliceIndex from, SliceIndex until);
  Result<Zoomed> from_raw(const Grid& g);
  Result<Zoomed> from_cells(const Grid& g, std::optional<std::size_t> level);
  Status still_wanted() const {
    if (!request_.go_on || request_.go_on()) return {};
    return fail(ErrorCode::kTimeout, "partition: " + request_.input + ": the reading was ended");
  }
  bool durations() const { return request_.op.measure == slicer::Operator::Measure::kDuration; }

  const ZoomRequest& request_;
  const store::Archive& archive_;
  const store::Resume& resume_;
  const std::vector<DurationNs>& levels_;
  std::vector<ZoomExtent::Kept> kept_;
  TimeNs zero_{}, end_{};
  Grid grid_;
  std::optional<CellSums> sums_;
  std::uint64_t missing_ = 0;  // slices of the finest level that are not there
  DurationNs unwatched_{};     // that the daemon was away
  std::vector<std::string> notes_;
};

Status ArchiveZoom::look() {
  auto extent = zoom_extent(archive_, resume_);
  if (!extent) return tl::unexpected(extent.error());
  zero_ = extent->zero;
  end_ = extent->end;
  kept_ = std::move(extent->levels);
  return {};
}

Result<Grid> ArchiveZoom::grid() {
  if (!request_.level || request_.slices) {
    const auto asked = range_of(request_, zero_, end_, request_.slices.value_or(ZoomRequest::kUsualSlices));
    if (!asked || request_.slices || !durations() || aligned(*asked)) return asked;
    const auto instead = cells_instead(*asked);
    if (!instead) return tl::unexpected(instead.error());
    return instead->value_or(*asked);
  }
  // Each slice of the level is one.
  const auto rough = range_of(request_, zero_, end_, 1);
  if (!rough) return rough;
  const auto d = config::parse_duration(*request_.level);
  if (!d || d->value <= 0) return wrong("--level " + *request_.level + ": expected a duration, such as 1s");
  const TimeNs from = slice_begin(slice_of(rough->from, *d), *d);
  const TimeNs to = slice_end(slice_of(TimeNs(rough->to.value - 1), *d), *d);
  const auto out = Grid::make(from, to, static_cast<std::uint64_t>((to - from).value / d->value));
  if (!out) return fail(out.error(), "partition: --level " + *request_.level);
  return *out;
}

// About as many slices as usual, each of the same number of the finest level's; nothing where the range is
// not made of these, or its events are soon read.
Result<std::optional<Grid>> ArchiveZoom::cells_instead(const Grid& asked) {
  const DurationNs d = levels_[0];
  const std::int64_t cells = (asked.to - asked.from).value / d.value;
  if (asked.from.value % d.value != 0 || asked.to.value % d.value != 0) return std::nullopt;
  const auto raw = trace::has_raw(archive_, resume_, asked.from);
  if (!raw) return tl::unexpected(raw.error());
  if (!*raw) return std::nullopt;  // they are not read anyway
  const auto use = archive_.disk_use();
  if (!use) return tl::unexpected(use.error());
  const double part =
      static_cast<double>((asked.to - asked.from).value) / static_cast<double>((end_ - zero_).value);
  if (static_cast<double>(use->archive) * part < static_cast<double>(request_.unasked_bytes))
    return std::nullopt;
  constexpr auto kUsual = static_cast<std::int64_t>(ZoomRequest::kUsualSlices);
  std::int64_t slices = 0;
  // The nearest number that leaves no rest. A last slice that ends behind the run is better than few slices.
  for (std::int64_t by = 0; by <= (request_.to ? kUsual / 2 : kUsual / 6) && slices == 0; ++by)
    for (const std::int64_t n : {kUsual + by, kUsual - by})
      if (slices == 0 && cells % n == 0) slices = n;
  std::int64_t each = slices > 0 ? cells / slices : (cells + kUsual - 1) / kUsual;
  if (slices == 0 && request_.to) return std::nullopt;
  if (slices == 0) slices = (cells + each - 1) / each;
  const auto out = Grid::make(asked.from, asked.from + DurationNs(d.value * each * slices),
                              static_cast<std::uint64_t>(slices));
  if (!out) return std::nullopt;
  notes_.push_back("the events of all this time would take long to read: " + std::to_string(slices) +
                   " slices of " + config::to_text(DurationNs(d.value * each)) +
                   ", which fit the kept ones of " + config::to_text(d) + "; --slices " +
                   std::to_string(kUsual) + " reads the events");
  return *out;
}

bool ArchiveZoom::aligned(const Grid& g) const {
  const std::int64_t d = levels_[0].value;
  const auto length = (g.to - g.from).value;
  return g.from.value % d == 0 && length % g.slices == 0 && (length / g.slices) % d == 0;
}

// [a, b), with slices of `coarsest` and finer ones that lie within one slice of the grid each.
Status ArchiveZoom::sum(TimeNs a, TimeNs b, std::size_t coarsest) {
  struct Run {
    std::size_t level;
    SliceIndex first, last;
  };
  std::optional<Run> run;
  const auto flush = [&]() -> Status {
    if (!run) return {};
    const Run r = *std::exchange(run, std::nullopt);
    return sum_run(r.level, r.first, r.last);
  };
  std::uint32_t k = 0;
  while (a < b) {
    while (k < grid_.slices && grid_.boundary(k + 1) <= a) ++k;
    const TimeNs until = std::min(b, grid_.boundary(std::min(k + 1, grid_.slices)));
    std::size_t level = coarsest;
    const auto fits = [&](std::size_t l) {
      const SliceIndex s = slice_of(a, levels_[l]);
      return slice_begin(s, levels_[l]) == a && slice_end(s, levels_[l]) <= until && kept_[l].any &&
             s >= kept_[l].first && s <= kept_[l].last;
    };
    while (level > 0 && !fits(level)) --level;
    const SliceIndex s = slice_of(a, levels_[level]);
    if (run && run->level == level && run->last + 1 == s) {
      run->last = s;
    } else {
      if (Status ok = flush(); !ok) return ok;
      run = Run{level, s, s};
    }
    a = slice_end(s, levels_[level]);
  }
  return flush();
}

// Slices [from, until) of the level are not there.
Status ArchiveZoom::not_kept(std::size_t level, SliceIndex from, SliceIndex until) {
  if (from >= until) return {};
  if (level > 0) return sum(slice_begin(from, levels_[level]), slice_begin(until, levels_[level]), level - 1);
  // What lies beyond the run is not missing.
  missing_ += static_cast<std::uint64_t>(std::max<std::int64_t>(
      0,
      std::min(until, slice_of(end_, levels_[0])).value - std::max(from, slice_of(zero_, levels_[0])).value));
  return {};
}

Status ArchiveZoom::sum_run(std::size_t level, SliceIndex first, SliceIndex last) {
  const auto missing = [&](SliceIndex from, SliceIndex until) -> Status {  // not inside
    // Where the daemon was away there are none, at no level.
    for (const store::GapRecord& g : resume_.gaps) {
      const TimeNs gap = slice_begin(g.first, levels_[0]), back = slice_end(g.last, levels_[0]);
      // Slices of this level that lie in it as a whole.
      const SliceIndex first_in =
          std::max(from, slice_of(gap + levels_[level] - DurationNs(1), levels_[level]));
      const SliceIndex end_in = std::min(until, slice_of(back, levels_[level]));
      if (first_in >= end_in) continue;
      unwatched_ += slice_begin(end_in, levels_[level]) - slice_begin(first_in, levels_[level]);
      if (Status ok = not_kept(level, from, first_in); !ok) return ok;
      from = end_in;
    }
    return not_kept(level, from, until);
  };
  const SliceIndex readable = kept_[level].any ? std::min(last, kept_[level].last) : first - 1;
  SliceIndex next = first;
  for (bool more = true; more && next <= readable;) {
    if (Status ok = still_wanted(); !ok) return ok;
    more = false;
    int taken = 0;
    std::optional<std::pair<SliceIndex, SliceIndex>> hole;  // read from finer slices, behind this reading
    Status ok = archive_.scan_columns(LevelIndex(static_cast<std::uint8_t>(level)), next, readable,
                                      [&](model::SliceColumn&& c) {
                                        if (c.index > next) hole.emplace(next, c.index);
                                        sums_->add(c, levels_[level]);
                                        next = c.index + 1;
                                        more = hole || ++taken >= kPiece;
                                        return !more;
                                      });
    if (!ok) return ok;
    if (!hole) continue;
    if (Status inside = missing(hole->first, hole->second); !inside) return inside;
  }
  return missing(next, last + 1);
}

Result<Zoomed> ArchiveZoom::from_cells(const Grid& g, std::optional<std::size_t> level) {
  grid_ = g;
  const auto states = static_cast<std::uint32_t>(resume_.states.size());
  const auto leaves = static_cast<std::uint32_t>(resume_.leaves.size());
  if (CellSums::bytes(g, leaves, states) > request_.memory_bytes / 2)
    return fail(ErrorCode::kLimit, "partition: " + std::to_string(leaves) + " leaves x " +
                                       std::to_string(g.slices) + " slices x " + std::to_string(states) +
                                       " states take more than the memory budget");
  sums_.emplace(g, leaves, states);
  Status ok;
  if (level) {
    ok =
        sum_run(*level, slice_of(g.from, levels_[*level]), slice_of(TimeNs(g.to.value - 1), levels_[*level]));
  } else if (aligned(g)) {
    ok = sum(g.from, g.to, levels_.size() - 1);
  } else {
    ok = sum_run(0, slice_of(g.from, levels_[0]), slice_of(TimeNs(g.to.value - 1), levels_[0]));
  }
  if (!ok) return tl::unexpected(ok.error());

  const auto of = look_at(attributes_of(resume_), request_);
  if (!of) return tl::unexpected(of.error());
  const auto wanted = state_filter(request_, resume_.states.states());
  std::vector<std::size_t> ids;
  Cells cells{g, zero_, *of, {}, {}, {}, true};
  for (std::size_t x = kCompute.value; x < states; ++x) {
    const std::string& name = resume_.states[StateId(static_cast<std::uint16_t>(x))].name;
    if (wanted && !wanted(name)) continue;
    ids.push_back(x);
    cells.columns.push_back(name);
  }
  cells.value = [&](LeafIndex l, std::uint32_t k, std::size_t x) {
    return static_cast<double>(sums_->value(l, k, ids[x]));
  };
  cells.not_there = [&](LeafIndex l, std::uint32_t k) { return sums_->not_there(l, k); };
  auto model = model_of(cells, request_);
  if (!model) return tl::unexpected(model.error());
  Zoomed out{std::move(*model), notes_, 0};
  if (unwatched_ > DurationNs())
    out.notes.push_back(
        "for " + config::to_text(unwatched_) +
        " of this range nothing was watched, for the daemon was away: nothing is known of that time");
  if (missing_ > 0)
    out.notes.push_back(std::to_string(missing_) + (missing_ == 1 ? " slice" : " slices") + " of " +
                        config::to_text(levels_[0]) + " in this range " + (missing_ == 1 ? "is" : "are") +
                        " not kept any more: nothing is known of that time");
  return out;
}

Result<Zoomed> ArchiveZoom::from_raw(const Grid& g) {
  trace::Resampler trace(
      {g, request_.op, state_filter(request_, resume_.states.states()), request_.memory_bytes / 2});
  const auto of = look_at(attributes_of(resume_), request_);
  if (!of) return tl::unexpected(of.error());
  std::vector<bool> below = of->at.leaves;
  for (std::uint32_t l = 0; l < below.size(); ++l)
    below[l] =
        below[l] && (of->tree.shows(LeafIndex(l), request_.filter.resources) || !request_.filter.of_the_rest);
  trace::ArchiveTraceOptions options;
  options.from = g.from;
  options.to = g.to;
  options.wanted = [&](LeafIndex l) { return below[l.value]; };
  options.values = request_.op.of_variable();
  options.begins = request_.op.measure == slicer::Operator::Measure::kLength;
  if (request_.progress || request_.go_on)
    options.step = [&](TimeNs t) -> Status {
      if (request_.progress)
        request_.progress(std::clamp(
            static_cast<double>((t - g.from).value) / static_cast<double>((g.to - g.from).value), 0.0, 1.0));
      return still_wanted();
    };
  const auto counts = trace::read_archive(archive_, resume_, options, trace);
  if (!counts) return tl::unexpected(counts.error());
  if (Status ok = trace.finish(); !ok) return fail(ok.error(), request_.input);
  if (request_.op.of_variable()) {
    std::vector<std::string> variables;
    for (const trace::Name& n : trace.names())
      if (n.kind == trace::Name::Kind::kVariable) variables.push_back(n.text);
    if (std::find(variables.begin(), variables.end(), request_.op.variable) == variables.end())
      return wrong("--operator " + request_.op.text() + ": " + request_.input +
                   " has no such variable in this range" + hint(request_.op.variable, variables));
  }
  auto model = model_of(trace, zero_, request_);
  if (!model) return tl::unexpected(model.error());
  Zoomed out{std::move(*model), {}, counts->records};
  if (!counts->exact)
    out.notes.emplace_back(
        "older events are not kept: of states that were open then only the innermost is known");
  return out;
}

Result<Zoomed> ArchiveZoom::read() {
  if (Status ok = look(); !ok) return tl::unexpected(ok.error());
  std::vector<std::string> names;
  for (const auto& s : resume_.states.states()) names.push_back(s.name);
  if (durations() || request_.op.measure == slicer::Operator::Measure::kLength)
    for (const Status& ok :
         {check_states(request_, names), check_some_state(request_, resume_.states.states())})
      if (!ok) return tl::unexpected(ok.error());
  std::optional<std::size_t> level;
  if (request_.level) {
    const auto d = config::parse_duration(*request_.level);
    std::string known;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if (d && levels_[l] == *d) level = l;
      known += (l > 0 ? ", " : "") + config::to_text(levels_[l]);
    }
    if (!level)
      return wrong("--level " + *request_.level + ": " + request_.input + " has the levels " + known);
    if (!durations())
      return wrong("--level: slices hold durations only; --operator " + request_.op.text() + " reads events");
  }
  const auto g = grid();
  if (!g) return tl::unexpected(g.error());
  if (durations() && (level || aligned(*g))) return from_cells(*g, level);
  const auto raw = trace::has_raw(archive_, resume_, g->from);
  if (!raw) return tl::unexpected(raw.error());
  if (*raw) return from_raw(*g);
  if (!durations())
    return wrong("--operator " + request_.op.text() + ": " + request_.input +
                 " keeps no events of this time, only durations");
  auto out = from_cells(*g, std::nullopt);
  if (out)
    out->notes.push_back("events of this time are not kept: where a boundary cuts a slice of " +
                         config::to_text(levels_[0]) + ", its times are spread in proportion");
  return out;
}

}  // namespace

Result<Zoomed> zoom_archive(const ZoomRequest& request) {
  const auto archive = store::Archive::open(request.input, store::Mode::kBeside);
  if (!archive) return tl::unexpected(archive.error());
  const auto resume = (*archive)->load();
  if (!resume) return tl::unexpected(resume.error());
  auto zoomed = zoom(request, **archive, *resume);
  if (zoomed && (*archive)->is_live())
    zoomed->notes.insert(zoomed->notes.begin(),
                         request.input + ": is being written; this is what it holds now");
  return zoomed;
}

}  // namespace margay::daemon::internal

namespace margay::daemon {

Result<ZoomExtent> zoom_extent(const store::Archive& archive, const store::Resume& resume) {
  const std::vector<DurationNs>& levels = resume.run.levels;
  if (levels.empty()) return fail(ErrorCode::kCorrupt, archive.path() + ": no level in it");
  ZoomExtent out;
  out.zero = out.end = slice_begin(slice_of(resume.run.begin, levels[0]), levels[0]);
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const auto range = archive.column_range(LevelIndex(static_cast<std::uint8_t>(l)));
    if (!range) return tl::unexpected(range.error());
    ZoomExtent::Kept& k = out.levels.emplace_back();
    if (!*range) continue;
    k = {(*range)->first, (*range)->second, true};
    for (const auto& c : resume.closed)
      if (c.level.value == l) k.last = std::min(k.last, c.through);
    k.any = k.first <= k.last;
    // Those of coarser levels reach behind the run's end.
    if (k.any && out.end == out.zero) out.end = std::max(out.end, slice_end(k.last, levels[l]));
  }
  return out;
}

Result<Zoomed> zoom(const ZoomRequest& request, const store::Archive& archive, const store::Resume& resume) {
  return internal::ArchiveZoom(request, archive, resume).read();
}

}  // namespace margay::daemon
