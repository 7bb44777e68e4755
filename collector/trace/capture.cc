#include "margay/trace/capture.h"
#include "margay/base/last_state.h"
#include "margay/base/text.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "capture_bytes.h"
#include "capture_sources.h"
#include "capture_wire.h"
#include "margay/ingest/source_registry.h"
#include "margay/wire/columns.h"
#include "margay/wire/ingest.pb.h"

namespace margay::trace {
namespace {

using internal::BatchView;
using internal::Bytes;
using internal::InputBytes;
using internal::kFarthestNs;
using internal::kNever;
using internal::kNoName;
using internal::MemoryBytes;
using internal::MessageView;
using internal::Source;
using internal::Stream;

constexpr std::size_t kHead = 16;
constexpr std::uint32_t kLargestBody = 16 << 20;   // transport::kLargestMessage
constexpr std::uint32_t kLongestRoutingId = 1024;  // ZeroMQ's have 255 bytes at most
constexpr std::uint64_t kStepBytes = std::uint64_t{16} << 20;
constexpr std::size_t kMostNames = 65535;
constexpr std::size_t kMostNamesOfASource = 1024;
constexpr std::size_t kMostStreams = 256;
constexpr std::size_t kMostAttributes = 64;
constexpr std::size_t kLongestText = 256;
// Of one message: constant columns have no bytes, and a small message can claim any number of records.
constexpr std::uint32_t kMostRecords = 1u << 21;
constexpr std::uint64_t kCoverBatches = 256;
// What begins to be heard of only now may have begun before.
constexpr std::int64_t kJoinNs = 1'000'000'000;
// No record is from later than its message's arrival, give or take the clocks.
constexpr std::int64_t kFutureNs = 10'000'000'000;

std::int64_t bounded(std::int64_t ns) {
  return std::clamp(ns, -kFarthestNs, kFarthestNs);
}

template <class T>
T little_endian(const char* from) {
  T v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

class CaptureReader {
 public:
  CaptureReader(const CaptureOptions& options, Consumer& consumer, bool scan)
      : options_(options), consumer_(consumer), scan_(scan) {}

  Result<CaptureCounts> read(Bytes& bytes, const std::string& path);

 private:
  Status message(std::int64_t arrival, std::string_view body);
  Status hello(const wire::Hello& hello, std::int64_t arrival);
  Status batch(const BatchView& b, std::int64_t arrival);
  Status records(Source& source, Stream& stream, const BatchView& b, std::uint64_t skip);
  Status goodbye(const wire::Goodbye& g, std::int64_t arrival);
  Result<Stream*> stream_of(std::uint64_t id, Source& source, std::uint32_t index, std::string_view name);
  Result<std::uint16_t> name_of(Name::Kind kind, const std::string& text, std::uint32_t family);
  bool convert(const Source& source, std::size_t skip);
  void convert_slowly(const Source& source, Stream& stream, std::size_t skip);
  Status pass_on(Stream& stream, std::span<const EventRecord> records);
  Status tell(Stream& stream, std::uint8_t kind, std::int64_t t, std::uint64_t bytes = 0,
              std::uint16_t state = 0);
  Status give_up(Stream& stream, std::uint64_t next, std::int64_t t);
  std::int64_t to_trace(const Source& source, std::int64_t host) const {
    return std::min(bounded(host) + source.offset, latest_);
  }
  Status tell_covered(std::int64_t arrival);
  void seen(std::int64_t t) { counts_.end = std::max(counts_.end, TimeNs(t)); }

  const CaptureOptions& options_;
  Consumer& consumer_;
  const bool scan_;
  CaptureCounts counts_;
  MessageView parts_;
  std::optional<std::string> run_;
  std::unordered_map<std::uint64_t, Source> sources_;
  std::map<std::string, std::int64_t> offsets_;  // by boot id
  std::map<std::pair<Name::Kind, std::string>, std::uint16_t> names_;
  std::unordered_map<std::string, std::pair<LeafIndex, std::uint64_t>> ranks_;  // and the source that has it
  std::vector<EventRecord> decoded_, out_;
  std::uint32_t records_left_ = 0;              // of the message
  std::optional<std::int64_t> arrival_offset_;  // trace time less arrival
  std::int64_t latest_ = kFarthestNs;           // trace time
  std::uint64_t batches_ = 0;                   // since it was told what is covered
  TimeNs told_ = kNever;                        // covered
};

Result<CaptureCounts> CaptureReader::read(Bytes& bytes, const std::string& path) {
  std::uint64_t told = 0;
  for (;;) {
    const auto head = bytes.take(kHead);
    if (!head) return tl::unexpected(head.error());
    if (head->empty()) break;
    if (head->size() < kHead) {
      counts_.cut_off = head->size();
      break;
    }
    const auto arrival = little_endian<std::int64_t>(head->data());
    const auto from = little_endian<std::uint32_t>(head->data() + 8);
    const auto size = little_endian<std::uint32_t>(head->data() + 12);
    if (from > kLongestRoutingId || size > kLargestBody)
      return fail(ErrorCode::kCorrupt, path + ": byte " + std::to_string(counts_.bytes) +
                                           ": no message begins here (" + std::to_string(from) + " and " +
                                           std::to_string(size) + " bytes); damaged, or no capture");
    const auto body = bytes.take(std::size_t{from} + size);
    if (!body) return tl::unexpected(body.error());
    if (body->size() < std::size_t{from} + size) {
      counts_.cut_off = kHead + body->size();
      break;
    }
    if (Status ok = message(bounded(arrival), body->substr(from)); !ok)
      return fail(ok.error(), path + ": byte " + std::to_string(counts_.bytes));
    counts_.bytes += kHead + body->size();
    ++counts_.messages;
    if (options_.step && counts_.bytes - told >= kStepBytes) {
      told = counts_.bytes;
      if (Status ok = options_.step(told); !ok) return tl::unexpected(ok.error());
    }
  }
  if (Status ok = consumer_.on_covered(std::max(counts_.end, told_)); !ok) return tl::unexpected(ok.error());
  return counts_;
}

Status CaptureReader::message(std::int64_t arrival, std::string_view body) {
  if (!internal::find_parts_untrusted(body, parts_)) {
    ++counts_.undecodable;
    return {};
  }
  if (!run_ && parts_.version == wire::kWireVersion) run_ = parts_.run;
  if (parts_.version != wire::kWireVersion || parts_.run != *run_) {
    ++counts_.foreign;
    return {};
  }
  wire::Hello h;
  wire::Goodbye g;
  bool good = true;
  for (const std::string_view piece : parts_.hello)
    good = good && h.MergeFromString({piece.data(), piece.size()});
  for (const std::string_view piece : parts_.goodbye)
    good = good && g.MergeFromString({piece.data(), piece.size()});
  if (!good) {
    ++counts_.undecodable;
    return {};
  }
  records_left_ = kMostRecords;
  if (arrival_offset_) latest_ = arrival + *arrival_offset_ + kFutureNs;
  if (!parts_.hello.empty())
    if (Status ok = hello(h, arrival); !ok) return ok;
  for (const BatchView& b : parts_.batches)
    if (Status ok = batch(b, arrival); !ok) return ok;
  if (!parts_.goodbye.empty())
    if (Status ok = goodbye(g, arrival); !ok) return ok;
  batches_ += parts_.batches.size();
  // Looking at all sources costs as much as they are.
  if (scan_ || batches_ < std::max<std::uint64_t>(kCoverBatches, sources_.size())) return {};
  batches_ = 0;
  return tell_covered(arrival);
}

// As the collector's watermark: what every source that goes on is covered to, but one that is behind holds it
// for so long only.
Status CaptureReader::tell_covered(std::int64_t arrival) {
  if (!arrival_offset_) return {};
  const std::int64_t now = arrival + *arrival_offset_;
  const std::int64_t least_held = now - bounded(options_.give_up.value);
  const std::int64_t least = internal::covered_by_all(sources_, least_held, std::min(now, counts_.end.value));
  const TimeNs t(least - kJoinNs);
  if (told_ == kNever || t <= told_) return {};
  told_ = t;
  return consumer_.on_covered(t);
}

Result<std::uint16_t> CaptureReader::name_of(Name::Kind kind, const std::string& text, std::uint32_t family) {
  if (text.empty() || text.size() > model::StateTable::kLongestName) return kNoName;
  const auto known = names_.find({kind, text});
  if (known != names_.end()) return known->second;
  if (names_.size() >= kMostNames) return fail(ErrorCode::kLimit, "more than 65535 names");
  const auto index = static_cast<std::uint16_t>(names_.size());
  const auto f =
      family <= wire::FAMILY_START_END ? static_cast<model::StateFamily>(family) : model::StateFamily::kOther;
  if (Status ok = consumer_.on_name(index, {kind, text, f}); !ok) return tl::unexpected(ok.error());
  names_.emplace(std::pair(kind, text), index);
  return index;
}

Status CaptureReader::hello(const wire::Hello& hello, std::int64_t arrival) {
  if (sources_.size() >= kMostCaptureSources && !sources_.contains(hello.source()))
    return fail(ErrorCode::kLimit, "more than " + std::to_string(kMostCaptureSources) + " sources");
  const auto [it, fresh] = sources_.try_emplace(hello.source());
  Source& source = it->second;
  source.epoch = std::max(source.epoch, hello.epoch());
  if (fresh) {
    for (const auto& [key, value] : hello.attributes())
      if (source.attributes.size() < kMostAttributes)
        source.attributes[key.substr(0, kLongestText)] = value.substr(0, kLongestText);
    const auto boot = source.attributes.find("boot_id");
    const std::string id = boot == source.attributes.end() ? "" : boot->second;
    const std::int64_t told =
        bounded(bounded(hello.clock().realtime_ns()) - bounded(hello.clock().monotonic_ns()));
    source.offset = !options_.boot_id.empty() && id == options_.boot_id
                        ? bounded(options_.clock_offset.value)
                        : offsets_.try_emplace(id, told).first->second;
    source.met = bounded(bounded(hello.clock().monotonic_ns()) + source.offset);
    if (!arrival_offset_) {
      arrival_offset_ = bounded(bounded(hello.clock().monotonic_ns()) + source.offset) - arrival;
      latest_ = arrival + *arrival_offset_ + kFutureNs;
    }
  }
  for (int i = static_cast<int>(source.names.size());
       i < hello.names_size() && source.names.size() < kMostNamesOfASource; ++i) {
    const wire::Name& name = hello.names(i);
    const Name::Kind kind = model::name_kind(name.family());
    const auto index = name_of(kind, name.name(), name.family());
    if (!index) return tl::unexpected(index.error());
    if (kind == Name::Kind::kState && is_last_state(name.name()))
      (name.name() == MARGAY_THREAD_END ? source.thread_end : source.finalize) =
          static_cast<std::uint16_t>(source.names.size());
    source.names.push_back(*index);
  }
  return {};
}

Result<Stream*> CaptureReader::stream_of(std::uint64_t id, Source& source, std::uint32_t index,
                                         std::string_view name) {
  const auto known = source.streams.find(index);
  if (known != source.streams.end()) return &known->second;
  if (source.streams.size() >= kMostStreams) return nullptr;
  Stream stream;
  const model::Attributes attributes =
      ingest::leaf_attributes(source.attributes, SourceId(id), index, clean_utf8(name, kLongestText));
  std::string key;
  if (attributes.contains("rank"))
    for (const char* a : {"host", "rank", "thread"})
      if (const auto it = attributes.find(a); it != attributes.end())
        key += std::to_string(it->second.size()) + ":" + it->second + a;
  // A job made of several MPI programs one after the other has each rank several times: the same resource.
  const auto before = key.empty() ? ranks_.end() : ranks_.find(key);
  const auto owner = before == ranks_.end() ? sources_.end() : sources_.find(before->second.second);
  if (owner != sources_.end() && owner->second.ended) {
    stream.leaf = before->second.first;
    before->second.second = id;
  } else {
    if (counts_.leaves >= kMostCaptureLeaves)
      return fail(ErrorCode::kLimit, "more than " + std::to_string(kMostCaptureLeaves) + " leaves");
    stream.leaf = LeafIndex(static_cast<std::uint32_t>(counts_.leaves++));
    if (Status ok = consumer_.on_leaf(stream.leaf, {attributes, {}}); !ok) return tl::unexpected(ok.error());
    if (!key.empty()) ranks_.insert_or_assign(key, std::pair(stream.leaf, id));
  }
  stream.mine = !scan_ && stream.leaf.value % options_.parts == options_.part &&
                (!options_.wanted || options_.wanted(stream.leaf));
  return &source.streams.emplace(index, stream).first->second;
}

Status CaptureReader::pass_on(Stream& stream, std::span<const EventRecord> records) {
  if (!stream.mine || records.empty()) return {};
  counts_.records += records.size();
  return consumer_.on_records(stream.leaf, records);
}

Status CaptureReader::tell(Stream& stream, std::uint8_t kind, std::int64_t t, std::uint64_t bytes,
                           std::uint16_t state) {
  seen(t);
  const EventRecord r{t, bytes, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, state, kind, 0};
  return pass_on(stream, {&r, 1});
}

Status CaptureReader::give_up(Stream& stream, std::uint64_t next, std::int64_t t) {
  const std::uint64_t lost = next - stream.next;
  stream.next = next;
  stream.gap_since.reset();
  ++counts_.holes;
  counts_.lost += lost;
  return tell(stream, MARGAY_GAP, t, lost);
}

Status CaptureReader::batch(const BatchView& b, std::int64_t arrival) {
  const auto it = sources_.find(b.source);
  if (it == sources_.end() || it->second.names.empty()) {
    ++counts_.nameless;
    return {};
  }
  Source& source = it->second;
  if (b.epoch < source.epoch) return {};  // an agent that has been replaced
  source.epoch = b.epoch;
  const auto found = stream_of(b.source, source, b.stream, b.thread);
  if (!found) return tl::unexpected(found.error());
  if (*found == nullptr) {  // a stream beyond the bound
    counts_.rejected += b.count;
    return {};
  }
  Stream& stream = **found;
  // Not taken: an agent sends them again.
  if (b.count > wire::kMaxBatchRecords || b.count > records_left_) {
    ++counts_.bad_batches;
    return {};
  }
  records_left_ -= b.count;
  const std::int64_t covered = to_trace(source, b.covered_until_ns);
  std::optional<std::int64_t> first;  // time of the first record
  if (b.count > 0 && b.columns.size() >= 9)
    first = to_trace(source, little_endian<std::int64_t>(b.columns.data() + 1));

  bool gap_ended = false;
  if (b.first > stream.next) {
    if (!(b.epoch > stream.epoch && stream.began)) {
      if (!stream.gap_since) stream.gap_since = arrival;
      if (arrival - *stream.gap_since < options_.give_up.value) return {};  // it comes again
    }
    gap_ended = true;
    if (Status ok = give_up(stream, b.first, std::min(covered, first.value_or(covered))); !ok) return ok;
  }
  const std::uint64_t skip = std::min<std::uint64_t>(b.count, stream.next - b.first);
  counts_.repeats += skip;
  if (b.count > 0 && skip == b.count) return {};
  if (b.count > 0) {
    stream.epoch = b.epoch;
    stream.began = true;
    if (first && (!counts_.begin || TimeNs(*first) < *counts_.begin) && b.columns.size() >= 9 &&
        little_endian<std::int64_t>(b.columns.data() + 1) > 0)
      counts_.begin = TimeNs(*first);
    // Other streams may have begun before the first that is heard of.
    if (counts_.begin && told_ == kNever && !scan_) {
      told_ = *counts_.begin - DurationNs(kJoinNs);
      if (Status ok = consumer_.on_covered(told_); !ok) return ok;
    }
    if (Status ok = records(source, stream, b, skip); !ok) return ok;
    stream.next = b.first + b.count;
  }
  stream.gap_since.reset();
  stream.covered = std::max(stream.covered, covered);
  seen(covered);
  if (gap_ended && b.count == 0 && b.open_state > 0 && b.open_state <= source.names.size() &&
      source.names[b.open_state - 1] != kNoName)
    return tell(stream, MARGAY_STACK, covered, 0, source.names[b.open_state - 1]);
  return {};
}

// decoded_[skip...] in host time and the source's names, to trace time and those of the trace, in place.
// False where a record among them needs a closer look; then nothing has changed.
bool CaptureReader::convert(const Source& source, std::size_t skip) {
  EventRecord* const r = decoded_.data();
  const std::size_t n = decoded_.size();
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  std::uint16_t greatest = 0;
  std::uint32_t odd = 0;
  for (std::size_t i = skip; i < n; ++i) {
    least = std::min(least, r[i].time_ns);
    most = std::max(most, r[i].time_ns);
    greatest = std::max(greatest, r[i].state);
    odd |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(r[i].kind - MARGAY_ENTER) >
                                      MARGAY_STACK - MARGAY_ENTER) |
           static_cast<std::uint32_t>(r[i].state == source.finalize || r[i].state == source.thread_end);
  }
  const std::uint16_t* const names = source.names.data();
  if (odd != 0 || least <= 0 || most > kFarthestNs || most + source.offset > latest_ ||
      greatest >= source.names.size() ||
      std::find(names, names + greatest + 1, kNoName) != names + greatest + 1)
    return false;
  for (std::size_t i = skip; i < n; ++i) {
    r[i].time_ns += source.offset;
    r[i].state = names[r[i].state];
  }
  return true;
}

void CaptureReader::convert_slowly(const Source& source, Stream& stream, std::size_t skip) {
  out_.clear();
  for (std::size_t i = skip; i < decoded_.size(); ++i) {
    EventRecord r = decoded_[i];
    if (r.time_ns <= 0 || r.time_ns > kFarthestNs || !may_be_sent(r.kind) || r.state >= source.names.size() ||
        r.time_ns + source.offset > latest_ || (source.names[r.state] == kNoName && r.kind != MARGAY_GAP)) {
      ++counts_.rejected;
      continue;
    }
    const bool last = r.kind == MARGAY_LEAVE && (r.state == source.finalize || r.state == source.thread_end);
    r.time_ns += source.offset;
    r.state = r.kind == MARGAY_GAP ? std::uint16_t{0} : source.names[r.state];
    out_.push_back(r);
    stream.ended = last;
    if (last) out_.push_back({r.time_ns, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, MARGAY_END, 0});
  }
}

Status CaptureReader::records(Source& source, Stream& stream, const BatchView& b, std::uint64_t skip) {
  if (scan_) counts_.records += b.count - skip;
  if (!stream.mine) return {};
  if (!wire::decode_columns_untrusted({b.columns.data(), b.columns.size()}, b.count, decoded_)) {
    // They arrived, and cannot be understood: what they hid is unknown.
    ++counts_.bad_batches;
    counts_.rejected += b.count - skip;
    return tell(stream, MARGAY_GAP, to_trace(source, b.covered_until_ns), b.count - skip);
  }
  if (convert(source, skip)) {
    stream.ended = false;
    return pass_on(stream, std::span(decoded_).subspan(skip));
  }
  convert_slowly(source, stream, skip);
  return pass_on(stream, out_);
}

Status CaptureReader::goodbye(const wire::Goodbye& g, std::int64_t arrival) {
  const auto it = sources_.find(g.source());
  if (it == sources_.end()) {
    ++counts_.nameless;
    return {};
  }
  Source& source = it->second;
  if (g.epoch() < source.epoch || source.ended) return {};
  std::int64_t end = to_trace(source, g.end_ns());
  for (const wire::StreamTotal& total : g.streams()) {
    const auto found = stream_of(g.source(), source, total.stream(), {});
    if (!found) return tl::unexpected(found.error());
    Stream* const stream = *found;
    if (stream == nullptr || total.recorded() <= stream->next) continue;
    if (!stream->gap_since) stream->gap_since = arrival;
    if (arrival - *stream->gap_since < options_.give_up.value)
      return {};  // it comes again, after the records
    if (Status ok = give_up(*stream, total.recorded(), end); !ok) return ok;
  }
  for (const wire::StreamTotal& total : g.streams())
    if (const auto s = source.streams.find(total.stream()); s != source.streams.end() && total.untold() > 0)
      if (Status ok = tell(s->second, MARGAY_GAP, end, total.untold()); !ok) return ok;
  source.ended = true;
  for (auto& [index, stream] : source.streams) {
    if (stream.ended) continue;
    end = std::max(end, stream.covered);
    stream.ended = true;
    if (Status ok = tell(stream, MARGAY_END, end); !ok) return ok;
  }
  return {};
}

Result<CaptureCounts> read_file(const std::string& path, const CaptureOptions& options, Consumer& consumer,
                                bool scan) {
  auto input = Input::open(path == "-" ? "./-" : path);
  if (!input) return tl::unexpected(input.error());
  InputBytes bytes(*input);
  return CaptureReader(options, consumer, scan).read(bytes, path);
}

}  // namespace

bool looks_like_capture(std::string_view head) {
  if (head.size() < kHead) return false;
  const auto from = little_endian<std::uint32_t>(head.data() + 8);
  const auto size = little_endian<std::uint32_t>(head.data() + 12);
  if (from > kLongestRoutingId || size > kLargestBody || size == 0) return false;
  // The first field of a message is its version.
  return head.size() <= kHead + from || head[kHead + from] == '\x08';
}

Result<CaptureCounts> read_capture(const std::string& path, const CaptureOptions& options,
                                   Consumer& consumer) {
  return read_file(path, options, consumer, false);
}
Result<CaptureCounts> scan_capture(const std::string& path, const CaptureOptions& options,
                                   Consumer& consumer) {
  return read_file(path, options, consumer, true);
}
Result<CaptureCounts> read_capture(Input& input, const CaptureOptions& options, Consumer& consumer) {
  InputBytes bytes(input);
  return CaptureReader(options, consumer, false).read(bytes, input.name());
}
Result<CaptureCounts> read_capture_bytes(std::string_view bytes, const std::string& name,
                                         const CaptureOptions& options, Consumer& consumer) {
  MemoryBytes memory(bytes);
  return CaptureReader(options, consumer, false).read(memory, name);
}

}  // namespace margay::trace
