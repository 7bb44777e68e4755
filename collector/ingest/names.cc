#include "margay/ingest/names.h"

#include <algorithm>

#include "margay/base/last_state.h"
#include "margay/slicer/stand_in.h"

namespace margay::ingest {

StateId Names::intern(const std::string& name, model::StateFamily family, const std::string& owner) {
  if (states_.knows(name))
    if (const auto id = states_.intern(name, family)) return *id;
  std::uint32_t& own = quota_.share(owner).states;
  if (Quota::has_room(owner, states_.size(), options_.limits.states, own) &&
      quota_.cells_fit(owner, leaves_.size(), states_.size() + 1, own, options_.limits.states))
    if (const auto id = states_.intern(name, family)) {
      ++own;
      return *id;
    }
  ++counters_.refused_by_limit;
  return kUnknown;
}

// What the operator needs of a name that is no state.
StateId Names::stand_in(NameKind kind, const std::string& text, const std::string& owner) {
  if (slicer::is_operand(options_.op, kind, text)) return slicer::kOperand;
  const auto name = slicer::stand_in_name(options_.op, kind, text);
  return name ? intern(*name, model::StateFamily::kOther, owner) : slicer::kNothing;
}

bool Names::take(Source& source, const wire::Name& name, std::string text, const std::string& owner) {
  const std::uint64_t bytes = text.size() + Limits::kTextOverhead;
  if (!quota_.take_text(0, bytes)) return false;
  source.text_bytes += bytes;
  const NameKind kind = name.name().empty() ? NameKind::kState : model::name_kind(name.family());
  StateId state = kUnknown;
  if (kind == NameKind::kState && !name.name().empty())
    state = intern(name.name(),
                   name.family() <= wire::FAMILY_START_END || name.family() == wire::FAMILY_IDLE
                       ? static_cast<model::StateFamily>(name.family())
                       : model::StateFamily::kOther,
                   owner);
  source.states.push_back(state);
  source.stand_ins.push_back(stand_in(kind, text, owner));
  source.names.push_back(std::move(text));
  source.kinds.push_back(kind);
  source.ends_leaf.push_back(is_last_state(name.name()));
  return true;
}

void Names::keep_whole(Source& source) {
  const std::size_t whole = std::min({source.states.size(), source.stand_ins.size(), source.names.size(),
                                      source.kinds.size(), source.ends_leaf.size()});
  source.states.resize(whole);
  source.stand_ins.resize(whole);
  source.names.resize(whole);
  source.kinds.resize(whole);
  source.ends_leaf.resize(whole);
}

void Names::restore(Source& source) {
  source.kinds.resize(source.states.size(), NameKind::kState);
  source.ends_leaf.resize(source.states.size(), false);
  source.names.resize(source.states.size());
  const std::string local = kLocalOwner;
  source.stand_ins.clear();
  for (std::size_t i = 0; i < source.states.size(); ++i)
    source.stand_ins.push_back(stand_in(source.kinds[i], source.names[i], local));
}

}  // namespace margay::ingest
