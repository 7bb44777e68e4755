// What the analysis does about errors of its own (an exception: no memory, a mistake of ours): a slice costs
// itself, the daemon goes on, and says so. Part of AnalysisStage.
#include <exception>
#include <new>

#include "margay/live/analysis_stage.h"
#include "margay/log/log.h"

namespace margay::app {
namespace {

constexpr DurationNs kSaid = seconds(60);
// Not for each slice: where memory is short every one fails, and looking back costs.
constexpr DurationNs kBetweenAnew = seconds(60);

}  // namespace

void AnalysisStage::say_failure(const std::string& sentence) {
  failure_ = sentence;
  const TimeNs now = clock_.monotonic();
  if (now < next_failure_said_) return;
  next_failure_said_ = now + kSaid;
  log::error(sentence + "; the daemon goes on: please report this");
}

// False: it threw; what it had not done yet is left.
bool AnalysisStage::survive(const char* doing, const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const std::exception& e) {
    ++failures_;
    try {
      say_failure(std::string("analysis: an error amid ") + doing + ": " + e.what());
    } catch (const std::bad_alloc&) {
      // It is counted.
    }
  }
  return false;
}

void AnalysisStage::take_slice(const ClosedSlice& message, bool past) {
  if (message.column && skipped_.contains(message.column->index)) return;
  // Looked at already when the analysis was made anew: it was in the archive, and still in the queue.
  if (!past && message.column && message.position != 0 && message.position <= looked_at_) return;
  if (!past && message.column && !message.amended)
    first_slice_ = std::min(first_slice_, message.column->index);
  try {
    if (message.column && options_.fault_in_analysis) options_.fault_in_analysis(*message.column);
    emit(analyst_->take(message), past);
  } catch (const std::exception& e) {
    failed_amid(message, e.what(), past);
  }
}

// It may have stopped anywhere: what it holds is not to be trusted.
void AnalysisStage::failed_amid(const ClosedSlice& message, const std::string& what, bool past) {
  std::string where = "what the run's sources are";
  if (message.final) where = "the end of the run";
  if (message.column) {
    where = "the slice at " + std::to_string(slice_begin(message.column->index, options_.levels[0]).value) +
            " ns";
    ++not_analysed_;
    skipped_.insert(message.column->index);
    if (skipped_.size() > kMostSkipped) skipped_.erase(skipped_.begin());
  } else {
    ++failures_;
  }
  say_failure("analysis: an error amid " + where + ": " + what);
  if (past) return;  // the look back goes on behind it
  const TimeNs now = clock_.monotonic();
  if (now >= next_anew_ || message.final) {
    next_anew_ = now + kBetweenAnew;
    make_anew(message);
  }
  // Once more, for it comes once: a daemon that cannot close the books leaves that to its successor.
  if (message.final) emit(analyst_->take(message), past);
}

// As a daemon that is started again does it: from what the archive has.
void AnalysisStage::make_anew(const ClosedSlice& failed) {
  const std::shared_ptr<const detect::Topology> topology = analyst_->shared_topology();
  const auto resume = archive_.load();
  if (!resume)
    return log::error("analysis: it goes on as it is, for the archive cannot be read: " +
                      resume.error().message);
  const auto back = app::look_back(archive_, *resume);
  if (!back)
    return log::error("analysis: it goes on as it is, for the archive cannot be read: " +
                      back.error().message);
  analyst_ = std::make_unique<Analyst>(options_, run_.begin);
  making_anew_ = true;
  recall(archive_, *resume, *back);
  looked_at_ = back->sequence - 1;
  analyst_->set_position(looked_at_);
  look_back();
  making_anew_ = false;
  // Slices between the archive's last cut, or the first of the run, and this one: it has seen them once, and
  // does not any more.
  if (failed.column && !failed.amended) {
    SliceIndex next = first_slice_;
    for (const auto& c : resume->closed)
      if (c.level == LevelIndex(0)) next = c.through + 1;
    if (failed.column->index > next)
      not_analysed_ += static_cast<std::uint64_t>(failed.column->index.value - next.value);
  }
  ClosedSlice known;
  known.topology = topology;
  known.watermark = failed.watermark;
  static_cast<void>(analyst_->take(known));
}

}  // namespace margay::app
