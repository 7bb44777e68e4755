#include "margay/compare/archived_run.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "margay/query/zoom.h"
#include "margay/settings/run_moment.h"

namespace margay::compare {
namespace {

constexpr double kNanosecond = 1e-9;

// Who polls calls as often as there is time for.
bool polls(std::string_view state) {
  constexpr std::array<std::string_view, 4> kPolling = {"MPI_Test", "MPI_Iprobe", "MPI_Improbe",
                                                        "MPI_Request_get_status"};
  return std::any_of(kPolling.begin(), kPolling.end(),
                     [&](std::string_view begin) { return state.starts_with(begin); });
}

std::vector<bool> states_of_work(const std::vector<model::StateInfo>& states) {
  std::vector<bool> out;
  out.reserve(states.size());
  for (const model::StateInfo& s : states)
    out.push_back(s.family != model::StateFamily::kAbsent && s.family != model::StateFamily::kUnknown &&
                  s.family != model::StateFamily::kCompute && s.family != model::StateFamily::kIdle &&
                  !polls(s.name));
  return out;
}

double calls_in(const model::SliceColumn& c, const std::vector<bool>& work) {
  double out = 0;
  for (std::uint32_t l = 0; l < c.leaves(); ++l) {
    const auto visits = c.visits(LeafIndex(l));
    for (std::size_t x = 0; x < std::min(visits.size(), work.size()); ++x)
      if (work[x]) out += visits[x];
  }
  return out;
}

bool is_observed(std::size_t state) {
  return state != kAbsent.value && state != kUnknown.value;
}

// A phase's blocks, nothing spent in them yet; and of each of its slices the block.
PhaseInBlocks cut(const std::vector<SliceOf>& slices, const ArchivedRun::Place& place, std::size_t p,
                  double slice_seconds, std::vector<std::uint32_t>& block_of) {
  PhaseInBlocks phase;
  std::vector<double> calls;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (p != 0 && place.phase_of[i] != p) continue;
    calls.push_back(slices[i].calls);
    if (i == 0 || (p != 0 && place.phase_of[i - 1] != p)) ++phase.stretches;
  }
  phase.slices = calls.size();
  phase.seconds = static_cast<double>(phase.slices) * slice_seconds;
  block_of = blocks_of(calls, place.blocks_of_phase[p]);
  phase.blocks.resize(place.blocks_of_phase[p]);
  for (Block& b : phase.blocks) b.spent.resize(place.resources * place.states);
  for (std::size_t i = 0; i < calls.size() && !phase.blocks.empty(); ++i) {
    phase.blocks[block_of[i]].calls += calls[i];
    phase.blocks[block_of[i]].seconds += slice_seconds;
  }
  return phase;
}

}  // namespace

Result<StretchWords> parse_stretch(const std::string& words) {
  std::error_code error;
  const std::size_t at = words.rfind('@');
  if (at == std::string::npos || std::filesystem::exists(words, error)) return StretchWords{words, {}, {}};
  StretchWords out{words.substr(0, at), {}, {}};
  const std::string times = words.substr(at + 1);
  const std::size_t dots = times.find("..");
  if (dots == std::string::npos)
    return fail(ErrorCode::kInvalidArgument,
                words + ": behind the @ there is a time range, FROM..TO, each in seconds since the begin");
  if (dots > 0) out.from = times.substr(0, dots);
  if (dots + 2 < times.size()) out.to = times.substr(dots + 2);
  return out;
}

Result<ArchivedRun> ArchivedRun::open(const std::string& words) {
  const auto stretch = parse_stretch(words);
  if (!stretch) return tl::unexpected(stretch.error());
  ArchivedRun out;
  out.name_ = words;
  out.all_ = stretch->is_all();
  auto archive = store::Archive::open(stretch->archive, store::Mode::kBeside);
  if (!archive) return tl::unexpected(archive.error());
  out.archive_ = std::move(*archive);
  auto loaded = out.archive_->load();
  if (!loaded) return tl::unexpected(loaded.error());
  out.all_of_it_ = std::make_unique<store::Resume>(std::move(*loaded));
  for (const store::LeafRecord& l : out.all_of_it_->leaves) out.leaves_.push_back(l.attributes);
  if (Status s = out.find_stretch(*stretch); !s) return tl::unexpected(s.error());
  if (Status s = out.read_profile(); !s) return tl::unexpected(s.error());
  return out;
}

