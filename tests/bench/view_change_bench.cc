// What another point of view costs: an archive of a run that never was is written (without events), looked at
// in the usual view, and then in others. Prints what each first picture took, and what the same view took
// again with another p.
//   view_change_bench LEAVES SECONDS NEWDIR [LEVELS...]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "margay/query/view_maker.h"
#include "support/synthetic_archive.h"

using namespace margay;
using namespace margay::daemon;

namespace {

double ask(ViewMaker& maker, const ZoomExtent& extent, const std::string& levels, std::optional<double> p,
           int& parts) {
  wire::ViewQuestion q;
  q.set_from_ns(extent.zero.value);
  q.set_to_ns(extent.end.value);
  if (p) q.set_p(*p);
  q.mutable_view()->set_levels(levels);
  const auto request = decode_view_untrusted(q);
  if (!request) return std::fprintf(stderr, "%s\n", request.error().message.c_str()), std::exit(1), 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = maker.answer(*request, [] { return true; });
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (answer == nullptr || !answer->error().empty())
    return std::fprintf(stderr, "%s\n", answer == nullptr ? "ended" : answer->error().c_str()), std::exit(1),
           0;
  parts = answer->part_node_size();
  return ms;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "view_change_bench LEAVES SECONDS NEWDIR [LEVELS...]\n");
    return 2;
  }
  test::SyntheticArchive what;
  what.leaves = static_cast<std::uint32_t>(std::max(1, std::atoi(argv[1])));
  what.lasts = seconds(std::max(1, std::atoi(argv[2])));
  what.visit = milliseconds(900);
  what.events = false;
  if (const Status ok = what.write(argv[3]); !ok)
    return std::fprintf(stderr, "%s\n", ok.error().message.c_str()), 1;
  const auto archive = store::Archive::open(argv[3], store::Mode::kReadOnly);
  if (!archive) return std::fprintf(stderr, "%s\n", archive.error().message.c_str()), 1;
  const auto resume = (*archive)->load();
  const auto extent = resume ? zoom_extent(**archive, *resume) : tl::unexpected(resume.error());
  if (!extent) return std::fprintf(stderr, "%s\n", extent.error().message.c_str()), 1;
  std::vector<std::string> views(argv + 4, argv + argc);
  if (views.empty()) views = {"rank mod 8", "rank div 32", "rank mod 8/host", "rank"};
  const SystemClock clock;
  ViewMaker maker(**archive, clock, {});
  views.insert(views.begin(), "");
  for (const std::string& v : views) {
    int parts = 0, again_parts = 0;
    const double first = ask(maker, *extent, v, std::nullopt, parts),
                 again = ask(maker, *extent, v, 0.5, again_parts);
    std::printf("%-20s first picture %8.1f ms, %5d parts; another p %8.1f ms, %5d parts\n",
                v.empty() ? "(as usual)" : v.c_str(), first, parts, again, again_parts);
  }
  return 0;
}
