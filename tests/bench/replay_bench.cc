// replay_bench [RANKS [SECONDS [SLICE_MS]]]: how fast a replay with detection goes, beside reading the same
// slices.
//
// Makes an archive of a job with phases, noise and faults (seed 1) in a directory of its own, replays it
// three times and prints the best of each: times real time, milliseconds a slice, and the ratio to decoding
// the slices alone.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "margay/replay/replay.h"
#include "support/job_archive.h"

namespace {

using namespace margay;

double seconds_of(const std::function<void()>& work) {
  double best = 1e300;
  for (int i = 0; i < 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

test::JobPlan plan_of(std::uint32_t ranks, std::int64_t seconds, std::int64_t slice_ms) {
  test::JobPlan plan;
  plan.ranks = ranks;
  plan.ranks_per_host = 8;
  plan.slice = milliseconds(slice_ms);
  plan.own_noise = 0.1;
  for (std::int64_t at = 0; at < seconds; at += 20) {
    plan.phases.push_back({10'000, {0.70, 0.10, 0.10, 0.05, 0.05}, ""});
    plan.phases.push_back({10'000, {0.20, 0.35, 0.35, 0.05, 0.05}, ""});
  }
  for (std::int64_t at = 25; at + 5 < seconds; at += 40)
    plan.faults.push_back({test::JobFault::kStop, {3}, at * 1000 + 50, at * 1000 + 1050});
  return plan;
}

int run(int argc, char** argv) {
  const auto number = [&](int i, std::int64_t otherwise) {
    return argc > i ? std::atoll(argv[i]) : otherwise;
  };
  const auto plan = plan_of(static_cast<std::uint32_t>(number(1, 700)), number(2, 120), number(3, 100));
  std::string place = "/tmp/margay-replay-bench-XXXXXX";
  if (mkdtemp(place.data()) == nullptr) return 1;
  const std::string path = place + "/a";
  std::size_t slices = 0;
  {
    const auto job = test::make_job(plan);
    slices = job.size();
    store::RunMeta run = test::job_run(plan);
    run.levels.resize(1);
    auto archive = store::Archive::create(path, run);
    if (!archive) return std::fprintf(stderr, "%s\n", archive.error().message.c_str()), 1;
    std::uint64_t sequence = 0;
    for (std::size_t i = 0; i < slices; i += 64) {
      store::Cut cut;
      cut.sequence = ++sequence;
      if (i == 0) test::add_job(plan, cut);
      test::add_slices(std::span(job).subspan(i, std::min<std::size_t>(64, slices - i)), cut);
      if (const auto ok = (*archive)->commit(cut, false); !ok)
        return std::fprintf(stderr, "%s\n", ok.error().message.c_str()), 1;
    }
  }
  const auto archive = store::Archive::open(path, store::Mode::kReadOnly);
  if (!archive) return 1;
  const auto resume = (*archive)->load();
  if (!resume) return 1;
  const double reading = seconds_of([&] {
    static_cast<void>((*archive)->scan_columns(LevelIndex(0), SliceIndex(INT64_MIN / 4),
                                               SliceIndex(INT64_MAX / 4),
                                               [](model::SliceColumn&&) { return true; }));
  });
  std::size_t alerts = 0;
  const double replaying = seconds_of([&] {
    alerts = 0;
    daemon::ReplayListener listener;
    listener.alert = [&](const alert::Alert&) { ++alerts; };
    daemon::Options options;
    std::unique_ptr<daemon::Analyst> analyst;
    const auto result = daemon::replay(**archive, *resume, {}, options, listener, analyst);
    if (!result) std::fprintf(stderr, "%s\n", result.error().message.c_str());
    if (!analyst->detector().error().empty())
      std::fprintf(stderr, "%s\n", analyst->detector().error().c_str());
  });
  const double lasts = static_cast<double>(slices) * static_cast<double>(plan.slice.value) * 1e-9;
  std::printf("%u resources, %zu slices of %lld ms, seed 1, %zu alerts\n", plan.ranks, slices,
              static_cast<long long>(plan.slice.value / 1'000'000), alerts);
  std::printf("reading    %8.3f s  %7.3f ms a slice\n", reading, 1e3 * reading / static_cast<double>(slices));
  std::printf("replaying  %8.3f s  %7.3f ms a slice  %6.1f x reading  %6.0f x real time\n", replaying,
              1e3 * replaying / static_cast<double>(slices), replaying / reading, lasts / replaying);
  std::error_code ignored;
  std::filesystem::remove_all(place, ignored);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv);
}
