#include "margay/ingest/hello.h"

#include <utility>

#include "clipped.h"

namespace margay::ingest {
namespace {

constexpr std::size_t kMostAttributes = 64;

}  // namespace

void HelloReceiver::receive(const wire::Hello& hello, const Sender& from) {
  const SourceId id(hello.source());
  Source* known = sources_.find(id);
  if (known == nullptr) {
    if (authority_.answer_for_forgotten(id, hello.epoch(), 0, 0, from)) return;
    known = sources_.add(id, from);
    if (known == nullptr) return;
  }
  Source& source = *known;
  if (!authority_.may_speak_for(id, source.owner, from)) return;
  // Another agent of the same owner has taken over its ring.
  if (source.speaker && *source.speaker != from.number) ++source.epoch;
  source.speaker = from.number;
  source.told_epoch = hello.epoch();
  source.agent = from.agent;
  source.heard = from.now;
  source.dirty = true;

  model::Attributes attributes;
  for (const auto& [key, value] : hello.attributes())
    if (attributes.size() < kMostAttributes) attributes[clipped(key)] = clipped(value);
  leaves_.take_attributes(source, std::move(attributes));
  take_names(hello, source, from.owner);
  clocks_.meet(source, hello.clock());
  clocks_.tell_slices(source, from.agent);
}

void HelloReceiver::take_names(const wire::Hello& hello, Source& source, const std::string& owner) {
  if (hello.names_size() > static_cast<int>(source.states.size())) source.nameless_since.reset();
  // Archives of older versions do not keep the names of regions: after a restart they are learnt again here.
  for (std::size_t i = 0; i < source.names.size() && i < static_cast<std::size_t>(hello.names_size()); ++i)
    if (hello.names(static_cast<int>(i)).family() == wire::FAMILY_REGION && source.states[i] == kUnknown) {
      source.names[i] = clipped(hello.names(static_cast<int>(i)).name());
      source.kinds[i] = NameKind::kRegion;
    }
  for (int i = static_cast<int>(source.states.size()); i < hello.names_size(); ++i) {
    if (source.states.size() >= options_.limits.names_per_source) {
      ++counters_.refused_by_limit;
      break;
    }
    if (!names_.take(source, hello.names(i), clipped(hello.names(i).name()), owner)) break;
  }
}

}  // namespace margay::ingest
