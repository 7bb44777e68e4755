#include "margay/scene/run_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margay/scene/navigation.h"
#include "margay/scene/statistics.h"
#include "margay/scene/temporal_bars.h"
#include "synthetic_view.h"

namespace margay::scene {
namespace run_filter_test {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(RunFilter, IsPartOfTheQuestion) {
  Subject s;
  EXPECT_FALSE(question_of(s, 1, false).has_filter());
  s.filter = {{"MPI_*"}, {"!/a"}, true};
  const wire::ViewQuestion q = question_of(s, 1, false);
  EXPECT_THAT(q.filter().states(), ElementsAre("MPI_*"));
  EXPECT_EQ(subject_of(q).filter, s.filter);
}

TEST(RunFilter, TermsAreTypedBetweenCommas) {
  EXPECT_THAT(terms_of(" MPI_*,  !a b ,,MPI_*"), ElementsAre("MPI_*", "!a b"));
  EXPECT_THAT(terms_of(" , "), IsEmpty());
  EXPECT_EQ(line_of(terms_of("a,b")), "a, b");
}

TEST(RunFilter, IsSaidInWords) {
  wire::ViewQuestion q;
  EXPECT_EQ(left_out_text(q), "");
  q.mutable_filter()->set_of_the_rest(true);
  EXPECT_EQ(left_out_text(q), "") << "of all the rest is all";
  for (const char* s : {"a", "b", "c", "d", "e"}) q.add_states(s);
  q.mutable_filter()->add_states("!family:wait");
  q.mutable_filter()->add_resources("/node1/*");
  EXPECT_EQ(
      left_out_text(q),
      "only a, b, c and 2 more; without states of the family wait; resources /node1/*; shares are of the "
      "rest");
}

// Two resources and two slices; what is left of them is much of one and little of the other.
TEST(RunFilter, OfTheRestSharesArePooledByWhatIsLeft) {
  support::ViewBuilder build{2};
  const std::uint32_t send = build.state("MPI_Send", wire::FAMILY_POINT_TO_POINT);
  const std::uint32_t wait = build.state("MPI_Wait", wire::FAMILY_WAIT);
  const std::uint32_t r0 = build.node("r0", 0), r1 = build.node("r1", 0);
  build.part(r0, 0, 2, {{send, 0.8F}}, 0.8F);
  build.part(r1, 0, 1, {{wait, 0.1F}, {send, 0.1F}}, 0.2F);
  build.part(r1, 1, 2, {}, 0);
  wire::ViewAnswer answer = build.answer();
  answer.mutable_question()->mutable_filter()->add_states("MPI_*");
  answer.mutable_question()->mutable_filter()->set_of_the_rest(true);
  const auto data = view_data_untrusted(answer);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_NEAR(data->shares_of(data->parts[0])[0].share, 1, 1e-6);
  EXPECT_NEAR(data->shares_of(data->parts[1])[0].share, 0.5, 1e-6);
  EXPECT_EQ(data->parts[2].known, 0) << "nothing is left of it";
  // 1.6 of r0 and 0.2 of r1.
  const Proportions all = proportions(*data, 0, 0, 2);
  EXPECT_NEAR(all.shares[send], 1.7 / 1.8, 1e-6);
  EXPECT_NEAR(all.shares[wait], 0.1 / 1.8, 1e-6);
  EXPECT_EQ(all.known, 1);
  EXPECT_NEAR(all.leaf_seconds, 1.8 * data->seconds(0, 1), 1e-6);
  const Statistics of = statistics(*data, {0, 0, 2});
  EXPECT_NEAR(of.rows[0].total, 1.7 * data->seconds(0, 1), 1e-6) << "seconds stay what they are";
  EXPECT_EQ(measure_text(*data), "operator duration (share of the rest)");
}

}  // namespace run_filter_test
}  // namespace margay::scene
