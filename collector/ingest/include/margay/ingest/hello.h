// A source introduces itself: who it is, which names it uses, what its clock shows.
//
// Name tables only grow; a state keeps its number. Thread safety: none. Cost: O(what the hello says).
#pragma once

#include "margay/ingest/authority.h"
#include "margay/ingest/clock_table.h"
#include "margay/ingest/names.h"

namespace margay::ingest {

class HelloReceiver {
 public:
  HelloReceiver(const Options& options, SourceTable& sources, Authority& authority, LeafTable& leaves,
                Names& names, ClockTable& clocks, MessageCounters& counters)
      : options_(options),
        sources_(sources),
        authority_(authority),
        leaves_(leaves),
        names_(names),
        clocks_(clocks),
        counters_(counters) {}

  // An exception may leave names half taken: Names::keep_whole() puts that right.
  void receive(const wire::Hello& hello, const Sender& from);

 private:
  void take_names(const wire::Hello& hello, Source& source, const std::string& owner);

  const Options& options_;
  SourceTable& sources_;
  Authority& authority_;
  LeafTable& leaves_;
  Names& names_;
  ClockTable& clocks_;
  MessageCounters& counters_;
};

}  // namespace margay::ingest
