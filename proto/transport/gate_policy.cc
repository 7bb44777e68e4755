#include "margay/transport/gate_policy.h"

#include <algorithm>

namespace margay::transport {
namespace {

// ZMTP 3.0 and 3.1, RFC 23 and 37.
constexpr std::size_t kGreeting = 64;
constexpr std::size_t kSignature = 10;
constexpr std::size_t kVersionAt = 10;
constexpr std::size_t kMechanismAt = 12, kMechanismSize = 20;
constexpr unsigned char kFlagLong = 2, kFlagCommand = 4;
// CURVE, RFC 26: the sizes that tell a command from something that only has its name.
constexpr std::size_t kWelcomeSize = 168;
constexpr std::size_t kLeastReady = 6 + 8 + 16;  // name, nonce, authenticator; then the metadata
// A server's answer before READY is never longer than this.
constexpr std::uint64_t kLongestCommand = 64 << 10;

unsigned char byte(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

}  // namespace

FirstBytes first_bytes(std::string_view from_client) {
  if (from_client.empty()) return FirstBytes::kMore;
  if (byte(from_client, 0) != 0xff) return FirstBytes::kForeign;
  if (from_client.size() < kSignature) return FirstBytes::kMore;
  return byte(from_client, kSignature - 1) == 0x7f ? FirstBytes::kZmtp : FirstBytes::kForeign;
}

ServerWatch::State ServerWatch::take(std::string_view bytes) {
  while (!bytes.empty() && state_ == State::kPending) {
    if (skip_ > 0) {
      const std::size_t n = std::min<std::uint64_t>(skip_, bytes.size());
      skip_ -= n;
      bytes.remove_prefix(n);
      continue;
    }
    // One byte at a time into `held_`: a handshake has a few hundred of them.
    held_.push_back(bytes.front());
    bytes.remove_prefix(1);
    if (!greeted_) {
      if (held_.size() < kGreeting) continue;
      std::string mechanism("CURVE");
      mechanism.resize(kMechanismSize);
      if (first_bytes(held_) != FirstBytes::kZmtp || byte(held_, kVersionAt) < 3 ||
          std::string_view(held_).substr(kMechanismAt, kMechanismSize) != mechanism)
        return state_ = State::kForeign;
      greeted_ = true;
      held_.clear();
      continue;
    }
    const bool is_long = (byte(held_, 0) & kFlagLong) != 0;
    const std::size_t head = is_long ? 9 : 2;
    if (held_.size() < head) continue;
    std::uint64_t size = 0;
    for (std::size_t i = 1; i < head; ++i) size = size << 8 | byte(held_, i);
    if (size > kLongestCommand) return state_ = State::kForeign;
    // The name's length and the longest name there is, or all of a shorter body.
    const std::size_t wanted = head + std::min<std::uint64_t>(size, 1 + sizeof("WELCOME") - 1);
    if (held_.size() < wanted) continue;
    state_ = decide(std::string_view(held_).substr(head), size, (byte(held_, 0) & kFlagCommand) != 0);
    skip_ = size - (wanted - head);
    held_.clear();
  }
  return state_;
}

ServerWatch::State ServerWatch::decide(std::string_view begin, std::size_t size, bool command) {
  if (!command) return State::kForeign;
  const auto is = [&](std::string_view name) {
    return begin.size() > name.size() && byte(begin, 0) == name.size() &&
           begin.substr(1, name.size()) == name;
  };
  if (is("ERROR")) return State::kRefused;
  if (!welcomed_ && is("WELCOME") && size == kWelcomeSize) {
    welcomed_ = true;
    return State::kPending;
  }
  if (welcomed_ && is("READY") && size > kLeastReady) return State::kAuthenticated;
  return State::kForeign;
}

double TokenBucket::at(TimeNs now) const {
  const double passed = now > at_ ? static_cast<double>((now - at_).value) / 1e9 : 0.0;
  return std::min(burst_, tokens_ + rate_ * passed);
}

bool TokenBucket::has(TimeNs now) {
  tokens_ = at(now);
  at_ = std::max(at_, now);
  return tokens_ >= 1;
}

Admission::Admission(const GateLimits& limits, TimeNs now)
    : limits_(limits), bucket_(limits.rate, limits.burst, now) {}

std::map<std::string, Admission::Address>::iterator Admission::remember(const std::string& name, TimeNs now) {
  if (const auto it = addresses_.find(name); it != addresses_.end()) return it;
  if (addresses_.size() >= limits_.connections + kAddressesRemembered) {
    std::erase_if(addresses_, [&](const auto& a) { return a.second.open == 0 && a.second.bucket.full(now); });
    if (addresses_.size() >= limits_.connections + kAddressesRemembered) {
      // More addresses at once than are remembered: the one not seen for the longest time starts anew. The
      // bucket of all addresses together still holds.
      auto oldest = addresses_.end();
      for (auto it = addresses_.begin(); it != addresses_.end(); ++it)
        if (it->second.open == 0 && (oldest == addresses_.end() || it->second.seen < oldest->second.seen))
          oldest = it;
      if (oldest != addresses_.end()) addresses_.erase(oldest);
    }
  }
  return addresses_
      .emplace(name, Address{0, TokenBucket(limits_.rate_per_address, limits_.burst_per_address, now), now})
      .first;
}

std::optional<std::uint64_t> Admission::oldest_of(std::map<std::string, Address>::iterator address) const {
  for (const Waiting& w : waiting_)
    if (members_.at(w.id).address == address) return w.id;
  return std::nullopt;
}

Admission::Decision Admission::arrive(std::uint64_t id, const std::string& name, TimeNs now) {
  const auto address = remember(name, now);
  address->second.seen = now;
  // In this order: an address that floods pays from its own bucket before it can empty everybody's.
  if (!address->second.bucket.has(now) || !bucket_.has(now)) return {Answer::kRate, std::nullopt};
  address->second.bucket.take();
  bucket_.take();
  Decision d;
  if (address->second.open >= limits_.per_address) {
    d.evict = oldest_of(address);
    if (!d.evict) return {Answer::kAddress, std::nullopt};
  } else if (waiting_.size() >= limits_.unauthenticated || members_.size() >= limits_.connections) {
    if (waiting_.empty()) return {Answer::kFull, std::nullopt};
    d.evict = waiting_.front().id;
  }
  if (d.evict) leave(*d.evict);
  waiting_.push_back({id, now});
  ++address->second.open;
  members_.emplace(id, Member{address, std::prev(waiting_.end())});
  return d;
}

void Admission::authenticated(std::uint64_t id) {
  const auto it = members_.find(id);
  if (it == members_.end() || !it->second.waiting) return;
  waiting_.erase(*it->second.waiting);
  it->second.waiting.reset();
}

void Admission::leave(std::uint64_t id) {
  const auto it = members_.find(id);
  if (it == members_.end()) return;
  if (it->second.waiting) waiting_.erase(*it->second.waiting);
  --it->second.address->second.open;
  members_.erase(it);
}

std::optional<std::uint64_t> Admission::overdue(TimeNs now) const {
  if (waiting_.empty() || now < waiting_.front().since + limits_.handshake) return std::nullopt;
  return waiting_.front().id;
}

}  // namespace margay::transport
