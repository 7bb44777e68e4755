// The other input: resource,slice,state,value, or resource,time,state,value.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "model_scan.h"
#include "model_times.h"

namespace margay::daemon::internal {
namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};
using Numbers = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

constexpr std::size_t kFields = 4;

// Records of RFC 4180, one at a time. Blanks around a field are not part of it, lines without any are
// skipped.
class Records {
 public:
  Records(std::string_view text, const Source& source) : text_(text), source_(source) {}

  // False at the end.
  Result<bool> next() {
    while (at_ < text_.size() && (is_blank(text_[at_]) || text_[at_] == '\n')) step();
    if (at_ == text_.size()) return false;
    line_ = next_line_;
    count_ = 0;
    for (bool more = true; more;) {
      std::string& field = fields_[std::min(count_, kFields - 1)];
      field.clear();
      while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
      if (at_ < text_.size() && text_[at_] == '"') {
        if (auto ok = quoted_field(field); !ok) return tl::unexpected(ok.error());
      } else {
        const std::size_t end = std::min(text_.find_first_of(",\n\"", at_), text_.size());
        if (end < text_.size() && text_[end] == '"')
          return source_.wrong(line_, "a quote inside a field that does not begin with one");
        field.assign(text_.substr(at_, end - at_));
        while (!field.empty() && is_blank(field.back())) field.pop_back();
        at_ = end;
      }
      if (field.size() > kMostModelField)
        return source_.wrong(line_, "a field of " + std::to_string(field.size()) + " bytes, at most " +
                                        std::to_string(kMostModelField));
      ++count_;
      more = at_ < text_.size() && text_[at_] == ',';
      if (at_ < text_.size()) step();
    }
    if (count_ == kFields) return true;
    return source_.wrong(line_, std::to_string(count_) + (count_ == 1 ? " field" : " fields") +
                                    ", expected 4: resource,slice,state,value");
  }
  std::uint64_t line() const { return line_; }  // where the record begins
  const std::string& field(std::size_t i) const { return fields_[i]; }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  void step() { next_line_ += text_[at_++] == '\n' ? 1 : 0; }

  Status quoted_field(std::string& field) {
    ++at_;
    for (;; step()) {
      if (at_ == text_.size()) return source_.wrong(line_, "a quoted field is not closed");
      if (text_[at_] != '"') {
        field += text_[at_];
        continue;
      }
      if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') break;
      field += text_[at_++];
    }
    ++at_;
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (at_ == text_.size() || text_[at_] == ',' || text_[at_] == '\n') return {};
    return source_.wrong(line_, "something follows a quoted field that is no comma");
  }

  std::string_view text_;
  const Source& source_;
  std::size_t at_ = 0;
  std::uint64_t next_line_ = 1, line_ = 1;
  std::size_t count_ = 0;
  std::array<std::string, kFields> fields_;
};

// The resources by their paths, in order of appearance; the root is node 0.
class Paths {
 public:
  explicit Paths(const Source& source) : source_(source), nodes_(1) {}

  // The leaf of that path, made if it is new.
  Result<std::uint32_t> leaf(const std::string& path, std::uint64_t line) {
    if (const auto known = spelt_.find(path); known != spelt_.end()) return known->second;
    std::uint32_t at = 0;
    std::size_t depth = 0;
    for (std::size_t begin = 0; begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const std::string name = path.substr(begin, end - begin);
      begin = end + 1;
      if (name.empty()) continue;  // "/a/b/" and "a//b" are "/a/b"
      if (nodes_[at].resource_line != 0)
        return source_.wrong(line, quoted(path) + " lies below a resource of line " +
                                       std::to_string(nodes_[at].resource_line) + ", " + quoted(text(at)) +
                                       ": only leaves have values");
      if (++depth > kMostModelDepth)
        return source_.wrong(line, quoted(path) + " is deeper than " + std::to_string(kMostModelDepth));
      auto child = child_of(at, name, line);
      if (!child) return child;
      at = *child;
    }
    Node& node = nodes_[at];
    if (!node.children.empty())
      return source_.wrong(line, quoted(path) + " is a resource here, but " +
                                     quoted(text(node.children.front())) + " lies below it (line " +
                                     std::to_string(nodes_[node.children.front()].line) +
                                     "): only leaves have values");
    if (node.resource_line == 0) node.resource_line = line;
    spelt_.emplace(path, at);
    return at;
  }

