// A load for margayd: N processes that do not exist, each calling MPI_Send and MPI_Recv at a steady rate,
// spoken for by a real node agent's Outbox over the run's real socket.
//
//   load_generator --run-dir DIR --run NAME [--rate EVENTS/S] [--sources N] [--seconds S] [--memory MIB]
//
// Like a probe it never waits: records are due at their time and numbered by what is due. What the outbox has
// no room for stays in a ring (131,072 records a source, as the probe's); what the ring has no room for is
// dropped, counted, and a gap record says so. Every second, and at the end, it prints its own account as a
// line of JSON:
//   {"t": s, "produced": N, "dropped": N, "recorded": N, "waiting": bytes, "behind_s": s, "sources":
//   [[produced, dropped], ...]}
// ("sources" at the end only, in the order of ranks). Ends after --seconds or SIGTERM, when all goodbyes are
// confirmed. Exit code: 0; 1 when the collector did not confirm within 120 s; 2 for wrong arguments.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "margay/base/record.h"
#include "margay/base/time.h"
#include "margay/node/outbox.h"
#include "margay/transport/rundir.h"
#include "margay/transport/transport.h"
#include "margay/wire/columns.h"

namespace margay {
namespace {

volatile std::sig_atomic_t g_terminate = 0;
constexpr std::uint64_t kRingRecords = 131'072;
constexpr std::size_t kBatchRecords = 8192;
constexpr DurationNs kPeriod = milliseconds(20);
constexpr DurationNs kGoodbyePatience = seconds(120);
constexpr std::uint64_t kFirstSource = 0x10ad0000;
enum : std::uint16_t { kCompute, kSend, kRecv };

// One process: record k is due at begin + k * step, whatever happens. Even ones enter a function, odd ones
// leave it.
struct Source {
  std::uint64_t id = 0;
  std::uint64_t due = 0;  // places in the sequence that time has reached
  std::uint64_t at = 0;   // of them, those that were produced (into the ring, or dropped) and taken or not
  std::uint64_t dropped = 0;
  std::uint64_t told = 0;   // of `dropped`, those that a gap record has told
  std::uint64_t first = 0;  // ordinal of the next record sent
  std::uint64_t gaps = 0;
};

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

class Load {
 public:
  Load(std::uint64_t rate, unsigned sources, node::OutboxOptions options, const Clock& clock)
      : outbox_(std::move(options)), clock_(clock), begin_(clock.monotonic()) {
    step_ns_ = 1e9 * sources / static_cast<double>(rate);
    for (unsigned i = 0; i < sources; ++i) {
      Source& s = sources_.emplace_back();
      s.id = kFirstSource + i;
      say_hello(s, i, sources);
    }
  }

  void produce(TimeNs now) {
    const auto due = static_cast<std::uint64_t>(static_cast<double>((now - begin_).value) / step_ns_);
    // Round about, one batch each, so that no source starves while there is little room.
    for (bool any = true; any;) {
      any = false;
      for (Source& s : sources_) {
        s.due = due;
        drop_what_the_ring_cannot_hold(s);
        if (!outbox_.has_room() || s.at >= s.due) continue;
        send(s);
        any = s.at < s.due || any;
      }
    }
    for (Source& s : sources_)
      if (s.at >= s.due) beat(s, now);
  }

  void end(TimeNs now) {
    for (Source& s : sources_) {
      wire::Goodbye bye;
      bye.set_source(s.id);
      bye.set_epoch(1);
      bye.set_reason(wire::Goodbye::FINALIZED);
      bye.set_end_ns(now.value);
      auto* total = bye.add_streams();
      total->set_produced(produced(s));
      total->set_dropped(s.dropped);
      total->set_recorded(s.first);
      outbox_.put_goodbye(bye);
    }
  }
  bool drained() const {
    return std::all_of(sources_.begin(), sources_.end(), [](const Source& s) { return s.at >= s.due; });
  }
  bool confirmed() const {
    return std::all_of(sources_.begin(), sources_.end(),
                       [this](const Source& s) { return outbox_.goodbye_acked(s.id); });
  }

