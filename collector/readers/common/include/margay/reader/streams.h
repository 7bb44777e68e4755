// Makes the wire's streams of what a reader tells: each process a source, each thread of it a stream of
// numbered records. It is for readers what the probe's shared memory and the node agent are for MPI programs.
//
//   reader -> StateSink calls -> records of each thread -> flush() -> Outbox -> collector
//
// Promises, as those of the probe's ring: a thread's records are in order of time; where records were dropped
// a GAP says how many, and STACK and ENTER what was open then; produced = recorded + dropped, exactly.
//
// A thread that ends gives its stream back, and the process' next new thread takes it up: a process with
// thousands of short-lived threads has as many streams as it had threads at one time. A stream that served
// several short-lived threads (less than a second) is called "(short-lived) N".
//
// Bounds: Options. Where the outbox has no room, records are dropped and counted; a reader that can wait (its
// events lie on a disk) asks has_room() first. Processes, threads and names beyond the bounds are left out
// and counted (`Counts`).
//
// A program may name thousands of states, most of which never matter. A quarter of the names is given as they
// come; another state gets a name of its own once threads have spent 5 ms in it, and is part of "(other
// states)" before that.
//
// A reader that takes over from one that died (Options::ledger) goes on with its processes, threads and
// names: what was not delivered is counted as wire_lost, and what the threads did until they are heard again
// is unknown.
//
// A thread that tells nothing does not have to compute: one that has been asleep without a word for a second
// (Options::use tells) is in the state "(asleep)", of the kind idle, until it speaks or runs. So is a main
// thread that waits for all others to end. One that is ready for a CPU and is given none for a tenth of a
// second is in the state "(no CPU)". What it does between that and its next word is Compute.
//
// Thread safety: none. Cost: O(1) a call and 32 bytes a record until the next flush; flush() is O(records +
// live threads).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "margay/base/record.h"
#include "margay/node/outbox.h"
#include "margay/node/process_watch.h"
#include "margay/reader/ledger.h"
#include "margay/reader/state_sink.h"

namespace margay::reader {

// What the system knows of a process; start_time 0 where it is not there (any more).
struct Origin {
  std::string host, boot_id;
  std::uint64_t start_time = 0;
};

// Of one thread, by the system.
struct ThreadUse {
  bool asleep = false;         // neither on a CPU, nor ready for one, nor stopped
  std::uint64_t cpu_ns = 0;    // that it has had
  bool ready = false;          // on a CPU, or ready for one
  std::uint64_t ready_ns = 0;  // that it has waited for one, up to when it got it
};

class Streams final : public StateSink {
 public:
  struct Options {
    std::string kind;  // of the reader: "gstreamer"; part of a source's id
    std::size_t processes = 4096;
    std::size_t threads = 8192;           // streams of all processes
    std::size_t names = 448;              // states, marks and variables with a name of their own
    std::size_t records = 1 << 20;        // that wait for the next flush
    DurationNs beat = milliseconds(100);  // between two promises of an idle thread
    // Tells of a thread by pid and tid; nothing where it is not there. Empty: no thread is looked at.
    std::function<std::optional<ThreadUse>(std::int64_t, std::int64_t)> use = nullptr;
    // The same for a thread's name, asked once when its first records are sent: tracers keep the name a
    // thread had at its first event, which is often before it called itself. "": not there; the reader's word
    // counts.
    std::function<std::string(std::int64_t, std::int64_t)> thread_name = nullptr;
    // Where what a successor has to know is kept; the epoch is its. nullptr: a reader that takes over is
    // another source.
    Ledger* ledger = nullptr;
    bool watched = true;  // processes run on this host: whether they live, and what they use, is looked at
  };
  // Since the begin.
  struct Counts {
    std::uint64_t produced = 0;  // records, dropped ones too
    std::uint64_t dropped = 0;
    std::uint64_t left_out = 0;        // calls that spoke of a thread there was no room for
    std::uint64_t names_left_out = 0;  // that are "(other states)" at present
    std::uint64_t lost_events = 0;     // that lost() told of
  };
  // `outbox`, `watch` and `clock` outlive it. `origin` tells of a pid.
  Streams(Options options, node::Outbox& outbox, node::ProcessWatch& watch, const Clock& clock,
          std::function<Origin(std::int64_t)> origin);
  ~Streams() override;

