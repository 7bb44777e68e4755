#include "written.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>

namespace margay::bench {
namespace {

namespace fs = std::filesystem;

struct Close {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Close>;

File open(const fs::path& path) {
  fs::create_directories(path.parent_path());
  File out(std::fopen(path.c_str(), "w"));
  if (out == nullptr) throw std::runtime_error(path.string() + " cannot be written");
  return out;
}

void close(File file, const fs::path& path) {
  const bool failed = std::ferror(file.get()) != 0;
  if (std::fclose(file.release()) != 0 || failed)
    throw std::runtime_error(path.string() + " cannot be written");
}

// Names are ours: nothing in them has to be escaped.
template <class Names>
std::string list(const Names& names) {
  std::string out;
  for (const auto& n : names) out += (out.empty() ? "\"" : ", \"") + std::string(n) + "\"";
  return "[" + out + "]";
}

std::string paths(const Recording& r, const std::set<std::uint32_t>& leaves) {
  std::vector<std::string> names;
  for (const std::uint32_t l : leaves) names.push_back(r.paths[l]);
  return list(names);
}

constexpr const char* kHead =
    "%%EventDef PajeDefineContainerType 0\n%% Alias string\n%% Type string\n%% Name string\n%%EndEventDef\n"
    "%%EventDef PajeDefineStateType 1\n%% Alias string\n%% Type string\n%% Name string\n%%EndEventDef\n"
    "%%EventDef PajeDefineEntityValue 2\n%% Alias string\n%% Type string\n%% Name string\n%% Color "
    "color\n%%EndEventDef\n"
    "%%EventDef PajeCreateContainer 3\n%% Time date\n%% Alias string\n%% Type string\n%% Container "
    "string\n%% Name string\n"
    "%%EndEventDef\n"
    "%%EventDef PajeDestroyContainer 4\n%% Time date\n%% Type string\n%% Name string\n%%EndEventDef\n"
    "%%EventDef PajeSetState 5\n%% Time date\n%% Type string\n%% Container string\n%% Value "
    "string\n%%EndEventDef\n";

// Containers down to each leaf, named by their paths; which are leaves' is in `of_leaf`. How many there are.
std::size_t write_containers(std::FILE* f, const Recording& r, std::vector<std::size_t>& of_leaf) {
  std::map<std::string, std::size_t> known;
  for (const std::string& path : r.paths) {
    std::size_t parent = 0, level = 0;
    for (std::size_t at = 0; at < path.size(); ++level) {
      const std::size_t next = std::min(path.find('/', at + 1), path.size());
      const std::string here = path.substr(0, next);
      const auto [it, is_new] = known.emplace(here, known.size());
      if (is_new && level == 0) std::fprintf(f, "3 0.000000 c%zu L0 0 \"%s\"\n", it->second, here.c_str());
      if (is_new && level > 0)
        std::fprintf(f, "3 0.000000 c%zu L%zu c%zu \"%s\"\n", it->second, level, parent, here.c_str());
      parent = it->second;
      at = next;
    }
    of_leaf.push_back(parent);
  }
  return known.size();
}

std::size_t write_trace(const fs::path& path, const Recording& r) {
  File file = open(path);
  std::FILE* const f = file.get();
  std::fprintf(f, kHead);
  for (std::size_t l = 0; l < r.levels.size(); ++l)
    std::fprintf(f, "0 L%zu %s \"%s\"\n", l, l == 0 ? "0" : ("L" + std::to_string(l - 1)).c_str(),
                 r.levels[l].c_str());
  std::fprintf(f, "1 S L%zu \"STATE\"\n", r.levels.size() - 1);
  for (std::size_t s = 0; s < r.states.size(); ++s)
    std::fprintf(f, "2 v%zu S \"%s\" \"%.1f %.1f %.1f\"\n", s, r.states[s].c_str(),
                 static_cast<double>(s % 3) / 2, static_cast<double>(s % 5) / 4,
                 static_cast<double>(s % 7) / 6);
  std::vector<std::size_t> of_leaf;
  const std::size_t containers = write_containers(f, r, of_leaf);
  // In the order of time, leaves beside each other.
  struct Line {
    double at;
    std::uint32_t leaf;
    std::uint16_t state;
  };
  std::vector<Line> lines;
  for (std::uint32_t l = 0; l < r.changes.size(); ++l)
    for (const Change& c : r.changes[l]) lines.push_back({c.at, l, c.state});
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.at < b.at; });
  for (const Line& line : lines)
    std::fprintf(f, "5 %.9f S c%zu v%u\n", line.at, of_leaf[line.leaf], line.state);
  // Children go before what they are in.
  std::vector<std::size_t> level_of(containers, 0);
  std::map<std::string, std::size_t> known;
  for (const std::string& leaf : r.paths)
    for (std::size_t at = 0, level = 0; at < leaf.size(); ++level) {
      const std::size_t next = std::min(leaf.find('/', at + 1), leaf.size());
      level_of[known.emplace(leaf.substr(0, next), known.size()).first->second] = level;
      at = next;
    }
  for (std::size_t level = r.levels.size(); level-- > 0;)
    for (std::size_t c = 0; c < containers; ++c)
      if (level_of[c] == level) std::fprintf(f, "4 %.9f L%zu c%zu\n", r.end_s, level, c);
  close(std::move(file), path);
  return lines.size();
}

}  // namespace

