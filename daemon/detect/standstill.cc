#include "margay/detect/standstill.h"

#include <algorithm>
#include <optional>

#include "state_kind.h"

namespace margay::detect {
namespace {

// Slices of history that say what progress is usual.
constexpr std::size_t kMemory = 600;
constexpr std::uint32_t kAllWork = 4;

}  // namespace

void Standstill::on_slice(const model::SliceColumn& column, const Topology& topology,
                          const std::set<std::uint16_t>& idle, bool explained) {
  std::size_t waiting = 0, present = 0;
  std::optional<StateId> of_all;
  bool alike = true;
  const TimeNs begin = slice_begin(column.index, options_.slice);
  ended_ = 0;
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    for (const std::uint32_t v : column.visits(LeafIndex(l))) ended_ += v;
    const auto& open = column.open(LeafIndex(l));
    if (open.state == kAbsent || open.state == kUnknown) continue;
    if (column.evidence(LeafIndex(l)).drawn_out) continue;  // it may well go on, unheard
    ++present;
    alike = alike && of_all.value_or(open.state) == open.state;
    of_all = open.state;
    waiting += open.state != kCompute && open.since <= begin && !idle.contains(open.state.value);
  }
  if (ended_ > 0 || present == 0) {
    // One that was told counts as no longer than what it took to be told.
    if (slices_ > 0 && !explained && is_unusual())
      before_.add(std::min(slices_, before_.patience(options_.slices)));
    slices_ = 0;
  } else {
    ++slices_;
  }
  const bool all_work =
      of_all && alike && of_all->value < topology.states.size() && is_work(topology.states[of_all->value]);
  patience_ = before_.patience(options_.slices) * (all_work ? kAllWork : 1);
  somebody_waits_ = waiting > 0;
}

void Standstill::learn() {
  usual_.push_back(ended_);
  if (usual_.size() > kMemory) usual_.pop_front();
}

// What hangs now and then before it hangs for good leaves slices with few.
bool Standstill::is_unusual() const {
  const auto few = static_cast<std::size_t>(std::count_if(
      usual_.begin(), usual_.end(), [&](std::uint64_t ended) { return ended < options_.least_visits; }));
  return usual_.size() >= Habit::kKnown && few * Habit::kKnown <= usual_.size();
}

}  // namespace margay::detect
