// The partition as rows of characters: of a node, over the window, which state is the mode where.
//
// Thread safety: a value. Cost: row() is linear in the parts that overlap the node, plus columns x states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "margay/scene/view_data.h"
#include "margay/wire/report.pb.h"

namespace margay::terminal {

class Strips {
 public:
  // Nothing where the report lists no parts (margay/scene/live_view.h): it is untrusted.
  static std::optional<Strips> of(const wire::Report& report);

  struct Cell {
    std::int64_t state = -1;  // of Report.states: the mode that has most of the node's area here; -1: none
    bool cut = false;         // all that lies before it in time is another part, and there is room to say so
  };
  // `node` indexes Report.nodes and this is its time from the first slice to the last.
  std::vector<Cell> row(std::uint32_t node, int columns) const;
  // Of Report.states, those that are the mode of a part.
  const std::vector<std::uint32_t>& modes() const { return modes_; }
  const scene::ViewData& data() const { return data_; }
  // "optimal partition of the newest 25.6 s: 37 parts at p 0.1".
  std::string title() const;

 private:
  Strips(scene::ViewData data, std::vector<std::uint32_t> states);
  scene::ViewData data_;
  std::vector<std::uint32_t> states_;  // of each of data_.states its place in Report.states
  std::vector<std::uint32_t> modes_;
};

// The same p in the same digits wherever it is shown, this one of the report's partition; "" where there is
// none.
std::string p_of(const wire::Report& report);

}  // namespace margay::terminal
