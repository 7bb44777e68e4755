#include "margay/live/absences.h"

#include "margay/live/absence_words.h"

namespace margay::daemon {

void Absences::add(SliceIndex first, SliceIndex last) {
  const TimeNs from = slice_begin(first, slice_), to = slice_end(last, slice_);
  first_.push_back(first);
  ++count_;
  not_watched_ += to - from;
  last_.emplace(from, to);
}

std::optional<SliceIndex> Absences::take_oldest_beyond() {
  if (first_.size() <= store::kMostGaps) return std::nullopt;
  const SliceIndex oldest = first_.front();
  first_.pop_front();
  return oldest;
}

void Absences::set(observe::Values& values) const {
  using observe::Id;
  values.set(Id::absences, count_);
  values.set(Id::not_watched_ms, static_cast<std::uint64_t>(not_watched_.value / 1'000'000));
  if (last_) values.explain(Id::absences, absence_sentence(last_->first, last_->second));
}

}  // namespace margay::daemon
