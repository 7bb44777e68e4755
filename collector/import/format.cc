#include "margay/import/format.h"

#include "capture_format.h"
#include "paje.h"

namespace margay::trace {
namespace {

// In the order in which they are asked whether they know a trace.
constexpr Format kFormats[] = {
    {"paje", "the text of Paje, PajeNG, ViTE, SimGrid and others", paje::detect, paje::read},
    {"capture", "what margay run --capture FILE kept: every message as it came", capture_format::detect,
     capture_format::read},
};

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

Result<const Format*> choose_format(std::string_view name, Input& input) {
  std::string names;
  for (const Format& f : formats()) {
    if (f.name == name) return &f;
    names += (names.empty() ? "" : ", ") + std::string(f.name);
  }
  if (name != "auto")
    return fail(ErrorCode::kInvalidArgument,
                "no format is called '" + std::string(name) + "'; expected auto or one of: " + names);
  const auto head = input.head();
  if (!head) return tl::unexpected(head.error());
  if (head->empty()) return fail(ErrorCode::kInvalidArgument, input.name() + ": is empty");
  for (const Format& f : formats())
    if (f.detect(*head)) return &f;
  return fail(ErrorCode::kInvalidArgument, input.name() + ": does not begin like any format that is known (" +
                                               names + "); --format says which it is");
}

}  // namespace margay::trace
