// An episode of departures that is going on: who is blamed, and whether it goes on. Pure.
#pragma once

#include "blame.h"
#include "episode.h"

namespace margay::detect {

class OpenEpisode {
 public:
  // What the newest slice shows, taken by all of these.
  struct Look {
    const Contrast& contrast;
    const NodeMeans& means;
    const NodeItems& items;
    const Columns& columns;
    SliceIndex now{};
  };
  struct Rules {
    double min_effect = 0.1;        // share of the time
    std::uint32_t back_slices = 2;  // slices back in order until it is over
  };
  // It began so many slices ago, the newest included.
  OpenEpisode(std::uint64_t number, std::uint32_t slices, const Rules& rules, const Look& look);
  // The newest slice belongs to it, or is one of those after it.
  void follow(const Look& look);

  const Episode& episode() const { return episode_; }
  Episode& episode() { return episode_; }
  const std::vector<float>& way() const { return blamed_.way; }
  const std::set<std::uint32_t>& depart() const { return blamed_.depart; }
  // Those that wait for the blamed tell it.
  bool by_waiting() const { return blamed_.depart != blamed_.leaves; }
  // What is lost, as a share of the time.
  double effect(const NodeMeans& means) const;

 private:
  void take_time(const Look& look);
  void blame(const Look& look);
  bool departs(const Look& look) const;
  float along(const Look& look, std::size_t ago) const;

  Rules rules_;
  Episode episode_;
  Since since_;
  Blamed blamed_;
  std::uint32_t back_ = 0;
};

}  // namespace margay::detect
