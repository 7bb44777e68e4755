// What people have said about a run's alerts: who has acknowledged which, what is silenced; and which alerts
// were kept from the sinks for that. A value, kept in the run's archive (kHandlingBlob).
//
// Alerts themselves are a function of the slices and know nothing of it. Bounded: what is over the bounds is
// refused (silences), or the oldest goes (all else). Times are of the wall clock, handed in. Thread safety:
// values. Errors: kInvalidArgument with a sentence for people.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "margay/alert/alert.h"
#include "margay/alert/silence.h"
#include "margay/base/result.h"

namespace margay::alert {

// The name of the blob in an archive.
inline constexpr const char* kHandlingBlob = "alerts.handling";

struct Ack {
  static constexpr std::size_t kLongestId = 256;  // bytes
  std::string id;                                 // of the alert
  TimeNs at{};
  std::string by, comment;
  bool operator==(const Ack&) const = default;
};
// An alert of which no sink has been told.
struct Withheld {
  std::string id;       // of the alert
  std::string silence;  // that it is for
  bool operator==(const Withheld&) const = default;
};

class Handling {
 public:
  static constexpr std::size_t kMostSilences = 1000;
  static constexpr std::size_t kMostAcks = 1000;
  static constexpr std::size_t kMostWithheld = 4096;
  static constexpr std::size_t kLargest = std::size_t{12} << 20;  // bytes of text: all of it, each byte two

  const std::deque<Ack>& acks() const { return acks_; }
  const std::vector<Silence>& silences() const { return silences_; }
  const std::deque<Withheld>& withheld() const { return withheld_; }

  // Replaces an earlier one of the same alert. Comments and names are cut and made clean.
  void acknowledge(Ack ack);
  const Ack* ack_of(std::string_view id) const;
  // False if there is none of this alert.
  bool unacknowledge(std::string_view id);
  // Gives it an id. One with the token of another is that other one, and changes nothing. Expired ones go.
  // It begins within Silence::kLongest, and lasts no longer than that.
  Result<const Silence*> add(Silence silence, TimeNs wall);
  // It ends now. Errors: there is none of this name.
  Result<Silence> remove(std::string_view id);
  // Drops what has expired. True if there was any.
  bool expire(TimeNs wall);
  // The one that holds an alert at this time: that which ends last; or null.
  const Silence* silencing(const Alert& alert, TimeNs wall) const;

  void withhold(const Alert& alert, const std::string& silence);
  const Withheld* withheld(std::string_view id) const;
  // Sinks are told of it after all.
  void release(std::string_view id);

  // One line of JSON; versioned.
  std::string encode() const;
  // "" is nobody having said anything. Errors: kCorrupt, kVersion (a newer Margay wrote it).
  static Result<Handling> decode_untrusted(std::string_view text);
  bool operator==(const Handling&) const = default;

 private:
  std::deque<Ack> acks_;           // oldest first
  std::vector<Silence> silences_;  // likewise
  std::deque<Withheld> withheld_;  // likewise
  std::uint64_t next_ = 1;         // number of the next silence
};

// What has been said of one alert.
struct HandledAlert {
  std::optional<Ack> ack;
  std::string
      silenced_by;  // the silence that keeps it from the sinks or, of one that is over, kept it; "": none
  bool any() const { return ack || !silenced_by.empty(); }
};
HandledAlert handled_alert(const Handling& handling, const Alert& alert, TimeNs wall);
// As viewers are sent it.
wire::Handled to_wire(const HandledAlert& handled);
// The silences that are not over, as viewers list them.
wire::Silences silences_to_wire(const Handling& handling, TimeNs wall);

// For programs, and for those who ask a daemon: the silences that are active or to come, and the
// acknowledgements, as one JSON object.
std::string handling_json(const Handling& handling, TimeNs wall);

// The alert of this id, or the only one whose id ends so. Errors: kNotFound, kInvalidArgument (several).
Result<std::string> find_id(const std::vector<std::string>& ids, std::string_view end);

}  // namespace margay::alert