  // Depth first, children in order of appearance: number[node], and the parents and names by number.
  void finish(std::vector<std::uint32_t>& number, std::vector<NodeIndex>& parents,
              std::vector<std::string>& names) {
    number.assign(nodes_.size(), 0);
    std::vector<std::uint32_t> stack{0};
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      stack.pop_back();
      number[at] = static_cast<std::uint32_t>(parents.size());
      parents.push_back(at == 0 ? partition::kNoParent : NodeIndex(number[nodes_[at].parent]));
      names.push_back(std::move(nodes_[at].name));
      stack.insert(stack.end(), nodes_[at].children.rbegin(), nodes_[at].children.rend());
    }
  }
  std::size_t size() const { return nodes_.size(); }

 private:
  struct Node {
    std::uint32_t parent = 0;
    std::string name;
    std::uint64_t line = 0;           // of the first path that goes through it
    std::uint64_t resource_line = 0;  // where it has values; 0: nowhere
    std::vector<std::uint32_t> children;
  };

  Result<std::uint32_t> child_of(std::uint32_t parent, const std::string& name, std::uint64_t line) {
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    const auto [found, is_new] = children_.emplace(std::to_string(parent) + "/" + name, next);
    if (!is_new) return found->second;
    if (next >= kMostModelNodes)
      return source_.wrong(line, "more than " + std::to_string(kMostModelNodes) + " nodes",
                           ErrorCode::kLimit);
    nodes_.push_back({parent, name, line, 0, {}});
    nodes_[parent].children.push_back(next);
    return next;
  }
  std::string text(std::uint32_t node) const {
    std::string out;
    for (; node != 0; node = nodes_[node].parent) out.insert(0, "/" + nodes_[node].name);
    return out.empty() ? "/" : out;
  }

  const Source& source_;
  std::vector<Node> nodes_;
  Numbers spelt_;     // paths as they are written
  Numbers children_;  // "parent/name"
};

struct Entry {
  std::uint32_t node, state;
  std::int64_t slice;
  double value;
  std::uint64_t line;
  bool same_cell(const Entry& e) const { return node == e.node && state == e.state && slice == e.slice; }
};

class CsvModel {
 public:
  CsvModel(std::string_view text, const Source& source)
      : bytes_(text.size()), source_(source), records_(text, source), paths_(source) {}

  Result<Model> read() {
    for (bool first = true;; first = false) {
      const auto more = records_.next();
      if (!more) return tl::unexpected(more.error());
      if (!*more) break;
      if (first && is_header()) {
        timed_ = records_.field(0) == "resource" && records_.field(1) == "time" &&
                 records_.field(2) == "state" && records_.field(3) == "value";
        continue;
      }
      if (auto ok = take(); !ok) return tl::unexpected(ok.error());
    }
    if (entries_.empty()) return source_.wrong(records_.line(), "a header, and no rows");
    if (timed_)
      if (Status ok = number_times(); !ok) return tl::unexpected(ok.error());
    return build();
  }

 private:
  // Words where the numbers belong: nothing else can be meant.
  bool is_header() const {
    std::int64_t slice = 0;
    double value = 0;
    const char* wrong = read_value(records_.field(3), value);
    return !read_integer(records_.field(1), slice) && wrong != nullptr &&
           std::string_view(wrong) == "is not a number";
  }

  Status take_slice(Entry& e) {
    if (!read_integer(records_.field(1), e.slice) || e.slice < -kMostModelSlice || e.slice > kMostModelSlice)
      return source_.wrong(e.line,
                           "the slice, " + quoted(records_.field(1)) + ", is not an integer within +-2^53");
    const std::int64_t low = entries_.empty() ? e.slice : std::min(first_, e.slice);
    const std::int64_t high = entries_.empty() ? e.slice : std::max(last_, e.slice);
    if (static_cast<std::uint64_t>(high - low) >= kMostModelSlices)
      return source_.wrong(e.line,
                           "slice " + std::to_string(e.slice) + " makes it " +
                               std::to_string(high - low + 1) + " slices from " + std::to_string(low) +
                               " to " + std::to_string(high) + ", at most " +
                               std::to_string(kMostModelSlices),
                           ErrorCode::kLimit);
    first_ = low;
    last_ = high;
    return {};
  }

