// The table of counters, the verdict and what Prometheus is shown.
#include "margay/observe/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "margay/observe/exposition.h"
#include "margay/observe/health.h"
#include "margay/observe/process.h"
#include "margay/wire/report_version.h"

namespace margay::observe {
namespace counters_test {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Table, EveryRowIsWellMade) {
  std::set<std::string> names, metrics;
  const std::regex snake("[a-z][a-z0-9]*(_[a-z0-9]+)*");
  for (const Row& r : table()) {
    SCOPED_TRACE(r.name);
    const std::string name = r.name, meaning = r.meaning, remedy = r.remedy;
    EXPECT_TRUE(names.insert(name).second) << "twice";
    EXPECT_TRUE(std::regex_match(name, snake));
    EXPECT_LE(name.size(), 24u) << "the status page has 24 columns for it";
    EXPECT_EQ(r.unit != Unit::none, name.ends_with("_us") || name.ends_with("_ms") || name.ends_with("_s") ||
                                        name.ends_with("_bytes"));
    if (r.unit != Unit::none) {
      EXPECT_TRUE(name.ends_with(std::string("_") + to_string(r.unit)));
    }
    ASSERT_GE(meaning.size(), 5u);
    EXPECT_FALSE(meaning.ends_with('.')) << "a clause";
    EXPECT_FALSE(std::isspace(static_cast<unsigned char>(meaning.back())));
    EXPECT_TRUE(std::islower(static_cast<unsigned char>(meaning.front())));
    EXPECT_FALSE(remedy.ends_with('.'));
    if (r.kind == Kind::loss) {
      EXPECT_NE(r.severity, Severity::info) << "a loss is no information";
    }
    EXPECT_EQ(remedy.empty(), r.severity == Severity::info) << "what is to be done?";
    wire::Health h;
    Values v;
    v.set(static_cast<Id>(&r - table().data()), 1);
    write_counters(v, h);
    ASSERT_EQ(h.counters_size(), 1);
    EXPECT_EQ(h.counters(0).name(), name);
    EXPECT_TRUE(metrics.insert(metric_name(h.counters(0))).second) << metric_name(h.counters(0));
  }
  EXPECT_EQ(names.size(), kCounters);
}

TEST(Table, EveryWayToLoseIsALoss) {
  for (const Row& r : table())
    for (const char* word : {"dropped", "lost", "rejected", "given_up", "unseen", "suppressed", "refused",
                             "not_archived", "not_written", "undecodable", "wrong_", "evicted"}) {
      const std::string name = r.name;
      if (name.find(word) != std::string::npos && name != "sources_lost") {
        EXPECT_EQ(r.kind, Kind::loss) << r.name;
      }
    }
}

TEST(Values, KnowWhatWasSetAndMerge) {
  Values a, b;
  EXPECT_FALSE(a.known(Id::messages));
  EXPECT_EQ(a[Id::messages], 0u);
  a.set(Id::messages, 1);
  a.set(Id::commits, 2);
  b.set(Id::messages, 5);
  b.explain(Id::not_partitioned, "too large");
  a.merge(b);
  EXPECT_EQ(a[Id::messages], 5u);
  EXPECT_EQ(a[Id::commits], 2u);
  EXPECT_EQ(a.why(Id::not_partitioned), "too large");
}

TEST(Verdict, HealthyUntilAnErrorGrowsAndAgainAMinuteAfterIt) {
  HealthWatch w;
  Values v;
  TimeNs now(0);
  const auto at = [&](DurationNs d) {
    now = TimeNs(0) + d;
    return w.judge(v, now);
  };
  v.set(Id::events_wire_lost, 1000);  // of a daemon before this one
  v.set(Id::commit_errors, 7);        // a warning
  w.begin(v, now);
  EXPECT_TRUE(at(seconds(0)).healthy);
  EXPECT_EQ(at(seconds(1)).sentence, "healthy");
  v.set(Id::events_wire_lost, 2234);
  const Verdict bad = at(seconds(2));
  EXPECT_FALSE(bad.healthy);
  EXPECT_EQ(bad.sentence,
            "degraded: 1,234 records lost between a node agent and the daemon (in the last minute)");
  for (int s = 3; s < 61; ++s) EXPECT_FALSE(at(seconds(s)).healthy) << s;
  for (int s = 61; s < 64; ++s) at(seconds(s));
  EXPECT_TRUE(at(seconds(64)).healthy);
}

TEST(Verdict, WhatWasLostBeforeTheFirstLookIsSaid) {
  HealthWatch w;
  Values v;
  v.set(Id::events_wire_lost, 3);
  EXPECT_FALSE(w.judge(v, TimeNs(0)).healthy);

  HealthWatch told;
  told.begin({}, TimeNs(0));
  EXPECT_FALSE(told.judge(v, TimeNs(0) + seconds(20)).healthy);
}

TEST(Verdict, AConditionHoldsWhileItHolds) {
  HealthWatch w;
  Values v;
  v.set(Id::archive_unwritable, 1);
  v.explain(Id::archive_unwritable, "the archive cannot be written since 13:02:11 (disk full)");
  v.set(Id::sources_lost, 2);
  for (int s = 0; s < 200; s += 50) {
    const Verdict bad = w.judge(v, TimeNs(0) + seconds(s));
    ASSERT_EQ(bad.reasons.size(), 2u);
    EXPECT_EQ(bad.sentence, "degraded: the archive cannot be written since 13:02:11 (disk full); and 1 more");
    EXPECT_THAT(bad.reasons[1], StartsWith("2 processes lost"));
  }
  v.set(Id::archive_unwritable, 0);
  v.set(Id::sources_lost, 0);
  EXPECT_TRUE(w.judge(v, TimeNs(0) + seconds(201)).healthy);
}

TEST(Verdict, ACounterThatBeganAnewHasGrownByWhatItIs) {
  HealthWatch w;
  Values v;
  v.set(Id::gaps_given_up, 100);
  w.begin(v, TimeNs(0));
  EXPECT_TRUE(w.judge(v, TimeNs(0)).healthy);
  v.set(Id::gaps_given_up, 3);
  EXPECT_THAT(w.judge(v, TimeNs(0) + seconds(2)).sentence, StartsWith("degraded: 3 gaps"));
}

wire::Report report(int sources) {
  wire::Report r;
  r.set_version(wire::kReportVersion);
  r.set_run("night \"1\"\n\\");
  Values v;
  for (std::size_t i = 0; i < kCounters; ++i) v.set(static_cast<Id>(i), i * 1000 + 1);
  write_counters(v, *r.mutable_health());
  r.mutable_health()->set_state(wire::Health::HEALTHY);
  r.mutable_health()->set_verdict("healthy");
  for (int i = 0; i < sources; ++i) {
    auto* s = r.mutable_health()->add_sources();
    s->set_resource("/node/rank" + std::to_string(i) + "\xff\x01{}\"");
    s->set_produced(10);
    s->set_modelled(9);
    s->set_in_flight(1);
  }
  return r;
}

TEST(Exposition, HasEveryCounterAndBoundedSources) {
  const std::string few = exposition(report(3)), many = exposition(report(kMostSources + 50));
  const wire::Report none = report(0);
  for (const auto& c : none.health().counters())
    EXPECT_THAT(few, HasSubstr("\n" + metric_name(c) + "{")) << c.name();
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count(few, "\nmargay_source_events_total{"), 3u * 6);
  EXPECT_EQ(count(few, "\nmargay_source_events_in_flight{"), 3u);
  EXPECT_EQ(count(many, "\nmargay_source_events_total{"), std::size_t{kMostSources} * 6);
  EXPECT_THAT(many, HasSubstr("margay_sources_left_out{run=\"night \\\"1\\\"?\\\\\"} 50\n"));
  EXPECT_THAT(few, HasSubstr("# TYPE margay_events_produced_total counter\n"));
  EXPECT_THAT(few, HasSubstr("# TYPE margay_commit_last_seconds gauge\n"));
  EXPECT_THAT(few, Not(HasSubstr("\x01")));
  EXPECT_LT(many.size(), std::size_t{1} << 20);
}

