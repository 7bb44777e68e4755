#include "margay/partition/significant.h"

#include <algorithm>
#include <limits>
#include <new>
#include <unordered_map>

#include "significant_search.h"

namespace margay::partition {
namespace {

using Search = SignificantSearch;

SignificantP shown(const Search::Curve& curve) {
  SignificantP out;
  for (std::size_t i = 0; i < curve.known.size(); ++i) {
    const internal::Line& line = curve.known[i].line;
    QualityPoint point{curve.begin[i], line.gain, line.loss, line.parts};
    if (!out.points.empty()) {
      // They ascend; sums of a model's size may disagree in the last bits.
      point.gain = std::max(point.gain, out.points.back().gain);
      point.loss = std::max(point.loss, out.points.back().loss);
    }
    out.points.push_back(point);
  }
  out.complete = curve.complete;
  out.solves = curve.solves;
  out.node_share = curve.node_share;
  out.error = curve.error;
  return out;
}

tl::unexpected<Error> no_memory() {
  return fail(ErrorCode::kLimit, "partition: the system refused the memory of a search for significant p");
}

// Where no tables are kept there is nothing to search in.
Status check_tables(const Batch& model, const Search::Model& m) {
  if (model.keeps_tables()) return {};
  Batch::Options options;
  options.tree = m.tree;
  options.states = m.states;
  return fail(ErrorCode::kLimit, "partition: the search for significant p needs " +
                                     std::to_string(Batch::memory_needed(options, m.slices)) +
                                     " bytes for its tables, the memory budget is " +
                                     std::to_string(m.budget) + " bytes");
}

// The parts of one partition by what they cover, each with its place.
class Places {
 public:
  explicit Places(std::span<const Part> parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) places_[key(parts[i])] = i;
  }
  // Which of the parts given are among them.
  std::vector<bool> held(std::span<const Part> parts) const {
    std::vector<bool> out(places_.size(), false);
    for (const Part& part : parts) {
      const auto found = places_.find(key(part));
      if (found != places_.end()) out[found->second] = true;
    }
    return out;
  }
  std::size_t size() const { return places_.size(); }

 private:
  struct Key {
    std::uint32_t node;
    std::int64_t first, last;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      std::uint64_t h = k.node;
      for (const std::int64_t x : {k.first, k.last}) {
        h = (h ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
      }
      return h;
    }
  };
  static Key key(const Part& part) { return {part.node.value, part.first.value, part.last.value}; }
  std::unordered_map<Key, std::size_t, Hash> places_;
};

}  // namespace

Result<SignificantP> significant_p(Batch& model, const SearchOptions& options) {
  if (auto ok = check_tables(model, Search::model_of(model)); !ok) return tl::unexpected(ok.error());
  internal::Patience patience(options.go_on);
  try {
    if (auto& apart = Search::model_of(model).apart)
      return apart->points(std::numeric_limits<std::size_t>::max(), options.go_on);
    return shown(Search::exact(Search::model_of(model), 0, patience, {}));
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

Result<SignificantP> envelope(Batch& model, const EnvelopeOptions& options) {
  if (!(options.relative_error >= 0)) {
    return fail(ErrorCode::kInvalidArgument,
                "partition: the relative error of an envelope is negative or none");
  }
  internal::Patience patience(options.go_on);
  try {
    if (auto& apart = Search::model_of(model).apart)
      return apart->points(std::max<std::size_t>(options.most_solves, 2), options.go_on);
    return shown(Search::envelope(Search::model_of(model), options, patience));
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

double largest_jump(std::span<const QualityPoint> points) {
  if (points.empty()) return 0;
  const QualityPoint& whole = points.back();
  const auto quality = [&](const QualityPoint& point) {
    return (whole.gain != 0 ? point.gain / whole.gain : 0) - (whole.loss != 0 ? point.loss / whole.loss : 0);
  };
  double largest = 0, p = whole.p;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const double fall = quality(points[i]) - quality(points[i + 1]);
    if (fall > largest) {
      largest = fall;
      p = points[i].p;
    }
  }
  return p;
}

Result<std::vector<double>> strengths(Batch& model, const Partition& partition,
                                      const SearchOptions& options) {
  if (auto ok = internal::check_p(partition.p); !ok) return tl::unexpected(ok.error());
  Search::Model& m = Search::model_of(model);
  if (auto ok = check_tables(model, m); !ok) return tl::unexpected(ok.error());
  if (m.apart)
    return fail(ErrorCode::kInvalidArgument,
                "partition: strengths are of parts in time, or in space and time at once");
  const auto is_whole = [&](const Part& part) {
    const Part whole = m.part(m.temporal() ? kAllLeaves : m.tree.root(), 0, m.slices - 1);
    return part.node == whole.node && part.first == whole.first && part.last == whole.last;
  };
  const Places places(partition.parts);
  if (places.size() != partition.parts.size()) {
    return fail(ErrorCode::kInvalidArgument, "partition: the same part is there twice");
  }
  std::vector<double> out(partition.parts.size(), 1.0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (is_whole(partition.parts[i])) out[i] = std::numeric_limits<double>::infinity();
  }
  if (partition.p >= 1) return out;
  internal::Patience patience(options.go_on);
  try {
    std::vector<std::vector<bool>> held;
    const Search::Curve curve = Search::exact(m, partition.p, patience, [&](std::span<const Part> parts) {
      held.push_back(places.held(parts));
      return held.size() - 1;
    });
    if (!curve.complete) {
      return fail(ErrorCode::kTimeout, "partition: the search for strengths was ended before it was done");
    }
    std::vector<bool> gone(out.size(), false);
    for (std::size_t i = 1; i < curve.known.size(); ++i) {
      const auto& still = held[curve.known[i].id];
      for (std::size_t part = 0; part < out.size(); ++part) {
        if (still[part] || gone[part]) continue;
        gone[part] = true;
        out[part] = curve.begin[i];
      }
    }
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
  return out;
}

}  // namespace margay::partition
