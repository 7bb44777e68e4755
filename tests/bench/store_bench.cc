// What a commit costs, beside a plain write and fdatasync of the same bytes in the same run.
//
//   store_bench [leaves] [states] [commits] [directory]      default: 700 8 300, a new directory in the
//   current one
//
// The columns are those of a busy job: each leaf is in a few states per slice with random durations, so that
// no cell repeats; a second pass shows a steady job, where most leaves stay in one state.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>

#include "margay/store/archive.h"
#include "margay/store/column_codec.h"

namespace margay::store {
namespace {

using Steady = std::chrono::steady_clock;
constexpr std::uint64_t kSeed = 1;
const DurationNs kSlice = milliseconds(100);

std::shared_ptr<model::SliceColumn> column(std::mt19937_64& random, SliceIndex index, std::uint32_t leaves,
                                           std::uint32_t states, bool busy) {
  auto c = std::make_shared<model::SliceColumn>(LevelIndex(0), index, leaves, states);
  for (std::uint32_t l = 0; l < leaves; ++l) {
    const LeafIndex leaf(l);
    const bool changes = busy || random() % 50 == 0;
    std::int64_t left = kSlice.value;
    std::size_t x = 2 % states;
    // Visits follow each other until the slice is full; the last one stays open.
    while (changes && left > 20'000'000) {
      const auto part = static_cast<std::int64_t>(random() % 30'000'000);
      const std::int64_t taken = std::min(part, left);
      c->duration_ns(leaf)[x] += taken;
      c->longest_ns(leaf)[x] = std::max(c->longest_ns(leaf)[x], taken);
      ++c->visits(leaf)[x];
      left -= taken;
      x = 2 % states + random() % (states - 2 % states);
    }
    c->duration_ns(leaf)[x] += left;
    const TimeNs end = slice_end(index, kSlice);
    const TimeNs since = changes ? end - DurationNs(left) : TimeNs(0);
    c->longest_ns(leaf)[x] = std::max(c->longest_ns(leaf)[x], (end - since).value);
    c->open(leaf) = {StateId(static_cast<std::uint16_t>(x)), since};
  }
  return c;
}

// Where the leaves stand, as the daemon writes it with every cut: all of them, for all were heard of.
std::vector<LeafState> leaf_states(std::mt19937_64& random, const model::SliceColumn& c) {
  std::vector<LeafState> all;
  const TimeNs end = slice_end(c.index, kSlice);
  for (std::uint32_t l = 0; l < c.leaves(); ++l) {
    LeafState s;
    s.leaf = LeafIndex(l);
    s.position = end + DurationNs(5'000'000);
    s.last_event = s.position - DurationNs(static_cast<std::int64_t>(random() % 30'000'000));
    s.stack = {{kCompute, s.last_event}};
    if (random() % 2 == 0) s.stack.push_back({c.open(LeafIndex(l)).state, s.last_event});
    s.longest_before_ns = static_cast<std::int64_t>(random() % 30'000'000);
    all.push_back(std::move(s));
  }
  return all;
}

std::size_t present_cells(const model::SliceColumn& c) {
  std::size_t n = 0;
  for (std::uint32_t l = 0; l < c.leaves(); ++l)
    for (std::uint32_t x = 0; x < c.states(); ++x)
      if (c.duration_ns(LeafIndex(l))[x] != 0 || c.visits(LeafIndex(l))[x] != 0) ++n;
  return n;
}

// Of all threads of this process: what a commit takes where nothing else runs, in a core or two.
double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

struct Times {
  std::vector<double> ms;
  void add(Steady::time_point begin) {
    ms.push_back(std::chrono::duration<double, std::milli>(Steady::now() - begin).count());
  }
  double quantile(double q) {
    std::sort(ms.begin(), ms.end());
    return ms[std::min(ms.size() - 1, static_cast<std::size_t>(q * static_cast<double>(ms.size())))];
  }
};

int run(std::uint32_t leaves, std::uint32_t states, int commits, const std::string& dir, bool busy) {
  RunMeta meta;
  meta.run = "bench";
  meta.levels = {kSlice};
  const std::string name = dir + (busy ? "/busy" : "/steady");
  auto archive = Archive::create(name, meta);
  if (!archive) {
    std::fprintf(stderr, "%s\n", archive.error().message.c_str());
    return 1;
  }
  const int fd = ::open((dir + "/plain").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return 1;
  std::mt19937_64 random(kSeed);
  Times commit;
  Times cpu;
  Times encode;
  Times plain;
  std::size_t bytes = 0;
  std::size_t cells = 0;
  for (int i = 0; i < commits; ++i) {
    Cut cut;
    cut.sequence = static_cast<std::uint64_t>(i) + 1;
    cut.columns = {column(random, SliceIndex(17'000'000'000 + i), leaves, states, busy)};
    cut.leaf_states = leaf_states(random, *cut.columns[0]);
    auto begin = Steady::now();
    std::string all;
    std::string chunk;
    for (std::uint32_t k = 0; k < chunk_count(leaves); ++k) {
      if (!encode_chunk(*cut.columns[0], k, kSlice, chunk)) return 1;
      all += chunk;
    }
    encode.add(begin);
    begin = Steady::now();
    if (::write(fd, all.data(), all.size()) != static_cast<ssize_t>(all.size()) || ::fdatasync(fd) != 0)
      return 1;
    plain.add(begin);
    const double cpu_before = cpu_ms();
    begin = Steady::now();
    if (const Status s = (*archive)->commit(cut, true); !s) {
      std::fprintf(stderr, "%s\n", s.error().message.c_str());
      return 1;
    }
    commit.add(begin);
    cpu.ms.push_back(cpu_ms() - cpu_before);
    bytes += all.size();
    cells += present_cells(*cut.columns[0]);
  }
  ::close(fd);
  ::unlink((dir + "/plain").c_str());
  std::printf("%s %ux%u, %d commits, seed %llu\n", busy ? "busy  " : "steady", leaves, states, commits,
              static_cast<unsigned long long>(kSeed));
  std::printf("  commit with sync   p50 %.3f ms  p99 %.3f ms\n", commit.quantile(0.5), commit.quantile(0.99));
  std::printf("    CPU time         p50 %.3f ms  p99 %.3f ms, of all threads\n", cpu.quantile(0.5),
              cpu.quantile(0.99));
  std::printf("    of it encoding   p50 %.3f ms  p99 %.3f ms\n", encode.quantile(0.5), encode.quantile(0.99));
  std::printf("  write + fdatasync  p50 %.3f ms  p99 %.3f ms   commit / plain: %.2f\n", plain.quantile(0.5),
              plain.quantile(0.99), commit.quantile(0.5) / plain.quantile(0.5));
  std::printf("  %.2f bytes per non-empty cell (%.0f cells and %.0f bytes a slice)\n",
              static_cast<double>(bytes) / static_cast<double>(cells), static_cast<double>(cells) / commits,
              static_cast<double>(bytes) / commits);
  return 0;
}

}  // namespace
}  // namespace margay::store

int main(int argc, char** argv) {
  const auto number = [&](int i, long otherwise) {
    return argc > i ? std::strtol(argv[i], nullptr, 10) : otherwise;
  };
  const auto leaves = static_cast<std::uint32_t>(std::clamp(number(1, 700), 1L, 1'000'000L));
  const auto states = static_cast<std::uint32_t>(std::clamp(number(2, 8), 1L, 1024L));
  const int commits = static_cast<int>(std::clamp(number(3, 300), 1L, 1'000'000L));
  std::string dir = (argc > 4 ? std::string(argv[4]) : std::string(".")) + "/store-bench-XXXXXX";
  if (!mkdtemp(dir.data())) return 1;
  int rc = 0;
  for (const bool busy : {true, false})
    if (rc == 0) rc = margay::store::run(leaves, states, commits, dir, busy);
  std::error_code ec;
  std::filesystem::remove_all(dir, ec);
  return rc;
}
