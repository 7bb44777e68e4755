// What a user can set, with its default, its range and its meaning.
//
// One table (keys.cc) makes the parser, the checks and the documented file: config/margay.toml is exactly
// default_text(), which a test proves. Strict: an unknown key, a wrong type, a value out of range is an error
// that tells file, line, key and what was expected; nothing is ignored or adjusted.
// Thread safety: values and pure functions (load, problems_of and place_of read one file).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/settings/units.h"

namespace margay::config {

struct Slice {
  DurationNs duration = milliseconds(100);
  std::vector<DurationNs> levels = {seconds(1), seconds(10), seconds(60)};  // above the finest
  std::uint32_t window = 256;                                               // slices
  DurationNs lateness = milliseconds(10);
  std::uint32_t silence_hold = 2;  // slices
  bool operator==(const Slice&) const = default;
};
struct Model {
  std::string op = "duration";  // operator: duration, occurrences, mean:VARIABLE, bytes, messages
  bool operator==(const Model&) const = default;
};
struct Store {
  DurationNs commit = milliseconds(100);
  bool sync = true;
  std::string cells = "exact";
  bool raw_events = true;
  DurationNs resolution{1};  // of the times of raw events: a power of two that divides slice.duration
  SizeBytes memory = mebibytes(96);
  SizeBytes keep_free = mebibytes(1024);
  std::optional<DurationNs> keep_raw, keep_reports;  // nothing: for ever
  std::vector<std::optional<DurationNs>>
      keep_levels;  // of each level, the finest first; fewer: the others for ever
  bool operator==(const Store&) const = default;
};
struct Limits {
  std::uint32_t sources = 4096;
  std::uint32_t leaves = 8192;
  std::uint32_t states = 640;
  SizeBytes cells = mebibytes(2048);
  SizeBytes memory = mebibytes(1024);
  SizeBytes views = mebibytes(512);
  SizeBytes disk = mebibytes(20480);  // 0: no bound
  bool operator==(const Limits&) const = default;
};
struct Detect {
  double min_effect = 0.1;            // total-variation distance
  double false_alarms_per_day = 0.5;  // expected; 0: perturbations of what goes on are not looked for
  bool every_level = true;            // false: the finest alone
  std::uint32_t min_duration_slices = 1;
  std::vector<std::string> idle_states;
  std::optional<double> p;  // nothing: auto
  bool operator==(const Detect&) const = default;
};
struct Node {
  DurationNs period = milliseconds(20);
  DurationNs sample = milliseconds(50);
  SizeBytes memory = mebibytes(64);
  double record_budget = 0.01;  // of the cores; 0: every call is recorded, whatever it costs
  bool operator==(const Node&) const = default;
};
struct Lttng {
  SizeBytes sub_buffer{std::uint64_t{256} << 10};
  std::uint32_t sub_buffers = 8;
  SizeBytes memory = mebibytes(512);
  SizeBytes disk = mebibytes(2048);
  DurationNs live_timer = milliseconds(100);
  std::vector<std::string> sessions;  // net://HOST[:PORT][/host/HOSTNAME/SESSION], the last two with * and ?
  std::vector<std::string> rules;     // files
  bool operator==(const Lttng&) const = default;
};
struct Listen {
  std::string ingest, reports, control;  // tcp://ADDRESS:PORT, or "": not on the network
  std::string keys;                      // directory
  std::uint32_t connections = 256;
  std::uint32_t per_address = 64;
  bool operator==(const Listen&) const = default;
};
struct Alerts {
  std::string file;                                // "": none; as all texts here
  std::vector<std::string> command;                // the program first
  std::string webhook, webhook_headers;            // URL, file
  std::string alertmanager, alertmanager_headers;  // URL, file
  std::string ca_file;
  bool journal = false;
  DurationNs time_limit = seconds(10);
  DurationNs retry_for = seconds(600);
  DurationNs update_every = seconds(30);       // 0: never
  DurationNs persistent_after = seconds(300);  // 0: never
  bool operator==(const Alerts&) const = default;
};

struct Http {
  std::string listen;              // "127.0.0.1:9464"; "": none
  std::vector<std::string> hosts;  // names that are this machine's, beside its own
  bool operator==(const Http&) const = default;
};
struct Log {
  std::string level = "info";          // debug, info, warning, error, off
  SizeBytes file_size = mebibytes(1);  // of a file that stderr goes to
  bool operator==(const Log&) const = default;
};

struct Config {
  Slice slice;
  Model model;
  Store store;
  Limits limits;
  Detect detect;
  Node node;
  Lttng lttng;
  Alerts alerts;
  Http http;
  Log log;
  Listen listen;
  bool operator==(const Config&) const = default;

  // Slice durations of all levels, the finest first.
  std::vector<DurationNs> level_durations() const;
  // store.keep_levels for these levels, which may be others than those of the file (--slice): each is kept as
  // the coarsest of the file that is not coarser, or as the finest.
  std::vector<std::optional<DurationNs>> level_ages(const std::vector<DurationNs>& levels) const;
};

// The defaults, changed by what the file says. At most 1 MiB is read.
// Errors: kNotFound, kIo, kLimit, kInvalidArgument ("margay.toml:12: slice.duration: ..."): the first by
// line.
Result<Config> load(const std::string& path);
// All that load() would find wrong with the file, each as such a sentence, by line; empty: nothing is. What
// does not go together is looked at where each value is right by itself.
std::vector<std::string> problems_of(const std::string& path);
// "margay.toml:12", where the file gives this key ("alerts.command"); "margay.toml" where it does not.
std::string place_of(const std::string& path, std::string_view key);
// The same for text; `name` stands for the file in errors.
Result<Config> parse(std::string_view text, const std::string& name);

// The documented file with these values (the shipped config/margay.toml for a default Config).
std::string to_text(const Config& config);
inline std::string default_text() {
  return to_text(Config());
}

// "slice.duration", ..., in the file's order.
std::vector<std::string> key_names();

}  // namespace margay::config
