#include "margay/scene/view_data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "margay/base/text.h"
#include "mixture.h"

namespace margay::scene {
namespace {

// Paths repeat names: a deep tree of long ones makes much of little.
constexpr std::size_t kMostPathBytes = std::size_t{1} << 28;

tl::unexpected<Error> corrupt(const std::string& what) {
  return fail(ErrorCode::kCorrupt, "the daemon's answer: " + what);
}
tl::unexpected<Error> too_many(const char* what, std::size_t n, std::size_t most) {
  return fail(ErrorCode::kLimit, "the daemon's answer: " + grouped(n) + " " + what + ", at most " +
                                     grouped(most) + " can be shown");
}
std::string nth(const char* what, std::size_t i) {
  return std::string(what) + " " + std::to_string(i);
}

std::string clean_name(const std::string& name) {
  return clean_utf8(name, kLongestName);
}

std::string root_path(const std::string& asked) {
  std::string path = clean_utf8(asked, 16 * kLongestName);
  while (path.ends_with('/')) path.pop_back();
  if (!path.starts_with('/')) path.insert(0, 1, '/');
  return path;
}

// Which slices are taken, by a node and those above it.
class Taken {
 public:
  explicit Taken(std::size_t slices) : words_(slices / 64 + 1) {}
  // False if one of them was taken before.
  bool take(std::uint32_t first, std::uint32_t last) {
    bool free = true;
    each(first, last, [&](std::uint64_t& word, std::uint64_t mask) {
      free = free && (word & mask) == 0;
      word |= mask;
    });
    return free;
  }
  void leave(std::uint32_t first, std::uint32_t last) {
    each(first, last, [](std::uint64_t& word, std::uint64_t mask) { word &= ~mask; });
  }

 private:
  template <class F>
  void each(std::uint32_t first, std::uint32_t last, F f) {
    for (std::uint32_t w = first / 64; w <= (last - 1) / 64; ++w) {
      std::uint64_t mask = ~std::uint64_t{0};
      if (w == first / 64) mask &= ~std::uint64_t{0} << (first % 64);
      if (w == (last - 1) / 64) mask &= ~std::uint64_t{0} >> (63 - (last - 1) % 64);
      f(words_[w], mask);
    }
  }
  std::vector<std::uint64_t> words_;
};

class Reader {
 public:
  explicit Reader(const wire::ViewAnswer& answer) : in_(answer) {}

  Result<ViewData> read() {
    if (!in_.error().empty()) return fail(ErrorCode::kUnavailable, clean_utf8(in_.error(), 4096));
    for (const auto step :
         {&Reader::head, &Reader::states, &Reader::times, &Reader::nodes, &Reader::parts, &Reader::tiling,
          &Reader::curve, &Reader::visits, &Reader::annotations, &Reader::messages})
      if (Status ok = (this->*step)(); !ok) return tl::unexpected(ok.error());
    return std::move(out_);
  }

 private:
  Status head() {
    out_.token = in_.token();
    out_.question = in_.question();
    out_.temporal = in_.question().partition() == wire::ViewQuestion::TEMPORAL;
    out_.policy = clean_name(in_.policy());
    out_.why = clean_utf8(in_.why(), 4096);
    out_.unit = clean_name(in_.unit());
    out_.zero = TimeNs(in_.zero_ns());
    out_.left_out = in_.left_out();
    out_.curve_complete = in_.curve_complete();
    attributes();
    constexpr int kMostNotes = 100;
    for (int i = 0; i < std::min(in_.notes_size(), kMostNotes); ++i)
      out_.notes.push_back(clean_utf8(in_.notes(i), 4096));
    out_.p = in_.p();
    out_.gain = in_.gain();
    out_.loss = in_.loss();
    out_.full = in_.full();
    if (!(out_.p >= 0 && out_.p <= 1)) return corrupt("p is not within 0 and 1");
    if (!std::isfinite(out_.gain) || !std::isfinite(out_.loss)) return corrupt("gain or loss is no number");
    if (!std::isfinite(out_.full) || out_.full < 0)
      return corrupt("what a full share stands for is no number");
    return {};
  }

  template <class Values>
  static Status room(const char* what, int n, std::size_t most, Values& out) {
    if (static_cast<std::size_t>(n) > most) return too_many(what, static_cast<std::size_t>(n), most);
    out.reserve(static_cast<std::size_t>(n));
    return {};
  }

