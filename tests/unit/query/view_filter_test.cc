// What a filter leaves of a run that was recorded (sixteen ranks of the example): against plain sums over the
// list of its events.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "example_run.h"
#include "margay/query/event_answer.h"
#include "margay/query/message_list.h"
#include "view_support.h"

namespace margay::daemon {
namespace view_filter_test {

using testing::HasSubstr;

struct Case {
  std::vector<std::string> states, resources;
  std::function<bool(const std::string&)> shows_state, shows_path;
};

bool any(const std::string&) {
  return true;
}
bool is_collective(const std::string& s) {
  return s == "MPI_Allreduce" || s == "MPI_Alltoall" || s == "MPI_Barrier" || s == "MPI_Bcast" ||
         s == "MPI_Reduce";
}
bool waits(const std::string& s) {
  return s.starts_with("MPI_Wait");
}

class FilteredView : public ExampleRun {
 protected:
  static std::vector<Case> cases() {
    return {
        {{}, {}, any, any},
        {{"MPI_*"}, {}, [](const std::string& s) { return s.starts_with("MPI_"); }, any},
        {{"!MPI_*"}, {}, [](const std::string& s) { return !s.starts_with("MPI_"); }, any},
        {{"family:collective"}, {}, is_collective, any},
        {{"family:collective", "MPI_Wait*"},
         {},
         [](const std::string& s) { return is_collective(s) || waits(s); },
         any},
        {{"MPI_*", "!family:collective", "!MPI_Init"},
         {},
         [](const std::string& s) { return s.starts_with("MPI_") && !is_collective(s) && s != "MPI_Init"; },
         any},
        {{},
         {"/node1", "*rank9"},
         any,
         [](const std::string& p) { return p.starts_with("/node1/") || p.ends_with("/rank9"); }},
        {{},
         {"/node1/*", "!*rank6"},
         any,
         [](const std::string& p) { return p.starts_with("/node1/") && !p.ends_with("rank6"); }},
        {{"family:collective"},
         {"!/node2", "!rank6"},
         is_collective,
         [](const std::string& p) { return !p.starts_with("/node2/") && !p.ends_with("/rank6"); }},
    };
  }

  // Of each resource and state the time that is its own, not that of what is inside.
  using Times = std::map<std::pair<std::string, std::string>, std::int64_t>;
  static Times plain_times(TimeNs from, TimeNs to) {
    Times out;
    std::map<std::string, std::vector<std::string>> open;  // by resource, the names round what comes
    EventQuery query;
    query.from = from, query.to = to;
    const auto counts = list_events(*archive_, *resume_, query, [&](const EventRow& row) -> Status {
      if (row.what.kind != trace::Occurrence::Kind::kState) return {};
      const std::int64_t length = (std::min(row.what.end, to) - std::max(row.what.begin, from)).value;
      auto& around = open[row.resource];
      around.resize(row.what.depth);
      out[{row.resource, row.name.text}] += length;
      if (!around.empty()) out[{row.resource, around.back()}] -= length;
      around.push_back(row.name.text);
      return {};
    });
    EXPECT_TRUE(counts) << counts.error().message;
    return out;
  }

  static wire::ViewAnswer answer(const wire::ViewQuestion& q) {
    ViewMaker maker(*archive_, clock_, {});
    const auto request = decode_view_untrusted(q);
    EXPECT_TRUE(request) << request.error().message;
    return *maker.answer(*request, [] { return true; });
  }
  static wire::ViewQuestion question(const Case& c, TimeNs from, TimeNs to, std::uint32_t slices, bool rest) {
    wire::ViewQuestion q;
    q.set_from_ns(from.value);
    q.set_to_ns(to.value);
    q.set_slices(slices);
    q.set_p(0.1);
    q.mutable_filter()->mutable_states()->Assign(c.states.begin(), c.states.end());
    q.mutable_filter()->mutable_resources()->Assign(c.resources.begin(), c.resources.end());
    q.mutable_filter()->set_of_the_rest(rest);
    return q;
  }

