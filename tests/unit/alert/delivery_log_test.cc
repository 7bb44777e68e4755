#include "delivery_log.h"

#include <sys/stat.h>

#include <fstream>

#include "sink_fixture.h"

namespace margay::sinks {
namespace delivery_log_test {

class Deliveries : public InAFolder {};

TEST_F(Deliveries, AreRememberedOverARestart) {
  const TimeNs begin(1'700'000'000'000'000'000);
  {
    DeliveryLog log(path("sent"));
    EXPECT_EQ(log.since("webhook", begin), begin);
    EXPECT_FALSE(log.had("webhook", "1", "firing"));
    log.note("webhook", "1", "firing", true);
    log.note("webhook", "1", "firing", true);
    log.note("webhook", "2", "firing", false);
    EXPECT_TRUE(log.had("webhook", "1", "firing"));
  }
  DeliveryLog log(path("sent"));
  EXPECT_EQ(log.trouble(), "");
  EXPECT_EQ(log.since("webhook", begin + seconds(5)), begin);
  EXPECT_EQ(log.since("command", begin + seconds(5)), begin + seconds(5));
  EXPECT_TRUE(log.had("webhook", "1", "firing"));
  EXPECT_TRUE(log.had("webhook", "2", "firing")) << "given up is given up";
  EXPECT_FALSE(log.had("webhook", "1", "resolved"));
  EXPECT_FALSE(log.had("command", "1", "firing"));
  EXPECT_EQ(content("sent"),
            "{\"sink\":\"webhook\",\"since_ns\":1700000000000000000}\n"
            "{\"sink\":\"webhook\",\"id\":\"1\",\"status\":\"firing\",\"fate\":\"sent\"}\n"
            "{\"sink\":\"webhook\",\"id\":\"2\",\"status\":\"firing\",\"fate\":\"given_up\"}\n"
            "{\"sink\":\"command\",\"since_ns\":1700000005000000000}\n");
}

TEST_F(Deliveries, ALineThatACrashCutAndLinesThatMakeNoSenseHarmNobody) {
  file("sent", "[1]\nnot json\n{\"sink\":7}\n{\"sink\":\"\",\"id\":\"1\",\"status\":\"firing\"}\n" +
                   std::string(10'000, 'x') +
                   "\n{\"sink\":\"webhook\",\"id\":\"1\",\"status\":\"firing\"}\n"
                   "{\"sink\":\"webhook\",\"id\":\"2\",\"sta");
  {
    DeliveryLog log(path("sent"));
    EXPECT_TRUE(log.had("webhook", "1", "firing"));
    EXPECT_FALSE(log.had("webhook", "2", "firing"));
    log.note("webhook", "2", "firing", true);
  }
  EXPECT_TRUE(DeliveryLog(path("sent")).had("webhook", "2", "firing"));
}

TEST_F(Deliveries, TheFileIsBounded) {
  std::string text = "{\"sink\":\"webhook\",\"since_ns\":5}\n";
  const std::size_t lines = 2 * DeliveryLog::kMostRemembered + 1;
  for (std::size_t i = 0; i < lines; ++i)
    text += "{\"sink\":\"webhook\",\"id\":\"" + std::to_string(i) +
            "\",\"status\":\"firing\",\"fate\":\"sent\"}\n";
  file("sent", text);
  {
    DeliveryLog log(path("sent"));
    EXPECT_EQ(log.trouble(), "");
    EXPECT_TRUE(log.had("webhook", std::to_string(lines - 1), "firing"));
    EXPECT_FALSE(log.had("webhook", "0", "firing")) << "forgotten";
  }
  const std::string now = content("sent");
  EXPECT_EQ(std::count(now.begin(), now.end(), '\n'), 1 + std::ptrdiff_t{DeliveryLog::kMostRemembered});
  DeliveryLog log(path("sent"));
  EXPECT_EQ(log.since("webhook", TimeNs(9)), TimeNs(5));
  EXPECT_TRUE(log.had("webhook", std::to_string(lines - 1), "firing"));
  struct stat info {};
  ASSERT_EQ(::stat(path("sent").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(Deliveries, TheFileIsBoundedWhileItIsWritten) {
  DeliveryLog log(path("sent"));
  constexpr std::size_t kLines = 2 * DeliveryLog::kMostRemembered + 100;
  for (std::size_t i = 0; i < kLines; ++i) log.note("webhook", std::to_string(i), "firing", true);
  EXPECT_EQ(log.trouble(), "");
  std::ifstream in(path("sent"));
  std::size_t lines = 0;
  std::string newest;
  for (std::string line; std::getline(in, line); ++lines) newest = line;
  EXPECT_LE(lines, DeliveryLog::kMostRemembered + 101);
  EXPECT_NE(newest.find("\"" + std::to_string(kLines - 1) + "\""), std::string::npos) << newest;
  const DeliveryLog again(path("sent"));
  EXPECT_TRUE(again.had("webhook", std::to_string(kLines - 1), "firing"));
  EXPECT_FALSE(again.had("webhook", "0", "firing"));
}

TEST_F(Deliveries, WhatCannotBeWrittenIsRememberedInMemoryAndSaid) {
  for (const std::string& where : {path("missing/sent"), folder_.path, std::string("/dev/full")}) {
    DeliveryLog log(where);
    EXPECT_NE(log.trouble(), "") << where;
    log.note("webhook", "1", "firing", true);
    EXPECT_TRUE(log.had("webhook", "1", "firing"));
  }
}

}  // namespace delivery_log_test
}  // namespace margay::sinks
