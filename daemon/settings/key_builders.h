// How the kinds of keys are made: what a value must be, how it is read and written. Of this folder only.
// `at` tells the member, of Options or const Options. Pure.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>

#include "keys.h"

namespace margay::config {

constexpr std::size_t kLongestText = 4096;

inline std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      out += std::string("\\u00") + kHex[(c >> 4) & 7] + kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}
inline std::string number(double v) {
  char text[64];
  const auto r = std::to_chars(text, text + sizeof(text), v);
  std::string s(text, r.ptr);
  return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}
inline std::optional<double> real(const Value& v) {
  if (const auto* i = std::get_if<std::int64_t>(&v)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&v)) return *d;
  return std::nullopt;
}
inline std::optional<DurationNs> duration(const std::string& text, DurationNs least, DurationNs most) {
  const auto d = parse_duration(text);
  if (!d || *d < least || most < *d) return std::nullopt;
  return *d;
}

inline DurationNs kept(DurationNs d) {
  return d;
}
inline std::uint64_t kept(SizeBytes s) {
  return s.value;
}
// A quantity, which is written as a text.
template <class Quantity, class At>
Key quantity_key(const char* section, const char* name, At at, Quantity least, Quantity most,
                 const char* help, const std::string& what, Result<Quantity> (*parse)(std::string_view)) {
  return {section,
          name,
          help,
          what + " from " + to_text(least) + " to " + to_text(most),
          [=](const Value& v, Options& o) {
            const auto* text = std::get_if<std::string>(&v);
            if (!text) return false;
            const auto q = parse(*text);
            if (!q || *q < least || most < *q) return false;
            at(o) = kept(*q);
            return true;
          },
          [=](const Options& o) { return quoted(to_text(Quantity(at(o)))); }};
}
template <class At>
Key duration_key(const char* section, const char* name, At at, DurationNs least, DurationNs most,
                 const char* help) {
  return quantity_key(section, name, at, least, most, help, "a duration", parse_duration);
}
template <class At>
Key size_key(const char* section, const char* name, At at, SizeBytes least, SizeBytes most,
             const char* help) {
  return quantity_key(section, name, at, least, most, help, "a size", parse_size);
}
template <class At>
Key count_key(const char* section, const char* name, At at, std::uint32_t least, std::uint32_t most,
              const char* help) {
  return {section,
          name,
          help,
          "a whole number from " + std::to_string(least) + " to " + std::to_string(most),
          [=](const Value& v, Options& o) {
            const auto* i = std::get_if<std::int64_t>(&v);
            if (!i || *i < least || *i > most) return false;
            at(o) = static_cast<std::uint32_t>(*i);
            return true;
          },
          [=](const Options& o) { return std::to_string(at(o)); }};
}
template <class At>
Key real_key(const char* section, const char* name, At at, double least, double most, const char* help) {
  return {section,
          name,
          help,
          "a number from " + number(least) + " to " + number(most),
          [=](const Value& v, Options& o) {
            const auto d = real(v);
            if (!d || !(*d >= least && *d <= most)) return false;  // not NaN either
            at(o) = *d;
            return true;
          },
          [=](const Options& o) { return number(at(o)); }};
}
template <class At>
Key bool_key(const char* section, const char* name, At at, const char* help) {
  return {section,
          name,
          help,
          "true or false",
          [=](const Value& v, Options& o) {
            const auto* b = std::get_if<bool>(&v);
            if (b) at(o) = *b;
            return b != nullptr;
          },
          [=](const Options& o) { return std::string(at(o) ? "true" : "false"); }};
}
template <class At>
Key text_key(const char* section, const char* name, At at, const char* expected, const char* help) {
  return {section,
          name,
          help,
          expected,
          [=](const Value& v, Options& o) {
            const auto* s = std::get_if<std::string>(&v);
            if (!s || s->size() > kLongestText || s->find('\0') != std::string::npos) return false;
            at(o) = *s;
            return true;
          },
          [=](const Options& o) { return quoted(at(o)); }};
}
// The words, and the value of the member that each stands for; the default is among them.
template <class T, class At>
Key choice_key(const char* section, const char* name, At at, std::vector<std::pair<std::string, T>> choices,
               const char* help) {
  std::string expected;
  for (const auto& [word, value] : choices) expected += (expected.empty() ? "" : ", ") + quoted(word);
  return {section,
          name,
          help,
          "one of " + expected,
          [=](const Value& v, Options& o) {
            const auto* s = std::get_if<std::string>(&v);
            for (const auto& [word, value] : choices)
              if (s && *s == word) {
                at(o) = value;
                return true;
              }
            return false;
          },
          [=](const Options& o) {
            for (const auto& [word, value] : choices)
              if (at(o) == value) return quoted(word);
            return std::string();
          }};
}
template <class List, class Show>
std::string show_list(const List& list, Show show) {
  std::string out = "[";
  for (const auto& v : list) out += (out.size() > 1 ? ", " : "") + quoted(show(v));
  return out + "]";
}

constexpr std::size_t kMostEntries = 64;
template <class At, class Good>
Key list_key(const char* section, const char* name, At at, Good good, const char* expected,
             const char* help) {
  return {section,
          name,
          help,
          expected,
          [=](const Value& v, Options& o) {
            const auto* texts = std::get_if<Texts>(&v);
            if (!texts || texts->size() > kMostEntries || !std::all_of(texts->begin(), texts->end(), good))
              return false;
            at(o) = *texts;
            return true;
          },
          [=](const Options& o) { return show_list(at(o), [](const std::string& s) { return s; }); }};
}

// The age of nothing is for ever.
inline std::string show_age(const std::optional<DurationNs>& d) {
  return d ? to_text(*d) : "forever";
}

// The member of both, for `at`.
#define MARGAY_AT(member) \
  [](auto& o) -> auto& {  \
    return o.member;      \
  }

// Keys of [lttng] (keys_lttng.cc) and of [alerts] (keys_alerts.cc).
std::vector<Key> lttng_keys();
std::vector<Key> alert_keys();

}  // namespace margay::config