CaseName write_case(const std::string& directory, const Family& family, std::string_view kind,
                    std::uint64_t seed, const Recording& r) {
  const CaseName out{std::string(family.name) + "_" + std::string(kind) + "_" + std::to_string(seed),
                     std::string(family.name), r.faults.empty()};
  const fs::path trace = "traces/" + out.name + ".trace",
                 truth = fs::path(directory) / ("truth/" + out.name + ".json");
  const std::size_t events = write_trace(directory / trace, r);
  const Case c = case_of(family, kind, seed, r);
  std::string perturbations;
  for (const Truth& t : c.truths) {
    std::string others;
    for (const auto& a : t.alternatives) others += (others.empty() ? "" : ", ") + paths(r, a);
    char times[128];
    std::snprintf(times, sizeof times, "{\"begin_s\": %.6f, \"end_s\": %.6f, ", t.begin_s, t.end_s);
    perturbations += (perturbations.empty() ? "" : ", ") + std::string(times) +
                     "\"resources\": " + paths(r, t.leaves) + ", \"kind\": \"" + t.fault +
                     "\", \"strength\": " + std::to_string(t.factor) +
                     (others.empty() ? "" : ", \"resources_alt\": [" + others + "]") + "}";
  }
  File file = open(truth);
  std::fprintf(
      file.get(),
      "{\"case\": \"%s\", \"group\": \"%s\", \"trace\": \"%s\", \"duration_s\": %.6f, \"slice_s\": %g, "
      "\"hierarchy_levels\": %s, \"leaves\": %zu, \"leaf_paths\": %s, \"states\": %s, \"events\": %zu, "
      "\"idle_states\": %s, \"perturbations\": [%s], \"clean\": %s}\n",
      out.name.c_str(), out.group.c_str(), trace.c_str(), r.end_s, r.slice_s, list(r.levels).c_str(),
      r.paths.size(), list(r.paths).c_str(), list(r.states).c_str(), events, list(r.idle_states).c_str(),
      perturbations.c_str(), out.clean ? "true" : "false");
  close(std::move(file), truth);
  return out;
}

void write_index(const std::string& directory, const std::vector<CaseName>& cases) {
  const fs::path path = fs::path(directory) / "index.json";
  File file = open(path);
  std::fputs("[", file.get());
  for (std::size_t i = 0; i < cases.size(); ++i)
    std::fprintf(file.get(),
                 "%s\n {\"case\": \"%s\", \"group\": \"%s\", \"trace\": \"traces/%s.trace\", \"truth\": "
                 "\"truth/%s.json\", \"clean\": %s}",
                 i > 0 ? "," : "", cases[i].name.c_str(), cases[i].group.c_str(), cases[i].name.c_str(),
                 cases[i].name.c_str(), cases[i].clean ? "true" : "false");
  std::fputs("\n]\n", file.get());
  close(std::move(file), path);
}

}  // namespace margay::bench
