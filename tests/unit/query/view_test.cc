// What viewers are answered about stretches of a run, against what `margay partition` says of the same; and
// what is said of questions that make no sense, or are too large.
#include <cmath>

#include "margay/query/choose_p.h"
#include "margay/query/message_list.h"
#include "view_support.h"

namespace margay::daemon {
namespace view_test {

using testing::HasSubstr;
using testing::IsEmpty;

class View : public ViewOfArchive {};

TEST_F(View, SaysWhatPartitionSays) {
  std::vector<wire::ViewQuestion> questions = {question(0, 30'000, 30), question(1'130, 28'100, 40),
                                               question(3'000, 9'000, 60), question(20'050, 20'100, 1)};
  questions.push_back(question(2'000, 12'000, 50));
  questions.back().set_node("/host1");
  questions.push_back(question(2'000, 12'000, 50));
  questions.back().add_states("S2");
  questions.back().add_states("S5");
  questions.push_back(question(2'000, 12'000, 50));
  questions.back().set_partition(wire::ViewQuestion::TEMPORAL);
  for (const auto cuts : {wire::ViewQuestion::SPATIAL, wire::ViewQuestion::PRODUCT}) {
    questions.push_back(question(2'000, 12'000, 50));
    questions.back().set_partition(cuts);
  }
  questions.push_back(question(2'500, 19'250, 9));
  questions.back().set_measure("bytes");
  for (wire::ViewQuestion& q : questions) {
    SCOPED_TRACE(q.ShortDebugString());
    Said expected = said(q);
    for (const double p : {0.0, 0.05, 0.3, 1.0}) {
      q.set_p(p);
      const wire::ViewAnswer a = answer(q);
      EXPECT_EQ(a.p(), p);
      EXPECT_EQ(a.policy(), "asked");
      expect_same(a, expected);
    }
    q.clear_p();
    const wire::ViewAnswer noise = answer(q);
    EXPECT_EQ(noise.p(), noise_p(expected.model).p);
    EXPECT_EQ(noise.policy(), noise_p(expected.model).policy);
    EXPECT_EQ(noise.why(), noise_p(expected.model).why);
    expect_same(noise, expected);
    q.set_policy("jump");
    const wire::ViewAnswer jump = answer(q);
    EXPECT_EQ(jump.p(), jump_p(expected.batch)->p);
    EXPECT_EQ(jump.policy(), "jump");
    expect_same(jump, expected);
  }
}

TEST_F(View, DurationsFillWhatIsKnownAndStatesHaveTheirFamilies) {
  const wire::ViewAnswer a = answer(question(0, 30'000, 30));
  ASSERT_EQ(a.error(), "");
  int at = 0;
  for (int i = 0; i < a.part_node_size(); ++i) {
    double sum = 0;
    for (std::uint32_t n = 0; n < a.part_states(i); ++n) sum += a.share(at++);
    EXPECT_NEAR(sum, a.part_known(i), 1e-5);
  }
  EXPECT_EQ(a.unit(), "");
  for (const auto& s : a.states())
    EXPECT_EQ(s.family(), static_cast<std::uint32_t>(s.name() == "Compute" ? wire::FAMILY_COMPUTE
                                                                           : wire::FAMILY_POINT_TO_POINT));
}

// As the list of events has them, of what was asked for; they fill what is known of each resource.
TEST_F(View, SingleVisitsComeWhereThereAreNoMoreThanWereAskedFor) {
  wire::ViewQuestion q = question(12'000, 13'000, 20);
  EXPECT_FALSE(answer(q).has_visits());
  q.set_visits(10);
  EXPECT_FALSE(answer(q).has_visits()) << "there are more";
  q.set_visits(5000);
  const wire::ViewAnswer all = answer(q);
  EXPECT_EQ(all.question().visits(), 5000u);
  ViewMaker::Options no_patience;
  no_patience.events_patience = DurationNs(0);
  ViewMaker hasty(*archive_, clock_, no_patience);
  const wire::ViewAnswer none = answer(hasty, q);
  EXPECT_FALSE(none.has_visits());
  EXPECT_EQ(none.part_node_size(), all.part_node_size());
  ASSERT_TRUE(all.has_visits());
  const wire::ViewVisits& v = all.visits();
  ASSERT_GT(v.node_size(), 100);
  std::map<std::uint32_t, std::int64_t> covered;
  for (int i = 0; i < v.node_size(); ++i) {
    ASSERT_LT(v.node(i), static_cast<std::uint32_t>(all.nodes_size()));
    EXPECT_EQ(all.nodes(static_cast<int>(v.node(i))).leaves(), 1u);
    ASSERT_LT(v.state(i), static_cast<std::uint32_t>(all.states_size()));
    EXPECT_GE(v.begin_ns(i), v.begin_ns(std::max(0, i - 1)));
    const std::int64_t end = v.begin_ns(i) + static_cast<std::int64_t>(v.length_ns(i));
    EXPECT_GT(end, -1);
    EXPECT_LT(v.begin_ns(i), 1'000'000'000);
    if (v.depth(i) == 0)
      covered[v.node(i)] +=
          std::min<std::int64_t>(end, 1'000'000'000) - std::max<std::int64_t>(v.begin_ns(i), 0);
  }
  EXPECT_EQ(covered.size(), 12u) << "ranks";
  double known = 0, sum = 0;
  for (const auto& [node, ns] : covered) sum += static_cast<double>(ns) / 1e9 / 12;
  for (int i = 0; i < all.part_node_size(); ++i)
    known += static_cast<double>(all.part_known(i)) * (all.part_last(i) + 1 - all.part_first(i)) / 20 *
             all.nodes(static_cast<int>(all.part_node(i))).leaves() / 12;
  EXPECT_NEAR(sum, known, 1e-3);

  for (const char* node : {"/host1", "host1"}) {
    q.set_node(node);
    const wire::ViewAnswer some = answer(q);
    ASSERT_TRUE(some.has_visits()) << some.ShortDebugString().substr(0, 300);
    std::set<std::string> who;
    for (const std::uint32_t n : some.visits().node()) who.insert(some.nodes(static_cast<int>(n)).name());
    EXPECT_THAT(who, testing::ElementsAre("rank4", "rank5", "rank6", "rank7"));
  }
  q.clear_node();
  q.add_states("S2");
  for (const wire::ViewAnswer some = answer(q); const std::uint32_t s : some.visits().state())
    EXPECT_EQ(some.states(static_cast<int>(s)).name(), "S2");
  q.clear_states();
  q.set_partition(wire::ViewQuestion::TEMPORAL);
  EXPECT_FALSE(answer(q).has_visits());
  q.set_partition(wire::ViewQuestion::SPATIOTEMPORAL);
  q.set_measure("occurrences");
  EXPECT_FALSE(answer(q).has_visits());
  q.set_visits(ViewRequest::kMostVisits + 1);
  EXPECT_THAT(error_of(q), HasSubstr("visits: 65537, at most 65536"));
}

// A message has a bound, and the partition comes first.
TEST_F(View, SingleVisitsThatWouldBeTooLargeAreLeftOut) {
  wire::ViewQuestion q = question(12'000, 13'000, 20);
  ViewMaker::Options narrow;
  narrow.limits.bytes = answer(q).ByteSizeLong() + 500;
  q.set_visits(5000);
  ASSERT_TRUE(answer(q).has_visits());
  ViewMaker maker(*archive_, clock_, narrow);
  for (int i = 0; i < 2; ++i) {
    const wire::ViewAnswer a = answer(maker, q);
    EXPECT_FALSE(a.has_visits() || a.has_annotations() || a.has_messages());
    EXPECT_GT(a.part_node_size(), 0);
    EXPECT_THAT(a.notes(), testing::Contains(HasSubstr("single visits are left out")));
    q.set_p(0.5);
  }
}

// As the list of messages has them, of the ranks that were asked for.
TEST_F(View, MessagesComeWithTheirVisits) {
  auto archive = store::Archive::open(MARGAY_EXAMPLE, store::Mode::kBeside);
  ASSERT_TRUE(archive) << archive.error().message;
  const auto resume = (*archive)->load();
  ASSERT_TRUE(resume);
  ViewMaker maker(**archive, clock_, {});
  wire::ViewQuestion q;
  q.set_from_ns((resume->run.begin + milliseconds(12'000)).value);
  q.set_to_ns((resume->run.begin + milliseconds(12'100)).value);
  q.set_slices(10);
  EXPECT_FALSE(answer(maker, q).has_messages()) << "nobody wants them";
  q.set_visits(5000);
  for (const char* node : {"", "/node1"}) {
    SCOPED_TRACE(node);
    q.set_node(node);
    const wire::ViewAnswer a = answer(maker, q);
    ASSERT_TRUE(a.has_visits());
    const wire::ViewMessages& m = a.messages();
    ASSERT_GT(m.from_size(), 20);
    std::vector<std::string> paths;
    for (const wire::ViewNode& n : a.nodes())
      paths.push_back(paths.empty() ? "" : paths[n.parent()] + "/" + n.name());
    std::vector<std::tuple<std::string, std::string, std::int64_t, std::int64_t>> answered, listed;
    for (int i = 0; i < m.from_size(); ++i)
      answered.emplace_back(paths[m.from(i)], paths[m.to(i)], q.from_ns() + m.sent_ns(i), m.took_ns(i));
    MessageQuery query;
    query.from = TimeNs(q.from_ns()), query.to = TimeNs(q.to_ns());
    ASSERT_TRUE(list_messages(**archive, *resume, query, [&](const MessageRow& row) -> Status {
      if (row.from.starts_with(node) && row.to.starts_with(node))
        listed.emplace_back(row.from, row.to, row.what.sent.value, (row.what.received - row.what.sent).value);
      return {};
    }));
    EXPECT_EQ(answered, listed);
    q.set_p(0.5);
    EXPECT_EQ(answer(maker, q).messages().SerializeAsString(), m.SerializeAsString());
    q.clear_p();
  }
  EXPECT_EQ(maker.visit_lists(), 2u) << "read once for every p";
}

TEST_F(View, SingleVisitsAreReadOnceForEveryP) {
  wire::ViewQuestion q = question(12'000, 13'000, 20);
  q.set_visits(5000);
  ViewMaker maker(*archive_, clock_, {});
  const wire::ViewAnswer first = answer(maker, q);
  ASSERT_TRUE(first.has_visits());
  for (const double p : {0.1, 0.5}) {
    q.set_p(p);
    EXPECT_EQ(answer(maker, q).visits().SerializeAsString(), first.visits().SerializeAsString());
  }
  EXPECT_EQ(maker.visit_lists(), 1u);
  q.set_visits(10);
  EXPECT_FALSE(answer(maker, q).has_visits());
  q.set_p(0.3);
  EXPECT_FALSE(answer(maker, q).has_visits());
  EXPECT_EQ(maker.visit_lists(), 2u) << "that there are more is known, too";
}

TEST_F(View, WhatIsMeasuredHasAUnitAndWhatIsFull) {
  wire::ViewQuestion q = question(0, 30'000, 10);  // slices of 3 s
  q.set_measure("bytes");
  q.set_p(1);
  const wire::ViewAnswer a = answer(q);
  ASSERT_EQ(a.error(), "");
  EXPECT_EQ(a.unit(), "bytes");
  const Said expected = said(q);
  EXPECT_NEAR(a.full(), expected.model.unit / 3, 1e-9 * a.full());
  EXPECT_EQ(a.question().measure(), "bytes");
}

TEST_F(View, TheQuestionComesBackAsItWasUnderstoodAndCanBeAskedAgain) {
  wire::ViewQuestion q;  // the newest
  q.set_slices(25);
  q.set_node("host1");
  q.add_states("S3");
  q.add_states("S1");
  q.add_states("S3");
  ViewMaker maker(*archive_, clock_, {});
  const wire::ViewAnswer a = answer(maker, q);
  ASSERT_EQ(a.error(), "");
  EXPECT_EQ(a.question().slices(), 25u);
  EXPECT_EQ(a.question().states_size(), 2);
  EXPECT_EQ(a.question().policy(), "noise");
  const wire::ViewAnswer again = answer(maker, a.question());
  EXPECT_EQ(again.SerializeAsString(), a.SerializeAsString());
  EXPECT_EQ(maker.models(), 1u) << "it is the same stretch";
}

TEST_F(View, TheNewestSlicesOfALevel) {
  const std::int64_t end = zero().value + 30'100'000'000;
  wire::ViewQuestion q;
  q.set_slices(40);
  wire::ViewAnswer a = answer(q);
  ASSERT_EQ(a.error(), "");
  EXPECT_EQ(a.boundaries(0), end - 4'000'000'000);
  EXPECT_EQ(a.boundaries(40), end);
  wire::ViewQuestion same = question(26'100, 30'100, 40);
  Said expected = said(same);
  expect_same(a, expected);

  q.set_slices(0);  // the daemon chooses how many
  a = answer(q);
  EXPECT_EQ(a.boundaries_size(), 257);
  EXPECT_EQ(a.boundaries(256), end);
  q.set_slices(1000);  // more than there are
  a = answer(q);
  EXPECT_EQ(a.boundaries_size(), 302);
  EXPECT_EQ(a.boundaries(0), zero().value);

  q.set_slice_ns(1'000'000'000);
  q.set_slices(5);
  a = answer(q);
  ASSERT_EQ(a.error(), "");
  ASSERT_EQ(a.boundaries_size(), 6);
  EXPECT_EQ(a.boundaries(5) - a.boundaries(0), 5'000'000'000);
  EXPECT_EQ(a.boundaries(5) % 1'000'000'000, 0);
  q.set_slice_ns(10'000'000'000);  // three are closed
  a = answer(q);
  ASSERT_EQ(a.boundaries_size(), 4);
  EXPECT_EQ(a.boundaries(0), zero().value);
  q.set_slice_ns(60'000'000'000);
  EXPECT_THAT(error_of(q), HasSubstr("there are no closed slices of 1min yet"));
  q.set_slice_ns(3'000'000'000);
  EXPECT_THAT(error_of(q), HasSubstr("slice_ns: 3s: this run has the levels 100ms, 1s, 10s, 1min"));
}

TEST_F(View, AStretchIsCutToWhatThereIsAndTheDaemonChoosesSlicesThatAreAlike) {
  wire::ViewQuestion q;
  q.set_from_ns(1);
  q.set_to_ns(INT64_MAX);
  q.set_slices(7);
  wire::ViewAnswer a = answer(q);
  ASSERT_EQ(a.error(), "");
  EXPECT_EQ(a.boundaries(0), zero().value);
  EXPECT_EQ(a.boundaries(7), zero().value + 30'100'000'000);
  q.set_slices(0);  // 301 slices
  a = answer(q);
  ASSERT_EQ(a.error(), "");
  ASSERT_EQ(a.boundaries_size(), 152);
  EXPECT_EQ(a.boundaries(0), zero().value);
  for (int k = 0; k < 151; ++k) EXPECT_EQ(a.boundaries(k + 1) - a.boundaries(k), 200'000'000);
  EXPECT_THAT(a.notes(), IsEmpty());
  // It reaches behind the end; as it comes back it is the same stretch, also cut in time only.
  ASSERT_GT(a.boundaries(151), zero().value + 30'100'000'000);
  for (const auto cuts : {wire::ViewQuestion::SPATIOTEMPORAL, wire::ViewQuestion::TEMPORAL}) {
    wire::ViewQuestion again = a.question();
    again.set_partition(cuts);
    const wire::ViewAnswer same = answer(again);
    ASSERT_EQ(same.error(), "");
    EXPECT_THAT(same.notes(), IsEmpty());
    EXPECT_TRUE(std::equal(same.boundaries().begin(), same.boundaries().end(), a.boundaries().begin(),
                           a.boundaries().end()));
  }
  q = question(5'123, 8'456, 0);
  a = answer(q);
  ASSERT_EQ(a.boundaries_size(), 35);  // outwards
  EXPECT_EQ(a.boundaries(0), (zero() + milliseconds(5'100)).value);
  EXPECT_EQ(a.boundaries(34), (zero() + milliseconds(8'500)).value);
  EXPECT_THAT(error_of(question(40'000, 50'000, 5)), HasSubstr("from_ns: is after what there is"));
  EXPECT_THAT(error_of(question(-9'000, -8'000, 5)), HasSubstr("to_ns: is before what there is"));
}

TEST_F(View, QuestionsThatMakeNoSenseAreASentence) {
  const auto with = [](auto change) {
    wire::ViewQuestion q = question(0, 10'000, 10);
    change(q);
    return error_of(q);
  };
  using Q = wire::ViewQuestion;
  EXPECT_EQ(with([](Q&) {}), "");
  EXPECT_THAT(with([](Q& q) { q.set_to_ns(q.from_ns()); }), HasSubstr("to_ns: is not after"));
  EXPECT_THAT(with([](Q& q) { q.set_from_ns(INT64_MAX), q.set_to_ns(INT64_MIN); }), HasSubstr("to_ns"));
  EXPECT_THAT(with([](Q& q) { q.set_slices(1001); }), HasSubstr("slices: 1001, at most 1000"));
  EXPECT_THAT(with([](Q& q) { q.set_slices(UINT32_MAX); }), HasSubstr("slices: "));
  EXPECT_THAT(with([](Q& q) { q.set_slice_ns(-1); }), HasSubstr("slice_ns: is negative"));
  EXPECT_THAT(with([](Q& q) { q.set_node(std::string(3000, '/')); }), HasSubstr("node: longer than"));
  EXPECT_THAT(with([](Q& q) { q.set_node("/host11"); }),
              testing::AllOf(testing::StartsWith("node"), HasSubstr("did you mean '/host1'?")));
  EXPECT_THAT(with([](Q& q) {
                for (int i = 0; i < 257; ++i) q.add_states("S" + std::to_string(i));
              }),
              HasSubstr("states: 257 names, at most 256"));
  EXPECT_THAT(with([](Q& q) { q.add_states(""); }), HasSubstr("states: a name has 1 to 128 bytes"));
  EXPECT_THAT(with([](Q& q) { q.add_states(std::string(129, 's')); }), HasSubstr("states: a name"));
  EXPECT_THAT(with([](Q& q) { q.add_states("compute"); }),
              testing::AllOf(testing::StartsWith("states"), HasSubstr("this run has no such state"),
                             HasSubstr("'Compute'")));
  EXPECT_THAT(with([](Q& q) { q.set_measure("median"); }), HasSubstr("measure: expected duration"));
  EXPECT_THAT(with([](Q& q) { q.set_measure("mean:" + std::string(300, 'x')); }),
              HasSubstr("measure: longer"));
  EXPECT_THAT(with([](Q& q) { q.set_measure("mean:load"); }),
              testing::AllOf(testing::StartsWith("measure"), HasSubstr("no such variable")));
  EXPECT_THAT(with([](Q& q) { q.set_partition(static_cast<Q::Partition>(7)); }), HasSubstr("partition: "));
  for (const double p : {-0.1, 1.1, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THAT(with([&](Q& q) { q.set_p(p); }), HasSubstr("p: expected a number from 0 to 1")) << p;
  EXPECT_THAT(with([](Q& q) { q.set_policy("best"); }), HasSubstr("policy: expected noise or jump"));
  EXPECT_THAT(with([](Q& q) { q.set_policy("jump"), q.set_p(0.5); }),
              HasSubstr("policy: p is given as well"));
}

TEST_F(View, AnotherPIsOneSolutionAndTheSameQuestionNone) {
  ViewMaker maker(*archive_, clock_, {});
  wire::ViewQuestion q = question(3'000, 9'000, 60);
  const std::string first = answer(maker, q).SerializeAsString();
  EXPECT_EQ(maker.models(), 1u);
  EXPECT_EQ(maker.solutions(), 1u);
  EXPECT_EQ(answer(maker, q).SerializeAsString(), first);
  EXPECT_EQ(maker.solutions(), 1u);
  q.set_p(0.25);
  answer(maker, q);
  q.set_p(0.5);
  answer(maker, q);
  EXPECT_EQ(maker.models(), 1u);
  EXPECT_EQ(maker.solutions(), 3u);
  answer(maker, question(3'000, 9'000, 30));
  EXPECT_EQ(maker.models(), 2u);
  EXPECT_GT(maker.held_bytes(), 0u);
}

TEST_F(View, WhatIsKeptOfStretchesIsBounded) {
  ViewMaker::Options options;
  options.memory_bytes = 4 << 20;
  ViewMaker maker(*archive_, clock_, options);
  std::uint64_t most = 0;
  for (std::int64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(answer(maker, question(i * 100, 10'000 + i * 100, 50)).error(), "");
    most = std::max(most, maker.held_bytes());
  }
  EXPECT_EQ(maker.models(), 30u);
  EXPECT_LE(most, options.memory_bytes + (std::uint64_t{1} << 20)) << "with the answers";
  const auto refused = answer(maker, question(0, 30'000, 900));
  EXPECT_THAT(refused.error(), testing::AllOf(HasSubstr("slices: 900 of the whole run do not fit"),
                                              HasSubstr("ask for so many")));
}

// What a picture of that size takes: its tables do not fit, and those of one way from the root down do.
TEST(SlicesThatFit, AThousandOfSevenHundredResourcesInTheDefaultMemory) {
  store::Resume run;
  for (std::uint32_t r = 0; r < 700; ++r) {
    store::LeafRecord leaf;
    leaf.leaf = LeafIndex(r);
    leaf.attributes = {{"site", "nancy"},
                       {"cluster", r < 350 ? "graphene" : "griffon"},
                       {"host", "n" + std::to_string(r / 6)},
                       {"rank", std::to_string(r)}};
    run.leaves.push_back(leaf);
  }
  for (int x = 3; x < 22; ++x)
    ASSERT_TRUE(run.states.intern("s" + std::to_string(x), model::StateFamily::kOther));
  ASSERT_EQ(run.states.size(), 22u);
  const std::uint64_t memory = ViewMaker::Options().memory_bytes;
  const SlicesThatFit fit = slices_that_fit(ViewRequest(), run, memory / 2, memory / 4);
  EXPECT_EQ(fit.most, 1000u);
  EXPECT_LT(fit.with_tables, 200u);
  EXPECT_GT(fit.with_tables, 100u);
}

// With the tables of one way from the root down at a time the partition is the same, however many slices; how
// quality depends on p is told of fewer.
TEST_F(View, MoreSlicesThanTablesFit_TheSamePartition) {
  const wire::ViewQuestion fine = question(0, 30'000, 300);
  Said expected = said(fine);
  ViewMaker::Options options;
  options.memory_bytes = std::uint64_t{10} << 20;
  ViewMaker maker(*archive_, clock_, options);
  for (const double p : {0.02, 0.1, 0.4}) {
    wire::ViewQuestion q = fine;
    q.set_p(p);
    const wire::ViewAnswer a = answer(maker, q);
    const auto found = expected.batch.solve(p);
    ASSERT_TRUE(found);
    ASSERT_EQ(a.part_node_size(), static_cast<int>(found->parts.size())) << a.error();
    for (int i = 0; i < a.part_node_size(); ++i) {
      const partition::Part& part = found->parts[static_cast<std::size_t>(i)];
      EXPECT_EQ(a.part_node(i), part.node.value);
      EXPECT_EQ(a.part_first(i), part.first.value);
      EXPECT_EQ(a.part_last(i), part.last.value);
    }
    EXPECT_NEAR(a.gain(), found->gain * expected.model.unit, 1e-6);
    EXPECT_NEAR(a.loss(), found->loss * expected.model.unit, 1e-6);
  }
  EXPECT_LE(maker.held_bytes(), options.memory_bytes + (std::uint64_t{1} << 20)) << "with the answers";
  EXPECT_GT(partition_bytes(expected.model), options.memory_bytes / 2) << "else all this shows nothing";

  wire::ViewQuestion q = fine;
  q.set_curve(true);
  const wire::ViewAnswer picture = answer(maker, q);
  EXPECT_EQ(picture.policy(), "noise");
  EXPECT_EQ(picture.p(), noise_p(expected.model).p);
  EXPECT_EQ(picture.curve_size(), 0);
  EXPECT_FALSE(picture.curve_complete());
  std::string notes;
  for (const std::string& note : picture.notes()) notes += note + '\n';
  const auto at = notes.find("it is there for ");
  ASSERT_NE(at, std::string::npos) << notes;
  // So many have one; and no more are taken where nobody says how many.
  const auto fit = static_cast<std::uint32_t>(std::stoul(notes.substr(at + 16)));
  q.set_slices(fit);
  EXPECT_GT(answer(maker, q).curve_size(), 1);
  ASSERT_LT(fit, 250u);  // of the finest
  wire::ViewQuestion any = question(0, 25'000, 0);
  any.set_curve(true);
  const wire::ViewAnswer usual = answer(maker, any);
  EXPECT_LE(usual.question().slices(), fit);
  EXPECT_GT(usual.curve_size(), 1);

  q = fine;
  q.set_policy("jump");
  const wire::ViewAnswer jump = answer(maker, q);
  EXPECT_EQ(jump.policy(), "noise");
  EXPECT_THAT(jump.why(), HasSubstr("where quality falls most is not known of so many slices"));
}

TEST_F(View, MorePartsThanAnAnswerHoldsAreThoseAtALargerP) {
  ViewMaker::Options options;
  options.limits.parts = 40;
  wire::ViewQuestion q = question(3'000, 9'000, 60);
  q.set_p(0);
  {
    ViewMaker maker(*archive_, clock_, options);
    const wire::ViewAnswer a = answer(maker, q);
    ASSERT_EQ(a.error(), "");
    EXPECT_TRUE(a.left_out());
    EXPECT_GT(a.p(), 0);
    EXPECT_LE(a.part_node_size(), 40);
    ASSERT_EQ(a.notes_size(), 1);
    EXPECT_THAT(a.notes(0), HasSubstr("more than an answer holds"));
    Said expected = said(q);
    expect_same(a, expected);
  }
  options.limits = {};
  options.limits.shares = 30;
  ViewMaker maker(*archive_, clock_, options);
  const wire::ViewAnswer a = answer(maker, q);
  ASSERT_EQ(a.error(), "");
  EXPECT_TRUE(a.left_out());
  EXPECT_LE(a.share_size(), 30);
  options.limits.shares = 2;  // not even of the whole
  ViewMaker none(*archive_, clock_, options);
  EXPECT_THAT(answer(none, q).error(), HasSubstr("larger than a message may be"));
}

TEST_F(View, TheCurveIsThatOfTheSignificantPAndItsNeighboursAreComputedAhead) {
  ViewMaker maker(*archive_, clock_, {});
  wire::ViewQuestion q = question(0, 30'000, 10);
  q.set_curve(true);
  const wire::ViewAnswer a = answer(maker, q);
  ASSERT_EQ(a.error(), "");
  Said expected = said(q);
  const auto list = partition::significant_p(expected.batch);
  ASSERT_TRUE(list);
  ASSERT_TRUE(a.curve_complete());
  ASSERT_EQ(a.curve_size(), static_cast<int>(list->points.size()));
  int at = 0;
  for (int i = 0; i < a.curve_size(); ++i) {
    EXPECT_DOUBLE_EQ(a.curve(i).p(), list->points[static_cast<std::size_t>(i)].p);
    EXPECT_NEAR(a.curve(i).gain(), list->points[static_cast<std::size_t>(i)].gain, 1e-6);
    EXPECT_EQ(a.curve(i).parts(), list->points[static_cast<std::size_t>(i)].aggregates);
    if (a.curve(i).p() <= a.p()) at = i;
  }
  const std::uint64_t before = maker.solutions();
  // Nothing while somebody asks.
  {
    ViewMaker other(*archive_, clock_, {});
    answer(other, q);
    const std::uint64_t solved = other.solutions();
    EXPECT_TRUE(other.look_ahead([] { return false; })) << "it is still to be done";
    EXPECT_EQ(other.solutions(), solved);
  }
  // A viewer asks for this before anybody has had time to look ahead.
  wire::ViewQuestion temporal = a.question();
  temporal.set_partition(wire::ViewQuestion::TEMPORAL);
  temporal.set_curve(false);
  ASSERT_EQ(answer(maker, temporal).error(), "");
  EXPECT_EQ(maker.models(), 1u) << "of the same stretch nothing is read again";
  const std::uint64_t both = maker.solutions();
  EXPECT_EQ(both, before + 1);
  temporal.set_partition(wire::ViewQuestion::PRODUCT);
  ASSERT_EQ(answer(maker, temporal).error(), "");
  EXPECT_EQ(maker.models(), 1u) << "nor for another way to cut it";
  while (maker.look_ahead(always)) {
  }
  const std::uint64_t ahead = maker.solutions();
  EXPECT_GT(ahead, both + 1);
  EXPECT_LE(ahead, both + 3);
  EXPECT_FALSE(maker.look_ahead(always));
  for (const int next : {at + 1, at - 1}) {
    if (next < 0 || next >= a.curve_size()) continue;
    // What the window's steps ask for (scene::Step::ask).
    const double from = a.curve(next).p(), until = next + 1 < a.curve_size() ? a.curve(next + 1).p() : 1;
    q.set_p(from + (until - from) / 2);
    const wire::ViewAnswer there = answer(maker, q);
    EXPECT_EQ(maker.solutions(), ahead) << "computed before";
    EXPECT_EQ(there.p(), q.p());
    EXPECT_EQ(static_cast<std::uint32_t>(there.part_node_size()), a.curve(next).parts());
  }
}

TEST_F(View, WithoutPatienceForEventsCellsAreSpreadAndOtherMeasuresRefused) {
  ViewMaker::Options options;
  options.events_patience = DurationNs(0);
  ViewMaker maker(*archive_, clock_, options);
  wire::ViewQuestion q = question(5'000, 30'000, 7);
  const wire::ViewAnswer a = answer(maker, q);
  EXPECT_EQ(a.error(), "");
  ASSERT_EQ(a.notes_size(), 1);
  EXPECT_THAT(a.notes(0), HasSubstr("spread in proportion"));
  q.set_measure("bytes");
  EXPECT_THAT(answer(maker, q).error(),
              HasSubstr("measure: reading the events of this stretch takes longer"));
  EXPECT_THAT(answer(maker, question(0, 30'000, 10)).notes(), IsEmpty()) << "needs no events";
}

TEST_F(View, WhatIsEndedIsNoAnswer) {
  ViewMaker maker(*archive_, clock_, {});
  const auto request = decode_view_untrusted(question(0, 30'000, 10));
  EXPECT_EQ(maker.answer(*request, [] { return false; }), nullptr);
  EXPECT_EQ(answer(maker, question(0, 30'000, 10)).error(), "");
}

}  // namespace view_test
}  // namespace margay::daemon
