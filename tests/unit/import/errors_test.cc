// What is wrong with a trace is said with file, line, what, and what was expected; or counted; and hostile
// input ends within bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "rig.h"

namespace margay::trace::testing {
namespace errors_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The error of `text` behind the start, as the sentence and the line it names.
void expect_error(const std::string& bad, const std::string& sentence, const std::string& more = {}) {
  const std::string good = start() + "9 1 S t a\n";
  Notebook book;
  const auto counts = read(good + bad + "\n" + more, book);
  ASSERT_FALSE(counts) << bad;
  EXPECT_EQ(counts.error().message, "t.trace:" + line_of(good) + ": " + sentence) << bad;
}

TEST(PajeErrors, EachIsASentenceWithItsLine) {
  expect_error("9 2 S", "PajePushState: has 2 fields; expected 4: 'Time Type Container Value'");
  expect_error("9 2 S t a b",
               "PajePushState: has more than its 4 fields, beginning with 'b'; a field with blanks "
               "stands in \"quotes\"");
  expect_error("9 2 S t \"a", "PajePushState: a quote is not closed; expected \" before the end of the line");
  expect_error("99 2 S t a", "begins with '99'; expected the number of an event that the header defines");
  expect_error("x", "begins with 'x'; expected the number of an event that the header defines");
  expect_error("9 now S t a",
               "PajePushState: the time 'now' is no number of seconds; expected one like 12.5 or "
               "1.25e-3, within 146 years of 0");
  expect_error("9 0.5 S t a",
               "PajePushState: its time, 0.5 s, is 0.5 s before that of the lines above; --lateness "
               "puts lines that are up to 1 h late in their place; of a trace that holds one process after "
               "the other, sort "
               "the lines behind its definitions by time first");
  expect_error("9 2 S nobody a",
               "PajePushState: the container 'nobody' is not known; expected one that was created before");
  expect_error("9 2 Q t a", "PajePushState: the state type 'Q' is not defined");
  expect_error("10 2 S u",
               "PajePopState: no state is open in the container 'u'; expected a PushState before");
  expect_error("12 2 V t much",
               "PajeSetVariable: the value 'much' is no number; expected one like 12.5 or 1e-3");
  expect_error("12 2 V t nan",
               "PajeSetVariable: the value 'nan' is no number; expected one like 12.5 or 1e-3");
  expect_error("6 2 t T p again", "PajeCreateContainer: the container 't' exists already");
  expect_error("6 2 v Q p v", "PajeCreateContainer: the container type 'Q' is not defined");
  expect_error("0 T 0 Again", "PajeDefineContainerType: the container type 'T' is defined already");
  expect_error("1 X Nowhere X",
               "PajeDefineStateType: the container type 'Nowhere' is not defined; expected one from "
               "the lines above, or 0");
  expect_error("5 a Nowhere b",
               "PajeDefineEntityValue: the type 'Nowhere' is not defined; expected a state, event "
               "or link type from above");
  expect_error(std::string("9 2 S t a\0b", 11), "holds a NUL byte; is this a Paje trace?");
  expect_error("% Name string", "the field 'Name' stands outside of a definition; expected %EventDef first");
  expect_error("%EndEventDef", "%EndEventDef without %EventDef before it");
  expect_error("%EventDef PajeSetState 9",
               "the number 9 of 'PajeSetState' is that of 'PajePushState' already");
  expect_error("%EventDef PajeSetState many",
               "the event 'PajeSetState' has the number 'many'; expected one from 0 to 2147483647");
  expect_error("9 2 S t \x1b[31m\x80 x",
               "PajePushState: has more than its 4 fields, beginning with 'x'; a field with blanks stands in "
               "\"quotes\"");
}

TEST(PajeErrors, LinkKeysAreUsedOnce) {
  const std::string good = start() + "16 1 L p t m k\n";
  Notebook book;
  const auto counts = read(good + "16 2 L p t m k\n", book);
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().message,
            "t.trace:" + line_of(good) +
                ": PajeStartLink: the key 'k' is that of a link which has begun already, but "
                "not ended");
}

