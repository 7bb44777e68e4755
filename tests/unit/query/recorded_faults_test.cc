// The default picture of recorded MPI runs shows the faults that were planted into them and told.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "margay/query/choose_p.h"

namespace margay::daemon {
namespace recorded_faults_test {

struct Fault {
  std::string name;               // of the run, and the kind
  std::int64_t from = 0, to = 0;  // the window, `to` not inside
  partition::Area truth{{}, SliceIndex(0), SliceIndex(0)};
  std::vector<partition::Area> alerts;
};

partition::Area read_area(std::istream& in) {
  std::string ranks;
  std::int64_t first = 0, last = 0;
  in >> ranks >> first >> last;
  partition::Area out{{}, SliceIndex(first), SliceIndex(last)};
  std::istringstream list(ranks);
  for (std::string rank; std::getline(list, rank, ',');)
    out.leaves.emplace_back(static_cast<std::uint32_t>(std::stoul(rank)));
  return out;
}

std::vector<Fault> read_faults(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<Fault> out;
  for (std::string word; in >> word;) {
    if (word == "fault") {
      Fault& f = out.emplace_back();
      in >> f.name >> f.from >> f.to;
      f.name = path.stem().string() + " " + f.name;
      f.truth = read_area(in);
    } else {
      out.back().alerts.push_back(read_area(in));
    }
  }
  return out;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// The window of a run.
Model window(const Model& run, std::int64_t from, std::int64_t to) {
  Model out = run;
  const auto row = static_cast<std::ptrdiff_t>(run.leaves() * run.states);
  out.values.assign(run.values.begin() + from * row, run.values.begin() + to * row);
  out.slices = static_cast<std::size_t>(to - from);
  out.first_slice = SliceIndex(from);
  return out;
}

partition::Batch measure(const Model& model) {
  const std::vector<double> ones(model.leaves(), 1.0);
  const std::size_t row = model.leaves() * model.states;
  std::vector<partition::Column> columns;
  for (std::size_t t = 0; t < model.slices; ++t)
    columns.push_back({std::span(model.values).subspan(t * row, row), ones});
  partition::Batch::Options options;
  options.tree = model.tree;
  options.states = model.states;
  options.first_slice = model.first_slice;
  auto batch = partition::Batch::create(std::move(options), columns);
  EXPECT_TRUE(batch) << batch.error().message;
  return std::move(*batch);
}

struct Seen {
  ChosenP noise, chosen;
  partition::Partition optimum, picture;
};

Seen look(const Model& model, const Fault& fault) {
  partition::Batch batch = measure(model);
  std::vector<partition::Area> areas = join_areas(fault.alerts, 10);
  if (areas.size() > partition::kMostAreas) areas.erase(areas.begin() + partition::kMostAreas, areas.end());
  Seen out;
  out.noise = noise_p(model);
  out.chosen = *lower_for(out.noise, batch, areas);
  out.optimum = *batch.solve(out.chosen.p);
  out.picture = out.optimum;
  draw_picture(out.picture, batch, areas);
  return out;
}

TEST(RecordedFaults, ArePartsOfTheDefaultPicture) {
  std::vector<std::filesystem::path> runs;
  for (const auto& entry : std::filesystem::directory_iterator(MARGAY_RECORDED_DIR))
    if (entry.path().extension() == ".faults") runs.push_back(entry.path());
  std::sort(runs.begin(), runs.end());
  std::size_t shown = 0, by_p_alone = 0, all = 0;
  for (const auto& path : runs) {
    auto model_path = path;
    const auto run = parse_model(text_of(model_path.replace_extension(".txt")), path.stem(), 1u << 26);
    ASSERT_TRUE(run) << run.error().message;
    for (const Fault& fault : read_faults(path)) {
      const Seen seen = look(window(*run, fault.from, fault.to), fault);
      const bool is_there = partition::is_apart(seen.picture, run->tree, fault.truth);
      const bool was = seen.optimum.parts.size() <= partition::kMostShown &&
                       partition::is_apart(seen.optimum, run->tree, fault.truth);
      ++all, shown += is_there ? 1 : 0, by_p_alone += was ? 1 : 0;
      std::printf("%-26s floor %.4f p %.4f  %3zu parts, shown %2zu  %s%s\n", fault.name.c_str(), seen.noise.p,
                  seen.chosen.p, seen.optimum.parts.size(), seen.picture.parts.size(),
                  is_there ? "there" : "NOT THERE", was ? ", by p alone" : "");
      EXPECT_LE(seen.picture.parts.size(), partition::kMostShown) << fault.name;
      EXPECT_LE(seen.chosen.p, seen.noise.p);
    }
  }
  std::printf("%zu of %zu are parts of the default picture (by p alone %zu)\n", shown, all, by_p_alone);
  EXPECT_GE(all, 16u);
  EXPECT_GE(100 * shown, 95 * all);
}

}  // namespace recorded_faults_test
}  // namespace margay::daemon
