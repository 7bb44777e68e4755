// Message passing between ranks on machines: cores with noise, network cards, eager and rendezvous sends,
// collectives. What programs of ranks are made of.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "chance.h"
#include "plan.h"
#include "world.h"

namespace margay::bench {

// States of a rank. What no rank was in is left out of the recording.
enum RankState : std::uint16_t {
  kComputing,
  kInit,
  kSend,
  kRecv,
  kWait,
  kWaitall,
  kAllreduce,
  kBarrier,
  kBcast,
  kAlltoall,
  kWrite,
  kWaitData,
  kForward,
  kBackward,
  kOptimizer,
  kValidate,
  kRankStates
};

class Mpi {
 public:
  // Cards of 1 to 12 GB/s, latencies of 2 to 50 us, 1 to 4 % of noise from step to step, 0.5 to 3 % that
  // lasts for seconds. `random` is of the case; each rank draws from its own.
  Mpi(const Machines& shape, double end_s, double slice_s, Random& random);
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  World world;
  const Machines shape;
  std::uint32_t ranks() const { return shape.ranks; }
  Core& core(std::uint32_t rank) { return cores_[rank]; }
  Random& chance(std::uint32_t rank) { return chances_[rank]; }
  double bytes_per_s() const { return bytes_per_s_; }

  // How long a piece of work takes this time on a core at its nominal speed, noise included.
  double noisy(std::uint32_t rank, double seconds);
  // The rank computes until then.
  World::Until compute(std::uint32_t rank, double work) { return busy(rank, work, kComputing); }
  // It is in another state meanwhile, and needs its core for it.
  World::Until busy(std::uint32_t rank, double work, std::uint16_t state) {
    world.enter(rank, state);
    return world.until(cores_[rank].run(work));
  }
  // MPI_Init, and setting up.
  Process begin(std::uint32_t rank, double setup_s);

  // When it arrives that is sent now.
  double carry(std::uint32_t from, std::uint32_t to, double bytes);
  // Nobody waits: a copy is sent. Tells when it has arrived.
  double isend(std::uint32_t from, std::uint32_t to, double bytes, std::uint64_t what = 0);
  // What is beyond the eager limit waits until it is received.
  Process send(std::uint32_t from, std::uint32_t to, double bytes, std::uint64_t what = 0);
  Process recv(std::uint32_t from, std::uint32_t to, std::uint64_t* what = nullptr);
  // From all of these, in one call.
  Process waitall(std::uint32_t rank, const std::vector<std::uint32_t>* from);
  // Of all ranks; bytes of each. Every call is the next meeting.
  Process collective(std::uint32_t rank, double bytes, std::uint16_t state = kAllreduce);

  // Both ways between two machines.
  void slow_link(std::uint32_t a, std::uint32_t b, Fault* fault);
  // All that goes in and out of a machine.
  void slow_card(std::uint32_t machine, Fault* fault);
  void slow_cores(Fault* fault) {
    for (const std::uint32_t r : fault->leaves) cores_[r].slow(fault);
  }

 private:
  // Who is not let on its core does not see what has arrived.
  World::Until notice(std::uint32_t rank) {
    const double t = cores_[rank].run(kNotice);
    return world.until(t > world.now() + 10 * kNotice ? t : world.now());
  }
  static constexpr double kNotice = 1e-6;
  static constexpr double kEager = 64e3;
  struct Cable {
    Wire there, back;
  };
  struct Card {
    Wire out, in;
  };
  Mailbox& box(std::uint32_t from, std::uint32_t to);
  double bytes_per_s_, latency_, memory_bytes_per_s_, step_noise_;
  std::vector<Core> cores_;
  std::vector<Random> chances_;
  std::vector<Slow> lasting_;
  std::vector<Card> cards_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unique_ptr<Cable>> links_;
  std::vector<Wire*> hurt_;
  std::vector<std::map<std::uint32_t, std::unique_ptr<Mailbox>>> boxes_;  // of the receiver, by sender
  Gate meeting_;
  std::uint32_t arrived_ = 0;
};

// The recording of what has been run; states that never were are left out.
Recording recording_of(const Mpi& mpi, const Plan& plan);

}  // namespace margay::bench
