// What a viewer wants to look at (wire::ViewQuestion), decoded and checked. Pure.
//
// Errors: kInvalidArgument, a sentence that begins with the field. Whether nodes, states and times exist is
// for the archive to say (view_model.h). Thread safety: values and functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/model/view.h"
#include "margay/partition/batch.h"
#include "margay/slicer/operator.h"
#include "margay/wire/filter.h"
#include "margay/wire/view.pb.h"

namespace margay::daemon {

struct ViewRequest {
  static constexpr std::uint32_t kMostSlices = 1000;
  static constexpr std::uint32_t kUsualSlices = 256;  // at most, where the viewer leaves it to the daemon
  static constexpr int kMostStates = 256;             // with the terms of the filter
  static constexpr std::uint32_t kMostVisits = 65'536;
  static constexpr std::size_t kLongestName = 128;  // of a state
  static constexpr std::size_t kLongestNode = 2048;
  static constexpr std::size_t kLongestMeasure = 256;

  enum class Policy { kNoise, kJump };

  std::uint64_t token = 0;
  bool newest = true;               // the newest slices of a level; else [from, to)
  TimeNs from{}, to{};              // trace time
  std::uint32_t slices = 0;         // 0: the daemon chooses
  DurationNs slice{};               // of the level, with `newest`; 0: the finest
  model::View view;                 // the hierarchy
  wire::View view_terms;            // that it is made of
  std::string node;                 // path, in the view or in the usual one; "": all
  std::vector<std::string> states;  // ascending, none twice; none: all
  wire::RunFilter filter;
  wire::Filter filter_terms;  // that it is made of
  slicer::Operator op;
  partition::Operator cuts = partition::Operator::kSpatiotemporal;
  std::optional<double> p;
  Policy policy = Policy::kNoise;  // without p
  bool curve = false;
  std::uint32_t visits = 0;  // single ones, if there are no more
};

// The same in the question's words.
wire::ViewQuestion::Partition cuts_on_the_wire(partition::Operator cuts);

Result<model::View> view_untrusted(const wire::View& view);

Result<ViewRequest> decode_view_untrusted(const wire::ViewQuestion& question);

}  // namespace margay::daemon
