#include "replay_command.h"

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command.h"
#include "import/import_command.h"
#include "margay/alert/jsonl_sink.h"
#include "margay/analysis/detector_settings.h"
#include "margay/base/text.h"
#include "margay/replay/level_source.h"
#include "margay/replay/player.h"
#include "margay/replay/replay.h"
#include "margay/replay/resample.h"
#include "margay/replay/said_live.h"
#include "margay/settings/config.h"
#include "margay/settings/units.h"
#include "margay/terminal/live_lines.h"
#include "margay/text/text.h"
#include "replay_model.h"

namespace margay::daemon {
namespace {

constexpr int kWrong = 2;
// Lines on phases and alerts are made of a report each; so often, in slices.
constexpr std::uint64_t kSlicesALook = 10;

std::atomic<bool> g_stop{false};
std::atomic<int> g_signal{0};
extern "C" void on_signal(int number) {
  g_signal = number;
  g_stop = true;
}

int complain(const std::string& sentence) {
  std::fprintf(stderr, "margay: %s\n", text::printable(sentence, true, 2000).c_str());
  return kWrong;
}

bool number(const std::string& text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

Result<DurationNs> slice_of_option(const std::string& option, const std::string& text) {
  const auto d = config::parse_duration(text);
  if (!d) return fail(d.error(), option + " " + text);
  if (d->value <= 0) return fail(ErrorCode::kInvalidArgument, option + " " + text + ": must be above 0");
  return *d;
}

constexpr const char* kSliceKey = "slice.duration";

struct Wishes {
  WhatIf what_if;
  double speed = 0;
  std::vector<std::string> otherwise;  // settings: "detect.p = 0.05"
};

using Setting = std::pair<std::string, std::string>;

// Of a replay only what detection rests on can be otherwise.
Result<Setting> setting_of(const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  if (equals == std::string::npos || key.empty())
    return fail(ErrorCode::kInvalidArgument,
                "--set " + word + ": expected KEY=VALUE, such as detect.min_effect=0.05");
  if (!key.starts_with("detect.") && key != kSliceKey) {
    std::string known = kSliceKey;
    for (const std::string& name : config::key_names())
      if (name.starts_with("detect.")) known += ", " + name;
    return fail(ErrorCode::kInvalidArgument,
                "--set " + word + ": a replay can have other values of " + known);
  }
  Options tried;
  if (const Status ok = config::set(key, word.substr(equals + 1), tried); !ok)
    return fail(ok.error(), "--set " + word);
  return Setting{key, word.substr(equals + 1)};
}

Result<Wishes> wishes(const ReplayRequest& r, const store::RunMeta& run) {
  Wishes w;
  if (!r.slice.empty()) {
    const auto d = slice_of_option("--slice", r.slice);
    if (!d) return tl::unexpected(d.error());
    w.what_if.slice = *d;
  }
  if (!r.level.empty()) {
    const auto d = slice_of_option("--level", r.level);
    if (!d) return tl::unexpected(d.error());
    if (std::find(run.levels.begin(), run.levels.end(), *d) == run.levels.end()) {
      std::string levels;
      for (const DurationNs l : run.levels)
        levels += (levels.empty() ? "" : ", ") + text::slice_text(l.value);
      return fail(ErrorCode::kInvalidArgument,
                  "--level " + r.level + ": the archive has the levels " + levels);
    }
    w.what_if.slice = *d;
  }
  const std::string slice = !r.sliced_to.empty() ? r.sliced_to : !r.slice.empty() ? r.slice : r.level;
  if (!slice.empty()) w.otherwise.push_back(std::string(kSliceKey) + " = " + slice);
  if (!r.idle_states.empty()) w.what_if.idle_states = r.idle_states;
  for (const std::string& state : r.idle_states) w.otherwise.push_back("idle state " + state);
  if (!r.op.empty()) {
    const auto op = slicer::Operator::parse_kept(r.op);
    if (!op) return fail(op.error(), "--operator " + r.op);
    const auto kept = run_operator(run);
    if (!kept) return tl::unexpected(kept.error());
    if (*op != *kept) w.what_if.op = *op;
  }
  if (r.p == "auto") {
    w.what_if.p.emplace(std::nullopt);
  } else if (!r.p.empty()) {
    double p = 0;
    if (!number(r.p, p) || p < 0 || p > 1)
      return fail(ErrorCode::kInvalidArgument, "--p " + r.p + ": expected a number from 0 to 1, or auto");
    w.what_if.p.emplace(p);
  }
  if (w.what_if.p) w.otherwise.push_back("detect.p = " + r.p);
  for (const auto& [option, text, to] :
       {std::tuple("--from", &r.from, &w.what_if.from), std::tuple("--to", &r.to, &w.what_if.to)}) {
    if (text->empty()) continue;
    const auto t = config::parse_moment(*text, run.begin);
    if (!t) return fail(t.error(), std::string(option) + " " + *text);
    *to = *t;
  }
  for (const std::string& word : r.settings) {
    auto setting = setting_of(word);
    if (!setting) return tl::unexpected(setting.error());
    w.otherwise.push_back(setting->first + " = " + setting->second);
    w.what_if.settings.push_back(std::move(*setting));
  }
  if (r.speed != "max" && (!number(r.speed, w.speed) || w.speed <= 0 || w.speed > 1e9))
    return fail(ErrorCode::kInvalidArgument,
                "--speed " + r.speed + ": expected max, or how many times real time: 1, 10, 0.5");
  return w;
}

nlohmann::ordered_json live_json(const Comparison& c) {
  nlohmann::ordered_json j;
  j["compared"] = c.outcome != Comparison::Outcome::kNotCompared;
  if (c.outcome != Comparison::Outcome::kNotCompared) {
    j["identical"] = c.outcome == Comparison::Outcome::kIdentical;
    j["alerts"] = c.alerts_live;
    j["alerts_now"] = c.alerts_now;
    j["alerts_different"] = c.alerts_different;
    j["phases"] = c.phases_live;
    j["phases_now"] = c.phases_now;
    j["phases_different"] = c.phases_different;
  }
  if (c.first) j["first"] = {{"time_ns", c.first->at.value}, {"what", c.first->what}, {"how", c.first->how}};
  if (!c.reasons.empty()) j["reasons"] = c.reasons;
  return j;
}

std::string summary_json(const store::RunMeta& run, const slicer::Operator& op, const ReplayResult& result,
                         const Analyst& analyst, std::uint64_t alerts, double seconds,
                         const std::optional<wire::WhatIf>& beside) {
  nlohmann::ordered_json j;
  j["run"] = run.run;
  if (op != slicer::Operator{}) j["operator"] = op.text();
  j["exact"] = result.repeats && result.comparison.outcome == Comparison::Outcome::kIdentical;
  j["live"] = live_json(result.comparison);
  if (beside) {
    auto& live_only = j["beside"]["only_live"] = nlohmann::ordered_json::array();
    for (const wire::Alert& a : beside->only_live()) live_only.push_back(a.id());
    j["beside"]["only_now"] = beside->only_now();
  }
  j["begin_ns"] = result.begin.value;
  j["end_ns"] = result.end.value;
  j["slices"] = result.slices;
  j["decisions"] = result.decisions;
  j["decisions_missing"] = result.missing;
  j["phases"] = phases_json(analyst.levels(), 0);
  j["levels"] = coarser_phases_json(analyst.levels());
  j["alerts"] = alerts;
  j["seconds"] = seconds;
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Session {
 public:
  Session(const ReplayRequest& request, const store::Archive& archive, const store::Resume& resume,
          Wishes wishes)
      : r_(request), archive_(archive), resume_(resume), wishes_(std::move(wishes)) {}

  int run() {
    if (!r_.alerts.empty()) {
      auto sink = alert::JsonlSink::open(r_.alerts);
      if (!sink) return complain(sink.error().message);
      sink_.emplace(std::move(*sink));
    }
    Player::Options options;
    options.speed = wishes_.speed;
    options.serve = r_.serve;
    options.archive = &archive_;
    options.begin = wishes_.what_if.from.value_or(resume_.run.begin);
    options.end = options.begin;
    for (const auto& c : resume_.closed)
      if (c.level == LevelIndex(0)) options.end = slice_end(c.through, resume_.run.levels[0]);
    if (wishes_.what_if.to) options.end = std::min(options.end, *wishes_.what_if.to);
    options.end = std::max(options.end, options.begin);
    if (!wishes_.otherwise.empty()) {
      auto live = said_live(options.begin, options.end);
      if (!live) return complain(live.error().message);
      options.otherwise = {wishes_.otherwise, std::move(*live)};
    }
    total_ = options.end - options.begin;
    begin_ = options.begin;
    std::optional<transport::RunDirectory> directory;
    if (r_.serve) {
      const std::string name = r_.name.empty() ? "replay-" + resume_.run.run : r_.name;
      auto made = transport::make_run_directory(name);
      if (!made) return complain(made.error().message);
      directory = options.directory = *made;
      if (!r_.quiet)
        std::fprintf(stderr, "margay: %s\n",
                     text::printable("serving; watch it with: margay watch " + name, true, 400).c_str());
    }
    const int code = play(options);
    if (directory) transport::remove_run_directory(*directory);
    return code;
  }

 private:
  Result<SaidLive> said_live(TimeNs from, TimeNs to) const {
    std::shared_ptr<store::Archive> other;
    if (r_.resampled) {
      auto opened = store::Archive::open(r_.sliced_from, store::Mode::kBeside);
      if (!opened) return tl::unexpected(opened.error());
      other = std::move(*opened);
    }
    const auto alerts = (other ? *other : archive_).alerts();
    if (!alerts) return tl::unexpected(alerts.error());
    return SaidLive(*alerts, from, to);
  }

  int play(const Player::Options& options) {
    auto player = Player::open(options, clock_, g_stop);
    if (!player) return complain(player.error().message);
    const TimeNs started = clock_.monotonic();
    ReplayListener listener;
    listener.before = [&](TimeNs watermark) { return (*player)->before(watermark); };
    listener.alert = [&](const alert::Alert& a) {
      (*player)->said(a);
      take(a);
    };
    listener.after = [&](const Analyst& analyst) {
      (*player)->after(analyst);
      look(analyst, false);
    };
    for (;;) {
      Options settings;
      std::unique_ptr<Analyst> analyst;
      const auto result = replay(archive_, resume_, wishes_.what_if, settings, listener, analyst);
      progress_done();
      if (!result)
        return complain(result.error().message), result.error().code == ErrorCode::kInvalidArgument ? 2 : 1;
      if (g_stop) return 128 + g_signal;
      if (result->stopped && (*player)->rewind()) continue;
      if (!result->stopped) {
        look(*analyst, true);
        if ((*player)->at_end(*analyst)) continue;
        if (g_stop) return 128 + g_signal;
      }
      const double seconds = static_cast<double>((clock_.monotonic() - started).value) * 1e-9;
      shown_op_ = settings.op;
      ReplayResult shown = *result;
      if (r_.resampled) {
        shown.comparison = {};
        shown.comparison.reasons = {"the events were sliced again"};
      }
      finish(shown, *analyst, **player, seconds);
      return sink_ && sink_->failed() > 0 ? 1 : 0;
    }
  }

  void take(alert::Alert a) {
    a.emitted_wall = clock_.realtime();
    if (counted_.insert(a.id).second) ++alerts_;
    since_look_ = kSlicesALook;  // it is told now
    if (sink_) sink_->write(a);
  }

  // What `margay run` would print.
  void look(const Analyst& analyst, bool all) {
    if (r_.quiet || r_.json) return;
    if (!all && ++since_look_ < kSlicesALook) return;
    since_look_ = 0;
    ReportInput in = analyst.input();
    in.partitions = false;
    progress_done();
    for (const std::string& line : lines_.feed(build_report(in), clock_.monotonic()))
      std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    const TimeNs now = clock_.monotonic();
    if (!terminal_ || r_.serve || now < next_progress_ || total_.value <= 0) return;
    next_progress_ = now + milliseconds(200);
    const double part =
        static_cast<double>((analyst.watermark() - begin_).value) / static_cast<double>(total_.value);
    std::fprintf(stderr, "\r%3.0f %%", 100 * std::clamp(part, 0.0, 1.0));
    progress_ = true;
  }
  void progress_done() {
    if (std::exchange(progress_, false)) std::fputs("\r\033[K", stderr);
  }

  void finish(const ReplayResult& result, const Analyst& analyst, const Player& player, double seconds) {
    const wire::Report shown = analyst.report();
    const std::optional<wire::WhatIf> beside = player.beside(analyst.watermark());
    if (r_.json) {
      std::printf("%s\n",
                  summary_json(resume_.run, shown_op_, result, analyst, alerts_, seconds, beside).c_str());
      return;
    }
    if (r_.quiet) return;
    const double length = static_cast<double>((result.end - result.begin).value) * 1e-9;
    const std::uint64_t stretches = analyst.detector().phases().spans().size();
    const auto s = [](std::uint64_t n) { return n == 1 ? "" : "s"; };
    std::printf("margay: %s slice%s, %s phase stretch%s, %s alert%s; %s in %.1f s, %.0f times real time\n",
                grouped(result.slices).c_str(), s(result.slices), grouped(stretches).c_str(),
                stretches == 1 ? "" : "es", grouped(alerts_).c_str(), s(alerts_),
                text::duration_text((result.end - result.begin).value).c_str(), seconds,
                seconds > 0 ? length / seconds : 0);
    if (!shown.measured().note().empty())
      std::printf("margay: %s: %s\n", text::printable(shown.measured().operator_(), true, 300).c_str(),
                  text::printable(shown.measured().note(), true, 400).c_str());
    if (!analyst.levels().error().empty())
      std::printf("margay: the window is not partitioned: %s\n",
                  text::printable(analyst.levels().error(), true, 400).c_str());
    if (wishes_.what_if.any() || r_.resampled) std::puts("margay: what if: other settings than live");
    for (const std::string& line : comparison_lines(result.comparison, resume_.run.begin))
      std::printf("margay: %s\n", text::printable(line, true, 1000).c_str());
    if (beside) tell_live(*player.said_live(), *beside);
  }

  void tell_live(const SaidLive& live, const wire::WhatIf& beside) const {
    const auto tell = [&](const char* which, const wire::Alert& a) {
      const std::string time = text::duration_text(a.onset_ns() - resume_.run.begin.value);
      std::printf("margay: %s: %s, %s\n", which, time.c_str(),
                  text::printable(a.message(), true, 1000).c_str());
    };
    for (const wire::Alert& a : beside.only_live()) tell("said live only", a);
    std::vector<const wire::Alert*> now;
    for (const std::string& id : beside.only_now())
      if (const wire::Alert* a = live.said_now(id)) now.push_back(a);
    std::stable_sort(now.begin(), now.end(),
                     [](const auto* a, const auto* b) { return a->onset_ns() < b->onset_ns(); });
    for (const wire::Alert* a : now) tell("said now only", *a);
  }

  const ReplayRequest& r_;
  const store::Archive& archive_;
  const store::Resume& resume_;
  const Wishes wishes_;
  const SystemClock clock_;
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  std::optional<alert::JsonlSink> sink_;
  terminal::LiveLines lines_{false};
  std::set<std::string> counted_;
  slicer::Operator shown_op_;
  std::uint64_t alerts_ = 0;
  std::uint64_t since_look_ = 0;
  DurationNs total_{};
  TimeNs begin_{}, next_progress_{};
  bool progress_ = false;
};

}  // namespace

void add_replay_command(CLI::App& command, ReplayRequest& r) {
  command.description(
      R"(Compute phases, perturbations and alerts again from an archive. Without flags they are compared with
those reported live: the same to the byte for the same build of Margay; else the first that differs
is named. Flags ask "what if": another slice, p, operator, time range. The archive is not changed.

  margay replay night.margay                      all of it, as fast as possible
  margay replay night.margay --level 1s           what would slices of 1 s have shown?
  margay replay night.margay --from 90 --to 3min  a part of it
  margay replay night.margay --set detect.false_alarms_per_day=10   a detector that says more
  margay replay night.margay --serve --speed 10   10 times real time, shown by `margay watch`
                                                  (there r pauses, n steps, [ and ] jump)
  margay replay night.margay --operator bytes --serve   who moved how many bytes?
  margay replay lu.trace --slice 10ms             a trace of another tool

Exit code: 0; 1 if the archive is damaged or the alerts file cannot be written; 2 if the call is
wrong; 128 + N if signal N ended it.)");
  command
      .add_option("archive", r.archive,
                  "directory of an archive, or a trace (margay import --help); with --serve also a model")
      ->required();
  auto* slice =
      command
          .add_option("--slice", r.slice,
                      "duration of a timeslice, e.g. 500ms; raw events are sliced again unless it is a "
                      "multiple of a level")
          ->type_name("DURATION");
  command
      .add_option("--level", r.level,
                  "use this level of the archive: 1s, 10s (margay archive info lists them)")
      ->type_name("DURATION")
      ->excludes(slice);
  command
      .add_option("--idle-state", r.idle_states,
                  "a state in which a rank only waits for work; may be given again")
      ->type_name("STATE");
  command
      .add_option("--set", r.settings,
                  "another value of a key of margay config: detect.min_effect=0.05, slice.duration=1s; what "
                  "was said live only, or now only, is listed at the end")
      ->type_name("KEY=VALUE");
  command.add_option("--p", r.p, "gain/loss ratio of the partition, 0 to 1, or auto: just above the noise")
      ->type_name("P");
  command
      .add_option(
          "--operator", r.op,
          "what cells are made of: duration, occurrences, bytes, messages, mean:VARIABLE (default: the "
          "run's); another one than the run's is computed from raw events, which takes longer")
      ->type_name("OPERATOR");
  command
      .add_option("--from", r.from,
                  "begin, in seconds since the begin of the run or with a unit (3min); @N: trace time "
                  "N ns")
      ->type_name("TIME");
  command.add_option("--to", r.to, "end")->type_name("TIME");
  command.add_option("--lateness", r.lateness, "for traces: how late a line may be (default: 0s)")
      ->type_name("DURATION");
  command.add_option("--speed", r.speed, "how many times real time: 1, 10; max (default) does not wait")
      ->type_name("FACTOR");
  command
      .add_option("--alerts", r.alerts,
                  "write alerts to this file, one JSON object a line, as margay run does")
      ->type_name("FILE");
  auto* serve = command.add_flag("--serve", r.serve, "let viewers watch it; stays until Ctrl-C");
  command.add_option("--name", r.name, "with --serve: its name for viewers (default: replay-RUN)")
      ->type_name("NAME")
      ->needs(serve);
  command.add_flag("--json", r.json, "print one JSON object at the end, for programs");
  command.add_flag("-q,--quiet", r.quiet, "print errors only");
}

namespace {

// The raw events, measured by another operator.
Result<std::shared_ptr<Planes>> measure(const store::Archive& archive, const store::Resume& resume,
                                        ResampleRequest request, const Scratch& scratch) {
  const std::string path = scratch.path() + "/measured";
  const TimeNs begin = resume.run.begin;
  TimeNs end = begin;
  for (const auto& c : resume.closed)
    if (c.level == LevelIndex(0)) end = slice_end(c.through, resume.run.levels[0]);
  const bool tell = isatty(STDERR_FILENO) == 1 && end > begin;
  if (tell)
    request.progress = [begin, end](TimeNs t) {
      const double part = static_cast<double>((t - begin).value) / static_cast<double>((end - begin).value);
      std::fprintf(stderr, "\rmeasuring the events, %.0f %%", 100 * std::clamp(part, 0.0, 1.0));
    };
  const auto made = resample(archive, resume, request, path);
  if (tell) std::fputs("\r\033[K", stderr);
  if (!made) return tl::unexpected(made.error());
  auto planes = Planes::open(path);
  if (!planes) return tl::unexpected(planes.error());
  return std::shared_ptr<Planes>(std::move(*planes));
}

void end_on_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaction(s, &action, nullptr);
}

int replay_archive(const ReplayRequest& r) {
  const auto archive = store::Archive::open(r.archive, store::Mode::kBeside);
  if (!archive) return complain(archive.error().message), archive.error().code == ErrorCode::kCorrupt ? 1 : 2;
  const auto resume = (*archive)->load();
  if (!resume) return complain(resume.error().message), 1;
  if ((*archive)->is_live() && !r.quiet)
    static_cast<void>(complain(r.archive + ": is being written; this is what it holds now"));
  auto wanted = wishes(r, resume->run);
  if (!wanted) return complain(wanted.error().message);
  end_on_signals();
  const WhatIf& what_if = wanted->what_if;
  ResampleRequest resampling;
  resampling.slice = what_if.slice.value_or(resume->run.levels[0]);
  resampling.from = what_if.from;
  resampling.to = what_if.to;
  if (!what_if.slice || internal::level_for(resume->run, *what_if.slice)) {
    Scratch measured;
    if (what_if.op && *what_if.op != slicer::Operator{}) {
      resampling.op = *what_if.op;
      resampling.planes_only = true;
      if (const auto ok = measured.make(); !ok) return complain(ok.error().message);
      auto planes = measure(**archive, *resume, resampling, measured);
      if (!planes) return complain(planes.error().message);
      wanted->what_if.planes = std::move(*planes);
    }
    return Session(r, **archive, *resume, std::move(*wanted)).run();
  }
  // A slice that no level divides: the events are sliced again, for now.
  Scratch scratch;
  if (const auto ok = scratch.make(); !ok) return complain(ok.error().message);
  ReplayRequest inside = r;
  inside.archive = scratch.path() + "/" + resume->run.run;
  const auto kept = run_operator(resume->run);
  if (!kept) return complain(kept.error().message);
  resampling.op = what_if.op.value_or(*kept);
  const auto made = resample(**archive, *resume, resampling, inside.archive);
  if (!made) return complain(made.error().message);
  if (!made->exact)
    std::fputs(
        "margay: of some nested states the archive does not keep the begin: before their ends, they are\n"
        "margay: taken for the only ones\n",
        stderr);
  inside.sliced_from = r.archive;
  inside.sliced_to = std::exchange(inside.slice, {});
  inside.op.clear();
  // Some leaves were read from before the range, to know what was open.
  if (what_if.from) inside.from = "@" + std::to_string(what_if.from->value);
  inside.to.clear();
  inside.resampled = true;
  return replay_archive(inside);
}

// The slice is what is read, not only how.
Result<ReplayRequest> with_slice(ReplayRequest r) {
  const std::string begin = std::string(kSliceKey) + "=";
  for (auto word = r.settings.begin(); word != r.settings.end();) {
    if (!word->starts_with(begin)) {
      ++word;
      continue;
    }
    if (!r.slice.empty() || !r.level.empty())
      return fail(ErrorCode::kInvalidArgument, "--set " + *word + ": the slice is given already");
    r.slice = word->substr(begin.size());
    word = r.settings.erase(word);
  }
  return r;
}

}  // namespace

int replay_command(const ReplayRequest& asked) {
  const auto request = with_slice(asked);
  if (!request) return complain(request.error().message);
  const ReplayRequest& r = *request;
  std::error_code error;
  if (r.archive != "-" && !std::filesystem::is_regular_file(r.archive, error)) return replay_archive(r);
  if (r.archive != "-" && is_model_file(r.archive)) {
    end_on_signals();
    const Status served = serve_model(r, g_stop);
    if (!served) return complain(served.error().message);
    return g_stop ? 128 + g_signal : 0;
  }
  // A trace: its model is what is wanted, at this slice, and only for now.
  Scratch scratch;
  if (const auto ok = scratch.make(); !ok) return complain(ok.error().message);
  ImportRequest import;
  import.file = r.archive;
  import.archive = scratch.path() + "/" +
                   (r.archive == "-" ? "trace" : std::filesystem::path(r.archive).filename().string());
  if (!r.slice.empty()) import.slice = r.slice;
  import.lateness = r.lateness;
  import.op = r.op;
  import.no_raw = import.quiet = true;
  if (const int code = import_command(import); code != 0) return code;
  ReplayRequest inside = r;
  inside.archive = import.archive;
  inside.slice.clear();
  inside.op.clear();
  return replay_archive(inside);
}

Declare declare_replay() {
  return declare(add_replay_command, replay_command);
}

}  // namespace margay::daemon
