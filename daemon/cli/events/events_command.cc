#include "events_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "command.h"
#include "events_output.h"
#include "margay/alert/handling.h"
#include "margay/base/text.h"
#include "margay/base/time_of_day.h"
#include "margay/query/run_views.h"
#include "margay/query/zoom.h"
#include "margay/settings/run_moment.h"
#include "margay/settings/units.h"
#include "margay/text/text.h"
#include "messages_output.h"
#include "progress_line.h"
#include "statistics_output.h"

namespace margay::daemon {
namespace {

constexpr int kNotSo = 1, kTrouble = 2;
constexpr std::uint64_t kUsualRows = 1000;  // of a table that a person reads
constexpr std::int64_t kAround = 2;         // slices before and after an alert

int complain(const std::string& sentence) {
  std::fprintf(stderr, "margay: %s\n", text::printable("events: " + sentence, true, 2000).c_str());
  return kTrouble;
}

// An alert says when, and who.
Result<alert::Alert> alert_of(const store::Resume& all, const std::string& path, const std::string& wanted) {
  std::vector<std::string> ids;
  for (const auto& a : all.alerts) ids.push_back(a.id);
  const auto id = alert::find_id(ids, wanted);
  if (!id)
    return fail(id.error().code, path + ": " + id.error().message + "; it has " + std::to_string(ids.size()) +
                                     ": margay alerts ls " + path);
  const auto at = std::find(ids.begin(), ids.end(), *id) - ids.begin();
  return alert::parse_untrusted(all.alerts[static_cast<std::size_t>(at)].json);
}

void look_around(const alert::Alert& a, const EventsRequest& r, const ZoomExtent& extent, DurationNs slice,
                 EventQuery& query) {
  const TimeNs end = a.end.value_or(extent.end);
  if (r.from.empty()) query.from = std::max(query.from, a.onset - slice * kAround);
  if (r.to.empty()) query.to = std::min(query.to, end + slice * kAround);
  if (!query.nodes.empty() || !query.resources.empty()) return;
  query.nodes = !a.likely_cause.empty() ? a.likely_cause : a.resources;
  // A process that took the CPU is no resource.
  std::erase_if(query.nodes, [](const std::string& n) { return n.empty() || n.front() != '/'; });
}

Status read_moment(const char* option, const std::string& text, TimeNs zero, TimeNs end, TimeNs& to) {
  if (text.empty()) return {};
  const auto t = config::parse_run_moment(text, zero, end);
  if (!t && looks_like_time_of_day(text)) return fail(t.error(), option);
  if (!t) return fail(t.error(), std::string(option) + " " + text);
  to = *t;
  return {};
}

void say_holes(std::uint64_t holes, const char* what_of_it) {
  if (holes > 0)
    std::fprintf(stderr, "margay: events are missing at %s places: %s\n", grouped(holes).c_str(), what_of_it);
}

void say_counts(const EventsRequest& r, const EventCounts& c, const EventQuery& query, TimeNs zero) {
  if (!r.csv && !r.json) {
    const auto at = [&](TimeNs t) { return text::duration_text(text::minus(t.value, zero.value)); };
    if (c.more)
      std::fprintf(stderr, "margay: the first %s from %s on; there are more: --limit, or --longest N\n",
                   grouped(c.told).c_str(), at(query.from).c_str());
    else if (c.told == 0)
      std::fprintf(stderr, "margay: nothing of that kind from %s to %s\n", at(query.from).c_str(),
                   at(query.to).c_str());
  }
  say_holes(c.holes, "the state Unknown is shown there");
  if (c.late > 0)
    std::fprintf(stderr,
                 "margay: %s rows stand behind some that begin later: they lasted while more than %s ended\n",
                 grouped(c.late).c_str(), grouped(query.most_held).c_str());
  if (c.rejected > 0)
    std::fprintf(stderr, "margay: %s records are invalid, and were left out\n", grouped(c.rejected).c_str());
  if (!c.exact)
    std::fputs(
        "margay: what is open at the begin is not known of every resource: older events were deleted\n",
        stderr);
}

// What they sum to.
int print_statistics(const EventsRequest& r, const EventStatistics& statistics, TimeNs zero, double seconds) {
  if (r.csv || r.json)
    std::fputs(
        (r.csv ? statistics_csv(statistics.summaries(), zero) : statistics_json(statistics.summaries(), zero))
            .c_str(),
        stdout);
  else if (const std::string table = statistics_table(statistics, r.messages, zero, seconds); !table.empty())
    std::puts(table.c_str());
  return std::fflush(stdout) == 0 ? 0 : complain("standard output: it cannot be written");
}

// Who sent what to whom, of the same stretch.
int list_messages_of(const EventsRequest& r, const store::Archive& archive, const store::Resume& all,
                     const EventQuery& asked, TimeNs zero) {
  MessageQuery query;
  query.from = asked.from, query.to = asked.to, query.nodes = asked.nodes, query.resources = asked.resources;
  query.view = asked.view;
  query.progress = asked.progress;
  query.least = asked.least, query.longest = asked.longest, query.most = asked.most;
  const bool table = !r.csv && !r.json;
  if (r.statistics) query.most = 0;
  EventStatistics statistics(EventStatistics::By::kBoth, query.from, query.to);
  MessagesTable rows(zero);
  Row fields;
  if (r.csv && !r.statistics) std::fputs(csv_head(messages_columns()).c_str(), stdout);
  const auto counts = list_messages(archive, all, query, [&](const MessageRow& row) -> Status {
    if (r.statistics) return statistics.add(row);
    if (table) return rows.add(row), Status();
    if (r.csv) message_fields(row, fields);
    const std::string line = r.csv ? csv_line(messages_columns(), fields, zero) : message_json(row, zero);
    if (std::fputs(line.c_str(), stdout) < 0) return fail(ErrorCode::kIo, "standard output is gone");
    return {};
  });
  if (query.progress) std::fputs("\r\033[K", stderr);
  if (!counts) return complain(r.archive + ": " + counts.error().message);
  if (r.statistics) {
    if (const int code = print_statistics(r, statistics, zero, 0); code != 0) return code;
  } else if (table && counts->told > 0) {
    std::puts(rows.text().c_str());
  }
  if (std::fflush(stdout) != 0) return complain("standard output: it cannot be written");
  if (table && counts->more)
    std::fprintf(stderr, "margay: the first %s; there are more: --limit, or --longest N\n",
                 grouped(counts->told).c_str());
  if (table && counts->told == 0) std::fputs("margay: no messages in this time\n", stderr);
  say_holes(counts->holes, "pairs behind them may be wrong");
  for (const std::string& note : unpaired_notes(counts->calls))
    std::fprintf(stderr, "margay: %s\n", note.c_str());
  if (!counts->exact)
    std::fputs(
        "margay: messages are paired by their order from shortly before this time on: where some were under "
        "way "
        "for longer, pairs of their tag are off by as many (without --from and --to all are exact)\n",
        stderr);
  return 0;
}

}  // namespace

void add_events_command(CLI::App& command, EventsRequest& r) {
  command.description(
      R"(The calls of a run one by one: who was in which state since when, for how long, with whom.

  margay events night.margay --alert 13900-3            the calls of those that an alert blames
  margay events night.margay --from 12 --to 12.5 --node /node1/rank3
  margay events night.margay --longest 20 --state 'MPI_*'    the longest calls of the run
  margay events night.margay --state MPI_Recv --least 10ms --csv > late.csv
  margay events night.margay --messages --longest 20    the messages that took longest
  margay events night.margay --statistics --alert 13900-3   what these calls sum to, state by state

A row is a visit to a state (states inside it are set in), a region of the program, a variable's new
value, a mark, or an end of a link. Calls that the probe summed are one row with their number. What
lies between MPI calls is Compute; where events were lost, Unknown. With --messages a row is a
message: who sent it to whom, and how long it took from the begin of the sending call to the end of
the call in which it was there. With --statistics a row is what all of them sum to: of each state,
resource or both (--by), of messages of each pair of ranks: how often, how long, the longest.

Exit code: 0; 1 if there is no such alert; 2 if it cannot be read.)");
  command.add_option("archive", r.archive, "directory of the archive")->required();
  command
      .add_option("--from", r.from,
                  "begin of the range: 12, 1min, 12:38:05; @N: trace time N ns (default: of the run)")
      ->type_name("TIME");
  command.add_option("--to", r.to, "end of the time range, not included (default: of the run)")
      ->type_name("TIME");
  command
      .add_option("--alert", r.alert,
                  "the time of this alert and the resources it blames; the end of the id is enough")
      ->type_name("ID");
  command.add_option("--node", r.nodes, "only resources at or below this path; may be given several times")
      ->type_name("PATH");
  command.add_option("--view", r.view, "in which --node and --resource are named, too (margay views --help)")
      ->type_name("VIEW");
  command
      .add_option("--resource", r.resources,
                  "the same by pattern: '/host1/*', '*rank6', or '!/host2', all but that")
      ->type_name("NAME");
  command
      .add_option("--state", r.states,
                  "only what has this name; * and ? match any text and character; also family:wait, and "
                  "'!MPI_Wait', all but that")
      ->type_name("NAME");
  command
      .add_option("--match", r.match,
                  "only where this regular expression is found in the resource's path, a space and the name")
      ->type_name("REGEX");
  command.add_option("--least", r.least, "only what lasts so long or longer (10ms)")->type_name("DURATION");
  command.add_option("--longest", r.longest, "so many, the longest first (default: all, in order of time)")
      ->type_name("N");
  command
      .add_option("--limit", r.limit, "print at most so many rows (default: 1000; of --csv and --json all)")
      ->type_name("N");
  command
      .add_flag("--messages", r.messages,
                "messages between ranks, instead of calls; --node: that it sent or got")
      ->excludes("--state")
      ->excludes("--match");
  auto* statistics =
      command.add_flag("--statistics", r.statistics, "what they sum to, instead of each of them")
          ->excludes("--longest")
          ->excludes("--limit");
  command.add_option("--by", r.by, "of --statistics: state (default), resource or both")
      ->type_name("WHAT")
      ->needs(statistics)
      ->check(CLI::IsMember({"state", "resource", "both"}));
  auto* csv =
      command.add_flag("--csv", r.csv, "print CSV, for R and pandas: times in s since the run's begin");
  command.add_flag("--json", r.json, "print JSON, an object a line: times in ns since the run's begin")
      ->excludes(csv);
}

int events_command(const EventsRequest& r) {
  const auto archive = store::Archive::open(r.archive, store::Mode::kBeside);
  if (!archive) return complain(archive.error().message);
  const auto all = (*archive)->load();
  if (!all) return complain(all.error().message);
  const auto extent = zoom_extent(**archive, *all);
  if (!extent) return complain(extent.error().message);
  const TimeNs zero = all->run.begin;
  EventQuery query;
  query.from = std::min(zero, extent->zero);
  query.to = std::max(extent->end, all->run.end.value_or(extent->end)) + DurationNs(1);
  query.match = r.match;
  auto view = view_of(r.view);
  if (!view) return complain(view.error().message);
  query.view = std::move(*view);
  query.nodes = r.nodes;
  wire::Filter terms;
  terms.mutable_states()->Assign(r.states.begin(), r.states.end());
  terms.mutable_resources()->Assign(r.resources.begin(), r.resources.end());
  auto filter = wire::run_filter_untrusted(terms);
  if (!filter) return complain(filter.error().message);
  query.terms = std::move(filter->states), query.resources = std::move(filter->resources);
  query.longest = r.longest;
  const bool table = !r.csv && !r.json;
  query.most = r.limit > 0 ? r.limit : table ? kUsualRows : 0;
  query.progress = progress_line("reading");
  if (!r.least.empty()) {
    const auto least = config::parse_duration(r.least);
    if (!least) return complain("--least " + r.least + ": " + least.error().message);
    query.least = *least;
  }
  if (!r.alert.empty()) {
    const auto a = alert_of(*all, r.archive, r.alert);
    if (!a) return complain(a.error().message), kNotSo;
    look_around(*a, r, *extent, all->run.levels.front(), query);
  }
  for (const Status& ok : {read_moment("--from", r.from, zero, extent->end, query.from),
                           read_moment("--to", r.to, zero, extent->end, query.to)})
    if (!ok) return complain(ok.error().message);
  if (query.to <= query.from) return complain("--to is not after --from");
  if (r.messages) return list_messages_of(r, **archive, *all, query, zero);

  if (r.statistics) query.most = 0;
  EventStatistics statistics(r.by == "state"      ? EventStatistics::By::kName
                             : r.by == "resource" ? EventStatistics::By::kResource
                                                  : EventStatistics::By::kBoth,
                             query.from, query.to);
  EventsTable rows(zero);
  Row fields;
  if (r.csv && !r.statistics) std::fputs(csv_head(events_columns()).c_str(), stdout);
  const auto counts = list_events(**archive, *all, query, [&](const EventRow& row) -> Status {
    if (r.statistics) return statistics.add(row);
    if (table) return rows.add(row), Status();
    if (r.csv) event_fields(row, fields);
    const std::string line = r.csv ? csv_line(events_columns(), fields, zero) : event_json(row, zero);
    if (std::fputs(line.c_str(), stdout) < 0) return fail(ErrorCode::kIo, "standard output is gone");
    return {};
  });
  if (query.progress) std::fputs("\r\033[K", stderr);
  if (!counts) return complain(r.archive + ": " + counts.error().message);
  if (r.statistics) {
    const double seconds = static_cast<double>((query.to - query.from).value) * 1e-9;
    if (const int code = print_statistics(r, statistics, zero, seconds); code != 0) return code;
  } else if (table && counts->told > 0) {
    std::puts(rows.text().c_str());
  }
  if (std::fflush(stdout) != 0) return complain("standard output: it cannot be written");
  say_counts(r, *counts, query, zero);
  return 0;
}

Declare declare_events() {
  return declare(add_events_command, events_command);
}

}  // namespace margay::daemon
