// The values and keys of an archive: any bytes decode or are refused; what decodes comes back from a trip.
//   input: u8 kind, then the value. For the compressed kinds a flag (0x80) has the value compressed here, for
//   no fuzzer guesses a checksum: then it is a piece that goes in front, and the body.
#include "bytes.h"
#include "compress.h"
#include "fuzz.h"
#include "joined_walk.h"
#include "keys.h"
#include "margay/store/column_codec.h"
#include "plane_codec.h"
#include "record_codec.h"

namespace {

using namespace margay;
using namespace margay::store;

template <class Record>
void record(std::int64_t /*index*/, std::string_view bytes) {
  Record v;
  if (!decode_untrusted(bytes, v)) return;
  const std::string again = encode(v);
  Record back;
  FUZZ_CHECK(decode_untrusted(again, back), "what was encoded decodes");
  FUZZ_CHECK(encode(back) == again, "decode(encode(x)) == x");
}

template <class Key>
void key(std::int64_t /*index*/, std::string_view bytes) {
  if (const auto k = Key::decode(bytes)) FUZZ_CHECK(k->encode() == bytes, "a key has one form");
}

std::string packed(fuzz::Input& in) {
  std::string value(in.piece());
  const std::string_view body = in.rest();
  ByteWriter(value).varint(body.size());
  FUZZ_CHECK(compress(body, value), "compressed");
  return value;
}

void blob(std::int64_t /*index*/, std::string_view value) {
  std::string bytes;
  if (!decode_blob_untrusted(value, bytes)) return;
  std::string again, back;
  FUZZ_CHECK(encode_blob(bytes, again) && decode_blob_untrusted(again, back) && back == bytes,
             "a blob comes back");
}

void raw(std::int64_t /*index*/, std::string_view value) {
  RawBlock v;
  TimeNs end;
  const bool has_end = decode_raw_end_untrusted(value, end).has_value();
  if (!decode_raw_untrusted(value, v)) return;
  FUZZ_CHECK(has_end && end == v.end, "the end is told alike");
  std::string again;
  RawBlock back;
  FUZZ_CHECK(encode_raw(v, again) && decode_raw_untrusted(again, back) && back == v,
             "a raw block comes back");
}

void chunk(std::int64_t index, std::string_view value) {
  model::SliceColumn column;
  column.index = SliceIndex(index);
  const auto total = decode_chunk_untrusted(value, 0, column);
  if (!total) return;
  FUZZ_CHECK(column.leaves() == std::min(*total, kChunkLeaves), "a chunk has its leaves");
  if (column.leaves() != *total) return;
  // Whatever slice duration it was made with, the cells are exact.
  for (const DurationNs slice : {milliseconds(100), DurationNs(0)}) {
    std::string again;
    model::SliceColumn back;
    back.index = column.index;
    FUZZ_CHECK(encode_chunk(column, 0, slice, again), "a column that was read can be kept");
    FUZZ_CHECK(decode_chunk_untrusted(again, 0, back) && back == column, "and comes back");
  }
}

void plane(std::int64_t /*index*/, std::string_view value) {
  model::SliceColumn column(LevelIndex(0), SliceIndex(0), 20, 7);
  if (!decode_plane_untrusted(value, 0, column)) return;
  std::string again;
  model::SliceColumn back(LevelIndex(0), SliceIndex(0), 20, 7);
  FUZZ_CHECK(encode_plane(column, 0, again), "a plane that was read can be kept");
  FUZZ_CHECK(decode_plane_untrusted(again, 0, back) && back == column, "and comes back");
}

// No fuzzer guesses the check behind joined slices: it is made here.
void join(std::int64_t last, std::string_view body) {
  std::string value(body);
  const std::uint32_t check = joined::check_of(body);
  for (std::size_t i = 0; i < joined::kCheckBytes; ++i) value += static_cast<char>(check >> (8 * i));
  std::vector<model::SliceColumn> columns;
  if (!decode_joined_untrusted(value, LevelIndex(0), SliceIndex(last), columns)) return;
  FUZZ_CHECK(!columns.empty() && columns.back().index == SliceIndex(last), "a join ends where it says");
  std::string again;
  // What no slicer makes may have been told; it need not be joined again.
  if (!encode_joined(columns, milliseconds(100), again)) return;
  std::vector<model::SliceColumn> back;
  FUZZ_CHECK(decode_joined_untrusted(again, LevelIndex(0), SliceIndex(last), back) && back == columns,
             "joined slices come back");
}

// By kind; the index is of the slice in the key of the value, where its decoder asks for it.
constexpr void (*kChecks[])(std::int64_t, std::string_view) = {record<RunMeta>,
                                                               record<model::StateInfo>,
                                                               record<LeafRecord>,
                                                               record<store::LeafState>,
                                                               record<SourceRecord>,
                                                               record<StreamRecord>,
                                                               record<AlertRecord>,
                                                               record<PhaseRecord>,
                                                               record<std::vector<ClosedThrough>>,
                                                               record<CutMark>,
                                                               key<SliceKey>,
                                                               key<RawKey>,
                                                               blob,
                                                               raw,
                                                               chunk,
                                                               record<JournalEntry>,
                                                               join,
                                                               plane,
                                                               record<store::MeasureState>};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const unsigned kind = in.u8();
  const auto index = (kind & 0x7fu) == 14 || (kind & 0x7fu) == 16 ? in.integer<std::int64_t>() : 0;
  const std::string own = (kind & 0x80u) != 0 ? packed(in) : std::string();
  const std::string_view value = (kind & 0x80u) != 0 ? std::string_view(own) : in.rest();
  if (const unsigned check = kind & 0x7fu; check < std::size(kChecks)) kChecks[check](index, value);
  return 0;
}
