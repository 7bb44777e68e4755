// Which events of a run a list has: what EventQuery asks for, looked up once for each resource and name.
//
// Errors: kInvalidArgument, a sentence. Thread safety: none. Cost: a comparison for most events; for the
// first of each resource and name the patterns, and the regular expression, whose time is at most quadratic
// in the text.
#pragma once

#include <cstdint>
#include <functional>
#include <regex>
#include <string>
#include <vector>

#include "margay/query/event_list.h"
#include "view_tree.h"

namespace margay::daemon {

class EventFilter {
 public:
  // The query must outlive it.
  EventFilter(const EventQuery& query, const store::Resume& resume);

  // Whether the query makes sense for this run. REQUIRES: it does, of all that follows.
  Status check();
  bool wanted(LeafIndex leaf) const { return wanted_[leaf.value]; }
  // Whether the terms of resources name it, wherever it is.
  bool shows(LeafIndex leaf) const { return tree_.shows(leaf, query_.resources); }
  const std::string& path(LeafIndex leaf) const { return tree_.resource(leaf); }
  // But for how long it lasts.
  bool passes(const trace::Occurrence& o, const std::vector<trace::Name>& names);
  bool lasts_as_wanted(const trace::Occurrence& o) const;
  // So often a name was looked up so far.
  std::uint64_t looked_up() const { return looked_up_; }

 private:
  bool look_up(LeafIndex leaf, const trace::Name& name);

  const EventQuery& query_;
  const std::vector<model::Attributes> attributes_;
  const ViewTree tree_;
  std::vector<bool> wanted_;
  std::regex match_;
  // By leaf and name: 1 passes, 2 does not.
  std::vector<std::vector<std::uint8_t>> known_;
  std::uint64_t looked_up_ = 0;
};

// In the order of their begins; of the same begin the outer one first. Two that are in no order are the same
// in all that a row says.
bool starts_earlier(const trace::Occurrence& a, const trace::Occurrence& b);
bool is_longer(const trace::Occurrence& a, const trace::Occurrence& b);

// How far a reading goes beyond the end of a stretch, to know how long what is open there takes, and whether
// its end was lost.
TimeNs read_beyond(TimeNs to);
// kNotFound where no single events of a time before `to` are kept.
Status some_are_kept(const store::Archive& archive, TimeNs to);

}  // namespace margay::daemon