  void attributes() {
    for (int i = 0; i < std::min(in_.attributes_size(), kMostAttributes); ++i)
      out_.attributes.push_back(clean_name(in_.attributes(i).name()));
    for (int i = 0; i < std::min(in_.views_size(), kMostAttributes); ++i)
      out_.views.push_back(clean_name(in_.views(i)));
  }

  Status states() {
    if (Status ok = room("states", in_.states_size(), kMostStates, out_.states); !ok) return ok;
    for (const wire::Name& name : in_.states()) {
      const int family = static_cast<int>(std::min<std::uint32_t>(name.family(), 1000));
      std::string text = clean_name(name.name());
      if (text.empty()) text = nth("state", out_.states.size());
      out_.states.push_back({std::move(text), wire::StateFamily_IsValid(family)
                                                  ? static_cast<wire::StateFamily>(family)
                                                  : wire::FAMILY_OTHER});
    }
    return {};
  }

  Status times() {
    const auto n = static_cast<std::size_t>(in_.boundaries_size());
    if (n < 2) return {};
    if (n - 1 > kMostSlices) return too_many("slices", n - 1, kMostSlices);
    out_.boundaries.reserve(n);
    for (const std::int64_t ns : in_.boundaries()) {
      if (!out_.boundaries.empty() && ns <= out_.boundaries.back().value)
        return corrupt(nth("boundary", out_.boundaries.size()) + " is not after the one before it");
      out_.boundaries.emplace_back(ns);
    }
    // All differences fit 64 bits then.
    std::int64_t whole = 0;
    if (__builtin_sub_overflow(out_.boundaries.back().value, out_.boundaries.front().value, &whole))
      return corrupt("its times are too far apart");
    return {};
  }

  // How many nodes of the answer lie above the one that was asked for: a daemon tells the way down to it.
  std::uint32_t way_down() const {
    const std::string path = root_path(in_.question().node());
    std::uint32_t node = 0;
    for (std::size_t at = 1; at < path.size();) {
      const std::size_t end = std::min(path.find('/', at), path.size());
      const auto next = static_cast<int>(node) + 1;
      if (next >= in_.nodes_size() || in_.nodes(next).parent() != node ||
          in_.nodes(next).leaves() != in_.nodes(0).leaves() ||
          clean_name(in_.nodes(next).name()) != path.substr(at, end - at))
        return 0;
      ++node;
      at = end + 1;
    }
    return node;
  }
  // Where a node of the answer is in what is made of it; those on the way down are all the root.
  std::uint32_t place_of(std::uint32_t node) const { return node <= way_ ? 0 : node - way_; }