TEST(PajeErrors, DefinitionsThatLackSomething) {
  const auto error_of = [](const std::string& text) {
    Notebook book;
    const auto counts = read(text, book);
    return counts ? std::string("none") : counts.error().message;
  };
  EXPECT_EQ(error_of("%EventDef PajeSetState 1\n% Time date\n% Type string\n% Value string\n%EndEventDef\n"),
            "t.trace:5: the definition of 'PajeSetState' lacks the field Container");
  EXPECT_EQ(error_of("%EventDef PajeDefineStateType 1\n% Type string\n%EndEventDef\n"),
            "t.trace:3: the definition of 'PajeDefineStateType' has neither the field Name nor Alias");
  EXPECT_EQ(error_of("%EventDef PajeSetState 1\n% Time date\n% Time date\n"),
            "t.trace:3: the field 'Time' of 'PajeSetState' is there twice");
  EXPECT_EQ(error_of("%EventDef PajeSetState 1\n%EventDef PajePopState 2\n"),
            "t.trace:2: a definition begins within that of 'PajeSetState'; expected %EndEventDef first");
  EXPECT_EQ(error_of("%EventDef PajeSetState 1\n% Time date\n1 5\n"),
            "t.trace:3: an event stands within a definition; expected a line that begins with % up to "
            "%EndEventDef");
  EXPECT_EQ(error_of("%EventDef PajeSetState 1\n% Time date\n"),
            "t.trace:2: the trace ends within a definition; expected %EndEventDef");
  EXPECT_EQ(error_of("%EventDef PajeMyOwn 1\n% Time date\n%EndEventDef\n1 5\n"),
            "t.trace:4: PajeMyOwn: is no event of the Paje format; expected PajeSetState and the like");
}

TEST(PajeErrors, KeepGoingCountsAndTellsTheFirst) {
  std::vector<std::string> told;
  ReadOptions options;
  options.keep_going = true;
  options.problem = [&](const std::string& s) { told.push_back(s); };
  std::string text = start() + "9 1 S t a\n";
  const std::string first = line_of(text);
  for (int i = 0; i < 30; ++i) text += "10 1 S u\n";
  text += "9 0.5 S t late\n9 2 S t b\n";
  Notebook book;
  const auto counts = read(text, book, options);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->rejected, 30u);
  EXPECT_EQ(counts->late, 1u);
  EXPECT_EQ(counts->states, 2u);
  ASSERT_EQ(told.size(), ReadOptions::kMostTold);
  EXPECT_THAT(told[0], StartsWith("t.trace:" + first + ": PajePopState: no state is open"));
}

TEST(PajeErrors, LateLinesAreNamedByTheirOwnNumber) {
  ReadOptions options;
  options.lateness = seconds(10);
  const std::string good = start() + "9 1 S t a\n";
  Notebook book;
  const auto counts = read(good + "10 5 S u\n9 30 S t b\n9 31 S t b\n", book, options);
  ASSERT_FALSE(counts);
  EXPECT_THAT(counts.error().message,
              StartsWith("t.trace:" + line_of(good) + ": PajePopState: no state is open"));
}

TEST(PajeErrors, WhatTheConsumerRefusesIsTheLinesFault) {
  Notebook book;
  book.refuse_names = true;
  const auto counts = read(start(), book);
  ASSERT_FALSE(counts);
  EXPECT_THAT(counts.error().message, HasSubstr("PajeCreateContainer: 'None': no more names"));
}

TEST(PajeErrors, InterruptionEndsIt) {
  ReadOptions options;
  options.keep_going = true;
  options.step = [](const ReadCounts&) -> Status { return fail(ErrorCode::kUnavailable, "enough"); };
  Notebook book;
  const auto counts = read(start() + std::string(3 << 20, '\n'), book, options);
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().message, "enough");
}

std::string many(std::size_t n, const std::function<std::string(std::size_t)>& line) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += line(i) + "\n";
  return out;
}

