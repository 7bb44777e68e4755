#include "paje_types.h"

#include <algorithm>

#include "paje_text.h"

namespace margay::trace::paje {
namespace {

constexpr const char* kKindNames[] = {"container type", "state type", "variable type", "event type",
                                      "link type"};
constexpr std::uint32_t kKinds = 8;

std::uint32_t scope_of(Type::Kind kind) {
  return static_cast<std::uint32_t>(kind);
}
std::uint32_t scope_of(Type::Kind kind, std::uint32_t parent) {
  return (parent + 1) * kKinds + static_cast<std::uint32_t>(kind);
}

}  // namespace

Types::Types() {
  types_.push_back({Type::Kind::kContainer, kRoot, "0", {}});
  aliases_.put("0", scope_of(Type::Kind::kContainer), kRoot);
  for (const char* root : {"/", "root"}) names_.put(root, scope_of(Type::Kind::kContainer), kRoot);
}

Status Types::room(std::string_view alias, std::string_view name) const {
  if (alias.size() > kLongestName || name.size() > kLongestName)
    return fail(ErrorCode::kLimit, "the name " + quote(alias.size() > name.size() ? alias : name) +
                                       " is longer than 4096 bytes");
  if (aliases_.bytes() + names_.bytes() + value_aliases_.bytes() + known_.bytes() > kMostNameBytes)
    return fail(ErrorCode::kLimit, "the names of types and values take more than 256 MiB");
  return {};
}

Status Types::define(Type::Kind kind, std::string_view alias, std::string_view name,
                     std::string_view parent) {
  if (name.empty()) name = alias;
  if (alias.empty()) alias = name;
  if (name.empty()) return fail(ErrorCode::kInvalidArgument, "has no name");
  if (auto ok = room(alias, name); !ok) return ok;
  if (types_.size() >= kMostTypes) return fail(ErrorCode::kLimit, "more than 65,536 types");
  const std::uint32_t above = find(Type::Kind::kContainer, parent, kRoot);
  if (above == kNone)
    return fail(ErrorCode::kInvalidArgument, "the container type " + quote(parent) +
                                                 " is not defined; expected one from the lines above, or 0");
  if (aliases_.find(alias, scope_of(kind)) != kNone)
    return fail(ErrorCode::kInvalidArgument, std::string("the ") + kKindNames[static_cast<int>(kind)] + " " +
                                                 quote(alias) + " is defined already");
  const auto id = static_cast<std::uint32_t>(types_.size());
  types_.push_back({kind, above, clean_utf8(std::string(name)), {}});
  if (kind == Type::Kind::kState) types_[above].states.push_back(id);
  aliases_.put(alias, scope_of(kind), id);
  names_.put_first(name, scope_of(kind, above), id);
  names_.put_first(name, scope_of(kind), id);
  return {};
}

std::uint32_t Types::find(Type::Kind kind, std::string_view text, std::uint32_t container) const {
  if (const std::uint32_t t = aliases_.find(text, scope_of(kind)); t != kNone) return t;
  if (const std::uint32_t t = names_.find(text, scope_of(kind, container)); t != kNone) return t;
  return names_.find(text, scope_of(kind));
}

Status Types::define_value(std::string_view type, std::string_view alias, std::string_view name) {
  if (name.empty()) name = alias;
  if (alias.empty()) alias = name;
  if (auto ok = room(alias, name); !ok) return ok;
  if (values_.size() >= kMostValues) return fail(ErrorCode::kLimit, "more than 1,048,576 values are defined");
  std::uint32_t of = kNone;
  for (const Type::Kind kind :
       {Type::Kind::kState, Type::Kind::kEvent, Type::Kind::kLink, Type::Kind::kVariable})
    if (of == kNone) of = find(kind, type, kRoot);
  if (of == kNone)
    return fail(
        ErrorCode::kInvalidArgument,
        "the type " + quote(type) + " is not defined; expected a state, event or link type from above");
  value_aliases_.put(alias, of, static_cast<std::uint32_t>(values_.size()));
  values_.push_back(clean_utf8(std::string(name)));
  if (known_.find(alias, of) != kNone) known_.put(alias, of, kNone);  // it was used before it was defined
  return {};
}

Result<std::uint16_t> Types::new_name(std::uint32_t type, std::string_view value, Consumer& consumer) {
  if (auto ok = room(value, {}); !ok) return tl::unexpected(ok.error());
  const Type& t = types_[type];
  const std::uint32_t defined = value_aliases_.find(value, type);
  const std::string text = defined != kNone ? values_[defined] : clean_utf8(std::string(value));
  Result<std::uint16_t> name;
  switch (t.kind) {
    case Type::Kind::kState:
      name = intern(Name::Kind::kState, text, consumer);
      break;
    case Type::Kind::kEvent:
      name = intern(Name::Kind::kMark, t.name + kTypeEnd + text, consumer);
      break;
    case Type::Kind::kLink:
      name = intern(Name::Kind::kLink, t.name + kTypeEnd + text, consumer);
      break;
    default:
      name = intern(Name::Kind::kVariable, t.name, consumer);
  }
  if (name) known_.put(value, type, *name);
  return name;
}

Result<std::uint16_t> Types::intern(Name::Kind kind, const std::string& text, Consumer& consumer) {
  const auto scope = static_cast<std::uint32_t>(kind);
  if (const std::uint32_t known = interned_.find(text, scope); known != kNone)
    return static_cast<std::uint16_t>(known);
  if (interned_.size() >= 0xffff)
    return fail(ErrorCode::kLimit, "more than 65,535 different states, variables, events and links");
  const auto index = static_cast<std::uint16_t>(interned_.size());
  Name name;
  name.kind = kind;
  name.text = text;
  if (auto ok = consumer.on_name(index, name); !ok) return fail(ok.error(), quote(text));
  interned_.put(text, scope, index);
  return index;
}

}  // namespace margay::trace::paje
