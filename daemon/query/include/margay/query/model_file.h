// The models that `margay partition` reads: who spends how much in which state, slice by slice, and the
// hierarchy of who. Two inputs, told apart by the first line (one with a comma is CSV):
//
//     text   S T X H                        leaves, slices, states, nodes: on the first line
//            H parents                      nodes 0 to S-1 are the leaves; the root's parent is -1
//            S*T*X values                   by leaf, then slice, then state
//     CSV    resource,slice,state,value     RFC 4180, with or without a header; what is missing is 0
//            resource,time,state,value      the same, with this header: the slice is the one that begins at
//                                           `time`, seconds, of any number of digits
//
// Times lie a step apart from each other, or several: the step is the mean of the smallest differences (all
// that are less than one and a half times the smallest), and no time may be off by more than a hundredth of
// it. A slice lasts from its time to the next; the model has `times`, counted from 0. A single time is a
// slice of one second.
//
// Values are finite and not negative. Where a row (the states of one leaf in one slice) sums to more than 1,
// all values are divided by the largest such sum, `unit`: the measures of partition.h are linear in the
// values, so they are those of the file once multiplied by `unit`. Every cell weighs 1.
//
// Errors: kInvalidArgument for what is wrong with the text and kLimit for what is too large for the bounds
// below, each beginning "NAME:LINE: ". Sizes are checked before anything is allocated for them, and what is
// allocated is in proportion to the text or within the budget. Pure, but for read_input(). Thread safety:
// functions are safe. Cost: linear in the text and in S*T*X.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/result.h"
#include "margay/partition/tree_shape.h"

namespace margay::daemon {

inline constexpr std::uint64_t kMostModelNodes = 1u << 21;
inline constexpr std::uint64_t kMostModelSlices = 1'000'000;
inline constexpr std::uint64_t kMostModelStates = 65536;
inline constexpr std::size_t kMostModelDepth = 64;          // CSV: names in a path
inline constexpr std::size_t kMostModelField = 4096;        // CSV: bytes of a field
inline constexpr std::int64_t kMostModelSlice = 1ll << 53;  // CSV: slices lie within -this to this
inline constexpr double kMostModelSeconds = 2.5e9;          // CSV: times lie within -this to this
inline constexpr double kMostModelValue = 1e280;            // so that no sum and no measure overflows

struct Model {
  partition::TreeShape tree = partition::TreeShape::flat(0);
  std::size_t slices = 0;
  std::size_t states = 0;
  SliceIndex first_slice{0};
  std::vector<double> values;  // [slice][leaf by position][state]; each row sums to at most 1 (to 1e-9)
  double unit = 1;             // what the values were divided by
  // [slice][leaf by position]: the part of the slice in which the leaf was there and observed; empty: 1.
  std::vector<double> weights;
  // The time that the slices cut, of models that were made of one; and the time that it is counted from.
  struct Times {
    TimeNs from{}, to{}, zero{};
  };
  std::optional<Times> times;
  // CSV only: each node's own name (the root's is empty), and the states'.
  std::vector<std::string> node_names;
  std::vector<std::string> state_names;
  // By position, where the tree is not the usual view's: each leaf's path there; else empty.
  std::vector<std::string> resources;
  // The same positions in the order of the usual view: what is sampled there is sampled alike in each.
  std::vector<std::uint32_t> usual_order;

  std::size_t leaves() const { return tree.leaf_count(); }
  std::size_t depth() const;  // steps from the root to the deepest leaf
  bool has_names() const { return !node_names.empty(); }
  // "/site/host", the root "/"; REQUIRES has_names().
  std::string path(NodeIndex node) const;
  // What a leaf is called in the usual view; REQUIRES has_names().
  std::string resource(std::size_t position) const {
    return resources.empty()
               ? path(tree.leaf_node(partition::LeafPosition(static_cast<std::uint32_t>(position))))
               : resources[position];
  }
  // The i-th leaf of the usual view.
  std::size_t in_usual_order(std::size_t i) const { return usual_order.empty() ? i : usual_order[i]; }
  // The path or, in a model without names, "leaf 3" or "node 7".
  std::string label(NodeIndex node) const;
  std::string state_label(std::size_t state) const;
  // Begin of a slice, from `zero` on; REQUIRES times.
  DurationNs begin_of(SliceIndex slice) const;
};

// Divides all values by the largest sum of a row, where that is more than 1.
void normalise(Model& model);

// `name` begins the errors. The values may take memory_bytes.
Result<Model> parse_model(std::string_view text, const std::string& name, std::uint64_t memory_bytes);

// Whether a file that begins with these bytes can be meant as a model: its first line has a comma, or is of
// four integers.
bool looks_like_model(std::string_view head);

// The bytes of a file; of standard input for "-". Errors: kNotFound, kIo, and kLimit beyond `most` bytes.
Result<std::string> read_input(const std::string& path, std::uint64_t most);

}  // namespace margay::daemon
