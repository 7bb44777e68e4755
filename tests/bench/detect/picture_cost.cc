// What choosing p costs, and drawing the picture at it, beside the same window at a fixed p.
//
// Two windows take the same slices and are read after each: one chooses p (it learns the noise each ten
// slices, as the detector does, looks for the p that shows what was told, and its picture has kMostShown
// parts at most), the other has the p that the first has before anything is told, and shows the optimum. CPU
// time of the thread, in turns. Changes of p come seldom and cost as much as many slices: so the ratio is
// that of the sums.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "commands.h"
#include "margay/detect/window.h"
#include "quiet_jobs.h"

namespace margay::bench {
namespace {

constexpr std::int64_t kFault = 40;  // slices
constexpr std::int64_t kLearn = 10, kLearnt = 60;

double now_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

struct Spent {
  double push = 0, learn = 0, search = 0, read = 0, worst = 0;
  double all() const { return push + learn + search + read; }
};

class Shown {
 public:
  Shown(const QuietJob& job, std::size_t slices, std::optional<double> p) : window_(options(slices, p)) {
    window_.set_topology(job.topology());
  }
  bool fill(const model::SliceColumn& column) {
    const bool good = window_.push(column).has_value();
    learn(column.index);
    window_.set_apart({});
    return good;
  }
  bool take(const model::SliceColumn& column, const std::vector<detect::Window::Area>& areas, Spent& spent) {
    const double begin = now_ms();
    const bool good = window_.push(column).has_value();
    const double pushed = now_ms();
    // As the detector: nothing is learnt of a disturbance.
    if (!areas.empty()) quiet_ = areas.front().last + 1;
    learn(column.index);
    const double learnt = now_ms();
    window_.set_apart(areas);
    const double searched = now_ms();
    const auto picture = window_.spatiotemporal();
    const double read = now_ms();
    spent.push += pushed - begin, spent.learn += learnt - pushed;
    spent.search += searched - learnt, spent.read += read - searched;
    spent.worst = std::max(spent.worst, read - begin);
    if (picture) most_parts = std::max(most_parts, picture->parts.size());
    return good && picture;
  }
  double p() const { return window_.p(); }
  std::size_t most_parts = 0;

 private:
  static detect::WindowOptions options(std::size_t slices, std::optional<double> p) {
    detect::WindowOptions o;
    o.slice = seconds(1);
    o.slices = slices;
    o.p = p;
    o.memory_budget_bytes = std::uint64_t{16} << 30;
    return o;
  }
  void learn(SliceIndex now) {
    if (now.value % kLearn == 0)
      window_.learn_noise(std::max({window_.first(), now - kLearnt, quiet_}), now + 1);
  }
  SliceIndex quiet_{};
  detect::Window window_;
};

}  // namespace

int picture_cost(std::uint32_t leaves, std::size_t window, int slices, const std::string& kind) {
  const auto fill = static_cast<std::int64_t>(window) + 16, all = fill + slices;
  for (const bool fault : {false, true}) {
    QuietJob job(kind, leaves, 1);
    const std::uint32_t hit = leaves / 2;
    const std::int64_t from = fill + slices / 4;
    if (fault) job.slow({{hit}, static_cast<double>(from), static_cast<double>(from + kFault), 0.5});
    Shown automatic(job, window, std::nullopt);
    job.play(fill, [&](const model::SliceColumn& column) { static_cast<void>(automatic.fill(column)); });
    Shown fixed(job, window, automatic.p()), chosen(job, window, std::nullopt);
    Spent without, with;
    double least = 1, greatest = 0;
    bool good = true;
    std::int64_t begin = -1;
    job.play(all, [&](const model::SliceColumn& column) {
      if (begin < 0) begin = column.index.value;
      const std::int64_t i = column.index.value - begin;
      if (i < fill) {
        good = fixed.fill(column) && chosen.fill(column) && good;
        return;
      }
      std::vector<detect::Window::Area> areas;
      if (fault && i >= from)
        areas.push_back(
            {{LeafIndex(hit)}, SliceIndex(begin + from), SliceIndex(begin + std::min(i, from + kFault - 1))});
      if (i >= from + static_cast<std::int64_t>(window)) areas.clear();
      for (const bool first : {i % 2 == 0, i % 2 != 0})
        good = (first ? fixed.take(column, {}, without) : chosen.take(column, areas, with)) && good;
      least = std::min(least, chosen.p()), greatest = std::max(greatest, chosen.p());
    });
    if (!good) return 1;
    const double n = slices;
    std::printf(
        "| %u | %zu | %s | %.3f ms | %.3f ms: %.3f, noise %.3f, p %.3f, picture %.3f | %.2f | %.1f, %.1f ms "
        "| "
        "%.4f; %.4f to %.4f | %zu, %zu |\n",
        leaves, window, fault ? "one rank slow" : "quiet", without.all() / n, with.all() / n, with.push / n,
        with.learn / n, with.search / n, with.read / n, with.all() / without.all(), without.worst, with.worst,
        fixed.p(), least, greatest, fixed.most_parts, chosen.most_parts);
  }
  return 0;
}

}  // namespace margay::bench