Status ArchivedRun::find_stretch(const StretchWords& words) {
  const auto extent = daemon::zoom_extent(*archive_, *all_of_it_);
  if (!extent) return tl::unexpected(extent.error());
  TimeNs from = extent->zero, to = extent->end;
  const auto moment = [&](const std::optional<std::string>& text, TimeNs& t) -> Status {
    if (!text) return {};
    const auto parsed = config::parse_run_moment(*text, extent->zero, extent->end);
    if (!parsed) return fail(parsed.error(), name_);
    t = *parsed;
    return {};
  };
  if (Status s = moment(words.from, from); !s) return s;
  if (Status s = moment(words.to, to); !s) return s;
  const auto nothing = [&] {
    return fail(ErrorCode::kNotFound, name_ + ": nothing is kept of this stretch of the run");
  };
  if (to <= from) return nothing();
  for (std::size_t level = 0; level < extent->levels.size(); ++level) {
    const daemon::ZoomExtent::Kept& kept = extent->levels[level];
    if (!kept.any) continue;
    const DurationNs slice = meta().levels[level];
    first_ = std::max(kept.first, slice_of(from, slice));
    last_ = std::min(kept.last, slice_of(TimeNs(to.value - 1), slice));
    level_ = LevelIndex(static_cast<std::uint8_t>(level));
    const bool coarsest = std::none_of(extent->levels.begin() + static_cast<std::ptrdiff_t>(level) + 1,
                                       extent->levels.end(), [](const auto& l) { return l.any; });
    if (first_ <= last_ && (last_.value - first_.value < kMostSlices || coarsest)) break;
  }
  if (last_ < first_) return nothing();
  if (last_.value - first_.value >= 16 * kMostSlices)
    return fail(ErrorCode::kLimit,
                name_ + ": too long for its slices; give a shorter stretch, ARCHIVE@FROM..TO");
  return {};
}

double ArchivedRun::seconds() const {
  return static_cast<double>(slices_.size()) * static_cast<double>(meta().levels[level_.value].value) *
         kNanosecond;
}

Status ArchivedRun::read_profile() {
  const std::vector<bool> work = states_of_work(states());
  const DurationNs slice = meta().levels[level_.value];
  slices_.resize(static_cast<std::size_t>(last_.value - first_.value) + 1);
  std::vector<const store::PhaseRecord*> spans;
  for (const store::PhaseRecord& p : all_of_it_->phases) spans.push_back(&p);
  std::sort(spans.begin(), spans.end(), [](const auto* a, const auto* b) { return a->begin < b->begin; });
  const auto phase_at = [&](TimeNs t) -> std::uint32_t {
    auto after = std::upper_bound(spans.begin(), spans.end(), t,
                                  [](TimeNs at, const auto* span) { return at < span->begin; });
    if (after == spans.begin() || (*--after)->end <= t) return kNoPhase;
    const store::PhaseRecord& span = **after;
    for (std::uint32_t i = 0; i < phases_.size(); ++i)
      if (phases_[i].name == span.name) return i;
    phases_.push_back({span.name, span.label, std::vector<double>(states().size())});
    return static_cast<std::uint32_t>(phases_.size() - 1);
  };
  Status ok = archive_->scan_columns(level_, first_, last_, [&](model::SliceColumn&& c) {
    SliceOf& s = slices_[static_cast<std::size_t>(c.index.value - first_.value)];
    s.calls = calls_in(c, work);
    calls_ += s.calls;
    s.phase = phase_at(TimeNs(slice_begin(c.index, slice).value + slice.value / 2));
    if (s.phase == kNoPhase) return true;
    std::vector<double>& shares = phases_[s.phase].shares;
    for (std::uint32_t l = 0; l < c.leaves(); ++l) {
      const auto spent = c.duration_ns(LeafIndex(l));
      for (std::size_t x = 0; x < std::min(spent.size(), shares.size()); ++x)
        if (is_observed(x)) shares[x] += static_cast<double>(spent[x]);
    }
    return true;
  });
  for (PhaseOfRun& p : phases_) {
    double sum = 0;
    for (const double x : p.shares) sum += x;
    if (sum > 0)
      for (double& x : p.shares) x /= sum;
  }
  return ok;
}

