// Choosing p from the noise: how much loss does chance alone make, and so how large must p be that the
// partition shows no cut that means nothing.
//
// EFFECTIVE SAMPLES. Even in a steady phase the cells of a resource differ: a slice holds a finite number of
// visits to states. Model a cell of weight w whose tested states hold mass m = sum_x v as N*m draws from the
// phase's distribution pi: N*v is multinomial. N, the effective samples per cell, is estimated from how far
// each of R rows is from the next one, for that is what the partition compares: with q = v/m, of neighbours a
// and b and all states x that occur in one of them,
//
//     D_ab = m_a*m_b * sum_x (q_ax - q_bx)^2 / (v_ax + v_bx)       ("chi-square per unit sample")
//
// N*D_ab is Pearson's statistic of the 2 x X' table of counts, of expectation X'-1 up to a factor n/(n-1), n
// all samples of both. Hence over all pairs
//
//     N_eff = sum (X'-1) / sum D_ab,     relative standard deviation about sqrt(2 / (2/3 sum (X'-1))).
//
// NOT HOMOGENEOUS. The spread about a common mean would take two phases for one very noisy one. Between
// neighbours a change shows once, and D_ab is at most 2 however rare a state is. The tenth of the pairs that
// are farthest apart do not count; what that takes from chance itself is put back (of chi-square with k
// degrees of freedom, cut off at its quantile q of 0.9, the mean is k F_{k+2}(q) / 0.9). Noise that lasts for
// several rows is seen as less than it is, and the partition shows it.
// Where nothing varies D is 0 and N_eff is the caller's cap: an infinite N would call every later crumb a
// change.
//
// NOISE FLOOR. Two adjacent cells of one phase, merged, lose L bits; 2*ln2*N*L is the likelihood-ratio
// statistic G of the 2 x X table (Wilks), chi-square with X-1 degrees of freedom. So with probability 1-alpha
//
//     loss <= chi2_upper_quantile(alpha, X-1) / (2*ln2*N_eff).
//
// What merging wins: two cells of weight 1 with mass m each gain 2m*log2(2) - loss bits.
// By the criterion (RR-8524, equation 6) they stay merged where p*gain >= (1-p)*loss, that is from
//
//     p = loss / (loss + gain) = loss / (2m)     on; at most 1.
//
// OF A JOB. Its resources differ in noise, and of the states that there are each is in a few: resource r has
// N_r, k_r = mean X'-1 and m_r of its own. A comparison of two of its cells is a cut by chance alone, at p,
// with probability P(chi-square with k_r degrees of freedom > 2*ln2*N_r * 2*m_r*p), and the job's floor is
// the p at which the mean of these over the resources is alpha. At alpha the resource that seems noisiest has
// the say, and with many there is one whose N_r was estimated far too small; so estimates are shrunk towards
// their mean (of ln N, random effects: DerSimonian and Laird, 1986), the more, the less they are worth and
// the more alike resources are.
//
// Errors: kInvalidArgument for values outside the ranges stated. Thread safety: functions are pure; PPolicy
// and HeldP need external locking. Cost: estimate_neff O(R*X); a job's floor some 50 evaluations of a
// chi-square tail for each resource; the rest O(1).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/result.h"

