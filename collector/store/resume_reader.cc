#include "resume_reader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "keys.h"
#include "plane_codec.h"
#include "record_codec.h"

namespace margay::store {
namespace {

constexpr std::size_t kOverhead = 160;  // of a record in memory, beside its texts

tl::unexpected<Error> corrupt(const std::string& what) {
  return fail(ErrorCode::kCorrupt, what);
}
LeafIndex leaf_of(std::string_view id) {
  return LeafIndex(static_cast<std::uint32_t>(get_big_endian(id)));
}

// The newest of what is put in, as many as take `most` bytes.
template <class Record>
class Newest {
 public:
  explicit Newest(std::size_t most) : most_(most) {}
  void put(std::int64_t time, std::size_t bytes, Record&& record) {
    bytes_ += bytes;
    kept_.emplace(std::pair(time, ++count_), std::pair(bytes, std::move(record)));
    while (bytes_ > most_ && !kept_.empty()) {
      bytes_ -= kept_.begin()->second.first;
      kept_.erase(kept_.begin());
    }
  }
  // In the order in which they were put in.
  std::vector<Record> take() {
    std::map<std::uint64_t, Record> ordered;
    for (auto& [key, value] : kept_) ordered.emplace(key.second, std::move(value.second));
    kept_.clear();
    std::vector<Record> out;
    for (auto& [number, record] : ordered) out.push_back(std::move(record));
    return out;
  }
  std::uint64_t left() const { return count_ - kept_.size(); }

 private:
  std::size_t most_, bytes_ = 0;
  std::uint64_t count_ = 0;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::pair<std::size_t, Record>> kept_;
};

class ResumeReader {
 public:
  ResumeReader(const Database& database, const LeafStatuses& statuses, const rocksdb::ReadOptions& options,
               const LoadBounds& bounds)
      : database_(database), statuses_(statuses), options_(options), bounds_(bounds) {}

  Result<Resume> read() {
    for (const auto part : {&ResumeReader::read_run, &ResumeReader::read_leaves, &ResumeReader::read_sources,
                            &ResumeReader::read_alerts, &ResumeReader::read_phases, &ResumeReader::read_state,
                            &ResumeReader::check})
      if (Status s = (this->*part)(); !s) return tl::unexpected(s.error());
    return std::move(resume_);
  }

 private:
  // One value of its own key.
  template <class Record>
  Status single(std::string_view key, Record& record) const {
    std::string value;
    const auto found = database_.get(options_, kMeta, key, value);
    if (!found) return tl::unexpected(found.error());
    if (!*found) return {};
    return decode_untrusted(value, record);
  }
  // Records of one letter; set(record, bytes of the key behind the letter).
  template <class Record, class Set>
  Status many(Family family, char letter, std::size_t id_bytes, std::vector<Record>& out, Set set) const {
    return database_.scan_letter(options_, family, letter,
                                 [&](std::string_view key, std::string_view bytes) -> Result<bool> {
                                   if (key.size() != 1 + id_bytes) return corrupt("a key has a wrong length");
                                   auto& record = out.emplace_back();
                                   set(record, key.substr(1));
                                   if (Status s = decode_untrusted(bytes, record); !s)
                                     return tl::unexpected(s.error());
                                   return true;
                                 });
  }
  // One after the other: there may be more than memory takes. decode(bytes of the key behind the letter,
  // value, record, its size) returns its time. `id_bytes` 0: any number.
  template <class Record, class Decode>
  Status newest(Family family, char letter, std::size_t id_bytes, std::size_t most, std::vector<Record>& out,
                std::uint64_t& left, Decode decode) const {
    Newest<Record> kept(most);
    Status scanned = database_.scan_letter(
        options_, family, letter, [&](std::string_view key, std::string_view bytes) -> Result<bool> {
          if (id_bytes != 0 && key.size() != 1 + id_bytes) return corrupt("a key has a wrong length");
          Record record;
          std::size_t size = 0;
          const Result<std::int64_t> time = decode(key.substr(1), bytes, record, size);
          if (!time) return tl::unexpected(time.error());
          kept.put(*time, size + kOverhead, std::move(record));
          return true;
        });
    left += kept.left();
    out = kept.take();
    return scanned;
  }

  Status read_run() {
    CutMark mark;
    Status s = single(kRunKey, resume_.run);
    if (s) s = single(kCutKey, mark);
    if (s) s = single(kClosedKey, resume_.closed);
    if (s)
      s = many(kMeta, kGapKey, 8, resume_.gaps,
               [](GapRecord& g, std::string_view id) { g.first = SliceIndex(get_time(id)); });
    resume_.sequence = mark.sequence;
    resume_.wall = mark.wall;
    return s;
  }

  Status read_states() {
    return database_.scan_letter(
        options_, kMeta, kStateKey, [&](std::string_view key, std::string_view bytes) -> Result<bool> {
          model::StateInfo info;
          if (Status s = decode_untrusted(bytes, info); !s) return tl::unexpected(s.error());
          const auto id = resume_.states.intern(info.name, info.family);
          if (key.size() != 3 || !id || id->value != get_big_endian(key.substr(1)))
            return corrupt("the state table has a hole or a name twice at '" + info.name + "'");
          return true;
        });
  }

  // The names of states, the leaves, and where each stands.
  Status read_leaves() {
    Status s = read_states();
    if (s)
      s = many(kMeta, kLeafKey, 4, resume_.leaves,
               [](LeafRecord& l, std::string_view id) { l.leaf = leaf_of(id); });
    if (s) s = statuses_.load(options_, resume_.leaf_states);
    if (s)
      s = many(kMeta, kMeasureKey, 4, resume_.measure_states,
               [](MeasureState& m, std::string_view id) { m.leaf = leaf_of(id); });
    return s;
  }

