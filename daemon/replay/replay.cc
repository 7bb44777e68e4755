#include "margay/replay/replay.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <utility>

#include "margay/analysis/detector_settings.h"
#include "margay/analysis/history.h"
#include "margay/analysis/phase_memory.h"
#include "margay/replay/level_source.h"
#include "margay/settings/config.h"

namespace margay::daemon {
namespace {

using Kind = store::JournalEntry::Kind;

constexpr std::size_t kAhead = 64;  // messages read ahead
constexpr std::chrono::milliseconds kPatience(50);

struct Step {
  std::optional<store::JournalEntry> entry;
  ClosedSlice message;
  bool last = false;
};

// Reads on a thread of its own ("margay-read"), so that decoding costs the detection no time.
class Reader {
 public:
  using Read = std::function<Status(const History::Take&)>;
  // `planes` (null: none) are put into what is read.
  Reader(Read read, Planes* planes)
      : thread_([this, planes, read = std::move(read)] {
          pthread_setname_np(pthread_self(), "margay-read");
          Status attached;
          status_ = read([&](const store::JournalEntry* entry, ClosedSlice&& message) {
            Step step;
            if (entry != nullptr) step.entry = *entry;
            step.message = std::move(message);
            if (planes != nullptr) attached = planes->attach(step.message);
            return attached.has_value() && push(std::move(step));
          });
          if (status_) status_ = attached;
          Step end;
          end.last = true;
          push(std::move(end));
        }) {}
  ~Reader() {
    cancelled_ = true;
    thread_.join();
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Step next() {
    for (;;)
      if (auto step = steps_.pop(kPatience)) return std::move(*step);
  }
  // After the last step.
  const Status& status() const { return status_; }

 private:
  bool push(Step&& step) {
    while (!cancelled_)
      if (steps_.push(std::move(step), kPatience)) return true;
    return false;
  }
  BoundedQueue<Step> steps_{kAhead};
  std::atomic<bool> cancelled_{false};
  Status status_;
  std::thread thread_;
};

class Replay {
 public:
  Replay(const store::Archive& archive, const store::Resume& resume, const WhatIf& what_if, Options& options,
         const ReplayListener& listener, std::unique_ptr<Analyst>& analyst)
      : archive_(archive),
        resume_(resume),
        what_if_(what_if),
        options_(options),
        listener_(listener),
        analyst_(analyst) {
    if (!what_if.slice && !what_if.from && !what_if.to) comparison_.emplace(resume);
  }

  Result<ReplayResult> run() {
    std::map<std::string, std::string> settings;
    if (options_.op != slicer::Operator{}) settings[store::kOperatorSetting] = options_.op.text();
    if (Status s = settle(settings); !s) return tl::unexpected(s.error());
    renew({});
    const DurationNs finest = resume_.run.levels[0];
    History history(archive_, resume_);
    History::Range range;
    const SliceIndex first = slice_of(what_if_.from.value_or(resume_.run.begin), finest);
    SliceIndex last(INT64_MAX);
    if (what_if_.to) last = slice_of(*what_if_.to, finest) - 1;
    range.first = std::max(first, slice_of(resume_.run.begin, finest));
    if (what_if_.from) range.topology = history.whole_topology();
    if (what_if_.slice) {
      const auto whole = history.whole_topology();
      Reader reader(
          [&](const History::Take& take) {
            ClosedSlice message;
            message.topology = whole;
            if (!take(nullptr, std::move(message))) return Status{};
            return internal::read_slices(archive_, resume_, *what_if_.slice,
                                         what_if_.from.value_or(resume_.run.begin),
                                         what_if_.to.value_or(end_of_run()),
                                         [&](ClosedSlice&& m) { return take(nullptr, std::move(m)); });
          },
          what_if_.planes.get());
      return follow(reader, history);
    }
    Reader reader(
        [&](const History::Take& take) {
          return history.read(range, [&](const store::JournalEntry* entry, ClosedSlice&& message) {
            if (message.column && message.column->index > last) return message.amended;
            if (message.final && what_if_.to) return false;
            return take(entry, std::move(message));
          });
        },
        what_if_.planes.get());
    return follow(reader, history);
  }

 private:
  TimeNs end_of_run() const {
    const DurationNs finest = resume_.run.levels[0];
    for (const auto& c : resume_.closed)
      if (c.level == LevelIndex(0)) return slice_end(c.through, finest);
    return resume_.run.begin;
  }

  // The options of a daemon that began with these settings, and what the user wants otherwise.
  Status settle(const std::map<std::string, std::string>& settings) {
    if (Status s = apply_settings(settings, options_); !s) return s;
    settings_ = settings;
    for (const auto& [key, value] : what_if_.settings)
      if (const Status s = config::set(key, value, options_); !s) return s;
    if (what_if_.slice) options_.levels[0] = *what_if_.slice;
    if (what_if_.idle_states) options_.idle_states = *what_if_.idle_states;
    if (what_if_.p) options_.p = *what_if_.p;
    if (what_if_.op) options_.op = *what_if_.op;
    return {};
  }
  // `before`: where what it looks back on begins, or nothing where that is all of the run.
  void renew(std::optional<TimeNs> before) {
    analyst_ = std::make_unique<Analyst>(options_, what_if_.from.value_or(resume_.run.begin));
    if (comparison_) comparison_->begin(options_, analyst_->levels(), before);
  }

  void take(const ClosedSlice& message, bool past) {
    std::vector<alert::Alert> alerts = analyst_->take(message);
    if (comparison_) comparison_->take(message, alerts, analyst_->levels());
    for (alert::Alert& a : alerts) {
      const std::string key = a.id + '/' + alert::step(a);
      analyst_->remember(a);
      said_[a.id] = a;
      if (past || !known_.insert(key).second) continue;
      if (listener_.alert) listener_.alert(a);
    }
  }

