// States of threads, told to a trace's consumer. Private to the folder.
//
// Errors of the consumer are kept: status(). Bounds: kMostLeaves; what is beyond is left out and counted.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "margay/import/format.h"
#include "margay/reader/state_sink.h"
#include "margay/trace/trace.h"

namespace margay::lttng_import {

class ConsumerSink final : public reader::StateSink {
 public:
  static constexpr std::size_t kMostLeaves = 65'536;
  static constexpr std::size_t kMostNames = 900;  // an archive has 1024 states

  explicit ConsumerSink(trace::Consumer& consumer) : consumer_(consumer) {}
  // Added to every time: wall clock less the trace's own.
  void set_offset(DurationNs offset) { offset_ = offset; }

  reader::ProcessId process(std::int64_t pid, std::string_view command) override;
  reader::ThreadId begin_thread(reader::ProcessId process, std::int64_t tid, std::string_view name,
                                TimeNs at) override;
  void rename_thread(reader::ThreadId, std::string_view) override {}  // a leaf is declared once
  reader::NameId name(std::string_view text, reader::NameKind kind) override;
  void enter(reader::ThreadId thread, reader::NameId state, TimeNs at) override;
  void leave(reader::ThreadId thread, reader::NameId state, TimeNs at) override;
  void mark(reader::ThreadId thread, reader::NameId mark, TimeNs at) override;
  void variable(reader::ThreadId thread, reader::NameId variable, double value, TimeNs at) override;
  void lost(reader::ThreadId thread, std::uint64_t events, TimeNs at) override;
  void end_thread(reader::ThreadId thread, TimeNs at) override;
  void end_process(reader::ProcessId process, TimeNs at) override;
  void cover(TimeNs until) override;

  const Status& status() const { return status_; }
  const trace::ReadCounts& counts() const { return counts_; }
  std::uint64_t names_left_out() const { return names_left_out_; }  // asked for; "(other states)"

 private:
  struct Process {
    std::string name;
    std::vector<std::uint32_t> threads;
  };
  struct Thread {
    bool ended = false;
    TimeNs last{};
  };
  void put(reader::ThreadId thread, std::uint8_t kind, std::uint16_t name, TimeNs at,
           std::uint64_t bytes = 0);

  trace::Consumer& consumer_;
  DurationNs offset_{};
  Status status_;
  trace::ReadCounts counts_;
  std::vector<Process> processes_;
  std::vector<Thread> threads_;  // by ThreadId, which is the leaf's number
  std::unordered_map<std::string, reader::NameId> names_;
  std::uint64_t names_left_out_ = 0;
};

}  // namespace margay::lttng_import
