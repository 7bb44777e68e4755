#include "partition_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "command.h"
#include "margay/query/run_views.h"
#include "margay/query/told_areas.h"
#include "margay/query/zoom.h"
#include "margay/settings/units.h"
#include "margay/text/text.h"
#include "partition_output.h"

namespace margay::daemon {
namespace {

constexpr int kBadInput = 2, kTrouble = 1;

// What the words of the command line say, once they make sense.
struct Wanted {
  std::string model;
  std::vector<double> p;
  std::uint64_t memory_bytes = 0;
  partition::Operator op = partition::Operator::kSpatiotemporal;
  ZoomRequest zoom;
};

std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double x = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0' ? std::optional(x) : std::nullopt;
}

// One word after --p: numbers, with commas between several.
std::optional<std::vector<double>> numbers_of(const std::string& word) {
  std::vector<double> out;
  for (std::size_t begin = 0; begin <= word.size();) {
    const std::size_t end = std::min(word.find(',', begin), word.size());
    const auto x = number_of(word.substr(begin, end - begin));
    if (!x) return std::nullopt;
    out.push_back(*x);
    begin = end + 1;
  }
  return out;
}

tl::unexpected<Error> wrong(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, "partition: " + what);
}

// A list of states by name has always been one; all else is a filter.
Status filter_by(const PartitionRequest& r, ZoomRequest& zoom) {
  wire::Filter terms;
  if (wire::are_plain_terms(r.states))
    zoom.states = r.states;
  else
    terms.mutable_states()->Assign(r.states.begin(), r.states.end());
  terms.mutable_resources()->Assign(r.resources.begin(), r.resources.end());
  terms.set_of_the_rest(r.of_the_rest);
  auto filter = wire::run_filter_untrusted(terms);
  if (!filter) return wrong(filter.error().message);
  zoom.filter = std::move(*filter);
  return {};
}

Result<Wanted> make_sense(const PartitionRequest& r) {
  Wanted out;
  std::vector<std::string> models = r.models;
  for (const std::string& word : r.p) {
    const auto numbers = numbers_of(word);
    if (!numbers) {
      // --p takes any number of values, and so the model's name where it comes next.
      if (!models.empty() || out.p.empty()) return wrong("--p " + word + ": expected a number from 0 to 1");
      models.push_back(word);
      continue;
    }
    for (const double p : *numbers) {
      if (!(p >= 0 && p <= 1)) return wrong("--p " + word + ": expected a number from 0 to 1");
      out.p.push_back(p);
    }
  }
  if (models.size() != 1)
    return wrong("give one INPUT: an archive, a capture, a file with a model, or - for standard input");
  out.model = models.front();
  const auto memory = config::parse_size(r.memory);
  if (!memory) return fail(memory.error(), "partition: --memory " + r.memory);
  out.memory_bytes = memory->value;
  out.zoom.input = out.model;
  out.zoom.memory_bytes = memory->value;
  bool aggregates = false, measures = false;
  for (const std::string& word : r.operators) {
    const auto* const aggregating =
        std::find_if(partition::kOperatorNames.begin(), partition::kOperatorNames.end(),
                     [&](const auto& known) { return known.first == word; });
    const bool aggregates_by = aggregating != partition::kOperatorNames.end();
    if (std::exchange(aggregates_by ? aggregates : measures, true))
      return wrong("--operator " + word + ": a second one of its kind");
    if (aggregates_by) {
      out.op = aggregating->second;
      continue;
    }
    const auto op = slicer::Operator::parse(word);
    if (!op)
      return wrong("--operator " + word + ": " + op.error().message +
                   ", or spatiotemporal, temporal, spatial or product");
    out.zoom.op = *op;
  }
  const auto given = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  out.zoom.from = given(r.from);
  out.zoom.to = given(r.to);
  out.zoom.level = given(r.level);
  auto view = view_of(r.view);
  if (!view) return wrong(view.error().message);
  out.zoom.view = std::move(*view);
  out.zoom.node = r.node;
  if (Status ok = filter_by(r, out.zoom); !ok) return tl::unexpected(ok.error());
  if (r.slices > 0) out.zoom.slices = r.slices;
  return out;
}

