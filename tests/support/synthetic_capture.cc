#include "support/synthetic_capture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "margay/wire/columns.h"
#include "margay/wire/ingest.pb.h"

namespace margay::test {
namespace {

constexpr std::array<std::pair<const char*, wire::StateFamily>, 7> kNames = {
    {{"Compute", wire::FAMILY_COMPUTE},
     {"MPI_Init", wire::FAMILY_START_END},
     {"MPI_Recv", wire::FAMILY_POINT_TO_POINT},
     {"MPI_Send", wire::FAMILY_POINT_TO_POINT},
     {"MPI_Wait", wire::FAMILY_WAIT},
     {"MPI_Allreduce", wire::FAMILY_COLLECTIVE},
     {"MPI_Finalize", wire::FAMILY_START_END}}};
enum : std::uint16_t { kInit = 1, kRecv = 2, kSend = 3, kWait = 4, kAllreduce = 5, kFinalize = 6 };

// One iteration of the solver: sweeps of receiving from one side and sending to the other.
constexpr std::array<std::uint16_t, 12> kIteration = {kRecv, kSend, kRecv, kSend, kWait, kRecv,
                                                      kSend, kRecv, kSend, kWait, kRecv, kSend};
constexpr std::uint32_t kIterationsToAllreduce = 4;

constexpr std::int64_t kWindowNs = 250'000'000;
constexpr std::int64_t kWallNs = 1'700'000'000'000'000'000;
constexpr std::size_t kRecordsABatch = 16384;

// Shares of time: compute, then by state.
using Mix = std::array<double, kNames.size()>;
constexpr Mix kQuick = {0.62, 0, 0.16, 0.12, 0.06, 0.04, 0};     // graphene
constexpr Mix kSlow = {0.34, 0, 0.20, 0.18, 0.22, 0.06, 0};      // graphite, on the average
constexpr Mix kThird = {0.50, 0, 0.24, 0.08, 0.12, 0.06, 0};     // griffon
constexpr Mix kRuptured = {0.08, 0, 0.06, 0.20, 0.62, 0.04, 0};  // and while others take its network

// Each quarter of the time and each process has other random numbers of its own, whatever the windows.
struct Process {
  std::uint32_t rank = 0;
  std::uint32_t cluster = 0;
  std::int64_t t = 0;      // time of the next record
  std::uint64_t sent = 0;  // records
  std::uint64_t quota = 0;
  std::uint64_t call = 0;
  std::int64_t leave_at = 0;  // of the call that is open
  std::uint16_t open = 0;
  Mix own{};
  std::int64_t own_until = 0;
  std::mt19937_64 random;
};

struct Host {
  std::string name;
  std::uint32_t cluster = 0;
  std::int64_t monotonic = 0;  // host time at the begin
  std::uint64_t sequence = 0;
  std::vector<Process> processes;
};

double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

const Mix& mix_of(Process& p, std::int64_t t) {
  if (p.cluster == 0) return kQuick;
  if (p.cluster == 2)
    return t >= SyntheticCapture::kRuptureBegin.value && t < SyntheticCapture::kRuptureEnd.value ? kRuptured
                                                                                                 : kThird;
  if (t >= p.own_until) {
    // Long sends and waits without a pattern: for some seconds, other ones in each process.
    p.own_until = t + 1'500'000'000 + static_cast<std::int64_t>(p.random() % 4'000'000'000);
    double sum = 0;
    for (std::size_t x = 0; x < kSlow.size(); ++x) {
      p.own[x] = kSlow[x] * std::exp(2.2 * (uniform(p.random) - 0.5));
      sum += p.own[x];
    }
    for (double& share : p.own) share /= sum;
  }
  return p.own;
}

// Records of [p.t, until).
void go_on(Process& p, std::int64_t until, double period_ns, std::vector<EventRecord>& out) {
  const auto record = [&](std::uint8_t kind, std::uint16_t state) {
    const bool talks = state == kRecv || state == kSend;
    const std::int32_t peer = talks ? static_cast<std::int32_t>((p.call * 7 + p.rank) % 26) : MARGAY_NO_PEER;
    out.push_back({p.t,
                   talks                 ? 200u
                   : state == kAllreduce ? 40u
                                         : 0u,
                   peer, MARGAY_NO_TAG, 0, state, kind, 0});
    ++p.sent;
  };
  while (p.t < until && p.sent < p.quota) {
    if (p.open != 0) {
      record(MARGAY_LEAVE, p.open);
      p.open = 0;
      const Mix& mix = mix_of(p, p.t);
      p.t += 1 + static_cast<std::int64_t>(period_ns * mix[0] * (0.5 + uniform(p.random)));
      continue;
    }
    // Two calls are two records each: the last two are those of MPI_Finalize.
    std::uint16_t state = kInit;
    std::int64_t lasts =
        SyntheticCapture::kStartUp.value - p.t - static_cast<std::int64_t>(200e6 * uniform(p.random));
    if (p.sent > 0 && p.sent + 2 >= p.quota) {
      state = kFinalize;
      lasts = std::max<std::int64_t>(SyntheticCapture::kEnd.value - p.t, 1000);
    } else if (p.sent > 0) {
      const std::uint64_t at = p.call % (kIteration.size() * kIterationsToAllreduce + 1);
      state = at == kIteration.size() * kIterationsToAllreduce ? std::uint16_t{kAllreduce}
                                                               : kIteration[at % kIteration.size()];
      // How often each comes in a round, so that shares of time are those of the mix.
      const double often = state == kAllreduce ? 1 : (state == kWait ? 2.0 : 5.0) * kIterationsToAllreduce;
      const double round = kIteration.size() * kIterationsToAllreduce + 1.0;
      lasts = static_cast<std::int64_t>(period_ns * mix_of(p, p.t)[state] * round / often *
                                        (0.5 + uniform(p.random)));
      ++p.call;
    }
    record(MARGAY_ENTER, state);
    p.open = state;
    p.t += std::max<std::int64_t>(1, lasts);
  }
}

Status put(const std::function<Status(std::string_view)>& sink, std::int64_t arrival, const std::string& from,
           const wire::ToCollector& message) {
  std::string body;
  message.SerializeToString(&body);
  const auto from_size = static_cast<std::uint32_t>(from.size()),
             size = static_cast<std::uint32_t>(body.size());
  std::string head(16, '\0');
  std::copy_n(reinterpret_cast<const char*>(&arrival), 8, head.data());
  std::copy_n(reinterpret_cast<const char*>(&from_size), 4, head.data() + 8);
  std::copy_n(reinterpret_cast<const char*>(&size), 4, head.data() + 12);
  if (Status ok = sink(head + from); !ok) return ok;
  return sink(body);
}

std::uint64_t source_id(std::uint32_t rank) {
  return 0x9e3779b97f4a7c15ull * (rank + 1);
}

wire::ToCollector message_of(Host& host) {
  wire::ToCollector m;
  m.set_version(wire::kWireVersion);
  m.set_run("synthetic-lu");
  m.set_agent(std::hash<std::string>{}(host.name));
  m.set_sequence(++host.sequence);
  return m;
}

std::vector<Host> hosts_of(const SyntheticCapture& what) {
  std::vector<Host> hosts;
  std::mt19937_64 random(what.seed);
  std::uint32_t rank = 0;
  for (std::uint32_t c = 0; c < 3; ++c) {
    const auto& cluster = SyntheticCapture::kClusters[c];
    const std::uint32_t until =
        c == 2 ? what.processes
               : rank + std::max(1u, static_cast<std::uint32_t>(cluster.part * what.processes));
    for (std::uint32_t n = 1; rank < until; ++n) {
      Host& host = hosts.emplace_back();
      host.name = std::string(cluster.name) + "-" + std::to_string(n);
      host.cluster = c;
      host.monotonic = 1'000'000'000'000 + static_cast<std::int64_t>(random() % 1'000'000'000'000);
      for (std::uint32_t core = 0; core < cluster.cores && rank < until; ++core, ++rank) {
        Process& p = host.processes.emplace_back();
        p.rank = rank;
        p.cluster = c;
        p.t = static_cast<std::int64_t>(random() % 50'000'000);
        p.quota = (what.events / what.processes + (rank < what.events % what.processes ? 1 : 0));
        p.random.seed(random());
      }
    }
  }
  return hosts;
}

}  // namespace

