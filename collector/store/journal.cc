#include "journal.h"

#include <limits>

#include "database.h"
#include "joined_slices.h"
#include "keys.h"
#include "margay/store/column_codec.h"
#include "plane_codec.h"
#include "record_codec.h"

namespace margay::store {
namespace {

constexpr LevelIndex kFinest{0};

tl::unexpected<Error> corrupt(const std::string& what) {
  return fail(ErrorCode::kCorrupt, what);
}

}  // namespace

Status Journal::put(const Cut& cut, rocksdb::WriteBatch& batch) const {
  std::string value;
  rocksdb::ColumnFamilyHandle* family = database_.families[kJournal];
  for (const JournalEntry& e : cut.journal)
    batch.Put(family, journal_key(kEntryKey, e.at, e.sequence), encode(e));
  const DurationNs slice_ns = (cut.run ? cut.run->levels : database_.levels)[0];
  for (const KeptSlice& k : cut.kept)
    for (std::uint32_t i = 0; i < chunk_count(k.column->leaves()); ++i) {
      const auto chunk = static_cast<std::uint16_t>(i);
      const std::string place = "slice " + std::to_string(k.column->index.value) + " as it was shown";
      if (Status s = encode_chunk(*k.column, chunk, slice_ns, value); !s) return fail(s.error(), place);
      batch.Put(family, version_key(k.column->index, k.sequence, chunk), value);
      if (k.column->plane() == model::Plane::kNone) continue;
      if (Status s = encode_plane(*k.column, chunk, value); !s) return fail(s.error(), place);
      batch.Put(family, version_key(k.column->index, k.sequence, chunk | kPlaneChunk), value);
    }
  // The batch replaces these slices: what the archive holds of them until then is what was shown.
  for (const SupersededSlice& s : cut.superseded) {
    // There already: the same cut is written again, and may be in the archive.
    const auto kept = database_.get({}, kJournal, version_key(s.slice, s.sequence, 0), value);
    if (!kept) return fail(kept.error().code, kept.error().message);
    if (*kept) continue;
    for (const std::uint16_t kind : {std::uint16_t{0}, kPlaneChunk})
      for (std::uint16_t i = 0; i < kPlaneChunk; ++i) {
        const auto chunk = static_cast<std::uint16_t>(kind | i);
        const auto found = database_.get({}, kSlices, SliceKey{kFinest, s.slice, chunk}.encode(), value);
        if (!found) return fail(found.error().code, found.error().message);
        if (!*found && chunk == 0) {
          const auto joined = joins_.read({}, kFinest, s.slice);
          if (!joined) return fail(joined.error().code, joined.error().message);
          if (!*joined) break;
          if (Status e = encode_chunk(**joined, 0, slice_ns, value); !e)
            return e;  // of one chunk, as all joined
          batch.Put(family, version_key(s.slice, s.sequence, 0), value);
          break;
        }
        if (!*found) break;
        batch.Put(family, version_key(s.slice, s.sequence, chunk), value);
      }
  }
  return {};
}

Status Journal::read(const rocksdb::ReadOptions& options, SliceIndex from, std::uint64_t least,
                     const std::function<bool(JournalEntry&&)>& take) const {
  if (database_.families[kJournal] == nullptr) return {};
  return database_.scan(options, kJournal, journal_key(kEntryKey, from, least),
                        std::string(1, static_cast<char>(kEntryKey + 1)),
                        [&](std::string_view key, std::string_view value) -> Result<bool> {
                          if (key.size() != 17) return corrupt("a journal key has a wrong length");
                          JournalEntry e;
                          e.at = SliceIndex(get_time(key.substr(1, 8)));
                          e.sequence = get_big_endian(key.substr(9));
                          if (Status s = decode_untrusted(value, e); !s)
                            return fail(s.error(), "journal entry " + std::to_string(e.sequence));
                          return take(std::move(e));
                        });
}

Result<bool> Journal::is_superseded(const rocksdb::ReadOptions& options, SliceIndex slice_index,
                                    std::uint64_t sequence) const {
  if (database_.families[kJournal] == nullptr) return false;
  std::string value;
  return database_.get(options, kJournal, version_key(slice_index, sequence, 0), value);
}

Result<std::optional<model::SliceColumn>> Journal::read_shown(const rocksdb::ReadOptions& options,
                                                              SliceIndex slice_index,
                                                              std::uint64_t sequence) const {
  std::string value;
  bool apart = false;
  if (database_.families[kJournal] != nullptr) {
    const auto found = database_.get(options, kJournal, version_key(slice_index, sequence, 0), value);
    if (!found) return tl::unexpected(found.error());
    apart = *found;
  }
  model::SliceColumn column(kFinest, slice_index, 0, 0);
  std::uint32_t total = 0;
  const auto get = [&](std::uint16_t number) {
    return apart ? database_.get(options, kJournal, version_key(slice_index, sequence, number), value)
                 : database_.get(options, kSlices, SliceKey{kFinest, slice_index, number}.encode(), value);
  };
  for (std::uint32_t chunk = 0; chunk == 0 || chunk < chunk_count(total); ++chunk) {
    const auto found = get(static_cast<std::uint16_t>(chunk));
    if (!found) return tl::unexpected(found.error());
    const std::string place = database_.path + ": slice " + std::to_string(slice_index.value);
    if (!*found) {
      if (chunk == 0) return joins_.read(options, kFinest, slice_index);
      return corrupt(place + ": a chunk is missing");
    }
    const auto told = decode_chunk_untrusted(value, chunk, column);
    if (!told) return fail(told.error(), place);
    if (chunk > 0 && *told != total) return corrupt(place + ": its chunks disagree");
    total = *told;
  }
  for (std::uint32_t chunk = 0; chunk < chunk_count(total); ++chunk) {
    const auto found = get(static_cast<std::uint16_t>(kPlaneChunk + chunk));
    if (!found) return tl::unexpected(found.error());
    if (!*found && chunk == 0) break;  // nothing was measured
    const std::string place = database_.path + ": slice " + std::to_string(slice_index.value);
    if (!*found) return corrupt(place + ": a chunk of what was measured is missing");
    if (Status s = decode_plane_untrusted(value, chunk, column); !s) return fail(s.error(), place);
  }
  return std::optional(std::move(column));
}

}  // namespace margay::store
