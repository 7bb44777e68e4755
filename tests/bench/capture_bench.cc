// What reading a capture is made of, beside a plain read of the same file: capture_bench FILE
//   read      the bytes, into one buffer
//   scan      messages and batches found, columns not looked at
//   decode    and all records decoded and renamed, one thread, for nobody
//   reslice   and made into a model of 30 slices, one thread
// Each is done once before and once for the clock. Ratios are to `read` of this run.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <vector>

#include "margay/trace/capture.h"
#include "margay/trace/resampler.h"

namespace {

using namespace margay;

class Nobody final : public trace::Consumer {
 public:
  Status on_name(std::uint16_t, const trace::Name&) override { return {}; }
  Status on_leaf(LeafIndex, const trace::Leaf&) override { return {}; }
  Status on_records(LeafIndex, std::span<const EventRecord> records) override {
    for (std::size_t i = 0; i < records.size(); i += 64)
      sum += static_cast<std::uint64_t>(records[i].time_ns);
    return {};
  }
  Status on_covered(TimeNs) override { return {}; }
  std::uint64_t sum = 0;
};

template <class What>
double seconds_of(What what) {
  what();
  const auto begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void plain_read(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  std::vector<char> buffer(1 << 20);
  while (read(fd, buffer.data(), buffer.size()) > 0) {
  }
  close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("capture_bench FILE\n", stderr), 2;
  Nobody nobody;
  const auto extent = trace::scan_capture(argv[1], {}, nobody);
  if (!extent || !extent->begin) {
    std::fprintf(stderr, "capture_bench: %s\n", extent ? "no events" : extent.error().message.c_str());
    return 2;
  }
  const auto grid = slicer::Grid::make(*extent->begin, extent->end, 30);
  const double read = seconds_of([&] { plain_read(argv[1]); });
  const auto line = [&](const char* what, double s) {
    std::printf("%-8s %7.2f s  %6.1f M events/s  x read %5.1f\n", what, s,
                static_cast<double>(extent->records) / s / 1e6, s / read);
  };
  std::printf("%llu events, %llu bytes\n", static_cast<unsigned long long>(extent->records),
              static_cast<unsigned long long>(extent->bytes));
  bool good = true;
  line("read", read);
  line("scan", seconds_of([&] { good = trace::scan_capture(argv[1], {}, nobody).has_value() && good; }));
  line("decode", seconds_of([&] { good = trace::read_capture(argv[1], {}, nobody).has_value() && good; }));
  line("reslice", seconds_of([&] {
         trace::Resampler model(slicer::Reslicer::Options{*grid, {}, {}});
         good = trace::read_capture(argv[1], {}, model).has_value() && model.finish().has_value() && good;
       }));
  return good ? 0 : 1;
}
