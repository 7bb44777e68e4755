// The child of crash_test.cc, in a program of its own (RocksDB's threads do not survive a fork).
//
//   crash_writer commit DIR      commits cuts as fast as it can; one byte to stdout for each; never ends
//   crash_writer power DIR       the same without sync, with small buffers; makes the archive if it is not
//   there crash_writer synced DIR      the same with sync crash_writer full DIR        commits through a
//   queue under a file size limit that stands for a full disk,
//                                lifts it when it was reached, and ends with 0 when every cut came in
//   crash_writer hold DIR        opens for writing, one byte to stdout, waits for stdin to end
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include "crash_cut.h"
#include "margay/store/archive.h"
#include "margay/store/commit_queue.h"
#include "store_support.h"

namespace margay::store {
namespace {

int commit_forever(Archive& archive, bool sync) {
  const auto resumed = archive.load();
  if (!resumed) return 3;
  for (std::uint64_t n = resumed->sequence + 1;; ++n) {
    if (const Status s = archive.commit(testing::numbered_cut(n), sync); !s) {
      std::fprintf(stderr, "%s\n", s.error().message.c_str());
      return 4;
    }
    if (::write(STDOUT_FILENO, "+", 1) != 1) return 0;
  }
}

void limit_files(rlim_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  setrlimit(RLIMIT_FSIZE, &limit);
}

int survive_full_disk(Archive& archive) {
  std::signal(SIGXFSZ, SIG_IGN);
  CommitQueueOptions options;
  options.first_pause = milliseconds(1);
  options.longest_pause = milliseconds(20);
  CommitQueue queue([&](const Cut& c, bool sync) { return archive.commit(c, sync); }, options);
  limit_files(256 << 10);
  bool reached = false;
  std::uint64_t errors = 0;
  std::vector<CommitResult> results;
  for (std::uint64_t n = 1; n <= 80; ++n) {
    Cut cut = testing::numbered_cut(n);
    while (!queue.try_submit(std::move(cut))) {
      results.clear();
      queue.poll_results(results);
      for (const CommitResult& r : results) {
        if (!r.error) continue;
        ++errors;
        if (errors == 3) {
          std::fprintf(stderr, "reported: %s\n", r.error->message.c_str());
          reached = true;
          limit_files(RLIM_INFINITY);
        }
      }
      std::this_thread::yield();
    }
  }
  const Status s = queue.stop(seconds(5));
  if (!s) {
    std::fprintf(stderr, "%s\n", s.error().message.c_str());
    return 5;
  }
  if (!reached) return 6;
  return queue.last_committed() == 80 && archive.health() ? 0 : 7;
}

int hold() {
  if (::write(STDOUT_FILENO, "+", 1) != 1) return 0;
  char c;
  while (::read(STDIN_FILENO, &c, 1) > 0) {
  }
  return 0;
}

int run(const std::string& what, const std::string& dir) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no child outlives a test that was ended
  ArchiveOptions options;
  const bool power = what == "power" || what == "synced";
  if (power) options.memory_bytes = std::size_t{8} << 20;  // so that it often begins a new log
  auto archive = Archive::open(dir, Mode::kWrite, options);
  if (power && !archive && archive.error().code == ErrorCode::kNotFound)
    archive = Archive::create(dir, testing::example_run(), options);
  if (!archive) {
    std::fprintf(stderr, "%s\n", archive.error().message.c_str());
    return 2;
  }
  if (what == "commit" || power) return commit_forever(**archive, what == "synced");
  if (what == "full") return survive_full_disk(**archive);
  return hold();
}

}  // namespace
}  // namespace margay::store

int main(int argc, char** argv) {
  return argc == 3 ? margay::store::run(argv[1], argv[2]) : 1;
}