  // Depth-first: the parent is the node before, or above that. What ends there gets its `end`.
  Status nodes() {
    const auto n = static_cast<std::size_t>(in_.nodes_size());
    if (n > kMostNodes) return too_many("nodes", n, kMostNodes);
    if (n == 0) return corrupt("it has no resources, not even a root");
    way_ = way_down();
    out_.nodes.resize(n - way_);
    std::vector<std::uint32_t> above;  // the path to the node before
    std::vector<std::uint32_t> children(n);
    std::uint64_t leaves = 0;
    std::size_t bytes = 0;
    for (std::uint32_t i = 0; i < out_.nodes.size(); ++i) {
      const wire::ViewNode& from = in_.nodes(static_cast<int>(i + way_));
      Node& node = out_.nodes[i];
      node.name = clean_name(from.name());
      node.parent = place_of(from.parent());
      if (i == 0 ? node.parent != 0 : std::find(above.rbegin(), above.rend(), node.parent) == above.rend())
        return corrupt(nth("node", i) + " does not follow its parent, depth first");
      while (i > 0 && above.back() != node.parent)
        if (Status ok = close(above, i, leaves); !ok) return ok;
      if (above.size() > kMostDepth) return too_many("levels", above.size(), kMostDepth);
      node.depth = static_cast<std::uint32_t>(above.size());
      node.first_leaf = static_cast<std::uint32_t>(leaves);
      node.leaf_count = from.leaves();
      if (i == 0) {
        // The node of another view is no node of this one.
        node.path = way_ == 0 && in_.question().has_view() ? "/" : root_path(in_.question().node());
      } else {
        const Node& parent = out_.nodes[node.parent];
        node.place = children[node.parent]++;
        node.path = parent.path.ends_with('/') ? parent.path : parent.path + "/";
        node.path += node.name;
      }
      const bool childless =
          i + 1 == out_.nodes.size() || in_.nodes(static_cast<int>(i + way_ + 1)).parent() != i + way_;
      if (childless && node.leaf_count == 1 && !from.resource().empty()) {
        node.resource = clean_utf8(from.resource(), 16 * kLongestName);
        out_.by_resource.push_back(i);
      }
      bytes += node.path.size() + node.resource.size();
      if (bytes > kMostPathBytes) return too_many("bytes of names", bytes, kMostPathBytes);
      if (childless) {
        if (node.leaf_count == 0 && i != 0) return corrupt(nth("node", i) + " has no leaves");
        leaves += node.leaf_count;
        if (leaves > kMostLeaves) return too_many("resources", leaves, kMostLeaves);
      }
      above.push_back(i);
    }
    while (!above.empty())
      if (Status ok = close(above, static_cast<std::uint32_t>(out_.nodes.size()), leaves); !ok) return ok;
    std::sort(out_.by_resource.begin(), out_.by_resource.end(), [this](std::uint32_t a, std::uint32_t b) {
      return out_.nodes[a].resource < out_.nodes[b].resource;
    });
    out_.child_begin.assign(out_.nodes.size() + 1, 0);
    for (std::size_t i = 0; i < out_.nodes.size(); ++i)
      out_.child_begin[i + 1] = out_.child_begin[i] + children[i];
    out_.child_list.resize(out_.nodes.size() - 1);
    for (std::uint32_t i = 1; i < out_.nodes.size(); ++i)
      out_.child_list[out_.child_begin[out_.nodes[i].parent] + out_.nodes[i].place] = i;
    return {};
  }

  Status close(std::vector<std::uint32_t>& above, std::uint32_t end, std::uint64_t leaves) {
    Node& node = out_.nodes[above.back()];
    node.end = end;
    if (leaves - node.first_leaf != node.leaf_count)
      return corrupt(nth("node", above.back()) + " says " + std::to_string(node.leaf_count) +
                     " leaves, and those below it have " + std::to_string(leaves - node.first_leaf));
    above.pop_back();
    return {};
  }

  Status parts() {
    const int n = in_.part_node_size();
    if (static_cast<std::size_t>(n) > kMostParts)
      return too_many("parts", static_cast<std::size_t>(n), kMostParts);
    for (const int size : {in_.part_first_size(), in_.part_last_size(), in_.part_gain_size(),
                           in_.part_loss_size(), in_.part_known_size(), in_.part_states_size()})
      if (size != n) return corrupt("the lists of its parts differ in length");
    if (in_.share_state_size() != in_.share_size()) return corrupt("the lists of shares differ in length");
    std::vector<std::uint64_t> begins(static_cast<std::size_t>(n) + 1);
    for (int i = 0; i < n; ++i) {
      begins[static_cast<std::size_t>(i) + 1] = begins[static_cast<std::size_t>(i)] + in_.part_states(i);
      if (place_of(in_.part_node(i)) >= out_.nodes.size())
        return corrupt(nth("part", static_cast<std::size_t>(i)) + " is of no node");
      if (in_.part_first(i) > in_.part_last(i) || in_.part_last(i) >= out_.slices())
        return corrupt(nth("part", static_cast<std::size_t>(i)) + " lies outside the slices");
      if (out_.temporal && place_of(in_.part_node(i)) != 0)
        return corrupt(nth("part", static_cast<std::size_t>(i)) +
                       " of a temporal partition is not of all resources");
    }
    if (begins.back() != static_cast<std::uint64_t>(in_.share_size()))
      return corrupt("its parts have more shares or fewer than there are");
    std::vector<int> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    const auto earlier = [&](int a, int b) {
      const std::uint32_t x = place_of(in_.part_node(a)), y = place_of(in_.part_node(b));
      return x != y ? x < y : in_.part_first(a) < in_.part_first(b);
    };
    if (!std::is_sorted(order.begin(), order.end(), earlier)) std::sort(order.begin(), order.end(), earlier);
    out_.parts.reserve(static_cast<std::size_t>(n));
    out_.shares.reserve(static_cast<std::size_t>(in_.share_size()));
    seen_.assign(out_.states.size(), -1);
    for (const int i : order)
      if (Status ok = part(i, begins[static_cast<std::size_t>(i)]); !ok) return ok;
    out_.part_begin.assign(out_.nodes.size() + 1, 0);
    for (const Part& p : out_.parts) ++out_.part_begin[p.node + 1];
    std::partial_sum(out_.part_begin.begin(), out_.part_begin.end(), out_.part_begin.begin());
    return {};
  }

