// Names of a source, and the records about those that are no states: variables, marks, links.
#include <algorithm>
#include <bit>

#include "margay/base/last_state.h"
#include "margay/ingest/ingest.h"
#include "margay/slicer/stand_in.h"

namespace margay::ingest {
// A state that is known costs nothing more, however full the table is.
StateId Ingest::intern(const std::string& name, model::StateFamily family) {
  if (states_.knows(name))
    if (const auto id = states_.intern(name, family)) return *id;
  std::uint32_t& own = shares_[owner_].states;
  if (has_share(states_.size(), options_.limits.states, own) &&
      cells_fit(leaves_.size(), states_.size() + 1, own, options_.limits.states))
    if (const auto id = states_.intern(name, family)) {
      ++own;
      return *id;
    }
  ++counters_.refused_by_limit;
  return kUnknown;
}

// What the operator needs of a name that is no state.
StateId Ingest::stand_in(NameKind kind, const std::string& text) {
  if (slicer::is_operand(options_.op, kind, text)) return slicer::kOperand;
  const auto name = slicer::stand_in_name(options_.op, kind, text);
  return name ? intern(*name, model::StateFamily::kOther) : slicer::kNothing;
}

// `text` is the name, cut to what is kept of it.
// False: there is no room for it.
bool Ingest::take_name(Source& source, const wire::Name& name, std::string text) {
  const std::uint64_t bytes = text.size() + Limits::kTextOverhead;
  if (!take_text(0, bytes)) return false;
  source.text_bytes += bytes;
  const NameKind kind = name.name().empty() ? NameKind::kState : model::name_kind(name.family());
  StateId state = kUnknown;
  if (kind == NameKind::kState && !name.name().empty())
    state = intern(name.name(), name.family() <= wire::FAMILY_START_END || name.family() == wire::FAMILY_IDLE
                                    ? static_cast<model::StateFamily>(name.family())
                                    : model::StateFamily::kOther);
  source.states.push_back(state);
  source.stand_ins.push_back(stand_in(kind, text));
  source.names.push_back(std::move(text));
  source.kinds.push_back(kind);
  source.ends_leaf.push_back(is_last_state(name.name()));
  return true;
}

// Of a table that an exception left half made: as far as all that is kept of a name is there.
void Ingest::keep_whole_names(Source& source) {
  const std::size_t whole = std::min({source.states.size(), source.stand_ins.size(), source.names.size(),
                                      source.kinds.size(), source.ends_leaf.size()});
  source.states.resize(whole);
  source.stand_ins.resize(whole);
  source.names.resize(whole);
  source.kinds.resize(whole);
  source.ends_leaf.resize(whole);
}

void Ingest::restore_names(Source& source) {
  source.kinds.resize(source.states.size(), NameKind::kState);
  source.ends_leaf.resize(source.states.size(), false);
  source.names.resize(source.states.size());
  source.stand_ins.clear();
  for (std::size_t i = 0; i < source.states.size(); ++i)
    source.stand_ins.push_back(stand_in(source.kinds[i], source.names[i]));
}

// A record that changes no state. Nothing: it makes no sense.
std::optional<slicer::Outcome> Ingest::apply_note(const Source& source, const Stream& stream,
                                                  const EventRecord& record, TimeNs t) {
  const NameKind wanted = record.kind == MARGAY_VARIABLE ? NameKind::kVariable
                          : record.kind == MARGAY_MARK   ? NameKind::kMark
                                                         : NameKind::kLink;
  if (source.kinds[record.state] != wanted) return std::nullopt;
  const auto note = slicer::note_of(options_.op, record, source.stand_ins[record.state]);
  if (!note) return std::nullopt;
  auto outcome = slicer::Outcome::kModelled;
  // The first thing that is heard of it: it exists.
  if (stream.account.modelled + stream.account.late_dropped == 0 && slicer_.current(stream.leaf) == kAbsent)
    outcome = slicer_.begin(stream.leaf, t);
  if (*note) outcome = slicer_.note(stream.leaf, **note, t);
  return outcome;
}

}  // namespace margay::ingest
