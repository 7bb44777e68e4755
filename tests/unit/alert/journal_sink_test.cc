// Fields of an entry; and what libsystemd sends to a journal of our own, where a mount namespace may be made.
#include "journal_sink.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sink_fixture.h"

namespace margay::sinks {
namespace journal_sink_test {

using testing::Contains;
using testing::HasSubstr;
using Kind = Outcome::Kind;

TEST(JournalFields, SayWhatAndHowBad) {
  const auto firing = journal_fields(*a_notice("night-1"));
  for (const char* field :
       {"MESSAGE=FIRING: rank3 on h1 has been stopped for 0.2 s", "PRIORITY=4", "SYSLOG_IDENTIFIER=margay",
        "MARGAY_ALERT_ID=night-1", "MARGAY_ALERT_STATUS=firing", "MARGAY_ALERT_KIND=perturbation",
        "MARGAY_ALERT_SEVERITY=warning", "MARGAY_ALERT_NODE=/h1", "MARGAY_ALERT_PHASE=B", "MARGAY_RUN=night",
        "MARGAY_ALERT_LIKELY_CAUSE=/h1/rank3", "MARGAY_ALERT_LIKELY_CAUSE=/h1/rank4",
        "MARGAY_ALERT_COST_S=0.25", "MARGAY_ALERT_FALSE_ALARMS_PER_DAY=0.03",
        "MARGAY_ALERT_LINK=margay:///data/night.margay#t=1.2-4.4"})
    EXPECT_THAT(firing, Contains(field));
  EXPECT_THAT(firing, Contains(std::string("MESSAGE_ID=") + JournalSink::kFiringId));
  const auto resolved = journal_fields(*a_notice("night-1", alert::Status::kResolved));
  EXPECT_THAT(resolved, Contains("PRIORITY=6"));
  EXPECT_THAT(resolved, Contains(std::string("MESSAGE_ID=") + JournalSink::kResolvedId));
}

TEST(JournalFields, EachKindHasAPriority) {
  const std::pair<alert::Kind, const char*> all[] = {{alert::Kind::kPerturbation, "PRIORITY=4"},
                                                     {alert::Kind::kLoss, "PRIORITY=4"},
                                                     {alert::Kind::kStall, "PRIORITY=3"},
                                                     {alert::Kind::kSourceLost, "PRIORITY=3"},
                                                     {alert::Kind::kPhaseDuration, "PRIORITY=5"}};
  for (const auto& [kind, priority] : all) {
    auto n = a_notice("1");
    n->alert.kind = kind;
    EXPECT_THAT(journal_fields(*n), Contains(priority));
  }
}

TEST(JournalFields, HostileTextMakesNoFieldsOfItsOwnAndAllIsBounded) {
  auto n = a_notice("1");
  n->alert.message = "a\nPRIORITY=0\xff" + std::string(100'000, 'x');
  n->alert.likely_cause.assign(1000, std::string(100'000, 'y'));
  std::size_t bytes = 0;
  for (const std::string& f : journal_fields(*n)) {
    EXPECT_EQ(f.find('\n'), std::string::npos);
    bytes += f.size();
  }
  EXPECT_LT(bytes, std::size_t{200} << 10);
  EXPECT_THAT(journal_fields(*n), Contains(testing::StartsWith("MESSAGE=FIRING: a?PRIORITY=0?xx")));
}

// With a mount namespace in it, where this user is root: files made there must have an owner that has a
// number.
bool own_user_namespace() {
  const auto put = [](const char* path, const std::string& text) { std::ofstream(path) << text; };
  const std::string user = std::to_string(::getuid()), group = std::to_string(::getgid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  put("/proc/self/setgroups", "deny");
  put("/proc/self/uid_map", "0 " + user + " 1");
  put("/proc/self/gid_map", "0 " + group + " 1");
  return ::getuid() == 0;
}

// In a child of its own, in a mount namespace where /run is ours. What it finds wrong is written to the pipe.
// Returns "skip: ..." where no namespace can be had.
std::string in_a_namespace(const std::function<std::string()>& check) {
  int out[2];
  if (::pipe(out) != 0) return "no pipe";
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::string said;
    if (::unshare(CLONE_NEWNS) != 0 && !own_user_namespace())
      said = "skip: no mount namespace may be made here";
    else if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
             ::mount("tmpfs", "/run", "tmpfs", 0, nullptr) != 0)
      said = "skip: nothing may be mounted here";
    else
      said = check();
    static_cast<void>(!::write(out[1], said.data(), said.size()));
    ::_exit(0);
  }
  ::close(out[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(out[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<std::size_t>(n));
  ::close(out[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status == 0 ? said : "the child ended with " + std::to_string(status);
}

int listen_as_the_journal() {
  ::mkdir("/run/systemd", 0755);
  ::mkdir("/run/systemd/journal", 0755);
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::snprintf(at.sun_path, sizeof at.sun_path, "%s", JournalSink::kSocket);
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 ? fd : -1;
}

TEST(Journal, IsSentWhatTheFieldsSayAndItsAbsenceIsAFailure) {
  const auto said = in_a_namespace([]() -> std::string {
    JournalSink sink;
    const auto notice = a_notice("night-1");
    // libsystemd alone would say nothing here.
    Outcome o = send(sink, *notice);
    if (o.kind != Kind::kRetry || o.why.find("cannot be reached: No such file") == std::string::npos)
      return "no journal: " + o.why;
    const int journal = listen_as_the_journal();
    if (journal < 0) return "cannot listen";
    if (o = send(sink, *notice); o.kind != Kind::kSent) return "a journal: " + o.why;
    std::string got(1 << 20, '\0');
    const ssize_t n = ::recv(journal, got.data(), got.size(), MSG_DONTWAIT);
    if (n <= 0) return "nothing came";
    got.resize(static_cast<std::size_t>(n));
    for (const std::string& field : journal_fields(*notice))
      if (got.find(field + "\n") == std::string::npos) return "missing: " + field + " in " + got;
    // One that does not listen: its queue is full some day, and nobody waits for it.
    int sent = 0;
    for (; sent < 100'000 && o.kind == Kind::kSent; ++sent) o = send(sink, *notice);
    if (o.kind != Kind::kRetry || o.why != "it does not listen") return "full: " + o.why;
    while (::recv(journal, got.data(), got.size(), MSG_DONTWAIT) > 0) continue;
    if (o = send(sink, *notice); o.kind != Kind::kSent) return "listens again: " + o.why;
    return "good";
  });
  if (said.starts_with("skip: ")) GTEST_SKIP() << said;
  EXPECT_EQ(said, "good");
}

}  // namespace journal_sink_test
}  // namespace margay::sinks
