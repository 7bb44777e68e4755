// A model for `margay partition`: what is read is whole and within its bounds, or is refused with a sentence
// that names file and line; and memory stays within the budget and the size of the input.
#include "margay/query/model_file.h"

#include <cmath>

#include "fuzz.h"

using margay::daemon::Model;

namespace {

constexpr std::uint64_t kBudget = 1u << 20;

void check_model(const Model& m) {
  const std::size_t leaves = m.leaves();
  FUZZ_CHECK(leaves >= 1 && m.slices >= 1 && m.states >= 1, "there is something");
  FUZZ_CHECK(m.values.size() == leaves * m.slices * m.states, "every cell has its values");
  FUZZ_CHECK(m.values.size() * sizeof(double) <= kBudget, "the budget holds");
  FUZZ_CHECK(std::isfinite(m.unit) && m.unit >= 1, "the unit is a number");
  for (std::size_t row = 0; row < m.values.size(); row += m.states) {
    double sum = 0;
    for (std::size_t x = 0; x < m.states; ++x) {
      FUZZ_CHECK(m.values[row + x] >= 0, "no value is negative");
      sum += m.values[row + x];
    }
    FUZZ_CHECK(sum <= 1 + 1e-9, "rows are proportions");
  }
  FUZZ_CHECK(m.depth() < m.tree.size(), "the hierarchy ends");
  if (!m.has_names()) return;
  FUZZ_CHECK(m.node_names.size() == m.tree.size(), "every node has a name");
  FUZZ_CHECK(m.state_names.size() == m.states, "every state has a name");
  for (std::uint32_t k = 0; k < m.tree.size(); ++k) {
    const margay::NodeIndex node(k);
    FUZZ_CHECK(m.path(node).starts_with("/"), "a path begins at the root");
    FUZZ_CHECK(node == m.tree.root() || m.tree.parent(node) < node, "parents come first");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model = margay::daemon::parse_model(margay::fuzz::text_of(data, size), "file", kBudget);
  if (model) {
    check_model(*model);
    return 0;
  }
  const std::string& e = model.error().message;
  FUZZ_CHECK(e.starts_with("file:") && e.size() > 6 && e[5] >= '1' && e[5] <= '9', "an error names its line");
  FUZZ_CHECK(e.size() < 1024, "an error is a sentence");
  FUZZ_CHECK(e.find('\n') == std::string::npos && e.find('\x1b') == std::string::npos, "and safe to print");
  return 0;
}