namespace margay::partition {

struct NeffEstimate {
  double n_eff = 0;               // samples per cell of weight 1; at most the cap
  double degrees_of_freedom = 0;  // 2/3 sum (X'-1): how far to trust it
  double of_a_pair = 0;           // mean X'-1: the degrees of freedom of one comparison
  bool capped = false;
};

// rows: R rows of `states` values in the order of time, row r at [r*states, (r+1)*states), >= 0 and finite,
// at most 1 in sum (1e-9). Rows of mass 0 do not count: the rows around them are neighbours. At least two
// rows with mass and two states that occur in neighbours, else an error. Below kLeastDegrees of freedom it is
// no more than a guess: one change from one state to another is no noise.
inline constexpr double kLeastDegrees = 3;
Result<NeffEstimate> estimate_neff(std::span<const double> rows, std::size_t states, double cap = 1e6);

// The probability to allow each comparison of neighbours so that a window of leaves x slices cells lets
// through `false_cuts` false cuts on average: false_cuts / (pairs of cells adjacent in time + one per leaf
// and slice for those in space), at most 0.5. All arguments > 0.
Result<double> alpha_per_window(std::size_t leaves, std::size_t slices, double false_cuts = 0.5);

// The raw p of the noise floor, in (0,1]. n_eff > 0; tested_states >= 2; alpha in (0,1); mass in (0,1]: the
// mean of sum_x v over the cells.
Result<double> noise_floor_p(double n_eff, std::size_t tested_states, double alpha, double mass = 1);

// What is known of one resource.
struct Noise {
  double n_eff = 0;      // > 0
  double of_a_pair = 1;  // degrees of freedom of a comparison, > 0
  double mass = 1;       // in (0,1]: the mean of sum_x v over its cells
  double degrees = 0;    // of freedom of the estimate n_eff; 0: it is known
};

// The noise floor of a job, continuous, in [kLeastP, kMostP]. At least one resource; alpha in (0,1).
inline constexpr double kLeastP = 0.001;  // shows what is a thousandth of what there is
inline constexpr double kMostP = 0.5;     // beyond, simplicity counts more than what is so
Result<double> noise_floor_p(std::span<const Noise> resources, double alpha);

// A p that follows the job's floor and does not flicker. A new one is taken where `patience` values in a row
// lie on the same side of the present one, by more than the factor `band`: their geometric mean. Tables of a
// window are made anew for it, which costs as much as `slices` updates: so a change spends a credit, of which
// there are `credits` in the beginning, and one more for each 4 * slices slices, up to as many. Hence changes
// make updates dearer by a quarter at most in the long run.
class HeldP {
 public:
  struct Options {
    double initial = 0.1;      // before the first value
    double band = 1.25;        // > 1
    std::size_t patience = 5;  // >= 1 values
    std::size_t slices = 256;  // >= 1: of the window
    double credits = 3;        // >= 1
  };
  explicit HeldP(Options options) : options_(options), p_(options.initial), credits_(options.credits) {}

  // Takes the next floor (finite, > 0; else it is ignored), measured when `slice` was the newest; ascending.
  // Returns the p to use. The first is taken at once.
  double update(double floor, SliceIndex slice);
  double p() const { return p_; }

 private:
  Options options_;
  double p_;
  double credits_;
  bool started_ = false;
  SliceIndex last_{};
  int side_ = 0;  // -1: the last values were below, 1: above
  std::size_t streak_ = 0;
  double logs_ = 0;  // sum over the streak
};

// Snaps raw values of p to a small ascending grid, upwards (a noise floor is a lower bound), and holds on: a
// new p needs new tables, so p must not flutter. The index changes only after `patience` consecutive raw
// values beyond the same edge of the present bin by more than the relative margin; then it goes to the bin of
// the last. Bin g is (grid[g-1], grid[g]]; the last bin takes everything above.
class PPolicy {
 public:
  struct Options {
    std::vector<double> grid = {0.001, 0.002, 0.005, 0.01, 0.02,
                                0.05,  0.1,   0.2,   0.3,  0.5};  // ascending, in [0,1]
    double margin =
        0.1;  // in [0,1): leave upwards above grid[g]*(1+margin), downwards below grid[g-1]*(1-margin)
    std::size_t patience = 5;  // >= 1 calls
  };

  static Result<PPolicy> create(Options options);

  // Takes the next raw p (finite, >= 0) and returns the p to use. The first call snaps at once. A value that
  // is not a number or negative is ignored.
  double update(double raw);
  // The p in use and its place in the grid; the largest p before the first update (most aggregated: no false
  // cuts).
  double p() const { return options_.grid[index_]; }
  std::size_t index() const { return index_; }
  std::span<const double> grid() const { return options_.grid; }

 private:
  explicit PPolicy(Options options);
  std::size_t bin(double raw) const;

  Options options_;
  std::size_t index_;
  bool started_ = false;
  int side_ = 0;            // -1: the last raw values were below the bin, 1: above
  std::size_t streak_ = 0;  // how many in a row
};

}  // namespace margay::partition
