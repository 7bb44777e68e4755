// Records to values and back. Each value begins with a version byte; ids that the key tells are not repeated.
// Pure. Decoding trusts nothing: every count is bounded, every byte must be used. Errors: kCorrupt, kVersion.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/store/records.h"

namespace margay::store {

std::string encode(const RunMeta& v);
std::string encode(const model::StateInfo& v);
std::string encode(const LeafRecord& v);
std::string encode(const LeafState& v);
std::string encode(const SourceRecord& v);
std::string encode(const StreamRecord& v);
std::string encode(const AlertRecord& v);
std::string encode(const PhaseRecord& v);
std::string encode(const std::vector<ClosedThrough>& v);
std::string encode(const GapRecord& v);  // `first` is the key's
// `sequence` and `at` are the key's.
std::string encode(const JournalEntry& v);

Status decode_untrusted(std::string_view bytes, RunMeta& v);
Status decode_untrusted(std::string_view bytes, model::StateInfo& v);
Status decode_untrusted(std::string_view bytes, LeafRecord& v);
Status decode_untrusted(std::string_view bytes, LeafState& v);
Status decode_untrusted(std::string_view bytes, SourceRecord& v);
Status decode_untrusted(std::string_view bytes, StreamRecord& v);
Status decode_untrusted(std::string_view bytes, AlertRecord& v);
Status decode_untrusted(std::string_view bytes, PhaseRecord& v);
Status decode_untrusted(std::string_view bytes, std::vector<ClosedThrough>& v);
Status decode_untrusted(std::string_view bytes, GapRecord& v);
Status decode_untrusted(std::string_view bytes, JournalEntry& v);

// The last cut.
struct CutMark {
  std::uint64_t sequence = 0;
  TimeNs wall{};
};
std::string encode(const CutMark& v);
Status decode_untrusted(std::string_view bytes, CutMark& v);

// Up to kChunkLeaves leaves one after the other, the first of which the key tells.
// Replaces `out`. Errors: kInvalidArgument (check(LeafState)).
Status encode_packed(std::span<const LeafState> leaves, std::string& out);
// Appends them. `first`: their first leaf.
Status decode_packed_untrusted(std::string_view bytes, LeafIndex first, std::vector<LeafState>& leaves);

// A blob or report: version, size, zstd. Errors of encode: kInternal.
Status encode_blob(std::string_view bytes, std::string& out);
Status decode_blob_untrusted(std::string_view value, std::string& bytes);
// A raw block's value: version, end, count, size, source, zstd of the columns' archived form (raw_columns.h).
Status encode_raw(const RawBlock& v, std::string& out);
Status decode_raw_untrusted(std::string_view value, RawBlock& v);
// Only when the block ends: what a scan needs to pass over it without expanding it.
Status decode_raw_end_untrusted(std::string_view value, TimeNs& end);

// Refuses a cut with anything beyond the bounds of records.h, naming it. Errors: kInvalidArgument.
Status check(const RunMeta& run);
Status check(const LeafState& leaf);
// All of the cut, or all but where its leaves stand.
Status check(const Cut& cut, bool leaf_states = true);

}  // namespace margay::store
