#include "margay/partition/blocks.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cell_check.h"
#include "lines.h"

namespace margay::partition {
namespace {

Status check(std::span<const double> numbers, const char* what, std::size_t leaves) {
  if (numbers.size() != leaves * leaves)
    return fail(ErrorCode::kInvalidArgument, std::string("blocks: ") + what + " has " +
                                                 std::to_string(numbers.size()) + " numbers, not those of " +
                                                 std::to_string(leaves) + " x " + std::to_string(leaves) +
                                                 " pairs");
  const auto bad = std::find_if(numbers.begin(), numbers.end(),
                                [](double one) { return !(one >= 0) || !std::isfinite(one); });
  if (bad == numbers.end()) return {};
  const auto at = static_cast<std::size_t>(bad - numbers.begin());
  return fail(ErrorCode::kInvalidArgument, std::string("blocks: ") + what + " of leaf " +
                                               std::to_string(at / leaves) + " to " +
                                               std::to_string(at % leaves) + " is negative or no number");
}

}  // namespace

// Of leaves to all nodes.
void Blocks::add_up(std::vector<double>& table) const {
  for (std::uint32_t i = 0; i < tree_.leaf_count(); ++i) {
    double* row = table.data() + at(tree_.leaf_node(LeafPosition(i)), NodeIndex(0));
    for (const NodeIndex l : tree_.post_order())
      for (const NodeIndex c : tree_.children(l)) row[l.value] += row[c.value];
  }
  for (const NodeIndex k : tree_.post_order())
    for (const NodeIndex c : tree_.children(k))
      for (std::size_t l = 0; l < size_; ++l) table[k.value * size_ + l] += table[c.value * size_ + l];
}

Result<Blocks> Blocks::create(TreeShape tree, std::span<const double> v, std::span<const double> w) {
  const std::size_t leaves = tree.leaf_count();
  if (tree.size() > kMostNodes)
    return fail(ErrorCode::kLimit,
                "blocks: " + std::to_string(tree.size()) + " nodes, at most " + std::to_string(kMostNodes));
  if (Status ok = check(v, "v", leaves); !ok) return tl::unexpected(ok.error());
  if (Status ok = check(w, "w", leaves); !ok) return tl::unexpected(ok.error());
  double most = 0;
  for (std::size_t i = 0; i < v.size(); ++i)
    if (w[i] > 0) most = std::max(most, v[i] / w[i]);
  Blocks out(std::move(tree));
  const std::size_t pairs = out.size_ * out.size_;
  // Of each pair of nodes: S, then the loss; I, then the gain; W.
  std::vector<double>&s = out.loss_, &information = out.gain_, &weight = out.best_;
  for (auto* table : {&s, &information, &weight}) table->assign(pairs, 0.0);
  double all = 0;
  for (std::uint32_t i = 0; i < leaves; ++i)
    for (std::uint32_t j = 0; j < leaves; ++j) {
      const double counts = w[i * leaves + j];
      if (!(counts > 0)) continue;  // as in batch.cc
      const std::size_t pair =
          out.at(out.tree_.leaf_node(LeafPosition(i)), out.tree_.leaf_node(LeafPosition(j)));
      const double value = most > 0 ? v[i * leaves + j] / most : 0;
      s[pair] = value, weight[pair] = counts, all += counts;
      information[pair] = internal::cell_information(std::span(&value, 1), counts);
    }
  for (auto* table : {&s, &information, &weight}) out.add_up(*table);
  out.tie_ = internal::default_tie(std::max(all, 1.0), 1);
  for (std::uint32_t k = 0; k < out.size_; ++k)
    for (std::uint32_t l = 0; l < out.size_; ++l) {
      const std::size_t pair = out.at(NodeIndex(k), NodeIndex(l));
      const double sum = s[pair], counts = weight[pair];
      const bool one = out.tree_.is_leaf(NodeIndex(k)) && out.tree_.is_leaf(NodeIndex(l));
      const double alike = sum > 0 ? sum * std::log2(sum / counts) : 0;
      out.loss_[pair] = one ? 0 : internal::real_loss(information[pair] - alike, out.tie_);
      out.gain_[pair] = (sum > 0 ? sum * std::log2(counts) : 0) - out.loss_[pair];
    }
  out.cut_.assign(pairs, Cut::kNone);
  return out;
}

void Blocks::find_best(double p, double price) {
  const double slack = internal::tie_slack(tie_);
  std::vector<double> of_children(size_);  // of k, for each l
  for (const NodeIndex k : tree_.post_order()) {
    double* best = best_.data() + at(k, NodeIndex(0));
    Cut* cut = cut_.data() + at(k, NodeIndex(0));
    const double *gain = gain_.data() + at(k, NodeIndex(0)), *loss = loss_.data() + at(k, NodeIndex(0));
    const bool from_is_leaf = tree_.is_leaf(k);
    if (!from_is_leaf) std::fill(of_children.begin(), of_children.end(), 0.0);
    for (const NodeIndex c : tree_.children(k))
      for (std::size_t l = 0; l < size_; ++l) of_children[l] += best_[c.value * size_ + l];
    for (const NodeIndex l : tree_.post_order()) {
      best[l.value] = p * gain[l.value] - (1 - p) * loss[l.value] - price;
      cut[l.value] = Cut::kNone;
      const auto better = [&](double sum, Cut how) {
        if (!(sum > best[l.value] + slack)) return;
        best[l.value] = sum;
        cut[l.value] = how;
      };
      if (!from_is_leaf) better(of_children[l.value], Cut::kFrom);
      if (tree_.is_leaf(l)) continue;
      double sum = 0;
      for (const NodeIndex c : tree_.children(l)) sum += best[c.value];
      better(sum, Cut::kTo);
    }
  }
}

BlockPartition Blocks::walk(double p) const {
  BlockPartition out;
  out.p = p;
  std::vector<std::pair<NodeIndex, NodeIndex>> open{{tree_.root(), tree_.root()}};
  while (!open.empty()) {
    const auto [k, l] = open.back();
    open.pop_back();
    const std::size_t pair = at(k, l);
    if (cut_[pair] == Cut::kNone) {
      out.blocks.push_back({k, l, loss_[pair], gain_[pair]});
      out.gain += gain_[pair], out.loss += loss_[pair];
      continue;
    }
    const auto children = tree_.children(cut_[pair] == Cut::kFrom ? k : l);
    for (auto c = children.rbegin(); c != children.rend(); ++c)
      open.push_back(cut_[pair] == Cut::kFrom ? std::pair(*c, l) : std::pair(k, *c));
  }
  return out;
}

BlockPartition Blocks::solve_at(double p, double price) {
  find_best(p, price);
  return walk(p);
}

Result<BlockPartition> Blocks::solve(double p) {
  if (auto ok = internal::check_p(p); !ok) return tl::unexpected(ok.error());
  return solve_at(p, tie_);
}

Result<BlockPartition> Blocks::solve(double p, std::size_t most) {
  auto out = solve(p);
  if (!out || out->blocks.size() <= most) return out;
  // At the higher price all is one block: nothing can be worth more.
  const std::size_t whole = at(tree_.root(), tree_.root());
  double low = std::log2(tie_), high = std::log2(gain_[whole] + 2 * loss_[whole] + 1);
  out = solve_at(p, std::exp2(high));
  for (int i = 0; i < kPriceSolves; ++i) {
    const double middle = (low + high) / 2;
    BlockPartition found = solve_at(p, std::exp2(middle));
    const bool fits = found.blocks.size() <= most;
    (fits ? high : low) = middle;
    if (fits) *out = std::move(found);
  }
  return out;
}

Result<Blocks::Found> Blocks::envelope(const EnvelopeOptions& options) {
  std::vector<BlockPartition> solved;
  const auto keep = [&](double p) {
    solved.push_back(solve_at(p, tie_));
    const BlockPartition& found = solved.back();
    return internal::Optimum{{found.gain, found.loss, found.blocks.size()}, p, solved.size() - 1};
  };
  const internal::Optimum whole = keep(1);
  const internal::Curve curve = internal::envelope_of(internal::Pricing(tie_, tie_ / 64), whole, options,
                                                      [&](double p, internal::Optimum& out) {
                                                        if (options.go_on && !options.go_on()) return false;
                                                        out = keep(p);
                                                        return true;
                                                      });
  Found out;
  out.complete = curve.complete;
  for (std::size_t i = 0; i < curve.known.size(); ++i) {
    out.partitions.push_back(std::move(solved[curve.known[i].id]));
    out.partitions.back().p = curve.begin[i];
  }
  return out;
}

}  // namespace margay::partition
