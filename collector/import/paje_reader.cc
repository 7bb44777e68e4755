// From lines to events: the header, times, what is late, what is wrong.
#include "paje_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "margay/base/text.h"
#include "paje.h"
#include "paje_text.h"
#include "paje_time.h"

namespace margay::trace::paje {
namespace {

std::string seconds_text(std::int64_t ns) {
  const bool negative = ns < 0;
  const auto size = static_cast<std::uint64_t>(negative ? -ns : ns);
  std::string part = std::to_string(size % 1'000'000'000);
  part.insert(0, 9 - part.size(), '0');
  part.erase(part.find_last_not_of('0') + 1);
  return (negative ? "-" : "") + std::to_string(size / 1'000'000'000) + (part.empty() ? "" : "." + part) +
         " s";
}

// Of the trace, and so of a line: not of the machine.
bool is_of_line(ErrorCode code) {
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kCorrupt || code == ErrorCode::kLimit ||
         code == ErrorCode::kNotFound;
}

}  // namespace

Reader::Reader(std::string name, const ReadOptions& options, Consumer& consumer)
    : name_(std::move(name)), options_(options), consumer_(consumer), containers_(types_) {}

Status Reader::problem(std::uint64_t number, const Error& error) {
  const std::string place =
      name_ + ":" + std::to_string(number) + ": " + (event_.empty() ? "" : event_ + ": ");
  if (!options_.keep_going || !is_of_line(error.code)) return fail(error.code, place + error.message);
  ++(is_late_ ? counts_.late : counts_.rejected);
  if (options_.problem && counts_.rejected + counts_.late <= ReadOptions::kMostTold)
    options_.problem(place + error.message);
  return {};
}

Status Reader::take_line(std::string_view line) {
  ++counts_.lines;
  event_.clear();
  is_late_ = false;
  if (auto ok = take(line); !ok)
    if (auto told = problem(counts_.lines, ok.error()); !told) return told;
  if (late_.empty()) return {};
  // No line that comes may be as early as this any more.
  if (auto ok = release(newest_ - options_.lateness.value); !ok) return ok;
  if (late_.bytes() <= kMostLateBytes) return {};
  return fail(ErrorCode::kLimit,
              name_ + ":" + std::to_string(counts_.lines) +
                  ": more than 512 MiB of lines lie within the lateness; expected a shorter --lateness");
}

Status Reader::take_long_line() {
  ++counts_.lines;
  event_.clear();
  return problem(counts_.lines, {ErrorCode::kLimit, "is longer than 1 MiB; is this a Paje trace?"});
}

Status Reader::take(std::string_view line) {
  std::size_t begin = 0;
  while (begin < line.size() && (line[begin] == ' ' || line[begin] == '\t')) ++begin;
  line.remove_prefix(begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty() || line.front() == '#') return {};
  if (std::memchr(line.data(), 0, line.size()) != nullptr)
    return fail(ErrorCode::kCorrupt, "holds a NUL byte; is this a Paje trace?");
  if (line.front() == '%') return header_.take(line);
  if (header_.open())
    return fail(ErrorCode::kInvalidArgument,
                "an event stands within a definition; expected a line that begins with % up to %EndEventDef");
  const std::string_view whole = line;
  const std::string_view word = take_word(line);
  const std::uint32_t id = event_id(word);
  const EventDef* const def = id > Header::kGreatestId ? nullptr : header_.find(id);
  if (def == nullptr)
    return fail(ErrorCode::kInvalidArgument,
                "begins with " + quote(word) + "; expected the number of an event that the header defines");
  if (auto ok = split(line, *def, values_); !ok) {
    event_ = def->name;
    return ok;
  }
  if (!def->timed) {
    auto ok = define(*def);
    if (!ok) event_ = def->name;
    return ok;
  }
  const auto time = parse_time(value(Field::kTime));
  if (!time) {
    event_ = def->name;
    return fail(ErrorCode::kInvalidArgument,
                "the time " + quote(value(Field::kTime)) +
                    " is no number of seconds; expected one like 12.5 or 1.25e-3, "
                    "within 146 years of 0");
  }
  if (options_.lateness.value > 0) {
    newest_ = any_time_ ? std::max(newest_, *time) : *time;
    any_time_ = true;
    late_.push(*time, counts_.lines, whole);
    return {};
  }
  return happen(*def, *time);
}

Status Reader::release(std::int64_t until) {
  while (!late_.empty() && late_.earliest() <= until) {
    const LateLines::Line held = late_.top();
    std::string_view rest = held.text;
    const EventDef* const def = header_.find(event_id(take_word(rest)));
    event_.clear();
    is_late_ = false;
    Status ok = split(rest, *def, values_);  // it could be before
    if (ok) ok = happen(*def, held.time_ns);
    if (!ok) ok = problem(held.number, ok.error());
    if (!ok) return ok;
    late_.pop();
  }
  return {};
}

Status Reader::happen(const EventDef& def, std::int64_t time_ns) {
  is_late_ = false;
  if (began_ && time_ns < now_) {
    event_ = def.name;
    is_late_ = true;
    return fail(
        ErrorCode::kInvalidArgument,
        "its time, " + seconds_text(time_ns) + ", is " + seconds_text(now_ - time_ns) +
            " before that of the lines above; --lateness puts lines that are up to 1 h late in their place; "
            "of "
            "a trace that holds one process after the other, sort the lines behind its definitions by "
            "time first");
  }
  if (!began_ || time_ns > now_)
    if (auto ok = advance(time_ns); !ok) return ok;
  auto ok = dispatch(def, time_ns);
  if (!ok) event_ = def.name;
  return ok;
}

Status Reader::advance(std::int64_t time_ns) {
  // The consumer may refuse the time (it lies too far ahead): then it has not come.
  if (auto ok = consumer_.on_covered(TimeNs(time_ns)); !ok) return ok;
  if (!began_) counts_.begin = TimeNs(time_ns);
  began_ = true;
  now_ = time_ns;
  counts_.end = TimeNs(time_ns);
  return {};
}

Status Reader::finish() {
  event_.clear();
  if (header_.open())
    if (auto ok = problem(counts_.lines, {ErrorCode::kInvalidArgument,
                                          "the trace ends within a definition; expected %EndEventDef"});
        !ok)
      return ok;
  if (auto ok = release(std::numeric_limits<std::int64_t>::max()); !ok) return ok;
  counts_.half_links = half_links_.size();
  return end_all();
}

Status Reader::define(const EventDef& def) {
  switch (def.event) {
    case Event::kDefineContainerType:
    case Event::kDefineStateType:
    case Event::kDefineVariableType:
    case Event::kDefineEventType:
    case Event::kDefineLinkType: {
      const auto kind = static_cast<Type::Kind>(static_cast<int>(def.event) -
                                                static_cast<int>(Event::kDefineContainerType));
      return types_.define(kind, value(Field::kAlias), value(Field::kName), value(Field::kType));
    }
    case Event::kDefineEntityValue:
      return types_.define_value(value(Field::kType), value(Field::kAlias), value(Field::kName));
    default:
      return fail(ErrorCode::kInvalidArgument,
                  "is no event of the Paje format; expected PajeSetState and the like");
  }
}

}  // namespace margay::trace::paje
