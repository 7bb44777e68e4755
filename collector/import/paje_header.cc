#include "paje_header.h"

#include <algorithm>
#include <cstring>

#include "paje_text.h"

namespace margay::trace::paje {
namespace {

struct Kind {
  std::string_view name;  // behind "Paje", which old headers leave out
  Event event;
  std::uint32_t needs;  // a bit for each Field
};
constexpr std::uint32_t bit(Field f) {
  return 1u << static_cast<unsigned>(f);
}
constexpr std::uint32_t kOfDefinition = bit(Field::kType);
constexpr std::uint32_t kOfContainer = bit(Field::kTime) | bit(Field::kType) | bit(Field::kContainer);
constexpr std::uint32_t kOfValue = kOfContainer | bit(Field::kValue);
constexpr Kind kKinds[] = {
    {"DefineContainerType", Event::kDefineContainerType, kOfDefinition},
    {"DefineStateType", Event::kDefineStateType, kOfDefinition},
    {"DefineVariableType", Event::kDefineVariableType, kOfDefinition},
    {"DefineEventType", Event::kDefineEventType, kOfDefinition},
    {"DefineLinkType", Event::kDefineLinkType, kOfDefinition},
    {"DefineEntityValue", Event::kDefineEntityValue, kOfDefinition},
    {"CreateContainer", Event::kCreateContainer, kOfContainer},
    {"DestroyContainer", Event::kDestroyContainer, bit(Field::kTime) | bit(Field::kName)},
    {"SetState", Event::kSetState, kOfValue},
    {"PushState", Event::kPushState, kOfValue},
    {"PopState", Event::kPopState, kOfContainer},
    {"ResetState", Event::kResetState, kOfContainer},
    {"SetVariable", Event::kSetVariable, kOfValue},
    {"AddVariable", Event::kAddVariable, kOfValue},
    {"SubVariable", Event::kSubVariable, kOfValue},
    {"NewEvent", Event::kNewEvent, kOfContainer},
    {"StartLink", Event::kStartLink, kOfContainer | bit(Field::kStartContainer) | bit(Field::kKey)},
    {"EndLink", Event::kEndLink, kOfContainer | bit(Field::kEndContainer) | bit(Field::kKey)},
};

const Kind* kind_of(std::string_view name) {
  if (name.starts_with("Paje")) name.remove_prefix(4);
  const auto it =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.name == name; });
  return it == std::end(kKinds) ? nullptr : &*it;
}

constexpr std::string_view kFieldNames[kFields] = {
    "",      "Time",           "Name",         "Alias", "Type", "Container",
    "Value", "StartContainer", "EndContainer", "Key",   "Size"};

Field field_of(std::string_view name, Event event) {
  // The names of older versions.
  if (name == "SourceContainer") name = "StartContainer";
  if (name == "DestContainer") name = "EndContainer";
  if (name == "EntityType" || (name == "ContainerType" && event <= Event::kDefineLinkType)) name = "Type";
  if (name == "NewValue") name = "Value";
  if (event == Event::kDestroyContainer && name == "Container") name = "Name";
  for (std::size_t f = 1; f < kFields; ++f)
    if (kFieldNames[f] == name) return static_cast<Field>(f);
  return Field::kIgnored;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

tl::unexpected<Error> wrong(std::string what) {
  return fail(ErrorCode::kInvalidArgument, std::move(what));
}

// Out of line: what a line that cannot be split is told.
[[gnu::noinline]] Status too_few(const EventDef& def, std::size_t found) {
  std::string expected;
  for (const std::string& n : def.names) expected += (expected.empty() ? "" : " ") + n;
  return wrong("has " + std::to_string(found) + " fields; expected " + std::to_string(def.fields.size()) +
               ": " + quote(expected));
}
[[gnu::noinline]] Status too_many(const EventDef& def, std::string_view rest) {
  return wrong("has more than its " + std::to_string(def.fields.size()) + " fields, beginning with " +
               quote(rest) + "; a field with blanks stands in \"quotes\"");
}

}  // namespace

bool EventDef::has(Field f) const {
  return std::find(fields.begin(), fields.end(), f) != fields.end();
}

std::uint32_t event_id(std::string_view text) {
  constexpr std::uint32_t kBad = Header::kGreatestId + 1;
  if (text.empty()) return kBad;
  std::uint64_t id = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return kBad;
    id = id * 10 + static_cast<std::uint64_t>(c - '0');
    if (id > Header::kGreatestId) return kBad;
  }
  return static_cast<std::uint32_t>(id);
}

