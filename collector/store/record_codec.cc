#include "record_codec.h"

#include <array>

#include "bytes.h"
#include "compress.h"
#include "margay/store/column_codec.h"
#include "raw_columns.h"

namespace margay::store {
namespace {
constexpr std::uint8_t kVersion = 1;
// 3: with whose it is; 2: with the texts of names that are no states.
constexpr std::uint8_t kSourceVersion = 3;
constexpr std::uint8_t kLeafVersion = 2;  // since then with whose it is
// 3: times as classes and low bits, and the source; 2: byte planes; 1: the wire's columns.
constexpr std::uint8_t kRawVersion = 3;

ByteWriter begin(std::string& out, std::uint8_t version = kVersion) {
  ByteWriter w(out);
  w.u8(version);
  return w;
}

Status other_version(std::uint8_t version, const char* what, std::uint8_t newest = kVersion) {
  return fail(ErrorCode::kVersion, std::string(what) + " of version " + std::to_string(version) +
                                       "; this one reads version " + (newest > 1 ? "1 to " : "") +
                                       std::to_string(newest));
}

// Runs `read` behind the version byte, 1 to `newest`, and wants every byte used.
template <class Read>
Status decode(std::string_view bytes, const char* what, Read read, std::uint8_t newest = kVersion) {
  ByteReader in(bytes);
  const std::uint8_t version = in.u8();
  if (in.ok() && (version < 1 || version > newest)) return other_version(version, what, newest);
  if constexpr (std::is_invocable_v<Read, ByteReader&, std::uint8_t>)
    read(in, version);
  else
    read(in);
  if (!in.done()) return fail(ErrorCode::kCorrupt, std::string(what) + " does not decode");
  return {};
}

void put_texts(ByteWriter& w, const std::map<std::string, std::string>& texts) {
  w.varint(texts.size());
  for (const auto& [key, value] : texts) {
    w.string(key);
    w.string(value);
  }
}
void get_texts(ByteReader& in, std::map<std::string, std::string>& texts) {
  texts.clear();
  const std::uint64_t n = in.count(kMostAttributes);
  for (std::uint64_t i = 0; i < n && in.ok(); ++i) {
    std::string key(in.string(kLongestText));
    if (!texts.emplace(std::move(key), in.string(kLongestText)).second) in.refuse();
  }
}
std::string text(ByteReader& in) {
  return std::string(in.string(kLongestText));
}
TimeNs time(ByteReader& in) {
  return TimeNs(in.signed_varint());
}
DurationNs duration(ByteReader& in) {
  return DurationNs(in.signed_varint());
}
std::uint32_t word(ByteReader& in) {
  return static_cast<std::uint32_t>(in.bounded(0xffffffff));
}
StateId state_id(ByteReader& in) {
  return StateId(static_cast<std::uint16_t>(in.bounded(model::StateTable::kMostStates - 1)));
}
void put_optional_time(ByteWriter& w, const std::optional<TimeNs>& t) {
  w.u8(t ? 1 : 0);
  if (t) w.signed_varint(t->value);
}
std::optional<TimeNs> optional_time(ByteReader& in) {
  if (in.bounded(1) == 0) return std::nullopt;
  return time(in);
}
}  // namespace

std::string encode(const RunMeta& v) {
  std::string out;
  ByteWriter w = begin(out);
  for (const std::string* s : {&v.run, &v.command, &v.host, &v.boot_id, &v.margay_version}) w.string(*s);
  w.signed_varint(v.begin.value);
  w.signed_varint(v.wall_offset.value);
  w.varint(v.levels.size());
  for (const DurationNs d : v.levels) w.signed_varint(d.value);
  w.signed_varint(v.lateness.value);
  w.varint(v.silence_hold_slices);
  put_texts(w, v.settings);
  put_optional_time(w, v.end);
  w.u8(v.exit_code ? 1 : 0);
  if (v.exit_code) w.signed_varint(*v.exit_code);
  return out;
}
Status decode_untrusted(std::string_view bytes, RunMeta& v) {
  Status decoded = decode(bytes, "the run's record", [&](ByteReader& in) {
    for (std::string* s : {&v.run, &v.command, &v.host, &v.boot_id, &v.margay_version}) *s = text(in);
    v.begin = time(in);
    v.wall_offset = duration(in);
    v.levels.resize(in.count(kMostLevels));
    for (DurationNs& d : v.levels) d = duration(in);
    v.lateness = duration(in);
    v.silence_hold_slices = word(in);
    get_texts(in, v.settings);
    v.end = optional_time(in);
    v.exit_code.reset();
    if (in.bounded(1) == 1) v.exit_code = static_cast<std::int32_t>(in.signed_varint());
  });
  if (!decoded) return decoded;
  if (Status s = check(v); !s) return fail(ErrorCode::kCorrupt, s.error().message);
  return {};
}

std::string encode(const model::StateInfo& v) {
  std::string out;
  ByteWriter w = begin(out);
  w.u8(static_cast<std::uint8_t>(v.family));
  w.string(v.name);
  return out;
}
Status decode_untrusted(std::string_view bytes, model::StateInfo& v) {
  return decode(bytes, "a state", [&](ByteReader& in) {
    v.family = static_cast<model::StateFamily>(in.bounded(0x7f));
    if (!model::is_state_family(static_cast<std::uint32_t>(v.family))) in.refuse();
    v.name = in.string(model::StateTable::kLongestName);
    if (v.name.empty()) in.refuse();
  });
}

std::string encode(const LeafRecord& v) {
  std::string out;
  ByteWriter w = begin(out, kLeafVersion);
  w.varint(v.source.value);
  w.varint(v.stream);
  put_texts(w, v.attributes);
  w.string(v.owner);
  return out;
}
Status decode_untrusted(std::string_view bytes, LeafRecord& v) {
  const auto read = [&](ByteReader& in, std::uint8_t version) {
    v.source = SourceId(in.varint());
    v.stream = word(in);
    get_texts(in, v.attributes);
    v.owner = version < 2 ? std::string() : text(in);
  };
  return decode(bytes, "a leaf", read, kLeafVersion);
}

std::string encode(const LeafState& v) {
  std::string out;
  ByteWriter w = begin(out);
  w.signed_varint(v.position.value);
  w.varint(v.stack.size());
  for (const model::OpenState& s : v.stack) {
    w.varint(s.state.value);
    w.signed_varint(wrapping_sub(v.position.value, s.since.value));
  }
  w.signed_varint(wrapping_sub(v.position.value, v.last_event.value));
  w.signed_varint(v.longest_before_ns);
  return out;
}
Status decode_untrusted(std::string_view bytes, LeafState& v) {
  return decode(bytes, "a leaf's open states", [&](ByteReader& in) {
    v.position = time(in);
    v.stack.resize(in.count(kDeepestStack));
    for (model::OpenState& s : v.stack) {
      s.state = state_id(in);
      s.since = TimeNs(wrapping_sub(v.position.value, in.signed_varint()));
    }
    v.last_event = TimeNs(wrapping_sub(v.position.value, in.signed_varint()));
    v.longest_before_ns = in.signed_varint();
  });
}

std::string encode(const SourceRecord& v) {
  std::string out;
  ByteWriter w = begin(out, kSourceVersion);
  w.varint(v.epoch);
  put_texts(w, v.attributes);
  w.varint(v.names.size());
  for (const StateId id : v.names) w.varint(id.value);
  w.signed_varint(v.clock_offset.value);
  w.signed_varint(v.clock_error.value);
  w.varint(v.goodbye);
  put_optional_time(w, v.end);
  w.varint(v.texts.size());
  for (const NameText& t : v.texts) {
    w.varint(t.index);
    w.u8(static_cast<std::uint8_t>(t.kind));
    w.string(t.text);
  }
  w.string(v.owner);
  w.varint(v.speaker);
  return out;
}
Status decode_untrusted(std::string_view bytes, SourceRecord& v) {
  const auto read = [&](ByteReader& in, std::uint8_t version) {
    v.epoch = word(in);
    get_texts(in, v.attributes);
    v.names.resize(in.count(kMostNames));
    for (StateId& id : v.names) id = state_id(in);
    v.clock_offset = duration(in);
    v.clock_error = duration(in);
    v.goodbye = word(in);
    v.end = optional_time(in);
    v.texts.clear();
    v.owner.clear();
    v.speaker = 0;
    if (version < 2) return;
    v.texts.resize(in.count(v.names.size()));
    for (NameText& t : v.texts) {
      t.index = static_cast<std::uint16_t>(in.bounded(kMostNames - 1));
      t.kind = static_cast<NameText::Kind>(in.u8());
      if (t.index >= v.names.size() || t.kind < NameText::Kind::kRegion || t.kind > NameText::Kind::kLink)
        in.refuse();
      t.text = text(in);
    }
    if (version < 3) return;
    v.owner = text(in);
    v.speaker = in.varint();
  };
  return decode(bytes, "a source", read, kSourceVersion);
}

std::string encode(const StreamRecord& v) {
  std::string out;
  ByteWriter w = begin(out);
  w.varint(v.epoch);
  for (const std::uint64_t n :
       {v.next, v.produced, v.recorded, v.modelled, v.late_dropped, v.probe_dropped, v.wire_lost, v.rejected})
    w.varint(n);
  return out;
}
Status decode_untrusted(std::string_view bytes, StreamRecord& v) {
  return decode(bytes, "a stream", [&](ByteReader& in) {
    v.epoch = word(in);
    for (std::uint64_t* n : {&v.next, &v.produced, &v.recorded, &v.modelled, &v.late_dropped,
                             &v.probe_dropped, &v.wire_lost, &v.rejected})
      *n = in.varint();
  });
}

std::string encode(const AlertRecord& v) {
  std::string out;
  ByteWriter w = begin(out);
  w.string(v.status);
  w.string(v.json);
  return out;
}
Status decode_untrusted(std::string_view bytes, AlertRecord& v) {
  return decode(bytes, "an alert", [&](ByteReader& in) {
    v.status = text(in);
    v.json = text(in);
  });
}

std::string encode(const PhaseRecord& v) {
  std::string out;
  ByteWriter w = begin(out);
  w.string(v.name);
  w.string(v.label);
  w.signed_varint(v.begin.value);
  w.signed_varint(v.end.value);
  w.varint(v.occurrence);
  w.u8(v.current ? 1 : 0);
  return out;
}
Status decode_untrusted(std::string_view bytes, PhaseRecord& v) {
  return decode(bytes, "a phase", [&](ByteReader& in) {
    v.name = text(in);
    v.label = text(in);
    v.begin = time(in);
    v.end = time(in);
    v.occurrence = word(in);
    v.current = in.bounded(1) == 1;
  });
}

std::string encode(const std::vector<ClosedThrough>& v) {
  std::string out;
  ByteWriter w = begin(out);
  w.varint(v.size());
  for (const ClosedThrough& c : v) {
    w.u8(c.level.value);
    w.signed_varint(c.through.value);
  }
  return out;
}
Status decode_untrusted(std::string_view bytes, std::vector<ClosedThrough>& v) {
  return decode(bytes, "the closed slices' record", [&](ByteReader& in) {
    v.resize(in.count(kMostLevels));
    for (ClosedThrough& c : v) {
      c.level = LevelIndex(in.u8());
      if (c.level.value >= kMostLevels) in.refuse();
      c.through = SliceIndex(in.signed_varint());
    }
  });
}

std::string encode(const GapRecord& v) {
  std::string out;
  ByteWriter w = begin(out);
  w.signed_varint(v.last.value);
  w.varint(v.existed.size());
  std::string bits((v.existed.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < v.existed.size(); ++i)
    if (v.existed[i]) bits[i / 8] = static_cast<char>(static_cast<unsigned char>(bits[i / 8]) | 1u << i % 8);
  w.string(bits);
  return out;
}
Status decode_untrusted(std::string_view bytes, GapRecord& v) {
  return decode(bytes, "a gap", [&](ByteReader& in) {
    v.last = SliceIndex(in.signed_varint());
    const std::uint64_t leaves = in.bounded(kMostLeaves);
    const std::string_view bits = in.string(kMostLeaves / 8);
    if (v.last < v.first || bits.size() != (leaves + 7) / 8) {
      in.refuse();
      return;
    }
    v.existed.resize(leaves);
    for (std::size_t i = 0; i < leaves; ++i)
      v.existed[i] = (static_cast<unsigned char>(bits[i / 8]) >> i % 8 & 1u) != 0;
  });
}

std::string encode(const JournalEntry& v) {
  using Kind = JournalEntry::Kind;
  std::string out;
  ByteWriter w = begin(out);
  w.u8(static_cast<std::uint8_t>(v.kind));
  switch (v.kind) {
    case Kind::kClosed:
    case Kind::kAmended:
      // A slice is mostly the newest one, and closes a little after its end: small numbers.
      w.signed_varint(wrapping_sub(v.at.value, v.slice.value));
      w.signed_varint(v.watermark.value);
      w.string(v.region);
      break;
    case Kind::kEnd:
      w.signed_varint(v.watermark.value);
      w.signed_varint(v.time.value);
      break;
    case Kind::kStart:
      w.signed_varint(v.slice.value);
      w.u8(v.whole ? 1 : 0);
      put_texts(w, v.settings);
      [[fallthrough]];
    case Kind::kTopology:
      w.varint(v.states);
      w.varint(v.leaves);
      w.varint(v.changed.size());
      for (const auto& [leaf, attributes] : v.changed) {
        w.varint(leaf.value);
        put_texts(w, attributes);
      }
      break;
  }
  return out;
}
Status decode_untrusted(std::string_view bytes, JournalEntry& v) {
  using Kind = JournalEntry::Kind;
  return decode(bytes, "a journal entry", [&](ByteReader& in) {
    v.kind = static_cast<Kind>(in.bounded(static_cast<std::uint64_t>(Kind::kEnd)));
    switch (v.kind) {
      case Kind::kClosed:
      case Kind::kAmended:
        v.slice = SliceIndex(wrapping_sub(v.at.value, in.signed_varint()));
        v.watermark = time(in);
        v.region = text(in);
        break;
      case Kind::kEnd:
        v.watermark = time(in);
        v.time = time(in);
        break;
      case Kind::kStart:
        v.slice = SliceIndex(in.signed_varint());
        v.whole = in.bounded(1) == 1;
        get_texts(in, v.settings);
        [[fallthrough]];
      case Kind::kTopology:
        v.states = static_cast<std::uint32_t>(in.bounded(model::StateTable::kMostStates));
        v.leaves = static_cast<std::uint32_t>(in.bounded(kMostLeaves));
        v.changed.resize(in.count(kMostLeaves));
        for (auto& [leaf, attributes] : v.changed) {
          leaf = LeafIndex(static_cast<std::uint32_t>(in.bounded(kMostLeaves - 1)));
          get_texts(in, attributes);
        }
        break;
    }
  });
}

std::string encode(const CutMark& v) {
  std::string out;
  ByteWriter w = begin(out);
  w.varint(v.sequence);
  w.signed_varint(v.wall.value);
  return out;
}
Status decode_untrusted(std::string_view bytes, CutMark& v) {
  return decode(bytes, "the cut's mark", [&](ByteReader& in) {
    v.sequence = in.varint();
    v.wall = time(in);
  });
}

Status encode_blob(std::string_view bytes, std::string& out) {
  out.clear();
  ByteWriter w = begin(out);
  w.varint(bytes.size());
  return compress(bytes, out);
}
Status decode_blob_untrusted(std::string_view value, std::string& bytes) {
  ByteReader in(value);
  const std::uint8_t version = in.u8();
  if (in.ok() && version != kVersion) return other_version(version, "a blob");
  const std::uint64_t size = in.bounded(kLargestBlob);
  if (!in.ok()) return fail(ErrorCode::kCorrupt, "a blob's header is broken");
  return expand_untrusted(in.rest(), static_cast<std::size_t>(size), bytes);
}

Status encode_raw(const RawBlock& v, std::string& out) {
  out.clear();
  RawColumns columns;
  const bool well_formed = parse_columns_untrusted(v.columns, v.count, columns);
  ByteWriter w = begin(out, kRawVersion);
  w.signed_varint(v.end.value);
  w.varint(v.count);
  w.varint(v.columns.size());
  w.u8(v.source ? 1 : 0);
  if (v.source) w.varint(v.source->value);
  if (!well_formed) {  // what is not columns is kept as it is: the store need not understand it
    w.varint(0);
    return compress(v.columns, out);
  }
  thread_local std::string body;
  thread_local std::vector<std::size_t> ends;
  thread_local std::vector<std::string_view> parts;
  body.clear();
  put_raw_body(columns, v.count, body, ends);
  w.varint(body.size());
  parts.clear();
  std::size_t at = 0;
  for (const std::size_t end : ends) {
    parts.push_back(std::string_view(body).substr(at, end - at));
    at = end;
  }
  return compress(parts, out);
}
namespace {
struct RawHeader {
  std::uint8_t version = 0;
  std::size_t size = 0;  // of the columns
  std::size_t body = 0;  // 0: the columns, or what they are, are kept as they are
};
Result<RawHeader> raw_header(ByteReader& in, RawBlock& v) {
  RawHeader h;
  h.version = in.u8();
  if (in.ok() && (h.version < 1 || h.version > kRawVersion)) {
    Status s = other_version(h.version, "a raw block", kRawVersion);
    return fail(s.error().code, s.error().message);
  }
  v.end = time(in);
  v.count = word(in);
  h.size = static_cast<std::size_t>(in.bounded(kLargestBlob));
  v.source.reset();
  if (h.version >= 3 && in.bounded(1) == 1) v.source = SourceId(in.varint());
  if (h.version >= 2) h.body = static_cast<std::size_t>(in.bounded(2 * kLargestBlob));
  if (!in.ok() || (h.version == 2 && h.body == 0))
    return fail(ErrorCode::kCorrupt, "a raw block's header is broken");
  return h;
}
}  // namespace
Status decode_raw_untrusted(std::string_view value, RawBlock& v) {
  ByteReader in(value);
  const auto h = raw_header(in, v);
  if (!h) return fail(h.error().code, h.error().message);
  if (h->body == 0) return expand_untrusted(in.rest(), h->size, v.columns);
  thread_local std::string body;  // as large as one block: a scan takes the memory once
  if (Status s = expand_untrusted(in.rest(), h->body, body); !s) return s;
  const RawForm form = h->version == 2 ? RawForm::kPlanes : RawForm::kTimeClasses;
  if (!get_raw_body_untrusted(body, form, v.count, h->size, v.columns))
    return fail(ErrorCode::kCorrupt, "a raw block's columns are broken");
  return {};
}
Status decode_raw_end_untrusted(std::string_view value, TimeNs& end) {
  ByteReader in(value);
  RawBlock v;
  const auto h = raw_header(in, v);
  if (!h) return fail(h.error().code, h.error().message);
  end = v.end;
  return {};
}

}  // namespace margay::store