  Status read_sources() {
    Status s = many(kSources, kSourceKey, 8, resume_.sources,
                    [](SourceRecord& v, std::string_view id) { v.source = SourceId(get_big_endian(id)); });
    if (s && bounds_.names_of_gone)
      s = many(kSources, kNamesKey, 16, resume_.gone, [](SourceRecord& v, std::string_view id) {
        v.source = SourceId(get_big_endian(id.substr(8)));
      });
    if (s)
      s = many(kSources, kStreamKey, 12, resume_.streams, [](StreamRecord& v, std::string_view id) {
        v.source = SourceId(get_big_endian(id.substr(0, 8)));
        v.stream = static_cast<std::uint32_t>(get_big_endian(id.substr(8)));
      });
    if (s)
      s = many(kSources, kFormerKey, 4, resume_.former,
               [](StreamRecord& v, std::string_view id) { v.stream = leaf_of(id).value; });
    return s;
  }

  Status read_alerts() {
    const auto alert = [&](std::string_view id, std::string_view bytes, AlertRecord& a,
                           std::size_t& size) -> Result<std::int64_t> {
      a.id = id;
      if (Status d = decode_untrusted(bytes, a); !d) return tl::unexpected(d.error());
      size = a.id.size() + a.json.size() + a.status.size();
      return bounds_.alert_time ? bounds_.alert_time(a) : 0;
    };
    return newest(kReports, kAlertKey, 0, bounds_.alert_bytes, resume_.alerts, resume_.alerts_left, alert);
  }

  // Of the finest level and of the coarser ones.
  Status read_phases() {
    const auto phase = [](bool level) {
      return [level](std::string_view id, std::string_view bytes, PhaseRecord& p,
                     std::size_t& size) -> Result<std::int64_t> {
        if (level) p.level = LevelIndex(static_cast<std::uint8_t>(id[0]));
        p.index = static_cast<std::uint32_t>(get_big_endian(id.substr(level ? 1 : 0)));
        if (Status d = decode_untrusted(bytes, p); !d) return tl::unexpected(d.error());
        size = p.name.size() + p.label.size();
        return p.begin.value;
      };
    };
    Status s = newest(kReports, kPhaseKey, 4, bounds_.phase_bytes, resume_.phases, resume_.phases_left,
                      phase(false));
    if (s)
      s = newest(kReports, kLevelPhaseKey, 5, bounds_.phase_bytes, resume_.coarser_phases,
                 resume_.phases_left, phase(true));
    return s;
  }

  // What the detector and others keep as bytes of their own.
  Status read_state() {
    const auto signature = [&](std::string_view id, std::string_view bytes, Blob& b,
                               std::size_t& size) -> Result<std::int64_t> {
      b.name = id;
      if (Status d = decode_blob_untrusted(bytes, b.bytes); !d) return tl::unexpected(d.error());
      size = b.name.size() + b.bytes.size();
      return bounds_.signature_time ? bounds_.signature_time(b) : 0;
    };
    Status s = newest(kMeta, kSignatureKey, 0, bounds_.signature_bytes, resume_.signatures,
                      resume_.signatures_left, signature);
    if (!s) return s;
    return database_.scan_letter(options_, kMeta, kBlobKey,
                                 [&](std::string_view key, std::string_view bytes) -> Result<bool> {
                                   Blob& b = resume_.state.emplace_back();
                                   b.name = key.substr(1);
                                   if (Status d = decode_blob_untrusted(bytes, b.bytes); !d)
                                     return tl::unexpected(d.error());
                                   return true;
                                 });
  }

  // What is there, does it fit together?
  Status check() {
    const Resume& r = resume_;
    const std::string place = database_.path + ": ";
    for (std::size_t i = 0; i < r.leaves.size(); ++i)
      if (r.leaves[i].leaf.value != i) return corrupt(place + "leaf " + std::to_string(i) + " is missing");
    for (const GapRecord& g : r.gaps) {
      const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4 /
                                std::max<std::int64_t>(1, r.run.levels.empty() ? 1 : r.run.levels[0].value);
      if (g.first.value < -most || g.last.value > most)
        return corrupt(place + "the gap from slice " + std::to_string(g.first.value) + " on has no time");
    }
    const auto missing = [&](const std::string& before, std::uint32_t leaf, const std::string& behind) {
      return corrupt(place + before + " leaf " + std::to_string(leaf) + behind + ", which is not there");
    };
    for (const LeafState& l : r.leaf_states)
      if (l.leaf.value >= r.leaves.size()) return missing("open states of", l.leaf.value, "");
    for (const MeasureState& m : r.measure_states)
      if (m.leaf.value >= r.leaves.size()) return missing("what", m.leaf.value, " goes on from");
    for (const StreamRecord& f : r.former)
      if (f.stream >= r.leaves.size()) return missing("counters of", f.stream, "");
    return {};
  }

  const Database& database_;
  const LeafStatuses& statuses_;
  const rocksdb::ReadOptions& options_;
  const LoadBounds& bounds_;
  Resume resume_;
};

}  // namespace

Result<Resume> read_resume(const Database& database, const LeafStatuses& statuses,
                           const rocksdb::ReadOptions& options, const LoadBounds& bounds) {
  return ResumeReader(database, statuses, options, bounds).read();
}

}  // namespace margay::store