std::string_view take_word(std::string_view& line) {
  std::size_t begin = 0;
  while (begin < line.size() && is_blank(line[begin])) ++begin;
  std::size_t end = begin;
  while (end < line.size() && !is_blank(line[end])) ++end;
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

Status Header::take(std::string_view line) {
  line.remove_prefix(1);
  const std::string_view first = take_word(line);
  if (first.empty()) return {};  // "%" alone
  if (first == "EventDef") {
    const std::string_view name = take_word(line);
    return begin(name, take_word(line));
  }
  if (first == "EndEventDef") return end();
  return field(first);
}

Status Header::begin(std::string_view name, std::string_view id) {
  if (open_)
    return wrong("a definition begins within that of " + quote(def_.name) + "; expected %EndEventDef first");
  open_ = true;
  def_ = {};
  def_.name = clean_utf8(name, 128);
  if (const Kind* k = kind_of(name)) def_.event = k->event;
  id_ = event_id(id);
  if (id_ > kGreatestId)
    return wrong("the event " + quote(name) + " has the number " + quote(id) +
                 "; expected one from 0 to 2147483647");
  if (const EventDef* const first = find(id_)) {
    id_ = kGreatestId + 1;  // the first one stays
    return wrong("the number " + std::string(id) + " of " + quote(name) + " is that of " +
                 quote(first->name) + " already");
  }
  return {};
}

Status Header::field(std::string_view name) {
  if (!open_)
    return wrong("the field " + quote(name) + " stands outside of a definition; expected %EventDef first");
  if (def_.fields.size() >= kMostFields) return fail(ErrorCode::kLimit, "an event has more than 64 fields");
  Field f = field_of(name, def_.event);
  if (f != Field::kIgnored && def_.has(f)) {
    // "ContainerType" beside "Type": the first one counts.
    if (std::find(def_.names.begin(), def_.names.end(), name) != def_.names.end())
      return wrong("the field " + quote(name) + " of " + quote(def_.name) + " is there twice");
    f = Field::kIgnored;
  }
  def_.timed = def_.timed || f == Field::kTime;
  def_.fields.push_back(f);
  def_.names.emplace_back(name.substr(0, 64));
  return {};
}

Status Header::end() {
  if (!open_) return wrong("%EndEventDef without %EventDef before it");
  open_ = false;
  if (id_ > kGreatestId) return {};  // it was told of
  if (defs_.size() >= kMostEvents) return fail(ErrorCode::kLimit, "more than 4096 events are defined");
  if (const Kind* k = kind_of(def_.name)) {
    for (std::size_t f = 1; f < kFields; ++f)
      if ((k->needs >> f & 1u) != 0 && !def_.has(static_cast<Field>(f)))
        return wrong("the definition of " + quote(def_.name) + " lacks the field " +
                     std::string(kFieldNames[f]));
    const bool names = def_.event <= Event::kCreateContainer;
    if (names && !def_.has(Field::kName) && !def_.has(Field::kAlias))
      return wrong("the definition of " + quote(def_.name) + " has neither the field Name nor Alias");
    if (def_.event <= Event::kDefineEntityValue) def_.timed = false;
  } else {
    def_.timed = false;
  }
  defs_.push_back(std::move(def_));
  const auto place = static_cast<std::uint32_t>(defs_.size());
  if (id_ < kSmall)
    small_[id_] = place;
  else
    large_.emplace(id_, place);
  def_ = {};
  return {};
}

Status split(std::string_view rest, const EventDef& def, Values& values) {
  const char* at = rest.data();
  const char* const end = at + rest.size();
  values.fill({});
  std::size_t n = 0;
  for (const Field field : def.fields) {
    while (at != end && is_blank(*at)) ++at;
    if (at == end) return too_few(def, n);
    const char* begin = at;
    if (*at == '"') {
      begin = ++at;
      const void* const quote = std::memchr(at, '"', static_cast<std::size_t>(end - at));
      if (quote == nullptr) return wrong("a quote is not closed; expected \" before the end of the line");
      at = static_cast<const char*>(quote);
    } else {
      while (at != end && !is_blank(*at)) ++at;
    }
    values[static_cast<std::size_t>(field)] = std::string_view(begin, static_cast<std::size_t>(at - begin));
    if (at != end) ++at;  // the blank or quote
    ++n;
  }
  while (at != end && is_blank(*at)) ++at;
  if (at != end && *at != '#') return too_many(def, std::string_view(at, static_cast<std::size_t>(end - at)));
  return {};
}

}  // namespace margay::trace::paje