Status SyntheticCapture::write(const std::function<Status(std::string_view)>& sink) const {
  if (processes < 3 || events / processes < 16)
    return fail(ErrorCode::kInvalidArgument, "at least 3 processes, and 16 events for each of them");
  std::vector<Host> hosts = hosts_of(*this);
  const std::int64_t begin = hosts.front().monotonic;  // the collector's clock is that of the first host
  for (Host& host : hosts)
    for (const Process& p : host.processes) {
      wire::ToCollector m = message_of(host);
      wire::Hello& hello = *m.mutable_hello();
      hello.set_source(source_id(p.rank));
      auto& a = *hello.mutable_attributes();
      a["site"] = "nancy";
      a["cluster"] = kClusters[host.cluster].name;
      a["host"] = host.name;
      a["boot_id"] = "boot-" + host.name;
      a["rank"] = std::to_string(p.rank);
      for (const auto& [name, family] : kNames) {
        auto& n = *hello.add_names();
        n.set_name(name);
        n.set_family(family);
      }
      hello.mutable_clock()->set_monotonic_ns(host.monotonic);
      hello.mutable_clock()->set_realtime_ns(kWallNs);
      if (Status ok = put(sink, begin, host.name, m); !ok) return ok;
    }

  // What a call and the computing before it take together, so that all of them fill the time.
  const double calls = static_cast<double>(events) / processes / 2 - 2;
  const double period = static_cast<double>((kEnd - kStartUp).value) / calls;
  std::vector<EventRecord> records;
  for (std::int64_t window = 0;; ++window) {
    const std::int64_t until = (window + 1) * kWindowNs;
    bool more = false;
    for (Host& host : hosts) {
      wire::ToCollector m = message_of(host);
      for (Process& p : host.processes) {
        records.clear();
        const std::uint64_t first = p.sent;
        go_on(p, until, period, records);
        more = more || p.sent < p.quota;
        for (EventRecord& r : records) r.time_ns += host.monotonic;
        for (std::size_t i = 0; i < records.size(); i += kRecordsABatch) {
          const auto piece = std::span(records).subspan(i, std::min(kRecordsABatch, records.size() - i));
          wire::EventBatch& b = *m.add_batches();
          b.set_source(source_id(p.rank));
          b.set_first(first + i);
          b.set_count(static_cast<std::uint32_t>(piece.size()));
          b.set_covered_until_ns(host.monotonic + std::min(until, p.t));
          b.set_produced(p.sent);
          b.set_recorded(p.sent);
          wire::encode_columns(piece, *b.mutable_columns());
        }
      }
      if (m.batches_size() > 0)
        if (Status ok = put(sink, begin + until, host.name, m); !ok) return ok;
    }
    if (!more) return {};
  }
}

std::string SyntheticCapture::bytes() const {
  std::string all;
  const Status ok = write([&](std::string_view piece) -> Status {
    all += piece;
    return {};
  });
  return ok ? all : std::string();
}

}  // namespace margay::test
