// An archive: everything Margay knows of one run, in one directory.
//
// Promise to the stages above: a cut that `commit` acknowledged is there whole after kill -9 at any moment,
// and no cut is ever there in part. After a loss of power this holds for cuts committed with `sync`; later
// ones are lost whole. RocksDB is hidden here; FORMAT.md tells keys, values and versions.
//
// One process writes an archive at a time (it is locked); read-only opening of an archive that is being
// written is refused: ask its daemon, or take a checkpoint. Thread safety: commit, drop_* and checkpoint are
// for one thread at a time, everything else may run beside them from any thread; each reading call sees one
// cut. Errors carry the path. Commits may stall for 100 ms and more on a slow disk: keep them off any thread
// that must not wait (commit_queue.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/result.h"
#include "margay/store/records.h"
#include "margay/store/retention.h"

namespace rocksdb {
class FileSystem;
}

namespace margay::store {

enum class Mode {
  kWrite,
  kReadOnly,  // of an archive that nobody writes
  // Also of one that a daemon is writing: what its log and files held when it was opened, a whole cut, and
  // that alone, however long it is open. The writer is not told, waits for nothing, and may delete what it
  // likes: files that are open stay readable, and take room on the disk until this is closed. All of them are
  // kept open.
  kBeside,
};

struct ArchiveOptions {
  // For buffers and caches, split half and a third; the rest is left for RocksDB's own. At least 8 MiB.
  std::size_t memory_bytes = std::size_t{96} << 20;
  int max_open_files = 128;
  // What the archive is to stay below (retention_manager.h sees to it); 0: no bound. Files, buffers and the
  // log are a small part of it, so that dropping what is old gives the room back soon.
  std::uint64_t disk_budget = 0;
  // The database lies on this file system; nullptr: the machine's. For tests that break it.
  std::shared_ptr<rocksdb::FileSystem> files;
};

class Archive {
 public:
  // The format that this code writes and the newest it reads.
  static constexpr std::uint32_t kFormat = 3;
  // A read of columns that would take more memory than this is refused.
  static constexpr std::size_t kLargestRead = std::size_t{1} << 30;

  // Makes the directory, or takes an empty one or one in which an earlier call was cut short (a kill, a loss
  // of power), and opens it for writing. The three fixed states are in it. Errors: kInvalidArgument (the
  // directory holds something else, `run` is out of its bounds), kUnavailable (somebody else is making it),
  // kIo.
  static Result<std::unique_ptr<Archive>> create(const std::string& path, const RunMeta& run,
                                                 const ArchiveOptions& options = {});
  // Errors: kNotFound (no such archive, or one that create() was not done with: it holds nothing yet, and
  // create() takes it), kInvalidArgument (not an archive), kVersion (written by a newer
  // Margay), kUnavailable (kWrite, kReadOnly: locked by a writer, whose pid is told; kBeside: the writer
  // changed its files at each of some attempts), kCorrupt, kIo (permission, disk full).
  static Result<std::unique_ptr<Archive>> open(const std::string& path, Mode mode,
                                               const ArchiveOptions& options = {});
  // Takes an archive away, whatever its format, with its directory. First its marker gets another name, so
  // that no half of an archive ever looks whole; called again after a crash, it goes on. Nothing is followed
  // out of the directory. `also`: names of files beside the store's that go with it, where they are there.
  // Errors: kNotFound; kInvalidArgument (not an archive, or a directory that also holds something else, which
  // is named: nothing is taken away then); kUnavailable (being written); kIo.
  static Status remove(const std::string& path, const std::vector<std::string>& also = {});
  // What of these would be in the way; takes nothing away.
  static Status check_removable(const std::string& path, const std::vector<std::string>& also = {});
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  const std::string& path() const;
  // Somebody was writing it when it was opened beside them: it is the state of that moment.
  bool is_live() const;

  // Writes the cut in one atomic batch; with `sync` it is on the disk when this returns. After an error the
  // same cut may be committed again: the database is then opened anew. The archive then holds this cut or
  // the one before, whole. Errors: kInvalidArgument (a bound; an older sequence), kIo (disk full ...).
  Status commit(const Cut& cut, bool sync);
  // Joins slices of the level that stand by themselves (joined_codec.h): from the oldest behind the last join
  // on, up to `most` of them and none behind `through`; fewer than `least` stay as they are. Nothing a reader
  // sees changes, and a slice that is written again later counts instead of the joined one. One atomic batch,
  // on the disk with the next commit that is. Returns how many were joined: 0 when there is nothing more to
  // do, or the slices are too large. For the thread that commits. Cost: 0.5 to 1 us a non-empty cell. Errors:
  // as of commit.
  Result<std::size_t> join_columns(LevelIndex level, SliceIndex through, std::size_t least, std::size_t most);
  // The newest background error (compaction, flush): the next commit opens the database anew.
  Status health() const;