class Stopwatch {
 public:
  // Milliseconds since the last question.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Result<Zoomed> read_model(Wanted& wanted) {
  if (zoom_input(wanted.model) == ZoomInput::kNone) {
    if (wanted.zoom.asks())
      return wrong(
          wanted.model +
          ": has its slices already; --from, --to, --slices, --state, --node, --view, --resource, --rest, "
          "--level and what "
          "is measured are for archives and captures");
    const auto text = read_input(wanted.model, wanted.memory_bytes);
    if (!text) return tl::unexpected(text.error());
    auto model = parse_model(*text, wanted.model, wanted.memory_bytes);
    if (!model) return tl::unexpected(model.error());
    return Zoomed{std::move(*model), {}, 0};
  }
  const bool terminal = isatty(STDERR_FILENO) == 1;
  int shown = -1;
  if (terminal)
    wanted.zoom.progress = [&shown](double part) {
      if (const int percent = static_cast<int>(100 * part); percent != shown)
        std::fprintf(stderr, "\rreading events: %d %%", shown = percent);
    };
  auto out = zoom(wanted.zoom);
  if (shown >= 0) std::fputs("\r\033[K", stderr);
  if (out)
    for (const std::string& note : out->notes)
      std::fprintf(stderr, "margay: %s: %s\n", text::printable(wanted.model, true, 200).c_str(),
                   note.c_str());
  return out;
}

Result<partition::Batch> measure(const Model& model, const Wanted& wanted) {
  const std::size_t leaves = model.leaves();
  const std::vector<double> ones(leaves, 1.0);
  std::vector<partition::Column> columns(model.slices);
  for (std::size_t t = 0; t < model.slices; ++t)
    columns[t] = {
        std::span(model.values).subspan(t * leaves * model.states, leaves * model.states),
        model.weights.empty() ? std::span(ones) : std::span(model.weights).subspan(t * leaves, leaves)};
  partition::Batch::Options options;
  options.op = wanted.op;
  options.tree = model.tree;
  options.states = model.states;
  options.first_slice = model.first_slice;
  // The reader saw to it that the values fit.
  options.memory_budget_bytes =
      wanted.memory_bytes - (model.values.size() + model.weights.size()) * sizeof(double);
  return partition::Batch::create(std::move(options), columns);
}

// What was alerted in the time of an archive's model.
Result<std::vector<partition::Area>> told(const Wanted& wanted, const Model& model) {
  if (!model.times || zoom_input(wanted.model) != ZoomInput::kArchive) return std::vector<partition::Area>();
  const auto archive = store::Archive::open(wanted.model, store::Mode::kReadOnly);
  if (!archive) return tl::unexpected(archive.error());
  const auto alerts = (*archive)->alerts();
  if (!alerts) return tl::unexpected(alerts.error());
  return told_areas(told_in(*alerts, model.times->from, model.times->to), model);
}

// `areas`: that are to be parts of their own, in a picture.
Result<ShownPartition> solve(partition::Batch& batch, double p, const Model& model, bool strength,
                             const std::vector<partition::Area>& areas) {
  auto partition = batch.solve(p);
  if (!partition) return tl::unexpected(partition.error());
  if (!areas.empty()) draw_picture(*partition, batch, areas);
  ShownPartition out;
  if (strength) {
    auto strengths = partition::strengths(batch, *partition);
    if (!strengths) return tl::unexpected(strengths.error());
    out.strengths = std::move(*strengths);
  }
  out.partition = std::move(*partition);
  to_units(out.partition, model.unit);
  return out;
}

