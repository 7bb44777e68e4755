#include "margay/wire/family_by_name.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace margay::wire {
namespace family_by_name_test {

StateFamily of(std::string_view name) {
  return family_by_name(name, FAMILY_OTHER);
}

TEST(FamilyByName, WordsThatSayWhatAStateIsAbout) {
  for (const char* name : {"wait", "mutex wait", "pthread_mutex_lock", "futex", "epoll_wait", "ppoll",
                           "Waiting", "waitForSpace", "cond_timedwait", "Blocked", "MPI_Wait", "MPI_Waitall"})
    EXPECT_EQ(of(name), FAMILY_WAIT) << name;
  for (const char* name :
       {"sleep", "Sleeping", "nanosleep", "idle", "clock_nanosleep", "sched_yield", "Idle2"})
    EXPECT_EQ(of(name), FAMILY_IDLE) << name;
  for (const char* name : {"read", "write", "pread64", "preadv2", "openat", "close", "MPI_File_read_all",
                           "readFrame", "FileReader", "fsync", "save_checkpoint"})
    EXPECT_EQ(of(name), FAMILY_IO) << name;
  for (const char* name : {"send", "recvfrom", "MPI_Isend", "MPI_Recv", "gst_pad_push", "SendBuffer",
                           "receive", "halo exchange"})
    EXPECT_EQ(of(name), FAMILY_POINT_TO_POINT) << name;
  for (const char* name : {"MPI_Allreduce", "barrier", "omp_barrier", "MPI_Bcast", "gather", "Reduction"})
    EXPECT_EQ(of(name), FAMILY_COLLECTIVE) << name;
  for (const char* name :
       {"init", "MPI_Init", "Initializing", "finalize", "shutdown", "execve", "exit_group"})
    EXPECT_EQ(of(name), FAMILY_START_END) << name;
  for (const char* name : {"decode", "decoder", "DECODING", "encode_frame", "computing", "computation",
                           "render", "gst_video_decoder_decode_frame", "solve", "dgemm", "running",
                           "Executing", "std::sort", "conv2d_forward"})
    EXPECT_EQ(of(name), FAMILY_COMPUTE) << name;
}

TEST(FamilyByName, OfSeveralWordsTheOneThatExplainsTheTime) {
  EXPECT_EQ(of("decoder_wait_for_input"), FAMILY_WAIT);
  EXPECT_EQ(of("read_lock"), FAMILY_WAIT);
  EXPECT_EQ(of("read_and_parse"), FAMILY_IO);
  EXPECT_EQ(of("parse_and_read"), FAMILY_IO);
  EXPECT_EQ(of("init_solver"), FAMILY_START_END);
  EXPECT_EQ(of("sendFile"), FAMILY_POINT_TO_POINT);
}

TEST(FamilyByName, WordsAreWhole) {
  for (const char* name : {"", "a", "clock", "spread", "thread", "ready", "already", "ascend", "endpoint",
                           "blockchain", "unlocked", "premium", "(other states)", "état", "x(wait)", "42",
                           "\xff\xfe", "/bin/app#1", "sender2x"})
    if (std::string_view(name) != "sender2x")
      EXPECT_EQ(of(name), FAMILY_OTHER) << name;
    else
      EXPECT_EQ(of(name), FAMILY_POINT_TO_POINT) << name;
  EXPECT_EQ(of("XMLReader"), FAMILY_IO);
  EXPECT_EQ(of("waitForMutex(Reader const&)"), FAMILY_WAIT);
  EXPECT_EQ(of("run(Reader const&)"), FAMILY_COMPUTE) << "arguments say nothing";
}

TEST(FamilyByName, WhatTheSourceSaysIsRight) {
  for (int f = 0; f <= 13; ++f) {
    const auto said = static_cast<StateFamily>(f);
    const bool silent = said == FAMILY_OTHER || said == FAMILY_REGION;
    EXPECT_EQ(family_by_name("decode", said), silent ? FAMILY_COMPUTE : said);
    EXPECT_EQ(family_by_name("frobnicate", said), silent ? FAMILY_OTHER : said);
  }
}

TEST(FamilyByName, AnyBytesAreAName) {
  std::mt19937 rng(3);
  for (int i = 0; i < 20000; ++i) {
    std::string name(rng() % 40, '\0');
    for (char& c : name) c = static_cast<char>(rng());
    const StateFamily family = of(name);
    ASSERT_EQ(family, of(name));
    ASSERT_TRUE(family <= FAMILY_START_END || family == FAMILY_IDLE);
  }
  EXPECT_EQ(of(std::string(100'000, 'w')), FAMILY_OTHER);
}

}  // namespace family_by_name_test
}  // namespace margay::wire
