// What a reader that takes over from one that died has to know to be the same source: a file of fixed size,
// mapped by the reader that writes it, so that what it holds survives the process (not the machine).
//
// It says of each process its source, of each thread the ordinal of its next record, and what the names are.
// A reader that opens it takes the next epoch: with it the collector counts the records that never came,
// exactly, as wire_lost.
//
// Bounds: kProcesses, kThreads, kNames; beyond them a process, a thread or a name is not remembered. Thread
// safety: none, one process at a time. Cost: stores into memory; the file is sparse, some 10 MiB when full.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "margay/base/result.h"
#include "margay/reader/state_sink.h"

namespace margay::reader {

class Ledger {
 public:
  static constexpr std::size_t kProcesses = 4096, kThreads = 8192, kNames = 16384, kNamesOfProcess = 1024;
  static constexpr std::size_t kLongestName = 255;

  struct Text {
    std::uint32_t size = 0;
    std::array<char, kLongestName + 1> bytes{};
    void operator=(std::string_view text);
    std::string_view view() const { return {bytes.data(), std::min<std::size_t>(size, kLongestName)}; }
  };
  struct Process {
    std::uint64_t source = 0;  // 0: the entry is free; written last
    std::int64_t pid = 0;
    std::uint64_t start_time = 0;
    std::uint32_t pooled = 0;                           // streams that short-lived threads share
    std::uint32_t names = 0;                            // that have a number in it
    std::array<std::uint16_t, kNamesOfProcess> name{};  // indices into names()
    Text program;
  };
  struct Thread {
    std::uint64_t source = 0;  // of its process; 0: the entry is free; written last
    std::uint32_t stream = 0;
    bool pooled = false, ended = false;
    std::int64_t tid = -1;
    std::int64_t begun = 0, last = 0;
    std::uint64_t next = 0, dropped = 0, untold = 0;
    Text name, shown;
  };
  struct Name {
    std::uint8_t there = 0;  // written last
    std::uint8_t kind = 0;
    bool own = false;
    Text text;
  };

  // Made where it is not there, or is not one of this version. Errors: kIo (it cannot be made or mapped).
  static Result<std::unique_ptr<Ledger>> open(const std::string& path);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  std::uint32_t epoch() const;  // 1 for the first reader
  std::span<Process> processes();
  std::span<Thread> threads();
  std::span<Name> names();
  // nullptr: all are in use. An entry is in use while its first member is not 0.
  Process* free_process();
  Thread* free_thread();

 private:
  struct File;
  explicit Ledger(File* file) : file_(file) {}
  File* file_;
  std::size_t next_process_ = 0, next_thread_ = 0;  // where the search for a free one goes on
};

}  // namespace margay::reader
