#include "open_episode.h"

#include <algorithm>

namespace margay::detect {
namespace {

constexpr float kGoesOn = 0.3f;    // of its usual strength, to go on
constexpr double kExplains = 0.5;  // of what is told, in the mean since the onset

}  // namespace

OpenEpisode::OpenEpisode(std::uint64_t number, std::uint32_t slices, const Rules& rules, const Look& look)
    : rules_(rules) {
  episode_.number = number;
  episode_.onset = look.now + 1 - std::int64_t{slices};
  const std::size_t leaves = look.items.leaves(), width = look.columns.work.size();
  since_.slices = static_cast<float>(slices);
  since_.departure.reach(leaves, Contrast::kMeasures * width);
  since_.time_in.reach(leaves, width);
  const auto reached =
      std::min<std::size_t>({slices, NodeMeans::kLong, static_cast<std::size_t>(look.means.run())});
  for (std::size_t l = 0; l < leaves; ++l) look.means.add_last(l, reached, since_.departure[l]);
  take_time(look);
  blame(look);
  // It began with the first of the slices in which they all went this way.
  for (std::size_t k = reached; k < std::min<std::uint64_t>(NodeMeans::kLong, look.means.run()); ++k) {
    if (along(look, k) < kGoesOn) break;
    episode_.onset = look.now - static_cast<std::int64_t>(k);
  }
}

// How far the blamed went its way so many slices ago, as a share of it.
float OpenEpisode::along(const Look& look, std::size_t ago) const {
  const std::vector<float>& way = blamed_.way;
  float length = 0, sum = 0;
  for (const float v : way) length += v * v;
  for (const std::uint32_t l : blamed_.depart) {
    const float* const then = look.means.ago(l, ago);
    for (std::size_t c = 0; c < way.size(); ++c) sum += way[c] * then[c];
  }
  const float whole = length * static_cast<float>(blamed_.depart.size());
  return whole > 0 ? sum / whole : 0;
}

void OpenEpisode::take_time(const Look& look) {
  const Grid& spent = look.contrast.spent();
  since_.time_in.reach(look.items.leaves(), look.columns.work.size());
  for (std::size_t l = 0; l < std::min(look.items.leaves(), spent.rows()); ++l)
    for (std::size_t x = 0; x < std::min(since_.time_in.columns(), spent.columns()); ++x)
      since_.time_in[l][x] += spent[l][x];
  since_.taken_by_others = since_.taken_by_others || look.contrast.all_taken_by_others();
}

void OpenEpisode::blame(const Look& look) {
  Blamed now = blame_departures(since_, look.means, look.items, look.columns);
  // That nearly all go the same way says that the job does something else now; who it was stands.
  if (now.everybody && !blamed_.leaves.empty()) {
    blamed_.everybody = true;
    return;
  }
  blamed_ = std::move(now);
  episode_.leaves = blamed_.leaves;
  episode_.works = blamed_.works;
  episode_.state = blamed_.state;
  episode_.excess = blamed_.excess;
}

double OpenEpisode::effect(const NodeMeans& means) const {
  return means.effect(blamed_.way.data(), 1);
}

void OpenEpisode::follow(const Look& look) {
  if (back_ == 0) {
    const Grid& now = look.contrast.departure();
    const std::size_t cells = now.columns();
    since_.departure.reach(look.items.leaves(), cells);
    for (std::size_t l = 0; l < std::min(look.items.leaves(), now.rows()); ++l)
      for (std::size_t c = 0; c < cells; ++c) since_.departure[l][c] += now[l][c];
    since_.slices += 1;
    take_time(look);
  }
  bool on = departs(look);
  if (on) {
    blame(look);
    // In the mean since the onset they still do what is worth telling, nearly.
    on = !blamed_.everybody && effect(look.means) >= kExplains * rules_.min_effect;
  }
  if (on) {
    back_ = 0;
    return;
  }
  if (back_++ == 0) episode_.end = look.now;
  episode_.over = back_ >= rules_.back_slices;
}

// Do the blamed go on in their way? In this slice, or in this one and the one before.
bool OpenEpisode::departs(const Look& look) const {
  if (blamed_.everybody) return false;
  // In the newest slice, or in the mean of it and the one before.
  float sum = 0;
  for (std::size_t k = 0; k < std::min<std::uint64_t>(2, look.means.run()); ++k) {
    sum += along(look, k);
    if (sum >= kGoesOn * static_cast<float>(k + 1)) return true;
  }
  return false;
}

}  // namespace margay::detect