  // A daemon began: it knew what it could look back on.
  Status start(const store::JournalEntry& e, const ClosedSlice& message) {
    ++result_.starts;
    // One that began with the same settings and saw all there was goes on as the one before it.
    if (result_.starts > 1 && e.whole && e.settings == settings_ && !analyst_->final()) {
      analyst_->set_position(e.sequence);
      return {};
    }
    if (Status s = settle(e.settings); !s) return s;
    const DurationNs finest = resume_.run.levels[0];
    const TimeNs begin = slice_begin(e.slice, finest);
    std::optional<TimeNs> before_all;
    if (e.slice > slice_of(resume_.run.begin, finest)) before_all = begin;
    renew(before_all);
    if (!e.whole) {
      analyst_->restore(phase_memory(resume_, e.slice));
      std::vector<alert::Alert> before;
      for (const auto& [id, said] : said_)
        if (said.detected < begin) before.push_back(said);
      std::sort(before.begin(), before.end(), alert::earlier);
      for (alert::Alert& a : before) analyst_->remember(std::move(a));
    }
    if (result_.starts > 1 || !e.whole) {
      History history(archive_, resume_);
      History::Range range{e.slice, e.sequence, nullptr};
      if (!e.whole) range.topology = message.topology;
      Status attached;
      Status s = history.read(range, [&](const store::JournalEntry* entry, ClosedSlice&& m) {
        if (what_if_.planes) attached = what_if_.planes->attach(m);
        if (!attached) return false;
        if (entry == nullptr || (entry->kind != Kind::kStart && !m.final)) take(m, true);
        return true;
      });
      if (s) s = attached;
      if (!s) return s;
    }
    analyst_->set_position(e.sequence);
    return {};
  }

  Result<ReplayResult> follow(Reader& reader, const History& history) {
    for (;;) {
      Step step = reader.next();
      if (step.last) break;
      const ClosedSlice& m = step.message;
      if (listener_.before && !listener_.before(m.watermark)) {
        result_.stopped = true;
        break;
      }
      if (step.entry && step.entry->kind == Kind::kStart) {
        ++result_.decisions;
        result_.repeats = result_.repeats || (step.entry->sequence == 1 && step.entry->whole);
        if (Status s = start(*step.entry, m); !s) return tl::unexpected(s.error());
        if (listener_.after) listener_.after(*analyst_);
        continue;
      }
      if (step.entry) ++result_.decisions;
      if (m.column && !m.amended) {
        if (result_.slices++ == 0) result_.begin = slice_begin(m.column->index, options_.levels[0]);
        result_.end = slice_end(m.column->index, options_.levels[0]);
      }
      result_.amended += m.amended ? 1 : 0;
      take(m, false);
      if (listener_.after) listener_.after(*analyst_);
    }
    if (!result_.stopped && !reader.status()) return tl::unexpected(reader.status().error());
    // A range, or a run whose end is not told: what is open then is left as it is.
    result_.missing = history.missing();
    const bool begun = result_.repeats;
    result_.repeats = begun && result_.missing == 0 && !what_if_.any();
    result_.comparison = compared(begun);
    return result_;
  }

  // `begun`: the journal has its beginning.
  Comparison compared(bool begun) const {
    Comparison none;
    if (result_.stopped)
      none.reasons.emplace_back("the replay was ended");
    else if (what_if_.slice)
      none.reasons.emplace_back("slices of another duration than live");
    else if (!comparison_)
      none.reasons.emplace_back("a part of the run");
    if (!none.reasons.empty()) return none;
    std::vector<std::string> reasons;
    if (what_if_.p || what_if_.idle_states || !what_if_.settings.empty())
      reasons.emplace_back("other settings than live");
    if (result_.decisions == 0)
      reasons.emplace_back("the archive does not tell in which order slices were shown live");
    else if (!begun)
      reasons.emplace_back("the archive's beginning was deleted since");
    if (result_.missing > 0)
      reasons.push_back(std::to_string(result_.missing) +
                        " decisions are missing from the archive's journal");
    return comparison_->result(std::move(reasons));
  }

  const store::Archive& archive_;
  const store::Resume& resume_;
  const WhatIf& what_if_;
  Options& options_;
  const ReplayListener& listener_;
  std::unique_ptr<Analyst>& analyst_;
  std::map<std::string, std::string> settings_;
  std::map<std::string, alert::Alert> said_;  // by id: the last word
  std::set<std::string> known_;
  std::optional<LiveComparison> comparison_;  // where it is to be compared
  ReplayResult result_;
};

}  // namespace

Result<ReplayResult> replay(const store::Archive& archive, const store::Resume& resume, const WhatIf& what_if,
                            Options& options, const ReplayListener& listener,
                            std::unique_ptr<Analyst>& analyst) {
  options.run = resume.run.run;
  options.command = resume.run.command;
  options.levels = resume.run.levels;
  const auto op = run_operator(resume.run);  // of archives without a journal; others tell it, too
  if (!op) return fail(op.error(), archive.path());
  options.op = *op;
  if (what_if.slice && (what_if.slice->value <= 0 || !internal::level_for(resume.run, *what_if.slice)))
    return fail(ErrorCode::kInvalidArgument, archive.path() + ": no level of it divides a slice of " +
                                                 std::to_string(what_if.slice->value) +
                                                 " ns (its finest has " +
                                                 std::to_string(resume.run.levels[0].value) + " ns)");
  if (what_if.from && what_if.to && *what_if.to <= *what_if.from)
    return fail(ErrorCode::kInvalidArgument, "the range ends before it begins");
  return Replay(archive, resume, what_if, options, listener, analyst).run();
}

}  // namespace margay::daemon
