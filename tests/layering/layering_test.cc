// The tree as it is keeps the rules, and trees that break one are caught: a checker that sees nothing would
// pass too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules.h"

namespace margay::layering {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// A sound tree of one header a module, for violations to be planted in.
Tree sound() {
  return {
      {"proto/base/include/margay/base/ids.h", "#include <cstdint>\n"},
      {"proto/base/include/margay/base/record.h", "#include <cstdint>\n"},
      {"proto/base/CMakeLists.txt", "margay_library(margay_base)\n"},
      {"proto/wire/include/margay/wire/columns.h", "#include \"margay/base/ids.h\"\n"},
      {"proto/wire/CMakeLists.txt", "margay_library(margay_wire SOURCES columns.cc PUBLIC margay_base)\n"},
      {"collector/model/include/margay/model/cells.h", "#include \"margay/base/ids.h\"\n"},
      {"collector/model/CMakeLists.txt",
       "margay_library(margay_model SOURCES cells.cc PUBLIC margay_base)\n"},
      {"collector/store/include/margay/store/archive.h", "#include \"margay/model/cells.h\"\n"},
      {"collector/store/CMakeLists.txt", "margay_library(margay_store SOURCES a.cc PUBLIC margay_model)\n"},
      {"collector/probe/wrappers.cc", "#include <mpi.h>\n#include \"margay/base/record.h\"\n"},
      {"daemon/alert/include/margay/alert/alert.h", "#include \"margay/base/ids.h\"\n"},
      {"daemon/alert/include/margay/alert/jsonl_sink.h", "#include \"margay/alert/alert.h\"\n"},
      {"daemon/detect/include/margay/detect/detector.h", "#include \"margay/model/cells.h\"\n"},
      {"daemon/detect/CMakeLists.txt", "margay_library(margay_detect SOURCES d.cc PUBLIC margay_model)\n"},
      {"daemon/live/include/margay/live/pipeline.h",
       "#include \"margay/store/archive.h\"\n#include \"margay/detect/detector.h\"\n"},
      {"viewer/terminal/include/margay/terminal/watch.h", "#include \"margay/wire/columns.h\"\n"},
      {"viewer/terminal/CMakeLists.txt", "margay_library(margay_terminal SOURCES w.cc PUBLIC margay_wire)\n"},
  };
}

std::vector<std::string> with(const std::string& path, const std::string& text) {
  Tree tree = sound();
  tree[path] = text;
  return violations(tree);
}

TEST(Layering, TreeKeepsTheRules) {
  const Tree tree =
      load_tree(MARGAY_SOURCE_DIR, {"proto", "collector", "daemon", "viewer", "tests", "config"});
  ASSERT_GT(tree.size(), 150u) << "the sources were not found below " << MARGAY_SOURCE_DIR;
  ASSERT_TRUE(tree.contains("daemon/live/include/margay/live/pipeline.h"));
  EXPECT_THAT(violations(tree), IsEmpty());
}

TEST(Layering, SoundTreeHasNoViolations) {
  EXPECT_THAT(violations(sound()), IsEmpty());
}

TEST(Layering, ViewerMayNotReadTheStore) {
  EXPECT_THAT(with("viewer/terminal/watch.cc", "#include <string>\n#include \"margay/store/archive.h\"\n"),
              ElementsAre("viewer/terminal/watch.cc:2: viewer/terminal may not use margay/store/archive.h of "
                          "collector/store"));
}

TEST(Layering, ViewerMayNotLinkTheModel) {
  EXPECT_THAT(
      with("viewer/terminal/CMakeLists.txt",
           "# all of it\nmargay_library(margay_terminal SOURCES w.cc\n  PUBLIC margay_wire margay_model)\n"),
      ElementsAre(
          StartsWith("viewer/terminal/CMakeLists.txt:2: viewer/terminal may not use target margay_model")));
}

TEST(Layering, ProtoUsesOnlyItself) {
  EXPECT_THAT(with("proto/wire/columns.cc", "#include \"margay/model/cells.h\"\n"), testing::SizeIs(1));
  EXPECT_THAT(with("proto/wire/CMakeLists.txt", "margay_library(margay_wire PUBLIC margay_model)\n"),
              testing::SizeIs(1));
}

TEST(Layering, CollectorMayNotUseTheDaemon) {
  EXPECT_THAT(with("collector/store/archive.cc", "#  include \"margay/alert/alert.h\"\n"),
              testing::SizeIs(1));
}

TEST(Layering, DaemonUsesOnlyTheCollectorsModel) {
  EXPECT_THAT(with("daemon/alert/alert.cc", "#include \"margay/store/archive.h\"\n"), testing::SizeIs(1));
  EXPECT_THAT(with("daemon/publish/publish.cc", "#include \"margay/model/cells.h\"\n"), IsEmpty());
}

TEST(Layering, OnlyTheCommandsJoinEverything) {
  EXPECT_THAT(with("daemon/cli/run/run_command.cc",
                   "#include \"margay/terminal/watch.h\"\n#include \"run/closing.h\"\n"),
              IsEmpty());
  EXPECT_THAT(
      with("daemon/alert/alert.cc", "#include \"margay/live/pipeline.h\"\n"),
      ElementsAre("daemon/alert/alert.cc:1: daemon/alert may not use margay/live/pipeline.h of daemon/live"));
}

TEST(Layering, PureModulesTouchNothingOutside) {
  for (const char* header :
       {"fstream", "thread", "mutex", "chrono", "iostream", "sys/socket.h", "spdlog/spdlog.h"})
    EXPECT_THAT(with("daemon/detect/detector.cc", std::string("#include <") + header + ">\n"),
                testing::SizeIs(1))
        << header;
  EXPECT_THAT(with("collector/model/cells.cc", "const char* f() { return std::getenv(\"HOME\"); }\n"),
              ElementsAre("collector/model/cells.cc:1: a pure module may not use getenv"));
  EXPECT_THAT(with("collector/model/cells.cc", "int n = 1'000;\nTimeNs t = SystemClock().realtime();\n"),
              ElementsAre("collector/model/cells.cc:2: a pure module may not use SystemClock"));
  EXPECT_THAT(with("daemon/detect/detector.cc", "#include \"margay/alert/jsonl_sink.h\"\n"),
              testing::SizeIs(1));
}

TEST(Layering, WordsInCommentsAndStringsAreNoCode) {
  EXPECT_THAT(with("collector/model/cells.cc",
                   "// getenv\n/* printf\n system */ const char* s = \"getenv \\\" puts\";\n"),
              IsEmpty());
}

TEST(Layering, ProbeUsesNothingButLibcAndMpi) {
  EXPECT_THAT(with("collector/probe/ring.cc", "#include <string>\n"),
              ElementsAre("collector/probe/ring.cc:1: the probe may not use <string>"));
  EXPECT_THAT(with("collector/probe/ring.cc", "#include \"margay/base/ids.h\"\n"),
              ElementsAre("collector/probe/ring.cc:1: the probe may not use margay/base/ids.h"));
}

TEST(Layering, UnknownModuleIsNamed) {
  EXPECT_THAT(with("daemon/cli/x.cc", "#include \"margay/nowhere/x.h\"\n"),
              ElementsAre("daemon/cli/x.cc:1: no folder has include/margay/nowhere/x.h"));
}

TEST(Layering, LongFilesAreTwoFiles) {
  EXPECT_THAT(with("viewer/terminal/long.cc", std::string(kMostLines, '\n')), IsEmpty());
  EXPECT_THAT(with("viewer/terminal/long.cc", std::string(kMostLines + 1, '\n')), testing::SizeIs(1));
}

}  // namespace
}  // namespace margay::layering
