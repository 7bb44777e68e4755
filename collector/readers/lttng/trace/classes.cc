#include "classes.h"

#include <algorithm>

#include "margay/lttng_trace/trace_reader.h"

namespace margay::lttng {
namespace {

constexpr std::uint64_t kMostFields = 1'000;  // of one class, in each of its three parts
constexpr std::uint64_t kMostText = 255;

FieldType type_of(const bt_field_class* cls) {
  const bt_field_class_type type = bt_field_class_get_type(cls);
  if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) return FieldType::kSigned;
  if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) return FieldType::kUnsigned;
  if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_REAL)) return FieldType::kReal;
  if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_STRING)) return FieldType::kText;
  return FieldType::kOther;
}

bool is_integer(FieldType type) {
  return type == FieldType::kSigned || type == FieldType::kUnsigned;
}

// Appends the members of one part of an event.
void add_members(const bt_field_class* cls, Scope scope, EventClass& told, ClassInfo& info) {
  if (cls == nullptr || bt_field_class_get_type(cls) != BT_FIELD_CLASS_TYPE_STRUCTURE) return;
  const std::uint64_t count = std::min(bt_field_class_structure_get_member_count(cls), kMostFields);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto* member = bt_field_class_structure_borrow_member_by_index_const(cls, i);
    FieldPlace place;
    place.scope = scope;
    place.type = type_of(bt_field_class_structure_member_borrow_field_class_const(member));
    place.is_signed = place.type == FieldType::kSigned;
    place.index = i;
    told.fields.push_back({bt_field_class_structure_member_get_name(member), place.type});
    info.fields.push_back(place);
  }
}

bool is_kernel(const bt_event* event) {
  const bt_trace* trace = bt_stream_borrow_trace_const(bt_event_borrow_stream_const(event));
  const bt_value* domain = bt_trace_borrow_environment_entry_value_by_name_const(trace, "domain");
  return domain != nullptr && bt_value_is_string(domain) == BT_TRUE &&
         std::string_view(bt_value_string_get(domain)) == "kernel";
}

}  // namespace

const ClassInfo* Classes::look_up(const bt_event_class* cls, const bt_event* event, Recent& slot) {
  const auto known = all_.find(cls);
  if (known != all_.end()) {
    slot = {cls, known->second};
    return known->second;
  }
  if (infos_.size() >= TraceReader::kMostClasses) return nullptr;
  EventClass told;
  if (const char* name = bt_event_class_get_name(cls); name != nullptr) told.name = name;
  told.kernel = is_kernel(event);
  ClassInfo& info = infos_.emplace_back();
  info.number = static_cast<std::uint32_t>(infos_.size() - 1);
  bt_event_class_get_ref(cls);
  info.ref.reset(cls);
  add_members(bt_event_class_borrow_payload_field_class_const(cls), Scope::kPayload, told, info);
  add_members(bt_event_class_borrow_specific_context_field_class_const(cls), Scope::kSpecific, told, info);
  add_members(bt_stream_class_borrow_event_common_context_field_class_const(
                  bt_event_class_borrow_stream_class_const(cls)),
              Scope::kCommon, told, info);
  const auto context = [&](std::string_view name, bool integer) {
    for (std::size_t i = 0; i < told.fields.size(); ++i) {
      const FieldPlace& place = info.fields[i];
      const bool fits = integer ? is_integer(place.type) : place.type == FieldType::kText;
      if (place.scope != Scope::kPayload && fits && told.fields[i].name == name) return place;
    }
    return FieldPlace{};
  };
  info.vpid = context("vpid", true);
  if (info.vpid.scope == Scope::kNone) info.vpid = context("pid", true);
  info.vtid = context("vtid", true);
  if (info.vtid.scope == Scope::kNone) info.vtid = context("tid", true);
  info.procname = context("procname", false);
  all_.emplace(cls, &info);
  slot = {cls, &info};
  sink_.on_class(told);
  return &info;
}

const bt_field* EventValues::at(const FieldPlace& place) const {
  const bt_field*& scope = scopes_[static_cast<std::size_t>(place.scope)];
  if (scope == nullptr) {
    switch (place.scope) {
      case Scope::kPayload:
        scope = bt_event_borrow_payload_field_const(event_);
        break;
      case Scope::kSpecific:
        scope = bt_event_borrow_specific_context_field_const(event_);
        break;
      case Scope::kCommon:
      case Scope::kNone:
        scope = bt_event_borrow_common_context_field_const(event_);
        break;
    }
  }
  return bt_field_structure_borrow_member_field_by_index_const(scope, place.index);
}

std::int64_t EventValues::as_integer(const FieldPlace& place) const {
  const bt_field* field = at(place);
  return place.is_signed ? bt_field_integer_signed_get_value(field)
                         : static_cast<std::int64_t>(bt_field_integer_unsigned_get_value(field));
}

std::string_view EventValues::as_text(const FieldPlace& place) const {
  const bt_field* field = at(place);
  return {bt_field_string_get_value(field), std::min(bt_field_string_get_length(field), kMostText)};
}

std::int64_t EventValues::integer(std::uint32_t field) const {
  if (field >= info_->fields.size() || !is_integer(info_->fields[field].type)) return 0;
  return as_integer(info_->fields[field]);
}

double EventValues::real(std::uint32_t field) const {
  if (field >= info_->fields.size() || info_->fields[field].type != FieldType::kReal) return 0;
  const bt_field* value = at(info_->fields[field]);
  const bt_field_class_type type = bt_field_get_class_type(value);
  return type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL
             ? static_cast<double>(bt_field_real_single_precision_get_value(value))
             : bt_field_real_double_precision_get_value(value);
}

std::string_view EventValues::text(std::uint32_t field) const {
  if (field >= info_->fields.size() || info_->fields[field].type != FieldType::kText) return {};
  return as_text(info_->fields[field]);
}

}  // namespace margay::lttng
