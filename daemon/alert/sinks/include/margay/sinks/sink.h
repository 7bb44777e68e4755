// One way out for alerts. A sink sends one thing at a time and never waits: begin() starts, progress() looks
// how it stands, cut() ends what takes too long. When to try, how often and for how long is not its business
// (channel.h).
//
// Thread safety: none; everything is called by the thread "margay-alerts". Cost: no call waits for the other
// side. Errors are outcomes, never exceptions.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "margay/alert/alert.h"
#include "margay/base/time.h"

namespace margay::sinks {

// An alert as sinks are given it: each word about it (alert::step) comes once.
struct Notice {
  alert::Alert alert;
  std::string node;           // where it was when it began to fire: the same for both
  TimeNs began{};             // wall clock; likewise
  std::optional<TimeNs> end;  // wall clock; of one that is resolved
  std::string link;           // to its picture (alert::picture_link()); "": there is none
};

struct Outcome {
  enum class Kind {
    kSent,
    kRetry,    // may go well later
    kRefused,  // will never be taken
  };
  Kind kind = Kind::kSent;
  std::string why;     // a clause, for those that are not sent; holds no secret
  DurationNs pause{};  // the other side asked to be left alone for so long
};

class Sink {
 public:
  static constexpr TimeNs kNever{std::numeric_limits<std::int64_t>::max()};

  virtual ~Sink() = default;
  // Which it is, in logs and counters and over restarts: "webhook".
  virtual const char* name() const = 0;
  // Where it sends to, for people; holds no secret.
  virtual std::string where() const = 0;

  // Nothing is under way when one of these is called. `notice` need not outlive the call.
  virtual void begin(const Notice& notice, TimeNs now) = 0;
  // Nothing while it is under way; else how it ended, once. `now` is monotonic, as everywhere here.
  virtual std::optional<Outcome> progress(TimeNs now) = 0;
  // Takes too long: ends it. progress() tells when that is done.
  virtual void cut(TimeNs now) = 0;

  // For sinks that must be told again and again that an alert goes on. These do nothing elsewhere.
  // An alert that was sent earlier (by a daemon before this one) still fires, or is known to be over.
  virtual void adopt(const Notice&) {}
  virtual void forget(const std::string&) {}
  // When it wants to say again what fires; monotonic.
  virtual TimeNs repeat_at() const { return kNever; }
  virtual void begin_repeat(TimeNs) {}
};

}  // namespace margay::sinks
