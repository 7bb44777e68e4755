#include "synthetic_view.h"

#include <algorithm>
#include <numeric>

namespace margay::support {
namespace {

constexpr wire::StateFamily kFamilies[] = {wire::FAMILY_COMPUTE,    wire::FAMILY_POINT_TO_POINT,
                                           wire::FAMILY_COLLECTIVE, wire::FAMILY_WAIT,
                                           wire::FAMILY_ABSENT,     wire::FAMILY_UNKNOWN};

class Tiler {
 public:
  Tiler(std::mt19937_64& rng, ViewBuilder& out, std::size_t states, double restless)
      : rng_(rng),
        out_(out),
        states_(states),
        restless_(restless),
        children_(static_cast<std::size_t>(out.raw().nodes_size())) {
    for (int i = 1; i < out.raw().nodes_size(); ++i)
      children_[out.raw().nodes(i).parent()].push_back(static_cast<std::uint32_t>(i));
  }

  void tile(std::uint32_t node, std::uint32_t first, std::uint32_t last) {
    std::bernoulli_distribution divide(restless_), in_time(0.5);
    const bool can_time = last - first > 1, can_space = !children_[node].empty();
    if ((!can_time && !can_space) || !divide(rng_)) {
      tiles_.push_back({node, first, last});
    } else if (can_time && (!can_space || in_time(rng_))) {
      const std::uint32_t cut = std::uniform_int_distribution(first + 1, last - 1)(rng_);
      tile(node, first, cut);
      tile(node, cut, last);
    } else {
      for (const std::uint32_t child : children_[node]) tile(child, first, last);
    }
  }

  void children(std::uint32_t node, std::uint32_t first, std::uint32_t last) {
    for (const std::uint32_t child : children_[node]) tile(child, first, last);
  }

  void write() {
    std::shuffle(tiles_.begin(), tiles_.end(), rng_);
    for (const Tile& t : tiles_) {
      const std::vector<ViewShare> mix = shares();
      out_.part(t.node, t.first, t.last, mix, known_);
    }
  }

 private:
  struct Tile {
    std::uint32_t node, first, last;
  };

  // Of some states, in all at most what is known.
  std::vector<ViewShare> shares() {
    std::uniform_real_distribution<float> uniform(0, 1);
    known_ = uniform(rng_) < 0.2F ? uniform(rng_) : 1;
    std::vector<ViewShare> out;
    float left = known_;
    for (std::uint32_t s = 0; s < states_ && left > 0; ++s)
      if (uniform(rng_) < 0.6F) {
        out.push_back({s, left * uniform(rng_)});
        left -= out.back().share;
      }
    return out;
  }

  std::mt19937_64& rng_;
  ViewBuilder& out_;
  std::size_t states_;
  double restless_;
  float known_ = 1;
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<Tile> tiles_;
};

void grow(std::mt19937_64& rng, ViewBuilder& out, std::uint32_t parent, std::size_t leaves, int most_children,
          int depth) {
  std::uniform_int_distribution<int> children(1, most_children);
  const std::size_t n = std::min(leaves, static_cast<std::size_t>(children(rng)));
  std::vector<std::size_t> each(n, 1);
  for (std::size_t rest = leaves - n; rest > 0; --rest)
    ++each[std::uniform_int_distribution<std::size_t>(0, n - 1)(rng)];
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t child = out.node("n" + std::to_string(i), parent);
    if (each[i] > 1)
      grow(rng, out, child, each[i], depth > 8 ? static_cast<int>(each[i]) : most_children, depth + 1);
  }
}

void add_states(ViewBuilder& out, std::size_t states) {
  for (std::size_t s = 0; s < states; ++s)
    out.state("state" + std::to_string(s), kFamilies[s % std::size(kFamilies)]);
}

}  // namespace

ViewBuilder::ViewBuilder(std::size_t slices, std::int64_t slice_ns) {
  for (std::size_t i = 0; i <= slices; ++i) answer_.add_boundaries(static_cast<std::int64_t>(i) * slice_ns);
  answer_.add_nodes();
  answer_.set_p(0.5);
  answer_.set_policy("asked");
}

std::uint32_t ViewBuilder::state(const std::string& name, wire::StateFamily family) {
  wire::Name* const state = answer_.add_states();
  state->set_name(name);
  state->set_family(family);
  return static_cast<std::uint32_t>(answer_.states_size() - 1);
}

std::uint32_t ViewBuilder::node(const std::string& name, std::uint32_t parent) {
  wire::ViewNode* const node = answer_.add_nodes();
  node->set_name(name);
  node->set_parent(parent);
  return static_cast<std::uint32_t>(answer_.nodes_size() - 1);
}

ViewBuilder& ViewBuilder::part(std::uint32_t node, std::uint32_t first, std::uint32_t last,
                               const std::vector<ViewShare>& shares, float known, float gain, float loss) {
  answer_.add_part_node(node);
  answer_.add_part_first(first);
  answer_.add_part_last(last - 1);
  answer_.add_part_gain(gain);
  answer_.add_part_loss(loss);
  answer_.add_part_known(known);
  answer_.add_part_states(static_cast<std::uint32_t>(shares.size()));
  for (const ViewShare& s : shares) {
    answer_.add_share_state(s.state);
    answer_.add_share(s.share);
  }
  return *this;
}