  // Which slice it is in is known once all times are.
  Status take_time(Entry& e) {
    if (read_seconds(records_.field(1), e.slice)) return {};
    return source_.wrong(
        e.line, "the time, " + quoted(records_.field(1)) + ", is not a number of seconds within +-2.5e9");
  }

  Status number_times() {
    std::vector<TimeAtLine> times;
    times.reserve(entries_.size());
    for (const Entry& e : entries_) times.push_back({e.slice, e.line});
    const auto steps = regular_steps(std::move(times), source_);
    if (!steps) return tl::unexpected(steps.error());
    for (Entry& e : entries_) e.slice = steps->slice_of(e.slice);
    first_ = 0;
    last_ = static_cast<std::int64_t>(steps->slices) - 1;
    times_ = Model::Times{TimeNs(steps->from), TimeNs(steps->to), TimeNs()};
    return {};
  }

  Status take() {
    const std::uint64_t line = records_.line();
    Entry e{0, 0, 0, 0, line};
    if (records_.field(0).empty()) return source_.wrong(line, "no resource");
    if (records_.field(2).empty()) return source_.wrong(line, "no state");
    if (Status ok = timed_ ? take_time(e) : take_slice(e); !ok) return ok;
    if (const char* wrong = read_value(records_.field(3), e.value))
      return source_.wrong(line, "the value, " + quoted(records_.field(3)) + ", " + wrong);
    const auto leaf = paths_.leaf(records_.field(0), line);
    if (!leaf) return tl::unexpected(leaf.error());
    e.node = *leaf;
    const auto [state, is_new] =
        states_.try_emplace(records_.field(2), static_cast<std::uint32_t>(state_names_.size()));
    if (is_new) state_names_.push_back(records_.field(2));
    if (state_names_.size() > kMostModelStates)
      return source_.wrong(line, "more than " + std::to_string(kMostModelStates) + " states",
                           ErrorCode::kLimit);
    e.state = state->second;
    entries_.push_back(e);
    return {};
  }

  Result<Model> build() {
    std::vector<std::uint32_t> number;
    std::vector<NodeIndex> parents;
    Model model;
    paths_.finish(number, parents, model.node_names);
    auto tree = partition::TreeShape::from_parents(parents);
    if (!tree) return source_.wrong(records_.line(), tree.error().message, tree.error().code);
    model.tree = std::move(*tree);
    model.state_names = std::move(state_names_);
    model.first_slice = SliceIndex(first_);
    model.times = times_;
    model.slices = static_cast<std::size_t>(last_ - first_ + 1);
    model.states = model.state_names.size();
    const std::size_t leaves = model.leaves();
    if (auto ok = source_.check_values(records_.line(), leaves, model.slices, model.states,
                                       bytes_ + entries_.size() * sizeof(Entry));
        !ok)
      return tl::unexpected(ok.error());

    std::vector<std::uint32_t> position(model.tree.size());
    for (std::uint32_t s = 0; s < leaves; ++s)
      position[model.tree.leaf_node(partition::LeafPosition(s)).value] = s;
    constexpr double kNothing = -1;  // no value is negative
    model.values.assign(leaves * model.slices * model.states, kNothing);
    for (const Entry& e : entries_) {
      const std::size_t t = static_cast<std::size_t>(e.slice - first_);
      double& v = model.values[(t * leaves + position[number[e.node]]) * model.states + e.state];
      if (v != kNothing) return twice(e, model.path(NodeIndex(number[e.node])));
      v = e.value;
    }
    std::replace(model.values.begin(), model.values.end(), kNothing, 0.0);
    return model;
  }

  tl::unexpected<Error> twice(const Entry& e, const std::string& path) const {
    const auto before =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& b) { return b.same_cell(e); });
    return source_.wrong(e.line, quoted(path) + ", slice " + std::to_string(e.slice) +
                                     ": this state has a value already, in line " +
                                     std::to_string(before->line));
  }

  std::size_t bytes_;
  const Source& source_;
  Records records_;
  Paths paths_;
  Numbers states_;
  std::vector<std::string> state_names_;
  std::vector<Entry> entries_;
  std::int64_t first_ = 0, last_ = 0;
  bool timed_ = false;  // there are times where slices would be: entries have ns there, until all are read
  std::optional<Model::Times> times_;
};

}  // namespace

Result<Model> parse_csv(std::string_view text, const Source& source) {
  return CsvModel(text, source).read();
}

}  // namespace margay::daemon::internal
