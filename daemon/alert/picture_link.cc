#include "margay/alert/picture_link.h"

#include <algorithm>
#include <filesystem>

#include "margay/base/percent.h"

namespace margay::alert {
namespace {

constexpr std::int64_t kTenth = 100'000'000, kLeastAround = 10 * kTenth;  // ns

// Of an archive that somebody may have written by hand.
std::int64_t fitting(__int128 ns) {
  return static_cast<std::int64_t>(std::clamp<__int128>(ns, INT64_MIN, INT64_MAX));
}

// "14.9": tenths are easily read.
std::string tenths_text(std::int64_t tenths) {
  return std::to_string(tenths / 10) + (tenths % 10 != 0 ? "." + std::to_string(tenths % 10) : "");
}

}  // namespace

PicturePlace picture_place(const std::string& archive, TimeNs run_begin) {
  if (archive.empty()) return {};
  std::error_code none;  // then the path as it was given
  const std::filesystem::path path = std::filesystem::absolute(archive, none);
  return {none ? archive : path.lexically_normal().string(), run_begin};
}

std::string picture_link(const Alert& a, const PicturePlace& place) {
  if (place.archive.empty()) return {};
  const __int128 zero = place.begin.value, onset = a.onset.value;
  const __int128 until = std::max(a.end.value_or(a.updated.value_or(a.detected)), a.onset).value;
  const __int128 around = std::max<__int128>(until - onset, kLeastAround);
  const std::int64_t begin = std::max<std::int64_t>(fitting(onset - zero - around), 0);
  const std::int64_t end = fitting(until - zero + around);
  return "margay://" + percent_encoded(place.archive) + "#t=" + tenths_text(begin / kTenth) + "-" +
         tenths_text(end / kTenth + 1);
}

}  // namespace margay::alert
