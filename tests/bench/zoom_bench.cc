// A zoom into an archive of an hour (700 leaves, 8 states, 100 ms; levels 1 s, 10 s, 60 s), by the cells that
// fit, beside a plain scan of all columns of the finest level in the same range.
//   zoom_bench DIR     makes DIR if it is not there (some minutes, about 1 GB), and leaves it
// Each line: the range, what was read, and the ratio to the plain scan.
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "margay/query/zoom.h"
#include "margay/store/archive.h"
#include "support/synthetic_archive.h"

namespace {

using namespace margay;

template <class What>
double seconds_of(What what) {
  const auto begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int complain(const Error& error) {
  std::fprintf(stderr, "zoom_bench: %s\n", error.message.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("zoom_bench DIR\n", stderr), 2;
  const std::string path = argv[1];
  if (!std::filesystem::exists(path)) {
    test::SyntheticArchive what;
    what.leaves = 700;
    what.lasts = seconds(3600);
    what.visit = milliseconds(100);
    what.events = false;
    const double s = seconds_of([&] {
      if (const Status ok = what.write(path); !ok) complain(ok.error());
    });
    std::printf("seed %llu: made in %.0f s\n", static_cast<unsigned long long>(what.seed), s);
  }
  const auto archive = store::Archive::open(path, store::Mode::kReadOnly);
  if (!archive) return complain(archive.error());
  const DurationNs slice = milliseconds(100);
  struct Range {
    const char *from, *to;
    std::uint64_t slices;
  };
  for (const Range r : {Range{"0", "1h", 30}, Range{"60.3", "3540.3", 30}, Range{"600", "1200", 600},
                        Range{"1800", "1860", 600}}) {
    daemon::ZoomRequest request;
    request.input = path;
    request.from = r.from;
    request.to = r.to;
    request.slices = r.slices;
    Result<daemon::Zoomed> zoomed = fail(ErrorCode::kInternal, "");
    const double s = seconds_of([&] { zoomed = daemon::zoom(request); });
    if (!zoomed) return complain(zoomed.error());
    std::uint64_t columns = 0;
    const auto& times = *zoomed->model.times;
    const double scan = seconds_of([&] {
      static_cast<void>((*archive)->scan_columns(LevelIndex(0), slice_of(times.from, slice),
                                                 slice_of(times.to, slice) - 1,
                                                 [&](model::SliceColumn&&) { return ++columns > 0; }));
    });
    std::printf(
        "from %6s to %7s s in %3llu slices: %7.3f s; a scan of %5llu columns of 100 ms %7.3f s; ratio %.3f\n",
        r.from, r.to, static_cast<unsigned long long>(r.slices), s, static_cast<unsigned long long>(columns),
        scan, s / scan);
  }
  return 0;
}
