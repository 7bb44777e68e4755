// What others are told: HTTP for monitoring, datagrams for systemd.
#include "margay/observe/service.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "margay/log/log.h"
#include "margay/observe/http.h"

namespace margay::observe {
namespace service_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

int connect_to(const std::string& address) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

// The whole answer; "" if there is none.
std::string ask(const std::string& address, const std::string& request) {
  const int fd = connect_to(address);
  if (fd < 0) return {};
  std::string answer;
  if (write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
    char block[4096];
    for (ssize_t n; (n = read(fd, block, sizeof block)) > 0;)
      answer.append(block, static_cast<std::size_t>(n));
  }
  close(fd);
  return answer;
}
std::string get(const std::string& address, const std::string& path, const std::string& method = "GET",
                const std::string& host = "localhost") {
  return ask(address, method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
}

TEST(Listen, IsTheLoopbackUnlessWrittenOut) {
  EXPECT_EQ(*parse_listen("9464"), "127.0.0.1:9464");
  EXPECT_EQ(*parse_listen("127.0.0.1:9464"), "127.0.0.1:9464");
  EXPECT_EQ(*parse_listen("0.0.0.0:1"), "0.0.0.0:1");
  EXPECT_EQ(*parse_listen("[::1]:9464"), "[::1]:9464");
  for (const char* bad : {"", ":9464", "x:1", "127.0.0.1:", "127.0.0.1:65536", "1:2:3", "127.0.0.1:80,81",
                          "80s", "-1", "127.0.0.1:80r", "[]:1", "localhost:1"}) {
    const auto r = parse_listen(bad);
    ASSERT_FALSE(r) << bad;
    EXPECT_THAT(r.error().message, HasSubstr("expected"));
  }
}

struct Http : testing::Test {
  SystemClock clock;
  std::unique_ptr<HttpServer> server;
  void SetUp() override {
    log::Options quiet;
    quiet.level = log::Level::kOff;
    log::start(quiet);
    auto s = HttpServer::start("0", clock);
    ASSERT_TRUE(s) << s.error().message;
    server = std::move(*s);
  }
  void TearDown() override { log::start({}); }
  void show(wire::Health::State state) {
    auto r = std::make_shared<wire::Report>();
    r->set_run("r");
    r->mutable_health()->set_state(state);
    r->mutable_health()->set_verdict("verdict");
    server->update(std::move(r));
  }
};

TEST_F(Http, AnswersFromTheNewestReport) {
  const std::string& at = server->address();
  EXPECT_THAT(at, StartsWith("127.0.0.1:"));
  EXPECT_THAT(get(at, "/metrics"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(get(at, "/health"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(get(at, "/live"), StartsWith("HTTP/1.1 200"));
  show(wire::Health::HEALTHY);
  EXPECT_THAT(get(at, "/health"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get(at, "/metrics"), HasSubstr("\nmargay_healthy{run=\"r\"} 1\n"));
  EXPECT_THAT(get(at, "/health", "HEAD"), testing::EndsWith("\r\n\r\n"));
  show(wire::Health::DEGRADED);
  EXPECT_THAT(get(at, "/health"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(get(at, "/metrics"), HasSubstr("\nmargay_healthy{run=\"r\"} 0\n"));
  EXPECT_EQ(server->requests(), 8u);
}

TEST_F(Http, HasNoOtherPathAndNoOtherMethod) {
  const std::string& at = server->address();
  for (const char* path : {"/", "/metrics/", "/metrics/x", "/../../etc/passwd", "/healthz", "/live/..", "*"})
    EXPECT_THAT(get(at, path), testing::Not(StartsWith("HTTP/1.1 200"))) << path;
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND"})
    EXPECT_THAT(get(at, "/metrics", method), StartsWith("HTTP/1.1 4")) << method;
  for (const std::string& bad : {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string(100, '\0'),
                                 "GET /metrics HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"})
    EXPECT_THAT(ask(at, bad), testing::Not(HasSubstr(" 200 ")));
}

TEST_F(Http, APortThatIsTakenIsSaid) {
  const auto other = HttpServer::start(server->address(), clock);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(other.error().message, HasSubstr(server->address()));
}

std::size_t descriptors() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
  return n;
}

TEST_F(Http, AFloodOfHalfOpenConnectionsTakesNoMoreThanItsBound) {
  show(wire::Health::HEALTHY);
  const std::size_t before = descriptors();
  std::vector<int> ours;
  for (int i = 0; i < 200; ++i) {
    // Those that find the kernel's queue full wait there: without blocking, that is theirs to do.
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    const std::string& at = server->address();
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(at.substr(at.rfind(':') + 1))));
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    static_cast<void>(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to));
    [[maybe_unused]] const ssize_t n = write(fd, "GET /me", 7);
    ours.push_back(fd);
  }
  std::size_t most = 0;
  for (int i = 0; i < 20; ++i) {
    most = std::max(most, descriptors() - before - ours.size());
    usleep(10'000);
  }
  EXPECT_LE(most, HttpServer::kConnections + 2);
  for (const int fd : ours) close(fd);
  EXPECT_THAT(get(server->address(), "/health"), StartsWith("HTTP/1.1 200"));
}

class ClockThatStands final : public Clock {
 public:
  TimeNs monotonic() const override { return TimeNs(seconds(1000).value); }
  TimeNs realtime() const override { return TimeNs(seconds(1000).value); }
  TimeNs processor() const override { return TimeNs(0); }
};

// As many as may be open at once have asked for nothing yet, or take no byte of a long answer; and time does
// not go on, so that nobody's patience ends.
TEST_F(Http, ThoseWhoAreSlowDelayNobody) {
  const ClockThatStands stands;
  server.reset();
  auto s = HttpServer::start("0", stands);
  ASSERT_TRUE(s) << s.error().message;
  server = std::move(*s);
  auto r = std::make_shared<wire::Report>();
  r->set_run("r");
  r->mutable_health()->set_state(wire::Health::HEALTHY);
  r->mutable_health()->set_verdict("verdict");
  for (int i = 0; i < 500; ++i) {
    wire::Counter* c = r->mutable_health()->add_counters();
    c->set_name("counter" + std::to_string(i));
    c->set_kind(wire::Counter::GAUGE);
    c->set_help(std::string(30'000, 'x'));
  }
  server->update(r);
  std::vector<int> slow;
  for (std::size_t i = 0; i < HttpServer::kConnections; ++i) {
    const std::string text = i > 2 ? "GET /hea" : "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    slow.push_back(connect_to(server->address()));
    ASSERT_GE(slow.back(), 0);
    ASSERT_EQ(write(slow.back(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  for (int i = 0; i < 5; ++i) EXPECT_THAT(get(server->address(), "/health"), StartsWith("HTTP/1.1 200"));
  // Each of these made the oldest that had not asked go, and nobody else.
  char byte;
  EXPECT_EQ(recv(slow.back(), &byte, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(recv(slow[3], &byte, 1, 0), 0);
  EXPECT_EQ(recv(slow[0], &byte, 1, 0), 1) << "its answer is on the way";
  for (const int fd : slow) close(fd);
  server.reset();  // before its clock
}

TEST_F(Http, ASlowOneIsEndedAfterItsPatience) {
  const int fd = connect_to(server->address());
  ASSERT_EQ(write(fd, "GET", 3), 3);
  char byte;
  EXPECT_EQ(read(fd, &byte, 1), 0) << "closed by the server";
  close(fd);
}

TEST_F(Http, OtherHostsAreRefused) {
  show(wire::Health::HEALTHY);
  const std::string& at = server->address();
  for (const char* host :
       {"attacker.example", "attacker.example:9464", "127.0.0.1.attacker.example", "", "::1"}) {
    const std::string answer = get(at, "/metrics", "GET", host);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 421")) << host;
    EXPECT_THAT(answer, testing::Not(HasSubstr("margay_")));
  }
  for (const char* host :
       {"127.0.0.1", "127.0.0.1:9464", "[::1]:9464", "localhost:1", "10.0.0.7", "LOCALHOST"})
    EXPECT_THAT(get(at, "/metrics", "GET", host), StartsWith("HTTP/1.1 200")) << host;
  EXPECT_THAT(ask(at, "GET /live HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask(at, "GET /live HTTP/1.1\r\nHost: localhost\r\nHost: x\r\n\r\n"),
              StartsWith("HTTP/1.1 400"));
  auto named = HttpServer::start("0", clock, {"head.example"});
  ASSERT_TRUE(named);
  EXPECT_THAT(get((*named)->address(), "/live", "GET", "Head.Example:80"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get((*named)->address(), "/live", "GET", "head.example.org"), StartsWith("HTTP/1.1 421"));
}

TEST_F(Http, RunsOfIpv6) {
  auto six = HttpServer::start("[::1]:0", clock);
  if (!six) GTEST_SKIP() << six.error().message;
  EXPECT_THAT((*six)->address(), StartsWith("[::1]:"));
}

// Plays systemd.
struct Systemd {
  std::string path = testing::TempDir() + "margay-notify-" + std::to_string(getpid());
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  explicit Systemd(const char* watchdog_us) {
    unlink(path.c_str());
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    path.copy(at.sun_path, sizeof(at.sun_path) - 1);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    if (watchdog_us != nullptr) setenv("WATCHDOG_USEC", watchdog_us, 1);
  }
  ~Systemd() {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    close(fd);
    unlink(path.c_str());
  }
  std::vector<std::string> heard() const {
    std::vector<std::string> out;
    char text[1024];
    for (ssize_t n; (n = recv(fd, text, sizeof text, 0)) > 0;)
      out.emplace_back(text, static_cast<std::size_t>(n));
    return out;
  }
};

TEST(Service, TellsSystemdHowItStands) {
  Systemd systemd(nullptr);
  Heartbeats beats;
  Service s(beats);
  EXPECT_FALSE(s.watched());
  s.ready();
  s.status("healthy");
  s.status("healthy");
  s.status("degraded: x");
  s.tick(TimeNs(1));
  s.stopping();
  EXPECT_THAT(systemd.heard(), ElementsAre("READY=1", "STATUS=healthy", "STATUS=degraded: x", "STOPPING=1"));
}

TEST(Service, PingsWhileBothThreadsGoOn) {
  Systemd systemd("4000000");
  Heartbeats beats;
  Service s(beats);
  ASSERT_TRUE(s.watched());
  auto run_for = [&, now = TimeNs(0) + seconds(1000)](int n, bool ingest, bool analysis) mutable {
    std::size_t heard = 0;
    for (int i = 0; i < n * 10; ++i) {
      if (ingest) ++beats.ingest;
      if (analysis) ++beats.analysis;
      s.tick(now);
      now = now + milliseconds(100);
      heard += systemd.heard().size();  // the kernel keeps ten; who sends more waits
    }
    return heard;
  };
  log::Options quiet;
  quiet.level = log::Level::kOff;
  log::start(quiet);
  EXPECT_EQ(run_for(20, true, true), 10u);  // each half of the time
  run_for(10, true, false);                 // patience
  EXPECT_EQ(run_for(60, true, false), 0u);
  EXPECT_GT(run_for(10, true, true), 3u);
  run_for(10, false, true);
  EXPECT_EQ(run_for(60, false, true), 0u);
  log::start({});
}

TEST(Service, WithoutSystemdNothingHappens) {
  Heartbeats beats;
  Service s(beats);
  s.ready();
  s.status("x");
  s.tick(TimeNs(1));
  s.stopping();
}

}  // namespace service_test
}  // namespace margay::observe