wire::ViewAnswer ViewBuilder::answer() const {
  wire::ViewAnswer out = answer_;
  for (int i = 0; i < out.nodes_size(); ++i) out.mutable_nodes(i)->set_leaves(0);
  for (int i = out.nodes_size() - 1; i >= 0; --i) {
    wire::ViewNode* const node = out.mutable_nodes(i);
    if (node->leaves() == 0) node->set_leaves(1);
    wire::ViewNode* const parent = out.mutable_nodes(static_cast<int>(node->parent()));
    if (i > 0) parent->set_leaves(parent->leaves() + node->leaves());
  }
  return out;
}

wire::ViewAnswer random_view(std::mt19937_64& rng, const ViewShape& shape) {
  ViewBuilder out(shape.slices);
  add_states(out, shape.states);
  if (shape.leaves > 1) grow(rng, out, 0, shape.leaves, shape.most_children, 0);
  Tiler tiler(rng, out, shape.states, shape.restless);
  tiler.tile(0, 0, static_cast<std::uint32_t>(shape.slices));
  tiler.write();
  return out.answer();
}

wire::ViewAnswer cluster_view(std::mt19937_64& rng, std::size_t leaves, std::size_t slices,
                              std::size_t parts) {
  ViewBuilder out(slices);
  add_states(out, 8);
  std::vector<std::uint32_t> hosts;
  std::uint32_t rack = 0;
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    if (leaf % 256 == 0) rack = out.node("rack" + std::to_string(leaf / 256), 0);
    if (leaf % 16 == 0) hosts.push_back(out.node("host" + std::to_string(leaf / 16), rack));
    out.node("rank" + std::to_string(leaf), hosts.back());
  }
  // Phases that all hosts share, in each of which some are divided further.
  Tiler tiler(rng, out, 8, 0);
  const bool fine = parts >= 8 * leaves;
  const std::size_t phases = std::clamp<std::size_t>(parts / (fine ? leaves : hosts.size()), 1, slices);
  std::uniform_int_distribution<int> kind(0, 3);
  for (std::size_t phase = 0; phase < phases; ++phase) {
    const auto first = static_cast<std::uint32_t>(phase * slices / phases);
    const auto last = static_cast<std::uint32_t>((phase + 1) * slices / phases);
    for (const std::uint32_t host : hosts) {
      const int how = kind(rng);
      if (fine ? how < 2 : how == 0 && host % 16 == 0) {
        tiler.children(host, first, last);
      } else if (how == 2 && last - first > 1) {
        tiler.tile(host, first, first + 1);
        tiler.tile(host, first + 1, last);
      } else {
        tiler.tile(host, first, last);
      }
    }
  }
  tiler.write();
  return out.answer();
}

wire::Report report_of(const wire::ViewAnswer& answer, std::int64_t first_slice, std::int64_t slice_ns) {
  wire::Report out;
  out.set_run("synthetic");
  out.set_slice_ns(slice_ns);
  out.set_run_begin_ns(first_slice * slice_ns);
  out.set_slice_index(first_slice + answer.boundaries_size() - 2);
  out.set_watermark_ns((out.slice_index() + 1) * slice_ns);
  *out.mutable_states() = answer.states();
  for (int i = 0; i < answer.nodes_size(); ++i) {
    const wire::ViewNode& from = answer.nodes(i);
    wire::NodeBar& to = *out.add_nodes();
    to.set_leaves(from.leaves());
    to.set_path("/");
    if (i == 0) continue;
    const wire::NodeBar& parent = out.nodes(static_cast<int>(from.parent()));
    to.set_depth(parent.depth() + 1);
    to.set_path((from.parent() == 0 ? "" : parent.path()) + "/" + from.name());
  }
  wire::PartitionView& parts = *out.mutable_spatiotemporal();
  parts.set_p(answer.p());
  parts.set_gain(answer.gain());
  parts.set_loss(answer.loss());
  parts.set_first_slice(first_slice);
  parts.set_part_count(static_cast<std::uint32_t>(answer.part_node_size()));
  for (int i = 0; i < answer.part_node_size(); ++i)
    for (const std::uint32_t x : {answer.part_node(i), answer.part_first(i), answer.part_last(i)})
      parts.add_parts(x);
  *parts.mutable_part_gain() = answer.part_gain();
  *parts.mutable_part_loss() = answer.part_loss();
  *parts.mutable_part_known() = answer.part_known();
  *parts.mutable_part_states() = answer.part_states();
  *parts.mutable_share_state() = answer.share_state();
  *parts.mutable_share() = answer.share();
  wire::PartitionView& temporal = *out.mutable_temporal();
  temporal.set_p(answer.p());
  temporal.set_first_slice(first_slice);
  for (int k = 0; k + 1 < answer.boundaries_size(); ++k) {
    for (const int x : {0, k, k}) temporal.add_parts(static_cast<std::uint32_t>(x));
    temporal.add_part_gain(0);
    temporal.add_part_loss(0);
    temporal.add_part_known(1);
    temporal.add_part_states(1);
    temporal.add_share_state(0);
    temporal.add_share(1);
  }
  temporal.set_part_count(static_cast<std::uint32_t>(temporal.part_gain_size()));
  return out;
}

}  // namespace margay::support
