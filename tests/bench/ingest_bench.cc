// How fast messages become cells, one thread, beside what their bytes cost at least:
//
//   ingest_bench CAPTURE ARCHIVE [ROUNDS [MOST_MB]]
//
// CAPTURE and ARCHIVE are of one run (`margay run --capture`, `--archive`). Each round does all three in
// turn, in processor time:
//   memcpy     of the messages' bytes
//   protobuf   messages parsed by the generated code, columns not looked at
//   ingest     parsed, checked, accounted, and spread over slices (duration, longest visit, visits), slices
//              closed as the watermark passes
// The median round is told. tests/e2e/capture_check holds the cells against the plain reference slicer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "ingest_again.h"
#include "margay/store/archive.h"
#include "margay/wire/ingest.pb.h"

namespace {

using namespace margay;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

struct Done {
  std::uint64_t modelled = 0, slices = 0;
  std::size_t leaves = 0;
};

Done ingest_all(const std::vector<test::Message>& messages, const store::RunMeta& run) {
  test::IngestAgain again(run);
  Done done;
  for (const test::Message& m : messages) {
    again.receive(m);
    done.slices += again.slicer.close_through(again.ingest.watermark(m.at)).size();
    static_cast<void>(again.slicer.take_changed());
  }
  for (const auto& a : again.ingest.accounts()) done.modelled += a.modelled;
  done.leaves = again.ingest.leaves().size();
  return done;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "ingest_bench CAPTURE ARCHIVE [ROUNDS]\n");
    return 2;
  }
  const int rounds = argc > 3 ? std::max(1, std::atoi(argv[3])) : 5;
  std::vector<test::Message> messages;
  if (!test::read_capture(argv[1], messages) || messages.empty()) {
    std::fprintf(stderr, "ingest_bench: %s cannot be read as a capture\n", argv[1]);
    return 2;
  }
  auto archive = store::Archive::open(argv[2], store::Mode::kReadOnly);
  if (!archive) {
    std::fprintf(stderr, "ingest_bench: %s\n", archive.error().message.c_str());
    return 2;
  }
  const auto held = (*archive)->load();
  if (!held) {
    std::fprintf(stderr, "ingest_bench: %s\n", held.error().message.c_str());
    return 2;
  }
  const store::RunMeta& run = held->run;
  const std::size_t most = argc > 4 ? static_cast<std::size_t>(std::atoi(argv[4])) * 1'000'000 : SIZE_MAX;
  std::size_t bytes = 0, taken = 0;
  while (taken < messages.size() && bytes < most) bytes += messages[taken++].body.size();
  messages.resize(taken);

  std::vector<double> copies, parses, ingests;
  std::vector<char> to(1 << 24);
  wire::ToCollector message;
  Done done;
  std::size_t parsed = 0;
  for (int r = 0; r < rounds; ++r) {
    double begin = cpu_seconds();
    for (const test::Message& m : messages)
      std::memcpy(to.data(), m.body.data(), std::min(to.size(), m.body.size()));
    copies.push_back(cpu_seconds() - begin);
    begin = cpu_seconds();
    for (const test::Message& m : messages) parsed += message.ParseFromString(m.body) ? 1 : 0;
    parses.push_back(cpu_seconds() - begin);
    begin = cpu_seconds();
    done = ingest_all(messages, run);
    ingests.push_back(cpu_seconds() - begin);
  }
  const double events = static_cast<double>(done.modelled);
  std::printf(
      "%zu messages, %.1f MB, %.0f events (%.2f bytes each), %zu leaves, %llu slices closed; %zu parsed\n",
      messages.size(), static_cast<double>(bytes) / 1e6, events, static_cast<double>(bytes) / events,
      done.leaves, static_cast<unsigned long long>(done.slices), parsed / static_cast<std::size_t>(rounds));
  const auto tell = [&](const char* what, const std::vector<double>& seconds) {
    std::printf("  %-9s %8.2f ms  %7.2f ns an event  %7.1f M events/s  (%d rounds: %.2f to %.2f ms)\n", what,
                1e3 * median(seconds), 1e9 * median(seconds) / events, events / median(seconds) / 1e6, rounds,
                1e3 * *std::min_element(seconds.begin(), seconds.end()),
                1e3 * *std::max_element(seconds.begin(), seconds.end()));
  };
  tell("memcpy", copies);
  tell("protobuf", parses);
  tell("ingest", ingests);
  std::printf("  ingest is %.1f times protobuf's parsing\n", median(ingests) / median(parses));
  return 0;
}
