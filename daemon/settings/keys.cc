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
  return {"slice",
          "levels",
          "Coarser slices that are kept as well: short perturbations show at fine levels, phases of a long "
          "job at "
          "coarse ones. Each is a multiple of the one before, the first of slice.duration.",
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
  return {
      "model",
      "operator",
      "What the model that is partitioned and shown is made of, per resource, state and slice: \"duration\" "
      "(time spent in it), \"occurrences\" (visits that begin, punctual events), \"bytes\" and \"messages\" "
      "(of the calls that end), or \"mean:VARIABLE\" (the mean of a variable that the program tells). Phases "
      "and alerts are about time, and rest on durations with any. A run keeps its operator; other ones can "
      "be had afterwards, from raw events (margay replay --operator, margay partition --operator). With "
      "another one than duration a second window is kept, of limits.memory at most, too.",
      "\"duration\", \"occurrences\", \"bytes\", \"messages\" or \"mean:VARIABLE\"",
      [](const Value& v, Options& o) {
        const auto* s = std::get_if<std::string>(&v);
        if (!s || s->size() > kLongestOperator ||
            std::any_of(s->begin(), s->end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
          return false;
        const auto op = slicer::Operator::parse(*s);
        if (op) o.op = *op;
        return op.has_value();
      },
      [](const Options& o) { return quoted(o.op.text()); }};
}
Key idle_states_key() {
  return {"detect",
          "idle_states",
          "States in which a resource only waits for work, by name (\"MPI_Probe\"). A long visit to one is "
          "no stall.",
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
          "The gain/loss ratio of the partition that is shown: 0 keeps every detail, 1 merges everything. "
          "\"auto\" "
          "takes it from the noise of the present phase.",
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
                   "The finest timeslice. An alert comes about two slices after its cause."),
      levels_key(),
      count_key(
          "slice", "window", AT(window_slices), 16, 2048,
          "Slices in the sliding window of each level: what is partitioned and shown. Memory grows with its "
          "square, and so does the time for a new slice."),
      duration_key("slice", "lateness", AT(lateness), DurationNs(0), seconds(60),
                   "How long a slice waits, past its end, for records that come late."),
      count_key("slice", "silence_hold", AT(silence_hold_slices), 0, 100,
                "Slices for which a silent source holds up the others; then its open states are drawn out "
                "and marked."),
  };
}

std::vector<Key> model_keys() {
  return {
      operator_key(),
  };
}

std::vector<Key> store_keys() {
  return {
      duration_key(
          "store", "commit", AT(commit_period), milliseconds(10), seconds(60),
          "Time between two commits; three times that where little has come. What is not committed is sent "
          "again after a crash of the daemon."),
      bool_key(
          "store", "sync", AT(sync),
          "Wait for the disk at each commit, before records are acknowledged: then a loss of power loses "
          "nothing that was. false: it may take what was acknowledged last. Status says so then, and the "
          "next start that it may have happened. kill -9 loses nothing either way."),
      choice_key<bool>(
          "store", "cells", AT(compact), {{"exact", false}, {"compact", true}},
          "How the time spent in a state is kept, slice by slice. exact: to the nanosecond, some 7 bytes a "
          "cell. compact: some 1 byte a cell; durations are rounded to a hundredth of the slice, "
          "without bias, visits to 3 bits (up to 7 exact), the longest visit up to a power of two, since "
          "when a state is open to a fiftieth, CPU shares to a tenth of the slice. Rounded once, when a "
          "slice closes: alerts, views and replays rest on the same cells. Raw events stay exact."),
      bool_key("store", "raw_events", AT(raw_events),
               "Keep every event (about 2 bytes each), for Gantt views and other parameters at replay."),
      grid_key(
          "store", "resolution", AT(raw_resolution), DurationNs(1024),
          "What the times of raw events are rounded down to, 1ns (exact), 2ns, 4ns ... Each doubling saves "
          "up to a bit an event: 16ns about half a byte. Must divide slice.duration, so that no event "
          "changes its slice. Slices are not affected: they are made before, and exact."),
      size_key("store", "memory", AT(store_memory_bytes), mebibytes(8), mebibytes(65536),
               "Buffers and caches of the archive."),
      size_key("store", "keep_free", AT(disk_keep_free_bytes), SizeBytes(0), mebibytes(1u << 20),
               "Room on the archive's file system that is left to others (at most a twentieth of it): where "
               "less is left, the archive gives up what is old, as for limits.disk."),
      age_key(
          "store", "keep_raw", AT(keep.raw),
          "How long raw events are kept, at least, before the newest slice; they may go up to a sixteenth "
          "later (10 s at least), or earlier where limits.disk asks for it. A run that stands still loses "
          "nothing."),
      age_key("store", "keep_reports", AT(keep.reports),
              "The same for reports, from which past live views are shown. Phases and alerts always stay."),
      keep_levels_key(),
  };
}

std::vector<Key> limits_keys() {
  return {
      count_key("limits", "sources", AT(limits.sources), 1, 1u << 20,
                "Probe processes in a run. More are refused with a message, and counted."),
      count_key("limits", "leaves", AT(limits.leaves), 1, 1u << 20, "Threads, over all sources."),
      count_key("limits", "states", AT(limits.states), 8, 1024,
                "Different states (functions). Those beyond count as the state Unknown."),
      size_key(
          "limits", "cells", AT(limits.cell_bytes), mebibytes(16), mebibytes(1u << 20),
          "The slices that can still change, of all levels: 20 bytes for each leaf and state, 80 times, and "
          "65 "
          "times and more for each level. Leaves and states that would not fit are refused, and counted."),
      size_key("limits", "memory", AT(window_memory_bytes), mebibytes(64), mebibytes(1u << 20),
               "The window, and the tables of its partitions; the windows of all coarser levels have as much "
               "together. One that would not fit is shorter, or not partitioned, and a counter says so."),
      size_key(
          "limits", "views", AT(view_memory_bytes), mebibytes(16), mebibytes(1u << 20),
          "What viewers ask for: any stretch of the run, partitioned. What would not fit is refused with a "
          "sentence that says how many slices would."),
      size_key("limits", "disk", AT(disk_budget_bytes), SizeBytes(0), mebibytes(1u << 30),
               "The archive on the disk; 0 for no bound, 64MiB at least otherwise. Near it the oldest raw "
               "events go, then the oldest reports, then the oldest slices, the finest first. Phases, alerts "
               "and the newest slices of each level stay."),
  };
}

std::vector<Key> detect_keys() {
  return {
      real_key(
          "detect", "min_effect", AT(min_effect), 0.0, 1.0,
          "The least change worth an alert, as total-variation distance: 0.1 is a tenth of the time spent in "
          "other states than usual."),
      real_key(
          "detect", "false_alarms_per_day", AT(false_alarms_per_day), 0.0, 10'000.0,
          "The false alarms of a quiet job that are accepted, of resources that are slower than usual or do "
          "otherwise, and as many of phases that last unusually long: more of them, and weaker perturbations "
          "are found. 0: only stops and standstills are looked for, and losses."),
      bool_key(
          "detect", "every_level", AT(watch_levels),
          "Look at the coarser slices of slice.levels, too: for long phases that are made of short ones, and "
          "for perturbations that are too weak to be seen in the finest slices and last (a quarter of "
          "min_effect is enough there). false_alarms_per_day is of all levels together. For each level it "
          "takes 16 bytes more for each leaf, state and slice of the window."),
      count_key("detect", "min_duration_slices", AT(min_duration_slices), 1, 1000,
                "Whole slices that a stop lasts before it is an alert. (No progress: two more.)"),
      idle_states_key(),
      p_key(),
  };
}

std::vector<Key> node_keys() {
  return {
      duration_key("node", "period", AT(node_period), milliseconds(1), seconds(10),
                   "How often a node's agent empties the rings."),
      duration_key("node", "sample", AT(node_sample), milliseconds(10), seconds(60),
                   "How often it looks at the processes in /proc (stopped, preempted, waiting)."),
      size_key("node", "memory", AT(node_memory_bytes), mebibytes(1), mebibytes(65536),
               "Records that the agent keeps until the collector has committed them."),
      real_key("node", "record_budget", AT(record_budget), 0.0, 1.0,
               "The share of a node's cores that recording calls may cost the job. Processes that call more "
               "often sum in themselves how long and how often they are in each state, slice by slice, until "
               "they call less: cells are the same, but single calls are not there to be shown or zoomed "
               "into (collector/probe/SUMS.md). 0: every call is recorded, whatever it costs."),
  };
}

std::vector<Key> http_keys() {
  return {
      text_key(
          "http", "listen", AT(http_listen),
          "an address such as \"127.0.0.1:9464\" or \"[::1]:9464\", a port for the loopback, or \"\" for "
          "none",
          "Where GET /metrics (Prometheus), /health and /live are answered. Whoever reaches it may read; "
          "keep it to "
          "the loopback or a private network. Port 0 takes a free one, which the log tells."),
      list_key("http", "hosts", AT(http_hosts), is_host_name, "a list of at most 64 names of hosts",
               "Names by which this machine may be asked there, beside addresses in numbers, localhost and "
               "its own name. A request for any other host is refused (DNS rebinding)."),
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
                             "The least important lines that are said, on stderr."),
      size_key("log", "file_size", AT(log_file_bytes), SizeBytes{std::uint64_t{64} << 10}, mebibytes(1024),
               "Where stderr is a file: its largest size. What comes after is counted, not written."),
  };
}

