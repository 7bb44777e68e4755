#include "margay/live/live_analysis.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "margay/analysis/phase_memory.h"
#include "margay/log/log.h"

namespace margay::daemon {
namespace {

// Not for each slice: where memory is short every one fails, and looking back costs.
constexpr DurationNs kBetweenAnew = seconds(60);

}  // namespace

LiveAnalysis::LiveAnalysis(const Options& options, const store::Archive& archive, const store::Resume& resume,
                           const LookBack& back, const Clock& clock, const Out& out)
    : options_(options),
      archive_(archive),
      clock_(clock),
      run_begin_(resume.run.begin),
      out_(out),
      analyst_(std::make_unique<Analyst>(options, resume.run.begin)),
      phases_(options, analyst_->levels()) {
  recall(resume, back);
}

// What the archive knows already, and where the analysis has to begin.
void LiveAnalysis::recall(store::Resume resume, const LookBack& back) {
  analyst_->set_position(back.sequence);
  const TimeNs begin = slice_begin(back.first, options_.levels[0]);
  AlertNotifier::Said said = out_.notifier.recall(resume);
  std::vector<alert::Alert> before;  // from before what is looked back on
  if (!back.whole)
    for (const auto& [key, a] : said)
      if (a.detected < begin) before.push_back(a);
  std::sort(before.begin(), before.end(), alert::earlier);
  for (alert::Alert& a : before) analyst_->remember(std::move(a));
  // Phases from before the slices looked at stay as they are in the archive; numbering goes on behind them.
  std::optional<TimeNs> before_all;
  if (back.first > slice_of(run_begin_, options_.levels[0])) before_all = begin;
  phases_.take_over(resume, before_all);
  if (resume.sequence == 0) return;
  if (!back.whole) analyst_->restore(phase_memory(resume, back.first));
  past_ = std::make_unique<Past>(Past{std::move(resume), back, std::move(said)});
}

// Events are taken meanwhile (margay-ingest); the slices they close wait in the queue.
void LiveAnalysis::look_back() {
  if (!past_) return;
  const std::unique_ptr<const Past> past = std::move(past_);
  History history(archive_, past->resume);
  History::Range range{past->back.first, past->back.sequence, nullptr};
  if (!past->back.whole) range.topology = history.whole_topology();
  const Status read = history.read(range, [&](const store::JournalEntry* entry, ClosedSlice&& message) {
    // Another daemon's beginning, or its end: this one goes on.
    if (entry == nullptr || (entry->kind != store::JournalEntry::Kind::kStart && !message.final))
      static_cast<void>(take(message, past.get()));
    return out_.alive();
  });
  if (!read)
    log::error("phases of the past are not known: the archive could not be read: " + read.error().message);
}

bool LiveAnalysis::take(const ClosedSlice& message) {
  return take(message, nullptr);
}

bool LiveAnalysis::take(const ClosedSlice& message, const Past* past) {
  if (message.column && out_.failures.skips(message.column->index)) return false;
  // Looked at already when the analysis was made anew: it was in the archive, and still in the queue.
  if (past == nullptr && message.column && message.position != 0 && message.position <= looked_at_)
    return false;
  if (past == nullptr && message.column && !message.amended)
    first_slice_ = std::min(first_slice_, message.column->index);
  try {
    if (message.column && options_.fault_in_analysis) options_.fault_in_analysis(*message.column);
    return emit(analyst_->take(message), past);
  } catch (const std::exception& e) {
    failed_amid(message, e.what(), past != nullptr);
  }
  return false;
}

bool LiveAnalysis::emit(std::vector<alert::Alert> alerts, const Past* past) {
  const AlertNotifier::How how{past != nullptr, making_anew_, past != nullptr ? &past->said : nullptr};
  const bool raised = out_.notifier.take(alerts, how, out_.findings);
  for (alert::Alert& a : alerts) analyst_->remember(std::move(a));
  return raised;
}

// It may have stopped anywhere: what it holds is not to be trusted.
void LiveAnalysis::failed_amid(const ClosedSlice& message, const std::string& what, bool past) {
  const TimeNs now = clock_.monotonic();
  if (message.column) {
    const SliceIndex slice = message.column->index;
    out_.failures.amid_slice(
        slice, "the slice at " + std::to_string(slice_begin(slice, options_.levels[0]).value) + " ns", what,
        now);
  } else {
    out_.failures.amid(message.final ? "the end of the run" : "what the run's sources are", what, now);
  }
  if (past) return;  // the look back goes on behind it
  if (now >= next_anew_ || message.final) {
    next_anew_ = now + kBetweenAnew;
    make_anew(message);
  }
  // Once more, for it comes once: a daemon that cannot close the books leaves that to its successor.
  if (message.final) static_cast<void>(emit(analyst_->take(message), nullptr));
}

// As a daemon that is started again does it: from what the archive has.
void LiveAnalysis::make_anew(const ClosedSlice& failed) {
  const std::shared_ptr<const detect::Topology> topology = analyst_->shared_topology();
  auto resume = archive_.load();
  if (!resume)
    return log::error("analysis: it goes on as it is, for the archive cannot be read: " +
                      resume.error().message);
  const auto back = daemon::look_back(archive_, *resume);
  if (!back)
    return log::error("analysis: it goes on as it is, for the archive cannot be read: " +
                      back.error().message);
  SliceIndex next = first_slice_;
  for (const auto& c : resume->closed)
    if (c.level == LevelIndex(0)) next = c.through + 1;
  analyst_ = std::make_unique<Analyst>(options_, run_begin_);
  making_anew_ = true;
  recall(std::move(*resume), *back);
  looked_at_ = back->sequence - 1;
  analyst_->set_position(looked_at_);
  look_back();
  making_anew_ = false;
  // Slices between the archive's last cut, or the first of the run, and this one: it has seen them once, and
  // does not any more.
  if (failed.column && !failed.amended && failed.column->index > next)
    out_.failures.forgotten(static_cast<std::uint64_t>(failed.column->index.value - next.value));
  ClosedSlice known;
  known.topology = topology;
  known.watermark = failed.watermark;
  static_cast<void>(analyst_->take(known));
}

}  // namespace margay::daemon
