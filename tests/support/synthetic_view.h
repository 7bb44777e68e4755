// Answers to a viewer's questions, made up: by hand, and at random with trees and tilings of any shape.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "margay/wire/report.pb.h"
#include "margay/wire/view.pb.h"

namespace margay::support {

struct ViewShare {
  std::uint32_t state = 0;
  float share = 0;
};

// An answer of 1 s slices from time 0 on, made step by step. Leaves are counted by answer().
class ViewBuilder {
 public:
  explicit ViewBuilder(std::size_t slices, std::int64_t slice_ns = 1'000'000'000);
  std::uint32_t state(const std::string& name, wire::StateFamily family = wire::FAMILY_POINT_TO_POINT);
  // Depth-first; the root is there.
  std::uint32_t node(const std::string& name, std::uint32_t parent);
  // Slices [first, last), unlike on the wire.
  ViewBuilder& part(std::uint32_t node, std::uint32_t first, std::uint32_t last,
                    const std::vector<ViewShare>& shares, float known = 1, float gain = 1, float loss = 0.5F);
  // To be changed further.
  wire::ViewAnswer& raw() { return answer_; }
  wire::ViewAnswer answer() const;

 private:
  wire::ViewAnswer answer_;
};

struct ViewShape {
  std::size_t leaves = 20;
  std::size_t slices = 20;
  std::size_t states = 5;
  int most_children = 5;
  // How readily a stretch of a node is divided further, [0, 1].
  double restless = 0.7;
};
// Trees of uneven depth and width, and parts that tile them, in any order.
wire::ViewAnswer random_view(std::mt19937_64& rng, const ViewShape& shape);

// Racks of hosts of leaves, by sixteens, in which about `parts` parts tile leaves x slices.
wire::ViewAnswer cluster_view(std::mt19937_64& rng, std::size_t leaves, std::size_t slices,
                              std::size_t parts);

// The same as a report of a run that goes on brings it, its slices of equal length from `first_slice` on; as
// the temporal partition what all resources do in each slice.
wire::Report report_of(const wire::ViewAnswer& answer, std::int64_t first_slice = 0,
                       std::int64_t slice_ns = 100'000'000);

}  // namespace margay::support
