// How well the detector does on made-up cases.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "commands.h"
#include "score.h"

namespace margay::bench {
namespace {

constexpr int kCuts = 3;

}  // namespace

int cases(std::uint64_t first, std::uint64_t last, int only, bool verbose) {
  Score all;
  std::map<std::string, Score> by_job;
  std::function<void(const std::string&)> tell;
  if (verbose) tell = [](const std::string& line) { std::printf("    %s\n", line.c_str()); };
  for (std::size_t g = 0; g < group_count(); ++g) {
    if (only >= 0 && static_cast<std::size_t>(only) != g) continue;
    Score group;
    std::string name;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
      const Case c = make_case(g, seed);
      name = c.group;
      group.add(score(c, alerts_of(c, options_for(c)), tell));
    }
    group.print(name.c_str());
    std::fflush(stdout);
    by_job[name.substr(0, name.find(' '))].add(group);
    all.add(group);
  }
  for (const auto& [name, s] : by_job) s.print(("[" + name + "]").c_str());
  all.print("all");
  return 0;
}

int causality(std::uint64_t first, std::uint64_t last) {
  std::mt19937_64 engine(first);
  std::size_t cases = 0, cuts = 0, wrong = 0;
  for (std::size_t g = 0; g < group_count(); ++g)
    for (std::uint64_t seed = first; seed <= last; ++seed) {
      const Case c = make_case(g, seed);
      ++cases;
      for (int cut = 0; cut < kCuts; ++cut, ++cuts) {
        const std::string difference = acausal(c, 1 + engine() % c.slices.size());
        if (difference.empty()) continue;
        ++wrong;
        std::printf("%s\n", difference.c_str());
      }
    }
  std::printf(
      "%zu cases, each cut off at %d places: %zu of %zu say something else than the whole one by then\n",
      cases, kCuts, wrong, cuts);
  return wrong == 0 ? 0 : 1;
}

int write(const std::string& directory, std::uint64_t first, std::uint64_t last) {
  namespace fs = std::filesystem;
  for (const char* const folder : {"alerts", "truth"}) fs::create_directories(fs::path(directory) / folder);
  for (std::size_t g = 0; g < group_count(); ++g)
    for (std::uint64_t seed = first; seed <= last; ++seed) {
      const Case c = make_case(g, seed);
      std::string name = c.group + " " + std::to_string(seed);
      std::replace(name.begin(), name.end(), ' ', '-');
      std::ofstream alerts(fs::path(directory) / "alerts" / (name + ".jsonl"));
      for (const auto& a : alerts_of(c, options_for(c))) alerts << to_json(a) << '\n';
      // Names are ours: nothing in them has to be escaped.
      const auto list = [&](const std::set<std::uint32_t>& leaves) {
        std::string out;
        for (const std::uint32_t l : leaves)
          out += (out.empty() ? "\"" : ",\"") + c.topology->hierarchy.path_of(LeafIndex(l)) + "\"";
        return "[" + out + "]";
      };
      std::set<std::uint32_t> all;
      for (std::uint32_t l = 0; l < c.topology->hierarchy.leaf_count(); ++l) all.insert(l);
      std::ofstream truth(fs::path(directory) / "truth" / (name + ".json"));
      truth.precision(17);
      truth << "{\"case\":\"" << name << "\",\"group\":\"" << name.substr(0, name.find('-'))
            << "\",\"slice_s\":" << c.slice_s
            << ",\"duration_s\":" << c.slice_s * static_cast<double>(c.slices.size())
            << ",\"leaf_paths\":" << list(all) << ",\"perturbations\":[";
      for (std::size_t i = 0; i < c.truths.size(); ++i)
        truth << (i > 0 ? "," : "") << "{\"begin_s\":" << c.truths[i].begin_s
              << ",\"end_s\":" << c.truths[i].end_s << ",\"kind\":\"" << c.truths[i].fault
              << "\",\"resources\":" << list(c.truths[i].leaves) << "}";
      truth << "]}\n";
      if (!alerts.flush() || !truth.flush()) {
        std::fprintf(stderr, "detect_bench: %s cannot be written\n", directory.c_str());
        return 1;
      }
    }
  return 0;
}

}  // namespace margay::bench
