// A run "r" of a test alone: a place, and the options of its daemon, which logs nothing and commits often.
#pragma once

#include <gtest/gtest.h>

#include "margay/log/log.h"
#include "margay/settings/options.h"
#include "margay/transport/rundir.h"
#include "support/runtime_place.h"

namespace margay::test {

struct DaemonRun : testing::Test {
  const RuntimePlace runtime;
  const std::string& place = runtime.path;
  daemon::Options options;

  void SetUp() override {
    log::Options quiet;
    quiet.level = log::Level::kOff;
    log::start(quiet);
    auto directory = transport::make_run_directory("r");
    ASSERT_TRUE(directory) << directory.error().message;
    options.run = "r";
    options.directory = *directory;
    options.archive = place + "/archive";
    options.commit_period = milliseconds(10);
  }
  void TearDown() override { log::start({}); }
};

}  // namespace margay::test
