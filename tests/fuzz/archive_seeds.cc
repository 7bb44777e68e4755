// The seeds of the target archive_values.
#include "bytes.h"
#include "fuzz.h"
#include "keys.h"
#include "margay/store/column_codec.h"
#include "margay/store/joined_codec.h"
#include "plane_codec.h"
#include "raw_columns.h"
#include "record_codec.h"
#include "seeds.h"

namespace margay::fuzz {

void archive_seeds() {
  const auto put = [](const std::string& name, unsigned kind, const std::string& value) {
    seed("archive_values", name, InputWriter().u8(kind).bytes(value).text());
  };
  store::RunMeta run;
  run.run = "r";
  run.command = "lmp -in in.lj";
  run.boot_id = "boot";
  run.begin = TimeNs(1'700'000'000'000'000'000);
  run.levels = {milliseconds(100), seconds(1)};
  run.settings = {{"slice.duration", "100ms"}};
  run.end = TimeNs(1'700'000'001'000'000'000);
  run.exit_code = 3;
  put("run", 0, store::encode(run));
  put("state", 1, store::encode(model::StateInfo{"MPI_Send", model::StateFamily::kPointToPoint}));
  store::LeafRecord leaf;
  leaf.source = SourceId(0x1234567890abcdef);
  leaf.attributes = {{"host", "n1"}, {"rank", "0"}};
  put("leaf", 2, store::encode(leaf));
  store::LeafState open;
  open.stack = {{kCompute, TimeNs(5)}, {StateId(4), TimeNs(90)}};
  open.position = TimeNs(100);
  open.last_event = TimeNs(-1);
  put("leaf-state", 3, store::encode(open));
  store::SourceRecord source;
  source.attributes = leaf.attributes;
  source.names = {kCompute, StateId(3), StateId(4)};
  source.clock_offset = seconds(-5);
  source.end = TimeNs(7);
  put("source", 4, store::encode(source));
  store::StreamRecord stream;
  stream.next = 100;
  stream.produced = 120;
  stream.wire_lost = ~std::uint64_t{0};
  put("stream", 5, store::encode(stream));
  put("alert", 6, store::encode(store::AlertRecord{"id", "{\"id\":\"x\"}", "firing"}));
  store::PhaseRecord phase;
  phase.name = "A";
  phase.label = "solve";
  phase.current = true;
  put("phase", 7, store::encode(phase));
  put("closed", 8,
      store::encode(std::vector<store::ClosedThrough>{{LevelIndex(0), SliceIndex(17)},
                                                      {LevelIndex(1), SliceIndex(-1)}}));
  put("cut", 9, store::encode(store::CutMark{12, TimeNs(1'700'000'000'000'000'000)}));
  std::string value;
  static_cast<void>(store::encode_blob("some state of the detector", value));
  put("blob", 12, value);
  store::RawBlock raw;
  raw.end = TimeNs(99);
  raw.count = 11;
  raw.columns = columns_of(life(0, true));
  static_cast<void>(store::encode_raw(raw, value));
  put("raw", 13, value);
  // Enough records that their times lie in groups, with a body that can be changed: version, end, count, size
  // of the columns, source.
  std::vector<EventRecord> calls;
  for (std::int64_t i = 0; i < 40; ++i)
    calls.push_back({i * i * 1'000, 64, 1, 7, 0, static_cast<std::uint16_t>(i / 2 % 3),
                     static_cast<std::uint8_t>(i % 2 == 0 ? MARGAY_ENTER : MARGAY_LEAVE), 0});
  raw.columns = columns_of(calls);
  raw.count = static_cast<std::uint32_t>(calls.size());
  raw.source = SourceId(77);
  static_cast<void>(store::encode_raw(raw, value));
  put("raw-grouped", 13, value);
  store::RawColumns found;
  std::string bare, header(1, '\3');
  std::vector<std::size_t> ends;
  if (store::parse_columns_untrusted(raw.columns, raw.count, found))
    store::put_raw_body(found, raw.count, bare, ends);
  store::ByteWriter w(header);
  w.signed_varint(99);
  w.varint(raw.count);
  w.varint(raw.columns.size());
  w.u8(1);
  w.varint(77);
  seed("archive_values", "raw-body", InputWriter().u8(0x80 | 13).piece(header).bytes(bare).text());
  // Two leaves, four states; as written, and with the body bare.
  model::SliceColumn column(LevelIndex(0), SliceIndex(17'000'000'000), 2, 4);
  for (std::uint32_t l = 0; l < 2; ++l) {
    column.duration_ns(LeafIndex(l))[2] = 60'000'000;
    column.duration_ns(LeafIndex(l))[3] = 40'000'000;
    column.longest_ns(LeafIndex(l))[3] = 30'000'000 + l;
    column.visits(LeafIndex(l))[3] = 2;
    column.open(LeafIndex(l)) = {StateId(2), TimeNs(1'700'000'000'010'000'000)};
    column.evidence(LeafIndex(l)).process_state = 'R';
    column.evidence(LeafIndex(l)).sampled_ns = 50'000'000;
  }
  column.region = "solve";
  static_cast<void>(store::encode_chunk(column, 0, milliseconds(100), value));
  seed("archive_values", "chunk", InputWriter().u8(14).integer(column.index.value).bytes(value).text());
  // version, leaves, states, flags, lost, slice, region; then no cell, and a leaf that is open in a state
  const std::string front("\x01\x01\x02\x00\x00\x64\x00", 7);
  const std::string body = std::string("\x01\x00\x00", 3) +
                           std::string("\x01\x05\x00\x01\x01\x01\x02\x01\x09", 9) + std::string(6, '\0');
  std::vector<model::SliceColumn> joined(3, column);
  for (std::size_t i = 0; i < joined.size(); ++i)
    joined[i].index = column.index + static_cast<std::int64_t>(i);
  std::string join;
  static_cast<void>(store::encode_joined(joined, milliseconds(100), join));
  join.resize(join.size() - 4);  // the target makes the check
  seed("archive_values", "join", InputWriter().u8(16).integer(joined.back().index.value).bytes(join).text());
  using model::Taker;
  joined[1].takers = {{LeafIndex(0), Taker::Kind::kOther, 4242, Taker::kNobody, 1, 90, 100, "python3"},
                      {LeafIndex(0), Taker::Kind::kRank, 77, 1, -1, 10, 100, "lmp"}};
  static_cast<void>(store::encode_chunk(joined[1], 0, milliseconds(100), value));
  seed("archive_values", "chunk-takers",
       InputWriter().u8(14).integer(joined[1].index.value).bytes(value).text());
  static_cast<void>(store::encode_joined(joined, milliseconds(100), join));
  join.resize(join.size() - 4);
  seed("archive_values", "join-takers",
       InputWriter().u8(16).integer(joined.back().index.value).bytes(join).text());
  seed("archive_values", "chunk-body",
       InputWriter().u8(0x80 | 14).integer(std::int64_t{5}).piece(front).bytes(body).text());
  store::JournalEntry entry;
  entry.slice = entry.at = SliceIndex(5);
  entry.watermark = TimeNs(612);
  entry.region = "solve";
  put("journal-closed", 15, store::encode(entry));
  entry.kind = store::JournalEntry::Kind::kStart;
  entry.whole = true;
  entry.states = 5;
  entry.leaves = 1;
  entry.changed = {{LeafIndex(0), leaf.attributes}};
  entry.settings = {{"p", "auto"}};
  put("journal-start", 15, store::encode(entry));
  entry.kind = store::JournalEntry::Kind::kEnd;
  entry.time = TimeNs(700);
  put("journal-end", 15, store::encode(entry));
  put("slice-key", 10, store::SliceKey{LevelIndex(1), SliceIndex(-5), 3}.encode());
  put("raw-key", 11, store::RawKey{TimeNs(5), LeafIndex(2), 77}.encode());
  // The same leaves with a measured plane.
  model::SliceColumn measured = column;
  measured.measure(model::Plane::kCounts);
  measured.measured(LeafIndex(1))[3] = 4096;
  static_cast<void>(store::encode_plane(measured, 0, value));
  put("plane", 17, value);
  put("measure", 18, store::encode(store::MeasureState{}));
}

}  // namespace margay::fuzz
