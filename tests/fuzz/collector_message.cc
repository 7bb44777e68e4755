// Messages of node agents into the ingest: every account adds up, rows sum to their slice, everything is
// bounded, and what the daemon would write of it the archive takes and gives back.
#include <memory>

#include "cut_records.h"
#include "ingest_script.h"
#include "margay/model/hierarchy.h"
#include "margay/store/column_codec.h"
#include "margay/wire/columns.h"
#include "proto_mutator.h"
#include "record_codec.h"

namespace {

using namespace margay;

// One cut, as CutBuilder::make does.
void check_cut(fuzz::Conversation& c) {
  store::Cut cut;
  cut.sequence = 1;
  const auto changed = c.slicer.take_changed();
  for (std::size_t i = 0; i < changed.size(); ++i) {
    if (i >= 8 && i + 8 < changed.size())
      continue;  // the ones between are like them, and compressing takes time
    const SliceIndex s = changed[i];
    const model::SliceColumn* column = c.slicer.column(s);
    if (column == nullptr) continue;
    std::string bytes;
    FUZZ_CHECK(store::encode_chunk(*column, 0, fuzz::kSlice, bytes), "a column can be kept");
    model::SliceColumn back;
    back.index = s;
    FUZZ_CHECK(store::decode_chunk_untrusted(bytes, 0, back) && back == *column, "and comes back");
  }
  for (std::uint16_t i = 0; i < c.states.size(); ++i)
    cut.states.push_back({StateId(i), c.states[StateId(i)]});
  for (std::uint32_t i = 0; i < c.ingest.leaves().size(); ++i) {
    const auto& [source, stream] = c.ingest.leaf_owner()[i];
    cut.leaves.push_back({LeafIndex(i), source, stream, c.ingest.leaves()[i]});
    cut.leaf_states.push_back(daemon::to_record(LeafIndex(i), c.slicer.leaf_state(LeafIndex(i))));
  }
  for (const auto& [id, s] : c.ingest.sources())
    cut.sources.push_back(
        {id, s.epoch, s.attributes, s.states, s.clock_offset, s.clock_error, s.goodbye, s.end});
  for (ingest::AcceptedBatch& b : c.ingest.take_accepted()) {
    std::vector<EventRecord> records;
    FUZZ_CHECK(wire::decode_columns_untrusted(b.columns, b.count, records), "a raw block holds what it says");
    cut.raw.push_back({b.leaf, b.first, b.begin, b.end, b.count, std::move(b.columns)});
  }
  const Status ok = store::check(cut);
  if (!ok) std::fprintf(stderr, "%s\n", ok.error().message.c_str());
  FUZZ_CHECK(ok, "the archive takes every cut");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  fuzz::Conversation c;
  for (int frames = 0; !in.empty() && frames < 64; ++frames)
    c.step(in, fuzz::check_column, fuzz::check_column, [&] {
      check_cut(c);
      const model::Hierarchy h(c.ingest.leaves());
      FUZZ_CHECK(h.leaf_order().size() == c.ingest.leaves().size(), "every leaf has its place");
      for (const LeafIndex leaf : h.leaf_order())
        FUZZ_CHECK(h[h.node_of(leaf)].leaf_count == 1, "and a node of its own");
    });
  check_cut(c);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return margay::fuzz::mutate_frames<margay::wire::ToCollector>(data, size, most, seed, 0, fuzz::kFrameHead);
}
