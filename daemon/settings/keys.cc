#include "keys.h"

#include <bit>
#include <span>

#include "key_builders.h"

namespace margay::config {
namespace {

constexpr std::size_t kMostListEntries = 256;
constexpr std::size_t kMostLevelsAbove = 15;   // 16 levels in an archive, with the finest
constexpr std::size_t kLongestOperator = 261;  // "mean:" and the longest name that is kept of a live source

bool is_host_name(const std::string& name) {
  return !name.empty() && name.size() <= 253 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '.' || c == '-' || c == '_';
  });
}

constexpr DurationNs kLeastAge = seconds(10);
constexpr DurationNs kMostAge = seconds(std::int64_t{100} * 365 * 86'400);

// Nothing where `text` is no age; an age of nothing is for ever.
std::optional<std::optional<DurationNs>> age(const std::string& text) {
  if (text.empty() || text == "forever") return std::optional<DurationNs>();
  const auto d = duration(text, kLeastAge, kMostAge);
  if (!d) return std::nullopt;
  return d;
}
template <class At>
Key age_key(const char* section, const char* name, At at, const char* help) {
  return {section,
          name,
          help,
          "\"forever\" or a duration from " + to_text(kLeastAge) + " to " + to_text(kMostAge),
          [=](const Value& v, Options& o) {
            const auto* text = std::get_if<std::string>(&v);
            const auto d = text ? age(*text) : std::nullopt;
            if (d) at(o) = *d;
            return d.has_value();
          },
          [=](const Options& o) { return quoted(show_age(at(o))); }};
}
// Times lie on a grid of this: it divides what is a multiple of it, and costs whole bits.
template <class At>
Key grid_key(const char* section, const char* name, At at, DurationNs most, const char* help) {
  return {section,
          name,
          help,
          "a power of two of nanoseconds, 1ns, 2ns, 4ns ... " + std::to_string(most.value) + "ns",
          [=](const Value& v, Options& o) {
            const auto* text = std::get_if<std::string>(&v);
            const auto d = text ? duration(*text, DurationNs(1), most) : std::nullopt;
            if (!d || !std::has_single_bit(static_cast<std::uint64_t>(d->value))) return false;
            at(o) = *d;
            return true;
          },
          [=](const Options& o) { return quoted(to_text(at(o))); }};
}
Key keep_levels_key() {
  return {"store",
          "keep_levels",
          "The same for slices, level by level: slice.duration first, then slice.levels. A coarser level is "
          "kept for as long as a finer one, or longer; levels that are not named are kept forever. What a "
          "restart needs is always kept.",
          "a list of at most 16 ages, such as [\"7d\", \"30d\", \"forever\"]",
          [](const Value& v, Options& o) {
            const auto* texts = std::get_if<Texts>(&v);
            if (!texts || texts->size() > kMostLevelsAbove + 1) return false;
            std::vector<std::optional<DurationNs>> ages;
            for (const std::string& text : *texts) {
              const auto d = age(text);
              if (!d) return false;
              ages.push_back(*d);
            }
            o.keep.levels = std::move(ages);
            return true;
          },
          [](const Options& o) { return show_list(o.keep.levels, show_age); }};
}
Key levels_key() {
  const DurationNs least = milliseconds(20);
  const DurationNs most = seconds(86'400);
  return {
      "slice",
      "levels",
      "Durations of coarser slices, which are kept as well: short perturbations show in fine slices, phases "
      "of a long job in coarse ones. Each is a multiple of the one before it, the first of slice.duration.",
      "a list of at most 15 durations up to " + to_text(most) + ", such as [\"1s\", \"10s\"]",
      [=](const Value& v, Options& o) {
        const auto* texts = std::get_if<Texts>(&v);
        if (!texts || texts->size() > kMostLevelsAbove) return false;
        std::vector<DurationNs> levels;
        for (const std::string& text : *texts) {
          const auto d = duration(text, least, most);
          if (!d) return false;
          levels.push_back(*d);
        }
        o.levels.resize(1);
        o.levels.insert(o.levels.end(), levels.begin(), levels.end());
        return true;
      },
      [](const Options& o) {
        return show_list(std::span(o.levels).subspan(1), [](DurationNs d) { return to_text(d); });
      }};
}
Key operator_key() {
  return {"model",
          "operator",
          "What a cell of the partitioned model holds for a resource, state and slice: \"duration\" (time in "
          "the state), \"occurrences\" (visits and punctual events), \"bytes\" and \"messages\" (of the "
          "calls that end), or \"mean:VARIABLE\" (mean of a variable that the program records). Phases and "
          "alerts always use durations. A run keeps its operator; another one can be computed afterwards "
          "from raw events (margay replay --operator, margay partition --operator). Any other than duration "
          "needs a second window of up to limits.memory.",
          "\"duration\", \"occurrences\", \"bytes\", \"messages\" or \"mean:VARIABLE\"; what else margay "
          "partition and margay render measure is for the kept events of a run",
          [](const Value& v, Options& o) {
            const auto* s = std::get_if<std::string>(&v);
            if (!s || s->size() > kLongestOperator || std::any_of(s->begin(), s->end(), [](char c) {
                  return static_cast<unsigned char>(c) < 0x20;
                }))
              return false;
            const auto op = slicer::Operator::parse_kept(*s);
            if (op) o.op = *op;
            return op.has_value();
          },
          [](const Options& o) { return quoted(o.op.text()); }};
}
Key idle_states_key() {
  return {"detect",
          "idle_states",
          "States in which a resource only waits for work, by name (\"MPI_Probe\"). A long visit to one is "
          "not a stall.",
          "a list of at most 256 names",
          [](const Value& v, Options& o) {
            const auto* texts = std::get_if<Texts>(&v);
            if (!texts || texts->size() > kMostListEntries) return false;
            for (const std::string& t : *texts)
              if (t.empty() || t.size() > 128) return false;
            o.idle_states = *texts;
            return true;
          },
          [](const Options& o) { return show_list(o.idle_states, [](const std::string& s) { return s; }); }};
}
Key p_key() {
  return {"detect",
          "p",
          "The gain/loss ratio of the partition: 0 keeps all details, 1 merges everything. \"auto\" chooses "
          "it from the job's noise, and so that what is alerted is seen.",
          "\"auto\" or a number from 0 to 1",
          [](const Value& v, Options& o) {
            if (const auto* s = std::get_if<std::string>(&v)) {
              if (*s == "auto") o.p.reset();
              return *s == "auto";
            }
            const auto d = real(v);
            if (!d || !(*d >= 0 && *d <= 1)) return false;
            o.p = *d;
            return true;
          },
          [](const Options& o) { return o.p ? number(*o.p) : std::string("\"auto\""); }};
}

#define AT MARGAY_AT

constexpr const char* kEndpoint = "tcp://ADDRESS:PORT, or \"\" for none";

std::vector<Key> slice_keys() {
  return {
      duration_key("slice", "duration", AT(levels.front()), milliseconds(10), seconds(600),
                   "Duration of the finest timeslice. An alert comes about two slices after its cause."),
      levels_key(),
      count_key("slice", "window", AT(window_slices), 16, 2048,
                "Number of slices in the sliding window of each level: this is partitioned and shown. Memory "
                "and the time for a new slice grow with its square."),
      duration_key("slice", "lateness", AT(lateness), DurationNs(0), seconds(60),
                   "How long a slice waits after its end for late records."),
      count_key("slice", "silence_hold", AT(silence_hold_slices), 0, 100,
                "Number of slices that wait for a source that sends nothing. After that its open states are "
                "extended, and marked."),
  };
}

std::vector<Key> model_keys() {
  return {
      operator_key(),
  };
}

std::vector<Key> store_keys() {
  return {
      duration_key("store", "commit", AT(commit_period), milliseconds(10), seconds(60),
                   "Time between two commits to the archive; three times as long when little has come. After "
                   "a crash of the daemon, what was not committed is sent again."),
      bool_key("store", "sync", AT(sync),
               "Wait for the disk at each commit, before records are acknowledged: a power failure then "
               "loses no acknowledged record. false: it may lose the newest ones; margay status shows this "
               "setting, and the next start reports a possible loss. kill -9 loses nothing with either."),
      choice_key<bool>("store", "cells", AT(compact), {{"exact", false}, {"compact", true}},
                       "How cells are stored. exact: to the nanosecond, about 7 bytes a cell. compact: about "
                       "1 byte a cell; durations are rounded to 1/100 of the slice, without bias, visits to "
                       "3 bits (up to 7 exact), the longest visit up to a power of two, the begin of an open "
                       "state to 1/50, CPU shares to 1/10 of the slice. They are rounded once, when a slice "
                       "closes: alerts, views and replays use the same cells. Raw events stay exact."),
      bool_key(
          "store", "raw_events", AT(raw_events),
          "Keep every event (about 2 bytes each): for Gantt charts, and for replays with other parameters."),
      grid_key("store", "resolution", AT(raw_resolution), DurationNs(1024),
               "Round down the times of raw events to this: 1ns (exact), 2ns, 4ns ... Each doubling saves up "
               "to one bit an event: 16ns about half a byte. Must divide slice.duration, so that no event "
               "changes its slice. Slices are not affected: they are made from exact times."),
      size_key("store", "memory", AT(store_memory_bytes), mebibytes(8), mebibytes(65536),
               "Memory for buffers and caches of the archive."),
      size_key("store", "keep_free", AT(disk_keep_free_bytes), SizeBytes(0), mebibytes(1u << 20),
               "Space on the archive's file system that is left free for others (at most a twentieth of it). "
               "If less is free, the archive deletes old data as for limits.disk."),
      age_key("store", "keep_raw", AT(keep.raw),
              "Keep raw events at least this long before the newest slice. They are deleted up to a "
              "sixteenth later (at least 10 s), or earlier if limits.disk needs it. While a run stands still "
              "nothing is deleted."),
      age_key("store", "keep_reports", AT(keep.reports),
              "The same for reports (past live views). Phases and alerts always stay."),
      keep_levels_key(),
  };
}

std::vector<Key> limits_keys() {
  return {
      count_key("limits", "sources", AT(limits.sources), 1, 1u << 20,
                "Most processes with a probe in a run. More are refused with a message, and counted."),
      count_key("limits", "leaves", AT(limits.leaves), 1, 1u << 20, "Most threads, over all sources."),
      count_key("limits", "states", AT(limits.states), 8, 1024,
                "Most different states (functions). More count as the state Unknown."),
      size_key(
          "limits", "cells", AT(limits.cell_bytes), mebibytes(16), mebibytes(1u << 20),
          "Memory for slices that can still change: 20 bytes for each leaf, state and slice, for 80 slices, "
          "and for 65 or more of each level. Leaves and states that do not fit are refused, and counted."),
      size_key("limits", "memory", AT(window_memory_bytes), mebibytes(64), mebibytes(1u << 20),
               "Memory for the window and the tables of its partitions; the windows of all coarser levels "
               "together have as much again. A window that does not fit is shortened, or not partitioned, "
               "and a counter shows it."),
      size_key("limits", "views", AT(view_memory_bytes), mebibytes(16), mebibytes(1u << 20),
               "Memory for queries of viewers: any time range of the run, partitioned. A query that does not "
               "fit is refused; the answer says how many slices fit."),
      size_key("limits", "disk", AT(disk_budget_bytes), SizeBytes(0), mebibytes(1u << 30),
               "Size of the archive on the disk; 0: no limit, otherwise at least 64MiB. Near it the oldest "
               "raw events are deleted, then the oldest reports, then the oldest slices, the finest first. "
               "Phases, alerts and the newest slices of each level stay."),
  };
}

std::vector<Key> detect_keys() {
  return {
      real_key("detect", "min_effect", AT(min_effect), 0.0, 1.0,
               "The smallest change that makes an alert, as total-variation distance: 0.1 means that a tenth "
               "of the time is spent in other states than usual. For work that takes longer for minutes, a "
               "tenth of it is enough, as a part of the time that the work usually takes."),
      real_key(
          "detect", "false_alarms_per_day", AT(false_alarms_per_day), 0.0, 10'000.0,
          "How many false alarms a day are accepted in a job without perturbations: for resources that are "
          "slower or behave differently, and as many again for phases that last unusually long. A higher "
          "number finds weaker perturbations. 0: detect only stopped processes, standstills and losses."),
      bool_key("detect", "every_level", AT(watch_levels),
               "Use the coarser slices of slice.levels for detection, too: for long phases that consist of "
               "short ones, and for perturbations that are weak but last (a quarter of min_effect is enough "
               "there). false_alarms_per_day is for all levels together. Each level takes 16 bytes more for "
               "each leaf, state and slice of the window."),
      count_key("detect", "min_duration_slices", AT(min_duration_slices), 1, 1000,
                "Whole slices that a process is stopped before it is an alert. (A stall: two more.)"),
      idle_states_key(),
      p_key(),
  };
}

std::vector<Key> node_keys() {
  return {
      duration_key("node", "period", AT(node_period), milliseconds(1), seconds(10),
                   "How often the node agent empties the rings."),
      duration_key("node", "sample", AT(node_sample), milliseconds(10), seconds(60),
                   "How often it reads the state of the processes in /proc (stopped, preempted, waiting)."),
      size_key("node", "memory", AT(node_memory_bytes), mebibytes(1), mebibytes(65536),
               "Memory for records that the daemon has not committed yet."),
      real_key("node", "record_budget", AT(record_budget), 0.0, 1.0,
               "Share of a node's cores that recording calls may cost the job. In processes that call more "
               "often, calls are summed: time and number of visits for each state and slice. Cells are the "
               "same, but single calls are not recorded and cannot be shown (collector/probe/SUMS.md). 0: "
               "record every call, whatever it costs."),
  };
}

std::vector<Key> http_keys() {
  return {
      text_key(
          "http", "listen", AT(http_listen),
          "an address such as \"127.0.0.1:9464\" or \"[::1]:9464\", a port for the loopback, or \"\" for "
          "none",
          "Address at which GET /metrics (Prometheus), /health and /live are answered. Whoever reaches it "
          "may read: use the loopback or a private network. Port 0 takes a free one; the log names it."),
      list_key("http", "hosts", AT(http_hosts), is_host_name, "a list of at most 64 host names",
               "Host names accepted in requests, besides numeric addresses, localhost and this machine's own "
               "name. A request for another host is refused (DNS rebinding)."),
  };
}

std::vector<Key> log_keys() {
  return {
      choice_key<log::Level>("log", "level", AT(log_level),
                             {{"debug", log::Level::kDebug},
                              {"info", log::Level::kInfo},
                              {"warning", log::Level::kWarning},
                              {"error", log::Level::kError},
                              {"off", log::Level::kOff}},
                             "Write log lines of this level and above, to stderr."),
      size_key("log", "file_size", AT(log_file_bytes), SizeBytes{std::uint64_t{64} << 10}, mebibytes(1024),
               "If stderr is a file: its largest size. Lines after that are counted, not written."),
  };
}

std::vector<Key> listen_keys() {
  return {
      text_key("listen", "ingest", AT(listen.ingest), kEndpoint,
               "Address at which node agents on other machines connect: \"tcp://127.0.0.1:7411\"; "
               "\"tcp://*:7411\" means every address of this machine."),
      text_key("listen", "reports", AT(listen.reports), kEndpoint,
               "Address at which viewers on other machines receive reports: \"tcp://127.0.0.1:7412\"."),
      text_key("listen", "control", AT(listen.control), kEndpoint,
               "Address for requests; viewers use it with --connect: \"tcp://127.0.0.1:7413\"."),
      text_key("listen", "keys", AT(listen.keys), "a path, or \"\" for none",
               "Key directory made by `margay keys init`: the clients that are authorized."),
      count_key("listen", "connections", AT(listen.connections), 4, 4096,
                "Most connections from the network at once; each takes three file descriptors. At most 64 "
                "may be without a proven key, for 2 s; the oldest of these are closed first."),
      count_key("listen", "per_address", AT(listen.per_address), 1, 4096,
                "Most of these from one address. More are refused, and counted."),
  };
}

#undef AT

}  // namespace

const std::vector<Section>& sections() {
  static const std::vector<Section> all = {
      {"slice", "The microscopic model: the time each resource spends in each state, slice by slice.",
       slice_keys()},
      {"model", "What is partitioned and shown.", model_keys()},
      {"store", "The archive.", store_keys()},
      {"limits", "Limits. What exceeds them is refused or dropped, counted and shown.", limits_keys()},
      {"detect", "Phases and perturbations.", detect_keys()},
      {"node", "The node agent, one on each node.", node_keys()},
      {"lttng",
       "Programs traced by LTTng (collector/readers/lttng/LTTNG.md): the session of `margay run --lttng`, "
       "and other sessions to read.",
       lttng_keys()},
      {"alerts",
       "Where alerts are sent, besides viewers and archive (daemon/alert/SINKS.md). A receiver that is slow "
       "or down delays nothing else.",
       alert_keys()},
      {"http", "For monitoring.", http_keys()},
      {"log", "The log of the daemon. At most 60 lines a minute; a line says how many were left out.",
       log_keys()},
      {"listen",
       "Access from other machines: encrypted, with a key for each client (proto/SECURITY.md). Off by "
       "default.",
       listen_keys()},
  };
  return all;
}

const std::vector<Key>& keys() {
  static const std::vector<Key> all = [] {
    std::vector<Key> list;
    for (const Section& s : sections()) list.insert(list.end(), s.keys.begin(), s.keys.end());
    return list;
  }();
  return all;
}

}  // namespace margay::config
