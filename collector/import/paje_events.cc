// From events to records.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "paje_reader.h"
#include "paje_text.h"

namespace margay::trace::paje {
namespace {

tl::unexpected<Error> wrong(std::string what) {
  return fail(ErrorCode::kInvalidArgument, std::move(what));
}

constexpr const char* kKindNames[] = {"container type", "state type", "variable type", "event type",
                                      "link type"};

std::optional<double> number_of(std::string_view text) {
  double x = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(x)) return std::nullopt;
  return x;
}

}  // namespace

Status Reader::dispatch(const EventDef& def, std::int64_t) {
  switch (def.event) {
    case Event::kCreateContainer:
      return create_container();
    case Event::kDestroyContainer:
      return destroy_container();
    case Event::kSetState:
    case Event::kPushState:
    case Event::kPopState:
    case Event::kResetState:
      return change_state(def.event);
    case Event::kSetVariable:
    case Event::kAddVariable:
    case Event::kSubVariable:
      return change_variable(def.event);
    case Event::kNewEvent:
      return mark();
    case Event::kStartLink:
      return link(true);
    case Event::kEndLink:
      return link(false);
    default:
      return fail(ErrorCode::kInternal, "an event without a time among those with one");
  }
}

EventRecord Reader::record(std::uint8_t kind, std::uint16_t name) const {
  EventRecord r{};
  r.time_ns = now_;
  r.peer = MARGAY_NO_PEER;
  r.tag = MARGAY_NO_TAG;
  r.state = name;
  r.kind = kind;
  return r;
}

Status Reader::emit(LeafIndex leaf, const EventRecord& r) {
  ++counts_.records;
  return consumer_.on_records(leaf, std::span(&r, 1));
}

Result<std::uint32_t> Reader::container_of(Field f) const {
  const std::uint32_t c = containers_.find(value(f));
  if (c == kNone)
    return wrong("the container " + quote(value(f)) + " is not known; expected one that was created before");
  if (!containers_[c].alive) return wrong("the container " + quote(value(f)) + " was destroyed before");
  return c;
}

Result<std::uint32_t> Reader::type_of(Type::Kind kind, std::uint32_t container) const {
  const std::uint32_t t = types_.find(kind, value(Field::kType), containers_[container].type);
  if (t == kNone)
    return wrong(std::string("the ") + kKindNames[static_cast<int>(kind)] + " " + quote(value(Field::kType)) +
                 " is not defined");
  return t;
}

Status Reader::create_container() {
  const std::uint32_t type = types_.find(Type::Kind::kContainer, value(Field::kType), Types::kRoot);
  if (type == kNone) return wrong("the container type " + quote(value(Field::kType)) + " is not defined");
  const auto parent = container_of(Field::kContainer);
  if (!parent) return tl::unexpected(parent.error());
  const auto c = containers_.create(value(Field::kAlias), value(Field::kName), type, *parent);
  if (!c) return tl::unexpected(c.error());
  ++counts_.containers;
  for (const std::uint32_t state_type : types_[type].states)
    if (const auto leaf = leaf_of(*c, state_type); !leaf) return tl::unexpected(leaf.error());
  return {};
}

Status Reader::destroy_container() {
  const auto c = container_of(Field::kName);
  if (!c) return tl::unexpected(c.error());
  if (*c == Containers::kRoot) return {};  // some say that the trace is over
  Container& container = containers_[*c];
  container.alive = false;
  for (const OpenLeaf& leaf : container.leaves)
    if (auto ok = emit(leaf.index, record(MARGAY_END, 0)); !ok) return ok;
  container.leaves = {};
  container.variables = {};
  return {};
}

// The leaf for states of a type; a new one begins to exist now.
Result<OpenLeaf*> Reader::leaf_of(std::uint32_t container, std::uint32_t state_type) {
  for (OpenLeaf& leaf : containers_[container].leaves)
    if (leaf.type == state_type) return &leaf;
  auto leaf = containers_.add_leaf(container, state_type, consumer_);
  if (!leaf) return leaf;
  if (auto ok = emit((*leaf)->index, record(MARGAY_BEGIN, 0)); !ok) return tl::unexpected(ok.error());
  return leaf;
}

Result<LeafIndex> Reader::leaf_for_records(std::uint32_t container) {
  if (!containers_[container].leaves.empty()) return containers_[container].leaves.front().index;
  const auto leaf = leaf_of(container, kNone);
  if (!leaf) return tl::unexpected(leaf.error());
  return (*leaf)->index;
}

Status Reader::leave_all(OpenLeaf& leaf) {
  while (!leaf.stack.empty()) {
    const std::uint16_t open = leaf.stack.back();
    leaf.stack.pop_back();
    if (auto ok = emit(leaf.index, record(MARGAY_LEAVE, open)); !ok) return ok;
  }
  return {};
}

