// Names that depend on an event's fields, made once and kept.
//
// Bounds: Limits::names different ones; others are "(other names)". What they were made of is kept for the
// newest Limits::cached. Thread safety: none. Cost: a look-up where the name depends on one integer or
// symbol; else the text is put together and looked up.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "bindings.h"
#include "flat_map.h"
#include "margay/lttng_rules/interpreter.h"
#include "threads.h"

namespace margay::lttng_rules {

class Names {
 public:
  Names(const Bindings& bindings, reader::StateSink& sink, SymbolSource& symbols, const Limits& limits)
      : bindings_(bindings), sink_(sink), symbols_(symbols), limits_(limits) {}

  reader::NameId of(const Action& action, const lttng::Event& event, const Thread& thread,
                    const Process& process) {
    return action.name == kNothing ? action.fixed : made_of(action, event, thread, process);
  }
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using ByText = std::unordered_map<std::string, reader::NameId, Hash, std::equal_to<>>;

  reader::NameId made_of(const Action& action, const lttng::Event& event, const Thread& thread,
                         const Process& process);
  reader::NameId of_text(const Action& action, const lttng::Event& event, const Thread& thread,
                         const Process& process);
  void append(const BoundPart& part, const lttng::Event& event, const Thread& thread, const Process& process);

  const Bindings& bindings_;
  reader::StateSink& sink_;
  SymbolSource& symbols_;
  const Limits limits_;
  FlatMap by_value_;
  std::array<ByText, reader::kNameKinds> by_text_;  // by NameKind
  std::size_t known_ = 0;
  std::uint64_t left_out_ = 0;
  std::string text_;
};

}  // namespace margay::lttng_rules
