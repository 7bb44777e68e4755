// The header of a Pajé trace: %EventDef ... %EndEventDef, which say by what number an event goes and in what
// order its fields stand; and the splitting of a line by such a definition.
//
// Thread safety: none. Cost: a line is passed over once; fields are views of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "margay/base/result.h"

namespace margay::trace::paje {

enum class Event : std::uint8_t {
  kDefineContainerType,
  kDefineStateType,
  kDefineVariableType,
  kDefineEventType,
  kDefineLinkType,
  kDefineEntityValue,
  kCreateContainer,
  kDestroyContainer,
  kSetState,
  kPushState,
  kPopState,
  kResetState,
  kSetVariable,
  kAddVariable,
  kSubVariable,
  kNewEvent,
  kStartLink,
  kEndLink,
  kOther,  // none of the format's: its lines are errors
};

enum class Field : std::uint8_t {
  kIgnored,
  kTime,
  kName,
  kAlias,
  kType,  // of a definition: the container type it belongs to; of an entity value: its type
  kContainer,
  kValue,
  kStartContainer,
  kEndContainer,
  kKey,
  kSize,  // of a link, where traces have it: bytes
};
inline constexpr std::size_t kFields = 11;
using Values = std::array<std::string_view, kFields>;

struct EventDef {
  Event event = Event::kOther;
  std::string name;           // "PajeSetState", as the header has it
  std::vector<Field> fields;  // in the order of a line
  std::vector<std::string> names;
  bool timed = false;
  bool has(Field f) const;
};

class Header {
 public:
  // Bounds of what is accepted.
  static constexpr std::size_t kMostEvents = 4096;
  static constexpr std::size_t kMostFields = 64;
  static constexpr std::uint32_t kGreatestId = 0x7fffffff;

  // A line that begins with '%'. Errors: kInvalidArgument, kLimit, telling what was expected.
  Status take(std::string_view line);
  // In the middle of a definition.
  bool open() const { return open_; }
  // The definition that `id` has, or nullptr.
  const EventDef* find(std::uint32_t id) const {
    if (id < kSmall) return small_[id] == 0 ? nullptr : &defs_[small_[id] - 1];
    const auto it = large_.find(id);
    return it == large_.end() ? nullptr : &defs_[it->second - 1];
  }
  std::size_t size() const { return defs_.size(); }

 private:
  static constexpr std::uint32_t kSmall = 256;
  Status begin(std::string_view name, std::string_view id);
  Status field(std::string_view name);
  Status end();

  std::vector<EventDef> defs_;
  std::array<std::uint32_t, kSmall> small_{};  // id -> place in defs_ + 1
  std::unordered_map<std::uint32_t, std::uint32_t> large_;
  bool open_ = false;
  std::uint32_t id_ = 0;
  EventDef def_;
};

// The decimal number of at most kGreatestId that `text` is; kGreatestId + 1: it is none.
std::uint32_t event_id(std::string_view text);
// Takes the first word off a line: blanks, then what goes up to the next blank or the end.
std::string_view take_word(std::string_view& line);
// The fields of a line, behind its id, into `values` (those it does not have: empty). A field is a word or
// stands in "quotes". Behind the last, only a comment may follow. Errors: kInvalidArgument.
Status split(std::string_view rest, const EventDef& def, Values& values);

}  // namespace margay::trace::paje