  void print(TimeNs now, bool last) const {
    nlohmann::ordered_json j;
    std::uint64_t all = 0, dropped = 0, recorded = 0, behind = 0;
    auto each = nlohmann::ordered_json::array();
    for (const Source& s : sources_) {
      all += produced(s);
      dropped += s.dropped;
      recorded += s.first;
      behind = std::max(behind, s.due - s.at);
      each.push_back({produced(s), s.dropped});
    }
    j["t"] = static_cast<double>((now - begin_).value) / 1e9;
    j["produced"] = all;
    j["dropped"] = dropped;
    j["recorded"] = recorded;
    j["waiting"] = outbox_.bytes();
    j["behind_s"] = static_cast<double>(behind) * step_ns_ / 1e9;
    j["resends"] = outbox_.resends();
    j["confirmed"] = confirmed();
    if (last) j["sources"] = std::move(each);
    std::puts(j.dump().c_str());
    std::fflush(stdout);
  }
  node::Outbox& outbox() { return outbox_; }

 private:
  // Records that tell of a gap are produced like others.
  static std::uint64_t produced(const Source& s) { return s.first + s.dropped; }
  std::int64_t time_of(std::uint64_t k) const {
    return begin_.value + static_cast<std::int64_t>(static_cast<double>(k) * step_ns_);
  }
  // Somewhere in its step, as no clock can foretell: or the archive would compress all of it away.
  std::int64_t shaken_time_of(const Source& s, std::uint64_t k) const {
    std::uint64_t h = (k ^ s.id << 32) + 0x9e3779b97f4a7c15ull;  // splitmix64
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ h >> 27) * 0x94d049bb133111ebull;
    h ^= h >> 31;
    return time_of(k) + static_cast<std::int64_t>(static_cast<double>(h >> 40) * step_ns_ / (1 << 24));
  }

  void say_hello(const Source& s, unsigned rank, unsigned size) {
    wire::Hello hello;
    hello.set_source(s.id);
    hello.set_epoch(1);
    auto& a = *hello.mutable_attributes();
    a["host"] = "loadhost";
    a["boot_id"] = boot_id();
    a["pid"] = std::to_string(1 + rank);
    a["rank"] = std::to_string(rank);
    a["world_size"] = std::to_string(size);
    a["command"] = "load_generator";
    const std::pair<const char*, wire::StateFamily> names[] = {{"Compute", wire::FAMILY_COMPUTE},
                                                               {"MPI_Send", wire::FAMILY_POINT_TO_POINT},
                                                               {"MPI_Recv", wire::FAMILY_POINT_TO_POINT}};
    for (const auto& [name, family] : names) {
      auto* n = hello.add_names();
      n->set_name(name);
      n->set_family(family);
    }
    hello.mutable_clock()->set_monotonic_ns(clock_.monotonic().value);
    hello.mutable_clock()->set_realtime_ns(clock_.realtime().value);
    outbox_.put_hello(hello);
  }

  // Whole calls only, so that what is left still nests.
  void drop_what_the_ring_cannot_hold(Source& s) const {
    if (s.due - s.at <= kRingRecords) return;
    // The newest are what a full ring has no room for; which ones go makes no difference to the account, and
    // the oldest are simpler. Half the ring at a time, so that gaps are few.
    std::uint64_t n = s.due - s.at - kRingRecords / 2;
    n += n & 1;
    s.dropped += n;
    s.at += n;
  }

  wire::EventBatch head(const Source& s) const {
    wire::EventBatch b;
    b.set_source(s.id);
    b.set_epoch(1);
    b.set_stream(0);
    b.set_first(s.first);
    b.set_produced(produced(s));
    b.set_dropped(s.dropped);
    b.set_recorded(s.first);
    return b;
  }

  void send(Source& s) {
    records_.clear();
    if (s.told < s.dropped) {
      EventRecord gap{};
      gap.time_ns = time_of(s.at);
      gap.bytes = s.dropped - s.told;
      gap.peer = MARGAY_NO_PEER;
      gap.tag = MARGAY_NO_TAG;
      gap.kind = MARGAY_GAP;
      records_.push_back(gap);
      s.told = s.dropped;
      EventRecord stack = gap;
      stack.bytes = 0;
      stack.kind = MARGAY_STACK;
      stack.state = kCompute;
      if ((s.at & 1) != 0) stack.state = call_at(s.at);
      records_.push_back(stack);
    }
    while (s.at < s.due && records_.size() < kBatchRecords) {
      EventRecord r{};
      r.time_ns = shaken_time_of(s, s.at);
      r.state = call_at(s.at);
      r.kind = (s.at & 1) == 0 ? MARGAY_ENTER : MARGAY_LEAVE;
      r.peer = static_cast<std::int32_t>((s.id + 1) & 63);
      r.bytes = 8u << (s.at / 4096 % 8);
      records_.push_back(r);
      ++s.at;
    }
    const std::uint64_t first = s.first;
    s.first += records_.size();
    wire::EventBatch b = head(s);
    b.set_first(first);
    b.set_count(static_cast<std::uint32_t>(records_.size()));
    b.set_covered_until_ns(time_of(s.at));
    wire::encode_columns(records_, *b.mutable_columns());
    outbox_.put_batch(std::move(b));
  }
  static std::uint16_t call_at(std::uint64_t k) { return (k / 2) % 3 == 0 ? kRecv : kSend; }