TEST(HealthJson, SaysWhatItKnows) {
  bool healthy = true;
  EXPECT_THAT(health_json(nullptr, 0, &healthy), HasSubstr("starting"));
  EXPECT_FALSE(healthy);
  wire::Report r = report(1);
  auto j = nlohmann::json::parse(health_json(&r, 100, &healthy));
  EXPECT_TRUE(healthy);
  EXPECT_EQ(j["verdict"], "healthy");
  j = nlohmann::json::parse(health_json(&r, 60'000, &healthy));  // nobody has told it anything for a minute
  EXPECT_FALSE(healthy);
  EXPECT_THAT(j["verdict"].get<std::string>(), HasSubstr("60 s"));
  r.mutable_health()->set_state(wire::Health::DEGRADED);
  r.mutable_health()->set_verdict("degraded: \xff");
  r.mutable_health()->add_reasons("\xff");
  j = nlohmann::json::parse(health_json(&r, 100, &healthy));
  EXPECT_FALSE(healthy);
  EXPECT_EQ(j["reasons"].size(), 1u);
}

TEST(Process, ReadsWhatItUses) {
  const ProcessUse u = process_use();
  EXPECT_GT(u.memory_bytes, 1u << 20);
  EXPECT_GT(u.memory_limit_bytes, u.memory_bytes);
  EXPECT_GE(u.descriptors, 3u);
  EXPECT_LT(u.descriptors, u.descriptors_limit);
  Values v;
  set_process({890'000, 1'000'000, 89, 100}, v);
  EXPECT_EQ(v[Id::memory_nearly_full], 0u);
  EXPECT_EQ(v[Id::descriptors_nearly_out], 0u);
  set_process({950'000, 1'000'000, 10, 100}, v);
  EXPECT_EQ(v[Id::memory_nearly_full], 1u);
  EXPECT_EQ(v[Id::descriptors_nearly_out], 0u);
  set_process({1, 1'000'000, 95, 100}, v);
  EXPECT_EQ(v[Id::memory_nearly_full], 0u);
  EXPECT_EQ(v[Id::descriptors_nearly_out], 1u);
}

TEST(Process, ADiskIsMeasuredOnceASecond) {
  DiskGauge disk(testing::TempDir());
  int asked = 0;
  for (int ms = 1; ms < 2000; ms += 100)
    disk.refresh(TimeNs(0) + milliseconds(ms), [&] { return static_cast<std::uint64_t>(++asked); });
  EXPECT_EQ(asked, 2);
  Values v;
  disk.set(v);
  EXPECT_GT(v[Id::disk_free_bytes], 0u);
  EXPECT_EQ(v[Id::archive_bytes], 2u);
}

TEST(Process, TheLimitOfDescriptorsIsRaisedAsFarAsItGoes) {
  const DescriptorLimit fine = raise_descriptor_limit(64);
  EXPECT_FALSE(fine.too_low);
  const DescriptorLimit low = raise_descriptor_limit(std::uint64_t{1} << 40);
  ASSERT_TRUE(low.too_low);
  EXPECT_THAT(low.too_low->message, HasSubstr("LimitNOFILE"));
  EXPECT_GE(low.now, fine.now);
}

TEST(Pulse, StopsWhenTheBeatsDo) {
  Pulse p(seconds(10));
  EXPECT_TRUE(p.alive(0, TimeNs(0) + seconds(100)));  // from when it is first looked at
  EXPECT_TRUE(p.alive(1, TimeNs(0) + seconds(101)));
  EXPECT_TRUE(p.alive(1, TimeNs(0) + seconds(110)));
  EXPECT_FALSE(p.alive(1, TimeNs(0) + seconds(111)));
  EXPECT_TRUE(p.alive(2, TimeNs(0) + seconds(112)));
}

}  // namespace counters_test
}  // namespace margay::observe
