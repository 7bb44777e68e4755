// The measurements of detect_bench, one file each. All print to stdout and return an exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "margay/base/time.h"

namespace margay::bench {

// How well: made-up cases of these seeds, of one group or (-1) of all.
int cases(std::uint64_t first, std::uint64_t last, int group, bool verbose);
// The families that no choice was made by (families/families.h): how well of each, or of this one; with a
// directory, nothing is detected and traces and truths are written to it, for any detector.
struct FamilyPlan {
  std::uint64_t first_seed = 1, last_seed = 4;
  std::string family, kind;  // "": all
  std::string directory;     // "": detect
  bool verbose = false;
};
int families(const FamilyPlan& plan);
// What alerts of the families say they cost, and who they say it is how probably, beside the truth.
int claims(const FamilyPlan& plan);
// What can be found at all: what each fault did to the job, and what one who knows all but chance would find.
int limit(std::uint64_t first, std::uint64_t last, int group);
// Whether what is said by slice t depends on slices after it: cases cut off somewhere say what the whole ones
// said until there. Fails if one does not.
int causality(std::uint64_t first, std::uint64_t last);
// Writes each case's alerts and truth, DIR/alerts/CASE.jsonl and DIR/truth/CASE.json, for another scorer.
int write(const std::string& directory, std::uint64_t first, std::uint64_t last);
// Tails, memory and dispersion of made-up jobs beside those of archives: a markdown table.
int realism(const std::vector<std::string>& archives);
// Quiet jobs (quiet_jobs.h), of each kind and seed: false alarms, beside those expected.
struct KnobPlan {
  double days = 0.1;  // of each
  std::uint32_t leaves = 64;
  DurationNs slice = seconds(1);
  std::vector<double> knobs = {0.5, 1, 10, 100};  // the first as it is shipped
  std::uint64_t first_seed = 1, last_seed = 1;
  std::string kind;  // "": all
  double min_effect = 0.1;
  std::vector<DurationNs> levels;  // coarser ones, watched together with that of `slice`
  bool verbose = false;
};
int knob(const KnobPlan& plan);
// The same at several levels at once: false alarms of each, beside its share of those expected. The whole
// detector, but for the spatiotemporal partition.
int knob_levels(const KnobPlan& plan);
// Jobs of which few ranks, or a machine, become slower by a few hundredths of the time, for minutes: how many
// are found at the level of `slice` and the coarser ones, and how soon.
int levels(std::uint64_t first, std::uint64_t last, DurationNs slice, bool verbose);
// By how much the mean of work's lengths over so many slices varies, of ranks and machines beside their
// peers, in these archives and in jobs made up of this seed: which shift of it could be seen in that time.
int shifts(const std::vector<std::string>& archives, std::uint64_t seed);
// Of a slice of 100 ms: detection at all levels beside detection at the finest.
int levels_cost(std::uint32_t leaves, std::size_t window, int slices, const std::string& kind);
// Of a slice: looking for departures beside the partition update.
int cost(std::uint32_t leaves, std::size_t window, int slices, const std::string& kind);
// Of a slice: a window that chooses p and draws the default picture beside one with a fixed p.
int picture_cost(std::uint32_t leaves, std::size_t window, int slices, const std::string& kind);

}  // namespace margay::bench
