#include "margay/scene/silences.h"

#include "margay/base/text.h"

namespace margay::scene {
namespace {

constexpr std::size_t kLongestId = 100, kLongestWords = 4096;

}  // namespace

Result<std::vector<ListedSilence>> silences_untrusted(const wire::Silences& answer) {
  const std::string whose = "the daemon's answer: ";
  if (answer.silence_size() > kMostSilences)
    return fail(ErrorCode::kLimit,
                whose + "it has more silences than are accepted (" + std::to_string(kMostSilences) + ")");
  std::vector<ListedSilence> out;
  for (const wire::Silence& s : answer.silence()) {
    if (s.id().empty() || s.id().size() > kLongestId)
      return fail(ErrorCode::kCorrupt, whose + "a silence has no id, or too long a one");
    if (s.until_ns() <= s.from_ns())
      return fail(ErrorCode::kCorrupt, whose + "a silence ends before it begins");
    out.push_back({clean_utf8(s.id(), kLongestId), clean_utf8(s.what(), kLongestWords),
                   clean_utf8(s.by(), kLongestWords), clean_utf8(s.comment(), kLongestWords),
                   TimeNs(s.from_ns()), TimeNs(s.until_ns()), s.active()});
  }
  return out;
}

}  // namespace margay::scene
