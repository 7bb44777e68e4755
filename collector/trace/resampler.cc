#include "margay/trace/resampler.h"

namespace margay::trace {

Status Resampler::on_name(std::uint16_t index, const Name& name) {
  if (index != names_.size())
    return fail(ErrorCode::kInvalidArgument, "name " + std::to_string(index) + " is not the next one");
  names_.push_back(name);
  return cells_.add_name(name.kind, name.text, name.family);
}

Status Resampler::on_leaf(LeafIndex index, const Leaf& leaf) {
  if (index.value != leaves_.size())
    return fail(ErrorCode::kInvalidArgument, "leaf " + std::to_string(index.value) + " is not the next one");
  leaves_.push_back(leaf.attributes);
  return cells_.add_leaf(leaf.base);
}

Status Resampler::on_covered(TimeNs t) {
  covered_ = std::max(covered_, t);
  return {};
}

}  // namespace margay::trace
