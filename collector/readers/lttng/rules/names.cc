#include "names.h"

#include <charconv>

#include "margay/base/text.h"

namespace margay::lttng_rules {
namespace {

template <class Number>
void append_number(std::string& text, Number value) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

reader::NameId Names::made_of(const Action& action, const lttng::Event& event, const Thread& thread,
                              const Process& process) {
  const BoundName& name = bindings_.name(action.name);
  if (name.only == kNothing) return of_text(action, event, thread, process);
  const BoundPart& part = name.parts[name.only];
  const auto value = static_cast<std::uint64_t>(event.values->integer(part.field.index));
  const std::uint64_t serial = part.kind == NamePart::Kind::kSymbol ? process.serial : 0;
  const std::uint64_t program = (static_cast<std::uint64_t>(action.name) << 32) | serial;
  if (const std::uint32_t known = by_value_.find(value, program); known != FlatMap::kNone)
    return reader::NameId{known};
  const reader::NameId id = of_text(action, event, thread, process);
  if (by_value_.size() >= limits_.cached) by_value_.clear();
  if (id.value != FlatMap::kNone) by_value_.set(value, program, id.value);
  return id;
}

void Names::append(const BoundPart& part, const lttng::Event& event, const Thread& thread,
                   const Process& process) {
  using Kind = NamePart::Kind;
  const std::uint32_t field = part.field.index;
  switch (part.kind) {
    case Kind::kLiteral:
    case Kind::kCapture:
      text_ += part.text;
      break;
    case Kind::kProcname:
      text_ += event.procname.empty() ? std::string_view(thread.name) : event.procname;
      break;
    case Kind::kSymbol:
      text_ += process.map.name_of(static_cast<std::uint64_t>(event.values->integer(field)), symbols_);
      break;
    case Kind::kHexField:
      text_ += hex(static_cast<std::uint64_t>(event.values->integer(field)));
      break;
    case Kind::kField:
      if (part.field.type == lttng::FieldType::kText)
        text_ += event.values->text(field);
      else if (part.field.type == lttng::FieldType::kReal)
        append_number(text_, event.values->real(field));
      else if (part.field.type == lttng::FieldType::kUnsigned)
        append_number(text_, static_cast<std::uint64_t>(event.values->integer(field)));
      else
        append_number(text_, event.values->integer(field));
  }
}

reader::NameId Names::of_text(const Action& action, const lttng::Event& event, const Thread& thread,
                              const Process& process) {
  text_.clear();
  for (const BoundPart& part : bindings_.name(action.name).parts) append(part, event, thread, process);
  if (text_.empty()) text_ = "(no name)";
  ByText& texts = by_text_[static_cast<std::size_t>(action.name_kind)];
  if (const auto known = texts.find(std::string_view(text_)); known != texts.end()) return known->second;
  // As long as the field was; kept by what it was, named by what may be shown.
  if (known_ >= limits_.names) {
    ++left_out_;
    return sink_.name("(other names)", action.name_kind);
  }
  ++known_;
  std::string shown = clean_utf8(text_, limits_.name_bytes);
  const reader::NameId id = sink_.name(shown, action.name_kind);
  texts.emplace(text_, id);
  return id;
}

}  // namespace margay::lttng_rules
