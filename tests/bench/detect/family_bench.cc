// How well the detector does on the families that no choice was made by.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "commands.h"
#include "families/families.h"
#include "families/written.h"
#include "score.h"

namespace margay::bench {
namespace {

// Every case of the plan, by family. False if none is meant.
template <class Take>
bool each_case(const FamilyPlan& plan, Take take) {
  bool any = false;
  for (const Family& family : families()) {
    if (!plan.family.empty() && plan.family != family.name) continue;
    for (const std::string_view kind : family.kinds) {
      if (!plan.kind.empty() && plan.kind != kind) continue;
      for (std::uint64_t seed = plan.first_seed; seed <= plan.last_seed; ++seed) take(family, kind, seed);
      any = true;
    }
  }
  return any;
}

}  // namespace

int families(const FamilyPlan& plan) try {
  Score all, clean;
  std::vector<std::pair<std::string, Score>> by_family, by_kind;
  const auto add = [](auto& to, const std::string& name, const Score& s) {
    if (to.empty() || to.back().first != name) to.emplace_back(name, Score{});
    to.back().second.add(s);
  };
  std::function<void(const std::string&)> tell;
  if (plan.verbose)
    tell = [](const std::string& line) {
      if (!line.starts_with("truth")) std::printf("    %s\n", line.c_str());
    };
  std::vector<CaseName> written;
  const bool any = each_case(plan, [&](const Family& family, std::string_view kind, std::uint64_t seed) {
    const Recording recording = record(family, kind, seed);
    if (!plan.directory.empty()) {
      written.push_back(write_case(plan.directory, family, kind, seed, recording));
      return;
    }
    const Case c = case_of(family, kind, seed, recording);
    const Score s = score(c, alerts_of(c, options_for(c)), tell);
    all.add(s);
    if (kind == "clean") clean.add(s);
    add(by_family, std::string(family.name), s);
    add(by_kind, c.group, s);
    std::fflush(stdout);
  });
  if (!any) {
    std::fprintf(stderr, "detect_bench: no family or kind is called that (families/families.h lists them)\n");
    return 2;
  }
  if (!plan.directory.empty()) {
    write_index(plan.directory, written);
    return 0;
  }
  if (plan.verbose)
    for (const auto& [name, s] : by_kind) s.print(name.c_str());
  for (const auto& [name, s] : by_family) s.print(("[" + name + "]").c_str());
  clean.print("clean");
  all.print("all");
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "detect_bench: %s\n", e.what());
  return 1;
}

}  // namespace margay::bench
