// The plain input: S T X H, parents, values.
#include <algorithm>
#include <array>
#include <optional>

#include "model_scan.h"

namespace margay::daemon::internal {
namespace {

// Words between blanks, and the line of the last one.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  std::optional<std::string_view> next() {
    std::size_t begin = 0;
    for (; begin < rest_.size() && is_blank(rest_[begin]); ++begin) line_ += rest_[begin] == '\n' ? 1 : 0;
    std::size_t end = begin;
    while (end < rest_.size() && !is_blank(rest_[end])) ++end;
    if (begin == end) {
      rest_ = {};
      return std::nullopt;
    }
    const std::string_view word = rest_.substr(begin, end - begin);
    rest_.remove_prefix(end);
    return word;
  }
  std::uint64_t line() const { return line_; }
  std::size_t bytes_left() const { return rest_.size(); }
  bool at_end_of_line() const {
    const std::size_t next = rest_.find_first_not_of(" \t\r\v\f");
    return next == std::string_view::npos || rest_[next] == '\n';
  }

 private:
  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  std::string_view rest_;
  std::uint64_t line_ = 1;
};

struct Sizes {
  std::uint64_t leaves = 0, slices = 0, states = 0, nodes = 0;
  std::uint64_t values() const { return leaves * slices * states; }
};

Result<Sizes> read_sizes(Words& words, const Source& source) {
  struct Size {
    const char* what;
    std::uint64_t most;
  };
  constexpr std::array<Size, 4> kSizes = {{{"S (leaves)", kMostModelNodes},
                                           {"T (slices)", kMostModelSlices},
                                           {"X (states)", kMostModelStates},
                                           {"H (nodes)", kMostModelNodes}}};
  std::array<std::uint64_t, 4> read{};
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    // Four numbers on one line: a file of another kind is told apart here, and a forgotten one as well.
    if (i > 0 && words.at_end_of_line())
      return source.wrong(words.line(), "the first line must be S T X H (leaves, slices, states, nodes); " +
                                            std::string(kSizes[i].what) + " is missing");
    const auto word = words.next();
    std::int64_t n = 0;
    if (!word || !read_integer(*word, n))
      return source.wrong(words.line(),
                          "the first line must be S T X H (leaves, slices, states, nodes), or "
                          "resource,slice,state,value; found " +
                              quoted(word.value_or("")));
    if (n < 1 || static_cast<std::uint64_t>(n) > kSizes[i].most)
      return source.wrong(words.line(), std::string(kSizes[i].what) + " is " + std::to_string(n) +
                                            ", not 1 to " + std::to_string(kSizes[i].most));
    read[i] = static_cast<std::uint64_t>(n);
  }
  if (!words.at_end_of_line())
    return source.wrong(words.line(), "more than four numbers on the first line, which must be S T X H");
  const Sizes sizes{read[0], read[1], read[2], read[3]};
  if (sizes.nodes < sizes.leaves)
    return source.wrong(words.line(), std::to_string(sizes.nodes) + " nodes (H) cannot hold " +
                                          std::to_string(sizes.leaves) + " leaves (S)");
  return sizes;
}

// The hierarchy, with the line of each node for what is found wrong only later.
struct Parents {
  std::vector<NodeIndex> parent;
  std::vector<std::uint64_t> line;
};

Result<Parents> read_parents(Words& words, const Sizes& sizes, const Source& source) {
  Parents out;
  const auto most =
      static_cast<std::size_t>(std::min<std::uint64_t>(sizes.nodes, words.bytes_left() / 2 + 1));
  out.parent.reserve(most);
  out.line.reserve(most);
  std::optional<std::size_t> root;
  for (std::size_t k = 0; k < sizes.nodes; ++k) {
    const auto word = words.next();
    const std::string node = "node " + std::to_string(k);
    if (!word)
      return source.wrong(words.line(), "only " + std::to_string(k) +
                                            " parents of H = " + std::to_string(sizes.nodes) +
                                            ": the parent of " + node + " is missing");
    std::int64_t p = 0;
    if (!read_integer(*word, p))
      return source.wrong(words.line(),
                          "the parent of " + node + ", " + quoted(*word) + ", is not an integer");
    if (p < -1 || p >= static_cast<std::int64_t>(sizes.nodes))
      return source.wrong(words.line(), "the parent of " + node + " is " + std::to_string(p) +
                                            ", not -1 (the root) or a node, 0 to " +
                                            std::to_string(sizes.nodes - 1));
    if (p >= 0 && static_cast<std::uint64_t>(p) < sizes.leaves)
      return source.wrong(words.line(),
                          "the parent of " + node + " is " + std::to_string(p) +
                              ", which is a leaf: leaves are 0 to S-1 = " + std::to_string(sizes.leaves - 1));
    if (p == -1 && root)
      return source.wrong(words.line(), "two roots: " + node + " has parent -1, and so has node " +
                                            std::to_string(*root) + " (line " +
                                            std::to_string(out.line[*root]) + ")");
    if (p == -1) root = k;
    out.parent.push_back(p == -1 ? partition::kNoParent : NodeIndex(static_cast<std::uint32_t>(p)));
    out.line.push_back(words.line());
  }
  if (!root) return source.wrong(words.line(), "no root: no node has parent -1");
  return out;
}

