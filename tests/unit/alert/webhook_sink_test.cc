// Posting, against a server of our own on the loopback.
#include "webhook_sink.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "http_receiver.h"
#include "sink_fixture.h"
#include "text.h"

namespace margay::sinks {
namespace webhook_sink_test {

using support::HttpReceiver;
using testing::HasSubstr;
using Kind = Outcome::Kind;

class Webhook : public InAFolder {
 protected:
  WebhookSink sink_for(const std::string& url, const std::string& headers = "",
                       DurationNs limit = seconds(60)) {
    auto post = HttpPost::make({url, headers, "", limit});
    EXPECT_TRUE(post) << post.error().message;
    return WebhookSink(std::move(*post));
  }
};

TEST_F(Webhook, PostsTheJsonOfTheArchive) {
  HttpReceiver server;
  auto sink = sink_for(server.url() + "/hook?team=hpc");
  EXPECT_EQ(sink.where(), server.url());
  const auto n = a_notice("1");
  EXPECT_EQ(send(sink, *n).kind, Kind::kSent);
  EXPECT_EQ(send(sink, *a_notice("1", alert::Status::kResolved)).kind, Kind::kSent);
  const auto got = server.requests();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].method, "POST");
  EXPECT_EQ(got[0].path, "/hook");
  EXPECT_EQ(got[0].body, alert::to_json(n->alert));
  EXPECT_EQ(got[0].headers.at("content-type"), "application/json");
  EXPECT_EQ(got[0].headers.at("x-margay-link"), "margay:///data/night.margay#t=1.2-4.4");
  EXPECT_THAT(got[1].body, HasSubstr("\"resolved\""));
}

TEST_F(Webhook, StatusesSayWhetherToTryAgain) {
  std::atomic<int> status{200};
  HttpReceiver server([&](std::size_t) {
    return HttpReceiver::Answer{status, "because\nof this", "", false};
  });
  auto sink = sink_for(server.url());
  for (const int good : {200, 201, 202, 204}) {
    status = good;
    EXPECT_EQ(send(sink, *a_notice("1")).kind, Kind::kSent) << good;
  }
  for (const int mended : {301, 302, 401, 403, 404, 408, 429, 500, 502, 503}) {
    status = mended;
    const Outcome o = send(sink, *a_notice("1"));
    EXPECT_EQ(o.kind, Kind::kRetry) << mended;
    EXPECT_EQ(o.why, "HTTP status " + std::to_string(mended) + ": because?of this");
  }
  for (const int refused : {400, 413, 415, 422}) {
    status = refused;
    EXPECT_EQ(send(sink, *a_notice("1")).kind, Kind::kRefused) << refused;
  }
}

TEST_F(Webhook, ARedirectIsNotFollowedAndRetryAfterIsHeard) {
  HttpReceiver other;
  HttpReceiver server([&](std::size_t i) {
    return i == 0 ? HttpReceiver::Answer{307, "", "Location: " + other.url() + "/\r\n", false}
                  : HttpReceiver::Answer{503, "", "Retry-After: 17\r\n", false};
  });
  auto sink = sink_for(server.url());
  EXPECT_EQ(send(sink, *a_notice("1")).kind, Kind::kRetry);
  EXPECT_EQ(send(sink, *a_notice("1")).pause, seconds(17));
  EXPECT_TRUE(other.requests().empty());
}

TEST_F(Webhook, ADeadPortFailsAndTheNextTimeMayGoWell) {
  auto sink = sink_for("http://127.0.0.1:" + std::to_string(support::free_port()) + "/secret/path");
  const Outcome o = send(sink, *a_notice("1"));
  EXPECT_EQ(o.kind, Kind::kRetry);
  EXPECT_THAT(o.why, HasSubstr("connect"));
  EXPECT_THAT(o.why + sink.where(), testing::Not(HasSubstr("secret")));
}

TEST_F(Webhook, AServerThatSaysNothingHoldsUpNobody) {
  HttpReceiver server([](std::size_t i) { return HttpReceiver::Answer{200, "", "", i == 0}; });
  auto sink = sink_for(server.url());
  sink.begin(*a_notice("1"), TimeNs(0));
  ASSERT_TRUE(soon([&] {
    EXPECT_FALSE(sink.progress(TimeNs(0)));
    return server.requests().size() == 1;
  }));
  sink.cut(TimeNs(0));
  const auto o = sink.progress(TimeNs(0));
  ASSERT_TRUE(o);
  EXPECT_EQ(o->kind, Kind::kRetry);
  EXPECT_EQ(o->why, "took too long");
  EXPECT_EQ(send(sink, *a_notice("1")).kind, Kind::kSent);
  // libcurl has a limit of its own, too.
  HttpReceiver another([](std::size_t) { return HttpReceiver::Answer{200, "", "", true}; });
  auto limited = sink_for(another.url(), "", milliseconds(200));
  EXPECT_THAT(send(limited, *a_notice("1")).why, HasSubstr("timed out"));
}

TEST_F(Webhook, AnEndlessAnswerIsCutShort) {
  HttpReceiver server([](std::size_t) {
    return HttpReceiver::Answer{500, std::string(8 << 20, 'x'), "", false};
  });
  auto sink = sink_for(server.url());
  const Outcome o = send(sink, *a_notice("1"));
  EXPECT_THAT(o.why, testing::StartsWith("HTTP status 500: xxx"));
  EXPECT_LT(o.why.size(), 300u);
}

