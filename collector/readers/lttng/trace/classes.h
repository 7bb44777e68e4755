// The classes of events, numbered as they are first met, and the values of one event's fields.
//
// Contexts: vpid, or where that is not kept pid; vtid or tid; procname. They are looked up by name once a
// class. Thread safety: none. Ownership: keeps a reference of each class. Cost: a class that was just seen is
// found by its address in a small table, the others in a hash table.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bt.h"
#include "margay/base/result.h"
#include "margay/lttng/event.h"

namespace margay::lttng {

enum class Scope : std::uint8_t { kPayload, kSpecific, kCommon, kNone };

struct FieldPlace {
  Scope scope = Scope::kNone;
  bool is_signed = false;
  FieldType type = FieldType::kOther;
  std::uint64_t index = 0;
};

struct ClassInfo {
  EventClassRef ref;
  std::uint32_t number = 0;
  FieldPlace vpid, vtid, procname;
  std::vector<FieldPlace> fields;
};

class Classes {
 public:
  explicit Classes(EventSink& sink) : sink_(sink) {}

  // nullptr: there are too many.
  const ClassInfo* find(const bt_event_class* cls, const bt_event* event) {
    Recent& slot = recent_[(reinterpret_cast<std::uintptr_t>(cls) >> 5U) % recent_.size()];
    if (slot.cls == cls) [[likely]]
      return slot.info;
    return look_up(cls, event, slot);
  }

 private:
  struct Recent {
    const bt_event_class* cls = nullptr;
    const ClassInfo* info = nullptr;
  };
  const ClassInfo* look_up(const bt_event_class* cls, const bt_event* event, Recent& slot);

  EventSink& sink_;
  std::array<Recent, 256> recent_{};
  std::unordered_map<const bt_event_class*, const ClassInfo*> all_;
  std::deque<ClassInfo> infos_;
};

class EventValues final : public FieldValues {
 public:
  void set(const bt_event* event, const ClassInfo* info) {
    event_ = event;
    info_ = info;
    scopes_ = {};
  }
  std::int64_t integer(std::uint32_t field) const override;
  double real(std::uint32_t field) const override;
  std::string_view text(std::uint32_t field) const override;

  // -1 and "" where the class does not have it.
  std::int64_t context_integer(const FieldPlace& place) const {
    return place.scope == Scope::kNone ? -1 : as_integer(place);
  }
  std::string_view context_text(const FieldPlace& place) const {
    return place.scope == Scope::kNone ? std::string_view() : as_text(place);
  }

 private:
  const bt_field* at(const FieldPlace& place) const;
  std::int64_t as_integer(const FieldPlace& place) const;
  std::string_view as_text(const FieldPlace& place) const;

  const bt_event* event_ = nullptr;
  const ClassInfo* info_ = nullptr;
  mutable std::array<const bt_field*, 3> scopes_{};
};

}  // namespace margay::lttng
