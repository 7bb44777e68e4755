// detect_bench cases [FIRST LAST [GROUP]] [-v]  made-up cases of these seeds: F1, delay, localisation, false
// alarms detect_bench ablation [FIRST LAST [GROUP]]    the same with each ingredient left out: a markdown
// table detect_bench quiet RANKS SLICES KNOB          a quiet job of 1 s slices: false alarms a day, beside
// the knob detect_bench cost LEAVES WINDOW [SLICES]      of a slice: looking for departures beside the
// partition update
//
// score.h has the rules of a hit.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "commands.h"

int main(int argc, char** argv) {
  using namespace margay;
  bool verbose = false;
  if (argc > 1 && std::strcmp(argv[argc - 1], "-v") == 0) {
    verbose = true;
    --argc;
  }
  const auto number = [&](int i, long otherwise) { return argc > i ? std::atol(argv[i]) : otherwise; };
  const std::string what = argc > 1 ? argv[1] : "cases";
  const auto first = static_cast<std::uint64_t>(number(2, 1)),
             last = static_cast<std::uint64_t>(number(3, 4));
  const auto group = static_cast<int>(number(4, -1));
  if (what == "cases") return bench::cases(first, last, group, verbose);
  if (what == "ablation") return bench::ablation(first, last, group);
  if (what == "quiet")
    return bench::quiet(static_cast<std::uint32_t>(number(2, 64)), number(3, 86'400),
                        static_cast<double>(number(4, 1)), static_cast<std::uint64_t>(number(5, 1)));
  if (what == "cost")
    return bench::cost(static_cast<std::uint32_t>(number(2, 64)), static_cast<std::size_t>(number(3, 256)),
                       static_cast<int>(number(4, 50)));
  std::fprintf(stderr, "detect_bench: no measurement is called %s (the head of detect_bench.cc lists them)\n",
               what.c_str());
  return 2;
}