Status Reader::change_state(Event event) {
  const auto c = container_of(Field::kContainer);
  if (!c) return tl::unexpected(c.error());
  const auto type = type_of(Type::Kind::kState, *c);
  if (!type) return tl::unexpected(type.error());
  std::uint16_t name = 0;
  if (event == Event::kSetState || event == Event::kPushState) {
    const auto n = types_.name_of(*type, value(Field::kValue), consumer_);
    if (!n) return fail(n.error(), "the state");
    name = *n;
  }
  const auto found = leaf_of(*c, *type);
  if (!found) return tl::unexpected(found.error());
  OpenLeaf& leaf = **found;
  switch (event) {
    case Event::kPopState: {
      if (leaf.stack.empty())
        return wrong("no state is open in the container " + quote(value(Field::kContainer)) +
                     "; expected a PushState before");
      const std::uint16_t open = leaf.stack.back();
      leaf.stack.pop_back();
      return emit(leaf.index, record(MARGAY_LEAVE, open));
    }
    case Event::kResetState:
      return leave_all(leaf);
    case Event::kPushState:
      if (leaf.stack.size() >= kDeepestStates)
        return fail(ErrorCode::kLimit, "more than 1,000 states are open in the container " +
                                           quote(value(Field::kContainer)) + "; is a PopState missing?");
      break;
    default:
      if (auto ok = leave_all(leaf); !ok) return ok;
  }
  leaf.stack.push_back(name);
  ++counts_.states;
  return emit(leaf.index, record(MARGAY_ENTER, name));
}

Status Reader::change_variable(Event event) {
  const auto c = container_of(Field::kContainer);
  if (!c) return tl::unexpected(c.error());
  const auto type = type_of(Type::Kind::kVariable, *c);
  if (!type) return tl::unexpected(type.error());
  const auto number = number_of(value(Field::kValue));
  if (!number)
    return wrong("the value " + quote(value(Field::kValue)) +
                 " is no number; expected one like 12.5 or 1e-3");
  const auto leaf = leaf_for_records(*c);
  if (!leaf) return tl::unexpected(leaf.error());
  auto& variables = containers_[*c].variables;
  auto it = std::find_if(variables.begin(), variables.end(), [&](const auto& v) { return v.type == *type; });
  if (it == variables.end()) {
    const auto name = types_.name_of(*type, {}, consumer_);
    if (!name) return fail(name.error(), "the variable");
    it = variables.insert(it, {*type, *name, 0});
  }
  double x = *number;
  if (event == Event::kAddVariable) x = it->value + x;
  if (event == Event::kSubVariable) x = it->value - x;
  if (!std::isfinite(x)) return wrong("the variable's value leaves the range of numbers");
  it->value = x;
  EventRecord r = record(MARGAY_VARIABLE, it->name);
  static_assert(sizeof r.bytes == sizeof x);
  std::memcpy(&r.bytes, &x, sizeof x);
  ++counts_.variables;
  return emit(*leaf, r);
}

Status Reader::mark() {
  const auto c = container_of(Field::kContainer);
  if (!c) return tl::unexpected(c.error());
  const auto type = type_of(Type::Kind::kEvent, *c);
  if (!type) return tl::unexpected(type.error());
  const auto name = types_.name_of(*type, value(Field::kValue), consumer_);
  if (!name) return fail(name.error(), "the event");
  const auto leaf = leaf_for_records(*c);
  if (!leaf) return tl::unexpected(leaf.error());
  ++counts_.marks;
  return emit(*leaf, record(MARGAY_MARK, *name));
}

Status Reader::link(bool begins) {
  const auto above = container_of(Field::kContainer);
  if (!above) return tl::unexpected(above.error());
  const auto type = type_of(Type::Kind::kLink, *above);
  if (!type) return tl::unexpected(type.error());
  const auto end = container_of(begins ? Field::kStartContainer : Field::kEndContainer);
  if (!end) return tl::unexpected(end.error());
  const std::string_view key = value(Field::kKey);
  if (key.size() > kLongestName)
    return fail(ErrorCode::kLimit, "the key " + quote(key) + " is longer than 4096 bytes");
  link_key_.assign(std::to_string(*type)).append(1, ' ').append(key);
  const auto half = half_links_.find(link_key_);
  if (half != half_links_.end() && half->second.begun == begins)
    return wrong("the key " + quote(key) + " is that of a link which has " + (begins ? "begun" : "ended") +
                 " already, but not " + (begins ? "ended" : "begun"));
  if (half == half_links_.end() && half_links_.size() >= kMostOpenLinks)
    return fail(ErrorCode::kLimit, "more than 1,048,576 links have begun or ended, but not both");
  if (half == half_links_.end() && next_link_ == std::numeric_limits<std::int32_t>::max())
    return fail(ErrorCode::kLimit, "more than 2,147,483,647 links");
  const auto name = types_.name_of(*type, value(Field::kValue), consumer_);
  if (!name) return fail(name.error(), "the link");
  const auto leaf = leaf_for_records(*end);
  if (!leaf) return tl::unexpected(leaf.error());
  EventRecord r = record(begins ? MARGAY_LINK_BEGIN : MARGAY_LINK_END, *name);
  if (containers_.is_below(*end, *above)) r.peer = static_cast<std::int32_t>(containers_[*above].depth);
  if (const auto size = number_of(value(Field::kSize)); size && *size >= 0 && *size < 1e18)
    r.bytes = static_cast<std::uint64_t>(*size);
  if (half != half_links_.end()) {
    r.tag = half->second.number;
    half_links_.erase(half);
    ++counts_.links;
  } else {
    r.tag = next_link_++;
    half_links_.emplace(link_key_, HalfLink{r.tag, begins});
  }
  counts_.half_links = half_links_.size();
  return emit(*leaf, r);
}

Status Reader::end_all() {
  for (std::uint32_t c = 0; c < containers_.size(); ++c)
    for (const OpenLeaf& leaf : containers_[c].leaves)
      if (auto ok = emit(leaf.index, record(MARGAY_END, 0)); !ok) return ok;
  return {};
}

}  // namespace margay::trace::paje
