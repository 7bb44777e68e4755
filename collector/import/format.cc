#include "margay/import/format.h"

namespace margay::trace {

#define MARGAY_FORMAT(name, what)                                          \
  namespace name {                                                         \
  bool detect(std::string_view head);                                      \
  Result<ReadCounts> read(Input&, const ReadOptions&, Consumer& consumer); \
  }
#include "formats.def"
#undef MARGAY_FORMAT

namespace {

constexpr Format kFormats[] = {
#define MARGAY_FORMAT(name, what) {#name, what, name::detect, name::read},
#include "formats.def"
#undef MARGAY_FORMAT
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
