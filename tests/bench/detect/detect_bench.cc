// detect_bench cases [FIRST LAST [GROUP]] [-v]
//     made-up cases of these seeds (1 to 4): F1, delay, localisation, false alarms
// detect_bench families [FIRST LAST] [--family X] [--kind K] [--write DIR] [-v]
//     the same of the families that no choice was made by (families/families.h); --write: their traces and
//     truths
// detect_bench claims [FIRST LAST] [--family X] [--kind K] [-v]
//     what alerts of these, and of the made-up cases, say they cost, and who they say it is how probably,
//     beside the truth (claims.cc)
// detect_bench limit [FIRST LAST [GROUP]]
//     what each fault did to its job, which are missed, and what could be found at all (limit.cc)
// detect_bench knob [--days D] [--leaves N] [--slice 1s] [--knob 1,10,100] [--seeds FIRST-LAST] [--kind KIND]
//                   [--effect E] [--levels 10s,60s] [-v]
//     quiet jobs: false alarms beside those expected; with --levels, at these levels, too
// detect_bench levels [FIRST LAST [MILLISECONDS]] [-v]
//     small changes that last: how many are found, and how soon
// detect_bench shifts [ARCHIVE...]
//     how much work's lengths vary over minutes: how small a change could be seen
// detect_bench levels_cost LEAVES WINDOW [SLICES [KIND]]
//     of a slice of 100 ms: detection at all levels beside that at the finest
// detect_bench cost LEAVES WINDOW [SLICES [KIND]]
//     of a slice: looking for departures beside the partition update
// detect_bench picture_cost LEAVES WINDOW [SLICES [KIND]]
//     of a slice: choosing p and drawing the default picture beside the optimum at a fixed p
// detect_bench realism [ARCHIVE...]
//     tails, memory, dispersion of the jobs made up, beside archives
// detect_bench causality [FIRST LAST]
//     cases cut off somewhere say what the whole ones said until there
// detect_bench write DIR [FIRST LAST]
//     alerts and truths as files, for another scorer
//
// -v tells every alarm. score.h has the rules of a hit, README.md the figures.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "commands.h"
#include "quiet_jobs.h"

namespace {

// "1s", "100ms"; at least 1 ms. False if it is none.
bool duration_of(const char* text, margay::DurationNs& out) {
  char* unit = nullptr;
  const double number = std::strtod(text, &unit);
  const bool ms = std::strcmp(unit, "ms") == 0;
  const double ns = number * (ms ? 1e6 : 1e9);
  if ((!ms && std::strcmp(unit, "s") != 0) || !(ns >= 1e6 && ns < 1e15)) return false;
  out = margay::DurationNs(static_cast<std::int64_t>(ns));
  return true;
}

// False, having said so, if an option is not known or has no value.
bool read_plan(int argc, char** argv, margay::bench::KnobPlan& plan) {
  for (int i = 2; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "-v") {
      plan.verbose = true;
      continue;
    }
    const char* const value = i + 1 < argc ? argv[++i] : "";
    bool known = *value != 0;
    if (option == "--days") {
      plan.days = std::atof(value);
    } else if (option == "--leaves") {
      plan.leaves = static_cast<std::uint32_t>(std::atol(value));
    } else if (option == "--kind") {
      plan.kind = value;
      const auto& kinds = margay::bench::QuietJob::kinds();
      known = std::find(kinds.begin(), kinds.end(), plan.kind) != kinds.end();
    } else if (option == "--slice") {
      known = duration_of(value, plan.slice);
    } else if (option == "--effect") {
      plan.min_effect = std::atof(value);
    } else if (option == "--seeds") {
      char* rest = nullptr;
      plan.first_seed = plan.last_seed = std::strtoull(value, &rest, 10);
      if (*rest == '-') plan.last_seed = std::strtoull(rest + 1, nullptr, 10);
    } else if (option == "--levels") {
      plan.levels.clear();
      for (std::string rest = value; known && !rest.empty();) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        known = duration_of(rest.substr(0, comma).c_str(), plan.levels.emplace_back());
        rest.erase(0, comma + 1);
      }
    } else if (option == "--knob") {
      plan.knobs.clear();
      for (const char* at = value; *at != 0;) {
        char* rest = nullptr;
        plan.knobs.push_back(std::strtod(at, &rest));
        at = *rest == ',' ? rest + 1 : rest + std::strlen(rest);
      }
    } else {
      known = false;
    }
    if (known) continue;
    std::fprintf(stderr, "detect_bench: knob %s %s: not an option, or not its value\n", option.c_str(),
                 value);
    return false;
  }
  return true;
}

