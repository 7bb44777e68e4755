// GStreamer's debug log, made states of threads.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "margay/gst/log_line.h"
#include "margay/gst/log_reader.h"

namespace margay::gst {
namespace log_test {

using reader::NameId;
using reader::NameKind;
using reader::ProcessId;
using reader::ThreadId;

// Writes down what it is told: "enter 0 decode 5000".
struct Notes final : reader::StateSink {
  std::vector<std::string> said;
  std::vector<std::pair<std::string, NameKind>> names;
  std::uint32_t processes = 0, threads = 0, most_threads = 100;
  TimeNs covered{};

  void say(std::string what, ThreadId t, const std::string& more, TimeNs at) {
    said.push_back(std::move(what) + " " + std::to_string(t.value) + " " + more + " " +
                   std::to_string(at.value));
  }
  ProcessId process(std::int64_t pid, std::string_view command) override {
    said.push_back("process " + std::to_string(pid) + " " + std::string(command));
    return ProcessId(processes++);
  }
  ThreadId begin_thread(ProcessId, std::int64_t, std::string_view name, TimeNs at) override {
    if (threads >= most_threads) return reader::kNoThread;
    say("begin", ThreadId(threads), std::string(name), at);
    return ThreadId(threads++);
  }
  void rename_thread(ThreadId t, std::string_view name) override {
    said.push_back("rename " + std::to_string(t.value) + " " + std::string(name));
  }
  NameId name(std::string_view text, NameKind kind) override {
    for (std::uint32_t i = 0; i < names.size(); ++i)
      if (names[i].first == text) return NameId(i);
    names.emplace_back(text, kind);
    return NameId(static_cast<std::uint32_t>(names.size() - 1));
  }
  void enter(ThreadId t, NameId n, TimeNs at) override { say("enter", t, names[n.value].first, at); }
  void leave(ThreadId t, NameId n, TimeNs at) override { say("leave", t, names[n.value].first, at); }
  void mark(ThreadId, NameId, TimeNs) override {}
  void variable(ThreadId, NameId, double, TimeNs) override {}
  void lost(ThreadId, std::uint64_t, TimeNs) override {}
  void end_thread(ThreadId, TimeNs) override {}
  void end_process(ProcessId p, TimeNs at) override {
    said.push_back("end " + std::to_string(p.value) + " " + std::to_string(at.value));
  }
  void cover(TimeNs until) override { covered = until; }
};

struct LogTest : testing::Test {
  Notes notes;
  LogReader log{notes, [](std::int64_t) { return std::string("player"); }};
  static std::string line(const std::string& time, const std::string& thread, const std::string& rest) {
    return time + "   400 " + thread + " DEBUG        GST_X file.c:12:" + rest + "\n";
  }
};

TEST(LogLine, PartsOfALine) {
  const auto l = parse_line_untrusted(
      "0:00:01.323083070 11401 0x55eae784c000 DEBUG         GST_SCHEDULING "
      "gstpad.c:4459:gst_pad_chain_data_unchecked:<videoconvert0:sink> calling chainfunction &x with buffer: "
      "0x1");
  ASSERT_TRUE(l);
  EXPECT_EQ(l->since_start, DurationNs(1'323'083'070));
  EXPECT_EQ(l->pid, 11401);
  EXPECT_EQ(l->thread, 0x55eae784c000u);
  EXPECT_EQ(l->function, "gst_pad_chain_data_unchecked");
  EXPECT_EQ(l->object, "videoconvert0:sink");
  EXPECT_EQ(l->text, "calling chainfunction &x with buffer: 0x1");
  const auto no_object = parse_line_untrusted("123:59:59.000000001 1 0x1 LOG c a/b.cpp:1:operator(): text");
  ASSERT_TRUE(no_object);
  EXPECT_EQ(no_object->since_start,
            DurationNs(((123 * 60 + 59) * 60 + 59) * std::int64_t{1'000'000'000} + 1));
  EXPECT_EQ(no_object->object, "");
  EXPECT_EQ(no_object->text, "text");
}

TEST(LogLine, NoLines) {
  for (const char* text :
       {"", " ", "  further text of a line", "0:00:01.3 1 0x1 LOG c f.c:1:f: t", "0:00:01.323083070",
        "0:00:01.323083070 x 0x1 LOG c f.c:1:f: t", "0:00:01.323083070 -1 0x1 LOG c f.c:1:f: t",
        "0:00:01.323083070 1 55 LOG c f.c:1:f: t", "0:00:01.323083070 1 0x1 LOG c",
        "0:00:01.323083070 1 0x1 LOG c f.c:1:f", "0:00:01.323083070 1 0x1 LOG c f.c:x:f: t",
        "0:00:01.323083070 1 0x1 LOG c f.c:1:: t", "99999999:00:00.000000000 1 0x1 LOG c f.c:1:f: t",
        "0:-1:01.323083070 1 0x1 LOG c f.c:1:f: t"})
    EXPECT_FALSE(parse_line_untrusted(text)) << text;
  EXPECT_TRUE(begins_with_time("0:00:01.323083070 and rubbish"));
  EXPECT_FALSE(begins_with_time("0:00:01,323083070"));
}

TEST_F(LogTest, AThreadIsInTheFunctionOfItsNewestLine) {
  log.feed(line("0:00:00.000001000", "0xa", "one:<o> text") +
               line("0:00:00.000002000", "0xb", "gst_clock_id_wait: text") +
               line("0:00:00.000003000", "0xa", "two:<o> text"),
           TimeNs(10'000'001'000));
  const std::vector<std::string> expected = {"process 400 player", "begin 0 main 10000001000",
                                             "enter 0 one 10000001000", "begin 1  10000001000",
                                             "enter 1 gst_clock_id_wait 10000001000"};
  ASSERT_GE(notes.said.size(), expected.size());
  // The first line came soonest after its writing: what is between lines is as they say.
  EXPECT_EQ(notes.said[0], expected[0]);
  EXPECT_EQ(notes.said[1], expected[1]);
  EXPECT_EQ(notes.said[2], expected[2]);
  EXPECT_EQ(log.counts().taken, 3u);
  EXPECT_EQ(notes.names[1].second, NameKind::kWait);
  EXPECT_EQ(notes.names[0].second, NameKind::kState);
}

TEST_F(LogTest, TimesAreThoseOfTheLineThatCameSoonest) {
  log.feed(line("0:00:01.000000000", "0xa", "one: t"), TimeNs(seconds(50).value + 7'000'000));
  log.feed(line("0:00:02.000000000", "0xa", "two: t"), TimeNs(seconds(51).value + 1'000));
  log.feed(line("0:00:03.000000000", "0xa", "three: t"), TimeNs(seconds(52).value + 9'000'000));
  EXPECT_EQ(notes.said[2], "enter 0 one 50007000000");
  EXPECT_EQ(notes.said[4], "enter 0 two 51000001000");
  EXPECT_EQ(notes.said[6], "enter 0 three 52000001000");
}

TEST_F(LogTest, ThreadsAreNamedAfterTheirTask) {
  log.feed(line("0:00:00.000001000", "0xa", "gst_pad_start_task:<queue0:src> created task 0x99") +
               line("0:00:00.000002000", "0xb", "gst_task_func: Entering task 0x99, thread 0xb"),
           TimeNs(1'000'000));
  EXPECT_EQ(notes.said.back(), "rename 1 queue0:src");
}

TEST_F(LogTest, LinesComeInPieces) {
  const std::string all =
      line("0:00:00.000001000", "0xa", "one: t") + line("0:00:00.000002000", "0xa", "two: t");
  for (const char c : all) log.feed({&c, 1}, TimeNs(1'000'000));
  EXPECT_EQ(log.counts().lines, 2u);
  EXPECT_EQ(log.counts().taken, 2u);
}

TEST_F(LogTest, EveryLineIsCountedOnce) {
  notes.most_threads = 1;
  log.feed(line("0:00:00.000001000", "0xa", "one: t"), TimeNs(1'000'000));
  log.feed(line("0:00:00.000001000", "0xb", "one: t"), TimeNs(1'000'000));  // no room for that thread
  log.feed("\nfurther text\n", TimeNs(1'000'000));
  log.feed("0:00:00.000001000 garbage\n", TimeNs(1'000'000));
  log.feed(std::string(kLongestLine + 1, 'x') + "\n", TimeNs(1'000'000));
  log.feed(std::string(kLongestLine, 'y'), TimeNs(1'000'000));
  log.feed(std::string(kLongestLine, 'y') + "\n", TimeNs(1'000'000));
  log.feed(line("0:00:00.000003000", "0xa", "two: t"), TimeNs(1'000'000));
  const auto& c = log.counts();
  EXPECT_EQ(c.lines, 8u);
  EXPECT_EQ(c.taken, 2u);
  EXPECT_EQ(c.left_out, 1u);
  EXPECT_EQ(c.text, 2u);
  EXPECT_EQ(c.malformed, 3u);
  EXPECT_EQ(c.lines, c.taken + c.left_out + c.text + c.malformed);
}

TEST_F(LogTest, AProcessEndsWithItsLastLine) {
  log.feed(line("0:00:00.000001000", "0xa", "one: t") + line("0:00:00.000005000", "0xa", "two: t"),
           TimeNs(1'005'000));
  const auto& newest = notes.said.back();
  const std::string at = newest.substr(newest.rfind(' ') + 1);
  log.end_process(ProcessId(0));
  EXPECT_EQ(notes.said.back(), "end 0 " + at);
  log.feed(line("0:00:00.000001000", "0xa", "one: t"), TimeNs(2'000'000));  // the number is used again
  EXPECT_EQ(notes.processes, 2u);
}

TEST_F(LogTest, PromisesStayBehindWhatWasWritten) {
  log.feed(line("0:00:00.000001000", "0xa", "one: t"), TimeNs(seconds(100).value));
  EXPECT_LT(notes.covered, TimeNs(seconds(100).value));
  log.caught_up(TimeNs(seconds(101).value));
  EXPECT_EQ(notes.covered, TimeNs(seconds(101).value) - milliseconds(20));
}

}  // namespace log_test
}  // namespace margay::gst
