// The bounds of records.h, checked before anything is written: what is written can be read again.
#include <cmath>

#include "margay/store/column_codec.h"
#include "record_codec.h"

namespace margay::store {
namespace {

Status refuse(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, what);
}
bool fits(const std::map<std::string, std::string>& texts) {
  if (texts.size() > kMostAttributes) return false;
  for (const auto& [key, value] : texts)
    if (key.size() > kLongestText || value.size() > kLongestText) return false;
  return true;
}
bool known(StateId id) {
  return id.value < model::StateTable::kMostStates;
}

Status check_blobs(const std::vector<Blob>& blobs, const char* what) {
  for (const Blob& b : blobs)
    if (b.name.empty() || b.name.size() > kLongestBlobName || b.bytes.size() > kLargestBlob)
      return refuse(std::string(what) + " '" + b.name.substr(0, 64) + "' of " +
                    std::to_string(b.bytes.size()) + " bytes is beyond the bounds (16 MiB, name 1 to 256)");
  return {};
}

}  // namespace

Status check(const RunMeta& run) {
  for (const std::string* s : {&run.run, &run.command, &run.host, &run.boot_id, &run.margay_version})
    if (s->size() > kLongestText) return refuse("a text of the run's record is longer than 1 MiB");
  if (!fits(run.settings)) return refuse("the run's settings are beyond the bounds");
  if (run.levels.empty() || run.levels.size() > kMostLevels)
    return refuse("a run has 1 to 16 levels, not " + std::to_string(run.levels.size()));
  for (std::size_t i = 0; i < run.levels.size(); ++i) {
    const std::int64_t d = run.levels[i].value;
    if (d <= 0) return refuse("level " + std::to_string(i) + " has a slice duration that is not above 0");
    if (i > 0 && (d <= run.levels[i - 1].value || d % run.levels[i - 1].value != 0))
      return refuse("level " + std::to_string(i) + "'s slice is not a multiple of the level's below");
  }
  return {};
}

Status check(const LeafState& l) {
  bool good = l.leaf.value < kMostLeaves && l.stack.size() <= kDeepestStack;
  for (const model::OpenState& s : l.stack) good = good && known(s.state);
  if (!good)
    return refuse("the open states of leaf " + std::to_string(l.leaf.value) + " are beyond the bounds");
  return {};
}

Status check(const Cut& cut, bool leaf_states) {
  if (cut.sequence == 0) return refuse("a cut's sequence begins at 1");
  if (cut.run)
    if (Status s = check(*cut.run); !s) return s;
  for (const auto& column : cut.columns) {
    if (!column) return refuse("a cut holds a null column");
    if (column->level.value >= kMostLevels)
      return refuse("a column of level " + std::to_string(column->level.value) + "; at most 16 are kept");
  }
  for (const StateRecord& s : cut.states)
    if (!known(s.id) || s.info.name.empty() || s.info.name.size() > model::StateTable::kLongestName ||
        !model::is_state_family(static_cast<std::uint32_t>(s.info.family)))
      return refuse("state " + std::to_string(s.id.value) + " is beyond the bounds of the state table");
  for (const LeafRecord& l : cut.leaves)
    if (l.leaf.value >= kMostLeaves || !fits(l.attributes) || l.owner.size() > kLongestText)
      return refuse("leaf " + std::to_string(l.leaf.value) + " is beyond the bounds");
  if (leaf_states)
    for (const LeafState& l : cut.leaf_states)
      if (Status good = check(l); !good) return good;
  for (const MeasureState& m : cut.measure_states)
    if (m.leaf.value >= kMostLeaves || m.stack.size() > kDeepestStack || !(m.value >= 0) ||
        !(m.integral >= 0) || std::isinf(m.value) || std::isinf(m.integral))
      return refuse("what leaf " + std::to_string(m.leaf.value) + " goes on from is beyond the bounds");
  for (const SourceRecord& s : cut.sources) {
    bool good = fits(s.attributes) && s.names.size() <= kMostNames && s.owner.size() <= kLongestText;
    for (const StateId id : s.names) good = good && known(id);
    good = good && s.texts.size() <= s.names.size();
    for (const NameText& t : s.texts)
      good = good && t.index < s.names.size() && t.text.size() <= kLongestText &&
             t.kind >= NameText::Kind::kRegion && t.kind <= NameText::Kind::kLink;
    if (!good) return refuse("source " + std::to_string(s.source.value) + " is beyond the bounds");
  }
  if (cut.closed.size() > kMostLevels) return refuse("more than 16 levels are closed");
  for (const ClosedThrough& c : cut.closed)
    if (c.level.value >= kMostLevels) return refuse("a closed level is beyond the bounds");
  for (const GapRecord& g : cut.gaps)
    if (g.last < g.first || g.existed.size() > kMostLeaves)
      return refuse("the gap from slice " + std::to_string(g.first.value) +
                    " on ends before it begins, or has too many leaves");
  for (const RawBlock& b : cut.raw)
    if (b.leaf.value >= kMostLeaves || b.columns.size() > kLargestBlob || b.end < b.begin)
      return refuse("a raw block of leaf " + std::to_string(b.leaf.value) +
                    " is beyond the bounds, or ends before it begins");
  for (const AlertRecord& a : cut.alerts)
    if (a.id.empty() || a.id.size() > kLongestBlobName || a.json.size() > kLongestText ||
        a.status.size() > kLongestText)
      return refuse("alert '" + a.id.substr(0, 64) + "' is beyond the bounds");
  for (const auto& [level, end] : cut.phases_end)
    if (level.value >= kMostLevels) return refuse("a level of phases is beyond the bounds");
  for (const PhaseRecord& p : cut.phases)
    if (p.level.value >= kMostLevels || p.name.size() > kLongestText || p.label.size() > kLongestText)
      return refuse("phase " + std::to_string(p.index) + " has too long a name, or no level");
  if (Status s = check_blobs(cut.signatures, "signature"); !s) return s;
  if (Status s = check_blobs(cut.state, "state"); !s) return s;
  for (const JournalEntry& e : cut.journal) {
    bool good = e.leaves <= kMostLeaves && e.changed.size() <= kMostLeaves &&
                e.states <= model::StateTable::kMostStates && e.region.size() <= kLongestText &&
                fits(e.settings);
    for (const auto& [leaf, attributes] : e.changed)
      good = good && leaf.value < kMostLeaves && fits(attributes);
    if (!good) return refuse("journal entry " + std::to_string(e.sequence) + " is beyond the bounds");
  }
  for (const KeptSlice& k : cut.kept)
    if (!k.column) return refuse("a cut keeps a null column");
  if (cut.report && cut.report->bytes.size() > kLargestBlob) return refuse("a report of more than 16 MiB");
  return {};
}

}  // namespace margay::store
