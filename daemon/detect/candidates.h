// How probably each of those who may have caused a departure is one of them. Pure.
//
// Of each leaf is known how much longer than usual it is in the state that tells (*departure*, a share of the
// time since the onset). Those that are blamed and those that are not are two groups, each around its own
// mean, and what a node's leaves do in the mean varies as that of the others does among them: by Bayes' rule,
// with the sizes of the groups as the prior, a node's mean says how probably it is of the first (the E-step
// of a mixture of two normal distributions: Dempster, Laird and Rubin, 1977). Of blamed leaves that make up a
// node the node is asked, for that is what is blamed.
//
// It says how well the blamed are told from the others; not how sure it is that there is a departure, which
// is the alert's evidence. Cost: O(leaves). Thread safety: pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace margay::detect {

// `departure`: by leaf, NaN where it is not known. `groups`: each its leaves; the first `blamed` of them are
// the nodes that are blamed. Where these depart by less than `shows` more than the others, it is not this
// that tells them: then the blamed are it, and nobody else. No standard deviation of the others is believed
// to be below `least_deviation`. A probability of each, 0 to 1.
std::vector<double> probabilities(std::span<const double> departure,
                                  std::span<const std::vector<std::uint32_t>> groups, std::size_t blamed,
                                  double shows, double least_deviation);

}  // namespace margay::detect
