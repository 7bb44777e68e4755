#include "http_request.h"

#include <gtest/gtest.h>

#include <random>

namespace margay::observe {
namespace http_request_test {

TEST(HttpHead, EndsAtItsEmptyLine) {
  EXPECT_EQ(head_end_untrusted("GET / HTTP/1.0\r\n\r\nrest"), 18u);
  EXPECT_EQ(head_end_untrusted("GET / HTTP/1.0\n\n"), 16u);
  for (const char* part : {"", "\r", "GET / HTTP/1.0\r\n", "GET / HTTP/1.0\r\n\r", "a\nb\nc"})
    EXPECT_EQ(head_end_untrusted(part), std::string_view::npos) << part;
}

TEST(HttpHead, HasAMethodAPathAndOneHost) {
  const auto r = parse_head_untrusted("GET /metrics?x=1 HTTP/1.1\r\nAccept: *\r\nhOsT:  node7:1 \r\n\r\n");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->method, "GET");
  EXPECT_EQ(r->path, "/metrics");
  EXPECT_EQ(r->host, "node7:1");
  EXPECT_TRUE(parse_head_untrusted("GET / HTTP/1.0\n\n"));
  for (const char* bad : {"", "\r\n", "GET\r\n\r\n", "GET /\r\nHost: a\r\n\r\n",
                          "GET / HTTP/2\r\nHost: a\r\n\r\n", " / HTTP/1.1\r\nHost: a\r\n\r\n",
                          "GET  HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
                          "GET / HTTP/1.1\r\n\r\n", "GET / x HTTP/1.1\r\nHost: a\r\n\r\n"})
    EXPECT_FALSE(parse_head_untrusted(bad)) << bad;
}

TEST(HttpHead, OfAnyBytesIsReadOrRefused) {
  std::mt19937 random(7);  // always the same
  const std::string letters = std::string("GET /HTTP1.\r\n: host\xff") + '\0';
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t n = random() % 60; n > 0; --n) text += letters[random() % letters.size()];
    static_cast<void>(head_end_untrusted(text));
    if (const auto r = parse_head_untrusted(text))
      static_cast<void>(host_is_ours(r->host.value_or(""), {"a"}));
  }
}

TEST(HttpHost, IsAnAddressOrAKnownName) {
  const std::vector<std::string> names{"node7", "node7.example.org"};
  for (const char* ours :
       {"127.0.0.1", "127.0.0.1:80", "192.168.1.1:9464", "[::1]", "[fe80::1]:80", "localhost",
        "localhost.:80", "NODE7:1", "node7.Example.org", "node7.example.org.:80"})
    EXPECT_TRUE(host_is_ours(ours, names)) << ours;
  for (const char* other :
       {"", ":80", ".", "node7.evil.org", "evilnode7", "localhost.evil.org", "1.2.3", "1.2.3.4.5", "::1",
        "[::1", "[]", "[x]:1", "localhost:80x", "a@localhost", "0x7f000001"})
    EXPECT_FALSE(host_is_ours(other, names)) << other;
}

}  // namespace http_request_test
}  // namespace margay::observe
