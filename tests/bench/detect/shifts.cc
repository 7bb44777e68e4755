// How small a shift can be seen: by how much the time that work takes varies, of a rank beside those of its
// machine and of a machine beside the others, in the mean of so many slices.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "commands.h"
#include "margay/store/archive.h"
#include "node_items.h"
#include "quiet_jobs.h"
#include "state_kind.h"
#include "work_lengths.h"

namespace margay::bench {
namespace {

constexpr std::array<std::size_t, 4> kSpans = {8, 64, 128, 1200};
constexpr std::int64_t kSlices = 12'000;
constexpr std::uint32_t kRanks = 32;
constexpr std::size_t kLeastPeers = 3;

class Lengths {
 public:
  Lengths(DurationNs slice, std::shared_ptr<const detect::Topology> topology)
      : topology_(std::move(topology)),
        items_(topology_->hierarchy),
        window_(options(slice)),
        contrast_(slice),
        series_(items_.size()) {
    window_.set_topology(topology_);
    columns_.state_of.assign(detect::Contrast::kMachine, 0);
    columns_.work.assign(detect::Contrast::kMachine, 1);
  }
  void take(const model::SliceColumn& column) {
    if (!window_.push(column)) return;
    while (columns_.state_of.size() < detect::Contrast::kMachine + window_.columns()) {
      const StateId s = window_.state_of(columns_.state_of.size() - detect::Contrast::kMachine);
      columns_.state_of.push_back(s.value);
      columns_.work.push_back(s.value < topology_->states.size() &&
                              detect::is_work(topology_->states[s.value]));
    }
    contrast_.measure(window_, column, {}, columns_);
    slices_ += 1;
    if (!contrast_.unsettled()) add();
    contrast_.learn();
  }
  // A row of a table.
  void print(const std::string& name) const {
    std::printf("| %s | %zu | %.0f %% |", name.c_str(), items_.leaves(),
                100 * *std::max_element(time_.begin(), time_.end()) / slices_);
    for (const bool machines : {false, true})
      for (const std::size_t span : kSpans) {
        const double error = standard_error(machines, span);
        std::printf(error > 0 ? " %.2f %% |" : " |", 100 * error);
      }
    std::printf("\n");
    std::fflush(stdout);
  }

 private:
  static detect::WindowOptions options(DurationNs slice) {
    detect::WindowOptions o;
    o.slice = slice;
    o.slices = 16;
    o.spatiotemporal = false;
    return o;
  }
  void add() {
    lengths_.take(contrast_, columns_, {});
    // Of the work that there is most of.
    time_.resize(columns_.work.size());
    for (std::size_t x = detect::Contrast::kMachine; x < columns_.work.size(); ++x)
      for (std::size_t l = 0; l < contrast_.leaves() && columns_.work[x]; ++l)
        time_[x] += static_cast<double>(contrast_.spent()[l][x]) / static_cast<double>(contrast_.leaves());
    const auto most = static_cast<std::size_t>(std::max_element(time_.begin(), time_.end()) - time_.begin());
    const auto& known = lengths_.known();
    if (std::count(known.begin(), known.end(), 1) < static_cast<std::ptrdiff_t>(items_.leaves())) return;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      double sum = 0;
      for (const LeafIndex l : items_.below(i)) sum += static_cast<double>(lengths_.longer()[l.value][most]);
      series_[i].push_back(sum / static_cast<double>(items_.below(i).size()));
    }
  }
  // Of leaves beside their siblings, or of inner nodes beside those of their depth; 0 where there are too
  // few.
  double standard_error(bool inner, std::size_t span) const {
    double squares = 0, count = 0;
    for (std::size_t at = 0; at + span <= series_[0].size(); at += span) {
      std::vector<double> mean(items_.size());
      for (std::size_t i = 0; i < items_.size(); ++i) {
        for (std::size_t k = at; k < at + span; ++k) mean[i] += series_[i][k];
        mean[i] /= static_cast<double>(span);
      }
      for (std::size_t i = inner ? items_.leaves() : 0; i < (inner ? items_.size() : items_.leaves()); ++i) {
        std::vector<double> peers;
        for (std::size_t j = 0; j < items_.size(); ++j)
          if (j != i && items_.group(j) == items_.group(i) && (inner || items_.parent(j) == items_.parent(i)))
            peers.push_back(mean[j]);
        if (peers.size() < kLeastPeers) continue;
        std::sort(peers.begin(), peers.end());
        const double apart = mean[i] - (peers[(peers.size() - 1) / 2] + peers[peers.size() / 2]) / 2;
        squares += apart * apart;
        count += 1;
      }
    }
    return count > 0 ? std::sqrt(squares / count) : 0;
  }

  std::shared_ptr<const detect::Topology> topology_;
  detect::NodeItems items_;
  detect::Window window_;
  detect::Contrast contrast_;
  detect::WorkLengths lengths_;
  detect::Columns columns_;
  std::vector<std::vector<double>> series_;  // by item: as a part of what the work usually takes
  std::vector<double> time_;                 // by column, in slices
  double slices_ = 0;
};

Status of_archive(const std::string& path) {
  auto archive = store::Archive::open(path, store::Mode::kReadOnly);
  if (!archive) return fail(archive.error(), path);
  const auto resume = (*archive)->load();
  if (!resume) return fail(resume.error(), path);
  std::vector<model::Attributes> leaves;
  for (const auto& l : resume->leaves) leaves.push_back(l.attributes);
  auto topology = std::make_shared<detect::Topology>();
  topology->hierarchy = model::Hierarchy(leaves);
  const auto& states = resume->states.states();
  topology->states.assign(states.begin(), states.end());
  Lengths lengths(resume->run.levels[0], topology);
  const auto ok = (*archive)->scan_columns(LevelIndex(0), SliceIndex(0),
                                           SliceIndex(std::numeric_limits<std::int64_t>::max() - 1),
                                           [&](model::SliceColumn&& column) {
                                             lengths.take(column);
                                             return true;
                                           });
  if (ok) lengths.print("captured: " + resume->run.command.substr(0, 40));
  return ok;
}

}  // namespace

int shifts(const std::vector<std::string>& archives, std::uint64_t seed) {
  std::printf("| job | ranks | work, of the time |");
  for (const char* const of : {"rank", "machine"})
    for (const std::size_t span : kSpans) std::printf(" %s, %zu slices |", of, span);
  std::printf("\n|---|---|---|");
  for (std::size_t k = 0; k < 2 * kSpans.size(); ++k) std::printf("---|");
  std::printf("\n");
  for (const std::string& path : archives) {
    if (const auto ok = of_archive(path); !ok) {
      std::fprintf(stderr, "detect_bench: %s\n", ok.error().message.c_str());
      return 1;
    }
  }
  for (const char* const kind : {"steady", "coupled", "phases", "free"}) {
    const QuietJob job(kind, kRanks, seed, milliseconds(100));
    Lengths lengths(milliseconds(100), job.topology());
    job.play(kSlices, [&](const model::SliceColumn& column) { lengths.take(column); });
    lengths.print(kind);
  }
  return 0;
}

}  // namespace margay::bench
