#include "margay/live/archive_writer.h"

#include <algorithm>

#include "margay/live/durability.h"
#include "margay/live/retention_words.h"

namespace margay::daemon {

ArchiveWriter::ArchiveWriter(const Options& options, store::Archive& archive, const Clock& clock)
    : archive_(archive),
      clock_(clock),
      retention_(archive, retention_options(options), clock),
      compactor_(archive, store::SliceCompactor::amendable(options.levels, options.amendable_slices)),
      quarantine_(archive.path()),
      disk_(archive.path()) {}

Status ArchiveWriter::write(const store::Cut& cut, bool sync) {
  // What says how much is on the disk is itself there first.
  const auto notes = [](const store::Blob& b) { return b.name == Durability::kBlob; };
  const Status status = archive_.commit(cut, sync || std::any_of(cut.state.begin(), cut.state.end(), notes));
  if (status) retention_.after_commit(cut);
  // What cannot be joined stays as it is: an error here is met by the next commit, and told there.
  if (status) static_cast<void>(compactor_.after_commit(cut));
  quarantine_.write();
  disk_.refresh(clock_.monotonic(), [this] {
    const auto use = archive_.disk_use();
    return use ? use->archive : std::uint64_t{0};
  });
  return status;
}

}  // namespace margay::daemon
