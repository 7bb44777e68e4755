#include "chance.h"

namespace margay::bench {

using F = model::StateFamily;

std::shared_ptr<detect::Topology> topology_of(const Shape& shape, const std::vector<std::string>& states) {
  auto t = std::make_shared<detect::Topology>();
  std::vector<model::Attributes> leaves;
  for (std::uint32_t r = 0; r < shape.ranks; ++r)
    leaves.push_back({{"cluster", "c" + std::to_string(shape.cluster(r))},
                      {"host", "m" + std::to_string(shape.machine(r))},
                      {"rank", std::to_string(r)}});
  t->hierarchy = model::Hierarchy(leaves);
  t->states = {{"Absent", F::kAbsent}, {"Unknown", F::kUnknown}, {"Compute", F::kCompute}};
  for (const auto& s : states) t->states.push_back({s, F::kOther});
  return t;
}

}  // namespace margay::bench
