#include "keys.h"

#include <optional>
#include <string_view>
#include <utility>

namespace margay::terminal {
namespace {

std::optional<Key> plain_key(char c) {
  static constexpr std::pair<std::string_view, Key> kKeys[] = {
      {"qQ\x03\x04", Key::kQuit}, {"k", Key::kUp},    {"j", Key::kDown},    {"g", Key::kHome},
      {"G", Key::kEnd},           {"-_", Key::kLess}, {"+=", Key::kMore},   {"a", Key::kAuto},
      {"v", Key::kView},          {"p ", Key::kHold}, {"h?", Key::kHelp},   {"r", Key::kPlay},
      {"n", Key::kStep},          {"[", Key::kBack},  {"]", Key::kForward}, {"\x0c", Key::kRedraw}};
  for (const auto& [letters, key] : kKeys)
    if (letters.find(c) != std::string_view::npos) return key;
  return std::nullopt;
}

std::optional<Key> sequence_key(std::string_view s) {  // without ESC
  if (s == "[A" || s == "OA") return Key::kUp;
  if (s == "[B" || s == "OB") return Key::kDown;
  if (s == "[C" || s == "OC") return Key::kMore;
  if (s == "[D" || s == "OD") return Key::kLess;
  if (s == "[5~") return Key::kPageUp;
  if (s == "[6~") return Key::kPageDown;
  if (s == "[H" || s == "OH" || s == "[1~") return Key::kHome;
  if (s == "[F" || s == "OF" || s == "[4~") return Key::kEnd;
  return std::nullopt;
}

}  // namespace

std::vector<Key> KeyDecoder::feed(std::string_view bytes) {
  std::vector<Key> out;
  for (const char c : bytes) {
    if (pending_.empty()) {
      if (c == 0x1b)
        pending_ = c;
      else if (const auto key = plain_key(c))
        out.push_back(*key);
      continue;
    }
    if (c == 0x1b) {
      pending_ = c;
      continue;
    }
    pending_ += c;
    if (pending_.size() == 2 && (c == '[' || c == 'O')) continue;
    const bool ends = c >= 0x40 && c <= 0x7e;
    if (!ends && pending_.size() < 16 && pending_.size() > 2) continue;
    if (pending_.size() == 2) {  // ESC and a common key: the key alone
      if (const auto key = plain_key(c)) out.push_back(*key);
    } else if (const auto key = sequence_key(std::string_view(pending_).substr(1))) {
      out.push_back(*key);
    }
    pending_.clear();
  }
  return out;
}

}  // namespace margay::terminal
