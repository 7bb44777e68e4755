// The program around a reader of another tool's events: its flags, signals, log and ledger, the connection to
// the collector, the loop, the goodbyes. A reader derives from Reader, and its main() is one call of
// run_program().
//
//   each turn   read() -> ended() -> account() -> what was told goes to the collector -> wait()
//   the end     stop() says that it is time; finish() that all is told; then the goodbyes are waited for, for
//   as long
//               as they are confirmed
//
// It speaks the same wire as the node agent: the daemon need not know it. What the collector has not
// confirmed is kept, up to --memory. One that is started again goes on as the same sources (ledger.h).
//
// Thread safety: none; one thread calls everything. Ownership: `streams` is the program's, and there until
// the reader is asked nothing more. Cost: of the loop, what the reader asks for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/reader/streams.h"
#include "margay/wire/ingest.pb.h"

namespace CLI {
class App;
}

namespace margay::reader {

// What is known once the flags are parsed.
struct Setup {
  std::function<Origin(std::int64_t)> origin = origin_of;
  Streams::Options streams;  // its kind and ledger are set by the program
  bool goes_on = true;       // one that takes over from us when we die goes on as the same sources
};

class Reader {
 public:
  virtual ~Reader() = default;

  // Flags of its own, beside those that every reader has.
  virtual void add_flags(CLI::App&) {}
  // Errors end the program, with their sentence.
  virtual Result<Setup> setup() { return Setup(); }
  // Once, before the first turn. `streams` and `clock` outlive the last call.
  virtual Status begin(Streams& streams, const Clock& clock) = 0;

  // Tells the streams what has come, up to some bound: the collector must not wait for it. True: there is
  // more. Errors end the program.
  virtual Result<bool> read() = 0;
  // Processes that had ended before read() was called, told each turn until end_process() is called for them.
  virtual void ended(const std::vector<Streams::Gone>& gone, bool more);
  // Whether it is time to end. `run_over`: the collector says so; `owner_gone`: whoever started us has ended.
  // Signals end it without asking.
  virtual bool stop(bool run_over, bool owner_gone) { return run_over || (owner_gone && streams_->done()); }
  // It is time to end, and read() was called since: whether all that will come has been told.
  virtual bool finish(bool more) { return !more; }
  // Every event that came is in one of its terms.
  virtual void account(wire::ReaderAccount& account) const = 0;
  // The same for the log, at the end.
  virtual void say_account() const {}
  // Until there may be something to read, and not for long: the collector is heard between two turns.
  virtual void wait(bool more);

 protected:
  Streams& streams() const { return *streams_; }

 private:
  friend class Loop;
  Streams* streams_ = nullptr;
};

struct Program {
  std::string name;            // "margay-gst"
  std::string about;           // the begin of its page of help
  std::string kind;            // of its sources, and of its account: "gstreamer"; letters, digits, '-'
  bool interrupt_ends = true;  // SIGINT does; false: it is left to whoever started us
};

// main(): the exit code. What goes wrong is said on stderr.
int run_program(const Program& program, Reader& reader, int argc, char** argv);

}  // namespace margay::reader
