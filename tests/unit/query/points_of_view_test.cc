// The same run from other points of view: of an archive whose views are made here by hand, from what the
// usual one says of each resource.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "example_run.h"
#include "margay/query/event_answer.h"
#include "margay/query/message_list.h"
#include "margay/query/run_views.h"
#include "view_support.h"

namespace margay::daemon {
namespace points_of_view_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// Of each resource, which group of which level it is in, the highest first.
using Groups = std::function<std::vector<std::string>(const std::string& path, int rank)>;
struct Hand {
  const char* levels;
  const char* groups;
  Groups of;
};

std::string host_of(const std::string& path) {
  return path.substr(1, path.find('/', 1) - 1);
}

const std::vector<Hand> kByHand = {
    {"rank", "", [](const auto&, int) { return std::vector<std::string>{}; }},
    {"rank mod 3", "", [](const auto&, int r) { return std::vector{std::to_string(r % 3)}; }},
    {"rank div 5", "", [](const auto&, int r) { return std::vector{std::to_string(r / 5)}; }},
    {"rank mod 2/host", "",
     [](const auto& p, int r) {
       return std::vector{std::to_string(r % 2), host_of(p)};
     }},
    {"host/rank mod 2", "",
     [](const auto& p, int r) {
       return std::vector{host_of(p), std::to_string(r % 2)};
     }},
    {"group", "io: *rank4 *rank7\nhalf: rank?",
     [](const auto&, int r) {
       return std::vector<std::string>{r == 4 || r == 7 ? "io" : r < 10 ? "half" : "others"};
     }},
};

wire::ViewQuestion seen_by(wire::ViewQuestion q, const std::string& levels, const std::string& groups = "") {
  q.mutable_view()->set_levels(levels);
  q.mutable_view()->set_groups(groups);
  return q;
}

class PointsOfView : public ViewOfArchive {
 protected:
  static int rank_of(const std::string& path) { return std::stoi(path.substr(path.rfind("rank") + 4)); }