  ProcessId process(std::int64_t pid, std::string_view command) override;
  ThreadId begin_thread(ProcessId process, std::int64_t tid, std::string_view name, TimeNs at) override;
  void rename_thread(ThreadId thread, std::string_view name) override;
  NameId name(std::string_view text, NameKind kind) override;
  void enter(ThreadId thread, NameId state, TimeNs at) override;
  void leave(ThreadId thread, NameId state, TimeNs at) override;
  void mark(ThreadId thread, NameId mark, TimeNs at) override;
  void variable(ThreadId thread, NameId variable, double value, TimeNs at) override;
  void lost(ThreadId thread, std::uint64_t events, TimeNs at) override;
  void end_thread(ThreadId thread, TimeNs at) override;
  void end_process(ProcessId process, TimeNs at) override;
  void cover(TimeNs until) override;

  // The records that wait for the next flush, and the outbox, have room.
  bool has_room() const { return waiting_ < options_.records && outbox_.has_room(); }
  // Hands what was told to the outbox, and samples of the processes; forgets processes whose goodbye the
  // collector has confirmed.
  void flush();
  // Processes that have ended, and have not been said to.
  struct Gone {
    ProcessId process;
    std::int64_t pid = 0;
    TimeNs looked{};  // it had ended by then
  };
  std::vector<Gone> gone() const;
  // Every process ends at its threads' last record.
  void finish();
  // All goodbyes are confirmed.
  bool done() const { return processes_.empty(); }
  const Counts& counts() const { return counts_; }

 private:
  struct Thread;
  struct Process;
  Thread* find(ThreadId thread);
  std::uint16_t index_of(Process& process, NameId name);
  TimeNs later(Thread& thread, TimeNs at);
  void record(Thread& thread, EventRecord r);
  bool tell_gap(Thread& thread, TimeNs at);
  void push(Thread& thread, const EventRecord& r);
  void say_hello(Process& process);
  void restore();
  void restore_thread(Process& process, ProcessId id, Ledger::Thread& kept);
  void settle();
  void settle(Thread& thread, TimeNs at);
  void keep(Thread& thread);
  std::optional<ThreadId> claim(Process& process, std::int64_t tid);
  void look_at_threads(TimeNs now, wire::NodeSample* sample);
  void stand_in(Process& process, Thread& thread, const ThreadUse& use, TimeNs now);
  static bool tell_use(Thread& thread, const ThreadUse& use, TimeNs now, wire::ThreadSample* told);
  NameId own_name(std::optional<NameId>& kept, const char* text, NameKind kind);
  void wake(Thread& thread, TimeNs at);
  void ask_for_name(const Process& process, Thread& thread);
  void send(Process& process, Thread& thread, TimeNs now);
  void send_records(Process& process, Thread& thread);
  void say_goodbye(Process& process);

  Options options_;
  node::Outbox& outbox_;
  node::ProcessWatch& watch_;
  const Clock& clock_;
  std::function<Origin(std::int64_t)> origin_;
  TimeNs begun_;  // one that takes over without a ledger is another source: it numbers its records anew
  std::uint32_t epoch_ = 1;
  std::size_t unsettled_ = 0;  // threads that were restored and have not been told of since
  struct Name {
    std::string text;
    NameKind kind;
    bool own = false;
    DurationNs spent{};
  };
  void give_name(Name& name);
  std::vector<Name> names_;
  std::size_t named_ = 0;
  std::unordered_map<std::string, NameId> name_ids_;
  std::map<std::uint32_t, std::unique_ptr<Process>> processes_;  // by ProcessId
  std::map<std::int64_t, ProcessId> live_;                       // by pid
  std::uint32_t next_process_ = 0;
  std::vector<std::unique_ptr<Thread>> threads_;  // by ThreadId; null: of a process that is forgotten
  std::vector<std::uint32_t> free_;               // of those
  std::size_t thread_count_ = 0;
  std::size_t waiting_ = 0;  // records
  TimeNs covered_{};
  TimeNs looked_{};            // for sleepers
  std::size_t look_next_ = 0;  // of threads_
  std::optional<NameId> asleep_, ready_;
  std::string columns_;
  Counts counts_;
};

// Of /proc: what a thread does. Cost: two files, 20 us.
std::optional<ThreadUse> use_of_thread(std::int64_t pid, std::int64_t tid);
// Of /proc: a thread's name, "" where it is not there. Cost: a file, 10 us.
std::string name_of_thread(std::int64_t pid, std::int64_t tid);
// Of /proc: whether `pid` is there, and since when; the host's name and boot id.
Origin origin_of(std::int64_t pid);

}  // namespace margay::reader
