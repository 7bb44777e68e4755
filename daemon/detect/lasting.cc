#include "lasting.h"

#include <algorithm>

namespace margay::detect {
namespace {

// One is over when it has gone back so much of its way, or was not there for so many slices.
constexpr float kComesBack = 0.5f;
constexpr float kReturns = 0.25f;  // of its way, not to be told as a departure from what it does by now
constexpr std::uint32_t kGone = 8;

}  // namespace

void LastingEpisodes::add(const Episode& episode, const std::set<std::uint32_t>& depart,
                          const std::vector<float>& way) {
  if (all_.size() >= kMost) {
    all_.front().over = true;
    all_.front().end = episode.onset;
  }
  Lasting l;
  static_cast<Episode&>(l) = episode;
  l.depart = depart;
  l.way = way;
  all_.push_back(std::move(l));
}

void LastingEpisodes::widen(std::size_t before, std::size_t columns) {
  for (Lasting& l : all_) {
    std::vector<float> wider(Contrast::kMeasures * columns);
    for (std::size_t c = 0; c < l.way.size(); ++c) wider[c / before * columns + c % before] = l.way[c];
    l.way = std::move(wider);
  }
}

bool LastingEpisodes::look(const Contrast& contrast, SliceIndex now, std::uint32_t back_slices) {
  bool any = false;
  returning_.clear();
  returned_.clear();
  for (Lasting& l : all_) {
    if (l.over || contrast.history() <= 0) continue;
    float length = 0, along = 0, known = 0;
    for (const float v : l.way) length += v * v;
    for (const std::uint32_t leaf : l.depart) {
      if (leaf >= contrast.leaves() || !contrast.known(leaf)) continue;
      known += 1;
      for (std::size_t c = 0; c < l.way.size(); ++c) along += l.way[c] * contrast.departure()[leaf][c];
    }
    l.gone = known > 0 ? 0 : l.gone + 1;
    // In the mean of the slices since the first that did: single ones vary.
    if (l.back == 0) l.way_back = 0, l.end = now;
    l.way_back += known > 0 && length > 0 ? -along / (length * known) : 0;
    l.back += 1;
    if (known > 0 && l.way_back >= kReturns * static_cast<float>(l.back))
      for (const auto* who : {&l.depart, &l.leaves}) returning_.insert(who->begin(), who->end());
    const bool back = known > 0 && l.way_back >= kComesBack * static_cast<float>(l.back);
    if (!back) l.back = 0;
    any = any || back;
    if (l.gone == kGone) l.end = now + 1 - std::int64_t{kGone};
    l.over = l.back > back_slices || l.gone >= kGone;
    if (!l.over || l.back == 0) continue;
    for (const auto* who : {&l.depart, &l.leaves}) returned_.insert(who->begin(), who->end());
  }
  return any;
}

}  // namespace margay::detect