  // What is known of it is what the filter leaves.
  void make_of_the_rest(Part& p) {
    p.weight = p.known;
    p.known = p.weight > 0 ? 1 : 0;
    if (p.weight > 0)
      for (std::size_t k = p.share_begin; k < p.share_end; ++k)
        out_.shares[k].share = std::min(1.0, out_.shares[k].share / p.weight);
  }

  Status part(int i, std::uint64_t begin) {
    const auto bad = [&](const char* what) {
      return corrupt(nth("part", static_cast<std::size_t>(i)) + what);
    };
    Part p;
    p.node = place_of(in_.part_node(i));
    p.first = in_.part_first(i);
    p.last = in_.part_last(i) + 1;
    p.gain = in_.part_gain(i);
    p.loss = in_.part_loss(i);
    p.known = in_.part_known(i);
    if (!std::isfinite(p.gain) || !std::isfinite(p.loss)) return bad(" has a gain or loss that is no number");
    if (!(p.known >= 0 && p.known <= 1 + kShareSlack)) return bad(" is known to more or less than a share");
    p.known = std::min(p.known, 1.0);
    p.share_begin = static_cast<std::uint32_t>(out_.shares.size());
    double sum = 0;
    for (std::uint64_t k = begin; k < begin + in_.part_states(i); ++k) {
      const std::uint32_t state = in_.share_state(static_cast<int>(k));
      const double share = in_.share(static_cast<int>(k));
      if (state >= out_.states.size()) return bad(" has an unknown state");
      if (seen_[state] == i) return bad(" has a state twice");
      seen_[state] = i;
      if (!(share >= 0 && share <= 1 + kShareSlack)) return bad(" has a share outside 0 and 1");
      sum += share;
      out_.shares.push_back({state, std::min(share, 1.0)});
    }
    // What is measured may have several kinds at once; a resource is in one state at a time.
    if (out_.unit.empty() && sum > 1 + kShareSlack) return bad(" has shares of more than all its time");
    p.share_end = static_cast<std::uint32_t>(out_.shares.size());
    std::stable_sort(out_.shares.begin() + p.share_begin, out_.shares.end(),
                     [](const StateShare& a, const StateShare& b) { return a.share > b.share; });
    if (out_.unit.empty() && in_.question().filter().of_the_rest()) make_of_the_rest(p);
    const internal::Mode mode = internal::mode_of(out_.shares_of(p), p.known, out_.states);
    p.mode = mode.state;
    p.strength = mode.strength;
    out_.parts.push_back(p);
    return {};
  }

  // No cell in two parts: none of a node's or an ancestor's parts may share a slice. No cell in none: then
  // the areas add up.
  Status tiling() {
    Taken taken(out_.slices());
    std::vector<std::uint32_t> above;
    const auto leave = [&] {
      for (const Part& p : out_.parts_of(above.back())) taken.leave(p.first, p.last);
      above.pop_back();
    };
    std::uint64_t area = 0;
    for (std::uint32_t i = 0; i < out_.nodes.size(); ++i) {
      while (!above.empty() && out_.nodes[above.back()].end <= i) leave();
      above.push_back(i);
      for (const Part& p : out_.parts_of(i)) {
        if (!taken.take(p.first, p.last))
          return corrupt("parts overlap at node " + std::to_string(i) + ", slices " +
                         std::to_string(p.first) + " to " + std::to_string(p.last - 1));
        area += std::uint64_t{p.last - p.first} * out_.nodes[i].leaf_count;
      }
    }
    const std::uint64_t whole = std::uint64_t{out_.leaves()} * out_.slices();
    if (area != whole)
      return corrupt("its parts leave " + grouped(whole - area) + " of " + grouped(whole) +
                     " cells uncovered");
    return {};
  }

