// Whom those that an alert affects waited for, from raw events that name their partners.
#include "margay/query/waits.h"

#include <gtest/gtest.h>

#include "margay/wire/columns.h"
#include "support/runtime_place.h"

namespace margay::daemon {
namespace waits_test {

constexpr TimeNs kBegin{1'700'000'000'000'000'000};
constexpr std::int32_t kNobody = MARGAY_NO_PEER;

struct Call {
  std::uint16_t name;  // 1: MPI_Recv, 2: MPI_Wait, 3: MPI_Allreduce
  std::int64_t from_ms, to_ms;
  std::int32_t peer = kNobody, completed = kNobody;
  std::uint32_t comm = 0;
};

// Four ranks on two hosts, the records of each in one block. A call that ends at 0 does not end.
class WaitsTest : public testing::Test {
 protected:
  void SetUp() override {
    store::RunMeta run;
    run.run = "r";
    run.begin = kBegin;
    run.levels = {milliseconds(100)};
    auto made = store::Archive::create(place_.path + "/a", run);
    ASSERT_TRUE(made) << made.error().message;
    archive_ = std::move(*made);
    cut_.sequence = 1;
    using F = model::StateFamily;
    cut_.states = {{StateId(3), {"MPI_Recv", F::kPointToPoint}},
                   {StateId(4), {"MPI_Wait", F::kWait}},
                   {StateId(5), {"MPI_Allreduce", F::kCollective}}};
    for (std::uint32_t r = 0; r < 4; ++r) {
      const model::Attributes a = {
          {"host", "n" + std::to_string(r / 2)}, {"rank", std::to_string(r)}, {"pmix_namespace", "job"}};
      cut_.leaves.push_back({LeafIndex(r), SourceId(r + 1), 0, a});
      cut_.sources.push_back(
          {SourceId(r + 1), 1, a, {kCompute, StateId(3), StateId(4), StateId(5)}, {}, {}, 0, {}});
    }
  }
  void record(std::uint32_t rank, const std::vector<Call>& calls) {
    std::vector<EventRecord> records;
    for (const Call& c : calls) {
      records.push_back(
          {(kBegin + milliseconds(c.from_ms)).value, 0, c.peer, 0, c.comm, c.name, MARGAY_ENTER, 0});
      if (c.to_ms > 0)
        records.push_back(
            {(kBegin + milliseconds(c.to_ms)).value, 0, c.completed, 0, c.comm, c.name, MARGAY_LEAVE, 0});
    }
    store::RawBlock b{LeafIndex(rank),
                      0,
                      TimeNs(records.front().time_ns),
                      TimeNs(records.back().time_ns),
                      static_cast<std::uint32_t>(records.size()),
                      {},
                      SourceId(rank + 1)};
    wire::encode_columns(records, b.columns);
    cut_.raw.push_back(std::move(b));
  }
  Waits read(const WaitsQuery& query) {
    const Status committed = archive_->commit(cut_, false);
    EXPECT_TRUE(committed) << committed.error().message;
    const auto resume = archive_->load();
    EXPECT_TRUE(resume);
    auto waits = read_waits(*archive_, *resume, query);
    EXPECT_TRUE(waits) << waits.error().message;
    return waits ? *waits : Waits{};
  }
  // rank1 was stopped.
  static WaitsQuery stopped() {
    return {{"/n0", "/n1"}, {"/n0/rank1"}, kBegin + seconds(2), kBegin + seconds(4), {}};
  }
  const test::RuntimePlace place_;
  std::unique_ptr<store::Archive> archive_;
  store::Cut cut_;
};

TEST_F(WaitsTest, TimeIsSummedByPartnerWithinTheAlert) {
  record(0, {{1, 500, 900, 3}, {1, 1'900, 4'100, 1}});            // 2 s for rank 1; 0.4 s before it
  record(1, {{1, 2'000, 3'000, 2}});                              // is blamed: does not count
  record(2, {{1, 2'500, 3'500, kNobody, 1}, {2, 3'500, 4'000}});  // any source, it was 1; then a Wait
  record(3, {{1, 2'000, 2'500, 2}, {3, 3'000, 3'250, kNobody, kNobody, 0}, {1, 3'750, 0, 1}});
  const Waits w = read(stopped());
  EXPECT_EQ(w.leaves, 3u);
  EXPECT_EQ(w.waited, milliseconds(2'000 + 1'500 + 1'000));
  ASSERT_EQ(w.partners.size(), 2u);
  EXPECT_EQ(w.partners[0].resource, "/n0/rank1");
  EXPECT_EQ(w.partners[0].time, milliseconds(2'000 + 1'000 + 250));
  EXPECT_EQ(w.partners[1].resource, "/n1/rank2");
  EXPECT_EQ(w.partners[1].time, milliseconds(500));
  EXPECT_NEAR(w.partners[0].share, 3'250 / 4'500.0, 1e-12);
  EXPECT_NEAR(w.unknown, 750 / 4'500.0, 1e-12);
}

TEST_F(WaitsTest, PartnersInOtherCommunicatorsAreNotTold) {
  record(0, {{1, 2'000, 3'000, 1, kNobody, 5}});
  const Waits w = read(stopped());
  EXPECT_EQ(w.waited, seconds(1));
  EXPECT_TRUE(w.partners.empty());
  EXPECT_EQ(w.unknown, 1);
}

TEST_F(WaitsTest, NoOneWaitsWhereNoOneIsNamed) {
  record(0, {{1, 2'000, 3'000, 1}});
  WaitsQuery nobody = stopped();
  nobody.nodes.clear();
  EXPECT_EQ(read(nobody).waited, DurationNs{});
}

TEST_F(WaitsTest, OfALongStretchAMinuteIsRead) {
  record(0, {{1, 2'000, 90'000, 1}});
  WaitsQuery query = stopped();
  query.to = kBegin + seconds(100);
  EXPECT_EQ(read(query).waited, WaitsQuery::kLongest);
}

TEST_F(WaitsTest, WhoIsAskedToStopSaysSo) {
  record(0, {{1, 2'000, 3'000, 1}});
  ASSERT_TRUE(archive_->commit(cut_, false));
  const auto resume = archive_->load();
  ASSERT_TRUE(resume);
  WaitsQuery query = stopped();
  query.go_on = [] { return false; };
  const auto waits = read_waits(*archive_, *resume, query);
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().code, ErrorCode::kTimeout);
}

TEST_F(WaitsTest, WithoutRawEventsNothingIsTold) {
  EXPECT_TRUE(read(stopped()).partners.empty());
}

}  // namespace waits_test
}  // namespace margay::daemon
