#include "mpi.h"

namespace margay::bench {
namespace {

constexpr const char* kNames[kRankStates] = {"compute",   "MPI_Init",     "MPI_Send",      "MPI_Recv",
                                             "MPI_Wait",  "MPI_Waitall",  "MPI_Allreduce", "MPI_Barrier",
                                             "MPI_Bcast", "MPI_Alltoall", "write",         "wait_data",
                                             "forward",   "backward",     "optimizer",     "validate"};

}  // namespace

Mpi::Mpi(const Machines& of, double end_s, double slice_s, Random& random)
    : world(of.ranks, end_s),
      shape(of),
      bytes_per_s_(log_uniform(1e9, 12e9, random)),
      latency_(log_uniform(2e-6, 50e-6, random)),
      memory_bytes_per_s_(random.uniform(5e9, 15e9)),
      step_noise_(random.uniform(0.01, 0.04)),
      boxes_(of.ranks),
      meeting_(&world) {
  const double lasts = random.uniform(0.005, 0.03);
  const std::uint64_t seed = random.below(1u << 30);
  for (std::uint32_t r = 0; r < of.ranks; ++r) {
    cores_.emplace_back(&world, r);
    chances_.emplace_back(seed + r);
    lasting_.emplace_back(lasts, std::max(1.0, 4 * slice_s));
  }
  for (std::uint32_t m = 0; m < of.machines; ++m)
    cards_.push_back({Wire(bytes_per_s_, 0), Wire(bytes_per_s_, latency_)});
}

double Mpi::noisy(std::uint32_t rank, double seconds) {
  Random& random = chances_[rank];
  return seconds * random.jitter(step_noise_) * lasting_[rank].at(world.now(), random);
}

Process Mpi::begin(std::uint32_t rank, double setup_s) {
  world.enter(rank, kInit);
  co_await world.sleep(setup_s * chances_[rank].uniform(0.2, 0.4));
  co_await collective(rank, 0, kInit);
  co_await compute(rank, setup_s * chances_[rank].jitter(0.05));
}

Mailbox& Mpi::box(std::uint32_t from, std::uint32_t to) {
  auto& at = boxes_[to][from];
  if (at == nullptr) at = std::make_unique<Mailbox>(&world);
  return *at;
}

double Mpi::carry(std::uint32_t from, std::uint32_t to, double bytes) {
  const std::uint32_t a = shape.machine(from), b = shape.machine(to);
  if (a == b) return world.now() + 1e-6 + bytes / memory_bytes_per_s_;
  double t = cards_[a].out.carry(world.now(), bytes, {from, to});
  if (const auto link = links_.find(std::minmax(a, b)); link != links_.end())
    t = (a < b ? link->second->there : link->second->back).carry(t, bytes, {from, to});
  // What is received while it is sent takes no second time, where nothing else is in the way.
  return std::max(t, cards_[b].in.carry(t - bytes / bytes_per_s_, bytes, {from, to}));
}

double Mpi::isend(std::uint32_t from, std::uint32_t to, double bytes, std::uint64_t what) {
  const double t = carry(from, to, bytes);
  box(from, to).put(what, t);
  return t;
}

Process Mpi::send(std::uint32_t from, std::uint32_t to, double bytes, std::uint64_t what) {
  world.enter(from, kSend);
  const bool eager = bytes <= kEager;
  if (!eager) co_await box(from, to).posted();
  const double arrives = isend(from, to, bytes, what);
  co_await world.until(eager ? world.now() + 1e-6 + bytes / memory_bytes_per_s_ : arrives);
  co_await notice(from);
}

Process Mpi::recv(std::uint32_t from, std::uint32_t to, std::uint64_t* what) {
  world.enter(to, kRecv);
  Mailbox& b = box(from, to);
  b.post();
  const std::uint64_t got = co_await b.take();
  if (what != nullptr) *what = got;
  co_await notice(to);
}

Process Mpi::waitall(std::uint32_t rank, const std::vector<std::uint32_t>* from) {
  world.enter(rank, kWaitall);
  for (const std::uint32_t f : *from) co_await box(f, rank).take();
  co_await notice(rank);
}

Process Mpi::collective(std::uint32_t rank, double bytes, std::uint16_t state) {
  world.enter(rank, state);
  if (++arrived_ < ranks()) {
    co_await meeting_.wait();
  } else {
    arrived_ = 0;
    const double rounds = 2 * std::ceil(std::log2(std::max(2u, ranks())));
    double t = world.now() + rounds * latency_ + 2 * bytes / bytes_per_s_;
    for (Wire* const w : hurt_) t = std::max(t, w->carry(world.now(), bytes + 64, {}));
    meeting_.open(t);
    co_await world.until(t);
  }
  co_await notice(rank);
}

void Mpi::slow_link(std::uint32_t a, std::uint32_t b, Fault* fault) {
  auto& link = links_[std::minmax(a, b)];
  if (link == nullptr) {
    link = std::make_unique<Cable>(Cable{Wire(bytes_per_s_, 0), Wire(bytes_per_s_, 0)});
    hurt_.push_back(&link->there);
    hurt_.push_back(&link->back);
  }
  link->there.slow(fault);
  link->back.slow(fault);
}

void Mpi::slow_card(std::uint32_t machine, Fault* fault) {
  Card& card = cards_[machine];
  card.out.slow(fault);
  card.in.slow(fault);
  hurt_.push_back(&card.out);
}

Recording recording_of(const Mpi& mpi, const Plan& plan) {
  Recording out;
  out.slice_s = plan.slice_s, out.end_s = plan.end_s;
  out.levels = mpi.shape.levels, out.paths = mpi.shape.paths;
  out.changes = mpi.world.changes();
  out.faults = plan.faults;
  std::vector<std::uint16_t> number(kRankStates, kRankStates);
  for (auto& of : out.changes)
    for (Change& c : of) {
      if (number[c.state] == kRankStates) {
        number[c.state] = static_cast<std::uint16_t>(out.states.size());
        out.states.emplace_back(kNames[c.state]);
      }
      c.state = number[c.state];
    }
  return out;
}

}  // namespace margay::bench
