#include "work_lengths.h"

#include <algorithm>

namespace margay::detect {

void WorkLengths::take(const Contrast& contrast, const Columns& columns, const std::vector<char>& except) {
  const auto& seen = contrast.seen();
  const std::size_t leaves = contrast.leaves(), width = contrast.columns();
  for (Grid* g : {&excess_, &longer_}) {
    g->reach(leaves, width);
    g->fill(0);
  }
  known_.assign(leaves, 0);
  const auto mode = contrast.mode();
  if (!mode) return;
  if (usual_.size() <= mode->place) usual_.resize(mode->place + 1);
  Usual& usual = usual_[mode->place];
  if (usual.mode != mode->number) usual = {mode->number, {}, {}, {}};
  for (Grid* g : {&usual.time, &usual.visits}) g->reach(leaves, width);
  usual.slices.resize(std::max(usual.slices.size(), leaves), 0.0f);
  for (std::size_t l = 0; l < leaves; ++l) {
    if (!contrast.there(l)) continue;
    known_[l] = usual.slices[l] >= kLeast;
    const bool learns = !(l < except.size() && except[l]);
    const float keep = usual.slices[l] < kMemory ? 1 : 1 - 1 / kMemory;
    for (std::size_t x = Contrast::kMachine; x < width; ++x) {
      if (!columns.work[x]) continue;
      const std::uint16_t state = seen.state_of[x];
      const float ended = l < seen.ended.rows() ? seen.ended[l][x] : 0;
      float time = 0;
      if (ended > 0) {
        const OpenVisit &before = seen.before[l], &after = seen.after[l];
        time = seen.spent[l][x] + (before.state == state ? before.age : 0) -
               (after.state == state ? after.age : 0);
        time = std::max(0.0f, time);
      }
      float &sum = usual.time[l][x], &visits = usual.visits[l][x];
      if (known_[l] && visits >= 1 && sum > 0) {
        excess_[l][x] = time - ended * sum / visits;
        longer_[l][x] = excess_[l][x] * usual.slices[l] / sum;
      }
      if (!learns) continue;
      sum = keep * sum + time;
      visits = keep * visits + ended;
    }
    if (learns) usual.slices[l] = std::min(kMemory, usual.slices[l] + 1);
  }
}

void WorkLengths::forget(std::uint32_t leaf) {
  for (Usual& usual : usual_) {
    if (leaf >= usual.slices.size()) continue;
    usual.slices[leaf] = 0;
    for (Grid* g : {&usual.time, &usual.visits}) std::fill_n((*g)[leaf], g->columns(), 0.0f);
  }
}

}  // namespace margay::detect