std::vector<Key> listen_keys() {
  return {
      text_key("listen", "ingest", AT(listen.ingest), kEndpoint,
               "Where node agents on other machines send events: \"tcp://127.0.0.1:7411\"; \"tcp://*:7411\" "
               "is every "
               "address of this machine."),
      text_key("listen", "reports", AT(listen.reports), kEndpoint,
               "Where viewers on other machines receive reports: \"tcp://127.0.0.1:7412\"."),
      text_key("listen", "control", AT(listen.control), kEndpoint,
               "Where they ask, and what they connect to: \"tcp://127.0.0.1:7413\"."),
      text_key("listen", "keys", AT(listen.keys), "a path, or \"\" for none",
               "The directory of keys that `margay keys init` makes: who may come in."),
      count_key("listen", "connections", AT(listen.connections), 4, 4096,
                "Connections from the network open at once; each takes three descriptors. At most 64 of them "
                "may be "
                "without a proven key, for 2 s; the oldest of these make way."),
      count_key("listen", "per_address", AT(listen.per_address), 1, 4096,
                "Of these, connections from one address. More are refused, and counted."),
  };
}

#undef AT

}  // namespace

const std::vector<Section>& sections() {
  static const std::vector<Section> all = {
      {"slice", "The microscopic model: who spends how much time in which state, slice by slice.",
       slice_keys()},
      {"model", "What of it is partitioned and shown.", model_keys()},
      {"store", "The archive.", store_keys()},
      {"limits", "Bounds. What goes beyond is refused or dropped, counted and shown, never kept.",
       limits_keys()},
      {"detect", "Phases and perturbations.", detect_keys()},
      {"node", "The agent on each node.", node_keys()},
      {"lttng",
       "Programs traced by LTTng (collector/readers/lttng/LTTNG.md): what `margay run --lttng` sets up, and "
       "sessions "
       "of others that are read.",
       lttng_keys()},
      {"alerts",
       "Where alerts go, beside viewers and the archive (daemon/alert/SINKS.md). A sink that is slow or away "
       "holds up nothing.",
       alert_keys()},
      {"http", "For monitoring.", http_keys()},
      {"log",
       "What the daemon says of itself. No more than 60 lines a minute are; it tells how many it left out.",
       log_keys()},
      {"listen",
       "For other machines: encrypted, with a key for each client (proto/SECURITY.md). Nothing by default.",
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
