// Clocks of other machines: asked often at first, then once a second, over the same network path as the data.
//
// A clock is known by its owner and its machine's boot: what one key's agents answer moves no other's clock.
// What an answer says is looked at before anything is reckoned from it; one that cannot be is counted.
// Thread safety: none. Cost: O(sources) a round of questions, and an answer.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "margay/ingest/agent_table.h"
#include "margay/ingest/replies.h"
#include "margay/ingest/source_table.h"

namespace margay::ingest {

class ClockTable {
 public:
  ClockTable(const Options& options, SourceTable& sources, AgentTable& agents, Replies& replies,
             MessageCounters& counters)
      : options_(options), sources_(sources), agents_(agents), replies_(replies), counters_(counters) {}

  // By its hello, on this machine or another: then wall clocks have to do until the first answer.
  void meet(Source& source, const wire::ClockPair& wall);
  // Of an archive: it goes on from its offset.
  void restore(Source& source);
  // Asks those whose turn it is.
  void ask(TimeNs now);
  // Questions carry the time when they are sent.
  void stamp(std::vector<std::pair<std::string, wire::ToAgent>>& replies, TimeNs now);
  void on_echo(const wire::ClockEcho& echo, const Sender& from);
  // Tells the source's agent where slices begin, so that its probes can sum what is too much to record. Not
  // before it is known what its clock shows.
  void tell_slices(const Source& source, const std::string& agent);

 private:
  std::shared_ptr<ClockMap> clock_of(const Source& source);

  const Options& options_;
  SourceTable& sources_;
  AgentTable& agents_;
  Replies& replies_;
  MessageCounters& counters_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<ClockMap>> clocks_;  // by owner and boot id
  TimeNs next_asking_{};
};

}  // namespace margay::ingest
