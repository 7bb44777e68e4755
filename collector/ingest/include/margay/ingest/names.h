// Names that sources tell: states of the run's table, and what the operator needs of the others.
//
// A state that is known costs nothing more, however full the table is; one that finds no room is kUnknown,
// and counted. Thread safety: none. Cost: O(log states) a name.
#pragma once

#include <string>

#include "margay/ingest/leaf_table.h"

namespace margay::ingest {

class Names {
 public:
  Names(const Options& options, model::StateTable& states, const LeafTable& leaves, Quota& quota,
        MessageCounters& counters)
      : options_(options), states_(states), leaves_(leaves), quota_(quota), counters_(counters) {}

  // `text` is the name, cut to what is kept of it; `owner` tells it. False: there is no room for it.
  bool take(Source& source, const wire::Name& name, std::string text, const std::string& owner);
  // Of a source out of an archive: what that does not tell of a name is learnt again from the next hello.
  void restore(Source& source);
  // Of a table that an exception left half made: as far as all that is kept of a name is there.
  static void keep_whole(Source& source);

 private:
  StateId intern(const std::string& name, model::StateFamily family, const std::string& owner);
  StateId stand_in(NameKind kind, const std::string& text, const std::string& owner);

  const Options& options_;
  model::StateTable& states_;
  const LeafTable& leaves_;
  Quota& quota_;
  MessageCounters& counters_;
};

}  // namespace margay::ingest