  Status curve() {
    if (Status ok = room("values of p", in_.curve_size(), kMostParts, out_.curve); !ok) return ok;
    for (const wire::QualityPoint& point : in_.curve()) {
      const std::size_t i = out_.curve.size();
      if (!(point.p() >= 0 && point.p() <= 1) || (i > 0 && point.p() < out_.curve.back().p))
        return corrupt(nth("value", i) + " of p is out of range or order");
      if (!std::isfinite(point.gain()) || !std::isfinite(point.loss()))
        return corrupt(nth("value", i) + " of p has a gain or loss that is no number");
      out_.curve.push_back({point.p(), point.gain(), point.loss(), point.parts()});
    }
    return {};
  }

  Status visits() {
    if (!in_.has_visits()) return {};
    const wire::ViewVisits& v = in_.visits();
    const int n = v.node_size();
    if (Status ok = room("visits", n, kMostVisits, out_.visits); !ok) return ok;
    for (const int size :
         {v.state_size(), v.begin_ns_size(), v.length_ns_size(), v.depth_size(), v.flags_size()})
      if (size != n) return corrupt("the lists of its visits differ in length");
    if (n > 0 && out_.slices() == 0) return corrupt("it has visits, and no slices");
    for (int i = 0; i < n; ++i) {
      const auto bad = [&](const char* what) {
        return corrupt(nth("visit", static_cast<std::size_t>(i)) + what);
      };
      Visit to;
      to.node = place_of(v.node(i)), to.state = v.state(i), to.depth = v.depth(i);
      if (!is_leaf(to.node)) return bad(" is of no leaf");
      if (to.state >= out_.states.size()) return bad(" has an unknown state");
      if (to.depth > kMostDepth) return bad(" is too deep");
      if (!add_times(v.begin_ns(i), v.length_ns(i), to.begin, to.end)) return bad(" ends beyond all times");
      to.begun_before = v.flags(i) & 1, to.goes_on = v.flags(i) & 2, to.several_calls = v.flags(i) & 4;
      out_.visits.push_back(to);
    }
    std::stable_sort(out_.visits.begin(), out_.visits.end(), [](const Visit& a, const Visit& b) {
      if (a.node != b.node) return a.node < b.node;
      return a.begin != b.begin ? a.begin < b.begin : a.depth < b.depth;
    });
    out_.visit_begin.assign(out_.nodes.size() + 1, 0);
    for (const Visit& visit : out_.visits) ++out_.visit_begin[visit.node + 1];
    std::partial_sum(out_.visit_begin.begin(), out_.visit_begin.end(), out_.visit_begin.begin());
    return {};
  }

  // Since the first boundary. False beyond 64 bits.
  bool add_times(std::int64_t begin, std::uint64_t length, TimeNs& from, TimeNs& to) const {
    return length <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) &&
           !__builtin_add_overflow(out_.boundaries.front().value, begin, &from.value) &&
           !__builtin_add_overflow(from.value, static_cast<std::int64_t>(length), &to.value);
  }
  bool is_leaf(std::uint32_t node) const {
    return node < out_.nodes.size() && out_.nodes[node].end == node + 1;
  }

  Status annotations() {
    if (!in_.has_annotations()) return {};
    const wire::ViewAnnotations& v = in_.annotations();
    const int n = v.node_size();
    if (Status ok = room("annotations", n, kMostVisits, out_.annotations); !ok) return ok;
    if (Status ok = room("names of annotations", v.names_size(), kMostStates, out_.annotation_names); !ok)
      return ok;
    for (const int size : {v.name_size(), v.kind_size(), v.begin_ns_size(), v.length_ns_size(),
                           v.value_size(), v.depth_size()})
      if (size != n) return corrupt("the lists of its annotations differ in length");
    if (n > 0 && out_.slices() == 0) return corrupt("it has annotations, and no slices");
    for (const std::string& name : v.names()) out_.annotation_names.push_back(clean_name(name));
    for (int i = 0; i < n; ++i) {
      const auto bad = [&](const char* what) {
        return corrupt(nth("annotation", static_cast<std::size_t>(i)) + what);
      };
      Annotation to;
      to.node = place_of(v.node(i)), to.name = v.name(i), to.value = v.value(i), to.depth = v.depth(i);
      if (!is_leaf(to.node)) return bad(" is of no leaf");
      if (to.name >= out_.annotation_names.size()) return bad(" has an unknown name");
      if (v.kind(i) < 1 || v.kind(i) > 3) return bad(" is of an unknown kind");
      to.kind = static_cast<Annotation::Kind>(v.kind(i) - 1);
      if (to.depth > kMostDepth) return bad(" is too deep");
      if (!std::isfinite(to.value)) return bad(" has a value that is no number");
      if (!add_times(v.begin_ns(i), v.length_ns(i), to.begin, to.end)) return bad(" ends beyond all times");
      out_.annotations.push_back(to);
    }
    std::stable_sort(out_.annotations.begin(), out_.annotations.end(),
                     [](const Annotation& a, const Annotation& b) {
                       return std::tuple(a.node, a.kind, a.name, a.begin, a.depth) <
                              std::tuple(b.node, b.kind, b.name, b.begin, b.depth);
                     });
    return {};
  }

