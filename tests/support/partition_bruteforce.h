// The judge of the partition engines: tries everything, shares no code with them.
//
// Spatiotemporal: enumerates the *exact covers* of the grid of leaves x slices by rectangles (leaves below a
// node) x (interval). It knows nothing of nested cuts, dynamic programming or ties: it is right by
// inspection. Temporal: enumerates all 2^(T-1) compositions of the window.
//
// Limits: leaves * slices <= 24 and slices <= 16, since the number of covers is exponential.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace margay::support {

// A window of cells: v[(t*leaves + s)*states + x], w[t*leaves + s]; leaves s by ascending node index.
struct Cells {
  std::size_t leaves = 0, slices = 0, states = 0;
  std::vector<double> v, w;

  double value(std::size_t s, std::size_t t, std::size_t x) const { return v[(t * leaves + s) * states + x]; }
  double weight(std::size_t s, std::size_t t) const { return w[t * leaves + s]; }
};

struct Measure {
  double loss = 0, gain = 0;
  double pic(double p) const { return p * gain - (1 - p) * loss; }
};

// The formulas of the papers, with weights, for leaves (by position) and slices [first, last].
Measure measure_area(const Cells& cells, const std::vector<std::size_t>& leaves, std::size_t first,
                     std::size_t last);
// The temporal operator's: every leaf by itself, then added.
Measure measure_interval(const Cells& cells, std::size_t first, std::size_t last);

// parents[k] is the parent of node k, -1 for the root.
using Parents = std::vector<int>;
// Positions of the leaves below `node`, found by walking up from each leaf.
std::vector<std::size_t> leaves_below(const Parents& parents, std::size_t node);

// All exact covers of one tree and number of slices, found once and used for many models.
class Covers {
 public:
  struct Rectangle {
    std::size_t node, first, last;
    std::uint32_t mask;  // bit s*slices + t
  };

  Covers(const Parents& parents, std::size_t slices);

  const std::vector<Rectangle>& rectangles() const { return rectangles_; }
  std::size_t count() const { return begin_.size() - 1; }

  struct Best {
    double pic = 0;         // the largest pIC of any cover
    double priced = 0;      // the largest pIC less `price` per part
    std::size_t parts = 0;  // the fewest parts of a cover within price/16 of `priced`
  };
  Best best(const Cells& cells, double p, double price) const;

 private:
  void extend(std::uint32_t covered, std::vector<std::uint16_t>& chosen);

  Parents parents_;
  std::size_t slices_;
  std::uint32_t full_;
  std::vector<Rectangle> rectangles_;
  std::vector<std::uint16_t> members_;  // rectangle numbers, cover by cover
  std::vector<std::size_t> begin_;      // count()+1 offsets into members_
};

Covers::Best best_composition(const Cells& cells, double p, double price);

// The largest sum over the parts of pIC - price, by the plain recurrence. Parents must precede their
// children.
double priced_optimum(const Parents& parents, const Cells& cells, double p, double price);

}  // namespace margay::support
