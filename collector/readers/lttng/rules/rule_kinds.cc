#include "rule_kinds.h"

#include <algorithm>

#include "margay/base/pair_table.h"

namespace margay::lttng_rules {
namespace {

KeySpec event_key() {
  return {"event", KeyType::kPatterns, true, ""};
}
KeySpec field_key(const char* name, const char* otherwise = "") {
  return {name, KeyType::kField, false, otherwise};
}

// Every kind has these.
std::vector<KeySpec> with_filters(std::vector<KeySpec> keys) {
  keys.push_back({"domain", KeyType::kDomain, false, ""});
  keys.push_back({"optional", KeyType::kFlag, false, "false"});
  return keys;
}
std::vector<KeySpec> with_process(std::vector<KeySpec> keys) {
  keys.push_back({"process", KeyType::kGlob, false, ""});
  return with_filters(std::move(keys));
}

KindSpec state_spec() {
  return {RuleKind::kState, "state",
          with_process({{"enter", KeyType::kPatterns, true, ""},
                        {"leave", KeyType::kPatterns, true, ""},
                        {"name", KeyType::kName, true, ""},
                        {"kind", KeyType::kStateKind, false, ""},
                        field_key("key"),
                        field_key("leave_key"),
                        {"once", KeyType::kFlag, false, "false"}})};
}

KindSpec switch_spec() {
  return {RuleKind::kSwitch, "switch",
          with_process({event_key(),
                        field_key("prev_tid", "prev_tid"),
                        field_key("next_tid", "next_tid"),
                        field_key("prev_comm", "prev_comm"),
                        field_key("next_comm", "next_comm"),
                        field_key("prev_state", "prev_state"),
                        {"on_cpu", KeyType::kLiteral, false, "On CPU"},
                        {"runnable", KeyType::kLiteral, false, "Runnable"},
                        {"blocked", KeyType::kLiteral, false, "Blocked"},
                        {"uninterruptible", KeyType::kLiteral, false, "Uninterruptible"},
                        {"stopped", KeyType::kLiteral, false, "Stopped"}})};
}

std::vector<KindSpec> make_specs() {
  const KeySpec name{"name", KeyType::kName, true, ""};
  return {
      state_spec(),
      {RuleKind::kMark, "mark", with_process({event_key(), name})},
      {RuleKind::kVariable, "variable",
       with_process({event_key(), name, {"value", KeyType::kField, true, ""}})},
      switch_spec(),
      {RuleKind::kWakeup, "wakeup", with_filters({event_key(), field_key("tid", "tid")})},
      {RuleKind::kThread, "thread",
       with_filters({event_key(), field_key("tid", "tid"), field_key("pid"), field_key("name")})},
      {RuleKind::kThreadEnd, "thread_end", with_filters({event_key(), field_key("tid")})},
      {RuleKind::kProcess, "process", with_filters({event_key(), {"name", KeyType::kField, true, ""}})},
      {RuleKind::kLibrary, "library",
       with_filters({event_key(),
                     field_key("base", "baddr"),
                     field_key("size", "memsz"),
                     field_key("path", "path"),
                     {"unload", KeyType::kFlag, false, "false"}})},
      {RuleKind::kIgnore, "ignore", with_filters({event_key()})},
  };
}

}  // namespace

const std::vector<KindSpec>& kind_specs() {
  static const std::vector<KindSpec> specs = make_specs();
  return specs;
}

const KindSpec& kind_spec(RuleKind kind) {
  return *std::find_if(kind_specs().begin(), kind_specs().end(),
                       [kind](const KindSpec& s) { return s.kind == kind; });
}

std::string expected_of(KeyType type) {
  static constexpr std::pair<KeyType, const char*> kTexts[] = {
      {KeyType::kPatterns,
       "a pattern such as \"syscall_entry_*\" or \"syscall_entry_(read|write)\", or a list of 1 to 64, of 1 "
       "to 512 bytes each"},
      {KeyType::kName, "a name of 1 to 512 bytes, which may have placeholders: \"{1}\", \"{field}\""},
      {KeyType::kField, "the name of a field, such as \"size\""},
      {KeyType::kLiteral, "a name of at most 512 bytes, or \"\" for none"},
      {KeyType::kDomain, "\"kernel\" or \"ust\""},
      {KeyType::kStateKind, "\"state\", \"wait\", \"io\" or \"idle\""},
      {KeyType::kGlob, "a pattern of process names, such as \"gst-*\""},
      {KeyType::kFlag, "true or false"}};
  return second_of(kTexts, type, "");
}

}  // namespace margay::lttng_rules