TEST(PajeHostile, EveryBoundIsASentence) {
  const auto error_of = [](const std::string& text) {
    Notebook book;
    book.keep = false;
    const auto counts = read(text, book);
    return counts ? std::string("none") : counts.error().message;
  };
  const std::string s = start();
  EXPECT_THAT(error_of(s + std::string(3 << 20, 'x')), HasSubstr("is longer than 1 MiB"));
  EXPECT_THAT(error_of(s + "6 0 v T p " + std::string(5000, 'x') + "\n"),
              HasSubstr("is longer than 4096 bytes"));
  EXPECT_THAT(error_of(s + "9 1 S t " + std::string(5000, 'x') + "\n"),
              HasSubstr("is longer than 4096 bytes"));
  EXPECT_THAT(error_of(s + many(2000, [](auto) { return "9 1 S t a"; })),
              HasSubstr("more than 1,000 states are open"));
  EXPECT_THAT(error_of(s + many(70000, [](auto i) { return "15 1 E t e" + std::to_string(i); })),
              HasSubstr("more than 65,535 different"));
  EXPECT_THAT(error_of(s + many(70000, [](auto i) { return "1 y" + std::to_string(i) + " T n"; })),
              HasSubstr("more than 65,536 types"));
  EXPECT_THAT(error_of(s + many(100,
                                [](auto i) {
                                  const std::string parent = i == 0 ? "p" : "d" + std::to_string(i - 1);
                                  return "6 1 d" + std::to_string(i) + " P " + parent + " x";
                                })),
              HasSubstr("lies deeper than 64 levels"));
  EXPECT_EQ(error_of(s + "6 1 d T p " + std::string(200, '/') + "\n"), "none")
      << "slashes alone are no levels";
  EXPECT_THAT(error_of(s + "12 1 V t 1e308\n" + many(2, [](auto) { return "13 1 V t 1e308"; })),
              HasSubstr("leaves the range of numbers"));
  EXPECT_THAT(
      error_of("%EventDef PajeX 1\n" + many(70, [](auto i) { return "% F" + std::to_string(i) + " int"; })),
      HasSubstr("more than 64 fields"));
  EXPECT_THAT(
      error_of(many(5000, [](auto i) { return "%EventDef PajeX " + std::to_string(i) + "\n%EndEventDef"; })),
      HasSubstr("more than 4096 events"));
}

TEST(PajeHostile, MillionsOfContainersEndInASentence) {
  Notebook book;
  book.keep = false;
  std::string text = header() + "0 P 0 Program\n";
  for (int i = 0; i <= (1 << 20); ++i) text += "6 0 " + std::to_string(i) + "x P 0\t\"\"\n";
  const auto counts = read(text, book);
  ASSERT_FALSE(counts);
  EXPECT_THAT(counts.error().message, HasSubstr("more than 1,048,576 containers"));
}

long peak_kib() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return use.ru_maxrss;
}

// 64 MiB come through a pipe from a thread; what is held does not grow with them.
TEST(PajeHostile, MemoryIsBoundedWhateverComes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string line = "9 1 S t a\n10 1 S t\n";
  std::string block;
  while (block.size() < 64 << 10) block += line;
  constexpr int kBlocks = 1024;
  std::thread writer([&] {
    const auto put = [&](const std::string& text) {
      for (std::size_t at = 0; at < text.size();) {
        const ssize_t n = write(ends[1], text.data() + at, text.size() - at);
        if (n <= 0) return;
        at += static_cast<std::size_t>(n);
      }
    };
    put(start());
    for (int i = 0; i < kBlocks; ++i) put(block);
    close(ends[1]);
  });
  Input input(
      "pipe",
      [&](std::span<char> into) -> Result<std::size_t> {
        const ssize_t n = ::read(ends[0], into.data(), into.size());
        if (n < 0) return fail(ErrorCode::kIo, "pipe");
        return static_cast<std::size_t>(n);
      },
      0);
  Notebook book;
  book.keep = false;
  const long before = peak_kib();
  const auto counts = paje::read(input, {}, book);
  writer.join();
  close(ends[0]);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->states, kBlocks * (block.size() / line.size()));
  EXPECT_LT(peak_kib() - before, 16 << 10) << "KiB more, of 65536 that came";
}

}  // namespace errors_test
}  // namespace margay::trace::testing