Status solve_all(PartitionReport& report, partition::Batch& batch, const PartitionRequest& r,
                 const Wanted& wanted) {
  std::vector<double> ps = wanted.p;
  std::optional<ChosenP> chosen;
  std::vector<partition::Area> areas;
  if (ps.empty() && r.policy == "jump") {
    auto jump = jump_p(batch);
    if (!jump) return tl::unexpected(jump.error());
    chosen = std::move(*jump);
  } else if (ps.empty()) {
    // A strength is that of a part of the optimum.
    if (wanted.op == partition::Operator::kSpatiotemporal && !r.strength) {
      auto found = told(wanted, report.model);
      if (!found) return tl::unexpected(found.error());
      areas = std::move(*found);
    }
    auto lowered = lower_for(noise_p(report.model), batch, areas);
    if (!lowered) return tl::unexpected(lowered.error());
    chosen = std::move(*lowered);
    if (!areas.empty()) chosen->why += "; what was alerted is parts of its own";
  }
  if (chosen) ps.push_back(chosen->p);
  for (const double p : ps) {
    auto shown = solve(batch, p, report.model, r.strength, areas);
    if (!shown) return tl::unexpected(shown.error());
    shown->chosen = chosen;
    report.partitions.push_back(std::move(*shown));
  }
  return {};
}

Status search(PartitionReport& report, partition::Batch& batch, bool envelope) {
  auto list = envelope ? partition::envelope(batch) : partition::significant_p(batch);
  if (!list) return tl::unexpected(list.error());
  ShownList shown;
  shown.jump = partition::largest_jump(list->points);
  shown.list = std::move(*list);
  shown.envelope = envelope;
  to_units(shown.list, report.model.unit);
  report.list = std::move(shown);
  return {};
}

int complain(const Error& error, const std::string& where = {}) {
  const bool limit =
      error.code == ErrorCode::kLimit && error.message.find("memory budget") != std::string::npos;
  std::fprintf(stderr, "margay: %s%s%s\n", where.empty() ? "" : (where + ": ").c_str(), error.message.c_str(),
               limit ? "; --memory sets it" : "");
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kIo:
    case ErrorCode::kLimit:
    case ErrorCode::kCorrupt:
    case ErrorCode::kVersion:
    case ErrorCode::kUnavailable:  // an archive that is being written
      return kBadInput;
    default:
      return kTrouble;
  }
}

}  // namespace

namespace {

void add_filter_options(CLI::App& command, PartitionRequest& r) {
  command
      .add_option("--state", r.states,
                  "only these states; the others count as time that is not shown; also 'MPI_*', family:wait, "
                  "and '!MPI_Wait', all but that")
      ->option_text(" NAME ...");
  command.add_option("--node", r.node, "only resources below this node, e.g. /host7")->type_name("NODE");
  command
      .add_option("--view", r.view, "another hierarchy: host/core, 'rank mod 8', group@FILE (margay views)")
      ->type_name("VIEW");
  command
      .add_option(
          "--resource", r.resources,
          "only these, and what is below them: '/host1/*', '*rank6', or '!/host2', all but that; several "
          "may be given")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command.add_flag("--rest", r.of_the_rest,
                   "shares are of what --state and --resource leave, and of nothing else");
}

}  // namespace

