// The sources of a run, those that are over, and the counters that they leave behind.
//
// What is over makes room: a run of weeks sees more processes than are ever there at once. A source is
// forgotten when it has ended, its goodbye is confirmed, and its agent has not spoken of it since; its
// counters stay with its leaves. One that said hello and never sent anything (a ghost) is forgotten when it
// has been silent for as long, or at once when its place is needed. Nothing is lost by it: one that comes
// back is asked for its hello again.
//
// Thread safety: none. Cost: O(log sources); forgetting O(sources).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "margay/ingest/options.h"
#include "margay/ingest/quota.h"
#include "margay/ingest/sender.h"

namespace margay::ingest {

// Sources that have made room, and the counters of their leaves: a cut must hold both, or neither.
struct Forgotten {
  std::map<SourceId, std::vector<std::uint32_t>> sources;  // and their streams
  std::map<LeafIndex, Account> former;                     // by leaf, all of its forgotten sources so far
};

class SourceTable {
 public:
  SourceTable(const Options& options, Quota& quota, MessageCounters& counters)
      : options_(options), quota_(quota), counters_(counters) {}

  std::map<SourceId, Source>& all() { return sources_; }
  const std::map<SourceId, Source>& all() const { return sources_; }
  // nullptr: it has not said hello, or is forgotten.
  Source* find(SourceId id);
  const Source* find(SourceId id) const;
  // A new one, which speaks for the first time; nullptr, and counted: there is no room for it.
  Source* add(SourceId id, const Sender& from);

  // Sources for whom nothing is open any more, and that have been silent for Options::forget_after.
  void forget_what_is_over(TimeNs now);
  // Of one that has ended and is forgotten, whose it was; nullptr: it is none of the newest kMostOver.
  std::string* owner_of_forgotten(SourceId id);
  // Since the last call.
  Forgotten take_forgotten() { return std::exchange(forgotten_, {}); }

  // By leaf, of `leaves`: of the sources that feed it, and of those that did.
  std::vector<Account> accounts(std::size_t leaves) const;
  void restore(std::vector<Account> former) { former_ = std::move(former); }

 private:
  static constexpr std::size_t kMostOver = 8192;
  void forget(std::map<SourceId, Source>::iterator it);
  bool make_room(TimeNs now);

  const Options& options_;
  Quota& quota_;
  MessageCounters& counters_;
  std::map<SourceId, Source> sources_;
  std::vector<Account> former_;  // by leaf, of sources that are forgotten
  Forgotten forgotten_;
  // Ended sources that are still answered for, should their agent not have heard that they are confirmed:
  std::deque<SourceId> over_;  // oldest first
  std::map<SourceId, std::string> over_owner_;
  TimeNs no_room_until_{};
};

}  // namespace margay::ingest
