#include "import_command.h"

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>

#include "command.h"
#include "import_output.h"
#include "margay/settings/units.h"
#ifdef MARGAY_LTTNG
#include "margay/lttng_import/import.h"
#endif
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

constexpr int kTrouble = 1, kBadInput = 2, kSignalled = 128;
constexpr DurationNs kShortestSlice{1000};
constexpr DurationNs kLongestSlice = seconds(86'400);

volatile sig_atomic_t g_signal = 0;

// While it lives, the signals that end a program only say that it is to end: what was begun is taken away.
class Signals {
 public:
  Signals() {
    g_signal = 0;
    struct sigaction take {};
    take.sa_handler = [](int n) { g_signal = n; };  // no SA_RESTART: a read that waits ends
    for (std::size_t i = 0; i < std::size(kTaken); ++i) ::sigaction(kTaken[i], &take, &before_[i]);
  }
  ~Signals() {
    for (std::size_t i = 0; i < std::size(kTaken); ++i) ::sigaction(kTaken[i], &before_[i], nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  static constexpr int kTaken[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(kTaken)]{};
};

void say(const std::string& sentence) {
  std::fprintf(stderr, "margay: %s\n", text::printable(sentence, true, 2000).c_str());
}

int complain(const Error& error) {
  say(error.message);
  if (g_signal != 0) return kSignalled + g_signal;
  return error.code == ErrorCode::kIo || error.code == ErrorCode::kInternal ? kTrouble : kBadInput;
}

Result<DurationNs> duration_of(const char* option, const std::string& text, DurationNs least,
                               DurationNs most) {
  const auto d = config::parse_duration(text);
  if (!d) return fail(d.error(), std::string("import: ") + option + " " + text);
  if (*d < least || *d > most)
    return fail(ErrorCode::kInvalidArgument, std::string("import: ") + option + " " + text + ": expected " +
                                                 (least.value == 0 ? "0s" : config::to_text(least)) + " to " +
                                                 config::to_text(most));
  return *d;
}

Result<std::uint64_t> page_of(const std::string& text) {
  using Options = trace::ReadOptions;
  const auto page = config::parse_size(text);
  if (!page) return fail(page.error(), "import: --page " + text);
  const auto bytes = static_cast<std::uint64_t>(page->value);
  if (!std::has_single_bit(bytes) || bytes < Options::kSmallestPage || bytes > Options::kLargestPage)
    return fail(ErrorCode::kInvalidArgument,
                "import: --page " + text + ": expected a power of two, 8B to 1TiB, such as 64B or 4KiB");
  return bytes;
}

store::RunMeta run_of(const ImportRequest& r, const std::string& name, std::string_view format,
                      DurationNs slice, DurationNs lateness) {
  store::RunMeta run;
  run.run = r.file == "-" ? "imported" : std::filesystem::path(r.file).filename().string();
  run.command = "import " + r.file;
  run.host = "imported";
  run.margay_version = MARGAY_VERSION;
  // As of runs: 100 ms, 1 s, 10 s and 60 s.
  for (const std::int64_t times : {1, 10, 100, 600}) run.levels.push_back(slice * times);
  run.lateness = lateness;
  run.settings = {{"import.file", name},
                  {"import.format", std::string(format)},
                  {"import.lateness", config::to_text(lateness)},
                  {"import.keep_going", r.keep_going ? "true" : "false"},
                  {"slice.duration", config::to_text(slice)},
                  {"store.raw_events", r.no_raw ? "false" : "true"}};
  if (!r.structures.empty()) run.settings["import.structures"] = r.structures;
  if (r.page != ImportRequest().page) run.settings["import.page"] = r.page;
  return run;
}

// Lines on a terminal that replace each other, a few times a second.
class Progress {
 public:
  explicit Progress(std::uint64_t size) : size_(size), terminal_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const trace::ReadCounts& counts) {
    const double now = seconds();
    if (!terminal_ || now < next_) return;
    next_ = now + 0.25;
    shown_ = true;
    std::fprintf(stderr, "\r\033[K%s", progress_text(counts, size_, now).c_str());
    std::fflush(stderr);
  }
  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const std::uint64_t size_;
  const bool terminal_;
  bool shown_ = false;
  double next_ = 0.5;
};

// What is to be imported, of whatever kind.
struct Job {
  std::string name;  // of the file or directory
  std::string_view format;
  std::uint64_t size = 0;  // bytes; 0: not known
  std::function<Result<trace::ReadCounts>(const trace::ReadOptions&, trace::Consumer&)> read;
};

Result<Job> job_of(const ImportRequest& r, trace::Input& input) {
  const auto format = trace::choose_format(r.format, input);
  if (!format) return tl::unexpected(format.error());
  return Job{input.name(), (*format)->name, input.size(),
             [&input, read = (*format)->read](const auto& o, auto& c) { return read(input, o, c); }};
}

// A directory: traces of LTTng.
Result<Job> job_of(const ImportRequest& r) {
#ifdef MARGAY_LTTNG
  return Job{
      r.file, "ctf", 0, [&r](const trace::ReadOptions& o, trace::Consumer& c) -> Result<trace::ReadCounts> {
        const auto done = lttng_import::read(r.file, r.rules, o, c);
        if (!done) return tl::unexpected(done.error());
        if (!r.quiet && !r.json)
          std::printf(
              "%s events: %s used by rules, %s ignored, %s of no rule, %s other; %s discarded by LTTng\n",
              grouped(done->events).c_str(), grouped(done->used).c_str(), grouped(done->ignored).c_str(),
              grouped(done->unmatched).c_str(), grouped(done->other).c_str(),
              grouped(done->discarded).c_str());
        return done->counts;
      }};
#else
  return fail(
      ErrorCode::kInvalidArgument,
      r.file + ": is a directory; traces of LTTng are imported where Margay was built with Babeltrace 2");
#endif
}

Result<ImportDone> import(const ImportRequest& r, const Job& job, DurationNs slice, DurationNs lateness,
                          std::uint64_t page) {
  trace::ArchiveWriter::Options options;
  options.run = run_of(r, job.name, job.format, slice, lateness);
  options.raw = !r.no_raw;
  if (!r.op.empty()) {
    const auto op = slicer::Operator::parse_kept(r.op);
    if (!op) return fail(op.error(), "--operator " + r.op);
    options.op = *op;
  }
  auto writer = trace::ArchiveWriter::create(r.archive, std::move(options));
  if (!writer) return tl::unexpected(writer.error());

  Progress progress(job.size);
  trace::ReadOptions read;
  read.lateness = lateness;
  read.keep_going = r.keep_going;
  read.slice = slice;
  read.sums = r.no_raw && r.op.empty();
  read.page = page;
  read.structures = r.structures;
  std::uint64_t told = 0;
  read.problem = [&](const std::string& sentence) {
    ++told;
    progress.clear();
    say(sentence);
  };
  read.step = [&](const trace::ReadCounts& counts) -> Status {
    if (g_signal != 0) return fail(ErrorCode::kUnavailable, "interrupted; nothing is left of " + r.archive);
    progress.show(counts);
    return {};
  };
  const auto counts = job.read(read, **writer);
  if (!counts) return tl::unexpected(counts.error());
  if (const std::uint64_t bad = counts->rejected + counts->late;
      bad > told && told >= trace::ReadOptions::kMostTold)
    read.problem("and " + std::to_string(bad - trace::ReadOptions::kMostTold) +
                 " lines more could not be taken");
  if (g_signal != 0) return fail(ErrorCode::kUnavailable, "interrupted; nothing is left of " + r.archive);
  const auto outcome = (*writer)->finish(counts->late, counts->rejected);
  if (!outcome) return fail(outcome.error(), r.archive);
  ImportDone done;
  done.archive = r.archive;
  done.file = job.name;
  done.format = job.format;
  done.counts = *counts;
  done.outcome = *outcome;
  done.leaves = outcome->leaves;
  done.slice = slice;
  done.seconds = progress.seconds();
  return done;
}

}  // namespace

void add_import_command(CLI::App& command, ImportRequest& r) {
  std::string names;
  for (const trace::Format& f : trace::formats())
    names += "  " + std::string(f.name) + std::string(f.name.size() < 10 ? 10 - f.name.size() : 1, ' ') +
             std::string(f.what) + "\n";
  command.description(
      R"(Make an archive from a trace of another tool, or from a capture: the same model and raw events as of
a run that Margay watched.

  margay import lu.trace --archive lu.margay
  zcat big.trace.gz | margay import - --archive big.margay --slice 10ms --no-raw
  margay import ring.trace --archive ring.margay --lateness 2s --keep-going
  margay import traces/ --archive night.margay         a directory with traces of LTTng
  margay import night.capture --archive night.margay   a capture: margay run --capture night.capture
  margay import app.lackey --archive mem.margay --structures app.nm  accesses to memory (MEMORY.md)

Formats:
)" + names +
      R"(  ctf       a directory with traces of LTTng, user space and kernel (and others in CTF 1.8)

The archive is written to DIR.partial and renamed when it is complete. After an error or a signal
nothing is left; after kill -9, DIR.partial.
Exit code: 0, also if --keep-going left lines out; 2 if the trace or a flag is wrong; 1 if the disk
is; 128 + N if signal N ended it.)");
  command.add_option("file", r.file, "the trace; - is standard input")->required();
  command.add_option("--archive", r.archive, "directory for the archive; must not exist yet")
      ->type_name("DIR")
      ->required();
  command.add_option("--format", r.format, "format of the trace (default: auto, from its first bytes)")
      ->type_name("FORMAT");
  command
      .add_option(
          "--slice", r.slice,
          "duration of the finest timeslice, 1us to 1d (default: 100ms); levels of 10, 100 and 600 slices "
          "are kept as well")
      ->type_name("DURATION");
  command
      .add_option(
          "--lateness", r.lateness,
          "how late a line may be, in trace time, at most 1h: lines are sorted within it (default: 0s, "
          "times must not decrease)")
      ->type_name("DURATION");
  command.add_flag("--keep-going", r.keep_going,
                   "leave out lines that are wrong or too late, count them, print the first 20");
  command
      .add_option(
          "--rules", r.rules,
          "for traces of LTTng: what events mean (collector/readers/lttng/rules/RULES.md); these rules go "
          "before the shipped ones; may be given again")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option(
          "--page", r.page,
          "of address traces: how many bytes a leaf has, a power of two (default: 4KiB); 64B: the lines "
          "of a cache")
      ->type_name("SIZE");
  command
      .add_option("--structures", r.structures,
                  "of address traces: what lies where: begin,end,name as CSV, nm -S, or /proc/PID/maps")
      ->type_name("FILE");
  command.add_flag("--no-raw", r.no_raw, "keep the model only, not every event");
  command.add_flag("--json", r.json, "print the summary as JSON, for programs");
}

int import_command(const ImportRequest& r) {
  const Signals signals;
  const auto slice = duration_of("--slice", r.slice, kShortestSlice, kLongestSlice);
  if (!slice) return complain(slice.error());
  const auto lateness = duration_of("--lateness", r.lateness, DurationNs(0), seconds(3600));
  if (!lateness) return complain(lateness.error());
  const auto page = page_of(r.page);
  if (!page) return complain(page.error());
  std::optional<trace::Input> opened;
  std::error_code ec;
  const bool directory = r.file != "-" && std::filesystem::is_directory(r.file, ec);
  if (!directory) {
    auto input = trace::Input::open(r.file, [] { return g_signal != 0; });
    if (!input) {
      say(input.error().message);
      return kBadInput;
    }
    opened.emplace(std::move(*input));
  }
  const auto job = directory ? job_of(r) : job_of(r, *opened);
  if (!job) return complain(job.error());
  const auto done = import(r, *job, *slice, *lateness, *page);
  if (!done) return complain(done.error());
  if (!r.quiet) std::fputs((r.json ? done_json(*done) : done_text(*done)).c_str(), stdout);
  return 0;
}

Declare declare_import() {
  return declare(add_import_command, import_command);
}

}  // namespace margay::daemon
