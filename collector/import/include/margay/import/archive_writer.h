// A Consumer that makes an archive of a trace: cells of all levels, states, leaves, one source whose name
// table is the trace's, the account of every record, and (if wanted) the records themselves.
//
// Never half an archive that looks whole: it is written to PATH.partial, which becomes PATH when all of it is
// on the disk. Without finish() it is removed; after a kill -9 it stays, by a name that says what it is, and
// its run has no end. Slices begin with the trace; what comes behind its end is Absent.
//
// A record that is earlier than what was said to be covered is counted (late_dropped) and its change of state
// kept from there on. Slices are open until they are covered, as many as half of cell_bytes holds: a record
// further on closes the first ones.
//
// Thread safety: none. Memory: cells up to Options::cell_bytes, and about 100 MiB for raw events and buffers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "margay/slicer/operator.h"
#include "margay/store/archive.h"
#include "margay/trace/trace.h"

namespace margay::trace {

class ArchiveWriter final : public Consumer {
 public:
  // More slices of the finest level than this are refused: the slice is too short for the trace.
  static constexpr std::int64_t kMostSlices = 1 << 22;

  struct Options {
    store::RunMeta run;        // begin and end are set from the records
    bool raw = true;           // keep the records
    slicer::Operator op = {};  // slices also hold what it measures; the run's settings say so
    std::uint64_t cell_bytes = std::uint64_t{1} << 30;
  };
  struct Outcome {
    std::uint64_t produced = 0;      // records, and what the producer rejected
    std::uint64_t modelled = 0;      // records that were taken
    std::uint64_t late_dropped = 0;  // came after it was said that none of their time would
    std::uint64_t rejected = 0;
    std::uint32_t leaves = 0;
    std::uint64_t slices = 0;  // of the finest level
    TimeNs begin{}, end{};
  };

  // Errors: kInvalidArgument (`path` or PATH.partial exists), kIo.
  static Result<std::unique_ptr<ArchiveWriter>> create(const std::string& path, Options options);
  ~ArchiveWriter() override;
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;

  // Errors: kLimit (cells, slices, states; said with what would help), kInvalidArgument (a name or leaf that
  // was not declared; a state's name of more than 128 bytes; a value of the operator's variable that is
  // negative or no number), kIo.
  Status on_name(std::uint16_t index, const Name& name) override;
  Status on_leaf(LeafIndex index, const Leaf& leaf) override;
  Status on_attributes(LeafIndex index, const model::Attributes& attributes) override;
  Status on_records(LeafIndex leaf, std::span<const EventRecord> records) override;
  Status on_covered(TimeNs t) override;

  // What the source's record and the run's settings shall also say; before finish.
  void set(const std::string& setting, std::string value);
  // All records have come; `late` and `rejected` is what the producer could not take. The archive is at its
  // path now. Errors: kInvalidArgument (no records), kIo. After an error nothing is left.
  Result<Outcome> finish(std::uint64_t late, std::uint64_t rejected);

 private:
  struct Impl;
  explicit ArchiveWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace margay::trace