TEST_F(Webhook, BytesThatAreNoHttpAreAFailure) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&at), size), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size), 0);
  ASSERT_EQ(::listen(fd, 4), 0);
  auto sink = sink_for("http://127.0.0.1:" + std::to_string(ntohs(at.sin_port)));
  sink.begin(*a_notice("1"), TimeNs(0));
  std::thread server([&] {
    const int client = ::accept(fd, nullptr, nullptr);
    std::string junk(10'000, '\x01');
    static_cast<void>(::send(client, junk.data(), junk.size(), MSG_NOSIGNAL));
    ::close(client);
  });
  EXPECT_EQ(outcome_of(sink).kind, Kind::kRetry);
  server.join();
  ::close(fd);
}

TEST_F(Webhook, HeadersComeFromAFileThatIsReadEachTime) {
  using std::filesystem::perms;
  HttpReceiver server;
  const std::string headers = file("headers", "# the team's\nAuthorization: Bearer first\r\n\nX-Team: hpc\n",
                                   perms::owner_read | perms::owner_write);
  auto sink = sink_for(server.url(), headers);
  EXPECT_EQ(send(sink, *a_notice("1")).kind, Kind::kSent);
  std::ofstream(headers) << "Authorization: Bearer second\n";
  EXPECT_EQ(send(sink, *a_notice("1")).kind, Kind::kSent);
  const auto got = server.requests();
  EXPECT_EQ(got[0].headers.at("authorization"), "Bearer first");
  EXPECT_EQ(got[0].headers.at("x-team"), "hpc");
  EXPECT_EQ(got[1].headers.at("authorization"), "Bearer second");
  EXPECT_FALSE(got[1].headers.contains("x-team"));
  std::filesystem::remove(headers);
  const Outcome o = send(sink, *a_notice("1"));
  EXPECT_EQ(o.kind, Kind::kRetry);
  EXPECT_EQ(o.why, headers + ": No such file or directory");
  EXPECT_EQ(server.requests().size(), 2u) << "without them nothing is sent";
}

TEST_F(Webhook, AFileOfHeadersThatIsNoneIsRefusedAndItsContentIsNotRepeated) {
  using std::filesystem::perms;
  const perms secret = perms::owner_read | perms::owner_write;
  const auto error_of = [&](const std::string& name) {
    const auto post = HttpPost::make({"http://127.0.0.1:1", path(name), "", seconds(1)});
    return post ? "no error" : post.error().message;
  };
  file("token", "x-secret-token\n", secret);
  EXPECT_EQ(error_of("token"),
            path("token") + ":1: expected up to 16 lines such as 'Authorization: Bearer TOKEN'");
  file("split", "A: b\nC: d\x01 e\n", secret);
  EXPECT_THAT(error_of("split"), HasSubstr("split:2: expected"));
  file("open", "A: b\n", secret | perms::others_read);
  EXPECT_THAT(error_of("open"), HasSubstr("everybody may read it; type: chmod o= "));
  file("large", "A: " + std::string(10'000, 'b') + "\n", secret);
  EXPECT_THAT(error_of("large"), HasSubstr("larger than 8 KiB"));
  std::string many;
  for (int i = 0; i < 17; ++i) many += "A: b\n";
  file("many", many, secret);
  EXPECT_THAT(error_of("many"), HasSubstr("many:17: expected"));
  EXPECT_THAT(error_of("missing"), HasSubstr("missing: No such file"));
  EXPECT_THAT(error_of("."), HasSubstr("is no file"));
}

TEST_F(Webhook, WhatIsNoUrlIsRefused) {
  for (const char* url : {"", "http://", "http://[::1", "http://a:99999/", "::"})
    EXPECT_FALSE(HttpPost::make({url, "", "", seconds(1)})) << url;
  EXPECT_FALSE(HttpPost::make({"https://a", "", path("no-such-ca"), seconds(1)}));
}

TEST(SinkText, WhatIsSaidOfAUrlHoldsNoSecret) {
  EXPECT_EQ(safe_url("https://hooks.example.org/services/T0/B0/secret"), "https://hooks.example.org");
  EXPECT_EQ(safe_url("http://me:secret@h:80/x?y"), "http://h:80");
  EXPECT_EQ(safe_url("nothing"), "");
}

TEST(SinkText, TimesAndListsAndLengths) {
  EXPECT_EQ(rfc3339(TimeNs(1'700'000'000'123'456'789)), "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(rfc3339(TimeNs(-5)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(TimeNs(INT64_MAX)), "2262-04-11T23:47:16.854Z");
  EXPECT_EQ(listed({"a", "b", "c"}, 2), "a, b and 1 more");
  EXPECT_EQ(fit("abcdef", 6), "abcdef");
  EXPECT_EQ(fit("abcdefg", 6), "abc...");
  EXPECT_EQ(fit("ab\u00e9defgh", 6), "ab...") << "no half character";
  EXPECT_EQ(fit("a\x01\xff", 6), "a??");
}

}  // namespace webhook_sink_test
}  // namespace margay::sinks
