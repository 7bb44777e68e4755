// What moderated, winsorized variances have in common (Smyth, Linear models and empirical Bayes methods,
// 2004).
#pragma once

namespace margay::detect {

// An own variance counts as much as that of the others after so many samples: degrees of freedom.
inline constexpr float kOwnSamples = 8;
// A square moves a variance by no more than so many times it, once it rests on more than so many samples.
inline constexpr float kMostSquare = 9, kFreeSamples = 3;

}  // namespace margay::detect
