// detect_bench cases [FIRST LAST [GROUP]] [-v]   made-up cases of these seeds: F1, delay, localisation, false
// alarms detect_bench ablation [FIRST LAST [GROUP]]     the same with each ingredient left out: a markdown
// table detect_bench knob [--days D] [--leaves N] [--slice 1s] [--knob 1,10,100] [--seeds FIRST-LAST] [--kind
// KIND]
//                   [--effect E] [-v]            quiet jobs: false alarms beside those expected
// detect_bench cost LEAVES WINDOW [SLICES [KIND]]  of a slice: looking for departures beside the partition
// update detect_bench realism [ARCHIVE...]              tails, memory, dispersion of the jobs made up, beside
// archives detect_bench causality [FIRST LAST]            cases cut off somewhere say what the whole ones
// said until there detect_bench write DIR [FIRST LAST]            alerts and truths as files, for another
// scorer
//
// -v tells every alarm. score.h has the rules of a hit, README.md the figures.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "commands.h"

namespace {

margay::bench::KnobPlan knob_plan(int argc, char** argv) {
  margay::bench::KnobPlan plan;
  for (int i = 2; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "-v") plan.verbose = true;
    if (i + 1 >= argc) break;
    const char* value = argv[i + 1];
    if (option == "--days") plan.days = std::atof(value);
    if (option == "--leaves") plan.leaves = static_cast<std::uint32_t>(std::atol(value));
    if (option == "--kind") plan.kind = value;
    // As "1s" or "100ms".
    if (option == "--slice") {
      char* unit = nullptr;
      const double number = std::strtod(value, &unit);
      const double ns = number * (std::strcmp(unit, "ms") == 0 ? 1e6 : 1e9);
      if (ns >= 1e6) plan.slice = margay::DurationNs(static_cast<std::int64_t>(ns));
    }
    if (option == "--effect") plan.min_effect = std::atof(value);
    if (option == "--seeds") {
      char* rest = nullptr;
      plan.first_seed = plan.last_seed = std::strtoull(value, &rest, 10);
      if (*rest == '-') plan.last_seed = std::strtoull(rest + 1, nullptr, 10);
    }
    if (option == "--knob") {
      plan.knobs.clear();
      for (const char* at = value; *at != 0;) {
        char* rest = nullptr;
        plan.knobs.push_back(std::strtod(at, &rest));
        at = *rest == ',' ? rest + 1 : rest + std::strlen(rest);
      }
    }
  }
  return plan;
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
  const auto first = static_cast<std::uint64_t>(number(2, 1)),
             last = static_cast<std::uint64_t>(number(3, 4));
  const auto group = static_cast<int>(number(4, -1));
  if (what == "cases") return bench::cases(first, last, group, verbose);
  if (what == "ablation") return bench::ablation(first, last, group);
  if (what == "causality") return bench::causality(first, last);
  if (what == "write" && argc > 2)
    return bench::write(argv[2], static_cast<std::uint64_t>(number(3, 1)),
                        static_cast<std::uint64_t>(number(4, 4)));
  if (what == "realism") return bench::realism({argv + 2, argv + argc});
  if (what == "knob") return bench::knob(knob_plan(argc, argv));
  if (what == "cost")
    return bench::cost(static_cast<std::uint32_t>(number(2, 64)), static_cast<std::size_t>(number(3, 256)),
                       static_cast<int>(number(4, 50)), argc > 5 ? argv[5] : "phases");
  std::fprintf(stderr, "detect_bench: no measurement is called %s (the head of detect_bench.cc lists them)\n",
               what.c_str());
  return 2;
}
