// Reading a command line from a table of flags, as margayd does.
#include "margay/settings/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margay/settings/command_options.h"

namespace margay::daemon {
namespace flags_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

struct Values {
  std::string run;
  std::optional<std::string> slice;
  std::int64_t restarts = 0;
  bool quiet = false;
  Flags flags() {
    Flags all = {text_flag("--run", "NAME", "name of the run", run),
                 text_flag("--slice", "DURATION", "duration of a timeslice", slice),
                 count_flag("--restarts", "how often", 0, 9, restarts),
                 switch_flag("--quiet", "say nothing", quiet)};
    all[0].required = true;
    return all;
  }
};

Result<Asked> parse(const Flags& flags, std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "margayd");
  return parse_flags(flags, static_cast<int>(arguments.size()), arguments.data());
}
std::string error_of(const std::vector<const char*>& arguments) {
  Values v;
  const auto asked = parse(v.flags(), arguments);
  if (asked) return "no error";
  EXPECT_EQ(asked.error().code, ErrorCode::kInvalidArgument);
  return asked.error().message;
}

TEST(Flags, ValuesComeAfterTheFlagOrAfterAnEqualsSign) {
  Values v;
  const auto asked = parse(v.flags(), {"--run", "night", "--slice=50ms", "--quiet", "--restarts", "3"});
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(*asked, Asked::kRun);
  EXPECT_EQ(v.run, "night");
  EXPECT_EQ(v.slice, "50ms");
  EXPECT_EQ(v.restarts, 3);
  EXPECT_TRUE(v.quiet);
}

TEST(Flags, AValueMayBeginWithADashBeEmptyAndHoldAnEqualsSign) {
  Values v;
  ASSERT_TRUE(parse(v.flags(), {"--run", "-x --y=z", "--slice="}));
  EXPECT_EQ(v.run, "-x --y=z");
  EXPECT_EQ(v.slice, "");
  Values other;
  ASSERT_TRUE(parse(other.flags(), {"--run=--quiet"}));
  EXPECT_EQ(other.run, "--quiet");
  EXPECT_FALSE(other.quiet);
}

TEST(Flags, HelpAndVersionNeedNoRequiredFlag) {
  Values v;
  EXPECT_EQ(*parse(v.flags(), {"--help"}), Asked::kHelp);
  EXPECT_EQ(*parse(v.flags(), {"-h"}), Asked::kHelp);
  EXPECT_EQ(*parse(v.flags(), {"--version"}), Asked::kVersion);
  EXPECT_EQ(*parse(v.flags(), {"--version", "--help", "--run", "x"}), Asked::kHelp);
}

TEST(Flags, ErrorsNameTheFlag) {
  EXPECT_EQ(error_of({}), "--run is required: name of the run");
  EXPECT_EQ(error_of({"--run", "x", "--slcie", "1s"}),
            "--slcie: there is no such flag; did you mean '--slice'?");
  EXPECT_EQ(error_of({"--something-else"}), "--something-else: there is no such flag; --help lists them");
  EXPECT_EQ(error_of({"-q"}), "-q: there is no such flag; --help lists them");
  EXPECT_EQ(error_of({"night"}), "'night' was not expected; --help lists the flags");
  EXPECT_EQ(error_of({"--run"}), "--run: its value is missing (--run NAME)");
  EXPECT_EQ(error_of({"--run", "--quiet"}), "--run: its value is missing (--run NAME)");
  EXPECT_EQ(error_of({"--run", "a", "--run=b"}), "--run: is given twice");
  EXPECT_EQ(error_of({"--quiet=yes"}), "--quiet: takes no value");
  for (const char* bad : {"", "x", "1x", "-1", "10", "99999999999999999999", " 1"})
    EXPECT_EQ(error_of({"--run=x", "--restarts", bad}),
              std::string("--restarts ") + bad + ": expected a whole number from 0 to 9");
}

TEST(Flags, HelpListsEachWithItsValueAndWrapsLongTexts) {
  Values v;
  Flags flags = v.flags();
  flags[1].help = std::string(30, 'a') + " " + std::string(30, 'b') + " " + std::string(30, 'c');
  flags[3].hidden = true;
  const std::string help = flags_help("margayd", "About it.", flags);
  EXPECT_THAT(help, StartsWith("About it.\n\nUsage: margayd --run NAME [FLAGS]\n\nFlags:\n"));
  EXPECT_THAT(help, HasSubstr("  --run NAME                name of the run (required)\n"));
  EXPECT_THAT(help, HasSubstr("bbb\n" + std::string(28, ' ') + "ccc"));
  EXPECT_THAT(help, HasSubstr("  -h, --help                this page\n"));
  EXPECT_EQ(help.find("--quiet"), std::string::npos);
  for (std::size_t at = 0, end = 0; (end = help.find('\n', at)) != std::string::npos; at = end + 1)
    EXPECT_LE(end - at, 100u);
}

TEST(Flags, WhatWasGivenIsHandedOn) {
  Values v;
  ASSERT_TRUE(parse(v.flags(), {"--quiet", "--run=a b", "--slice", "1s"}));
  EXPECT_THAT(given_arguments(v.flags()), ElementsAre("--run", "a b", "--slice", "1s", "--quiet"));
}

TEST(Flags, ThoseThatMargayRunHandsToADaemonAreReadBack) {
  CommonFlags f;
  f.config = "a.toml";
  f.op = "bytes";
  f.capture = "file";
  f.no_raw = true;
  const std::vector<std::string> arguments = f.to_arguments();
  std::vector<const char*> raw;
  for (const std::string& a : arguments) raw.push_back(a.c_str());
  CommonFlags back;
  ASSERT_TRUE(parse(common_flags(back), raw));
  EXPECT_EQ(back.to_arguments(), arguments);
}

}  // namespace flags_test
}  // namespace margay::daemon