void add_partition_command(CLI::App& command, PartitionRequest& r) {
  command.description(
      R"(Compute the optimal partition of an archive, or of a model in a file: which resources behave alike,
and from when to when. What a part hides is its loss, what it saves the reader is its gain; p weighs
them, from 0 (all details) to 1 (one part).

  margay partition night.margay                                      the whole run in 30 slices
  margay partition night.margay --from 12.5 --to 2min --slices 100   a closer look
  margay partition night.margay --node /host7 --state MPI_Wait MPI_Send --level 1s
  margay partition night.margay --operator bytes                     where do the bytes go?
  margay partition night.margay --view 'host/core'                   from another point of view
  margay partition model.csv --p-list                                each p at which parts change
  margay partition model.txt --p 0.1 0.5 --json

The formats of models, the numbers and the JSON: daemon/partition/PARTITION.md.
Exit code: 0; 2 if the input or a flag is wrong; 1 for anything else.)");
  command.add_option("input", r.models, "archive, capture, or file with a model; - is standard input")
      ->option_text("INPUT");
  command
      .add_option(
          "--from", r.from,
          "begin of the time range: 12.5, 1min, 12:38:05 (default: of the run); @N is trace time N ns")
      ->type_name("TIME");
  command.add_option("--to", r.to, "end of the time range, not included (default: of the run)")
      ->type_name("TIME");
  command.add_option("--slices", r.slices, "number of slices of the range, 1 to 1000000 (default: about 30)")
      ->type_name("NUMBER")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{kMostModelSlices}));
  add_filter_options(command, r);
  command
      .add_option(
          "--level", r.level,
          "use the archive's slices of this duration, divided in proportion at the boundaries of the range; "
          "without --slices each is a slice")
      ->type_name("DURATION");
  auto* p = command.add_option("--p", r.p, "gain/loss ratio, 0 to 1; several give several partitions")
                ->option_text(" P ...");
  auto* policy =
      command
          .add_option(
              "--p-policy", r.policy,
              "how p is chosen without --p: noise (default) shows no cut that chance alone makes, and "
              "what was alerted; "
              "jump takes the last p before quality falls most")
          ->type_name("POLICY")
          ->check(CLI::IsMember({"noise", "jump"}))
          ->excludes(p);
  auto* list = command.add_flag("--p-list", r.list,
                                "list every p at which the optimal partition changes, with gain and loss");
  auto* envelope = command.add_flag(
      "--envelope", r.envelope, "the list within a certified error: fewer points, faster (implies --p-list)");
  auto* strength = command.add_flag("--strength", r.strength,
                                    "for each part the p at which it merges with its neighbours");
  for (auto* l : {list, envelope}) l->excludes(p)->excludes(policy)->excludes(strength);
  command
      .add_option(
          "--operator", r.operators,
          "spatiotemporal (default: a part is a node over some slices), temporal (cuts in time only, the "
          "same for all), spatial (nodes only, over all slices) or product (those nodes x cuts in time); and "
          "what cells are made of: duration (default), occurrences, bytes, messages, "
          "mean:VARIABLE, max:VARIABLE, rate:VARIABLE, length. One of each may be given")
      ->type_name("WORD")
      ->allow_extra_args(false);
  command.add_option("--memory", r.memory, "use at most this much memory (default: 4GiB)")->type_name("SIZE");
  auto* json = command.add_flag("--json", r.json, "print JSON on one line, for programs");
  auto* csv =
      command.add_flag("--csv", r.csv, "print CSV: one line for each part, or each point of the list")
          ->excludes(json);
  command.add_flag("--all", r.all, "print every line of the table, not only the first 200")
      ->excludes(json)
      ->excludes(csv);
  command.add_flag("--timing", r.timing, "print to stderr how long reading, measuring and solving took");
}

int partition_command(const PartitionRequest& r) {
  auto wanted = make_sense(r);
  if (!wanted) return complain(wanted.error());
  Stopwatch watch;
  const auto zoomed = read_model(*wanted);
  if (!zoomed) return complain(zoomed.error());
  const Model* const model = &zoomed->model;
  const double reading = watch.lap();
  auto batch = measure(*model, *wanted);
  if (!batch) return complain(batch.error(), wanted->model);
  const double measuring = watch.lap();

  PartitionReport report{*model, wanted->model, wanted->op, batch->whole(), {}, {}, {}};
  if (model->times) report.measures = wanted->zoom.op.text();
  report.view = wanted->zoom.view.text();
  to_units(report.whole, model->unit);
  const Status solved =
      r.list || r.envelope ? search(report, *batch, r.envelope) : solve_all(report, *batch, r, *wanted);
  if (!solved) return complain(solved.error(), wanted->model);
  const double solving = watch.lap();

  const std::string out = r.json  ? partition_json(report)
                          : r.csv ? partition_csv(report)
                                  : partition_text(report, r.all);
  if (r.timing)
    std::fprintf(stderr, "margay: timing: reading %.1f ms, measuring %.1f ms, solving %.1f ms\n", reading,
                 measuring, solving);
  if (std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0) return 0;
  std::perror("margay: partition: writing");
  return kTrouble;
}

Declare declare_partition() {
  return declare(add_partition_command, partition_command);
}

}  // namespace margay::daemon
