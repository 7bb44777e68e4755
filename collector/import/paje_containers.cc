#include "paje_containers.h"

#include <algorithm>

#include "paje_text.h"

namespace margay::trace::paje {
namespace {

// "/a/b" is the whole path, wherever the container stands.
std::vector<std::string> components(const std::string& name) {
  std::vector<std::string> out;
  for (std::size_t begin = 1; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (end > begin) out.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

bool is_absolute(const std::string& name) {
  return name.starts_with('/');
}

}  // namespace

Containers::Containers(Types& types) : types_(types) {
  all_.emplace_back();
  all_[kRoot].name = "0";
  aliases_.put("0", 0, kRoot);
  for (const char* root : {"/", "root"}) names_.put(root, 0, kRoot);
}

Result<std::uint32_t> Containers::create(std::string_view alias, std::string_view name, std::uint32_t type,
                                         std::uint32_t parent) {
  if (name.empty()) name = alias;
  if (alias.empty()) alias = name;
  if (alias.empty()) return fail(ErrorCode::kInvalidArgument, "the container has no name");
  if (alias.size() > kLongestName || name.size() > kLongestName)
    return fail(ErrorCode::kLimit, "the container's name " + quote(name) + " is longer than 4096 bytes");
  if (aliases_.bytes() + names_.bytes() > kMostNameBytes)
    return fail(ErrorCode::kLimit, "the names of containers take more than 256 MiB");
  if (all_.size() > kMostContainers) return fail(ErrorCode::kLimit, "more than 1,048,576 containers");
  if (const std::uint32_t c = aliases_.find(alias, 0); c != kNone && all_[c].alive)
    return fail(ErrorCode::kInvalidArgument, "the container " + quote(alias) + " exists already");
  Container c;
  c.type = type;
  c.parent = parent;
  c.name = clean_utf8(std::string(name));
  const std::size_t depth = is_absolute(c.name) ? components(c.name).size() : all_[parent].depth + 1;
  if (depth > kDeepestPath)
    return fail(ErrorCode::kLimit, "the container " + quote(name) + " lies deeper than 64 levels");
  c.depth = static_cast<std::uint32_t>(depth);
  const auto id = static_cast<std::uint32_t>(all_.size());
  all_.push_back(std::move(c));
  aliases_.put(alias, 0, id);
  names_.put(name, 0, id);
  return id;
}

bool Containers::is_below(std::uint32_t c, std::uint32_t above) const {
  // A container with an absolute name may lie deeper than its depth says; there is an end all the same, for
  // parents come first.
  while (c > above) c = all_[c].parent;
  return c == above;
}

std::vector<std::string> Containers::path(std::uint32_t c) const {
  std::vector<std::string> out;
  for (; c != kRoot; c = all_[c].parent) {
    if (!is_absolute(all_[c].name)) {
      out.insert(out.begin(), all_[c].name);
      continue;
    }
    const auto head = components(all_[c].name);
    out.insert(out.begin(), head.begin(), head.end());
    break;
  }
  return out;
}

model::Attributes Containers::attributes(std::uint32_t c, std::uint32_t state_type) const {
  model::Attributes out;
  const std::vector<std::string> names = path(c);
  for (std::size_t i = 0; i < names.size(); ++i) out["path" + std::to_string(i + 1)] = names[i];
  for (std::uint32_t at = c; at != kRoot; at = all_[at].parent) {
    const std::vector<std::string> here = path(at);
    // A parent that the child's absolute name leaves out is not on its path.
    if (here.size() <= names.size() && std::equal(here.begin(), here.end(), names.begin()))
      out.try_emplace("type" + std::to_string(here.size()), types_[all_[at].type].name);
  }
  if (state_type != kNone) out["state_type"] = types_[state_type].name;
  return out;
}

Result<OpenLeaf*> Containers::add_leaf(std::uint32_t c, std::uint32_t state_type, Consumer& consumer) {
  Container& container = all_[c];
  Leaf leaf;
  const auto base = types_.state_name(state_type == kNone ? "Absent" : "None", consumer);
  if (!base) return tl::unexpected(base.error());
  leaf.base = *base;
  leaf.attributes = attributes(c, state_type);
  leaf.attributes["base"] = state_type == kNone ? "Absent" : "None";
  // Several state types: a leaf each, below the container.
  const bool several = types_[container.type].states.size() > 1 || !container.leaves.empty();
  if (several && state_type != kNone)
    leaf.attributes["path" + std::to_string(container.depth + 1)] = types_[state_type].name;
  const LeafIndex index(leaves_);
  if (auto ok = consumer.on_leaf(index, leaf); !ok)
    return fail(ok.error(), "container " + quote(container.name));
  ++leaves_;
  container.leaves.push_back({index, state_type, {}});
  return &container.leaves.back();
}

}  // namespace margay::trace::paje
