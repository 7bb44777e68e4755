#include "shift_sums.h"

#include <algorithm>
#include <cmath>

#include "moderated.h"

namespace margay::detect {
namespace {

constexpr std::uint32_t kShiftMemory = 64;  // spans
constexpr float kLeastRate = 1e-6f;

}  // namespace

void ShiftSums::lay_out(const NodeItems& items, std::size_t channels, std::size_t keep) {
  cells_.resize(channels);
  for (auto& of : cells_) {
    of.resize(std::min(of.size(), keep));
    of.resize(items.size());
  }
  blocks_.resize(std::min(blocks_.size(), keep));
  blocks_.resize(items.size(), 0);
  most_.resize(items.groups(), 0);
  seen_.resize(items.groups());
  pooled_.resize(channels);
  for (auto& of : pooled_) of.resize(items.groups());
  ended_.resize(items.groups() * kScales, 0.0f);
}

// Before much is known of long spans, they are to the item's shorter ones as those of its depth are.
ShiftSums::Spans ShiftSums::rates(std::size_t group, std::size_t item, std::size_t channel) const {
  const Spans &mine = cells_[channel][item].rate, &theirs = pooled_[channel][group];
  Spans out;
  for (std::size_t k = 0; k < kSpans; ++k) {
    const auto n = static_cast<float>(std::min(blocks_[item] >> k, kShiftMemory));
    const float own = n / (n + kOwnSamples);
    const float prior = k > 0 && theirs[k - 1] > 0 ? out[k - 1] * theirs[k] / theirs[k - 1] : theirs[k];
    out[k] = std::max(kLeastRate, own * mine[k] + (1 - own) * prior);
  }
  return out;
}

std::array<float, ShiftSums::kScales> ShiftSums::nats(const NodeItems& items, std::size_t item,
                                                      std::size_t channel, float residual) const {
  const std::size_t group = items.group(item);
  const Spans rates = this->rates(group, item, channel), &theirs = pooled_[channel][group];
  const float most = std::sqrt(kMostSquare * static_cast<float>(kBlock) * rates[0]);
  residual = std::clamp(residual, -most, most);
  std::array<float, kScales> out;
  for (std::size_t s = 0; s < kScales; ++s) {
    const auto slices = static_cast<float>(period(s));
    // What hangs together for as long as the span varies more over the longer time until it is told.
    const std::size_t k = span(s);
    const float growth = theirs[k - 1] > 0 ? std::max(1.0f, theirs[k] / theirs[k - 1]) : 1;
    out[s] = std::sqrt(2 / (slices * growth * rates[k])) * residual - static_cast<float>(kBlock) / slices;
  }
  return out;
}

// What a normal deviate would say of so many nats is less where its variance is known from few spans:
// Student's t.
float ShiftSums::student(std::size_t group, std::size_t scale, float nats) const {
  const float freedom = std::max(1.0f, seen_[group][span(scale)]);
  return (freedom + 1) / 2 * std::log1p(2 * nats / (freedom + 1));
}

void ShiftSums::take(const NodeItems& items, const Block& block, SliceIndex begin,
                     const std::vector<char>& except) {
  std::fill(ended_.begin(), ended_.end(), 0.0f);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!block.known[i] || except[i]) continue;
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      const float residual = block.apart[i][c];
      const auto more = nats(items, i, c, residual);
      for (std::size_t s = 0; s < kScales; ++s) {
        if (!speaks(items.group(i), s)) continue;
        Sum& sum = cells_[c][i].sums[s];
        sum.nats += more[s];
        if (sum.nats <= 0) {
          float& ended = ended_[items.group(i) * kScales + s];
          ended = std::max(ended, student(items.group(i), s, sum.peak));
          sum = {};
          continue;
        }
        if (sum.blocks <= 0) sum.begin = begin;
        sum.peak = std::max(sum.peak, sum.nats);
        sum.blocks += 1;
        sum.apart += block.apart[i][c], sum.own += block.own[i][c], sum.lost += block.lost[i][c];
      }
    }
  }
}

void ShiftSums::learn(const NodeItems& items, const Block& block, const std::vector<char>& except) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!block.known[i] || except[i]) continue;
    for (std::size_t c = 0; c < cells_.size(); ++c) learn(items.group(i), i, c, block.apart[i][c]);
    ++blocks_[i];
  }
  pool(items);
}

void ShiftSums::learn(std::size_t group, std::size_t item, std::size_t channel, float residual) {
  Cell& cell = cells_[channel][item];
  const Spans rates = this->rates(group, item, channel);
  for (std::size_t k = 0; k < kSpans; ++k) {
    float& part = cell.part[k];
    part += residual;
    const std::uint32_t seen = blocks_[item] >> k;
    if ((blocks_[item] + 1) >> k == seen) continue;
    float square = part * part / static_cast<float>(kBlock << k);
    if (static_cast<float>(seen) > kFreeSamples) square = std::min(square, kMostSquare * rates[k]);
    cell.rate[k] += (square - cell.rate[k]) / static_cast<float>(std::min(seen + 1, kShiftMemory));
    part = 0;
  }
}

// Of each depth, each item by as much as is known of it.
void ShiftSums::pool(const NodeItems& items) {
  std::fill(most_.begin(), most_.end(), 0);
  for (Spans& of : seen_) of.fill(0);
  for (auto& channel : pooled_)
    for (Spans& of : channel) of.fill(0);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t g = items.group(i);
    most_[g] = std::max(most_[g], blocks_[i]);
    for (std::size_t k = 0; k < kSpans; ++k) {
      const auto n = static_cast<float>(std::min(blocks_[i] >> k, kShiftMemory));
      seen_[g][k] += n;
      for (std::size_t c = 0; c < cells_.size(); ++c) pooled_[c][g][k] += n * cells_[c][i].rate[k];
    }
  }
  for (auto& channel : pooled_)
    for (std::size_t g = 0; g < most_.size(); ++g)
      for (std::size_t k = 0; k < kSpans; ++k)
        if (seen_[g][k] > 0) channel[g][k] /= seen_[g][k];
}

void ShiftSums::restart(std::size_t item) {
  for (auto& of : cells_) of[item].sums.fill({});
}

ShiftSums::Score ShiftSums::of(const NodeItems& items, std::size_t item, std::size_t channel,
                               std::size_t scale) const {
  const Sum& sum = cells_[channel][item].sums[scale];
  Score out;
  if (sum.blocks <= 0) return out;
  const float slices = sum.blocks * static_cast<float>(kBlock);
  out.nats = student(items.group(item), scale, sum.nats);
  out.begin = sum.begin;
  out.slices = slices;
  out.apart = sum.apart / slices;
  out.own = sum.own / slices;
  out.lost = sum.lost;
  return out;
}

}  // namespace margay::detect
