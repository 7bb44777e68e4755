// Events of a trace as the rules see them, whatever library reads the trace.
//
// A class (one tracepoint of one trace) is told once, with the names of its fields, before its first event;
// fields are asked for by position, and only those that a rule needs are read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/time.h"

namespace margay::lttng {

enum class FieldType : std::uint8_t { kSigned, kUnsigned, kReal, kText, kOther };
struct Field {
  std::string name;
  FieldType type = FieldType::kOther;
};

struct EventClass {
  std::string name;  // "lttng_ust_pthread:pthread_mutex_lock_req", "sched_switch", "syscall_entry_read"
  bool kernel = false;
  std::vector<Field>
      fields;  // the payload first, then the contexts that are no payload ("ip", "perf_..." ...)
};

// The values of one event's fields; valid during the call that hands it over.
class FieldValues {
 public:
  virtual ~FieldValues() = default;
  // REQUIRES: `field` < fields.size() of its class, and the type fits (integers may be asked for as the other
  // kind). A text is cut at 255 bytes.
  virtual std::int64_t integer(std::uint32_t field) const = 0;
  virtual double real(std::uint32_t field) const = 0;
  virtual std::string_view text(std::uint32_t field) const = 0;
};

struct Event {
  std::uint32_t cls = 0;  // number of its class, dense, as on_class() gave it
  TimeNs at{};            // host time, CLOCK_MONOTONIC
  std::int32_t cpu = -1;  // -1 unknown
  // Contexts; -1 and "" where the trace does not have them.
  std::int64_t vpid = -1;
  std::int64_t vtid = -1;
  std::string_view procname;  // of the thread
  const FieldValues* values = nullptr;
};

// Events were lost: at most `events` (exactly, where `exact`), between the two times, on one CPU's buffer.
struct Discarded {
  std::uint64_t events = 0;
  bool exact = true;  // false: whole packets are missing, and how many events they had is not known
  std::int32_t cpu = -1;
  TimeNs begin{};
  TimeNs end{};
};

// What a trace's reader calls, in the order of time.
class EventSink {
 public:
  virtual ~EventSink() = default;
  // Returns nothing; classes are numbered in the order of these calls, from 0.
  virtual void on_class(const EventClass& cls) = 0;
  virtual void on_event(const Event& event) = 0;
  virtual void on_discarded(const Discarded& discarded) = 0;
  // No event before `until` is to come.
  virtual void on_progress(TimeNs until) = 0;
};

}  // namespace margay::lttng