  // Cost: proportional to leaves, sources, alerts and phases. Errors, of every reading call: kCorrupt,
  // kVersion, kIo; kUnavailable while the database could not be opened anew after a failed commit.
  // With bounds the memory is, too.
  Result<Resume> load(const LoadBounds& bounds = LoadBounds()) const;
  Result<std::vector<AlertRecord>> alerts() const;  // by id
  Result<std::vector<PhaseRecord>> phases() const;  // by index

  // The slices of `level` in [first, last], both inside, oldest first; those that are not kept are left out.
  // A callback that returns false ends the scan.
  Status scan_columns(LevelIndex level, SliceIndex first, SliceIndex last,
                      const std::function<bool(model::SliceColumn&&)>& take) const;
  // The same, collected. Errors: also kLimit (more than kLargestRead bytes).
  Result<std::vector<model::SliceColumn>> read_columns(LevelIndex level, SliceIndex first,
                                                       SliceIndex last) const;
  // The oldest and the newest slice kept; nothing when there is none.
  Result<std::optional<std::pair<SliceIndex, SliceIndex>>> column_range(LevelIndex level) const;

  // What the slices of `level` in [first, last] take, keys and values, before the database's own blocks. A
  // join counts if it ends in the range. Cost: reads them.
  Result<std::uint64_t> stored_bytes(LevelIndex level, SliceIndex first, SliceIndex last) const;

  // The journal's entries from the newest slice `from` and number `least` on, in order. Nothing in archives
  // of format 1. The callback must not call the archive.
  Status read_journal(SliceIndex from, std::uint64_t least,
                      const std::function<bool(JournalEntry&&)>& take) const;
  // A slice of level 0 as journal entry `sequence` showed it, but for its region; nothing if it is not kept.
  Result<std::optional<model::SliceColumn>> read_shown(SliceIndex slice, std::uint64_t sequence) const;
  // Whether it was kept apart: it has changed since.
  Result<bool> is_superseded(SliceIndex slice, std::uint64_t sequence) const;

  // Raw blocks that touch the time [from, to), by begin time; of one leaf, or of all. Cost: the blocks that
  // begin in [from - S, to) are visited, S being the longest time any block of the archive covers.
  Status read_raw(std::optional<LeafIndex> leaf, TimeNs from, TimeNs to,
                  const std::function<bool(RawBlock&&)>& take) const;
  // Reports with a watermark in [from, to), oldest first.
  Status read_reports(TimeNs from, TimeNs to, const std::function<bool(ReportRecord&&)>& take) const;

  // Retention. Slices below `slice` (and the journal of those of level 0) / blocks that begin before `time` /
  // reports with a watermark before `time` are gone after this; whole files at once, so that the disk gets
  // most of the room back now and the rest with a compaction of what lies beside. Who reads meanwhile sees
  // all or nothing of it, and holds the files it reads. Cost: small, whatever is dropped. Errors: kIo, as of
  // commit.
  Status drop_columns_before(LevelIndex level, SliceIndex slice);
  Status drop_raw_before(TimeNs time);
  Status drop_reports_before(TimeNs time);

  // Writes into files what so far only the log has, which then goes (when the archive is closed at the
  // latest). Errors: as of drop_*.
  Status flush();
  // Writes all files anew, without what was dropped or replaced: the archive then takes what its contents
  // need. Cost: reads and writes the whole archive, and takes its size once more meanwhile. Errors: as of
  // drop_*.
  Status compact();

  // Makes an archive of its own in the new directory `path` that holds the last cut: hard links where the
  // file system allows, so cheap. It can be read while this one is written on.
  Status checkpoint(const std::string& path);

  // What the archive's files take on the disk, the log and RocksDB's own included, and what the file system
  // has. Cost: a stat for each file. Errors: kIo.
  Result<DiskUse> disk_use() const;
  // The same of an archive that need not be open. One that is open for writing takes some more than what it
  // holds: RocksDB takes room for its log beforehand.
  static Result<DiskUse> disk_use_of(const std::string& path);
  // How much of a shelf lies before `until`, in at most `parts` pieces of about the same duration, oldest
  // first. Sizes are those of what is in files, without what only the log has. Cost: two seeks, and some
  // index blocks a piece.
  Result<std::vector<Extent>> extents(Shelf shelf, LevelIndex level, TimeNs until, unsigned parts) const;
  // The begin of the oldest thing kept; nothing when there is none.
  Result<std::optional<TimeNs>> oldest(Shelf shelf, LevelIndex level) const;

 private:
  struct Impl;
  explicit Archive(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace margay::store
