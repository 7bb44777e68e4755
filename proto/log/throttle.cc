#include "margay/log/throttle.h"

#include <algorithm>

namespace margay::log {
namespace {

constexpr double kMinuteNs = 60e9;

}  // namespace

void Throttle::Bucket::fill(double most, TimeNs now) {
  if (at != TimeNs() && now > at)
    tokens = std::min(most, tokens + most * static_cast<double>((now - at).value) / kMinuteNs);
  at = std::max(at, now);
}

bool Throttle::admit(const std::string& key, bool error, const std::string& line, TimeNs now) {
  Key& k = keys_[keys_.contains(key) || keys_.size() + 1 < kMostKeys ? key : std::string()];
  Bucket& shared = error ? errors_ : all_;
  k.bucket.fill(kBurst, now);
  shared.fill(most_, now);
  if (k.bucket.tokens >= 1 && shared.tokens >= 1) {
    k.bucket.tokens -= 1;
    shared.tokens -= 1;
    return true;
  }
  ++suppressed_;
  ++k.suppressed;
  k.example = line;
  return false;
}

std::vector<std::pair<std::uint64_t, std::string>> Throttle::take_suppressed(std::size_t most) {
  std::vector<std::pair<std::uint64_t, std::string>> out;
  for (auto& [name, k] : keys_)
    if (k.suppressed > 0) {
      out.emplace_back(k.suppressed, std::move(k.example));
      k.suppressed = 0;
      k.example.clear();
    }
  std::sort(out.rbegin(), out.rend());
  if (out.size() > most) {
    std::uint64_t rest = 0;
    for (std::size_t i = most; i < out.size(); ++i) rest += out[i].first;
    out.resize(most);
    out.emplace_back(rest, "");
  }
  return out;
}

}  // namespace margay::log
