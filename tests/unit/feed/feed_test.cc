// What a viewer hears of a daemon: a publisher and a router in a run's directory stand for it; the clock is
// moved by hand.
#include "margay/feed/feed.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "../../support/runtime_place.h"
#include "margay/wire/report_version.h"

namespace margay::feed {
namespace feed_test {

class FeedTest : public testing::Test {
 protected:
  FeedTest() {
    clock_.mono = TimeNs(seconds(100).value);
    auto made = transport::make_run_directory("r");
    if (!made) throw std::runtime_error(made.error().message);
    dir_ = *made;
    begin();
  }
  void begin() {
    auto publisher = transport::Socket::bind(context_, zmq::socket_type::xpub, dir_.reports_endpoint());
    auto control = transport::Socket::bind(context_, zmq::socket_type::router, dir_.control_endpoint(), {},
                                           transport::kQuestions);
    if (!publisher || !control) throw std::runtime_error("cannot listen");
    publisher_.emplace(std::move(*publisher));
    control_.emplace(std::move(*control));
  }

  static wire::Report report(std::int64_t emitted, std::uint32_t version = wire::kReportVersion) {
    wire::Report r;
    r.set_version(version);
    r.set_emitted_wall_ns(emitted);
    return r;
  }
  // Until `done`; false after 10 s, which only a failure takes.
  template <class Done>
  bool until(Feed& feed, Done&& done) {
    for (int i = 0; i < 1000; ++i) {
      static_cast<void>(feed.take([&](const ReportPtr& r) { heard_.push_back(r->emitted_wall_ns()); },
                                  [&](const wire::ControlReply& r) { replies_.push_back(r); }));
      if (done()) return true;
      std::vector<zmq::pollitem_t> items = feed.poll_items();
      zmq::poll(items, std::chrono::milliseconds(10));
    }
    return false;
  }
  // The feed's subscription is with the publisher.
  bool subscribed() { return publisher_->try_receive().has_value(); }
  // Who asked, and what.
  std::optional<std::pair<std::string, wire::ControlRequest>> question() {
    const auto frame = control_->try_receive();
    wire::ControlRequest request;
    if (!frame || !request.ParseFromString(frame->body)) return std::nullopt;
    return std::pair(frame->from, request);
  }

  test::RuntimePlace place_;
  ManualClock clock_;
  zmq::context_t context_{1};
  transport::RunDirectory dir_;
  std::optional<transport::Socket> publisher_, control_;
  std::vector<std::int64_t> heard_;
  std::vector<wire::ControlReply> replies_;
};

TEST_F(FeedTest, AsksAtOnceAndHearsReportsAndAnswers) {
  Feed feed(clock_, {dir_, "", ""});
  ASSERT_TRUE(feed.open());
  EXPECT_EQ(feed.connection(), Connection::kWaiting);
  std::optional<std::pair<std::string, wire::ControlRequest>> asked;
  ASSERT_TRUE(until(feed, [&] { return (asked = question()).has_value(); }));
  EXPECT_EQ(asked->second.kind(), wire::ControlRequest::STATUS);
  wire::ControlReply reply;
  *reply.mutable_report() = report(5);
  ASSERT_TRUE(control_->try_send(reply, asked->first));
  ASSERT_TRUE(until(feed, [&] { return !heard_.empty(); }));
  EXPECT_EQ(feed.connection(), Connection::kLive);
  ASSERT_TRUE(until(feed, [&] { return subscribed(); }));
  ASSERT_TRUE(publisher_->try_send(report(9)));
  ASSERT_TRUE(until(feed, [&] { return heard_.size() == 2; }));
  // An answer that was under way longer than a report is no news; that there is an answer, is.
  *reply.mutable_report() = report(7);
  ASSERT_TRUE(control_->try_send(reply, asked->first));
  ASSERT_TRUE(until(feed, [&] { return replies_.size() == 2; }));
  EXPECT_EQ(heard_, (std::vector<std::int64_t>{5, 9}));
  EXPECT_EQ(feed.newest()->emitted_wall_ns(), 9);
  // A replay that jumps back publishes what was earlier.
  ASSERT_TRUE(publisher_->try_send(report(3)));
  ASSERT_TRUE(until(feed, [&] { return heard_.size() == 3; }));
  EXPECT_EQ(feed.newest()->emitted_wall_ns(), 3);
}

TEST_F(FeedTest, SilenceIsAskedAfterOnceASecondThenCalledGoneThenTheRunIsOver) {
  Feed feed(clock_, {dir_, "", ""});
  ASSERT_TRUE(feed.open());
  // Either may come first, and neither comes again.
  bool asked = false, heard_of = false;
  ASSERT_TRUE(until(feed, [&] {
    asked = question().has_value() || asked;
    heard_of = subscribed() || heard_of;
    return asked && heard_of;
  }));
  ASSERT_TRUE(publisher_->try_send(report(1)));
  ASSERT_TRUE(until(feed, [&] { return !heard_.empty(); }));
  clock_.mono = clock_.mono + kAskAfter;
  ASSERT_TRUE(until(feed, [&] { return question().has_value(); }));
  for (int i = 0; i < 20; ++i) static_cast<void>(feed.take({}));
  EXPECT_FALSE(question());  // not again within the second
  EXPECT_EQ(feed.connection(), Connection::kLive);
  clock_.mono = clock_.mono + kGoneAfter;
  EXPECT_EQ(feed.connection(), Connection::kGone);
  EXPECT_FALSE(feed.run_is_gone());
  std::filesystem::remove_all(dir_.path);
  EXPECT_EQ(feed.connection(), Connection::kRunGone);
  EXPECT_TRUE(feed.run_is_gone());
}

TEST_F(FeedTest, WhatHasEndedIsNotGone) {
  Feed feed(clock_, {dir_, "", ""});
  ASSERT_TRUE(feed.open());
  ASSERT_TRUE(until(feed, [&] { return subscribed(); }));
  wire::Report last = report(1);
  last.set_final(true);
  ASSERT_TRUE(publisher_->try_send(last));
  ASSERT_TRUE(until(feed, [&] { return !heard_.empty(); }));
  clock_.mono = clock_.mono + kGoneAfter;
  EXPECT_EQ(feed.connection(), Connection::kLive);
}

TEST_F(FeedTest, AReportOfAnotherVersionIsASentence) {
  Feed feed(clock_, {dir_, "", ""});
  ASSERT_TRUE(feed.open());
  ASSERT_TRUE(until(feed, [&] { return subscribed(); }));
  ASSERT_TRUE(publisher_->try_send(report(1, wire::kReportVersion + 1)));
  ASSERT_TRUE(until(feed, [&] { return !feed.notice().empty(); }));
  EXPECT_NE(feed.notice().find("update Margay here"), std::string::npos);
  ASSERT_TRUE(publisher_->try_send(report(1, wire::kReportVersion - 1)));
  ASSERT_TRUE(until(feed, [&] { return feed.notice().find("older Margay") != std::string::npos; }));
  EXPECT_TRUE(heard_.empty());
  EXPECT_EQ(feed.newest(), nullptr);
}

}  // namespace feed_test
}  // namespace margay::feed
