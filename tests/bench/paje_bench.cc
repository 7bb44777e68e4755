// How fast Pajé traces are read, beside `wc -l` and PajeNG's `pj_dump -q` of the same file in the same run:
//   paje_bench [LINES | FILE]     (default: 4000000 lines made here, 8 machines of 32 ranks, seed 1)
//
// Each is measured three times in turns and the fastest told, in processor time of one core (user + system):
// that of the reader alone (text to records), and of the whole import (slices, archive, raw events).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "margay/import/archive_writer.h"
#include "margay/import/format.h"
#include "process_time.h"
#include "support/paje_header.h"

namespace {

using namespace margay;

class Nothing final : public trace::Consumer {
 public:
  Status on_name(std::uint16_t, const trace::Name&) override { return {}; }
  Status on_leaf(LeafIndex, const trace::Leaf&) override { return {}; }
  Status on_records(LeafIndex, std::span<const EventRecord> r) override {
    records += r.size();
    return {};
  }
  Status on_covered(TimeNs) override { return {}; }
  std::uint64_t records = 0;
};

void make_trace(const std::string& path, std::uint64_t lines) {
  std::ofstream out(path);
  std::mt19937_64 random(1);
  out << test_support::paje_header() << "0 M 0 Machine\n0 R M Rank\n1 S R State\n";
  const char* states[] = {"MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Allreduce"};
  for (int s = 0; s < 4; ++s) out << "5 s" << s << " S " << states[s] << '\n';
  for (int r = 0; r < 256; ++r) {
    if (r % 32 == 0) out << "6 0 m" << r / 32 << " M 0 machine" << r / 32 << '\n';
    out << "6 0 r" << r << " R m" << r / 32 << " rank" << r << '\n';
  }
  std::vector<int> depth(256);
  std::uint64_t ns = 0;
  char line[96];
  for (std::uint64_t i = 0; i < lines; ++i) {
    ns += random() % 200'000;
    const auto r = random() % 256;
    const bool pop = depth[r] > 0 && (depth[r] > 6 || random() % 2 == 0);
    const auto time = std::pair(ns / 1'000'000'000, ns % 1'000'000'000);
    if (pop)
      std::snprintf(line, sizeof line, "10 %lu.%09lu S r%lu\n", time.first, time.second, r);
    else
      std::snprintf(line, sizeof line, "9 %lu.%09lu S r%lu s%lu\n", time.first, time.second, r, random() % 4);
    depth[r] += pop ? -1 : 1;
    out << line;
  }
}

int read_alone(const std::string& path) {
  auto input = trace::Input::open(path);
  if (!input) return 1;
  const auto format = trace::choose_format("paje", *input);
  Nothing nothing;
  const auto counts = (*format)->read(*input, {}, nothing);
  if (!counts) std::fprintf(stderr, "%s\n", counts.error().message.c_str());
  return counts ? 0 : 1;
}

int import(const std::string& path, const std::string& archive, bool raw) {
  auto input = trace::Input::open(path);
  if (!input) return 1;
  const auto format = trace::choose_format("paje", *input);
  trace::ArchiveWriter::Options options;
  options.raw = raw;
  for (const int n : {1, 10, 100, 600}) options.run.levels.push_back(milliseconds(100) * n);
  auto writer = trace::ArchiveWriter::create(archive, std::move(options));
  if (!writer) return 1;
  const auto counts = (*format)->read(*input, {}, **writer);
  return counts && (*writer)->finish(0, 0) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const std::string word = argc > 1 ? argv[1] : "4000000";
  const bool number = word.find_first_not_of("0123456789") == std::string::npos;
  std::string dir = (fs::temp_directory_path() / "margay-paje-XXXXXX").string();
  if (mkdtemp(dir.data()) == nullptr) return 1;
  const std::string path = number ? dir + "/t.trace" : word;
  if (number) make_trace(path, std::strtoull(word.c_str(), nullptr, 10));
  const auto bytes = fs::file_size(path);
  std::uint64_t lines = 0;
  {
    std::ifstream in(path);
    for (std::string l; std::getline(in, l);) ++lines;
  }
  struct Run {
    const char* name;
    std::function<int()> work;
    double best = -1;
  };
  const std::string archive = dir + "/a";
  std::vector<Run> runs = {{"wc -l",
                            [&] {
                              return bench::become({"wc", "-l", path});
                            }},
                           {"pj_dump -q",
                            [&] {
                              return bench::become({"pj_dump", "-q", path});
                            }},
                           {"reader alone", [&] { return read_alone(path); }},
                           {"import, model only", [&] { return import(path, archive, false); }},
                           {"import", [&] { return import(path, archive, true); }}};
  for (int round = 0; round < 3; ++round)
    for (Run& r : runs) {
      fs::remove_all(archive);
      const double s = bench::measured(r.work);
      if (s >= 0 && (r.best < 0 || s < r.best)) r.best = s;
    }
  fs::remove_all(dir);
  std::printf("%s: %lu lines, %.1f MB\n%-20s %9s %11s %10s %12s\n", number ? "made here" : path.c_str(),
              lines, static_cast<double>(bytes) * 1e-6, "", "CPU s", "M lines/s", "x wc -l", "x pj_dump");
  for (const Run& r : runs) {
    if (r.best < 0) {
      std::printf("%-20s failed, or is not installed\n", r.name);
      continue;
    }
    std::printf("%-20s %9.3f %11.2f", r.name, r.best, static_cast<double>(lines) * 1e-6 / r.best);
    for (const Run* other : {&runs[0], &runs[1]}) {
      if (other->best > 0)
        std::printf(" %*.2f", other == &runs[0] ? 10 : 12, r.best / other->best);
      else
        std::printf(" %*s", other == &runs[0] ? 10 : 12, "-");
    }
    std::printf("\n");
  }
  return 0;
}
