#include "margay/settings/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "margay/base/time_of_day.h"
#include "margay/base/zone.h"
#include "margay/settings/run_moment.h"
#include "margay/settings/units.h"

namespace margay::config {
namespace config_test {

using daemon::Options;
using testing::HasSubstr;

std::string error_of(const std::string& text) {
  Options o;
  const auto r = parse(text, "margay.toml", o);
  return r ? "no error" : r.error().message;
}
Options value_of(const std::string& text) {
  Options o;
  const auto r = parse(text, "margay.toml", o);
  EXPECT_TRUE(r) << r.error().message;
  return o;
}

TEST(Units, DurationsAndSizesBothWays) {
  const std::pair<const char*, std::int64_t> durations[] = {{"100ms", 100'000'000},
                                                            {"1s", 1'000'000'000},
                                                            {"20us", 20'000},
                                                            {"7ns", 7},
                                                            {"10min", 600'000'000'000},
                                                            {"2h", 7'200'000'000'000},
                                                            {"1d", 86'400'000'000'000},
                                                            {"1.5s", 1'500'000'000},
                                                            {"0", 0},
                                                            {"0.25us", 250}};
  for (const auto& [text, ns] : durations) {
    const auto d = parse_duration(text);
    ASSERT_TRUE(d) << text;
    EXPECT_EQ(d->value, ns) << text;
    EXPECT_EQ(*parse_duration(to_text(*d)), *d);
  }
  for (const char* text : {"", "5", "ms", "-1s", "1 s", "1S", "1.s", ".5s", "1.5.0s", "0.5ns", "1e3s",
                           "99999999999d", "18446744073709551616ns", "1sec"})
    EXPECT_FALSE(parse_duration(text)) << text;
  EXPECT_EQ(to_text(milliseconds(1500)), "1500ms");
  EXPECT_EQ(to_text(DurationNs(0)), "0ns");
  EXPECT_EQ(parse_size("64MiB")->value, 64u << 20);
  EXPECT_EQ(parse_size("1.5KiB")->value, 1536u);
  EXPECT_EQ(to_text(mebibytes(2048)), "2GiB");
  for (const char* text : {"64", "64MB", "1.1B", "-1B", "9999999999GiB"})
    EXPECT_FALSE(parse_size(text)) << text;
  EXPECT_EQ(parse_duration("5").error().message,
            "'5' is not a duration such as \"100ms\" (units: ns us ms s min h d)");
}

TEST(Config, ShippedFileListsExactlyTheKeysWithTheirDefaults) {
  std::ifstream in(MARGAY_SHIPPED_CONFIG);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), default_text()) << "write default_text() to config/margay.toml";
  Options options;
  const auto loaded = load(MARGAY_SHIPPED_CONFIG, options);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(to_text(options), default_text());
  const auto names = key_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << "a key twice";
  for (const std::string& name : names)
    EXPECT_NE(text.str().find("\n" + name.substr(name.find('.') + 1) + " = "), std::string::npos) << name;
}

TEST(Config, EmptyFileIsTheDefaults) {
  EXPECT_EQ(to_text(value_of("")), default_text());
  EXPECT_EQ(to_text(value_of("[slice]\n[detect]\n")), default_text());
}

TEST(Config, EveryKindOfValueIsTaken) {
  Options c;
  c.levels = {milliseconds(50), milliseconds(500)};
  c.window_slices = 2048;
  c.sync = false;
  c.compact = true;
  c.op = *slicer::Operator::parse("mean:a b");
  c.store_memory_bytes = 16 << 20;
  c.keep.raw = seconds(90);
  c.raw_resolution = DurationNs(16);
  c.keep.levels = {seconds(3600), std::nullopt};
  c.min_effect = 0.3;
  c.false_alarms_per_day = 10;
  c.watch_levels = false;
  c.idle_states = {"MPI_Probe", "a \"quoted\" \\ name"};
  c.p = 0.25;
  c.lttng.sub_buffer_bytes = 1 << 20;
  c.lttng.live_timer = milliseconds(20);
  c.lttng.sessions = {"net://node7", "net://[::1]:5344/host/node*/margay-?"};
  c.lttng.rules = {"/etc/margay/mine.toml"};
  c.alerts_file = "/var/log/al\terts.jsonl";
  c.sinks.command = {"sh", "-c", "mail -s \"$MARGAY_ALERT_MESSAGE\" me"};
  c.sinks.webhook = "https://example.org:8443/hook?team=hpc";
  c.sinks.webhook_headers = "/etc/margay/headers";
  c.sinks.alertmanager = "http://[::1]:9093";
  c.sinks.journal = true;
  c.sinks.retry_for = DurationNs(0);
  c.log_level = log::Level::kOff;
  const Options back = value_of(to_text(c));
  EXPECT_EQ(to_text(back), to_text(c));
  EXPECT_EQ(back.levels, c.levels);
  EXPECT_EQ(back.keep.levels, c.keep.levels);
  EXPECT_EQ(back.idle_states, c.idle_states);
  EXPECT_EQ(back.op, c.op);
  EXPECT_EQ(back.sinks.command, c.sinks.command);
  EXPECT_EQ(back.store_memory_bytes, c.store_memory_bytes);
  EXPECT_EQ(back.log_level, c.log_level);
  EXPECT_TRUE(back.compact);
  EXPECT_FALSE(back.sync);
  EXPECT_EQ(value_of("detect.p = 1\ndetect.min_effect = 1").p, 1.0);
  EXPECT_EQ(value_of("slice.levels = []").levels.size(), 1u);
  EXPECT_EQ(value_of("store.keep_raw = \"7d\"").keep.raw, seconds(7 * 86'400));
  for (const char* text : {"store.keep_raw = \"\"", "store.keep_raw = \"forever\""})
    EXPECT_EQ(value_of(text).keep.raw, std::nullopt);
}

TEST(Config, TheResolutionOfRawEventsIsAPowerOfTwoThatDividesTheSlices) {
  EXPECT_EQ(value_of("").raw_resolution, DurationNs(1));
  for (const int ns : {1, 2, 16, 256})
    EXPECT_EQ(value_of("store.resolution = \"" + std::to_string(ns) + "ns\"").raw_resolution, DurationNs(ns));
  for (const char* bad : {"\"10ns\"", "\"1us\"", "\"0\"", "\"2048ns\"", "16"})
    EXPECT_EQ(
        error_of(std::string("[store]\nresolution = ") + bad),
        std::string("margay.toml:2: store.resolution: expected a power of two of nanoseconds, 1ns, 2ns, "
                    "4ns ... 1024ns, got ") +
            bad);
  EXPECT_EQ(
      error_of("[store]\nresolution = \"512ns\""),
      "margay.toml:2: store.resolution: 512ns does not divide 100ms (slice.duration); of powers of two it "
      "is divided by 1ns to 256ns");
  EXPECT_EQ(
      value_of("slice.duration = \"1s\"\nslice.levels = []\nstore.resolution = \"512ns\"").raw_resolution,
      DurationNs(512));
}

TEST(Config, SessionsOfLttngAreAddressesOfRelayDaemons) {
  for (const char* bad :
       {"localhost", "net://", "net://:5344", "net://a/b", "net://a/host/b", "net://a/host/b/",
        "net://a/host//s", "net://a/host/b/s/t", "net://a b/host/b/s", "tcp://a/host/b/s"})
    EXPECT_NE(error_of("[lttng]\nsessions = [\"" + std::string(bad) + "\"]").find("lttng.sessions"),
              std::string::npos)
        << bad;
}

TEST(Config, ErrorsTellFileLineKeyAndWhatWasExpected) {
  EXPECT_EQ(error_of("\n[slice]\nduration = \"1ms\""),
            "margay.toml:3: slice.duration: expected a duration from 10ms to 10min, got \"1ms\"");
  EXPECT_EQ(error_of("[slice]\nduration = 100"),
            "margay.toml:2: slice.duration: expected a duration from 10ms to 10min, got 100");
  EXPECT_EQ(error_of("[slice]\nwindow = 4096"),
            "margay.toml:2: slice.window: expected a whole number from 16 to 2048, got 4096");
  EXPECT_EQ(error_of("[slice]\nwindow = 256.0"),
            "margay.toml:2: slice.window: expected a whole number from 16 to 2048, got 256");
  EXPECT_EQ(error_of("[store]\nsync = \"yes\""),
            "margay.toml:2: store.sync: expected true or false, got \"yes\"");
  EXPECT_EQ(error_of("[detect]\np = 1.5"),
            "margay.toml:2: detect.p: expected \"auto\" or a number from 0 to 1, got 1.5");
  EXPECT_EQ(error_of("[detect]\nmin_effect = nan"),
            "margay.toml:2: detect.min_effect: expected a number from 0.0 to 1.0, got nan");
  EXPECT_EQ(error_of("[detect]\nidle_states = [1, 2]"),
            "margay.toml:2: detect.idle_states: expected a list of at most 256 names, got [1, ...]");
  EXPECT_NE(error_of("[slice\n").find("margay.toml:1: "), std::string::npos) << error_of("[slice\n");
  EXPECT_NE(error_of("[slice]\nduration = \"1s\"\nduration = \"2s\"").find("margay.toml:3: "),
            std::string::npos);
}

TEST(Config, AKeyIsSetByItsNameAndATextNeedsNoQuotes) {
  Options o;
  const std::pair<const char*, const char*> good[] = {
      {"slice.window", "512"},    {"store.commit", "200ms"},      {"store.sync", "false"},
      {"detect.p", "0.25"},       {"alerts.file", "12"},          {"http.hosts", "[\"a\", \"b\"]"},
      {"log.level", "\"debug\""}, {"model.operator", "mean:a b"}, {"slice.levels", "[\"2s\"]"}};
  for (const auto& [key, value] : good) {
    const auto r = set(key, value, o);
    EXPECT_TRUE(r) << key << ": " << r.error().message;
  }
  EXPECT_EQ(o.window_slices, 512u);
  EXPECT_EQ(o.commit_period, milliseconds(200));
  EXPECT_FALSE(o.sync);
  EXPECT_EQ(o.p, 0.25);
  EXPECT_EQ(o.alerts_file, "12") << "a text, although it reads as a number";
  EXPECT_EQ(o.http_hosts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(o.log_level, log::Level::kDebug);
  EXPECT_EQ(o.op.text(), "mean:a b");
  EXPECT_EQ(o.levels, (std::vector{milliseconds(100), seconds(2)}));
  EXPECT_TRUE(set("detect.p", "auto", o));
  EXPECT_EQ(o.p, std::nullopt);
  const std::string before = to_text(o);
  const auto error = [&](const char* key, const char* value) {
    const auto r = set(key, value, o);
    return r ? "no error" : r.error().message;
  };
  EXPECT_EQ(error("slice.window", "4096"), "expected a whole number from 16 to 2048");
  EXPECT_EQ(error("slice.window", "17\nx = 1"), "expected a whole number from 16 to 2048");
  EXPECT_EQ(error("slice.window", ""), "expected a whole number from 16 to 2048");
  EXPECT_EQ(error("slice.windw", "17"), "unknown key 'slice.windw'; did you mean 'window'?");
  EXPECT_EQ(error("store.window", "17"), "unknown key 'store.window'; it belongs in [slice]");
  EXPECT_EQ(error("window", "17"), "a key has a section: 'slice.window'");
  EXPECT_EQ(error("", ""), "a key has a section: 'slice.window'");
  EXPECT_EQ(to_text(o), before);
  EXPECT_TRUE(check(o));
  o.levels = {milliseconds(300), seconds(1)};
  EXPECT_EQ(check(o).error().message,
            "slice.levels: 1s is not a multiple (2 times or more) of 300ms (slice.duration)");
}

TEST(Config, UnknownNamesAreErrorsWithAHint) {
  EXPECT_EQ(error_of("[slice]\n\nduratoin = \"1s\""),
            "margay.toml:3: unknown key 'slice.duratoin'; did you mean 'duration'?");
  EXPECT_EQ(error_of("[slices]"), "margay.toml:1: unknown section [slices]; did you mean 'slice'?");
  EXPECT_EQ(error_of("[store]\nwindow = 3"),
            "margay.toml:2: unknown key 'store.window'; it belongs in [slice]");
  EXPECT_EQ(error_of("window = 3"), "margay.toml:1: unknown key 'window'; it belongs in [slice]");
  EXPECT_EQ(error_of("slice = 3"), "margay.toml:1: unknown key 'slice'; it is a section: [slice]");
  EXPECT_EQ(error_of("[slice]\nzzzzzz = 3"), "margay.toml:2: unknown key 'slice.zzzzzz'");
}

TEST(Config, ValuesThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(
      error_of("[slice]\nlevels = [\"1s\", \"1500ms\"]"),
      "margay.toml:2: slice.levels: 1500ms is not a multiple (2 times or more) of 1s (the level before)");
  EXPECT_EQ(error_of("[slice]\nduration = \"300ms\""),
            "margay.toml: slice.levels: 1s is not a multiple (2 times or more) of 300ms (slice.duration)");
  EXPECT_EQ(
      error_of("[slice]\nlevels = [\"100ms\"]"),
      "margay.toml:2: slice.levels: 100ms is not a multiple (2 times or more) of 100ms (slice.duration)");
  EXPECT_EQ(error_of("[store]\nkeep_levels = [\"30d\", \"7d\"]"),
            "margay.toml:2: store.keep_levels: slices of 100ms would be kept longer (30d) than the coarser "
            "ones of 1s (7d)");
  EXPECT_NE(error_of("[store]\nkeep_levels = [\"1d\", \"\", \"7d\"]").find("(forever)"), std::string::npos);
  EXPECT_NE(
      error_of("[store]\nkeep_levels = [\"1d\", \"1d\", \"1d\", \"1d\", \"1d\"]").find("5 ages for 4 levels"),
      std::string::npos);
  EXPECT_NE(error_of("[store]\nkeep_raw = \"1s\"").find("\"forever\" or a duration from 10s"),
            std::string::npos);
  EXPECT_NE(error_of("[limits]\nleaves = 10").find("limits.leaves"), std::string::npos);
  EXPECT_NE(error_of("[limits]\ndisk = \"1MiB\"").find("limits.disk"), std::string::npos);
  EXPECT_EQ(value_of("[limits]\ndisk = \"0\"").disk_budget_bytes, 0u) << "no bound";
  EXPECT_EQ(value_of("[limits]\ndisk = \"64MiB\"").disk_budget_bytes, 64u << 20);
}

TEST(Config, UrlsOfSinksAreCheckedWhereTheyStand) {
  for (const char* url :
       {"http://h", "https://h/", "http://h:1/x?y=z", "https://a-b.c_d.example.org:65535/p/q",
        "http://127.0.0.1:9093", "http://[fe80::1]:80/", "http://[::1]"})
    EXPECT_EQ(value_of("[alerts]\nwebhook = \"" + std::string(url) + "\"").sinks.webhook, url);
  for (const char* bad : {"h:80",
                          "//h",
                          "ftp://h",
                          "HTTP//h",
                          "http://",
                          "http:///x",
                          "http://:80",
                          "http://h:",
                          "http://h:0",
                          "http://h:65536",
                          "http://h:80x",
                          "http://me:secret@h/",
                          "http://h h/",
                          "http://h/\\u0007",
                          "http://h#x",
                          "http://[::1",
                          "http://[]",
                          "http://[::1]x",
                          "file:///etc/passwd",
                          "http://h\u00e9"})
    EXPECT_EQ(error_of("[alerts]\n\nalertmanager = \"" + std::string(bad) + "\"").substr(0, 73),
              "margay.toml:3: alerts.alertmanager: expected an http:// or https:// URL w")
        << bad;
  EXPECT_EQ(error_of("[alerts]\nwebhook_headers = \"/x\""),
            "margay.toml:2: alerts.webhook_headers: there is no URL to send them to");
  EXPECT_NE(error_of("[alerts]\ncommand = [\"\", \"x\"]").find("alerts.command: expected a list of texts"),
            std::string::npos);
  EXPECT_NE(error_of("[alerts]\ntime_limit = \"1h\"").find("alerts.time_limit: expected a duration"),
            std::string::npos);
}

TEST(Config, MissingFileIsNotFoundAndADirectoryIsAnError) {
  Options o;
  const auto missing = load("/nonexistent/margay.toml", o);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "/nonexistent/margay.toml: No such file or directory");
  EXPECT_FALSE(load("/tmp", o));
  EXPECT_FALSE(parse(std::string(2 << 20, '#'), "x", o));
}

TEST(Config, AllThatIsWrongWithAFileIsSaidByLine) {
  const std::string path = testing::TempDir() + "/problems.toml";
  const auto problems = [&](const std::string& text) {
    std::ofstream(path) << text;
    std::vector<std::string> all = problems_of(path);
    for (std::string& p : all) {
      EXPECT_EQ(p.substr(0, path.size() + 1), path + ":");
      p.erase(0, path.size() + 1);
    }
    return all;
  };
  EXPECT_TRUE(problems("").empty());
  EXPECT_TRUE(problems(default_text()).empty());
  const auto all =
      problems("[store]\nsync = 3\n[slice]\nwindow = 256\nduraton = \"1s\"\n[nodes]\n[limits]\ndisk = 7\n");
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], "2: store.sync: expected true or false, got 3");
  EXPECT_EQ(all[1], "5: unknown key 'slice.duraton'; did you mean 'duration'?");
  EXPECT_EQ(all[2].substr(0, 26), "6: unknown section [nodes]");
  EXPECT_EQ(all[3].substr(0, 24), "8: limits.disk: expected");
  Options o;
  EXPECT_EQ(load(path, o).error().message, path + ":" + all[0]) << "the first by line";
  // What does not go together: all of it, those keys first that the file does not have.
  const auto together = problems(
      "[limits]\ndisk = \"1MiB\"\nleaves = 7\n[alerts]\nwebhook_headers = \"/x\"\n[slice]\n"
      "duration = \"3s\"\n");
  ASSERT_EQ(together.size(), 4u);
  EXPECT_EQ(together[0].substr(0, 14), " slice.levels:");
  EXPECT_EQ(together[1].substr(0, 14), "2: limits.disk");
  EXPECT_EQ(together[2].substr(0, 16), "3: limits.leaves");
  EXPECT_EQ(together[3].substr(0, 25), "5: alerts.webhook_headers");
  const auto escapes = problems("[store]\nsync = \"\\u001b[31m\"\n\"\\u0007\" = 1\n");
  ASSERT_EQ(escapes.size(), 2u);
  EXPECT_EQ(escapes[0], "2: store.sync: expected true or false, got \"?[31m\"");
  EXPECT_EQ(escapes[1], "3: unknown key 'store.?'");
  const auto broken = problems("[slice]\nwindow = \n");
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken[0].substr(0, 3), "2: ");
  EXPECT_EQ(problems_of("/nonexistent/x.toml"),
            std::vector<std::string>{"/nonexistent/x.toml: No such file or directory"});
}

TEST(Config, AKeyHasAPlaceWhereTheFileGivesIt) {
  const std::string path = testing::TempDir() + "/place.toml";
  std::ofstream(path) << "[alerts]\n\ncommand = [\"x\"]\n";
  EXPECT_EQ(place_of(path, "alerts.command"), path + ":3");
  for (const char* key : {"alerts.webhook", "no.such", "", "..[", "alerts.command is no program"})
    EXPECT_EQ(place_of(path, key), path) << key;
  std::ofstream(path) << "[alerts";
  EXPECT_EQ(place_of(path, "alerts.command"), path);
}

TEST(Units, MomentsAreSecondsUnitsOrTraceTime) {
  const TimeNs zero(1'000'000'000);
  EXPECT_EQ(parse_moment("12.5", zero)->value, 13'500'000'000);
  EXPECT_EQ(parse_moment("12.5s", zero)->value, 13'500'000'000);
  EXPECT_EQ(parse_moment("3min", zero)->value, 181'000'000'000);
  EXPECT_EQ(parse_moment("@-5", zero)->value, -5);
  EXPECT_EQ(parse_moment("0", TimeNs(-7))->value, -7);
  for (const char* bad : {"", "@", "@1.5", "@1x", "-3", "1 s", "soon", "1..2", "."}) {
    const auto t = parse_moment(bad, zero);
    EXPECT_FALSE(t) << bad;
  }
  const auto late = parse_moment("200000d", TimeNs(INT64_MAX - 5));
  ASSERT_FALSE(late);
}

TEST(Units, AMomentOfARunIsATimeOrATimeOfDay) {
  const TimeNs begin(1'795'360'516'900'000'000), end = begin + seconds(36);
  EXPECT_EQ(parse_run_moment("12.5", begin, end)->value, begin.value + 12'500'000'000) << "as ever";
  EXPECT_EQ(parse_run_moment("2026-11-22 12:00", begin, end)->value,
            moment_of_day("2026-11-22 12:00", begin, end, utc_offset_at(begin))->value);
  EXPECT_FALSE(parse_run_moment("15:15:17", TimeNs(0), TimeNs(5))) << "it counts from a zero of its own";
}

}  // namespace config_test
}  // namespace margay::config
