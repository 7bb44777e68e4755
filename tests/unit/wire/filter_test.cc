#include "margay/wire/filter.h"

#include <gtest/gtest.h>

namespace margay::wire {
namespace filter_test {

using Terms = std::vector<std::string>;

bool shows(const Terms& terms, std::string_view name, StateFamily family = FAMILY_OTHER) {
  const auto parsed = StateTerms::parse(terms);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed->shows(name, family);
}
bool shows_path(const Terms& terms, std::string_view path) {
  const auto parsed = ResourceTerms::parse(terms);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed->shows(path);
}

TEST(Filter, StatesByNamePatternAndFamily) {
  EXPECT_TRUE(shows({}, "MPI_Wait"));
  EXPECT_TRUE(shows({"MPI_Wait"}, "MPI_Wait"));
  EXPECT_FALSE(shows({"MPI_Wait"}, "MPI_Waitall"));
  EXPECT_TRUE(shows({"MPI_*"}, "MPI_Waitall"));
  EXPECT_FALSE(shows({"MPI_*"}, "Compute", FAMILY_COMPUTE));
  EXPECT_TRUE(shows({"family:collective"}, "MPI_Allreduce", FAMILY_COLLECTIVE));
  EXPECT_FALSE(shows({"family:collective"}, "MPI_Send", FAMILY_POINT_TO_POINT));
  EXPECT_TRUE(shows({"family:collective", "MPI_Send"}, "MPI_Send", FAMILY_POINT_TO_POINT)) << "either";
  EXPECT_TRUE(shows({"family:wait"}, "waitForMutex")) << "its name says so, where its source says nothing";
  EXPECT_FALSE(shows({"family:wait"}, "waitForMutex", FAMILY_MARK)) << "is no state";
  EXPECT_TRUE(shows({"family:other"}, "frobnicate"));
}

TEST(Filter, WhatIsLeftOutIsLeftOutInAnyOrder) {
  EXPECT_FALSE(shows({"!MPI_Wait"}, "MPI_Wait"));
  EXPECT_TRUE(shows({"!MPI_Wait"}, "Compute"));
  for (const Terms& terms : {Terms{"MPI_*", "!MPI_Wait*"}, Terms{"!MPI_Wait*", "MPI_*"}}) {
    EXPECT_TRUE(shows(terms, "MPI_Send"));
    EXPECT_FALSE(shows(terms, "MPI_Waitall"));
    EXPECT_FALSE(shows(terms, "Compute"));
  }
  EXPECT_FALSE(shows({"!family:compute", "!family:idle"}, "Compute", FAMILY_COMPUTE));
}

TEST(Filter, ResourcesWithAllThatIsBelow) {
  EXPECT_TRUE(shows_path({}, "/node1/rank6"));
  EXPECT_TRUE(shows_path({"/node1"}, "/node1/rank6"));
  EXPECT_TRUE(shows_path({"/node1/"}, "/node1/rank6"));
  EXPECT_FALSE(shows_path({"/node1"}, "/node10/rank6"));
  EXPECT_TRUE(shows_path({"/node1/*"}, "/node1/rank6/thread1"));
  EXPECT_FALSE(shows_path({"/node1/*"}, "/node2/rank6"));
  EXPECT_TRUE(shows_path({"/"}, "/node2/rank6"));
  EXPECT_TRUE(shows_path({"*rank6"}, "/node1/rank6"));
  EXPECT_TRUE(shows_path({"rank6"}, "/node1/rank6/thread2"));
  EXPECT_FALSE(shows_path({"rank6"}, "/node1/rank60"));
  EXPECT_FALSE(shows_path({"rank"}, "/node1/rank6")) << "a whole name";
  EXPECT_TRUE(shows_path({"/node1", "/node2"}, "/node2/rank1"));
  EXPECT_FALSE(shows_path({"/node1", "!*rank6"}, "/node1/rank6"));
  EXPECT_TRUE(shows_path({"!/node2"}, "/node1/rank6"));
  EXPECT_FALSE(shows_path({"!/node?/rank[6]", "/x"}, "/node1/rank6"));
  EXPECT_TRUE(shows_path({"/*/rank6"}, "/node1/rank6"));
}

TEST(Filter, WhatMakesNoSenseIsASentence) {
  const auto why = [](const Terms& states, const Terms& resources) {
    Filter f;
    for (const std::string& s : states) f.add_states(s);
    for (const std::string& r : resources) f.add_resources(r);
    const auto parsed = run_filter_untrusted(f);
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_EQ(why({"MPI_*"}, {"/a"}), "");
  EXPECT_EQ(why({""}, {}), "filter: states: a term has a name or a pattern");
  EXPECT_EQ(why({}, {"!"}), "filter: resources: a term has a name or a pattern");
  EXPECT_EQ(why({"family:waits"}, {}),
            "filter: states: 'family:waits': there is no such family; there are compute, point-to-point, "
            "collective, wait, io, start-end, idle, other");
  EXPECT_EQ(why({std::string(129, 'x')}, {}),
            "filter: states: '" + std::string(80, 'x') + "': longer than 128 bytes");
  EXPECT_EQ(why(Terms(200, "a"), Terms(57, "b")), "filter: 257 terms, at most 256");
  EXPECT_EQ(why(Terms(200, "a"), Terms(56, "b")), "");
}

TEST(Filter, PlainTermsAreNames) {
  EXPECT_TRUE(are_plain_terms(Terms{"MPI_Wait", "/node1/rank6"}));
  for (const char* term : {"!a", "a*", "a?", "family:wait"}) EXPECT_FALSE(is_plain_term(term)) << term;
}

}  // namespace filter_test
}  // namespace margay::wire
