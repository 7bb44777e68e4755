// How fast address traces are read, beside `wc -l` of the same file in the same run:
//   memory_bench [LINES | FILE]     (default: 12000000 lines of lackey made here, seed 1)
//
// Made here: 16 loops in turns, two instructions and one access to data each (of four, two read, one writes,
// one does both), 4096 pages of data; pages are those of arrays that are gone through, and of a stack. Each
// is measured three times in turns and the fastest told, in processor time of one core (user + system).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "margay/import/archive_writer.h"
#include "margay/import/format.h"
#include "process_time.h"

namespace {

using namespace margay;

constexpr std::int64_t kSliceMs = 100;

class Nothing final : public trace::Consumer {
 public:
  Status on_name(std::uint16_t, const trace::Name&) override { return {}; }
  Status on_leaf(LeafIndex, const trace::Leaf&) override { return {}; }
  Status on_records(LeafIndex, std::span<const EventRecord>) override { return {}; }
  Status on_covered(TimeNs) override { return {}; }
};

bool make_trace(const std::string& path, std::uint64_t lines) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen(path.c_str(), "w"), std::fclose);
  if (!out) return false;
  std::fprintf(out.get(), "==1== Lackey, an example Valgrind tool\n");
  std::mt19937_64 random(1);
  std::uint64_t at[3] = {}, code = 0x400000;
  for (std::uint64_t i = 0; i < lines; i += 3) {
    if (i % 30'000 == 0) code = 0x400000 + random() % 16 * 0x1230;
    const auto array = random() % 4;
    const std::uint64_t address = array == 3 ? 0x1ffeffe000 + random() % 4096
                                             : 0x4a00000 + array * 0x600000 + (at[array] += 8) % 0x550000;
    std::fprintf(out.get(), "I  %08lx,4\n %c %08lx,8\nI  %08lx,3\n", code + i % 96, "LLSM"[random() % 4],
                 address, code + i % 96 + 4);
  }
  return true;
}

// Reads it into `to`, and tells how many accesses there are.
bool read_into(const std::string& path, bool sums, trace::Consumer& to, std::uint64_t& accesses) {
  auto input = trace::Input::open(path);
  if (!input) return false;
  const auto format = trace::choose_format("auto", *input);
  if (!format) return false;
  trace::ReadOptions options;
  options.slice = milliseconds(kSliceMs);
  options.sums = sums;
  const auto counts = (*format)->read(*input, options, to);
  if (!counts) std::fprintf(stderr, "%s\n", counts.error().message.c_str());
  if (counts) accesses = counts->states;
  return counts.has_value();
}

int import(const std::string& path, const std::string& archive, bool raw) {
  trace::ArchiveWriter::Options options;
  options.raw = raw;
  for (const int n : {1, 10, 100, 600}) options.run.levels.push_back(milliseconds(kSliceMs) * n);
  auto writer = trace::ArchiveWriter::create(archive, std::move(options));
  std::uint64_t accesses = 0;
  return writer && read_into(path, !raw, **writer, accesses) && (*writer)->finish(0, 0) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const std::string word = argc > 1 ? argv[1] : "12000000";
  const bool number = word.find_first_not_of("0123456789") == std::string::npos;
  std::string dir = (fs::temp_directory_path() / "margay-memory-XXXXXX").string();
  if (mkdtemp(dir.data()) == nullptr) return 1;
  const std::string path = number ? dir + "/t.lackey" : word, archive = dir + "/a";
  if (number && !make_trace(path, std::strtoull(word.c_str(), nullptr, 10))) return 1;
  std::uint64_t accesses = 0;
  Nothing nothing;
  if (!read_into(path, true, nothing, accesses)) return 1;
  struct Run {
    const char* name;
    std::function<int()> work;
    double best = -1;
  };
  std::vector<Run> runs = {{"wc -l",
                            [&] {
                              return bench::become({"wc", "-l", path});
                            }},
                           {"reader alone",
                            [&] {
                              std::uint64_t ignored = 0;
                              return read_into(path, true, nothing, ignored) ? 0 : 1;
                            }},
                           {"import --no-raw", [&] { return import(path, archive, false); }},
                           {"import", [&] { return import(path, archive, true); }}};
  for (int round = 0; round < 3; ++round)
    for (Run& r : runs) {
      fs::remove_all(archive);
      const double s = bench::measured(r.work);
      if (s >= 0 && (r.best < 0 || s < r.best)) r.best = s;
    }
  std::printf("%s: %lu accesses, %.1f MB\n%-20s %9s %13s %10s\n", number ? "made here" : path.c_str(),
              accesses, static_cast<double>(fs::file_size(path)) * 1e-6, "", "CPU s", "M accesses/s",
              "x wc -l");
  fs::remove_all(dir);
  for (const Run& r : runs) {
    if (r.best < 0)
      std::printf("%-20s failed\n", r.name);
    else
      std::printf("%-20s %9.3f %13.2f %10.1f\n", r.name, r.best,
                  static_cast<double>(accesses) * 1e-6 / r.best, r.best / runs[0].best);
  }
  return 0;
}
