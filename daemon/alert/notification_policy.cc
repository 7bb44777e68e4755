#include "margay/alert/notification_policy.h"

#include <algorithm>

#include "margay/base/text.h"

namespace margay::alert {
namespace {

constexpr std::size_t kMostNamed = 3;

std::string alerts_text(std::size_t n, const char* one, const char* many) {
  return n == 1 ? std::string("1 alert that fires ") + one : grouped(n) + " alerts that fire " + many;
}

std::string some_of(const std::vector<std::string>& ids) {
  std::string text;
  for (std::size_t i = 0; i < ids.size() && i < kMostNamed; ++i) text += (i > 0 ? ", " : "") + ids[i];
  return text + (ids.size() > kMostNamed ? ", ..." : "");
}

}  // namespace

bool NotificationPolicy::take(const Alert& a, bool known, TimeNs wall) {
  // An id that cannot be kept is nobody's: the archive takes no such alert either.
  if (a.id.empty() || a.id.size() > Ack::kLongestId || clean_utf8(a.id) != a.id) return true;
  const auto at = open_.find(a.id);
  const bool told = at != open_.end() ? at->second.told : known && handling_.withheld(a.id) == nullptr;
  if (a.status == Status::kResolved) {
    const bool followed = at != open_.end();
    if (followed) open_.erase(at);
    if (told || known) return told;
    if (!followed && handling_.withheld(a.id) == nullptr) return true;  // one of too many
    ++held_by_silence_;
    return false;
  }
  if (at == open_.end() && open_.size() >= kMostOpen) return true;
  Open& open = at != open_.end() ? at->second : open_[a.id];
  open.newest = a;
  open.told = told;
  if (known) return told;  // was said then, to whom it was; sinks that go on need it again
  if (handling_.ack_of(a.id) != nullptr && (told || a.updates > 0)) {
    ++held_by_ack_;
    open.behind = told;
    return false;
  }
  if (const Silence* s = handling_.silencing(a, wall)) {
    ++held_by_silence_;
    open.behind = told;
    if (!told) {
      handling_.withhold(a, s->id);
      changed();
    }
    return false;
  }
  open.told = true;
  open.behind = false;
  if (handling_.withheld(a.id) != nullptr) {
    handling_.release(a.id);
    changed();
  }
  return true;
}

bool NotificationPolicy::to_be_told(const std::string& id, const Open& open, TimeNs wall) const {
  return (!open.told || open.behind) && handling_.ack_of(id) == nullptr &&
         handling_.silencing(open.newest, wall) == nullptr;
}

std::vector<Alert> NotificationPolicy::due(TimeNs wall) {
  std::vector<Alert> out;
  if (!look_ && (!next_expiry_ || wall < *next_expiry_)) return out;
  if (handling_.expire(wall)) ++version_;
  look_ = false;
  next_expiry_.reset();
  for (const Silence& s : handling_.silences())
    if (!next_expiry_ || s.until < *next_expiry_) next_expiry_ = s.until;
  for (auto& [id, open] : open_) {
    if (!to_be_told(id, open, wall)) continue;
    open.told = true;
    open.behind = false;
    if (handling_.withheld(id) != nullptr) {
      handling_.release(id);
      ++version_;
    }
    out.push_back(open.newest);
  }
  return out;
}

Result<std::string> NotificationPolicy::acknowledge(const std::string& end_of_id, const std::string& by,
                                                    const std::string& comment, TimeNs wall) {
  std::vector<std::string> ids;
  for (const auto& [id, open] : open_) ids.push_back(id);
  auto id = find_id(ids, end_of_id);
  if (!id && id.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound, id.error().message + " fires: " +
                                          (ids.empty() ? "none is firing" : "firing are " + some_of(ids)));
  if (!id) return id;
  if (comment.size() > Silence::kLongestComment || by.size() > Silence::kLongestName)
    return fail(ErrorCode::kInvalidArgument, "--comment may have " +
                                                 std::to_string(Silence::kLongestComment) + " bytes, --by " +
                                                 std::to_string(Silence::kLongestName));
  handling_.acknowledge({*id, wall, by, comment});
  changed();
  return *id + " is acknowledged: no more updates of it are sent; its end is";
}

Result<std::string> NotificationPolicy::unacknowledge(const std::string& end_of_id, TimeNs wall) {
  std::vector<std::string> ids;
  for (const Ack& a : handling_.acks()) ids.push_back(a.id);
  auto id = find_id(ids, end_of_id);
  if (!id && id.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound,
                id.error().message + " is acknowledged: " +
                    (ids.empty() ? "none is" : "those that are: " + some_of({ids.rbegin(), ids.rend()})));
  if (!id) return id;
  handling_.unacknowledge(*id);
  changed();
  const std::string said = *id + " is not acknowledged any more";
  const auto open = open_.find(*id);
  if (open == open_.end()) return said + "; it is over";
  if (to_be_told(*id, open->second, wall)) return said + "; its present state is sent";
  if (const Silence* s = handling_.silencing(open->second.newest, wall))
    return said + "; " + s->id + " still silences it";
  return said + ": changes of it are sent again";
}

std::size_t NotificationPolicy::silenced_now(const Silence& s) const {
  return static_cast<std::size_t>(
      std::count_if(open_.begin(), open_.end(), [&](const auto& o) { return matches(s, o.second.newest); }));
}

Result<std::string> NotificationPolicy::silence(const Silence& wanted, TimeNs wall) {
  const auto s = handling_.add(wanted, wall);
  if (!s) return tl::unexpected(s.error());
  changed();
  const bool begun = active(**s, wall);
  const std::size_t now = begun ? silenced_now(**s) : 0;
  return (*s)->id + (begun ? " silences " : " will silence ") + what(**s) +
         (now > 0 ? "; " + alerts_text(now, "now is silenced by it", "now are silenced by it") : "");
}

Result<std::string> NotificationPolicy::unsilence(const std::string& id, TimeNs wall) {
  const auto gone = handling_.remove(id);
  if (!gone) return tl::unexpected(gone.error());
  changed();
  std::size_t free = 0;
  for (const auto& [alert, open] : open_)
    free += matches(*gone, open.newest) && to_be_told(alert, open, wall);
  if (wall < gone->from) return gone->id + " is cancelled: it would have silenced " + what(*gone);
  return gone->id + " has ended: it silenced " + what(*gone) +
         (free > 0 ? "; " + alerts_text(free, "is sent now", "are sent now") : "");
}

HandledAlert NotificationPolicy::handled(const std::string& id, TimeNs wall) const {
  const auto open = open_.find(id);
  if (open != open_.end()) return handled_alert(handling_, open->second.newest, wall);
  Alert over;
  over.id = id;
  over.status = Status::kResolved;
  return handled_alert(handling_, over, wall);
}

std::size_t NotificationPolicy::active_silences(TimeNs wall) const {
  const auto& all = handling_.silences();
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const Silence& s) { return active(s, wall); }));
}

}  // namespace margay::alert