  void beat(const Source& s, TimeNs now) {
    wire::EventBatch b = head(s);
    b.set_covered_until_ns(std::min(now.value, time_of(s.at)));
    outbox_.put_heartbeat(b);
  }

  node::Outbox outbox_;
  const Clock& clock_;
  TimeNs begin_;
  double step_ns_ = 0;
  std::vector<Source> sources_;
  std::vector<EventRecord> records_;
};

int run(Load& load, const std::string& endpoint, double seconds_to_run, const Clock& clock) {
  zmq::context_t context(1);
  auto socket = transport::Socket::connect(context, zmq::socket_type::dealer, endpoint);
  if (!socket) {
    std::fprintf(stderr, "load_generator: %s\n", socket.error().message.c_str());
    return 1;
  }
  const TimeNs begin = clock.monotonic();
  const TimeNs end = begin + DurationNs(static_cast<std::int64_t>(seconds_to_run * 1e9));
  TimeNs next_line = begin + seconds(1);
  std::optional<TimeNs> ended;
  bool said = false;
  for (TimeNs next = begin;; next = std::max(next + kPeriod, clock.monotonic())) {
    const TimeNs now = clock.monotonic();
    if (!ended && (now >= end || g_terminate != 0)) ended = now;
    load.produce(ended.value_or(now));
    if (ended && !said && load.drained()) {
      load.end(*ended);
      said = true;
    }
    load.outbox().flush(now, [&](const wire::ToCollector& m) { return socket->try_send(m); });
    if (load.outbox().take_reconnect()) {
      auto again = transport::Socket::connect(context, zmq::socket_type::dealer, endpoint);
      if (again) socket = std::move(again);
    }
    if (now >= next_line) {
      load.print(now, false);
      next_line = now + seconds(1);
    }
    if (said && load.confirmed()) {
      load.print(clock.monotonic(), true);
      return 0;
    }
    if (ended && now - *ended > kGoodbyePatience) {
      load.print(now, true);
      return 1;
    }
    for (;;) {
      const DurationNs left = next + kPeriod - clock.monotonic();
      if (left.value <= 0) break;
      transport::Socket* const one = &*socket;
      if (!transport::wait_readable({&one, 1}, std::chrono::milliseconds(left.value / 1'000'000 + 1))) break;
      while (const auto frame = socket->try_receive()) {
        wire::ToAgent reply;
        if (reply.ParseFromString(frame->body)) load.outbox().on_reply_untrusted(reply, clock.monotonic());
      }
    }
  }
}

}  // namespace
}  // namespace margay

int main(int argc, char** argv) {
  using namespace margay;
  CLI::App app{"A synthetic load for margayd."};
  std::string dir, name;
  std::uint64_t rate = 1'000'000, memory = 64;
  unsigned sources = 16;
  double seconds_to_run = 60;
  app.add_option("--run-dir", dir, "the run's directory")->required();
  app.add_option("--run", name, "the run's name")->required();
  app.add_option("--rate", rate, "events a second, over all sources")->check(CLI::Range(1, 100'000'000));
  app.add_option("--sources", sources, "processes")->check(CLI::Range(1, 4096));
  app.add_option("--seconds", seconds_to_run, "how long");
  app.add_option("--memory", memory, "MiB of what is not confirmed, as --memory of margay-node");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  for (const int s : {SIGTERM, SIGINT}) std::signal(s, [](int) { g_terminate = 1; });
  std::signal(SIGPIPE, SIG_IGN);
  const SystemClock clock;
  std::random_device random;
  node::OutboxOptions options;
  options.run = name;
  options.agent = (std::uint64_t{random()} << 32) | random();
  options.memory_bytes = memory << 20;
  Load load(rate, sources, options, clock);
  return run(load, transport::RunDirectory{dir}.ingest_endpoint(), seconds_to_run, clock);
}