  Status messages() {
    if (!in_.has_messages()) return {};
    const wire::ViewMessages& v = in_.messages();
    const int n = v.from_size();
    if (Status ok = room("messages", n, kMostVisits, out_.messages); !ok) return ok;
    for (const int size :
         {v.to_size(), v.sent_ns_size(), v.took_ns_size(), v.bytes_size(), v.tag_size(), v.flags_size()})
      if (size != n) return corrupt("the lists of its messages differ in length");
    if (n > 0 && out_.slices() == 0) return corrupt("it has messages, and no slices");
    for (int i = 0; i < n; ++i) {
      Message to;
      to.from = place_of(v.from(i)), to.to = place_of(v.to(i)), to.bytes = v.bytes(i), to.tag = v.tag(i);
      if (!is_leaf(to.from) || !is_leaf(to.to))
        return corrupt(nth("message", static_cast<std::size_t>(i)) + " is of no leaf");
      if (__builtin_add_overflow(out_.boundaries.front().value, v.sent_ns(i), &to.sent.value) ||
          __builtin_add_overflow(to.sent.value, v.took_ns(i), &to.received.value))
        return corrupt(nth("message", static_cast<std::size_t>(i)) + " ends beyond all times");
      to.arrival_known = (v.flags(i) & 1) == 0;
      out_.messages.push_back(to);
    }
    std::stable_sort(out_.messages.begin(), out_.messages.end(),
                     [](const Message& a, const Message& b) { return a.sent < b.sent; });
    return {};
  }

  const wire::ViewAnswer& in_;
  ViewData out_;
  std::uint32_t way_ = 0;  // nodes above the one that was asked for
  std::vector<int> seen_;  // by state, the last part that has it
};

}  // namespace

std::span<const Visit> ViewData::visits_of(std::uint32_t node) const {
  if (std::size_t{node} + 1 >= visit_begin.size()) return {};
  return std::span(visits).subspan(visit_begin[node], visit_begin[node + 1] - visit_begin[node]);
}

TimeRange ViewData::range() const {
  return boundaries.empty() ? TimeRange{} : TimeRange{boundaries.front(), boundaries.back()};
}

double ViewData::seconds(std::size_t first, std::size_t last) const {
  return static_cast<double>((boundaries[last] - boundaries[first]).value) * 1e-9;
}

std::span<const StateShare> ViewData::shares_of(const Part& part) const {
  return std::span(shares).subspan(part.share_begin, part.share_end - part.share_begin);
}

std::span<const std::uint32_t> ViewData::children_of(std::uint32_t node) const {
  return std::span(child_list).subspan(child_begin[node], child_begin[node + 1] - child_begin[node]);
}

std::span<const Part> ViewData::parts_of(std::uint32_t node) const {
  return std::span(parts).subspan(part_begin[node], part_begin[node + 1] - part_begin[node]);
}

std::span<const Part> ViewData::parts_below(std::uint32_t node) const {
  return std::span(parts).subspan(part_begin[node], part_begin[nodes[node].end] - part_begin[node]);
}

std::size_t ViewData::slice_at(TimeNs time) const {
  const auto after = std::upper_bound(boundaries.begin() + 1, boundaries.end() - 1, time);
  return static_cast<std::size_t>(after - boundaries.begin()) - 1;
}

Result<ViewData> view_data_untrusted(const wire::ViewAnswer& answer) {
  return Reader(answer).read();
}

}  // namespace margay::scene
