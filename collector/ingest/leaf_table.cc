#include "margay/ingest/leaf_table.h"

#include <utility>

#include "clipped.h"

namespace margay::ingest {
namespace {

constexpr int kMostVainSearches = 64;  // for a leaf, when there is no room for a new one

}  // namespace

std::optional<LeafIndex> LeafTable::leaf_for(const Source& source, std::uint32_t stream,
                                             const std::string& name) {
  const std::uint32_t own = quota_.share(source.owner).leaves;
  const bool full = !Quota::has_room(source.owner, size(), options_.limits.leaves, own) ||
                    !quota_.cells_fit(source.owner, size() + 1, states_.size(), own, options_.limits.leaves);
  if (full && vain_searches_ >= kMostVainSearches) {
    ++counters_.refused_by_limit;
    return std::nullopt;
  }
  model::Attributes attributes = leaf_attributes(source.attributes, source.id, stream, name);
  bool refused = false;
  if (const auto leaf = left_by_another(source, stream, attributes, refused); leaf || refused) return leaf;
  if (full) {
    ++vain_searches_;
    ++counters_.refused_by_limit;
    return std::nullopt;
  }
  if (!quota_.take_text(0, text_bytes(attributes))) return std::nullopt;
  return add(source, stream, std::move(attributes));
}

std::optional<LeafIndex> LeafTable::left_by_another(const Source& source, std::uint32_t stream,
                                                    model::Attributes& attributes, bool& refused) {
  for (std::uint32_t i = 0; i < size(); ++i) {
    const Source* const feeder = sources_.find(feeders_[i].first);  // forgotten ones have ended
    if (feeder != nullptr && (!feeder->ended || feeder->id == source.id)) continue;
    // Nor does anybody go on where another key's process was.
    if (!keepers_[i].empty() && keepers_[i] != source.owner) continue;
    if (!same_resource(attributes_[i], attributes)) continue;
    refused = !quota_.take_text(text_bytes(attributes_[i]), text_bytes(attributes));
    if (refused) return std::nullopt;
    attributes_[i] = std::move(attributes);
    keepers_[i] = source.owner;
    ++version_;
    feeders_[i] = {source.id, stream};
    return LeafIndex(i);
  }
  return std::nullopt;
}

LeafIndex LeafTable::add(const Source& source, std::uint32_t stream, model::Attributes attributes) {
  // The slicer's tables and these go together: nothing can fail once it has taken the leaf.
  const auto make_room = [](auto& table) {
    if (table.size() == table.capacity()) table.reserve(2 * table.size() + 16);
  };
  make_room(attributes_);
  make_room(feeders_);
  make_room(keepers_);
  std::string keeper = source.owner;
  const LeafIndex leaf = slicer_.add_leaf();
  attributes_.push_back(std::move(attributes));
  feeders_.emplace_back(source.id, stream);
  keepers_.push_back(std::move(keeper));
  ++quota_.share(source.owner).leaves;
  ++version_;
  return leaf;
}

Stream* LeafTable::stream_of(Source& source, std::uint32_t index, const std::string& name) {
  const auto it = source.streams.find(index);
  if (it != source.streams.end() && name.empty()) return &it->second;
  const std::string told = clipped(name);
  if (it != source.streams.end()) {
    Stream& stream = it->second;
    if (told != stream.name) {
      model::Attributes named = leaf_attributes(source.attributes, source.id, index, told);
      if (!quota_.take_text(text_bytes(attributes_[stream.leaf.value]), text_bytes(named))) return &stream;
      stream.name = told;
      attributes_[stream.leaf.value] = std::move(named);
      ++version_;
    }
    return &stream;
  }
  if (source.streams.size() >= options_.limits.streams_per_source) {
    ++counters_.refused_by_limit;
    return nullptr;
  }
  Stream fresh;
  fresh.name = told;
  const auto place = source.streams.try_emplace(index, std::move(fresh)).first;
  std::optional<LeafIndex> leaf;
  try {
    leaf = leaf_for(source, index, told);
  } catch (...) {
    source.streams.erase(place);
    throw;
  }
  if (!leaf) {
    source.streams.erase(place);
    return nullptr;
  }
  place->second.leaf = *leaf;
  return &place->second;
}

void LeafTable::take_attributes(Source& source, model::Attributes attributes) {
  if (attributes == source.attributes) return;
  // Its leaves say the same.
  std::uint64_t before = text_bytes(source.attributes), after = text_bytes(attributes);
  for (const auto& [index, stream] : source.streams) {
    before += text_bytes(attributes_[stream.leaf.value]);
    after += text_bytes(leaf_attributes(attributes, source.id, index, stream.name));
  }
  if (!quota_.take_text(before, after)) return;
  source.text_bytes += text_bytes(attributes) - text_bytes(source.attributes);
  source.attributes = std::move(attributes);
  for (const auto& [index, stream] : source.streams) {
    attributes_[stream.leaf.value] = leaf_attributes(source.attributes, source.id, index, stream.name);
    ++version_;
  }
}

void LeafTable::restore(SourceTable& sources, std::vector<model::Attributes> attributes,
                        std::vector<Feeder> feeders, std::vector<std::string> keepers) {
  attributes_ = std::move(attributes);
  for (const model::Attributes& a : attributes_) quota_.restore_text(text_bytes(a));
  feeders_ = std::move(feeders);
  keepers_ = std::move(keepers);
  keepers_.resize(size());
  for (const std::string& keeper : keepers_) ++quota_.share(keeper).leaves;
  // The archive tells whose a leaf is now; what fed it before that is found by what it was.
  for (auto& [id, source] : sources.all())
    for (auto& [index, stream] : source.streams) {
      if (stream.leaf.value < size())
        if (const auto name = attributes_[stream.leaf.value].find("thread");
            name != attributes_[stream.leaf.value].end() && name->second != std::to_string(index))
          stream.name = name->second;
      const Feeder mine(id, index);
      if (stream.leaf.value < feeders_.size() && feeders_[stream.leaf.value] == mine) continue;
      const model::Attributes said = leaf_attributes(source.attributes, source.id, index, stream.name);
      for (std::uint32_t i = 0; i < size(); ++i)
        if (same_resource(attributes_[i], said)) stream.leaf = LeafIndex(i);
    }
  ++version_;
}

}  // namespace margay::ingest
