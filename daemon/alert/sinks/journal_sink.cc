#include "journal_sink.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
// Where in this file an entry was made says nothing to whoever reads it.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "margay/sinks/settings.h"
#include "text.h"

namespace margay::sinks {
namespace {

constexpr std::size_t kLongestField = 4096;
constexpr std::size_t kLongestJson = 48 << 10;  // beyond it the archive has it
constexpr std::size_t kMostCauses = 16;

// 0, or why nothing can be sent now.
int journal_trouble() {
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, JournalSink::kSocket, sizeof to.sun_path - 1);
  int error = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
  if (error == 0) {
    pollfd room{fd, POLLOUT, 0};
    if (::poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0) error = EAGAIN;
  }
  ::close(fd);
  return error;
}

}  // namespace

std::vector<std::string> journal_fields(const Notice& n) {
  const alert::Alert& a = n.alert;
  const bool firing = a.status == alert::Status::kFiring;
  std::vector<std::string> out;
  const auto add = [&](const char* name, const std::string& value, std::size_t most = kLongestField) {
    if (!value.empty()) out.push_back(std::string(name) + "=" + fit(value, most));
  };
  const Urgency u = urgency(a.kind);
  const int priority = !firing ? 6 : u == Urgency::kCritical ? 3 : u == Urgency::kWarning ? 4 : 5;
  add("MESSAGE", std::string(firing ? "FIRING: " : "resolved: ") +
                     (a.message.empty() ? alert::to_string(a.kind) : a.message));
  add("PRIORITY", std::to_string(priority));
  add("SYSLOG_IDENTIFIER", "margay");
  add("MESSAGE_ID", firing ? JournalSink::kFiringId : JournalSink::kResolvedId);
  add("MARGAY_ALERT_ID", a.id);
  add("MARGAY_ALERT_STATUS", alert::to_string(a.status));
  add("MARGAY_ALERT_UPDATES", std::to_string(a.updates));
  add("MARGAY_ALERT_KIND", alert::to_string(a.kind));
  add("MARGAY_ALERT_SEVERITY", to_string(u));
  add("MARGAY_ALERT_NODE", n.node);
  add("MARGAY_ALERT_PHASE", a.phase);
  add("MARGAY_ALERT_BEGIN", rfc3339(n.began));
  if (n.end) add("MARGAY_ALERT_END", rfc3339(*n.end));
  add("MARGAY_RUN", a.run);
  for (std::size_t i = 0; i < a.likely_cause.size() && i < kMostCauses; ++i)
    add("MARGAY_ALERT_LIKELY_CAUSE", a.likely_cause[i]);
  if (a.cost_s) add("MARGAY_ALERT_COST_S", number_text(a.cost_s));
  if (a.false_alarms_per_day) add("MARGAY_ALERT_FALSE_ALARMS_PER_DAY", number_text(a.false_alarms_per_day));
  add("MARGAY_ALERT_LINK", n.link);
  const std::string json = alert::to_json(a);
  if (json.size() <= kLongestJson) add("MARGAY_ALERT_JSON", json, kLongestJson);
  return out;
}

void JournalSink::begin(const Notice& notice, TimeNs) {
  done_ = Outcome{};
  if (const int error = journal_trouble(); error != 0) {
    done_ = Outcome{
        Outcome::Kind::kRetry,
        error == EAGAIN ? "it does not listen" : std::string("cannot be reached: ") + std::strerror(error),
        {}};
    return;
  }
  const std::vector<std::string> fields = journal_fields(notice);
  std::vector<iovec> parts;
  parts.reserve(fields.size());
  for (const std::string& f : fields) parts.push_back({const_cast<char*>(f.data()), f.size()});
  if (const int r = sd_journal_sendv(parts.data(), static_cast<int>(parts.size())); r < 0)
    done_ = Outcome{Outcome::Kind::kRetry, std::strerror(-r), {}};
}

std::optional<Outcome> JournalSink::progress(TimeNs) {
  return std::exchange(done_, std::nullopt);
}

bool wants_journal(const Settings& s) {
  return s.journal;
}
Result<std::unique_ptr<Sink>> make_journal(const Settings&, const Clock&) {
  return std::make_unique<JournalSink>();
}

}  // namespace margay::sinks