  static inline const SystemClock clock_{};
};

struct Sums {
  std::map<std::string, double> by_state;  // seconds
  double shown = 0, known = 0, all = 0;
};
Sums sums_of(const wire::ViewAnswer& a) {
  Sums out;
  int at = 0;
  for (int i = 0; i < a.part_node_size(); ++i) {
    const double area = a.nodes(static_cast<int>(a.part_node(i))).leaves() *
                        static_cast<double>(a.boundaries(static_cast<int>(a.part_last(i)) + 1) -
                                            a.boundaries(static_cast<int>(a.part_first(i)))) *
                        1e-9;
    out.all += area;
    out.known += a.part_known(i) * area;
    double part = 0;
    for (std::uint32_t n = 0; n < a.part_states(i); ++n, ++at) {
      out.by_state[a.states(static_cast<int>(a.share_state(at))).name()] += a.share(at) * area;
      part += a.share(at);
    }
    out.shown += part * area;
  }
  return out;
}

TEST_F(FilteredView, SumsAreThoseOfTheEventsThatAreLeft) {
  const TimeNs zero = extent_->zero;
  struct Range {
    TimeNs from, to;
    std::uint32_t slices;
    double slack;  // seconds
  };
  // Such that events have to be read, and of slices, which hold whole milliseconds.
  for (const Range& r :
       {Range{zero + DurationNs(12'345'678'901), zero + DurationNs(15'111'111'111), 37, 1e-5},
        Range{zero + seconds(12), zero + seconds(17), 50, 0.02}}) {
    const Times plain = plain_times(r.from, r.to);
    for (const Case& c : cases()) {
      std::map<std::string, double> expected;
      std::map<std::string, bool> paths;
      double of_shown_resources = 0;
      for (const auto& [key, ns] : plain) {
        const auto& [path, state] = key;
        paths[path] = c.shows_path(path);
        if (state == "Unknown" || !c.shows_path(path)) continue;
        of_shown_resources += static_cast<double>(ns) * 1e-9;
        if (c.shows_state(state) && ns > 0) expected[state] += static_cast<double>(ns) * 1e-9;
      }
      const auto shown = std::count_if(paths.begin(), paths.end(), [](const auto& p) { return p.second; });
      ASSERT_GT(shown, 0);
      ASSERT_FALSE(expected.empty());
      for (const bool rest : {false, true}) {
        const wire::ViewQuestion q = question(c, r.from, r.to, r.slices, rest);
        SCOPED_TRACE(q.ShortDebugString());
        const wire::ViewAnswer a = answer(q);
        ASSERT_EQ(a.error(), "");
        EXPECT_EQ(a.question().filter().SerializeAsString(), q.filter().SerializeAsString());
        const Sums sums = sums_of(a);
        for (const auto& [state, s] : expected) {
          const auto found = sums.by_state.find(state);
          EXPECT_NEAR(found == sums.by_state.end() ? 0 : found->second, s, r.slack + 1e-5 * s) << state;
        }
        for (const auto& [state, s] : sums.by_state) EXPECT_TRUE(expected.contains(state)) << state;
        const double seconds = static_cast<double>((r.to - r.from).value) * 1e-9;
        const double leaves = static_cast<double>(rest ? shown : static_cast<std::ptrdiff_t>(paths.size()));
        EXPECT_EQ(a.nodes(0).leaves(), leaves);
        EXPECT_NEAR(sums.all, leaves * seconds, 1e-6 * sums.all);
        // What is left out counts as known time that is not shown, or nowhere.
        if (rest) {
          EXPECT_NEAR(sums.known, sums.shown, 1e-4);
        } else {
          EXPECT_GE(sums.known, of_shown_resources - r.slack);
        }
      }
    }
  }
}

// Of all time the shares of a state are small; of the rest they are what is left, whole.
TEST_F(FilteredView, OfTheRestSharesFillWhatIsKnown) {
  const TimeNs from = extent_->zero + seconds(12);
  const Case collectives{{"family:collective"}, {}, is_collective, any};
  const wire::ViewAnswer a = answer(question(collectives, from, from + seconds(4), 40, true));
  ASSERT_EQ(a.error(), "");
  int at = 0;
  for (int i = 0; i < a.part_node_size(); ++i) {
    double sum = 0;
    for (std::uint32_t n = 0; n < a.part_states(i); ++n) sum += a.share(at++);
    EXPECT_NEAR(sum, a.part_known(i), 1e-5);
  }
  EXPECT_LT(sums_of(a).known, sums_of(a).all / 2);
}

TEST_F(FilteredView, ListsSumsAndMessagesObeyTheSameFilter) {
  const TimeNs from = extent_->zero + seconds(12), to = from + seconds(2);
  for (const Case& c : cases()) {
    wire::EventsQuestion q;
    q.set_from_ns(from.value), q.set_to_ns(to.value);
    q.set_kind(wire::EventsQuestion::SUMS), q.set_most(2000);
    *q.mutable_filter() = question(c, from, to, 1, false).filter();
    SCOPED_TRACE(q.ShortDebugString());
    EventQuery all;
    all.from = from, all.to = to;
    std::uint64_t expected = 0;
    ASSERT_TRUE(list_events(*archive_, *resume_, all, [&](const EventRow& row) -> Status {
      expected += c.shows_path(row.resource) && c.shows_state(row.name.text) ? row.what.calls : 0;
      return {};
    }));
    auto request = decode_events_untrusted(q);
    ASSERT_TRUE(request) << request.error().message;
    const wire::EventsAnswer sums =
        answer_events(*archive_, *resume_, *extent_, *request, clock_, [] { return true; });
    ASSERT_EQ(sums.error(), "");
    std::uint64_t count = 0;
    for (const wire::EventsSum& s : sums.sums()) count += s.count();
    EXPECT_EQ(count, expected);

    q.set_kind(wire::EventsQuestion::PAIRS);
    q.mutable_filter()->clear_states();
    MessageQuery messages;
    messages.from = from, messages.to = to;
    std::uint64_t bytes = 0;
    ASSERT_TRUE(list_messages(*archive_, *resume_, messages, [&](const MessageRow& row) -> Status {
      bytes += c.shows_path(row.from) && c.shows_path(row.to) ? row.what.bytes : 0;
      return {};
    }));
    request = decode_events_untrusted(q);
    ASSERT_TRUE(request) << request.error().message;
    const wire::EventsAnswer pairs =
        answer_events(*archive_, *resume_, *extent_, *request, clock_, [] { return true; });
    ASSERT_EQ(pairs.error(), "");
    std::uint64_t sent = 0;
    for (const wire::EventsSum& s : pairs.sums()) sent += s.bytes();
    EXPECT_EQ(sent, bytes);
  }
}

TEST_F(FilteredView, SingleVisitsAreThoseThatAreLeft) {
  const TimeNs from = extent_->zero + seconds(12);
  const Case c{{"MPI_*", "!MPI_Allreduce"}, {"/node1", "!*rank6"}, any, any};
  for (const bool rest : {false, true}) {
    wire::ViewQuestion q = question(c, from, from + milliseconds(500), 20, rest);
    q.set_visits(20'000);
    const wire::ViewAnswer a = answer(q);
    ASSERT_EQ(a.error(), "");
    ASSERT_GT(a.visits().node_size(), 0);
    for (int i = 0; i < a.visits().node_size(); ++i) {
      EXPECT_NE(a.nodes(static_cast<int>(a.visits().node(i))).name(), "rank6");
      const std::string state = a.states(static_cast<int>(a.visits().state(i))).name();
      EXPECT_TRUE(state.starts_with("MPI_") && state != "MPI_Allreduce") << state;
    }
  }
}

TEST_F(FilteredView, WhatLeavesNothingIsASentence) {
  const TimeNs from = extent_->zero + seconds(12);
  const auto error = [&](const Case& c) {
    return answer(question(c, from, from + seconds(1), 10, true)).error();
  };
  EXPECT_EQ(error({{"NCCL_*"}, {}, any, any}), "filter: it leaves none of the states of this run");
  EXPECT_EQ(error({{}, {"/node7/*"}, any, any}), "filter: it leaves none of the resources of this run");
  const auto refused = [&](const Case& c) {
    const auto request = decode_view_untrusted(question(c, from, from + seconds(1), 10, true));
    return request ? std::string() : request.error().message;
  };
  EXPECT_THAT(refused({{"family:x"}, {}, any, any}), HasSubstr("there is no such family"));
  EXPECT_THAT(refused({std::vector<std::string>(200, "a"), std::vector<std::string>(57, "b"), any, any}),
              HasSubstr("filter: 257 terms"));
}

}  // namespace view_filter_test
}  // namespace margay::daemon
