// What a whole model costs: measuring, one solution, the exact list of significant p, the envelope. Prints
// processor time (others may use the machine) of one thread.
//   batch_bench LEAVES SLICES STATES [exact]
// The model: a root over nodes of 35 leaves. Every node has its own shares of time in the states, which
// change in a third of the slices, and every cell its own noise, so that there are hundreds of significant p.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <vector>

#include "margay/partition/significant.h"

using namespace margay;
using namespace margay::partition;

namespace {

double seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

template <class Call>
auto timed(const char* what, Call&& call) {
  const double start = seconds();
  auto result = call();
  std::printf("%-14s %8.2f ms", what, 1e3 * (seconds() - start));
  if (!result) {
    std::printf("  %s\n", result.error().message.c_str());
    std::exit(1);
  }
  return result;
}

void tell(const SignificantP& list) {
  std::printf("  %zu points, %zu solutions, %.1f of whole ones, error %.3g bits%s\n", list.points.size(),
              list.solves, list.node_share, list.error, list.complete ? "" : ", not complete");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "batch_bench LEAVES SLICES STATES [exact]\n");
    return 2;
  }
  const auto number = [&](int i) { return static_cast<std::size_t>(std::max(1, std::atoi(argv[i]))); };
  const std::size_t leaves = number(1), slices = number(2), states = number(3);
  const bool exact = argc > 4 && std::strcmp(argv[4], "exact") == 0;

  constexpr std::size_t kPerNode = 35;
  const std::size_t nodes = (leaves + kPerNode - 1) / kPerNode;
  std::vector<NodeIndex> parents{kNoParent};
  for (std::size_t n = 0; n < nodes; ++n) parents.push_back(NodeIndex(0));
  for (std::size_t s = 0; s < leaves; ++s) {
    parents.push_back(NodeIndex(static_cast<std::uint32_t>(1 + s / kPerNode)));
  }

  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> v(slices * leaves * states), w(leaves, 1.0), shares(nodes * states);
  for (std::size_t t = 0; t < slices; ++t) {
    for (std::size_t n = 0; n < nodes; ++n) {
      if (t > 0 && (t * 7 + n) % 3 != 0) continue;
      for (std::size_t x = 0; x < states; ++x) shares[n * states + x] = 0.2 + uniform(rng);
    }
    for (std::size_t s = 0; s < leaves; ++s) {
      double* cell = v.data() + (t * leaves + s) * states;
      double sum = 0;
      for (std::size_t x = 0; x < states; ++x) {
        cell[x] = shares[s / kPerNode * states + x] * (0.8 + 0.4 * uniform(rng));
        sum += cell[x];
      }
      for (std::size_t x = 0; x < states; ++x) cell[x] *= 0.95 / sum;
    }
  }
  std::vector<Column> columns;
  for (std::size_t t = 0; t < slices; ++t) {
    columns.push_back({std::span(v).subspan(t * leaves * states, leaves * states), w});
  }

  for (const Operator op : {Operator::kTemporal, Operator::kSpatiotemporal}) {
    std::printf("%s, %zu leaves x %zu slices x %zu states\n",
                op == Operator::kTemporal ? "temporal" : "spatiotemporal", leaves, slices, states);
    Batch::Options options;
    options.op = op;
    options.tree = *TreeShape::from_parents(parents);
    options.states = states;
    auto model = timed("create", [&] { return Batch::create(options, columns); });
    std::printf("\n");
    for (const double p : {0.2, 0.01}) {
      const auto partition = timed("solve", [&] { return model->solve(p); });
      std::printf("  p %.2f: %zu parts\n", p, partition->parts.size());
    }
    tell(*timed("envelope 1e-3", [&] { return envelope(*model); }));
    EnvelopeOptions fine;
    fine.relative_error = 1e-6;
    tell(*timed("envelope 1e-6", [&] { return envelope(*model, fine); }));
    if (op == Operator::kSpatiotemporal) {
      options.memory_budget_bytes = Batch::least_memory(options, slices);
      auto lean = timed("create", [&] { return Batch::create(options, columns); });
      std::printf("  %s\n", lean->keeps_tables() ? "the same" : "no tables kept");
      for (const double p : {0.2, 0.01}) {
        const auto partition = timed("solve", [&] { return lean->solve(p); });
        std::printf("  p %.2f: %zu parts\n", p, partition->parts.size());
      }
    }
    if (exact) tell(*timed("significant_p", [&] { return significant_p(*model); }));
  }
}
