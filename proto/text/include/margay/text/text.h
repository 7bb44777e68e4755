// Text that is safe to print: names in a report come from other people's programs and are untrusted.
//
// What a terminal could obey (escape sequences, C0 and C1 controls, DEL) or show misleadingly (bidirectional
// marks, zero-width and combining characters, private use, broken UTF-8) is replaced, one sign for each.
// Scripts whose width all terminals agree on are kept: Latin, Greek, Cyrillic, common symbols, kana, CJK and
// Hangul. Everything that this module draws passes through here.
//
// Thread safety: pure functions. Cost: linear in what is read, which `most_columns` bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "margay/base/text.h"
#include "margay/base/time.h"

namespace margay::text {

using margay::ordinal;
using margay::size_text;

inline constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

// Columns that `c` takes: 1 or 2; 0 for what printable() replaces.
int columns_of(char32_t c);

// Takes one character off the front of `text` (which must not be empty). Broken UTF-8, overlong forms and
// surrogates give U+FFFD, one byte at a time.
char32_t next_character(std::string_view& text);
void append_utf8(std::string& out, char32_t c);

// `text` with everything unsafe replaced by U+FFFD (by '?' without `unicode`, where that goes for all that is
// not ASCII), cut after `most_columns` columns.
std::string printable(std::string_view text, bool unicode = true, std::size_t most_columns = kNoLimit);

// Columns of a text that printable() made.
std::size_t width_of(std::string_view printable_text);

// Cuts to `columns`, the last column being an ellipsis where something was cut.
std::string shortened(std::string_view printable_text, std::size_t columns, bool unicode = true);

// "0.2 s", "31.8 s", "14 min 3 s", "2 h 05 min", "3 d 4 h". Negative durations read as 0.
std::string duration_text(std::int64_t ns);
// "845 ns", "12.3 us", "1.23 ms", "4.56 s": three digits of a short one; from a minute on as duration_text.
std::string short_duration_text(std::int64_t ns);
// "12.000000345": a time or duration in seconds, exact. Negative ones have a minus.
std::string seconds_text(std::int64_t ns);
// "100 ms", "1 s", "60 s": the length of a slice.
std::string slice_text(std::int64_t ns);
// "13:02:11", `utc_offset_s` seconds east of Greenwich.
std::string clock_text(std::int64_t unix_ns, std::int64_t utc_offset_s);
// "2026-11-20 13:02:11", in the time zone of this process.
std::string date_text(TimeNs wall);
// a - b, a + b, a * b; the nearest number that there is where that would overflow.
std::int64_t minus(std::int64_t a, std::int64_t b);
std::int64_t plus(std::int64_t a, std::int64_t b);
std::int64_t times(std::int64_t a, std::int64_t b);

}  // namespace margay::text
