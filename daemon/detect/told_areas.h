// What has been told of and lies in the window: the picture has it as parts of its own
// (margay/partition/set_apart.h). Of each alert the leaves that it blames, and the slices from its onset to
// its end, so far. Kept while they touch the window; of too many the oldest goes. Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "margay/detect/window.h"

namespace margay::detect {

class ToldAreas {
 public:
  // `most`: that are kept. `joined`: slices between alerts of the same leaves that are one area, for who is
  // stopped again and again is slow.
  ToldAreas(std::size_t most, std::int64_t joined) : most_(most), joined_(joined) {}

  // The alert `id` is about this by now.
  void tell(const std::string& id, const std::set<std::uint32_t>& leaves, SliceIndex first, SliceIndex last);
  // It was over after `last`. Nothing happens where it was never told.
  void end(const std::string& id, SliceIndex last);
  // Those that touch the window, the newest kMostAreas, newest first; what does not is forgotten.
  std::vector<Window::Area> in(const Window& window);

 private:
  struct Told {
    std::string id;
    std::set<std::uint32_t> leaves;
    SliceIndex first{}, last{};
  };
  std::size_t most_;
  std::int64_t joined_;
  std::deque<Told> told_;  // oldest first
};

}  // namespace margay::detect
