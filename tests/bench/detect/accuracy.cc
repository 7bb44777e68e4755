// How well the detector does on made-up cases, whole and with its ingredients left out.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "commands.h"
#include "margay/detect/ingredient.h"
#include "score.h"

namespace margay::bench {
namespace {

using detect::Ingredient;

constexpr int kDraws = 2000;
constexpr int kCuts = 3;
constexpr std::uint64_t kDrawSeed = 5;

// What F1 becomes without an ingredient: a 95 % interval of the difference, cases drawn with replacement
// (the same cases with and without, so what is hard for both does not blur it).
std::pair<double, double> f1_difference(const std::vector<Score>& with, const std::vector<Score>& without) {
  std::mt19937_64 engine(kDrawSeed);
  std::vector<double> differences;
  for (int draw = 0; draw < kDraws; ++draw) {
    Score a, b;
    for (std::size_t i = 0; i < with.size(); ++i) {
      const std::size_t k = engine() % with.size();
      a.truths += with[k].truths, a.hits += with[k].hits, a.false_alarms += with[k].false_alarms;
      b.truths += without[k].truths, b.hits += without[k].hits, b.false_alarms += without[k].false_alarms;
    }
    differences.push_back(b.f1() - a.f1());
  }
  std::sort(differences.begin(), differences.end());
  return {differences[kDraws / 40], differences[kDraws - 1 - kDraws / 40]};
}

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

int ablation(std::uint64_t first, std::uint64_t last, int only) {
  // [0] with everything, then without each.
  const std::size_t columns = 1 + static_cast<std::size_t>(Ingredient::kCount);
  std::vector<std::vector<Score>> scores(columns);
  for (std::size_t g = 0; g < group_count(); ++g) {
    if (only >= 0 && static_cast<std::size_t>(only) != g) continue;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
      const Case c = make_case(g, seed);
      for (std::size_t i = 0; i < columns; ++i) {
        detect::DetectorOptions o = options_for(c);
        if (i > 0) o.without = static_cast<Ingredient>(i - 1);
        scores[i].push_back(score(c, alerts_of(c, o)));
      }
    }
    std::fprintf(stderr, "\r%zu of %zu groups", g + 1, group_count());
  }
  std::fprintf(stderr, "\r%30s\r", "");
  std::printf(
      "| without | F1 | its difference, 95 %% | found | false alarms | median delay | Jaccard | false alarms "
      "per 1000 slices |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (std::size_t i = 0; i < columns; ++i) {
    Score s;
    for (const Score& one : scores[i]) s.add(one);
    std::printf("| %s | %.3f | ", i == 0 ? "nothing" : detect::kIngredientNames[i - 1], s.f1());
    if (i > 0) {
      const auto [low, high] = f1_difference(scores[0], scores[i]);
      std::printf("%+.3f to %+.3f", low, high);
    }
    std::printf(" | %d of %d | %d | %.1f | %.3f | %.2f |\n", s.hits, s.truths, s.false_alarms,
                s.median_delay(), s.mean_jaccard(), s.false_per_1000());
  }
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