bool read_families(int argc, char** argv, margay::bench::FamilyPlan& plan) {
  int numbers = 0;
  for (int i = 2; i < argc; ++i) {
    const std::string option = argv[i];
    char* rest = nullptr;
    const std::uint64_t number = std::strtoull(argv[i], &rest, 10);
    std::string* const text = option == "--family"  ? &plan.family
                              : option == "--kind"  ? &plan.kind
                              : option == "--write" ? &plan.directory
                                                    : nullptr;
    if (option == "-v" || option == "--verbose") {
      plan.verbose = true;
    } else if (text != nullptr && i + 1 < argc) {
      *text = argv[++i];
    } else if (text == nullptr && *rest == 0 && numbers < 2) {
      if (numbers++ == 0) plan.first_seed = number;
      plan.last_seed = number;
    } else {
      std::fprintf(stderr, "detect_bench: families %s: not an option, or it has no value\n", option.c_str());
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace margay;
  bool verbose = false;
  if (argc > 1 && std::strcmp(argv[argc - 1], "-v") == 0) verbose = true;
  const auto number = [&](int i, long otherwise) {
    return i < argc && argv[i][0] != '-' ? std::atol(argv[i]) : otherwise;
  };
  const std::string what = argc > 1 ? argv[1] : "cases";
  const long from = number(2, 1);
  const auto first = static_cast<std::uint64_t>(from),
             last = static_cast<std::uint64_t>(number(3, std::max(4L, from)));
  const auto group = static_cast<int>(number(4, -1));
  if (what == "cases") return bench::cases(first, last, group, verbose);
  if (what == "claims") {
    bench::FamilyPlan plan;
    return read_families(argc, argv, plan) ? bench::claims(plan) : 2;
  }
  if (what == "families") {
    bench::FamilyPlan plan;
    return read_families(argc, argv, plan) ? bench::families(plan) : 2;
  }
  if (what == "limit") return bench::limit(first, last, group);
  if (what == "causality") return bench::causality(first, last);
  if (what == "write" && argc > 2)
    return bench::write(argv[2], static_cast<std::uint64_t>(number(3, 1)),
                        static_cast<std::uint64_t>(number(4, 4)));
  if (what == "realism") return bench::realism({argv + 2, argv + argc});
  if (what == "shifts") return bench::shifts({argv + 2, argv + argc}, 3);
  if (what == "knob") {
    bench::KnobPlan plan;
    if (!read_plan(argc, argv, plan)) return 2;
    return plan.levels.empty() ? bench::knob(plan) : bench::knob_levels(plan);
  }
  if (what == "levels") return bench::levels(first, last, milliseconds(number(4, 100)), verbose);
  if (what == "levels_cost")
    return bench::levels_cost(static_cast<std::uint32_t>(number(2, 64)),
                              static_cast<std::size_t>(number(3, 256)), static_cast<int>(number(4, 600)),
                              argc > 5 ? argv[5] : "phases");
  if (what == "cost")
    return bench::cost(static_cast<std::uint32_t>(number(2, 64)), static_cast<std::size_t>(number(3, 256)),
                       static_cast<int>(number(4, 50)), argc > 5 ? argv[5] : "phases");
  if (what == "picture_cost")
    return bench::picture_cost(static_cast<std::uint32_t>(number(2, 64)),
                               static_cast<std::size_t>(number(3, 256)), static_cast<int>(number(4, 600)),
                               argc > 5 ? argv[5] : "coupled");
  std::fprintf(stderr, "detect_bench: no measurement is called %s (the head of detect_bench.cc lists them)\n",
               what.c_str());
  return 2;
}