Result<partition::TreeShape> build_tree(const Parents& parents, const Sizes& sizes, const Source& source) {
  const std::size_t n = parents.parent.size();
  std::vector<bool> has_child(n, false);
  for (const NodeIndex p : parents.parent)
    if (p != partition::kNoParent) has_child[p.value] = true;
  for (std::size_t k = sizes.leaves; k < n; ++k)
    if (!has_child[k])
      return source.wrong(parents.line[k],
                          "node " + std::to_string(k) +
                              " has no child, but leaves are 0 to S-1 = " + std::to_string(sizes.leaves - 1));
  // Up from every node; a walk that meets itself is a cycle. Each node is walked over once.
  std::vector<std::uint32_t> walk(n, 0);
  for (std::uint32_t k = 0; k < n; ++k) {
    NodeIndex at(k);
    while (at != partition::kNoParent && walk[at.value] == 0) {
      walk[at.value] = k + 1;
      at = parents.parent[at.value];
    }
    if (at != partition::kNoParent && walk[at.value] == k + 1)
      return source.wrong(parents.line[at.value],
                          "cycle: node " + std::to_string(at.value) + " is its own ancestor");
  }
  auto tree = partition::TreeShape::from_parents(parents.parent);
  if (!tree) return source.wrong(1, tree.error().message, tree.error().code);
  return tree;
}

std::string where(std::uint64_t index, const Sizes& sizes) {
  return "value " + std::to_string(index) + " (leaf " + std::to_string(index / sizes.states / sizes.slices) +
         ", slice " + std::to_string(index / sizes.states % sizes.slices) + ", state " +
         std::to_string(index % sizes.states) + ")";
}

}  // namespace

Result<Model> parse_text(std::string_view text, const Source& source) {
  Words words(text);
  const auto sizes = read_sizes(words, source);
  if (!sizes) return tl::unexpected(sizes.error());
  if (auto ok = source.check_values(words.line(), sizes->leaves, sizes->slices, sizes->states, text.size());
      !ok)
    return tl::unexpected(ok.error());
  const auto parents = read_parents(words, *sizes, source);
  if (!parents) return tl::unexpected(parents.error());
  auto tree = build_tree(*parents, *sizes, source);
  if (!tree) return tl::unexpected(tree.error());

  Model model;
  model.tree = std::move(*tree);
  model.slices = sizes->slices;
  model.states = sizes->states;
  const std::uint64_t count = sizes->values();
  // A value takes two bytes at least: where the text is shorter than that it is read for its end only.
  const bool fits = count <= words.bytes_left() / 2 + 1;
  if (fits) model.values.resize(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto word = words.next();
    if (!word)
      return source.wrong(words.line(), "only " + std::to_string(i) + " values of S*T*X = " +
                                            std::to_string(count) + ": " + where(i, *sizes) + " is missing");
    double value = 0;
    if (const char* wrong = read_value(*word, value))
      return source.wrong(words.line(), where(i, *sizes) + ", " + quoted(*word) + ", " + wrong);
    if (!fits) continue;
    const std::uint64_t x = i % sizes->states, row = i / sizes->states;
    const std::uint64_t t = row % sizes->slices, leaf = row / sizes->slices;
    model.values[(t * sizes->leaves + leaf) * sizes->states + x] = value;
  }
  if (const auto more = words.next())
    return source.wrong(words.line(),
                        "too many values: S*T*X = " + std::to_string(count) + ", and then " + quoted(*more));
  return model;
}

}  // namespace margay::daemon::internal
