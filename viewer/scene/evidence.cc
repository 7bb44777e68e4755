#include "margay/scene/evidence.h"

#include <algorithm>
#include <cstdio>

namespace margay::scene {
namespace {

using PathList = google::protobuf::RepeatedPtrField<std::string>;

constexpr std::size_t kMostSharesSaid = 3;

// As a question holds them; where they are too many `cover` stands for them.
std::vector<std::string> fitting(const PathList& paths, const std::string& cover) {
  std::size_t bytes = 0;
  for (const std::string& path : paths) bytes += path.size() + 2;
  if (paths.size() <= kMostNamesAsked && bytes <= kMostNameBytesAsked) return {paths.begin(), paths.end()};
  if (cover.size() > kMostNameBytesAsked) return {};
  return {cover.empty() ? "/" : cover};
}

// The slice's begin at or before `time`; nothing where that fits no 64 bits.
std::optional<std::int64_t> slice_floor(std::int64_t time, std::int64_t level, std::int64_t by) {
  const std::int64_t index = time / level - (time % level < 0 ? 1 : 0);
  std::int64_t moved = 0, out = 0;
  if (__builtin_add_overflow(index, by, &moved) || __builtin_mul_overflow(moved, level, &out))
    return std::nullopt;
  return out;
}

std::vector<std::pair<State, double>> shares_in(const ViewData* data, TimeNs middle) {
  std::vector<std::pair<State, double>> out;
  if (data == nullptr || data->empty() || middle < data->range().from || middle >= data->range().to)
    return out;
  const std::size_t slice = data->slice_at(middle);
  const Proportions of = proportions(*data, std::uint32_t{0}, slice, slice + 1);
  for (std::size_t x = 0; x < of.shares.size(); ++x)
    if (of.shares[x] > 0) out.emplace_back(data->states[x], of.shares[x]);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first.name < b.first.name;
  });
  return out;
}

}  // namespace

std::optional<EvidenceSubject> evidence_subject(const wire::Alert& a, TimeRange known) {
  EvidenceSubject out;
  const TimeNs end = a.has_end_ns() ? std::min(TimeNs(a.end_ns()), known.to) : known.to;
  out.stretch = {std::max(TimeNs(a.onset_ns()), known.from), end};
  if (out.stretch.to <= out.stretch.from) return std::nullopt;
  const PathList& blamed = a.likely_cause().empty() ? a.resources() : a.likely_cause();
  const bool of_area = a.likely_cause().empty() && !a.area().nodes().empty();
  out.calls = fitting(of_area ? a.area().nodes() : blamed, a.node());
  out.cause = out.calls.size() == 1 ? out.calls[0] : a.node();
  if (out.cause.size() > kMostNameBytesAsked) out.cause.clear();
  if (a.kind() == wire::Alert::PERTURBATION || a.kind() == wire::Alert::STALL) {
    if (!a.affected().empty()) out.waiting = fitting(a.affected(), a.node());
    // What covers those who are blamed may cover those who waited, too.
    if (a.likely_cause_size() <= kMostNamesAsked) out.except = fitting(a.likely_cause(), "");
    if (out.except == std::vector<std::string>{"/"}) out.except.clear();
  }
  const std::int64_t level = a.level_ns();
  if (level <= 0) return out;
  const auto first = slice_floor(a.onset_ns(), level, -kSlicesBefore);
  const auto most = slice_floor(a.onset_ns(), level, kMostSlicesShown - kSlicesBefore);
  const auto last = slice_floor(end.value, level, 2), there = slice_floor(known.to.value, level, 0);
  const auto begin = slice_floor(known.from.value, level, 1);
  if (!first || !most || !last || !there || !begin) return out;
  // Slices that the run begins and ends in are no whole ones.
  out.slices = {TimeNs(std::max(*first, *begin)), TimeNs(std::min({*most, *last, *there}))};
  if (out.slices.to <= out.slices.from) return out.slices = {}, out;
  out.slice_count = static_cast<std::uint32_t>((out.slices.to - out.slices.from).value / level);
  return out;
}

std::vector<EvidenceSlice> evidence_slices(const ViewData* cause, const ViewData* all, TimeNs onset) {
  std::vector<EvidenceSlice> out;
  const ViewData* of = all != nullptr && !all->empty() ? all : cause;
  if (of == nullptr || of->empty()) return out;
  for (std::size_t i = 0; i < of->slices() && i < static_cast<std::size_t>(kMostSlicesShown); ++i) {
    EvidenceSlice row;
    row.time = {of->boundaries[i], of->boundaries[i + 1]};
    row.onset = row.time.from <= onset && onset < row.time.to;
    const TimeNs middle = row.time.from + DurationNs((row.time.to - row.time.from).value / 2);
    row.cause = shares_in(cause, middle);
    row.all = shares_in(all, middle);
    out.push_back(std::move(row));
  }
  return out;
}

std::string largest_shares(const std::vector<std::pair<State, double>>& shares) {
  std::string out;
  for (std::size_t i = 0; i < shares.size() && i < kMostSharesSaid; ++i) {
    char number[32];
    const double percent = 100 * shares[i].second;
    std::snprintf(number, sizeof number, percent < 9.95 ? " %.1f %%" : " %.0f %%", percent);
    out += (i > 0 ? ", " : "") + shares[i].first.name + number;
  }
  if (shares.size() > kMostSharesSaid) out += ", ...";
  return out;
}

}  // namespace margay::scene