std::vector<std::size_t> ArchivedRun::slices_of(const std::vector<std::uint32_t>& phase_of,
                                                std::size_t phases) {
  std::vector<std::size_t> out(phases);
  if (phases > 0) out[0] = phase_of.size();
  for (const std::uint32_t p : phase_of)
    if (p != kNoPhase && p < phases) ++out[p];
  return out;
}

Result<RunInBlocks> ArchivedRun::in_blocks(const Place& place,
                                           const std::function<void(double share)>& progress) const {
  const std::size_t phases = place.blocks_of_phase.size();
  std::uint64_t numbers = 2 * kBlocks * place.resources;  // of a state, and of waiting (changes.h)
  for (const std::size_t blocks : place.blocks_of_phase) numbers += blocks * place.resources * place.states;
  if (numbers > kMostBytes / sizeof(double) / place.runs)
    return fail(ErrorCode::kLimit, name_ + ": " + std::to_string(place.resources) + " resources of " +
                                       std::to_string(place.states) + " states in " + std::to_string(phases) +
                                       " phases of " + std::to_string(place.runs) +
                                       " runs take more than 1 GiB; compare fewer runs, or --by run");
  RunInBlocks out;
  out.name = name_;
  out.slice_seconds = static_cast<double>(meta().levels[level_.value].value) * kNanosecond;
  out.seconds = seconds();
  out.calls = calls_;
  out.phases.resize(phases);
  // Of each phase the block of each of its slices.
  std::vector<std::vector<std::uint32_t>> block(phases);
  for (std::size_t p = 0; p < phases; ++p)
    out.phases[p] = cut(slices_, place, p, out.slice_seconds, block[p]);
  std::vector<double> leaves_in(place.resources);
  for (const std::int32_t to : place.leaf_to)
    if (to >= 0) ++leaves_in[static_cast<std::size_t>(to)];
  std::vector<std::size_t> at(phases);  // slices of the phase before
  double unknown = 0, time = 0;
  std::size_t i = 0;
  const auto add = [&](PhaseInBlocks& phase, std::size_t b, const model::SliceColumn& c) {
    if (phase.blocks.empty()) return;
    std::vector<double>& spent = phase.blocks[b].spent;
    for (std::uint32_t l = 0; l < std::min<std::size_t>(c.leaves(), place.leaf_to.size()); ++l) {
      if (place.leaf_to[l] < 0) continue;
      const auto to = static_cast<std::size_t>(place.leaf_to[l]);
      const auto durations = c.duration_ns(LeafIndex(l));
      for (std::size_t x = 0; x < std::min(durations.size(), place.state_to.size()); ++x)
        if (place.state_to[x] >= 0 && durations[x] > 0)
          spent[to * place.states + static_cast<std::size_t>(place.state_to[x])] +=
              static_cast<double>(durations[x]) * kNanosecond / leaves_in[to];
      if (place.waiting_to >= 0)
        spent[to * place.states + static_cast<std::size_t>(place.waiting_to)] +=
            static_cast<double>(c.evidence(LeafIndex(l)).run_delay_ns) * kNanosecond / leaves_in[to];
    }
  };
  const auto pass = [&](std::size_t slice, const model::SliceColumn* c) {
    const auto one = [&](std::size_t p) {
      if (c != nullptr) add(out.phases[p], block[p][at[p]], *c);
      ++at[p];
    };
    one(0);
    const std::uint32_t p = place.phase_of[slice];
    if (p != kNoPhase && p != 0 && p < phases) one(p);
  };
  Status ok = archive_->scan_columns(level_, first_, last_, [&](model::SliceColumn&& c) {
    const auto slice = static_cast<std::size_t>(c.index.value - first_.value);
    while (i < slice) pass(i++, nullptr);
    for (std::uint32_t l = 0; l < c.leaves(); ++l) {
      const auto durations = c.duration_ns(LeafIndex(l));
      for (std::size_t x = 0; x < durations.size(); ++x) {
        if (x == kUnknown.value) unknown += static_cast<double>(durations[x]);
        if (x != kAbsent.value) time += static_cast<double>(durations[x]);
      }
    }
    pass(i++, &c);
    if (progress) progress(static_cast<double>(slice) / static_cast<double>(slices_.size()));
    return true;
  });
  if (!ok) return tl::unexpected(ok.error());
  out.unknown = time > 0 ? unknown / time : 0;
  return out;
}

}  // namespace margay::compare
