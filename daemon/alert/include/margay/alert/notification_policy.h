// Between the detector and the sinks: which word about an alert sinks are told, after what people have said
// about it (handling.h).
//
//  - A silenced alert is kept from the sinks. When no silence holds it any more and it still fires, they are
//    told of it then, as it is then; of one they know, if it has changed meanwhile.
//  - Of an acknowledged alert no updates are told. Of one that was acknowledged while it was silenced,
//    nothing. When the acknowledgement is taken back, they are told as when a silence is over.
//  - Its end is told to whoever was told its beginning, silenced and acknowledged or not: who opened a ticket
//    can close it. Where the beginning was kept from them, the end is, too.
//
// Over a restart the alerts of the past are handed in again (`known`); what was kept from the sinks stands in
// the handling, so nothing is told that was not to be; changes that were kept back before it are not told
// any more. Pure: times are handed in, of the wall clock. Thread safety: none. Bounded: kMostOpen alerts; of
// others, nothing is silenced. Cost: of a word, O(silences).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "margay/alert/handling.h"

namespace margay::alert {

class NotificationPolicy {
 public:
  static constexpr std::size_t kMostOpen = 4096;

  explicit NotificationPolicy(Handling handling) : handling_(std::move(handling)) {}
  NotificationPolicy() = default;

  // Whether sinks are to be told. `known`: it was said before, by a daemon before this one.
  bool take(const Alert& alert, bool known, TimeNs wall);
  // What sinks are to be told now because no silence holds it any more. Cheap while nothing has changed.
  std::vector<Alert> due(TimeNs wall);

  // What people ask for. The answer is a sentence. Errors: a sentence that says what to do.
  Result<std::string> acknowledge(const std::string& end_of_id, const std::string& by,
                                  const std::string& comment, TimeNs wall);
  Result<std::string> unacknowledge(const std::string& end_of_id, TimeNs wall);
  Result<std::string> silence(const Silence& silence, TimeNs wall);
  Result<std::string> unsilence(const std::string& id, TimeNs wall);

  const Handling& handling() const { return handling_; }
  // What has been said of this alert. Cost: O(all that has been said).
  HandledAlert handled(const std::string& id, TimeNs wall) const;
  // Grows with each change of what is to be kept.
  std::uint64_t version() const { return version_; }
  // Words kept from sinks, by why.
  std::uint64_t held_by_silence() const { return held_by_silence_; }
  std::uint64_t held_by_ack() const { return held_by_ack_; }
  std::size_t active_silences(TimeNs wall) const;

 private:
  struct Open {
    Alert newest;
    bool told = false;
    bool behind = false;  // told, but not how it is now
  };
  void changed() {
    ++version_;
    look_ = true;
  }
  std::size_t silenced_now(const Silence& silence) const;
  bool to_be_told(const std::string& id, const Open& open, TimeNs wall) const;

  Handling handling_;
  std::map<std::string, Open> open_;  // by id; they fire
  std::uint64_t version_ = 0;
  std::uint64_t held_by_silence_ = 0, held_by_ack_ = 0;
  bool look_ = true;                   // due() has something to look at
  std::optional<TimeNs> next_expiry_;  // of a silence
};

}  // namespace margay::alert
