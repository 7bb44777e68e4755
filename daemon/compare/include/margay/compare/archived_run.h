// A run of an archive, or a stretch of one, for a comparison.
//
// It is read twice: first how much work each slice did and what the phases are like; then, once the phases of
// all runs are aligned, what was spent in each block. Cells only, of the finest level that has at most
// kMostSlices slices in the stretch.
//
// Thread safety: none. Errors: sentences that name the archive; those of store::Archive, kNotFound (nothing
// kept of the stretch), kInvalidArgument (times), kLimit (memory).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/compare/align.h"
#include "margay/compare/run_in_blocks.h"
#include "margay/model/hierarchy.h"
#include "margay/model/state_table.h"
#include "margay/store/archive.h"

namespace margay::compare {

// "ARCHIVE", or "ARCHIVE@FROM..TO", each end optional: what lies behind the last '@', where no directory has
// the whole of it as its name.
struct StretchWords {
  std::string archive;
  std::optional<std::string> from, to;
  bool is_all() const { return !from && !to; }
};
Result<StretchWords> parse_stretch(const std::string& words);

class ArchivedRun {
 public:
  static constexpr std::int64_t kMostSlices = 8192;
  // Of the blocks of all runs of a comparison, and what is summed of them.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

  // `words` as the user gave them; they are the run's name.
  static Result<ArchivedRun> open(const std::string& words);

  const std::string& name() const { return name_; }
  bool is_all() const { return all_; }
  bool is_live() const { return archive_->is_live(); }
  const store::RunMeta& meta() const { return all_of_it_->run; }
  const std::vector<model::Attributes>& leaves() const { return leaves_; }
  const std::vector<model::StateInfo>& states() const { return all_of_it_->states.states(); }

  // What the first reading told.
  double seconds() const;
  double calls() const { return calls_; }
  const std::vector<SliceOf>& slices() const { return slices_; }
  // Shares of its own states.
  const std::vector<PhaseOfRun>& phases() const { return phases_; }

  // The second reading: `phase_of` each slice, of `phases`; where own states and leaves go, or -1 (states,
  // leaves that are left out); `into`: how many there are. Resources that several leaves go to have the mean.
  // `blocks_of_phase`: how many each phase is cut into, 0 for none; the first is all of the run.
  struct Place {
    std::vector<std::uint32_t> phase_of;
    std::vector<std::size_t> blocks_of_phase;
    std::vector<std::int32_t> state_to, leaf_to;
    std::int32_t waiting_to = -1;  // the state for time of waiting for a CPU; -1: it is left out
    std::size_t states = 0, resources = 0;
    std::size_t runs = 2;  // that share kMostBytes
  };
  Result<RunInBlocks> in_blocks(const Place& place,
                                const std::function<void(double share)>& progress = {}) const;
  // Of each phase, how many slices it has; the first is all.
  static std::vector<std::size_t> slices_of(const std::vector<std::uint32_t>& phase_of, std::size_t phases);

 private:
  ArchivedRun() = default;
  Status find_stretch(const StretchWords& words);
  Status read_profile();

  std::string name_;
  bool all_ = true;
  std::unique_ptr<store::Archive> archive_;
  std::unique_ptr<store::Resume> all_of_it_;
  std::vector<model::Attributes> leaves_;
  LevelIndex level_{};
  SliceIndex first_{}, last_{};
  std::vector<SliceOf> slices_;
  std::vector<PhaseOfRun> phases_;
  double calls_ = 0;
};

}  // namespace margay::compare
