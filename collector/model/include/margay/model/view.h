// A point of view: by which attributes leaves are put into a hierarchy. Pure.
//
//     site/cluster/host/rank     host/core     rank mod 8     rank div 4/host     group/host
//
// A level is an attribute that leaves have; "ATTRIBUTE mod N" puts together those whose numbers leave the
// same rest, "ATTRIBUTE div N" N numbers in a row; "group" are groups that somebody names, a line each:
//
//     io: /node7 *rank0        # patterns (margay/base/resource_pattern.h) of paths in the usual view
//
// where a leaf is in the first group that names it, or in "others". Whatever a view says, a leaf is at the
// end of its path: of "rank", "process" and "thread" it lacks those that the leaf has follow its levels, of
// an imported leaf its own name. Cells are stored by leaf, so no event is read again for another view, and
// the same cells have the same sums: the share of a state in a node is the mean over the leaves below it.
//
// Errors: kInvalidArgument, a sentence that names the level, or the line of the groups. Thread safety: a
// value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"

namespace margay::model {

class View {
 public:
  static constexpr std::size_t kLongest = 512;  // bytes of the levels
  static constexpr std::size_t kMostLevels = 16;
  static constexpr std::size_t kLongestGroups = 64 << 10;  // bytes of the text of groups
  static constexpr std::size_t kMostPatterns = 4096;
  static constexpr const char* kGroup = "group";
  static constexpr const char* kOthers = "others";

  struct Level {
    enum class Of { kValue, kRest, kRow };
    std::string attribute;
    Of of = Of::kValue;
    std::uint64_t n = 1;  // of kRest, kRow
    bool operator==(const Level&) const = default;
  };
  struct Group {
    std::string name;
    std::vector<std::string> patterns;
    bool operator==(const Group&) const = default;
  };

  // The usual one: site, cluster, host, rank, process, thread, path. Leaves skip what they do not have;
  // "process" is the level of those that have no rank, "path" that of imported ones.
  View();
  // "" is the usual one. `groups` is wanted where there is the level "group", and only there.
  static Result<View> parse(std::string_view levels, std::string_view groups = {});

  bool is_usual() const { return usual_; }
  const std::vector<Level>& levels() const { return levels_; }
  const std::vector<Group>& groups() const { return groups_; }
  // As parse() reads it; "" of the usual one.
  std::string text() const;
  bool operator==(const View&) const = default;

 private:
  std::vector<Level> levels_;
  std::vector<Group> groups_;
  bool usual_ = true;
};

}  // namespace margay::model
