// Families of made-up programs that no choice of the detector was made by: each a small simulation of what
// such programs physically do (world.h), with faults put on a speed of something they use. They are frozen:
// none is changed after the detector has been run on it.
//
//   stencil     halo exchange on a 2D or 3D grid        slow_link, slow_rank, slow_machine
//   wavefront   sweeps over a grid, as in LU            blocked_rank, rupture, slow_rank
//   farm        a master that deals out tasks           slow_worker, slow_master, slow_machine
//   training    data-parallel steps of training         straggler, throttling, input_stall
//   checkpoint  phases, and files written between       brownout, slow_rank, slow_machine
//   noise       bulk-synchronous, with OS noise         noisy_rank, noisy_machine, noisy_machines
//   unequal     ranks that differ, rank 0 writes        slow_rank, slow_machine, slow_disk
//   stops       ranks that stop, and stop again         one_rank, one_machine, any_rank
//   requests    graphs of services                      cpu_contention, slow_database, retry_storm
//   queues      workers that take jobs from queues      slow_host, slow_disk, held_lock
//   workflow    graphs of tasks on workers              slow_disk, slow_cpu, slow_network
//
// and each "clean", one quarter of the cases. The head of each file says what is modelled, and within which
// ranges it is drawn. Common to all (plan.h): how long a case is, when faults begin, how long they last, how
// often they come back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cases.h"
#include "world.h"

namespace margay::bench {

// A run of a program as a trace says it.
struct Recording {
  double slice_s = 1, end_s = 0;
  std::vector<std::string> levels;  // of the paths: "site", "cluster", "machine", "rank"
  std::vector<std::string> paths;   // of leaves: "/site/c0/m1/r7"
  std::vector<std::string> states;
  std::set<std::string> idle_states;
  std::vector<std::vector<Change>> changes;  // of each leaf; before the first it is not there
  std::vector<Fault> faults;
};

struct Family {
  std::string_view name;
  std::vector<std::string_view> kinds;  // of faults; "clean" is the last
  // The same draws whether it acts or not.
  Recording (*record)(std::string_view kind, std::uint64_t seed, bool acts);
};

std::span<const Family> families();

// Runs the program with this fault, by the first draw from the seed whose faults each cost somebody
// something: a tenth of the time in which it hurt, and half a slice; and are no chance to one who sees every
// visit: five deviations. The quiet twin (`hurt` false) is the same run without; before the first fault both
// are equal.
Recording record(const Family& family, std::string_view kind, std::uint64_t seed, bool hurt = true);
// In slices, as the slicer cuts them, with what is known of the truth. The quiet twin has no truths.
Case case_of(const Family& family, std::string_view kind, std::uint64_t seed, const Recording& recording);
inline Case make(const Family& family, std::string_view kind, std::uint64_t seed, bool hurt = true) {
  return case_of(family, kind, seed, record(family, kind, seed, hurt));
}

}  // namespace margay::bench
