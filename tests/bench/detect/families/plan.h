// What is drawn for all families alike: length, slices, when faults are, how strong and whether they return;
// and shapes of machines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chance.h"
#include "families.h"

namespace margay::bench {

struct Ranges {
  double least_slice_s, most_slice_s;          // log-uniform, two digits
  double least_slices = 2, most_slices = 100;  // how long a fault lasts: log-uniform
  double least_factor = 1.3, most_factor = 5;  // log-uniform
  double stops = 0;                            // how often it is a complete stop instead
};

// 100 to 400 slices; "clean": no fault. One fault (of two cases one), two or three at other places, or the
// same returning two to four times at the same place. The first begins after 30 slices or more, in one of six
// cases after 12 to 30. Between two there are 10 slices or more. What is slow for a short time is slow enough
// to cost three quarters of a slice.
struct Plan {
  double slice_s, end_s;
  std::vector<Fault> faults;
  bool returns = false;  // the same place again
};
Plan plan(std::string_view kind, const Ranges& ranges, bool acts, Random& random);

// Where each fault is, of so many places: all at one if it returns, elsewhere at random.
std::vector<std::uint32_t> places(const Plan& plan, std::uint32_t count, Random& random);

// Ranks on machines of so many ranks, in racks or clusters.
struct Machines {
  std::vector<std::string> levels, paths;
  std::uint32_t ranks, per_machine, machines;
  std::uint32_t machine(std::uint32_t rank) const { return rank / per_machine; }
  std::set<std::uint32_t> on(std::uint32_t machine) const;
};
// One of the usual trees: site/cluster/machine/rank, rack/host/rank, host/rank. Ranks are `per_machine` times
// `machines`.
Machines machines_of(std::uint32_t machines, std::uint32_t per_machine, Random& random);
// 4 to `most` ranks on 2 machines or more, powers of two.
Machines some_machines(std::uint32_t most, Random& random);
// How long a step is at least, in slices, that a run stays within a million changes of state: of so many in a
// step of a rank.
double least_step(const Machines& shape, const Plan& plan, double changes);

// Where work comes when it comes: a fault is seen on those leaves of a place that had something to do
// meanwhile. The others cannot be told from them, so that the whole place is right as well.
void only_hurt(Plan& plan);

// Who is stopped while it waits in a call is in the same state as all that wait for it: by what a trace says
// nobody can tell who it is, and all ranks are as right.
void stopped_in_a_call(Recording& recording);

inline double log_uniform(double least, double most, Random& random) {
  return std::exp(random.uniform(std::log(least), std::log(most)));
}

}  // namespace margay::bench
