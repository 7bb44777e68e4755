#include "margay/reader/program.h"

#include <unistd.h>

#include <google/protobuf/stubs/logging.h>
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <random>

#include "margay/log/log.h"
#include "margay/node/sender_flags.h"
#include "margay/node/uplink.h"
#include "margay/process/end_signals.h"
#include "margay/text/help_page.h"
#include "margay/transport/local_user.h"

namespace margay::reader {
namespace {

constexpr DurationNs kGoodbyePatience = seconds(5);  // without progress
constexpr DurationNs kAccountPeriod = milliseconds(100);
constexpr useconds_t kPauseUs = 20'000;

int complain(const std::string& sentence) {
  log::error(sentence);
  return 1;
}

node::OutboxOptions outbox_options(const node::SenderFlags& s) {
  node::OutboxOptions options;
  options.run = s.run;
  options.memory_bytes = s.memory;
  std::random_device random;
  options.agent = (std::uint64_t{random()} << 32) | random();
  return options;
}

node::ProcessWatch::Options watch_options(const node::SenderFlags& s) {
  node::ProcessWatch::Options options;
  options.host = origin_of(getpid()).host;
  options.owner_pid = s.owner;
  return options;
}

}  // namespace

class Loop {
 public:
  Loop(const Program& program, Reader& reader, const node::SenderFlags& settings, const Setup& setup,
       Ledger* ledger)
      : reader_(reader),
        outbox_(outbox_options(settings)),
        watch_(watch_options(settings), clock_),
        streams_(options_of(program, setup, ledger), outbox_, watch_, clock_, setup.origin) {
    if (settings.owner > 0) owner_.emplace(settings.owner, origin_of(settings.owner).start_time);
    reader_.streams_ = &streams_;
  }

  int operator()(node::Uplink& uplink) {
    if (auto ok = uplink.open(); !ok) return complain(ok.error().message);
    if (auto ok = reader_.begin(streams_, clock_); !ok) return complain(ok.error().message);
    for (;;) {
      const auto gone = streams_.gone();  // known before what they left is read
      const auto more = reader_.read();
      if (!more) return complain(more.error().message);
      reader_.ended(gone, *more);
      const bool finished = time_to_end() && reader_.finish(*more);
      if (finished) streams_.finish();
      put_account(finished);
      streams_.flush();
      uplink.send(outbox_);
      while (uplink.receive(outbox_, std::chrono::milliseconds(0))) {
      }
      log::tick();
      if (finished && over()) break;
      reader_.wait(*more);
    }
    reader_.say_account();
    return 0;
  }

 private:
  static Streams::Options options_of(const Program& program, const Setup& setup, Ledger* ledger) {
    Streams::Options options = setup.streams;
    options.kind = program.kind;
    options.ledger = ledger;
    return options;
  }
  bool time_to_end() {
    const bool owner_gone = owner_ && owner_->look().presence == node::Presence::kGone;
    return process::asked_to_end() || reader_.stop(outbox_.finish(), owner_gone);
  }
  // Everything is said and confirmed, or nobody is left to hear it.
  bool over() {
    const TimeNs now = clock_.monotonic();
    if (moved_ == TimeNs() || outbox_.bytes() != left_) {
      moved_ = now;
      left_ = outbox_.bytes();
    }
    return streams_.done() || now - moved_ >= kGoodbyePatience;
  }
  void put_account(bool now) {
    const TimeNs at = clock_.monotonic();
    if (!now && at - account_put_ < kAccountPeriod) return;
    account_put_ = at;
    wire::ReaderAccount account;
    reader_.account(account);
    outbox_.put_account(account);
  }

  Reader& reader_;
  SystemClock clock_;
  node::Outbox outbox_;
  node::ProcessWatch watch_;
  Streams streams_;
  std::optional<node::ProcessProbe> owner_;
  TimeNs moved_{}, account_put_{};
  std::size_t left_ = 0;
};

void Reader::ended(const std::vector<Streams::Gone>& gone, bool more) {
  if (more) return;
  for (const Streams::Gone& g : gone) streams_->end_process(g.process, g.looked);
}

void Reader::wait(bool more) {
  if (!more) usleep(kPauseUs);
}

namespace {

int run(const Program& program, Reader& reader, const node::SenderFlags& s) {
  const auto setup = reader.setup();
  if (!setup) return complain(setup.error().message);
  const SystemClock clock;
  zmq::context_t context(1);
  const transport::RunDirectory place{s.run_dir};
  if (auto ok = transport::check_run_directory(place); !ok) return complain(ok.error().message);
  node::Uplink uplink(context, clock, s.endpoint(), s.key);
  std::unique_ptr<Ledger> ledger;
  if (setup->goes_on) {
    if (auto opened = Ledger::open(place.path + "/" + program.kind + ".ledger"))
      ledger = std::move(*opened);
    else
      log::warning(opened.error().message + ": a reader that takes over will be another source");
  }
  const auto loop = std::make_unique<Loop>(program, reader, s, *setup, ledger.get());
  return (*loop)(uplink);
}

}  // namespace

int run_program(const Program& program, Reader& reader, int argc, char** argv) try {
  google::protobuf::SetLogHandler(nullptr);
  node::SenderFlags s;
  CLI::App app{program.about, program.name};
  text::use_help_page(app);
  reader.add_flags(app);
  node::add_sender_flags(app, s, "end when this process and the programs that are read are gone");
  CLI11_PARSE(app, argc, argv);
  log::start({.program = program.name});
  process::take_end_signals(program.interrupt_ends);
  return run(program, reader, s);
} catch (const std::exception& e) {
  return complain(e.what());
}

}  // namespace margay::reader