  // The usual model's cells below a tree of these groups.
  static Model by_hand(const Model& usual, const Groups& of) {
    std::map<std::vector<std::string>, std::vector<std::size_t>> groups;
    std::size_t levels = 0;
    for (std::size_t l = 0; l < usual.leaves(); ++l) {
      const std::string path = usual.resource(l);
      auto key = of(path, rank_of(path));
      levels = key.size();
      groups[key].push_back(l);
    }
    std::vector<NodeIndex> parents{partition::kNoParent};
    std::map<std::vector<std::string>, std::uint32_t> known{{{}, 0}};
    std::vector<std::size_t> order;
    for (const auto& [key, leaves] : groups) {
      std::uint32_t above = 0;
      for (std::size_t d = 1; d <= levels; ++d) {
        const auto [at, fresh] =
            known.try_emplace({key.begin(), key.begin() + static_cast<std::ptrdiff_t>(d)},
                              static_cast<std::uint32_t>(parents.size()));
        if (fresh) parents.push_back(NodeIndex(above));
        above = at->second;
      }
      for (const std::size_t l : leaves) {
        parents.push_back(NodeIndex(above));
        order.push_back(l);
      }
    }
    Model m = usual;
    m.tree = *partition::TreeShape::from_parents(parents);
    for (std::size_t t = 0; t < m.slices; ++t)
      for (std::size_t i = 0; i < order.size(); ++i) {
        const std::size_t to = t * m.leaves() + i, from = t * m.leaves() + order[i];
        m.weights[to] = usual.weights[from];
        std::copy_n(usual.values.begin() + static_cast<std::ptrdiff_t>(from * m.states), m.states,
                    m.values.begin() + static_cast<std::ptrdiff_t>(to * m.states));
      }
    return m;
  }
  static partition::Partition solved(const Model& m, double p) {
    std::vector<partition::Column> columns(m.slices);
    for (std::size_t t = 0; t < m.slices; ++t)
      columns[t] = {std::span(m.values).subspan(t * m.leaves() * m.states, m.leaves() * m.states),
                    std::span(m.weights).subspan(t * m.leaves(), m.leaves())};
    partition::Batch::Options options;
    options.tree = m.tree;
    options.states = m.states;
    auto out = partition::Batch::create(std::move(options), columns)->solve(p);
    EXPECT_TRUE(out);
    to_units(*out, m.unit);
    return *out;
  }
  // Leaves x slices x share, by state, of all parts.
  static std::map<std::string, double> totals(const wire::ViewAnswer& a) {
    std::map<std::string, double> out;
    int at = 0;
    for (int i = 0; i < a.part_node_size(); ++i) {
      const double area = a.nodes(static_cast<int>(a.part_node(i))).leaves() *
                          static_cast<double>(a.part_last(i) - a.part_first(i) + 1);
      for (std::uint32_t n = 0; n < a.part_states(i); ++n, ++at)
        out[a.states(static_cast<int>(a.share_state(at))).name()] += area * a.share(at);
    }
    return out;
  }
};

TEST_F(PointsOfView, ThePartitionIsThatOfAModelMadeByHand) {
  auto q = question(0, 30'000, 40);
  const Model usual = said(q).model;
  for (const Hand& hand : kByHand)
    for (const double p : {0.0, 0.05, 0.2, 0.5, 0.9, 1.0}) {
      q.set_p(p);
      const auto a = answer(seen_by(q, hand.levels, hand.groups));
      ASSERT_EQ(a.error(), "") << hand.levels;
      const auto want = solved(by_hand(usual, hand.of), p);
      EXPECT_NEAR(a.gain(), want.gain, 1e-6) << hand.levels << " at " << p;
      EXPECT_NEAR(a.loss(), want.loss, 1e-6) << hand.levels << " at " << p;
      ASSERT_EQ(a.part_node_size(), static_cast<int>(want.parts.size())) << hand.levels << " at " << p;
      std::multiset<std::pair<std::int64_t, std::int64_t>> times, wanted;
      for (int i = 0; i < a.part_node_size(); ++i) times.emplace(a.part_first(i), a.part_last(i));
      for (const auto& part : want.parts) wanted.emplace(part.first.value, part.last.value);
      EXPECT_EQ(times, wanted);
    }
}

TEST_F(PointsOfView, TheSameCellsHaveTheSameTotalsInEveryView) {
  const std::uint64_t seed = 29;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  auto q = question(0, 30'000, 25);
  q.set_p(0.1);
  const auto usual = totals(answer(q));
  ViewMaker maker(*archive_, clock_, {});
  for (int i = 0; i < 40; ++i) {
    std::vector<std::string> levels;
    for (int n = 1 + static_cast<int>(rng() % 3); n > 0; --n) {
      const std::uint64_t by = 1 + rng() % 14;
      const std::vector<std::string> some = {"host", "rank", "rank mod " + std::to_string(by),
                                             "rank div " + std::to_string(by)};
      const std::string& level = some[rng() % some.size()];
      if (std::find(levels.begin(), levels.end(), level) == levels.end()) levels.push_back(level);
    }
    std::string text;
    for (const std::string& l : levels) text += (text.empty() ? "" : "/") + l;
    q.set_p(static_cast<double>(rng() % 101) / 100);
    const auto a = answer(maker, seen_by(q, text));
    ASSERT_EQ(a.error(), "") << text;
    const auto here = totals(a);
    ASSERT_EQ(here.size(), usual.size()) << text;
    for (const auto& [state, sum] : usual) EXPECT_NEAR(here.at(state), sum, 1e-2) << text << " " << state;
  }
}

// What was read and measured from one point of view serves the others: and says what is read anew says.
TEST_F(PointsOfView, AChangeReadsNothingAgain) {
  ViewMaker maker(*archive_, clock_, {});
  auto q = question(0, 30'000, 60);
  // The second time the usual one is asked for its answer is there.
  const std::vector<std::pair<const char*, std::uint64_t>> views = {
      {"", 0}, {"rank mod 3", 1}, {"host/rank mod 2", 2}, {"rank", 3}, {"", 3}, {"rank div 5", 4}};
  for (const auto& [levels, turned] : views) {
    const auto seen = seen_by(q, levels);
    auto here = answer(maker, seen), anew = answer(seen);
    ASSERT_EQ(here.error(), "");
    here.clear_question(), anew.clear_question();
    EXPECT_EQ(here.SerializeAsString(), anew.SerializeAsString()) << levels;
    EXPECT_EQ(maker.models(), 1u) << levels;
    EXPECT_EQ(maker.turned(), turned) << levels;
  }
  // A view that there is not takes nothing away.
  EXPECT_NE(answer(maker, seen_by(q, "hots")).error(), "");
  EXPECT_EQ(answer(maker, seen_by(q, "rank mod 5")).error(), "");
  EXPECT_EQ(maker.models(), 1u);
  // Of a part, or of some resources, it is read.
  q.set_node("/host1");
  EXPECT_EQ(answer(maker, seen_by(q, "rank mod 2")).error(), "");
  EXPECT_EQ(maker.models(), 2u);
  q.clear_node();
  q.mutable_filter()->add_resources("/host1");
  EXPECT_EQ(answer(maker, seen_by(q, "rank mod 2")).error(), "");
  EXPECT_EQ(maker.models(), 3u);
  EXPECT_EQ(maker.turned(), 5u);
}

// Chance makes the same cuts from everywhere.
TEST_F(PointsOfView, TheNoiseIsTheSameFromAll) {
  const auto q = question(0, 30'000, 60);
  const double p = answer(q).p();
  for (const char* levels : {"rank mod 3", "rank div 5", "rank"})
    EXPECT_EQ(answer(seen_by(q, levels)).p(), p);
}

TEST_F(PointsOfView, LeavesSayWhatTheyAreCalledInTheUsualOne) {
  auto q = question(0, 30'000, 5);
  std::set<std::string> usual, seen;
  const auto plain = answer(q);
  for (const auto& n : plain.nodes()) EXPECT_EQ(n.resource(), "");
  const Said s = said(q);
  for (std::size_t l = 0; l < s.model.leaves(); ++l) usual.insert(s.model.resource(l));
  const auto other = answer(seen_by(q, "rank mod 4"));
  for (const auto& n : other.nodes())
    if (!n.resource().empty()) {
      EXPECT_EQ(n.leaves(), 1u);
      EXPECT_TRUE(n.resource().ends_with("/" + n.name()));
      EXPECT_TRUE(seen.insert(n.resource()).second);
    }
  EXPECT_EQ(seen, usual);
  EXPECT_EQ(other.question().view().levels(), "rank mod 4");
  EXPECT_FALSE(plain.question().has_view());
}

TEST_F(PointsOfView, ANodeIsNamedByItsPathThereOrInTheUsualOne) {
  auto q = seen_by(question(0, 30'000, 10), "rank mod 2/host");
  q.set_p(0);
  q.set_node("/rank mod 2 = 1");
  EXPECT_EQ(answer(q).nodes(0).leaves(), 6u);
  q.set_node("rank mod 2 = 1/host1/");
  EXPECT_EQ(answer(q).nodes(0).leaves(), 2u);
  q.set_node("/host1");  // of the usual view: all of it, wherever it is in this one
  const auto host = answer(q);
  ASSERT_EQ(host.error(), "");
  EXPECT_EQ(host.nodes(0).leaves(), 4u);
  std::vector<std::string> below;
  for (const auto& n : host.nodes())
    if (!n.resource().empty()) below.push_back(n.resource());
  EXPECT_THAT(below, ElementsAre("/host1/rank4", "/host1/rank6", "/host1/rank5", "/host1/rank7"));
  q.set_node("/host1/rank5");
  EXPECT_EQ(answer(q).nodes(0).leaves(), 1u);
  q.set_node("/host9");
  EXPECT_THAT(error_of(q), HasSubstr("'/host9': no such resource"));
  // The same of a filter.
  q.clear_node();
  q.mutable_filter()->set_of_the_rest(true);
  q.mutable_filter()->add_resources("/host1");
  EXPECT_EQ(answer(q).nodes(0).leaves(), 4u);
  q.mutable_filter()->add_resources("!/rank mod 2 = 0");
  EXPECT_EQ(answer(q).nodes(0).leaves(), 2u);
}

TEST_F(PointsOfView, WhatNobodySaysIsAnErrorWithWhatThereIs) {
  const auto q = question(0, 30'000, 10);
  EXPECT_THAT(error_of(seen_by(q, "hots/rank")),
              HasSubstr("view 'hots/rank': 'hots': no resource of this run says it; did you mean 'host'?"));
  EXPECT_THAT(error_of(seen_by(q, "host/")), HasSubstr("view: a level is the name of an attribute"));
  EXPECT_THAT(error_of(seen_by(q, "group", "io")), HasSubstr("view: groups: line 1"));
  wire::EventsQuestion e;
  e.set_most(1);
  e.mutable_view()->set_levels("rank mod");
  const auto wrong = decode_events_untrusted(e);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("view: 'rank mod'"));
}

TEST_F(PointsOfView, AnAnswerSaysWhichThereAre) {
  const auto a = answer(question(0, 30'000, 10));
  std::map<std::string, std::uint32_t> said;
  for (const auto& attribute : a.attributes()) said[attribute.name()] = attribute.values();
  EXPECT_EQ(said["host"], 3u);
  EXPECT_EQ(said["rank"], 12u);
  const std::vector<std::string> views(a.views().begin(), a.views().end());
  EXPECT_THAT(views, Contains("rank div 8"));
  for (const std::string& v : views) EXPECT_EQ(answer(seen_by(question(0, 30'000, 10), v)).error(), "") << v;
}

TEST(RunViews, AttributesAreCounted) {
  std::vector<model::Attributes> leaves;
  for (int r = 0; r < 12; ++r)
    leaves.push_back({{"rank", std::to_string(r)},
                      {"host", "n" + std::to_string(r / 4)},
                      {"rack", r / 4 == 2 ? "east" : "west"},
                      {"boot_id", "b" + std::to_string(r / 4)},
                      {"job", "1"},
                      {"pid", std::to_string(900 + r)}});
  leaves[3].erase("rack");
  const auto all = attributes_of_run(leaves);
  const auto rank = std::find_if(all.begin(), all.end(), [](const auto& a) { return a.name == "rank"; });
  ASSERT_NE(rank, all.end());
  EXPECT_EQ(rank->values, 12u);
  EXPECT_THAT(rank->examples, ElementsAre("0", "1", "2", "3"));
  const auto rack = std::find_if(all.begin(), all.end(), [](const auto& a) { return a.name == "rack"; });
  EXPECT_EQ(rack->resources, 11u);
  EXPECT_EQ(rack->values, 2u);
  // One job, a process each, and what tells the hosts again are nothing new.
  EXPECT_THAT(views_worth_trying(leaves),
              ElementsAre("rank", "rank div 8", "rank mod 2", "rack", "host/rack"));
  EXPECT_TRUE(views_worth_trying({}).empty());
}

// Of the example, whose events and messages are kept.
class SeenEvents : public ExampleRun {
 protected:
  static constexpr const char* kLevels = "rank mod 4";
  static bool always() { return true; }
  static std::vector<std::string> listed(EventQuery q) {
    q.from = extent_->zero + seconds(14), q.to = q.from + seconds(1);
    std::set<std::string> who;
    const auto counts = list_events(*archive_, *resume_, q, [&](const EventRow& row) -> Status {
      who.insert(row.resource);
      return {};
    });
    EXPECT_TRUE(counts) << counts.error().message;
    return {who.begin(), who.end()};
  }
};

TEST_F(SeenEvents, AreListedBelowANodeByTheirUsualPaths) {
  EventQuery q;
  q.view = *model::View::parse(kLevels);
  q.nodes = {"/rank mod 4 = 2"};
  EXPECT_THAT(listed(q), ElementsAre("/node0/rank2", "/node1/rank6", "/node2/rank10", "/node3/rank14"));
  q.nodes = {"/node1"};
  EXPECT_EQ(listed(q).size(), 4u);
  q.nodes = {"/rank mod 4 = 9"};
  const auto none = list_events(*archive_, *resume_, q, [](const EventRow&) { return Status(); });
  EXPECT_FALSE(none);
  q.nodes.clear();
  q.resources = *wire::ResourceTerms::parse(std::vector<std::string>{"rank mod 4 = 1", "/node0"});
  EXPECT_EQ(listed(q).size(), 7u);
}

TEST_F(SeenEvents, VisitsAndMessagesAreOfTheSameResources) {
  SystemClock clock;
  ViewMaker maker(*archive_, clock, {});
  wire::ViewQuestion q;
  q.set_from_ns((extent_->zero + seconds(14)).value);
  q.set_to_ns((extent_->zero + seconds(14) + milliseconds(300)).value);
  q.set_slices(3);
  q.set_visits(20'000);
  q.set_p(0.1);
  const auto all = [&](const wire::ViewQuestion& asked) {
    const auto request = decode_view_untrusted(asked);
    EXPECT_TRUE(request);
    const auto a = maker.answer(*request, always);
    EXPECT_EQ(a->error(), "");
    std::vector<std::string> names;
    std::multiset<std::tuple<std::string, std::string, std::int64_t, std::uint64_t>> out;
    std::vector<std::string> paths;
    for (const auto& n : a->nodes()) {
      paths.push_back(paths.empty() ? "" : paths[n.parent()] + "/" + n.name());
      names.push_back(n.resource().empty() ? paths.back() : n.resource());
    }
    for (int i = 0; i < a->visits().node_size(); ++i)
      out.emplace(names[a->visits().node(i)], a->states(static_cast<int>(a->visits().state(i))).name(),
                  a->visits().begin_ns(i), a->visits().length_ns(i));
    for (int i = 0; i < a->messages().from_size(); ++i)
      out.emplace(names[a->messages().from(i)], names[a->messages().to(i)], a->messages().sent_ns(i),
                  a->messages().bytes(i));
    return out;
  };
  const auto usual = all(q);
  EXPECT_GT(usual.size(), 100u);
  EXPECT_EQ(all(seen_by(q, kLevels)), usual);
  EXPECT_EQ(all(seen_by(q, "group/host", "some: rank3 /node2")), usual);
}

// Who sent what to whom: pairs by their usual paths, blocks by nodes of the view.
TEST_F(SeenEvents, MessagesAreSummedBelowANodeAndInBlocksOfTheView) {
  SystemClock clock;
  ViewMaker maker(*archive_, clock, {});
  const auto asked = [&](const char* node) {
    wire::EventsQuestion q;
    q.set_from_ns((extent_->zero + seconds(3)).value);
    q.set_to_ns((extent_->zero + seconds(4)).value);
    q.set_kind(wire::EventsQuestion::PAIRS);
    q.set_alike(wire::EventsQuestion::BYTES);
    q.set_most(2000);
    q.mutable_view()->set_levels(kLevels);
    if (node != nullptr) q.add_nodes(node);
    const auto request = decode_events_untrusted(q);
    EXPECT_TRUE(request);
    return maker.events(*request, always);
  };
  const wire::EventsAnswer a = asked(nullptr);
  ASSERT_EQ(a.error(), "");
  ASSERT_GT(a.sums_size(), 0);
  const auto path = [](const wire::EventsAnswer& of, std::uint32_t i) {
    return of.resources(static_cast<int>(i));
  };
  for (const auto& s : a.sums()) {
    EXPECT_TRUE(path(a, s.from()).starts_with("/node")) << path(a, s.from());
    EXPECT_TRUE(path(a, s.to()).starts_with("/node"));
  }
  ASSERT_GT(a.blocks_size(), 0);
  for (const auto& b : a.blocks())
    for (const std::uint32_t node : b.from())
      EXPECT_TRUE(path(a, node) == "/" || path(a, node).starts_with("/rank mod 4 = ")) << path(a, node);
  // At or below a node of the view one end of each message is.
  const wire::EventsAnswer below = asked("/rank mod 4 = 2");
  ASSERT_EQ(below.error(), "");
  ASSERT_GT(below.sums_size(), 0);
  EXPECT_LT(below.sums_size(), a.sums_size());
  const std::set<std::string> named = {"/node0/rank2", "/node1/rank6", "/node2/rank10", "/node3/rank14"};
  for (const auto& s : below.sums())
    EXPECT_TRUE(named.contains(path(below, s.from())) || named.contains(path(below, s.to())));
}

TEST_F(SeenEvents, WhatWasAlertedIsPartsOfItsOwnThere) {
  SystemClock clock;
  ViewMaker maker(*archive_, clock, {});
  wire::ViewQuestion q;
  q.set_from_ns(extent_->zero.value);
  q.set_to_ns(extent_->end.value);
  const auto request = decode_view_untrusted(seen_by(q, kLevels));
  ASSERT_TRUE(request);
  const auto a = maker.answer(*request, always);
  ASSERT_EQ(a->error(), "");
  // The example's rank 6 hangs for a second from 15 s on.
  bool apart = false;
  for (int i = 0; i < a->part_node_size(); ++i) {
    const TimeNs begin(a->boundaries(static_cast<int>(a->part_first(i))));
    apart = apart || (a->nodes(static_cast<int>(a->part_node(i))).resource() == "/node1/rank6" &&
                      std::abs((begin - extent_->zero).value - 15'000'000'000) < 500'000'000);
  }
  EXPECT_TRUE(apart);
}

}  // namespace points_of_view_test
}  // namespace margay::daemon
